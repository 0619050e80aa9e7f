/* explain_words_figure.c - figures that messages state; and all phrases as one list. */
#include "app/learn/explain_words.h"

#define FIGURE(figure, phrase) {phrase, WORD_FIGURE, figure, CAUSE_UNKNOWN, 0}

const struct word words_figure[] = {
    FIGURE(FIG_TRIED, "tried to allocate $"), FIGURE(FIG_TRIED, "trying to allocate $"),
    FIGURE(FIG_TRIED, "try to allocate $"), FIGURE(FIG_TRIED, "attempted to allocate $"),
    FIGURE(FIG_TRIED, "attempting to allocate $"), FIGURE(FIG_TRIED, "allocating $"),
    FIGURE(FIG_TRIED, "buffer of size #"), FIGURE(FIG_TRIED, "unable to allocate $"),
    FIGURE(FIG_TRIED, "failed to allocate $"), FIGURE(FIG_TRIED, "could not allocate $"),
    FIGURE(FIG_TRIED, "cannot allocate $"), FIGURE(FIG_TRIED, "memory allocation of $"),
    FIGURE(FIG_TRIED, "allocation of $"), FIGURE(FIG_TRIED, "allocation of size #"),
    FIGURE(FIG_TRIED, "requested $"), FIGURE(FIG_TRIED, "request of $"), FIGURE(FIG_TRIED, "allocate a $"),
    FIGURE(FIG_TOTAL, "device limit $"), FIGURE(FIG_TOTAL, "total capacity of $"),
    FIGURE(FIG_TOTAL, "total capacty of $"), FIGURE(FIG_TOTAL, "@total capacity"), FIGURE(FIG_TOTAL, "@total"),
    FIGURE(FIG_TOTAL, "total memory $"), FIGURE(FIG_TOTAL, "capacity of $"),
    FIGURE(FIG_TOTAL, "total gpu memory $"), FIGURE(FIG_FREE, "free according to cuda $"),
    FIGURE(FIG_FREE, "of which $ is free"), FIGURE(FIG_FREE, "@is free"), FIGURE(FIG_FREE, "@free"),
    FIGURE(FIG_FREE, "| free memory $"), FIGURE(FIG_FREE, "only $ free"), FIGURE(FIG_FREE, "only $ available"),
    FIGURE(FIG_FREE, "with $ free"), FIGURE(FIG_FREE, "available memory $"),
    FIGURE(FIG_ALLOCATED, "currently allocated $"), FIGURE(FIG_ALLOCATED, "@already allocated"),
    FIGURE(FIG_ALLOCATED, "@is allocated by pytorch"), FIGURE(FIG_ALLOCATED, "@allocated by pytorch"),
    FIGURE(FIG_ALLOCATED, "mps allocated $"), FIGURE(FIG_ALLOCATED, "@is already allocated"),
    FIGURE(FIG_RESERVED, "@reserved"), FIGURE(FIG_RESERVED, "@is reserved in total"), FIGURE(FIG_GAP, "@cached |"),
    FIGURE(FIG_GAP, "@is reserved by pytorch but unallocated"), FIGURE(FIG_GAP, "@reserved but unallocated"),
    FIGURE(FIG_GAP, "@reserved by pytorch but unallocated"), FIGURE(FIG_GAP, "@is reserved but unallocated"),
    FIGURE(FIG_IN_USE, "this process has $"), FIGURE(FIG_PROCESS, "process # has $ memory in use"),
    FIGURE(FIG_PROCESS, "pid # * uses $"), FIGURE(FIG_PROCESS, "pid # * holds $"),
    FIGURE(FIG_PROCESS, "process # is using $"), FIGURE(FIG_PROCESS, "process # uses $"),
    FIGURE(FIG_PROCESS, "pid # * using $"), FIGURE(FIG_ALLOWED, "@allowed"), FIGURE(FIG_ALLOWED, "max allowed $"),
    FIGURE(FIG_ALLOWED, "@is allowed"), FIGURE(FIG_BESIDE, "other allocations $"),
    FIGURE(FIG_START_FREE, "free memory on device #/$"), FIGURE(FIG_START_FREE, "free memory on device * #/$"),
    FIGURE(FIG_DESIRED, "gpu memory utilization # $"), FIGURE(FIG_KV_NEEDED, "@kv cache is needed"),
    FIGURE(FIG_KV_NEEDED, "@kv cache memory is needed"), FIGURE(FIG_KV_HAVE, "available kv cache memory $"),
    FIGURE(FIG_KV_HAVE, "for kv cache is $"), FIGURE(FIG_KV_HAVE, "reserved for kv cache * $"),
    FIGURE(FIG_WEIGHTS, "model weights take $"), FIGURE(FIG_WEIGHTS, "model weights took $"),
    FIGURE(FIG_WEIGHTS, "loading weights took $"), FIGURE(FIG_WEIGHTS, "model loading took $"),
    FIGURE(FIG_WEIGHTS, "weights took $"), FIGURE(FIG_WEIGHTS, "avail mem $ mem usage $"),
    FIGURE(FIG_WEIGHTS, "model buffer size $"), FIGURE(FIG_WEIGHTS, "model size $"),
    FIGURE(FIG_WEIGHTS, "file size $"), FIGURE(FIG_WEIGHTS, "weights $"),
    FIGURE(FIG_WEIGHTS, "load weight end * mem usage $"), FIGURE(FIG_KV_POOL, "kv buffer size $"),
    FIGURE(FIG_KV_POOL, "kv self size $"), FIGURE(FIG_HOST_NEEDED, "more system memory $"),
    FIGURE(FIG_HOST_HAVE, "than is available $"), FIGURE(FIG_RSS, "anon rss $"),
    FIGURE(FIG_LIMIT, "limits * memory $"), FIGURE(FIG_LIMIT, "limit * memory $"),
    FIGURE(FIG_LIMIT, "memory limit $"), FIGURE(FIG_LIMIT, "usage # * limit #"),
    FIGURE(FIG_TOKENS_MOST, "maximum context length is #"), FIGURE(FIG_TOKENS_MOST, "maximum context length of #"),
    FIGURE(FIG_TOKENS_MOST, "exceed context window of #"), FIGURE(FIG_TOKENS_MOST, "available context size #"),
    FIGURE(FIG_TOKENS_MOST, "| n ctx #"), FIGURE(FIG_TOKENS_MOST, "maximum model length of #"),
    FIGURE(FIG_TOKENS_MOST, "model s max seq len #"), FIGURE(FIG_TOKENS_MOST, "model s context length #"),
    FIGURE(FIG_TOKENS_MOST, "must be # given"), FIGURE(FIG_TOKENS_MOST, "truncating input prompt limit #"),
    FIGURE(FIG_TOKENS_MOST, "tokens that can be stored in kv cache #"),
    FIGURE(FIG_TOKENS_MOST, "maximum allowed length #"), FIGURE(FIG_TOKENS_ASKED, "messages resulted in #"),
    FIGURE(FIG_TOKENS_ASKED, "you requested #"), FIGURE(FIG_TOKENS_ASKED, "requested a total of #"),
    FIGURE(FIG_TOKENS_ASKED, "your request has #"), FIGURE(FIG_TOKENS_ASKED, "requested tokens #"),
    FIGURE(FIG_TOKENS_ASKED, "n prompt tokens #"), FIGURE(FIG_TOKENS_ASKED, "prompt length #"),
    FIGURE(FIG_TOKENS_ASKED, "input length #"), FIGURE(FIG_TOKENS_ASKED, "prompt is too long #"),
    FIGURE(FIG_TOKENS_ASKED, "request # tokens exceeds"), FIGURE(FIG_TOKENS_ASKED, "the input # tokens is longer"),
    FIGURE(FIG_TOKENS_ASKED, "prompt contains * #"), FIGURE(FIG_TOKENS_ASKED, "limit # prompt #"),
    FIGURE(FIG_RUNNING, "running # req"), FIGURE(FIG_RUNNING, "running req #"),
    FIGURE(FIG_RUNNING, "with # concurrent"), FIGURE(FIG_RUNNING, "concurrent requests #"),
    FIGURE(FIG_RUNNING, "sending # requests"), FIGURE(FIG_RUNNING, "active requests #"),
    FIGURE(FIG_RUNNING, "in flight #"), FIGURE(FIG_RUNNING, "batch size #"), FIGURE(FIG_RUNNING, "batch of #"),
    FIGURE(FIG_RUNNING, "concurrency #"), FIGURE(FIG_RUNNING, "num running #"),
    FIGURE(FIG_RUNNING, "max workers #"), FIGURE(FIG_WAITING, "waiting # req"), FIGURE(FIG_WAITING, "queue req #"),
    FIGURE(FIG_WAITING, "pending # req"), FIGURE(FIG_SMI, "mib/ $"), FIGURE(FIG_SMI_PROCESS, "/n/a # * $"),
    FIGURE(FIG_TURN_TOKENS, "| turn # * #tokens"), FIGURE(FIG_TURN_TOKENS, "| round # * #tokens"),
    FIGURE(FIG_TURN_TOKENS, "| step # * #tokens"), FIGURE(FIG_TURN_TOKENS, "| iteration # * #tokens"),
    FIGURE(FIG_TURN_TOKENS, "| task # * #tokens"), FIGURE(FIG_TURN_TOKENS, "| message # * #tokens"),
    FIGURE(FIG_TURN_TOKENS, "| turn # * tokens #"), FIGURE(FIG_TURN_TOKENS, "| round # * tokens #"),
    FIGURE(FIG_TURN_TOKENS, "| step # * tokens #"), FIGURE(FIG_TURN_TOKENS, "| iteration # * tokens #"),
    FIGURE(FIG_TOKENS_SENT, "prompt tokens #"), FIGURE(FIG_TOKENS_SENT, "input tokens #"),
    FIGURE(FIG_TOKENS_SENT, "prompt eval count #"), FIGURE(FIG_TOKENS_SENT, "task n tokens #"),
    FIGURE(FIG_TOKENS_SENT, "context tokens #"), FIGURE(FIG_TOKENS_SENT, "history tokens #"),
    FIGURE(FIG_TOKENS_SENT, "total tokens #"), FIGURE(FIG_TOKENS_SENT, "prompt length #"),
    FIGURE(FIG_TOKENS_SENT, "prompt size #"), FIGURE(FIG_MESSAGES, "messages #"),
    FIGURE(FIG_MESSAGES, "history length #"), FIGURE(FIG_MESSAGES, "task chars #"),
    FIGURE(FIG_MESSAGES, "with # messages"), FIGURE(FIG_MESSAGES, "state size #"),
    FIGURE(FIG_TURN_BYTES, "| request # * $"), FIGURE(FIG_TURN_BYTES, "| req # * $"),
    FIGURE(FIG_TURN_BYTES, "| call # * $"), FIGURE(FIG_TURN_BYTES, "| job # * $"),
    FIGURE(FIG_TURN_BYTES, "| batch # * $"), FIGURE(FIG_TURN_BYTES, "| iteration # * $"),
    FIGURE(FIG_TURN_BYTES, "after # requests * $"), FIGURE(FIG_TURN_BYTES, "| run # * $"),
    FIGURE(FIG_BYTES_NOW, "| rss $"), FIGURE(FIG_BYTES_NOW, "memory used $"),
    FIGURE(FIG_BYTES_NOW, "used memory $"), FIGURE(FIG_BYTES_NOW, "memory allocated $"),
    FIGURE(FIG_BYTES_NOW, "gpu mem $"), FIGURE(FIG_BYTES_NOW, "gpu memory $"),
    FIGURE(FIG_BYTES_NOW, "memory usage $"), FIGURE(FIG_BYTES_NOW, "vram $"), FIGURE(FIG_BYTES_NOW, "rss mb #"),
    FIGURE(FIG_BYTES_NOW, "cuda mb #"), FIGURE(FIG_BYTES_NOW, "memory now $"),
    FIGURE(FIG_BYTES_NOW, "cuda memory $"), FIGURE(FIG_BYTES_NOW, "mem used $"),
    FIGURE(FIG_BYTES_NOW, "allocated $"), FIGURE(FIG_LONG, "input len #"), FIGURE(FIG_LONG, "max model len #"),
    FIGURE(FIG_LONG, "num ctx #"), FIGURE(FIG_LONG, "ctx size #"), FIGURE(FIG_LONG, "prompt tokens #"),
    FIGURE(FIG_LONG, "new token #"), FIGURE(FIG_LONG, "max seq len #"), FIGURE(FIG_LONG, "sequence length #"),
};
const int words_figure_n = COUNT_OF(words_figure);

int words_all(void) { return words_fail_n + words_other_n + words_hint_n + words_figure_n; }

const struct word *word_at(int i)
{
    if (i < words_fail_n) return &words_fail[i];
    i -= words_fail_n;
    if (i < words_other_n) return &words_other[i];
    i -= words_other_n;
    return i < words_hint_n ? &words_hint[i] : &words_figure[i - words_hint_n];
}

const char *word_phrase(int i) { return word_at(i)->phrase; }
