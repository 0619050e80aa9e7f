/* test_serve_forms.c - answers in a form: schemas with patterns, formats and bounds, vLLM's structured_outputs, in
 * chats and in completions, by a model that is far too hot to keep to any of them by itself. */
#include "tests/serve_rig.h"
#include <ctype.h>

#define CHAT "/v1/chat/completions"
#define COMPLETION "/v1/completions"
#define USER "'messages':[{'role':'user','content':'x'}]"

static void serve(void) { SERVE("--threads", "1", "--temp", "1.5", "--ctx", "1024"); }

static json_t *asked(const char *path, int status, const char *fields, int seed)
{
    struct buf body = {0};
    const bool chat = strcmp(path, CHAT) == 0;
    buf_printf(&body, "{'seed':%d,'max_tokens':400,%s,", seed, chat ? USER : "'prompt':'x'");
    buf_printf(&body, "%s}", fields);
    json_t *a = ask(path, body.data, status);
    buf_free(&body);
    return a;
}

static const char *said(json_t *a, const char *path)
{
    CHECK_STR(text_at(a, "choices.0.finish_reason"), "stop");
    return text_at(a, strcmp(path, CHAT) == 0 ? "choices.0.message.content" : "choices.0.text");
}

/* ---------------------------------------------------------------- schemas */

#define LIMITS                                                                                                     \
    "{'type':'object','required':['code','day','id','name','n','x','p'],'additionalProperties':false,'properties':{" \
    "'code':{'type':'string','pattern':'^[A-Z]{2}-[0-9]{3}$'},'day':{'type':'string','format':'date'},'id':{"        \
    "'type':['integer','null'],'format':'int64','minimum':7,'pattern':'x'},'name':{'type':'string','minLength':1,"   \
    "'maxLength':4},'n':{'type':'integer','minimum':10,'exclusiveMaximum':20},'x':{'type':'number','minimum':0,"     \
    "'maximum':1},'p':{'type':'string','enum':['a','b'],'maxLength':1}}}"

static bool is_like(const char *text, const char *pattern) /* 9: a digit, A: a capital */
{
    if (!text || strlen(text) != strlen(pattern)) return false;
    for (; *pattern; pattern++, text++) {
        const int c = (unsigned char)*text;
        if (*pattern == '9' ? !isdigit(c) : *pattern == 'A' ? !isupper(c) : c != *pattern) return false;
    }
    return true;
}

static size_t characters(const char *text)
{
    size_t n = 0;
    for (; *text; text++) n += (*text & 0xc0) != 0x80;
    return n;
}

static void check_limits(const char *text)
{
    json_t *v = json_loads(text, 0, NULL);
    const json_int_t n = json_integer_value(json_at(v, "n"));
    const json_t *id = json_at(v, "id");
    CHECK(is_like(text_at(v, "code"), "AA-999") && is_like(text_at(v, "day"), "9999-99-99"));
    CHECK(characters(text_at(v, "name")) >= 1 && characters(text_at(v, "name")) <= 4);
    CHECK(n >= 10 && n < 20);
    CHECK(json_is_null(id) || json_integer_value(id) >= 7);
    CHECK(json_number_value(json_at(v, "x")) >= 0 && json_number_value(json_at(v, "x")) <= 1);
    CHECK(is_like(text_at(v, "p"), "a") || is_like(text_at(v, "p"), "b"));
    json_decref(v);
}

