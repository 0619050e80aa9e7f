/* crew_keys.c - the one table of a crew file's keys; the help that is made of it; and keys that do not belong. */
#include "app/opts.h"
#include "app/session/crew_impl.h"

#define KIND(name) (1u << FLOW_##name)
#define GROUP (KIND(ROUND_ROBIN) | KIND(SELECTOR))
#define LED (KIND(SELECTOR) | KIND(SUPERVISOR) | KIND(MAP) | KIND(DEBATE))
#define TASKS (KIND(SEQUENTIAL) | KIND(GRAPH))
#define ALL_KINDS ((1u << FLOW_KINDS) - 1)

#define CREW(field) offsetof(struct crew, field)
#define AGENT(field) offsetof(struct crew_agent, field)
#define TASK(field) offsetof(struct crew_task, field)
#define EDGE(field) offsetof(struct crew_edge, field)

static const struct crew_key file_keys[] = {
    {.name = "crew", .take = crew_take_name, .at = CREW(name), .must = true, .value = "NAME", .help = "its name"},
    {.name = "about", .take = crew_take_line, .at = CREW(about), .value = "LINE", .help = "what it is for"},
    {.name = "agents", .take = crew_take_agents, .must = true, .value = "LIST", .help = "who is in it"},
    {.name = "flow", .take = crew_take_flow, .must = true, .value = "KEYS", .help = "who is asked what, and when"},
};

static const struct crew_key agent_keys[] = {
    {.name = "name", .take = crew_take_name, .at = AGENT(name), .must = true, .value = "NAME",
     .help = "a letter, then letters, digits, _ and -, all lower-case"},
    {.name = "role", .take = crew_take_role, .at = AGENT(role), .value = "ROLE",
     .help = "assistant, planner, researcher, critic or writer, as the embedded model learned them"},
    {.name = "system", .take = crew_take_text, .at = AGENT(system), .value = "TEXT",
     .help = "what it is told to be, in words of one's own, behind the role's"},
    {.name = "tools", .take = crew_take_tools, .value = "LIST", .help = "those it may ask for"},
    {.name = "context", .take = crew_take_int, .at = AGENT(context), .min = 64, .max = 1 << 24, .value = "N",
     .help = "tokens that its context may hold"},
    {.name = "answer", .take = crew_take_int, .at = AGENT(answer), .min = 1, .max = 1e6, .value = "N",
     .help = "tokens of one answer"},
    {.name = "rounds", .take = crew_take_int, .at = AGENT(rounds), .min = 1, .max = 1000, .value = "N",
     .help = "calls of tools in a turn"},
    {.name = "repeats", .take = crew_take_int, .at = AGENT(repeats), .min = 1, .max = 1000, .value = "N",
     .help = "times that the same call may be made in a turn"},
    {.name = "pages", .take = crew_take_int, .at = AGENT(pages), .min = 1, .max = 1 << 24, .value = "N",
     .help = "pages of attention memory that a call may take"},
    {.name = "temp", .take = crew_take_real, .at = AGENT(temp), .has = AGENT(has_temp), .max = 100, .value = "T",
     .help = "temperature; 0 takes the likeliest token"},
    {.name = "top_k", .take = crew_take_int, .at = AGENT(top_k), .has = AGENT(has_top_k), .max = INT32_MAX,
     .value = "K", .help = "choose among the K likeliest; 0: all"},
    {.name = "top_p", .take = crew_take_real, .at = AGENT(top_p), .has = AGENT(has_top_p), .max = 1, .value = "P",
     .help = "choose among the likeliest that make up P; 1: all"},
    {.name = "min_p", .take = crew_take_real, .at = AGENT(min_p), .has = AGENT(has_min_p), .max = 1, .value = "P",
     .help = "leave out what is under P of the likeliest; 0: none"},
};

