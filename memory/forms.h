/* forms.h - the texts that the program and its own model share: role prompts, tool lines, calls, results, records,
 * hand-overs.  A model learns them by heart, so they are written here and nowhere else.
 *
 *     assets/forms/(name).txt ──.incbin──> the program      nothing is read when it runs
 *
 *     Hand-over from {from} to {to}        {from}: a place.  Its value is put in as it is and never looked at again,
 *     Task: {task}                         so a value that reads "{to}" stays "{to}".  {"name"... is no place: only
 *     ...                                  {[a-z_]+} is.  One newline at the end of the file is not part of the form.
 *
 * Writers append to a buffer.  They return nothing: memory that ran out shows in out->failed, and a form without a
 * place for what they have to say is a bug of this folder that the tests find.
 *
 * What becomes an item or a field of a line comes from outside, so it is flattened first: blanks with a line break or
 * another control character among them become one space, those at the ends go, and an item of which nothing is left
 * is left out.  Lists without items are the line "none".
 *
 * Readers take what a model wrote: any bytes.  What they give points into the text read, which must outlive it, except
 * for a call's two strings.
 *
 * Threads: any; nothing here is changed after the first use. */
#ifndef FORMS_H
#define FORMS_H
#include "plimsoll.h"

/* Every form and its file, once.  The hash follows this order. */
#define FORMS(X)                                 \
    X(CALL, "call.txt")                          \
    X(CLIP, "clip.txt")                          \
    X(DRAFT, "draft.txt")                        \
    X(END, "end.txt")                            \
    X(FINDING, "finding.txt")                    \
    X(FINDINGS, "findings.txt")                  \
    X(HANDOVER, "handover.txt")                  \
    X(HANDOVER_REQUEST, "handover_request.txt")  \
    X(ITEM, "item.txt")                          \
    X(NONE, "none.txt")                          \
    X(PLAN, "plan.txt")                          \
    X(ROLE_ASSISTANT, "role_assistant.txt")      \
    X(ROLE_CRITIC, "role_critic.txt")            \
    X(ROLE_PLANNER, "role_planner.txt")          \
    X(ROLE_RESEARCHER, "role_researcher.txt")    \
    X(ROLE_WRITER, "role_writer.txt")            \
    X(STEP, "step.txt")                          \
    X(SUMMARY, "summary.txt")                    \
    X(SUMMARY_CONTEXT, "summary_context.txt")    \
    X(SUMMARY_REQUEST, "summary_request.txt")    \
    X(TOOL, "tool.txt")                          \
    X(TOOLS, "tools.txt")                        \
    X(TOOL_LIST, "tools.json")                   \
    X(VERDICT, "verdict.txt")

#define FORMS_ENUM(id, file) FORM_##id,
enum form { FORMS(FORMS_ENUM) FORM_COUNT };

struct form_text { /* any bytes, not NUL-terminated */
    const char *text;
    size_t len;
};
struct form_list {
    const struct form_text *item;
    size_t n;
};
static inline struct form_text form_text(const char *s) { return (struct form_text){s, strlen(s)}; }

/* ------------------------------------------------------------------ any form */

struct form_value {
    const char *name; /* of the place, without braces */
    struct form_text text;
};

const char *form_file(enum form f);          /* "call.txt" */
struct form_text form_source(enum form f);   /* as it is in the file, less the newline at its end */
void forms_hash(char hex[17]);               /* of every file's name and bytes: what a model file says it learned */

/* 0, or -1: out is unchanged, err names the place without a value, or the value without a place. */
int form_render(enum form f, const struct form_value *values, int n, struct buf *out, struct err *err);

/* ------------------------------------------------------------------ tools */

enum { FORMS_TOOL_ARGS = 6 };

struct form_tool { /* a line of tools.json; "path, from:int?" is a string path and an integer that may be absent */
    const char *name, *about, *arguments;
    const char *also; /* more of them, which that line does not name: the embedded model knows it by heart as it is.
                       * NULL: none; else all but the first may be absent */
    struct form_arg { char name[24]; bool is_int, optional; } arg[FORMS_TOOL_ARGS];
    int n_args;
    bool outside; /* a server's: what it takes is said by a JSON Schema, not by the above */
};

const struct form_tool *forms_tools(int *n);            /* all of them */
const struct form_tool *forms_tool(const char *name);   /* NULL: none of that name */

/* A tool more, which is not in tools.json: what it takes is a JSON Schema, as text.  All are copied.  As the program
 * starts, and forgotten as it ends: nothing else may be going on.  0, or -1 and err. */