/* Strict or not; in a tool's parameters too. */
TEST(serve_holds_answers_to_patterns_formats_and_bounds)
{
    serve();
    for (int seed = 0; seed < 4; seed++) {
        json_t *a = asked(CHAT, 200, seed % 2 ? "'response_format':{'type':'json_schema','json_schema':{'name':'x',"
                                                "'strict':true,'schema':" LIMITS "}}"
                                              : "'response_format':{'type':'json_schema','json_schema':{'name':'x',"
                                                "'schema':" LIMITS "}}", seed);
        check_limits(said(a, CHAT));
        json_decref(a);
        a = asked(CHAT, 200, seed % 2 ? "'tool_choice':'required','tools':[{'type':'function','function':{'name':'f',"
                                        "'strict':true,'parameters':" LIMITS "}}]"
                                      : "'tool_choice':'required','tools':[{'type':'function','function':{'name':'f',"
                                        "'parameters':" LIMITS "}}]", seed);
        check_limits(text_at(a, "choices.0.message.tool_calls.0.function.arguments"));
        json_decref(a);
    }
    CHECK_EQ(serve_end(), 130);
}

/* What is too large, or not known, is left out where nobody insists; what else was asked for stays. */
TEST(serve_leaves_out_what_no_grammar_can_hold_and_keeps_the_rest)
{
#define MIX(string) "{'type':'object','required':['s','n'],'additionalProperties':false,'properties':{'s':{" \
                    "'type':'string'," string "},'n':{'enum':[1,2]}}}"
#define FORM_OF "'response_format':{'type':'json_schema','json_schema':{'name':'x',"
    static const char *const schemas[] = {MIX("'pattern':'a.{30}b'"), MIX("'pattern':'(?=a)'"), MIX("'format':'uri'"),
                                          MIX("'pattern':'^(a{500}){500}$'"), MIX("'minLength':900"),
                                          MIX("'pattern':'^ab$','format':'date','maxLength':3")};
    serve();
    for (size_t i = 0; i < COUNT_OF(schemas); i++) {
        char fields[1000];
        snprintf(fields, sizeof fields, FORM_OF "'schema':%s}}", schemas[i]);
        json_t *a = asked(CHAT, 200, fields, 1);
        const char *text = text_at(a, "choices.0.message.content");
        CHECK(text && strncmp(text, "{\"s\":", 5) == 0); /* a string may not end in time */
        if (i + 1 == COUNT_OF(schemas)) CHECK(strncmp(text, "{\"s\":\"ab\",", 10) == 0 || strstr(text, "\"ab\""));
        json_decref(a);
        snprintf(fields, sizeof fields, FORM_OF "'strict':true,'schema':%s}}", schemas[i]);
        a = asked(CHAT, 400, fields, 1);
        CHECK_STR(text_at(a, "error.param"), "response_format");
        json_decref(a);
    }
    CHECK_EQ(serve_end(), 130);
}

/* What of JSON Schema no grammar knows is left out, or refused by name; where no other word says which kind of value it
 * is, it is any. */
TEST(serve_leaves_out_words_that_no_grammar_knows)
{
#define ODD(word) "{'type':'object','required':['n','v'],'properties':{'n':{'enum':[1,2]},'v':{" word "}}}"
    static const struct { const char *schema, *says; } odd[] = {
        {ODD("'type':'boolean','not':{'const':false}"), "not is not known"},
        {ODD("'type':'object','patternProperties':{'^a':{'type':'null'}}"), "patternProperties is not known"},
        {ODD("'allOf':[{'type':'string','pattern':'^a'},{'pattern':'b$'}]"), "allOf is not known"},
        {ODD("'properties':{'a':{'type':'null'}},'required':['a'],'if':{},'then':{}"), "if is not known"},
        {ODD("'type':'null','x-order':3"), "x-order is not known"},
        {ODD("'anyOf':[{'type':'null'}],'oneOf':[{'type':'null'}]"), "anyOf does not go with oneOf"},
        {ODD("'oneOf':[{'type':'integer'},{'type':'number'}]"), "two of oneOf accept the same text"},
    };
    char fields[600];
    serve();
    for (size_t i = 0; i < COUNT_OF(odd); i++) {
        snprintf(fields, sizeof fields, "'n':2," FORM_OF "'schema':%s}}", odd[i].schema);
        json_t *a = asked(CHAT, 200, fields, 1);
        const char *text = text_at(a, "choices.0.message.content"), *other = text_at(a, "choices.1.message.content");
        if (!text || strncmp(text, "{\"n\":", 5) != 0) check_fail(__FILE__, __LINE__, "%s: %s", odd[i].schema, text);
        CHECK(other && strncmp(other, "{\"n\":", 5) == 0);
        json_decref(a);
        snprintf(fields, sizeof fields, FORM_OF "'strict':true,'schema':%s}}", odd[i].schema);
        a = asked(CHAT, 400, fields, 1);
        if (!strstr(text_at(a, "error.message"), odd[i].says))
            check_fail(__FILE__, __LINE__, "%s: %s", odd[i].schema, text_at(a, "error.message"));
        json_decref(a);
    }
    CHECK_EQ(serve_end(), 130);
}

