/* explain_advice.c - what helps where no memory ran out, and yet it is what articles on memory lead to: a flag, a name
 * or a class that is gone, a queue that is full, a loop that does not end.  Names as remedy_table.c has them. */
#include "app/learn/explain_say.h"

#define BUSY                                                                                                      \
    "Its queue is bounded, and it is full: send fewer at once (max_concurrency of batch(), asyncio.Semaphore), or " \
    "wait as long as it says and ask again."
#define SWAP                                                                                                      \
    "vLLM has no --swap-space since 0.18, and it did nothing in V1 before.  A second place for KV in RAM is vllm "  \
    "serve --kv-offloading-size 16 (GiB)."
#define MEMORIES                                                                                                  \
    "LangChain's memory classes are in langchain_classic.memory since 1.0, and none is bounded by itself: "         \
    "SummarizationMiddleware of create_agent() is, and trim_messages()."
#define FOUR_BITS "from_pretrained(..., quantization_config=BitsAndBytesConfig(load_in_4bit=True)) says it since 5.0."

static const struct { const char *phrase, *next; } row[] = {
    {"maximum pending requests exceeded", BUSY}, {"model is overloaded", BUSY}, {"server busy", BUSY},
    {"queue is full", BUSY},
    {"unrecognized arguments * swap space", SWAP}, {"unexpected keyword argument swap space", SWAP},
    {"recursion limit", "A loop that does not end carries more at every step.  Does its edge reach END, and does "
                        "anything leave the state?  A higher limit is memory: each step is also a checkpoint."},
    {"import error cannot import name add messages", "It is in langgraph.graph.message; langgraph.prebuilt "
                                                     "has no such name, whatever articles have."},
    {"import error cannot import name agent runtime error",
     "autogen_core.exceptions has no such name: what the model's client raises comes through as it is "
     "(openai.BadRequestError, ...)."},
    {"import error cannot import name agent executor", "It is in langchain_classic.agents since LangChain 1.0.  "
                                                       "create_agent() is in its place, with middleware for limits."},
    {"import error cannot import name conversation", MEMORIES}, {"no module named langchain memory", MEMORIES},
    {"docs/versions/migrating memory", MEMORIES},
    {"keyword only argument token counter", "trim_messages() has no default for it: token_counter=\"approximate\", "
                                            "include_system=True, start_on=\"human\"."},
    {"unexpected keyword argument load in 4bit", FOUR_BITS}, {"unexpected keyword argument load in 8bit", FOUR_BITS},
    {"pytorch cuda alloc conf is deprecated", "PYTORCH_ALLOC_CONF is its name now; in 2.9 the new one alone did "
                                              "nothing for CUDA, so set both there."},
    {"segments are not compatible with memory pool", "vLLM's sleep mode has a pool of its own: no expandable_segments "
                                                     "there, or no --enable-sleep-mode."}};

const char *explain_advice(const char *phrase)
{
    for (size_t i = 0; i < COUNT_OF(row); i++)
        if (strcmp(row[i].phrase, phrase) == 0) return row[i].next;
    return NULL;
}