int forms_tools_add(const char *name, const char *about, const char *schema, struct err *err);
void forms_tools_forget(void);

/* The lines of these tools, a newline between them; learned: as the embedded model knows them, else with all arguments.
 * 0, or -1: err names the one that is not there; out is unchanged. */
int forms_tool_lines(const char *const *names, int n, bool learned, struct buf *out, struct err *err);

/* ------------------------------------------------------------------ what the program says */

enum { RECORD_FACTS, RECORD_DECISIONS, RECORD_DONE, RECORD_OPEN, RECORD_SECTIONS };

struct form_record {
    struct form_list section[RECORD_SECTIONS];
    struct form_text *items; /* of a record that was read: what the sections point into; NULL otherwise */
};

struct form_system { /* each part may be absent; between two that are there is a blank line */
    const char *role;                  /* "planner" is role_planner.txt; NULL: none */
    const char *const *tools;
    int n_tools;
    const struct form_record *summary; /* NULL: none */
    struct form_text artifact;         /* where the whole of what it sums up is kept */
};

/* 0, or -1: err names the role or tool that is not there; out is unchanged. */
int forms_system(const struct form_system *s, struct buf *out, struct err *err);

struct form_rest { /* why a tool's result is not all there */
    struct form_text id; /* of the artifact */
    bool end;            /* its last part; else it goes on: */
    int64_t shown, total, offset; /* tokens, tokens, bytes */
};
void forms_result(struct form_text text, const struct form_rest *rest, struct buf *out); /* NULL: it is all there */
void forms_summary_request(struct buf *out);
void forms_handover_request(struct form_text to, struct buf *out);

/* ------------------------------------------------------------------ what the model says */

struct form_handover {
    struct form_text from, to, task, result;
    struct form_list artifacts;  /* names without commas */
    struct form_text *items;     /* as in a record */
};
struct form_finding { struct form_text text, source; };

/* arguments: a JSON object as text; written compactly, its keys in their order.  0, or -1 (out is unchanged). */
int forms_call(const char *name, struct form_text arguments, struct buf *out, struct err *err);
void forms_record(const struct form_record *r, struct buf *out);
void forms_handover(const struct form_handover *h, struct buf *out);
void forms_plan(struct form_list steps, struct buf *out);
void forms_findings(const struct form_finding *finding, size_t n, struct buf *out);
void forms_verdict(bool accept, struct form_list reasons, struct buf *out);
void forms_draft(struct form_text text, struct buf *out); /* its lines as they are */

/* ------------------------------------------------------------------ reading what a model said */

enum { FORMS_READ_LIMIT = 1 << 20 }; /* bytes */

/* What a reader returns: 0, or one of these with err saying what is wrong; nothing is to be freed then. */
enum forms_error {
    FORMS_OTHER = -1,    /* it is something else: a call without <tool_call>, a record without its first heading */
    FORMS_BAD = -2,      /* it is meant to be one and is not */
    FORMS_NO_MEMORY = -3
};

struct form_call {
    char *name;      /* NUL-terminated, at least one byte */
    char *arguments; /* a JSON object, compact, keys in their order */
};

/* Exactly one call with nothing but blanks around it. */
int forms_read_call(const char *text, size_t len, struct form_call *out, struct err *err);
/* Or as the model's family writes it, which it may do whatever it was told: Llama 3.1
 *
 *     {"name": NAME, "parameters": {...}}      and nothing else; "type": "function" may be in it
 *
 * and Mistral
 *
 *     [{"name": NAME, "arguments": {...}}]         the objects may have an "id"; of several the first
 *
 * only for a tool of forms_tools(), since these have no mark of their own (Mistral's is a token, which is no text) and
 * an answer may be JSON too; what is no such call is FORMS_OTHER.  Granite 3 may write such a list behind a token of
 * its own; it is told of tools and calls in our form.  Qwen's is ours, up to Qwen 3; Qwen 3.5 and Qwen3-Coder write
 * tags, and LFM2 Python (below).  Harmony's, and that of Mistral v11 and later, comes in ours (engine/harmony.h).  Of
 * ours at the end of an answer, where a line begins with it, the model may have said something before. */
