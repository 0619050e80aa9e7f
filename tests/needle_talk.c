/* needle_talk.c - see needle_talk.h. */
#include "tests/needle_talk.h"

uint64_t needle_seed = 20261122;

static size_t draw(size_t below)
{
    needle_seed ^= needle_seed << 13;
    needle_seed ^= needle_seed >> 7;
    needle_seed ^= needle_seed << 17;
    return (size_t)(needle_seed % below);
}

#define ONE_OF(list) list[draw(COUNT_OF(list))]

static const char *const things[NEEDLE_THINGS] = {
    "printer", "router", "parser", "backup job", "garage door", "bicycle lock", "wifi", "archive", "test server",
    "coffee machine", "greenhouse", "ferry"};
static const char *const traits[NEEDLE_TRAITS] = {"port",      "code",   "password", "address",
                                                  "extension", "colour", "branch"};
static const char *const people[] = {"Anna", "Viktor", "Mara", "Jonas", "Priya", "Tomas", "Ines", "Olaf"};
static const char *const talk[][2] = {
    {"What is a KV cache?", "The KV cache holds the keys and values of all tokens so far; it grows with every token."},
    {"How do I bound a context?", "Give each agent a window: a limit on what one call carries."},
    {"Thank you.", "You are welcome."},
    {"What is a token?", "A token is a piece of text, often a part of a word."},
    {"What does quantizing the weights do?",
     "It stores the weights in fewer bits, so that the model takes less memory."},
    {"Why does a long log cause trouble?",
     "It fills the context; clip it at the tool boundary and keep the whole as an artifact."},
    {"What is pre-fill?", "Reading the prompt: all its tokens go through the model before the first new one."},
    {"Is that all?", "Yes, that is all."},
    {"What happens when memory runs out?", "The request is refused or waits; nothing is killed."},
};

static void draw_value(char out[24])
{
    static const char letters[] = "abcdefghiklmnoprstuvz";
    size_t n = 0;
    if (draw(2)) {
        snprintf(out, 24, "%zu", 1000 + draw(90000));
        return;
    }
    for (size_t k = 5 + draw(4); n < k; n++) out[n] = letters[draw(sizeof letters - 1)];
    out[0] = (char)(out[0] - 'a' + 'A');
    out[n] = '\0';
}

static void draw_fact(struct needle_dialogue *d, struct needle_fact *f)
{
    size_t thing, trait;
    do {
        thing = draw(COUNT_OF(things));
        trait = draw(COUNT_OF(traits));
    } while (d->used[thing][trait]);
    d->used[thing][trait] = true;
    draw_value(f->value);
    const char *t = things[thing], *k = traits[trait];
    static const char *const saying[] = {"The %s of the %s is %s.", "Note that the %s of the %s is %s.",
                                         "Remember: the %s of the %s is %s."};
    snprintf(f->said, sizeof f->said, ONE_OF(saying), k, t, f->value);
    snprintf(f->noted, sizeof f->noted, "Noted: the %s of the %s is %s.", k, t, f->value);
    snprintf(f->asked, sizeof f->asked, "What is the %s of the %s?", k, t);
}

static void draw_talk(struct needle_dialogue *d)
{
    if (draw(5) == 0) {
        const char *who = ONE_OF(people);
        snprintf(d->said, sizeof d->said, "Don't forget to call %s.", who);
        snprintf(d->noted, sizeof d->noted, "Open: call %s.", who);
        return;
    }
    size_t i = draw(COUNT_OF(talk));
    snprintf(d->said, sizeof d->said, "%s", talk[i][0]);
    snprintf(d->noted, sizeof d->noted, "%s", talk[i][1]);
}

static void say_fact(struct needle_dialogue *d, const struct needle_fact *f)
{
    memcpy(d->said, f->said, sizeof d->said);
    memcpy(d->noted, f->noted, sizeof d->noted);
}

void needle_begin(struct needle_dialogue *d)
{
    *d = (struct needle_dialogue){0};
    draw_fact(d, &d->needle);
    say_fact(d, &d->needle);
}

void needle_next(struct needle_dialogue *d, int turn)
{
    struct needle_fact other;
    if (turn % 10 != 0) {
        draw_talk(d);
        return;
    }
    draw_fact(d, &other);
    say_fact(d, &other);
}
