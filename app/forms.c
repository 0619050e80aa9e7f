/* forms.c - `plimsoll forms`: the texts that the program and its model share, to look at, and dialogues rendered with
 * them, to train on.
 *
 *     plimsoll forms            every form with its file, and a sample of it; the hash
 *     plimsoll forms --hash     the hash alone
 *     plimsoll forms --render   dialogues from stdin, one JSON object a line; their messages to stdout, a line each
 *
 * --render writes what it has before it waits for more, so that it can stand at the other end of two pipes. */
#include "app/faces.h"
#include "app/input.h"
#include "app/say.h"
#include "app/signals.h"
#include "memory/forms.h"
#include "memory/forms_dialogue.h"
#include <unistd.h>

enum { SAMPLE_VALUES = 5, PENDING = 1 << 16 };

static const struct sample {
    enum form form;
    struct { const char *name, *text; } value[SAMPLE_VALUES];
} samples[] = {
    {FORM_CALL, {{"name", "\"read\""}, {"arguments", "{\"path\":\"notes.txt\",\"from\":3}"}}},
    {FORM_CLIP, {{"shown", "120"}, {"total", "2310"}, {"id", "a17"}, {"offset", "512"}}},
    {FORM_DRAFT, {{"text", "The ship is Ada. She sails on Friday."}}},
    {FORM_END, {{"id", "a17"}}},
    {FORM_FINDING, {{"text", "the draught is 4.2 m"}, {"source", "a12"}}},
    {FORM_FINDINGS, {{"findings", "- the draught is 4.2 m [a12]\n- the port is 5 m deep [a13]"}}},
    {FORM_HANDOVER, {{"from", "planner"}, {"to", "critic"}, {"task", "plan the loading"},
                     {"result", "three steps, the pump first"}, {"artifacts", "a12, a13"}}},
    {FORM_HANDOVER_REQUEST, {{"to", "critic"}}},
    {FORM_ITEM, {{"text", "the ship is Ada"}}},
    {FORM_PLAN, {{"steps", "1. Read the log.\n2. Weigh the cargo."}}},
    {FORM_STEP, {{"number", "1"}, {"text", "Read the log."}}},
    {FORM_SUMMARY, {{"facts", "- the ship is Ada\n- the draught is 4.2 m"}, {"decisions", "- sail on Friday"},
                    {"done", "- the log is read"}, {"open", "none"}}},
    {FORM_SUMMARY_CONTEXT, {{"id", "a12"}, {"record", "(a record)"}}},
    {FORM_TOOL, {{"name", "read"}, {"arguments", "path, from:int?, to:int?"}, {"about", "a file"}}},
    {FORM_TOOLS, {{"tools", "(a line for each tool)"}}},
    {FORM_VERDICT, {{"verdict", "revise"}, {"reasons", "- the second step has no source"}}},
};

/* Forms without places have no row. */
static void put_sample(enum form f, struct buf *out)
{
    struct form_value v[SAMPLE_VALUES];
    struct err err = {0};
    int n = 0;
    for (size_t i = 0; i < COUNT_OF(samples); i++) {
        if (samples[i].form != f) continue;
        for (; n < SAMPLE_VALUES && samples[i].value[n].name; n++)
            v[n] = (struct form_value){samples[i].value[n].name, form_text(samples[i].value[n].text)};
    }
    if (form_render(f, v, n, out, &err)) buf_puts(out, err.text);
}

static void put_lines(const char *before, struct form_text t, struct buf *out)
{
    for (size_t at = 0; at <= t.len;) {
        const char *newline = memchr(t.text + at, '\n', t.len - at);
        size_t end = newline ? (size_t)(newline - t.text) : t.len;
        buf_puts(out, before);
        buf_put(out, t.text + at, end - at);
        buf_puts(out, "\n");
        at = end + 1;
    }
}

static void put_all(struct buf *out)
{
    char hash[17];
    for (int f = 0; f < FORM_COUNT; f++) {
        struct form_text source = form_source((enum form)f);
        struct buf sample = {0};
        put_sample((enum form)f, &sample);
        buf_printf(out, "assets/forms/%s\n", form_file((enum form)f));
        put_lines("    ", source, out);
        if (sample.len != source.len || memcmp(sample.data, source.text, source.len) != 0) {
            buf_puts(out, "  for example\n");
            put_lines("    ", (struct form_text){sample.data ? sample.data : "", sample.len}, out);
        }
        buf_puts(out, "\n");
        buf_free(&sample);
    }
    forms_hash(hash);
    buf_printf(out, "hash %s\n", hash);
}

static void put_hash(struct buf *out)
{
    char hash[17];
    forms_hash(hash);
    buf_printf(out, "%s\n", hash);
}

/* ------------------------------------------------------------------ --render */

static void flush(struct out *out, struct buf *text)
{
    out_put(out, text->data, text->len);
    text->len = 0;
}

static bool whole_line_waits(const struct input *in)
{
    size_t rest = in->bytes.len - in->given;
    return rest > 0 && memchr(in->bytes.data + in->given, '\n', rest) != NULL;
}

static int render_run(void)
{
    struct input in;
    struct out out;
    struct buf text = {0};
    struct err err = {0};
    enum input_result r = INPUT_OK;
    int status = EXIT_DONE;
    const char *line;
    size_t n;
    out_init(&out, STDOUT_FILENO);
    input_open(&in, STDIN_FILENO);
    for (long long number = 1; status == EXIT_DONE && !out.failed; number++) {
        if (text.len > PENDING || !whole_line_waits(&in)) flush(&out, &text);
        r = input_line(&in, &line, &n, &err);
        if (r != INPUT_OK) break;
        if (forms_dialogue(line, n, &text, &err) == 0) {
            buf_puts(&text, "\n");
            continue;
        }
        flush(&out, &text);
        say_error("line %lld of stdin: %s", number, err.text);
        status = EXIT_USAGE;
    }
    if (r == INPUT_FAILED) {
        say_error("%s", err.text);
        status = EXIT_USAGE;
    }
    if (r == INPUT_SIGNAL) status = 128 + signals_pending();
    flush(&out, &text);
    input_close(&in);
    buf_free(&text);
    return face_finish(&out, status);
}

static void put_help(struct buf *out)
{
    buf_puts(out, "plimsoll forms: the texts that the program shares with its own model\n"
                  "  plimsoll forms            every form with its file, and a sample of it; the hash\n"
                  "  plimsoll forms --hash     one number for all of them\n"
                  "  plimsoll forms --render   dialogues from stdin, a JSON object a line, as messages\n");
}

int forms_run(int argc, char **argv)
{
    if (argc == 2 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)) return face_print(put_help);
    if (argc == 1) return face_print(put_all);
    if (argc == 2 && strcmp(argv[1], "--hash") == 0) return face_print(put_hash);
    if (argc == 2 && strcmp(argv[1], "--render") == 0) return render_run();
    say_error("plimsoll forms takes nothing, or --hash, or --render with dialogues on stdin (plimsoll forms --help)");
    return EXIT_USAGE;
}
