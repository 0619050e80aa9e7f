/* fixture_names.h - the models of tests/fixtures that were judged: what runs them on a backend runs all. */
#ifndef FIXTURE_NAMES_H
#define FIXTURE_NAMES_H

static const char *const fixture[] = {"llama-defaults", "llama-gqa",   "llama-heads3", "llama-heads9",
                                      "llama-rope3",    "llama-bias",  "qwen2-gqa",    "qwen2-tied",
                                      "llama-f16",      "qwen2-bf16",  "llama-q8_0",   "qwen2-q8_0",
                                      "qwen3-gqa",      "qwen3-tied",  "qwen3-yarn",   "qwen3-q8_0",
                                      "llama-window",   "gemma2-caps", "gemma2-27b",   "gemma3-windows",
                                      "gemma3-plain",   "gemma3-27b",  "gemma3-q8_0",  "smollm3",
                                      "qwen3moe",       "mixtral",     "qwen3moe-q8_0",
                                      "phi3-window",    "phi3-long",   "phi3-q8_0",
                                      "gpt-oss",        "gpt-oss-mxfp4", "llama-iq4_nl", "llama-iq4_xs",
                                      "llama-q3_k",     "llama-q2_k",
                                      "qwen35",         "qwen35-q8_0", "qwen35moe",   "qwen35moe-q8_0", "qwen3next",
                                      "qwen3next-q8_0", "qwen2moe",    "granite",     "granite-q8_0",   "granitemoe",
                                      "lfm2",           "lfm2-q8_0",
                                      "mistral3",       "mistral3-q8_0", "olmo2",      "olmo3",          "olmo3-q8_0"};
#endif