static void put_many(struct buf *b, const char *each, int n)
{
    for (int i = 0; i < n; i++) buf_printf(b, each, i);
}

/* What is said for people takes no room in a grammar, and what is told over and over has its bound before it is made:
 * a list of a megabyte, referred to by thousands, would be gigabytes. */
TEST(serve_reads_schemas_with_long_descriptions_and_no_endless_ones)
{
    struct buf b = {0};
    serve();
    buf_puts(&b, FORM_OF "'strict':true,'schema':{'$schema':'x','title':'t','description':'");
    put_many(&b, "word %d ", 8000);
    buf_puts(&b, "','nullable':false,'enum':['a'],'const':'a','type':'string','default':'a','examples':['a']}}}");
    json_t *a = asked(CHAT, 200, b.data, 1);
    CHECK_STR(said(a, CHAT), "\"a\"");
    json_decref(a);
    for (int texts = 0; texts < 2; texts++) {
        b.len = 0;
        buf_puts(&b, FORM_OF "'schema':{'$defs':{'many':{'enum':[");
        if (texts) buf_puts(&b, "'");
        put_many(&b, texts ? "%d-" : "'%d',", 100000);
        buf_puts(&b, texts ? "'" : "0");
        buf_puts(&b, "]}},'type':'object','properties':{'z':{'type':'null'}");
        put_many(&b, ",'p%d':{'$ref':'#/$defs/many'}", 4000);
        buf_puts(&b, "}}}}");
        a = asked(CHAT, 400, b.data, 1);
        CHECK(strstr(text_at(a, "error.message"), "too large when its references are written out") != NULL);
        json_decref(a);
    }
    buf_free(&b);
    CHECK_EQ(serve_end(), 130);
}

/* ---------------------------------------------------------------- vLLM's words */

TEST(serve_answers_with_one_of_the_choices_or_as_a_pattern_says)
{
    static const char *const paths[] = {CHAT, COMPLETION};
    static const struct { const char *fields, *like[3]; } cases[] = {
        {"'structured_outputs':{'choice':['positive','negative']}", {"positive", "negative"}},
        {"'guided_choice':['yes','no','yes, sir']", {"yes", "no", "yes, sir"}},
        {"'structured_outputs':{'regex':'\\\\d{3}-[A-Z]{2}','disable_any_whitespace':true}", {"999-AA"}},
        {"'guided_regex':'^(7|8)$'", {"7", "8"}},
        {"'structured_outputs':{'json':{'enum':[1,2]},'regex':null,'choice':null,'json_object':false}", {"1", "2"}},
        {"'guided_json':'{\\'enum\\':[1,2]}'", {"1", "2"}},
        {"'response_format':{'type':'text'},'structured_outputs':{'choice':['a']}", {"a"}},
    };
    serve();
    for (size_t i = 0; i < 2 * COUNT_OF(cases); i++) {
        const char *path = paths[i % 2];
        json_t *a = asked(path, 200, cases[i / 2].fields, (int)i);
        const char *text = said(a, path);
        bool good = false;
        for (int k = 0; k < 3 && cases[i / 2].like[k]; k++) good |= is_like(text, cases[i / 2].like[k]);
        if (!good) check_fail(__FILE__, __LINE__, "%s: %s", cases[i / 2].fields, text);
        json_decref(a);
    }
    for (size_t i = 0; i < 2; i++) { /* an object in a completion too, by both names */
        json_t *a = asked(COMPLETION, 200, i ? "'structured_outputs':{'json_object':true}"
                                             : "'response_format':{'type':'json_object'}", 3);
        CHECK_EQ(*text_at(a, "choices.0.text"), '{');
        json_decref(a);
    }
    json_t *a = asked(CHAT, 200, "'n':3,'stream':false,'structured_outputs':{'choice':['a','b']}", 1);
    for (int k = 0; k < 3; k++) {
        char at[64];
        snprintf(at, sizeof at, "choices.%d.message.content", k);
        CHECK(is_like(text_at(a, at), "a") || is_like(text_at(a, at), "b"));
    }
    json_decref(a);
    CHECK_EQ(serve_end(), 130);
}

