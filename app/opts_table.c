/* opts_table.c - the one table of flags, variables and defaults, and the help that it prints. */
#include "app/opts_table.h"
#include "engine/draft.h"

#define AT(field) offsetof(struct opts, field)
#define DIGITS_OF(n) #n
#define DIGITS(macro) DIGITS_OF(macro)

const struct opt opts_table[] = {
    {"-m", "--model", "PLIMSOLL_MODEL", TEXT, AT(model), "FILE", 0, 0, NULL, NULL,
     "the model, a GGUF file (a tiny demonstration model that is part of the program)"},
    {"-p", "--prompt", NULL, TEXT | LINE_ONLY, AT(prompt), "PROMPT", 0, 0, NULL, NULL,
     "answer this once and leave; data on stdin is appended to it"},
    {"-n", "--max-tokens", NULL, INT, AT(max_tokens), "N", 1, 1e6, NULL, NULL,
     "most tokens of an answer (512, or what the context leaves; if given, it must fit)"},
    {NULL, "--thinking", "PLIMSOLL_THINKING", INT, AT(thinking), "N", 1, 1e6, NULL, NULL,
     "set N tokens more aside for <think>, in a chat; at that many it is closed (part of the answer)"},
    {NULL, "--no-thinking", "PLIMSOLL_NO_THINKING", ON, AT(no_thinking), NULL, 0, 0, NULL, NULL,
     "a model that thinks in <think> is to answer at once"},
    {NULL, "--reasoning", "PLIMSOLL_REASONING", CHOICE, AT(reasoning), "HOW", 0, 0, "low|medium|high", NULL,
     "how much a gpt-oss model is to think before it answers (medium); with --remote the server is told"},
    {NULL, "--ctx", "PLIMSOLL_CTX", INT, AT(ctx), "N", 1, 1 << 24, NULL, NULL,
     "tokens that a conversation may hold (the model's own, at most 4096)"},
    {NULL, "--vram", "PLIMSOLL_VRAM", SIZE, AT(vram), "SIZE", -100, 0, NULL, NULL,
     "ceiling for model, KV pool and workspace: 512M, 1.5G, or 60% of what is free (half of it)"},
    {NULL, "--fit", NULL, ON, AT(fit), NULL, 0, 0, NULL, NULL,
     "take the largest context, up to --ctx, that fits under the ceiling"},
    {NULL, "--pool", "PLIMSOLL_POOL", INT, AT(pool), "N", 1, 1 << 30, NULL, NULL,
     "tokens that the KV pool holds, for all that run together (what --parallel contexts can need)"},
    {NULL, "--overcommit", "PLIMSOLL_OVERCOMMIT", ON, AT(overcommit), NULL, 0, 0, NULL, NULL,
     "promise requests what they may be expected to need; park the last when it was too little"},
    {NULL, "--park", "PLIMSOLL_PARK", SIZE, AT(park), "SIZE", 0, 0, NULL, NULL,
     "host memory for the KV pages of the parked: 64M (none: they are computed again)"},
    {NULL, "--naive", NULL, CHOICE, AT(naive), "POLICY", 0, 0,
     "none|reserve|no-limit|first-fit|f32|reload|whole-batch", "none",
     "a memory policy that fails, for teaching; after it did, the sound one is in force"},
    {NULL, "--unguarded", NULL, TEXT | LINE_ONLY, AT(unguarded), "LIST", 0, 0, NULL, NULL,
     "with --no-save: do without guards of the conversation, for teaching: window,clip,loop,docs,share,silent,slice,"
     "traces,summary"},
    {NULL, "--answers", NULL, INT | LINE_ONLY, AT(answers), "N", 1, 4096, NULL, NULL,
     "with --no-save: every answer has exactly N tokens, wherever the model would end it, for teaching"},
    {NULL, "--resume", NULL, TEXT | LINE_ONLY, AT(resume), "SESSION", 0, 0, NULL, NULL,
     "go on with a saved session: the first letters of its id, or last (plimsoll sessions lists them); with --crew: "
     "with the whole run that it is of, or the last of this crew"},
    {NULL, "--store", "PLIMSOLL_STORE", TEXT, AT(store), "DIR", 0, 0, NULL, NULL,
     "where sessions are saved ($XDG_DATA_HOME/plimsoll, else ~/.local/share/plimsoll)"},
    {NULL, "--snapshots", "PLIMSOLL_SNAPSHOTS", SIZE, AT(snapshots), "SIZE", 0, 1, NULL, "1G",
     "room on disk for the KV pages of sessions, so that a resumed one is not read again; 0: none"},
    {NULL, "--snapshots-session", "PLIMSOLL_SNAPSHOTS_SESSION", SIZE, AT(snapshots_session), "SIZE", -100, 1, NULL,
     "100%", "... and for those of one session: 64M, or 25% of it; then its own last ones go; 0: none"},
    {NULL, "--recall-index", "PLIMSOLL_RECALL_INDEX", SIZE, AT(recall_index), "SIZE", 0, 1, NULL, "2G",
     "room on disk for the recall index; then that of the sessions used longest ago goes; 0: none, and no recall"},
    {NULL, "--recall-index-session", "PLIMSOLL_RECALL_INDEX_SESSION", SIZE, AT(recall_index_session), "SIZE", 0, 1,
     NULL, "256M", "... and for that of one session; then no file and no long result goes in, only what is said"},
    {NULL, "--summary", "PLIMSOLL_SUMMARY", CHOICE, AT(summary), "BY", 0, 0, "model|extract|off", "model",
     "who sums up what leaves the context: the model, lines out of it, or nobody"},
    {NULL, "--recall", "PLIMSOLL_RECALL", CHOICE, AT(recall), "WHEN", 0, 0, "auto|summary|ask|off", "auto",
     "what has left the context and belongs to a question: brought in, of it the summary's lines, only when asked for, "
     "or never"},
    {NULL, "--summary-tokens", "PLIMSOLL_SUMMARY_TOKENS", INT, AT(summary_tokens), "N", 32, 1e5, NULL,
     DIGITS(QUOTA_SUMMARY), "most tokens of a summary, and at most a sixth of the context"},
    {NULL, "--high-mark", "PLIMSOLL_HIGH_MARK", INT, AT(high_mark), "P", 20, 100, NULL, DIGITS(QUOTA_HIGH),
     "percent of a context's room above which its oldest is summed up"},
    {NULL, "--low-mark", "PLIMSOLL_LOW_MARK", INT, AT(low_mark), "P", 5, 90, NULL, DIGITS(QUOTA_LOW),
     "... and down to which; 10 or more under the high mark"},
    {NULL, "--result-share", "PLIMSOLL_RESULT_SHARE", INT, AT(result_share), "P", 1, 50, NULL,
     DIGITS(QUOTA_RESULT_SHARE), "percent of a context's room that a tool's result may have; the rest is an artifact"},
    {NULL, "--result-tokens", "PLIMSOLL_RESULT_TOKENS", INT, AT(result_tokens), "N", 32, 1e6, NULL,
     DIGITS(QUOTA_RESULT_TOKENS), "... and at most so many tokens"},
    {NULL, "--handover", "PLIMSOLL_HANDOVER", INT, AT(handover), "N", 16, 1 << 20, NULL, NULL,
     "tokens of what passes from agent to agent where the crew names none (as much as a result may have)"},
    {NULL, "--keep-unsaved", "PLIMSOLL_KEEP_UNSAVED", SIZE, AT(keep_unsaved), "SIZE", 0, 1, NULL, "64M",
     "with --no-save: memory for what has left the context; then the oldest of it is gone (--unguarded: a turn is "
     "refused)"},
    {NULL, "--crew", "PLIMSOLL_CREW", TEXT, AT(crew), "FILE", 0, 0, NULL, NULL,
     "several agents and their flow, from a crew file or one of ours (--help-crew lists them)"},
    {NULL, "--parallel", "PLIMSOLL_PARALLEL", INT, AT(parallel), "N", 1, 64, NULL, NULL,
     "agents that may answer at once (as the crew needs; what fits no more waits)"},
    {NULL, "--script", NULL, ON | LINE_ONLY, AT(script), NULL, 0, 0, NULL, NULL,
     "stdin is a script: turns, @agents, /commands, expectations (so is one that begins with \"plimsoll 1\")"},
    {NULL, "--lockstep", "PLIMSOLL_LOCKSTEP", ON, AT(lockstep), NULL, 0, 0, NULL, NULL,
     "results of tools come in their order at the next step, however long they take (so with --seed)"},
    {NULL, "--no-save", "PLIMSOLL_NO_SAVE", ON, AT(no_save), NULL, 0, 0, NULL, NULL,
     "do not save the session: it ends with the program"},
    {NULL, "--strict-tools", "PLIMSOLL_STRICT_TOOLS", ON, AT(strict_tools), NULL, 0, 0, NULL, NULL,
     "a call of a tool can only come out well-formed: set memory for that aside"},
    {NULL, "--workspace", NULL, TEXT | LINE_ONLY, AT(workspace), "DIR", 0, 0, NULL, NULL,
     "the folder in which tools read, write and run, and no other (the current one)"},
    {NULL, "--tools", NULL, TEXT | LINE_ONLY, AT(tools), "LIST", 0, 0, NULL, NULL,
     "tools that a model may call: read,list,search,..., or all (none)"},
    {NULL, "--mcp", NULL, TEXT | LINE_ONLY, AT(mcp), "FILE", 0, 0, NULL, NULL,
     "start the servers of a file {\"mcpServers\": {...}} and let the model call their tools too, each as "
     "SERVER__TOOL"},
    {NULL, "--allow", NULL, TEXT | LINE_ONLY, AT(allow), "LIST", 0, 0, NULL, NULL,
     "what they may do without being asked for: write,edit,shell:git,shell:make; .git: may write what is git's own; "
     "SERVER__TOOL, SERVER__*: of --mcp"},
    {NULL, "--system", "PLIMSOLL_SYSTEM", TEXT, AT(system), "TEXT", 0, 0, NULL, NULL, "the system message"},
    {NULL, "--template", NULL, CHOICE, AT(template_name), "NAME", 0, 0,
     "chatml|qwen3.5|qwen3-coder|llama2|llama3|mistral-v1|mistral-v3|mistral-v7|mistral-v11|mistral-v13|deepseek|gemma|"
     "phi3|phi4|zephyr|tulu|olmo2|olmo3|falcon3|granite3.0|granite3|granite4|lfm2|lfm2.5|harmony|raw",
     NULL, "write turns in this form (what the model file asks for)"},

    {NULL, "--temp", "PLIMSOLL_TEMP", REAL, AT(temp), "T", 0, 100, NULL, NULL,
     "temperature; 0 takes the likeliest token (0.7, the embedded model 0)"},
    {NULL, "--top-k", NULL, INT, AT(top_k), "K", 0, INT32_MAX, NULL, "40", "choose among the K likeliest; 0: all"},
    {NULL, "--top-p", NULL, REAL, AT(top_p), "P", 0, 1, NULL, "0.95",
     "choose among the likeliest that make up P; 1: all"},
    {NULL, "--min-p", NULL, REAL, AT(min_p), "P", 0, 1, NULL, "0.05",
     "leave out what is under P of the likeliest; 0: none"},
    {NULL, "--repeat-penalty", NULL, REAL, AT(repeat), "R", 0.01, 100, NULL, "1",
     "weigh down the last 64 tokens by this factor; 1: off"},
    {NULL, "--frequency-penalty", NULL, REAL, AT(frequency), "F", -100, 100, NULL, "0",
     "... by this much an occurrence"},
    {NULL, "--presence-penalty", NULL, REAL, AT(presence), "F", -100, 100, NULL, "0", "... by this much once"},
    {NULL, "--logit-bias", NULL, BIAS, 0, "ID=ADD", -1e4, 1e4, NULL, NULL,
     "add to a token's logit, -inf bans it (repeatable)"},
    {NULL, "--stop", NULL, STOP, 0, "TEXT", 0, 0, NULL, NULL, "end the answer before this text (repeatable)"},
    {NULL, "--seed", "PLIMSOLL_SEED", INT, AT(seed), "S", 0, 9007199254740991, NULL, NULL,
     "same seed, same text (a random one; --json and --trace name it)"},

    {NULL, "--threads", "PLIMSOLL_THREADS", INT, AT(threads), "N", 1, 1024, NULL, NULL, "CPU threads (one a core)"},
    {NULL, "--isa", "PLIMSOLL_ISA", CHOICE, AT(isa), "NAME", 0, 0, "auto|portable|avx2|avxvnni|avx512", "auto",
     "CPU instruction set"},
    {NULL, "--backend", "PLIMSOLL_BACKEND", CHOICE, AT(backend), "NAME", 0, 0, "auto|cpu|cuda|ref", "auto",
     "what computes; ref is the slow truth that judges the others"},
    {NULL, "--device", "PLIMSOLL_DEVICE", INT, AT(device), "N", -1, 1023, NULL, "-1",
     "CUDA: which one of several; -1: the one with most memory free"},
    {NULL, "--exact", "PLIMSOLL_EXACT", ON, AT(exact), NULL, 0, 0, NULL, NULL,
     "on a GPU: the same bits in any company (the default, but in a chat by hand; the CPU always does)"},
    {NULL, "--fast", "PLIMSOLL_FAST", ON, AT(fast), NULL, 0, 0, NULL, NULL,
     "on a GPU: long prompts by cuBLASLt, faster; last bits may differ in company (a chat by hand does so)"},
    {NULL, "--draft", "PLIMSOLL_DRAFT", INT, AT(draft), "N", 1, DRAFT_ROWS - 1, NULL, NULL,
     "try up to N tokens beside the next one, taken from where the text said the same before: the same answer in fewer "
     "passes (7 on the CPU, none elsewhere)"},
    {NULL, "--no-draft", "PLIMSOLL_NO_DRAFT", ON, AT(no_draft), NULL, 0, 0, NULL, NULL, "try none"},
    {NULL, "--kv-type", "PLIMSOLL_KV_TYPE", CHOICE, AT(kv_type), "TYPE", 0, 0, "f16|q8_0|f32", "f16",
     "numbers of the attention memory; q8_0 takes half of f16, f32 twice"},
    {NULL, "--no-pin", "PLIMSOLL_NO_PIN", ON, AT(no_pin), NULL, 0, 0, NULL, NULL, "do not pin threads to cores"},
    {NULL, "--engine", NULL, CHOICE, AT(engine), "NAME", 0, 0, "local|scripted", "local",
     "scripted: answers come from a file, -m gives only the vocabulary"},
    {NULL, "--script-file", NULL, TEXT, AT(script_file), "FILE", 0, 0, NULL, NULL, "the answers of --engine scripted"},

    {NULL, "--remote", NULL, TEXT | LINE_ONLY, AT(remote), "URL", 0, 0, NULL, NULL,
     "let a server answer: vLLM, SGLang, TGI, llama-server, Ollama, plimsoll serve; -m is then a file with its model's "
     "vocabulary, to count as it does"},
    {NULL, "--remote-model", NULL, TEXT | LINE_ONLY, AT(remote_model), "NAME", 0, 0, NULL, NULL,
     "which of the server's models (the only one)"},
    {NULL, "--remote-key-file", NULL, TEXT | LINE_ONLY, AT(remote_key_file), "FILE", 0, 0, NULL, NULL,
     "the first line of FILE is the key that the server wants"},

    {NULL, "--no-tui", "PLIMSOLL_NO_TUI", ON, AT(no_tui), NULL, 0, 0, NULL, NULL,
     "a chat line by line in a terminal, without the full screen"},
    {NULL, "--theme", "PLIMSOLL_THEME", CHOICE, AT(theme), "NAME", 0, 0, "dark|light|contrast|colour-blind", "dark",
     "colours of the full screen (NO_COLOR: none)"},
    {NULL, "--glyphs", "PLIMSOLL_GLYPHS", CHOICE, AT(glyphs), "SET", 0, 0, "auto|utf8|ascii", "auto",
     "what bars and frames are made of"},
    {NULL, "--json", NULL, ON, AT(json), NULL, 0, 0, NULL, NULL, "events on stdout, a JSON line each, instead of text"},
    {NULL, "--trace", "PLIMSOLL_TRACE", TEXT, AT(trace), "FILE", 0, 0, NULL, NULL,
     "write the same lines, and one a token, to FILE"},
    {NULL, "--all-samples", "PLIMSOLL_ALL_SAMPLES", ON, AT(all_samples), NULL, 0, 0, NULL, NULL,
     "a memory event of --json and --trace at every pass of the model, not ten a second"},
    {NULL, "--dump-tokens", NULL, ON | LINE_ONLY, AT(dump_tokens), NULL, 0, 0, NULL, NULL,
     "print the prompt's tokens (index, id, spelling) and leave"},
    {NULL, "--dump-logprobs", NULL, INT | LINE_ONLY, AT(top_logprobs), "N", 0, KERN_TOP, NULL, NULL,
     "print each generated token as a JSON line: index, id, text, logprob, the N likeliest"},
    {NULL, "--nll", NULL, TEXT | LINE_ONLY, AT(nll), "FILE", 0, 0, NULL, NULL,
     "print the mean negative log-likelihood of a text file"},
    {NULL, "--config", "PLIMSOLL_CONFIG", TEXT | LINE_ONLY, AT(config), "FILE", 0, 0, NULL, NULL,
     "read settings from FILE ($XDG_CONFIG_HOME/plimsoll/config, else ~/.config/plimsoll/config)"},
    {NULL, "--no-config", "PLIMSOLL_NO_CONFIG", ON | LINE_ONLY, AT(no_config), NULL, 0, 0, NULL, NULL,
     "read no file of settings"},
    {NULL, "--help-events", NULL, ON | LINE_ONLY, AT(help_events), NULL, 0, 0, NULL, NULL,
     "explain the events of --json and --trace"},
    {NULL, "--help-crew", NULL, ON | LINE_ONLY, AT(help_crew), NULL, 0, 0, NULL, NULL,
     "explain crew files, and list those that are part of the program"},
    {NULL, "--version", NULL, ON | LINE_ONLY, AT(version), NULL, 0, 0, NULL, NULL, "version, build and machine"},
    {"-h", "--help", NULL, ON | LINE_ONLY, AT(help), NULL, 0, 0, NULL, NULL, "this text"},
};

