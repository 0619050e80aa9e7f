"""llama.cpp's word on the embedded model: how it cuts prompts, and which tokens it takes greedily.

    PYTHONPATH=assets/model python3 tests/judges/judge_tiny.py assets/plimsoll-tiny.gguf build/cases.jsonl

Writes tests/fixtures/plimsoll-tiny.json: per case the messages, llama.cpp's ids of the prompt, its greedy ids, and how
many of them are safe: those before the first choice whose logits lie less than 0.15 apart, since two right programs
that round Q8_0 products differently may part there."""
import json
import sys

import numpy as np

import judges

MARGIN, MOST, PER_ROW = 0.15, 48, 3
ROWS = ["field.facts", "tools.call", "tools.result", "tools.artifact", "recall.said", "summary.record", "summary.goes_on",
        "roles.form", "roles.handover", "talk.greeting", "talk.arithmetic", "talk.unknown"]


def chatml(messages):
    out = ""
    for i, m in enumerate(messages):
        role, text = m["role"], m["content"]
        if role == "tool":  # as engine/template.c: neighbours share one user turn
            out += "" if i and messages[i - 1]["role"] == "tool" else "<|im_start|>user"
            out += "\n<tool_response>\n" + text + "\n</tool_response>"
            out += "" if i + 1 < len(messages) and messages[i + 1]["role"] == "tool" else "<|im_end|>\n"
        else:
            out += f"<|im_start|>{role}\n{text}<|im_end|>\n"
    return out + "<|im_start|>assistant\n"


def special_tokens(llama, text):
    text = text.encode()
    out = (llama.c.llama_token * (len(text) + 8))()
    n = llama.c.llama_tokenize(llama.vocab, text, len(text), out, len(out), True, True)
    assert n >= 0
    return list(out[:n])


def main():
    model, path = sys.argv[1:]
    cases = {}
    with open(path) as f:
        for line in f:
            c = json.loads(line)
            if len(cases.setdefault(c["row"], [])) < PER_ROW:
                cases[c["row"]].append(c["messages"])
    llama = judges.Llama(model, kv="F16", context=4096)
    end = llama.c.llama_vocab_eos(llama.vocab)
    out = []
    for row in ROWS:
        for messages in cases[row]:
            ids = special_tokens(llama, chatml(messages))
            greedy, logits = llama.greedy(ids, MOST)
            if end in greedy:
                greedy = greedy[:greedy.index(end) + 1]
            top = np.sort(logits[:len(greedy)], axis=-1)[:, -2:]
            close = np.flatnonzero(top[:, 1] - top[:, 0] < MARGIN)
            out.append({"row": row, "messages": messages, "prompt": ids, "greedy": greedy,
                        "safe": int(close[0]) if len(close) else len(greedy)})
    llama.close()
    with open("tests/fixtures/plimsoll-tiny.json", "w") as f:
        f.write("[\n" + ",\n".join(json.dumps(c) for c in out) + "\n]\n")
    print(f"{len(out)} cases, {sum(c['safe'] for c in out)} of {sum(len(c['greedy']) for c in out)} tokens are safe")


if __name__ == "__main__":
    main()
