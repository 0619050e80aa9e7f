/* An agent in one turn: lists of events, and what it does about each. */
#include "app/session/agent.h"
#include "tests/check.h"

/* "asked", "says" an answer, "cut", "broke"; "call NAME ARGUMENTS"; "got TEXT", "failed TEXT". */
struct line {
    const char *event;
    enum agent_effect effect;
};

static const char *behind(const char *text, const char *word)
{
    size_t n = strlen(word);
    return strncmp(text, word, n) == 0 ? text + n : NULL;
}

static struct agent_event event_of(const char *text, char name[32])
{
    const char *rest;
    if (strcmp(text, "asked") == 0) return (struct agent_event){.kind = AGENT_ASKED};
    if (strcmp(text, "says") == 0) return (struct agent_event){.kind = AGENT_SAID};
    if (strcmp(text, "cut") == 0) return (struct agent_event){.kind = AGENT_CUT};
    if (strcmp(text, "broke") == 0) return (struct agent_event){.kind = AGENT_BROKE};
    if ((rest = behind(text, "got ")) != NULL)
        return (struct agent_event){.kind = AGENT_GOT, .text = rest, .n = strlen(rest)};
    if ((rest = behind(text, "failed ")) != NULL)
        return (struct agent_event){.kind = AGENT_GOT, .failed = true, .text = rest, .n = strlen(rest)};
    rest = behind(text, "call ");
    CHECK(rest != NULL);
    const char *space = strchr(rest, ' ');
    CHECK(space != NULL);
    snprintf(name, 32, "%.*s", (int)(space - rest), rest);
    return (struct agent_event){.kind = AGENT_SAID, .call = name, .arguments = space + 1};
}

static struct agent play(struct agent_limits limits, const struct line *line, size_t n)
{
    struct agent g;
    char name[32];
    agent_begin(&g, &limits);
    for (size_t i = 0; i < n; i++) {
        struct agent_event e = event_of(line[i].event, name);
        enum agent_effect effect = agent_on(&g, &e);
        if (effect != line[i].effect)
            check_fail(__FILE__, __LINE__, "line %zu (%s): effect %d", i, line[i].event, (int)effect);
        if (effect != AGENT_OVER) CHECK_EQ(g.end, AGENT_RUNNING);
    }
    return g;
}

#define PLAY(limits, ends, n_calls, ...)                                    \
    do {                                                                    \
        static const struct line lines_[] = {__VA_ARGS__};                  \
        struct agent g_ = play(limits, lines_, COUNT_OF(lines_));           \
        CHECK_STR(agent_end_name(g_.end), agent_end_name(ends));            \
        CHECK_EQ(g_.calls, n_calls);                                        \
    } while (0)

#define LIMITS(r, p, f) ((struct agent_limits){.rounds = (r), .repeats = (p), .failures = (f)})

TEST(agent_answers_without_a_tool)
{
    PLAY(LIMITS(4, 3, 3), AGENT_ANSWERED, 0, {"asked", AGENT_CALL_MODEL}, {"says", AGENT_OVER});
}

TEST(agent_calls_tools_and_answers)
{
    PLAY(LIMITS(4, 3, 3), AGENT_ANSWERED, 2, {"asked", AGENT_CALL_MODEL},
         {"call read {\"path\":\"a\"}", AGENT_RUN_TOOL}, {"got one", AGENT_CALL_MODEL},
         {"call read {\"path\":\"b\"}", AGENT_RUN_TOOL}, {"got two", AGENT_CALL_MODEL}, {"says", AGENT_OVER});
}

TEST(agent_is_stopped_at_its_rounds)
{
    PLAY(LIMITS(2, 9, 9), AGENT_STOPPED_ROUNDS, 2, {"asked", AGENT_CALL_MODEL}, {"call a {}", AGENT_RUN_TOOL},
         {"got 1", AGENT_CALL_MODEL}, {"call b {}", AGENT_RUN_TOOL}, {"got 2", AGENT_CALL_MODEL},
         {"call c {}", AGENT_OVER});
    PLAY(LIMITS(0, 9, 9), AGENT_STOPPED_ROUNDS, 0, {"asked", AGENT_CALL_MODEL}, {"call a {}", AGENT_OVER});
    PLAY(LIMITS(-5, 9, 9), AGENT_STOPPED_ROUNDS, 0, {"asked", AGENT_CALL_MODEL}, {"call a {}", AGENT_OVER});
}

TEST(agent_that_may_call_for_ever_is_stopped_at_the_most)
{
    struct agent g;
    char arguments[16], got[16];
    int calls = 0;
    agent_begin(&g, &LIMITS(1 << 30, 1, 1 << 30));
    enum agent_effect effect = agent_on(&g, &(struct agent_event){.kind = AGENT_ASKED});
    while (effect == AGENT_CALL_MODEL) {
        snprintf(arguments, sizeof arguments, "{%d}", calls);
        snprintf(got, sizeof got, "%d", calls);
        effect = agent_on(&g, &(struct agent_event){.kind = AGENT_SAID, .call = "a", .arguments = arguments});
        if (effect != AGENT_RUN_TOOL) break;
        calls++;
        effect = agent_on(&g, &(struct agent_event){.kind = AGENT_GOT, .text = got, .n = strlen(got)});
    }
    CHECK_EQ(calls, AGENT_ROUNDS_MAX);
    CHECK_EQ(g.end, AGENT_STOPPED_ROUNDS);
}

