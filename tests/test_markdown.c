/* Markdown to looks, whole and while it streams. */
#include "app/tui/markdown.h"
#include "tests/check.h"

static const struct md_how ended = {60, false, true}, grows = {60, false, false};

/* Blocks of a text appended to out, as a view does it: *m and the return value are behind the last settled one, and
 * what comes behind that is in out too. */
static size_t make(struct md *m, const char *text, size_t n, struct md_how how, struct md_out *out)
{
    struct md now = *m;
    size_t settled_to = 0;
    bool all = true;
    for (size_t at = 0; at < n;) {
        bool settled;
        size_t used = md_block(&now, text + at, n - at, how, out, &settled);
        CHECK(used > 0 && used <= n - at);
        at += used;
        all &= settled;
        if (all) settled_to = at;
        if (all) *m = now;
    }
    CHECK(!out->text.failed);
    CHECK_EQ(out->text.len, out->style.len);
    size_t bytes = 0;
    for (size_t i = 0; i < out->n_lines; i++) {
        bytes += out->line[i].n + 1;
        CHECK(bytes <= out->text.len && out->text.data[bytes - 1] == '\n');
    }
    CHECK_EQ(bytes, out->text.len);
    return settled_to;
}

/* The lines, a run of one style as {letters:text}: b i c h m as MD_*; >n before a line that hangs. */
static const char *seen(const char *text, struct md_how how)
{
    static struct buf shown;
    struct md m = {0};
    struct md_out out = {0};
    size_t at = 0;
    make(&m, text, strlen(text), how, &out);
    shown.len = 0;
    buf_puts(&shown, "");
    for (size_t l = 0; l < out.n_lines; l++, at++) {
        if (out.line[l].hang) buf_printf(&shown, ">%d ", out.line[l].hang);
        for (size_t end = at + out.line[l].n, to; at < end; at = to) {
            int style = out.style.data[at];
            for (to = at; to < end && out.style.data[to] == style;) to++;
            if (style) buf_puts(&shown, "{");
            for (int bit = 0; bit < 5; bit++) buf_put(&shown, &"bichm"[bit], (style >> bit) & 1);
            buf_printf(&shown, style ? ":%.*s}" : "%.*s", (int)(to - at), out.text.data + at);
        }
        buf_puts(&shown, "\n");
    }
    md_out_free(&out);
    return shown.data;
}

TEST(md_spans_within_a_line)
{
    CHECK_STR(seen("a **b c** `d*e*` *f* _g_ __h__ ***i***", ended),
              "a {b:b c} {c:d*e*} {i:f} {i:g} {b:h} {bi:i}\n");
    CHECK_STR(seen("**a *b* c** ``x ` y`` **p *q***", ended), "{b:a }{bi:b}{b: c} {c:x ` y} {b:p }{bi:q}\n");
    CHECK_STR(seen("snake_case_name 2 * 3 * 4 a*b \\*no\\* c:\\dir", ended),
              "snake_case_name 2 * 3 * 4 a*b *no* c:\\dir\n");
    CHECK_STR(seen("2*3*4, 2*(3+4)*5, x**2 + y**2, w*h*d", ended), "2*3*4, 2*(3+4)*5, x**2 + y**2, w*h*d\n");
    CHECK_STR(seen("**token**s, *un*done, 3*(*a*), \xe7\x8c\xab*\xe7\x8c\xab*\xe7\x8c\xab", ended),
              "{b:token}s, {i:un}done, 3*({i:a}), \xe7\x8c\xab{i:\xe7\x8c\xab}\xe7\x8c\xab\n");
    CHECK_STR(seen("**never closed, `nor this", ended), "**never closed, `nor this\n");
    CHECK_STR(seen("x ****", ended), "x ****\n");
}

TEST(md_a_growing_line_takes_a_mark_at_its_word)
{
    CHECK_STR(seen("is **bol", grows), "is {b:bol}\n");
    CHECK_STR(seen("is **bol\nnext", grows), "is **bol\nnext\n");
    CHECK_STR(seen("see `x", grows), "see {c:x}\n");
    CHECK_STR(seen("---", grows), "---\n");
}

TEST(md_headings_lists_quotes_rules)
{
    CHECK_STR(seen("## Why *it* dies\n#no\n\ntext", ended), "{h:Why }{ih:it}{h: dies}\n#no\n\ntext\n");
    CHECK_STR(seen("- one\n  * **two**\n12. twelve\n1.no\n-no", ended),
              ">2 {m:- }one\n>4   {m:- }{b:two}\n>4 {m:12. }twelve\n1.no\n-no\n");
    CHECK_STR(seen("> said", ended), ">2 {m:| }said\n");
    CHECK_STR(seen("***", ended), "{m:----------------------------------------}\n");
    CHECK_STR(seen("  indented", ended), ">2   indented\n");
}

