"""Dialogues to messages, by the built program: it alone writes the forms."""
import json
import subprocess
import threading


class Renderer:
    """`plimsoll forms --render` as a co-process: structured dialogues in, messages out."""

    def __init__(self, program):
        self.p = subprocess.Popen([program, "forms", "--render"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                  text=True)

    def render(self, dialogues):
        """The messages of each dialogue: lists of (role, content)."""
        lines = [json.dumps(d) + "\n" for d in dialogues]

        def feed():
            for line in lines:
                self.p.stdin.write(line)
            self.p.stdin.flush()
        feeder = threading.Thread(target=feed)
        feeder.start()
        out = []
        for line in lines:
            answer = self.p.stdout.readline()
            if not answer:
                raise RuntimeError("plimsoll forms --render ended early; see what it said above")
            out.append([(m["role"], m["content"]) for m in json.loads(answer)["messages"]])
        feeder.join()
        return out

    def close(self):
        self.p.stdin.close()
        if self.p.wait() != 0:
            raise RuntimeError("plimsoll forms --render failed")


def batches_of(items, n):
    group = []
    for x in items:
        group.append(x)
        if len(group) == n:
            yield group
            group = []
    if group:
        yield group
