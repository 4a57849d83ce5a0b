#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""callgrind_sum.py [--heat FILE] CALLGRIND-OUT... - totals of all given files, as JSON on standard output

The files were written with --dump-instr=yes --collect-jumps=yes --compress-pos=no and both simulators. FILE receives a line "OBJECT LINE INSTRUCTIONS" per 64-byte line of code that ran, by
its address in the object's file. bench/counts says what the totals mean.
"""

import collections
import json
import sys

LINE_BYTES = 64


class Totals:
    def __init__(self):
        self.events = collections.Counter()
        self.taken = 0
        self.calls = 0
        self.programs = 0
        self.heat = collections.Counter()

    def read(self, path):
        names, thing, skip = [], "", False
        objects = {}  # callgrind's number -> name
        with open(path, encoding="utf-8", errors="replace") as file:
            for line in file:
                if line.startswith("0x"):
                    # After `calls=` stands the callee's cost, which is not this address's.
                    part = line.split(None, 3)
                    if not skip and len(part) > 2:
                        self.heat[thing, int(part[0], 16) // LINE_BYTES] += int(part[2])
                    skip = False
                elif line.startswith("jump="):
                    self.taken += int(line[5:].split(" ", 1)[0])
                elif line.startswith("jcnd="):
                    self.taken += int(line[5:].split("/", 1)[0])
                elif line.startswith("calls="):
                    self.calls += int(line[6:].split(" ", 1)[0])
                    skip = True
                elif line.startswith(("ob=", "cob=")):
                    kind, _, text = line.strip().partition("=")
                    number, _, name = text.partition(" ")
                    objects[number] = name or objects[number]
                    if kind == "ob":
                        thing = objects[number]
                elif line.startswith("events:"):
                    names = line.split()[1:]
                elif line.startswith("totals:"):
                    self.events.update(dict(zip(names, map(int, line.split()[1:]))))
                    self.programs += 1

    def result(self):
        e = self.events
        return {
            "instructions": e["Ir"],
            "i1_misses": e["I1mr"],
            "l1d_misses": e["D1mr"] + e["D1mw"],
            "ll_misses": e["ILmr"] + e["DLmr"] + e["DLmw"],
            "branches": e["Bc"] + e["Bi"],
            "mispredicts": e["Bcm"] + e["Bim"],
            "taken_branches": self.taken,
            "calls": self.calls,
            "code_lines": len(self.heat),
        }


def main(argv):
    heat = None
    if argv[1:2] == ["--heat"]:
        heat, argv = argv[2], argv[2:]
    totals = Totals()
    for path in argv[1:]:
        totals.read(path)
    if not totals.programs:
        print("callgrind_sum.py: no totals in the files given", file=sys.stderr)
        return 1
    print(json.dumps(totals.result()))
    if heat:
        with open(heat, "w", encoding="utf-8") as out:
            for (thing, line), instructions in sorted(totals.heat.items()):
                out.write(f"{thing} {line} {instructions}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