const size_t opts_rows = COUNT_OF(opts_table);
static_assert(COUNT_OF(opts_table) + ENGINE_STOPS + ENGINE_MAX_BIAS <= OPTS_SAID, "opts.h has room for each");

/* ---------------------------------------------------------------- help */

static const char help_head[] = "Flags, their defaults in brackets, their variables in [brackets]:\n";

static const char help_tail[] =
    "\n"
    "A value is given as \"--temp 0.5\" or \"--temp=0.5\"; what takes none is undone by \"--fit=off\".  Flags win\n"
    "over variables, and these over the file of settings; plimsoll config --help has its form.\n"
    "\n"
    "Answers go to stdout, all else to stderr.  Text for a terminal is cleared of control characters; to a pipe it\n"
    "goes as it is.  Of data on stdin one final newline is left out.  Lines on stdin stop at the first turn that is\n"
    "refused or fails.  Limits: 16 MiB of data or a line.\n"
    "\n"
    "Exit status: 0 done, 1 internal or the output could not be written, 2 usage or input, 3 refused (it would not\n"
    "fit), 4 the engine failed (model file, memory at start), 5 a call of a tool was denied, 6 a script's /expect or\n"
    "/assert did not hold, 130 interrupted, 141 the reader of stdout left, 143 terminated.\n";

void opts_help(struct buf *out)
{
    buf_puts(out, help_head);
    for (size_t i = 0; i < opts_rows; i++) {
        const struct opt *o = &opts_table[i];
        char flag[64];
        snprintf(flag, sizeof flag, "%s%s%s%s%s", o->letter ? o->letter : "", o->letter ? ", " : "", o->name,
                 o->arg ? " " : "", o->arg ? o->arg : "");
        buf_printf(out, "  %-27s %s", flag, o->help);
        if (o->choices) buf_printf(out, ": %s", o->choices);
        if (o->initial) buf_printf(out, " (%s)", o->initial);
        if (o->env) buf_printf(out, " [%s]", o->env);
        buf_puts(out, "\n");
    }
    buf_puts(out, help_tail);
}