static const struct crew_key flow_keys[] = {
    {.name = "kind", .take = crew_take_word, .at = CREW(flow), .must = true, .value = "KIND",
     .words = "single|round_robin|selector|sequential|supervisor|map|debate|graph",
     .help = "how it goes; they are explained below"},
    {.name = "members", .take = crew_take_members, .kinds = ALL_KINDS & ~TASKS, .value = "LIST",
     .help = "agents who speak, work or debate, in their order (all but the lead; single, map: one)"},
    {.name = "lead", .take = crew_take_agent, .at = CREW(lead), .kinds = LED, .value = "NAME",
     .help = "who selects, supervises, reduces or judges (selector: a rule; map: nobody)"},
    {.name = "steps", .take = crew_take_int, .at = CREW(steps), .min = 1, .max = 10000, .value = "N",
     .help = "answers asked for in one run at most, those asked for again among them (64)"},
    {.name = "rounds", .take = crew_take_int, .at = CREW(rounds), .min = 1, .max = 1000,
     .kinds = GROUP | KIND(DEBATE), .value = "N",
     .help = "times that each member speaks (debate: 2; else until steps)"},
    {.name = "retries", .take = crew_take_int, .at = CREW(retries), .max = 16, .value = "N",
     .help = "times that what failed is asked again (1)"},
    {.name = "handover", .take = crew_take_int, .at = CREW(handover), .min = 16, .max = 1 << 20,
     .kinds = ALL_KINDS & ~KIND(SINGLE), .value = "N",
     .help = "tokens of what passes from one to another (as many as a tool's result may have)"},
    {.name = "handover_by", .take = crew_take_word, .at = CREW(handover_by), .words = "clip|model",
     .kinds = ALL_KINDS & ~KIND(SINGLE), .value = "WHO",
     .help = "who makes what is larger than that smaller; model: who said it is asked, in one more call (clip)"},
    {.name = "parallel", .take = crew_take_int, .at = CREW(parallel), .min = 1, .max = 1024,
     .kinds = KIND(SUPERVISOR) | KIND(MAP), .value = "N", .help = "who work at once (as many as memory holds)"},
    {.name = "split", .take = crew_take_word, .at = CREW(split), .words = "lines|paragraphs", .kinds = KIND(MAP),
     .value = "HOW", .help = "what the parts of the input are (lines)"},
    {.name = "stop", .take = crew_take_text, .at = CREW(stop), .kinds = GROUP, .value = "TEXT",
     .help = "an answer with this in it is the last"},
    {.name = "stop_on_accept", .take = crew_take_bool, .at = CREW(stop_on_accept), .kinds = GROUP, .value = "true",
     .help = "so is a verdict that accepts"},
    {.name = "prompt", .take = crew_take_text, .at = CREW(prompt), .kinds = ALL_KINDS & ~TASKS,
     .value = "TEXT", .help = "what a member is told; {input} is what the person said (the input alone)"},
    {.name = "reduce", .take = crew_take_text, .at = CREW(reduce), .kinds = LED & ~KIND(SELECTOR), .value = "TEXT",
     .help = "what the lead is told at the end"},
    {.name = "tasks", .take = crew_take_tasks, .kinds = TASKS, .some = true, .value = "LIST",
     .help = "what is to be done; a graph begins with the first"},
    {.name = "edges", .take = crew_take_edges, .kinds = KIND(GRAPH), .value = "LIST",
     .help = "what follows a task: the first that holds; none: the end"},
};

static const struct crew_key task_keys[] = {
    {.name = "name", .take = crew_take_name, .at = TASK(name), .must = true, .value = "NAME", .help = "as an agent's"},
    {.name = "agent", .take = crew_take_agent, .at = TASK(agent), .must = true, .value = "NAME", .help = "who does it"},
    {.name = "needs", .take = crew_take_needs, .value = "LIST",
     .help = "tasks whose results it gets; in a sequence earlier ones"},
    {.name = "text", .take = crew_take_text, .at = TASK(text), .must = true, .value = "TEXT",
     .help = "what the agent is told; {input}, and {NAME} for the result of a task that it needs"},
};

static const struct crew_key edge_keys[] = {
    {.name = "from", .take = crew_take_task, .at = EDGE(from), .must = true, .value = "NAME", .help = "a task"},
    {.name = "to", .take = crew_take_task_or_end, .at = EDGE(to), .must = true, .value = "NAME",
     .help = "a task, or end"},
    {.name = "when", .take = crew_take_word, .at = EDGE(when), .words = "always|contains|accept|revise|failed",
     .value = "WHEN", .help = "contains: the answer has the text in it; accept, revise: it is that verdict (always)"},
    {.name = "text", .take = crew_take_text, .at = EDGE(text), .value = "TEXT", .help = "for contains"},
};

static const struct { const char *noun, *title; const struct crew_key *key; int n; } levels[CREW_LEVELS] = {
    [LEVEL_FILE] = {"the file", "The file has", file_keys, COUNT_OF(file_keys)},
    [LEVEL_AGENT] = {"an agent", "Each of agents has (without a limit: as the program's flags say)",
                     agent_keys, COUNT_OF(agent_keys)},
    [LEVEL_FLOW] = {"flow", "flow has", flow_keys, COUNT_OF(flow_keys)},
    [LEVEL_TASK] = {"a task", "Each of tasks has", task_keys, COUNT_OF(task_keys)},
    [LEVEL_EDGE] = {"an edge", "Each of edges has", edge_keys, COUNT_OF(edge_keys)},
};

const struct crew_key *crew_keys(enum crew_level level, int *n)
{
    *n = levels[level].n;
    return levels[level].key;
}

/* ------------------------------------------------------------------ keys that do not belong */

/* What only a person may grant, at the command line. */
static const struct { const char *key, *flag; } rights[] = {
    {"allow", "--allow"},           {"workspace", "--workspace"},   {"vram", "--vram"},   {"ctx", "--ctx"},
    {"overcommit", "--overcommit"}, {"park", "--park"},             {"model", "--model"}, {"store", "--store"},
    {"snapshots", "--snapshots"},   {"strict_tools", "--strict-tools"},
    {"snapshots_session", "--snapshots-session"},
    {"recall_index", "--recall-index"},
    {"recall_index_session", "--recall-index-session"},
};