enum form_calls { /* that, or ours */
    FORM_CALLS_OWN, FORM_CALLS_LLAMA3, FORM_CALLS_HARMONY, FORM_CALLS_MISTRAL11, FORM_CALLS_QWEN35,
    FORM_CALLS_QWEN3_CODER, FORM_CALLS_LFM2, FORM_CALLS_MISTRAL3, FORM_CALLS_MISTRAL7, FORM_CALLS_GRANITE3,
    FORM_CALLS_ANY
};
int forms_read_call_as(enum form_calls how, const char *text, size_t len, struct form_call *out, struct err *err);
void forms_call_free(struct form_call *c);

/* Whether calls may be a list in JSON. */
static inline bool forms_in_list(enum form_calls how)
{
    return how == FORM_CALLS_MISTRAL3 || how == FORM_CALLS_MISTRAL7 || how == FORM_CALLS_GRANITE3;
}

/* All calls of an answer, in their order: where a model makes several at once, each is said by some bytes of the text,
 * with what stands before it.  In our form they stand one behind the other at the end, in Llama's with nothing else; in
 * Mistral's list they are not apart (from and end are 0); by tokens and in tags there may be words before one, by
 * tokens a <think> ... </think> too, in which nothing is a call.  In Python's there may be words behind the last as
 * well, and calls of one list are each written anew (said).  What is one call forms_read_call_as() says: then it is the
 * whole text.  0, or as there; out is for forms_calls_free(). */
struct form_calls_said {
    struct form_call_said {
        struct form_call call;
        size_t from, end;
        struct buf said; /* empty: these bytes; else what says it */
    } *v;
    size_t n, cap;
};
int forms_read_calls(enum form_calls how, const char *text, size_t len, struct form_calls_said *out, struct err *err);
void forms_calls_free(struct form_calls_said *l);

/* What a model of Mistral's is told of tools, and of calls and results; id: one word, nine letters or digits.  Tools:
 * 0, or -1 as forms_tool_lines(). */
int forms_mistral_tools(const char *const *names, int n, struct buf *out, struct err *err);
void forms_mistral_call(const struct form_call *c, const char *id, struct buf *out); /* c was read by one of these */
void forms_mistral_result(struct form_text text, const char *id, struct buf *out);   /* v3; v7 has texts as they are */

/* And what a gpt-oss model is told.  A type is one tool; types: all of them, together.  Before a call or result stands
 * the tool's name with a blank behind it: forms_harmony_name() says how long it is, which may be 0, and then nothing
 * stands there. */
int forms_harmony_tools(const char *const *names, int n, struct buf *out, struct err *err);
void forms_harmony_type(struct form_text name, struct form_text about, struct form_text arguments, struct buf *out);
void forms_harmony_types(struct form_text types, struct buf *out);
size_t forms_harmony_name(struct form_text name, struct buf *out);
size_t forms_harmony_call(const struct form_call *c, struct buf *out); /* with its name, whose length it returns */
void forms_harmony_result(struct form_text text, struct buf *out);

/* Whether calls come in ours though the model marks them by tokens; and are told with the name before the rest. */
static inline bool forms_by_tokens(enum form_calls how)
{
    return how == FORM_CALLS_HARMONY || how == FORM_CALLS_MISTRAL11;
}

/* Calls in tags, as Qwen 3.5 and Qwen3-Coder write them, behind anything that they say:
 *
 *     <tool_call>
 *     <function=NAME>
 *     <parameter=KEY>
 *     a value: any lines
 *     </parameter>
 *     </function>
 *     </tool_call>
 *
 * One newline behind <parameter=KEY> and one before </parameter> are no part of the value.  A value ends at the first
 * </parameter> behind which, blanks aside, stand <parameter=, </function> or </tool_call>; so another within its text
 * is text.  Where the model wrote none: before a line that begins with <parameter=KEY>, or before a </function> with a
 * </tool_call> or another <tool_call> behind it.  A call ends with </function> or </tool_call>, or both: one that was
 * cut before is none.  Several stand in a row; what stands behind the last makes none of them.
 * <tool_call> may lack where a line begins with <function= and the name of a tool: Qwen3-Coder forgets it. */
static inline bool forms_in_tags(enum form_calls how)
{
    return how == FORM_CALLS_QWEN35 || how == FORM_CALLS_QWEN3_CODER;
}

/* Whether the tools stand before all else of the one system message. */
static inline bool forms_has_tools_first(enum form_calls how) { return how == FORM_CALLS_QWEN35; }

/* Which kinds of JSON a value may be: bits.  A value is what its text is, if that is JSON of one of these kinds (True,
 * False and None are also read, as the models' templates write them), and else a string. */