TEST(serve_refuses_forms_that_it_cannot_hold_by_their_field)
{
#define TOOLS "'tools':[{'type':'function','function':{'name':'f','parameters':{'type':'object','properties':{}}}}]"
    static const struct { const char *fields, *param, *says; } cases[] = {
        {"'structured_outputs':{'grammar':'x'}", "structured_outputs.grammar", "not known here"},
        {"'structured_outputs':{'structural_tag':'x'}", "structured_outputs.structural_tag", "not known here"},
        {"'structured_outputs':[]", "structured_outputs", "is to be an object"},
        {"'structured_outputs':{'choice':[]}", "structured_outputs.choice", "a list of texts"},
        {"'structured_outputs':{'choice':'a'}", "structured_outputs.choice", "a list of texts"},
        {"'structured_outputs':{'choice':['a','']}", "structured_outputs.choice", "choice[1] is to be a text"},
        {"'structured_outputs':{'choice':['a',3]}", "structured_outputs.choice", "choice[1] is to be a text"},
        {"'structured_outputs':{'regex':''}", "structured_outputs.regex", "a regular expression"},
        {"'structured_outputs':{'regex':'(a'}", "structured_outputs", "a group has no )"},
        {"'guided_regex':'\\\\bx'", "guided_regex", "edge of a word"},
        {"'guided_json':'{'", "guided_json", "is to be a JSON Schema"},
        {"'guided_json':[]", "guided_json", "is to be a JSON Schema"},
        {"'guided_json':{'$ref':'#/no'}", "guided_json", "the schema cannot be used"},
        {"'structured_outputs':{'json_object':3}", "structured_outputs.json_object", "true or false"},
        {"'structured_outputs':{'json':{},'regex':'a'}", "structured_outputs", "one form"},
        {"'guided_choice':['a'],'structured_outputs':{'choice':['a']}", "guided_choice", "which is given too"},
        {"'guided_choice':['a'],'response_format':{'type':'json_object'}", "structured_outputs", "one form"},
        {"'guided_choice':['a']," TOOLS, "guided_choice", "leaves no place for a call"},
    };
    serve();
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        json_t *a = asked(CHAT, 400, cases[i].fields, 1);
        CHECK_STR(text_at(a, "error.param"), cases[i].param);
        if (!strstr(text_at(a, "error.message"), cases[i].says))
            check_fail(__FILE__, __LINE__, "%s: %s", cases[i].fields, text_at(a, "error.message"));
        json_decref(a);
    }
    json_t *a = asked(CHAT, 200, "'guided_choice':['a'],'tool_choice':'none'," TOOLS, 1);
    CHECK_STR(said(a, CHAT), "a");
    json_decref(a);
    a = asked(CHAT, 200, "'guided_choice':['a'],'tool_choice':'required'," TOOLS, 1); /* a call is a form by itself */
    CHECK_STR(text_at(a, "choices.0.message.tool_calls.0.function.name"), "f");
    json_decref(a);
    CHECK_EQ(serve_end(), 130);
}

CHECK_MAIN