const char *crew_nearest(const char *typed, const char *(*name)(const void *of, int i), const void *of, int n)
{
    const char *best = NULL;
    int best_edits = 0;
    size_t len = strlen(typed);
    for (int i = 0; len < OPTS_NAME_MAX && i < n; i++) {
        int edits = opts_edits(typed, name(of, i));
        if (!best || edits < best_edits) best = name(of, i), best_edits = edits;
    }
    return best && best_edits <= 1 + (int)len / 3 ? best : NULL;
}

static const char *key_name(const void *keys, int i) { return ((const struct crew_key *)keys)[i].name; }

static const struct crew_key *find_key(enum crew_level level, const char *name)
{
    for (int i = 0; i < levels[level].n; i++)
        if (strcmp(levels[level].key[i].name, name) == 0) return &levels[level].key[i];
    return NULL;
}

static int unknown_key(const struct crew_reading *r, enum crew_level level, int key)
{
    const char *text = r->doc->node[key].text, *noun = levels[level].noun;
    for (size_t i = 0; i < COUNT_OF(rights); i++)
        if (strcmp(rights[i].key, text) == 0)
            return crew_fail(r->doc, key, "a crew file grants nothing: %s is for the command line, %s", text,
                             rights[i].flag);
    for (int other = 0; other < CREW_LEVELS; other++)
        if (find_key((enum crew_level)other, text))
            return crew_fail(r->doc, key, "%s has no key \"%s\": it is one of %s", noun, text, levels[other].noun);
    const char *near = crew_nearest(text, key_name, levels[level].key, levels[level].n);
    return crew_fail(r->doc, key, "%s has no key \"%s\"%s%s%s (--help-crew lists them)", noun, crew_quote(text).s,
                     near ? "; did you mean " : "", near ? near : "", near ? "?" : "");
}

static const char *kind_words(unsigned kinds, char out[160])
{
    size_t n = 0;
    out[0] = '\0';
    for (int k = 0; k < FLOW_KINDS; k++)
        if (kinds >> k & 1)
            n += (size_t)snprintf(out + n, 160 - n, "%s%s", n ? ", " : "", flow_kind_name((enum flow_kind)k));
    return out;
}

/* Of flow: is the key of use to its kind, which crew_take_flow() has read? */
static int check_kind(const struct crew_reading *r, const struct crew_key *k, int key)
{
    char words[160];
    if (!k->kinds || k->kinds >> r->crew->flow & 1) return 0;
    return crew_fail(r->doc, key, "the kind %s does not use %s; it is for %s", flow_kind_name(r->crew->flow), k->name,
                     kind_words(k->kinds, words));
}

int crew_keys_check(const struct crew_reading *r, enum crew_level level, int map)
{
    const struct crew_node *node = r->doc->node;
    if (node[map].kind != NODE_MAP)
        return crew_fail(r->doc, map, "%s is made of keys and their values, \"%s: ...\"", levels[level].noun,
                         levels[level].key[0].name);
    for (int key = node[map].first; key >= 0; key = node[node[key].next].next) {
        const struct crew_key *k = find_key(level, node[key].text);
        if (!k) return unknown_key(r, level, key);
        if (level == LEVEL_FLOW && check_kind(r, k, key)) return -1;
    }
    for (int i = 0; i < levels[level].n; i++) {
        const struct crew_key *k = &levels[level].key[i];
        if (k->must && crew_doc_find(r->doc, map, k->name) < 0)
            return crew_fail(r->doc, map, "%s lacks the key \"%s\"", levels[level].noun, k->name);
    }
    return 0;
}

/* ------------------------------------------------------------------ help */

static const char help_head[] =
    "A crew file is YAML in UTF-8, one document of at most 1 MiB, without anchors, aliases, tags, merges or\n"
    "directives.  It can only shrink what the command line allows.  What holds without a key is in ( ).\n";

static const char help_tail[] =
    "\nAn example of each kind is in the program, and in assets/crews/ of its source.\n";

static void help_key(const struct crew_key *k, struct buf *out)
{
    char words[160];
    buf_printf(out, "  %-15s %-5s %s", k->name, k->value, k->help);
    if (k->max > 0) buf_printf(out, " [%.16g to %.16g]", k->min, k->max);
    if (k->must) buf_puts(out, " [needed]");
    if (k->words) buf_printf(out, "\n%24s[%s]", "", k->words);
    if (k->kinds) buf_printf(out, "\n%24s[of %s]", "", kind_words(k->kinds, words));
    buf_puts(out, "\n");
}

void crew_help(struct buf *out)
{
    buf_puts(out, help_head);
    for (int level = 0; level < CREW_LEVELS; level++) {
        buf_printf(out, "\n%s\n", levels[level].title);
        for (int i = 0; i < levels[level].n; i++) help_key(&levels[level].key[i], out);
    }
    buf_puts(out, "\nThe kinds of flow\n");
    for (int k = 0; k < FLOW_KINDS; k++)
        buf_printf(out, "  %-15s %s\n", flow_kind_name((enum flow_kind)k), crew_kind_about((enum flow_kind)k));
    buf_puts(out, help_tail);
}