enum form_type { /* an integer is a number too */
    FORM_STRING = 1, FORM_INTEGER = 2, FORM_NUMBER = 4, FORM_BOOLEAN = 8, FORM_NULL = 16, FORM_ARRAY = 32,
    FORM_OBJECT = 64
};
struct form_types {
    unsigned (*of)(void *self, const char *tool, const char *key); /* 0: not known, a string */
    void *self;
};

/* Whether a text begins, behind blanks, with a call in tags, and with a <tool_call>: without that it is one only where
 * a tool has its name. */
bool forms_begins_tags(struct form_text t);
bool forms_begins_marked(struct form_text t);
/* Reads that call; then *t is what stands behind it.  0, FORMS_BAD or FORMS_NO_MEMORY, and *t is as it was. */
int forms_read_tags(struct form_text *t, const struct form_types *types, struct form_call *out, struct err *err);
/* Where at or behind `at` a call begins in a text that goes on, or may with more of it: at a <tool_call> before a tag
 * or a brace, or at a line that begins with <function=, which no words do; len: nowhere. */
size_t forms_tags_begin(const char *text, size_t at, size_t len);
/* How many bytes of a text are its first call in tags and what stands before it; 0: forms_read_call_as() finds none. */
size_t forms_tags_end(const char *text, size_t len);

/* What such a model is told.  Tools: of forms_tools(), 0, or -1 as forms_tool_lines(); or those of a JSON list as
 * OpenAI's API has it.  c was read by one of these, or its arguments are no object: then they are one parameter. */
int forms_tags_tools(enum form_calls how, const char *const *names, int n, struct buf *out, struct err *err);
void forms_tags_list(enum form_calls how, struct form_text tools, struct buf *out);
void forms_tags_call(const struct form_call *c, struct buf *out);

/* Calls as Python writes them, in a list between two marks, which are tokens; before, between and behind lists there
 * may be words:
 *
 *     <|tool_call_start|>[NAME(KEY="a text", n=3, all=True, of=[1, None], {"in": 'dicts'})]<|tool_call_end|>
 *
 * Names and keys are words (form_is_name()).  Texts have Python's quotes and escapes, and may have line breaks; a tuple
 * is a list; JSON's true, false and null are read too, and of the calls those in JSON ({"name": NAME, "arguments":
 * {...}}).  What Python computes (1 + 1, f-strings, names of variables), arguments without a name, and a list that was
 * cut are no calls; a list that is whole may lack its last mark at the text's end. */
#define FORMS_PYTHON_OPEN "<|tool_call_start|>"
#define FORMS_PYTHON_CLOSE "<|tool_call_end|>"
static inline bool forms_in_python(enum form_calls how) { return how == FORM_CALLS_LFM2; }

/* Whether the tools are a message of their own (struct msg). */
static inline bool forms_has_tools_apart(enum form_calls how)
{
    return how == FORM_CALLS_MISTRAL3 || how == FORM_CALLS_MISTRAL7 || forms_by_tokens(how) || forms_in_python(how);
}

/* Reads the list that a text begins with; then *t is what stands behind it.  Appended to l, not said apart.  0,
 * FORMS_BAD or FORMS_NO_MEMORY, and both are as they were. */
int forms_read_python(struct form_text *t, struct form_calls_said *l, struct err *err);
/* Where at or behind `at` a list begins in a text that goes on, or may with more of it; len: nowhere. */
size_t forms_python_begin(const char *text, size_t at, size_t len);
/* How many bytes of a text are its lists, and what stands before and between them; 0: forms_read_call_as() finds
 * none. */
size_t forms_python_end(const char *text, size_t len);
/* What such a model is told of calls that it made, all in one list.  One whose names are no words is JSON there;
 * arguments that are no object are one argument. */
void forms_python_calls(const struct form_call *c, size_t n, struct buf *out);

/* 0, or -1: err says what tools.json does not allow: the tool, an argument of it, its type, or one that lacks. */
int forms_check_call(const struct form_call *c, struct err *err);

/* All four headings, each on a line of its own, once and in order; under each "- item" lines or "none".  Blanks at the
 * ends of lines and blank lines are passed over.  Items are given as they are, control characters too. */
int forms_read_record(const char *text, size_t len, struct form_record *out, struct err *err);
void forms_record_free(struct form_record *r);

/* The four lines of a hand-over, in order.  No field is empty; artifacts may be "none". */
int forms_read_handover(const char *text, size_t len, struct form_handover *out, struct err *err);
void forms_handover_free(struct form_handover *h);
#endif