TEST(md_fences_keep_code_as_it_is)
{
    CHECK_STR(seen("```c\nint *a; // **x**\n# no head\n``\n````\n*b*", ended),
              "{m:```c}\n{c:int *a; // **x**}\n{c:# no head}\n{c:``}\n{m:````}\n{i:b}\n");
    CHECK_STR(seen("~~~\n```\n|a|\n|-|\n~~~", ended), "{m:~~~}\n{c:```}\n{c:|a|}\n{c:|-|}\n{m:~~~}\n");
    CHECK_STR(seen("```\nnot closed", grows), "{m:```}\n{c:not closed}\n");
}

TEST(md_a_table_that_fits_is_set)
{
    const char *table = "| name | pages |\n|:-----|------:|\n| **kv** | 4096 |\n| \xe7\x8c\xab\\|x |\nafter";
    CHECK_STR(seen(table, ended), "{b:name}{m: | }{b:pages}\n{m:-----+------}\n{b:kv}  {m: | } 4096\n"
                                  "\xe7\x8c\xab|x{m: | }     \nafter\n");
    struct md_how narrow = {11, false, true};
    CHECK_STR(seen(table, narrow), ">2 | name | pages |\n>2 |:-----|------:|\n>2 | **kv** | 4096 |\n"
                                   ">2 | \xe7\x8c\xab\\|x |\nafter\n");
    narrow.columns = 12;
    CHECK(strchr(seen(table, narrow), '+') != NULL);
    CHECK_STR(seen("| a | b |\nno rule", ended), "| a | b |\nno rule\n");
    CHECK_STR(seen("|a|b|\n|:-:|-|\n|wide|", ended), " {b:a}  {m: | }{b:b}\n{m:-----+--}\nwide{m: | } \n");
}

TEST(md_a_table_is_settled_when_another_line_follows)
{
    const char *text = "one\n| a |\n|---|\n| b |\n";
    struct md m = {0};
    struct md_out out = {0};
    CHECK_EQ(make(&m, text, 4, grows, &out), 4);
    CHECK_EQ(make(&m, text + 4, strlen(text + 4), grows, &out), 0);
    CHECK_EQ(make(&m, "| a |\n|---|\n| b |\n ", 19, grows, &out), 0); /* a row may begin with a blank */
    CHECK_EQ(make(&m, text + 4, strlen(text + 4), ended, &out), strlen(text + 4));
    md_out_free(&out);
}

static uint32_t next(uint32_t *seed)
{
    *seed = *seed * 1664525 + 1013904223;
    return *seed >> 8;
}

static void any_text(uint32_t *seed, struct buf *text)
{
    static const char *const bits[] = {"a", "word ", " ", "\n", "\n\n", "**", "*", "_", "`", "``",
                                       "```\n", "~~~", "# ", "- ",
                                       "1. ", "> ", "|", "| a | b |\n", "|---|--:|\n", "\\", "\xff",
                                       "\xe7\x8c\xab", "\r\n",
                                       "---\n"};
    text->len = 0;
    buf_puts(text, "x");
    for (int i = 0; i < 60; i++) buf_puts(text, bits[next(seed) % COUNT_OF(bits)]);
}

/* Grown by any amounts, with only what was not settled made again, it ends as the whole does. */
TEST(md_a_stream_ends_as_the_whole)
{
    uint32_t seed = 11;
    struct buf text = {0};
    for (int round = 0; round < 3000; round++) {
        any_text(&seed, &text);
        struct md_out whole = {0}, parts = {0}, last = {0};
        struct md m = {0}, streaming = {0};
        make(&m, text.data, text.len, ended, &whole);
        size_t from = 0, shown = 0;
        while (shown < text.len) {
            size_t more = 1 + next(&seed) % 9;
            shown = MIN(text.len, shown + more);
            struct md before = streaming;
            md_out_clear(&last);
            size_t settled = make(&streaming, text.data + from, shown - from, grows, &last);
            if (settled == 0) continue;
            make(&before, text.data + from, settled, grows, &parts);
            from += settled;
        }
        if (from < text.len) make(&streaming, text.data + from, text.len - from, ended, &parts);
        CHECK_EQ(parts.text.len, whole.text.len);
        CHECK_MEM(parts.text.data, whole.text.data, whole.text.len);
        CHECK_MEM(parts.style.data, whole.style.data, whole.style.len);
        md_out_free(&whole);
        md_out_free(&parts);
        md_out_free(&last);
    }
    buf_free(&text);
}

TEST(md_hostile_lines_are_taken_in_parts)
{
    static const char *const bits[] = {"*a ", "**a *b ", "`", "``x`", "|", "_a*", "\\", "[", "\xe7\x8c\xab", "*"};
    for (size_t b = 0; b < COUNT_OF(bits); b++) {
        struct buf text = {0};
        struct md m = {0};
        struct md_out out = {0};
        while (text.len < 1 << 20) buf_puts(&text, bits[b]);
        for (size_t at = 0, used; at < text.len; at += used) {
            bool settled;
            used = md_block(&m, text.data + at, text.len - at, grows, &out, &settled);
            CHECK(used > 0 && used <= MD_LINE + 1);
            CHECK(settled || at + used == text.len);
        }
        CHECK(out.n_lines >= text.len / MD_LINE && out.text.len <= 2 * text.len);
        md_out_free(&out);
        buf_free(&text);
    }
}

CHECK_MAIN