TEST(agent_makes_one_call_so_often_and_no_more)
{
    /* what comes between does not matter; neither does a name that runs into the arguments */
    PLAY(LIMITS(9, 2, 9), AGENT_STOPPED_REPEATS, 4, {"asked", AGENT_CALL_MODEL}, {"call a b", AGENT_RUN_TOOL},
         {"got 1", AGENT_CALL_MODEL}, {"call a c", AGENT_RUN_TOOL}, {"got 2", AGENT_CALL_MODEL},
         {"call ab ", AGENT_RUN_TOOL}, {"got 3", AGENT_CALL_MODEL}, {"call a b", AGENT_RUN_TOOL},
         {"got 4", AGENT_CALL_MODEL}, {"call a b", AGENT_OVER});
    PLAY(LIMITS(9, 0, 9), AGENT_STOPPED_REPEATS, 1, {"asked", AGENT_CALL_MODEL}, {"call a b", AGENT_RUN_TOOL},
         {"got 1", AGENT_CALL_MODEL}, {"call a b", AGENT_OVER}); /* 0 is brought to 1 */
}

TEST(agent_without_progress_is_stopped)
{
    PLAY(LIMITS(9, 2, 9), AGENT_STOPPED_PROGRESS, 2, {"asked", AGENT_CALL_MODEL}, {"call a 1", AGENT_RUN_TOOL},
         {"got nothing", AGENT_CALL_MODEL}, {"call a 2", AGENT_RUN_TOOL}, {"got nothing", AGENT_CALL_MODEL},
         {"call a 3", AGENT_OVER});
    /* in a row: another result between them counts anew, and an empty one is one like others */
    PLAY(LIMITS(9, 2, 9), AGENT_STOPPED_PROGRESS, 5, {"asked", AGENT_CALL_MODEL}, {"call a 1", AGENT_RUN_TOOL},
         {"got nothing", AGENT_CALL_MODEL}, {"call a 2", AGENT_RUN_TOOL}, {"got some", AGENT_CALL_MODEL},
         {"call a 3", AGENT_RUN_TOOL}, {"got nothing", AGENT_CALL_MODEL}, {"call a 4", AGENT_RUN_TOOL},
         {"got ", AGENT_CALL_MODEL}, {"call a 5", AGENT_RUN_TOOL}, {"got ", AGENT_CALL_MODEL},
         {"call a 6", AGENT_OVER});
    /* one result is no repetition, even where no call may be repeated */
    PLAY(LIMITS(9, 1, 9), AGENT_STOPPED_PROGRESS, 3, {"asked", AGENT_CALL_MODEL}, {"call a 1", AGENT_RUN_TOOL},
         {"got one", AGENT_CALL_MODEL}, {"call a 2", AGENT_RUN_TOOL}, {"got two", AGENT_CALL_MODEL},
         {"call a 3", AGENT_RUN_TOOL}, {"got two", AGENT_CALL_MODEL}, {"call a 4", AGENT_OVER});
    /* an answer is always welcome */
    PLAY(LIMITS(9, 1, 9), AGENT_ANSWERED, 1, {"asked", AGENT_CALL_MODEL}, {"call a 1", AGENT_RUN_TOOL},
         {"got nothing", AGENT_CALL_MODEL}, {"says", AGENT_OVER});
}

TEST(agent_whose_calls_fail_in_a_row_is_stopped)
{
    PLAY(LIMITS(9, 9, 2), AGENT_STOPPED_FAILURES, 4, {"asked", AGENT_CALL_MODEL}, {"call a 1", AGENT_RUN_TOOL},
         {"failed 1", AGENT_CALL_MODEL}, {"call a 2", AGENT_RUN_TOOL}, {"got 2", AGENT_CALL_MODEL},
         {"call a 3", AGENT_RUN_TOOL}, {"failed 3", AGENT_CALL_MODEL}, {"call a 4", AGENT_RUN_TOOL},
         {"failed 4", AGENT_CALL_MODEL}, {"call a 5", AGENT_OVER});
}

TEST(agent_ends_when_its_model_does_and_stays_so)
{
    PLAY(LIMITS(4, 3, 3), AGENT_ENDED, 0, {"asked", AGENT_CALL_MODEL}, {"cut", AGENT_OVER});
    PLAY(LIMITS(4, 3, 3), AGENT_ENDED, 1, {"asked", AGENT_CALL_MODEL}, {"call a 1", AGENT_RUN_TOOL},
         {"broke", AGENT_OVER}, {"asked", AGENT_OVER}, {"call a 2", AGENT_OVER}, {"got 2", AGENT_OVER});
    PLAY(LIMITS(4, 3, 3), AGENT_ANSWERED, 0, {"asked", AGENT_CALL_MODEL}, {"says", AGENT_OVER}, {"broke", AGENT_OVER},
         {"call a 1", AGENT_OVER});
}

CHECK_MAIN
