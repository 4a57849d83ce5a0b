#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""backtraces.py SHIPPED DEBUG-FILE SHIPPED-TRACES GENERATION-TRACES - are they the same, by function and by line?

A trace is a line of return addresses (tests/programs/crash). Each is looked up one byte before, with inlined functions,
by addr2line, and becomes a chain of functions. Prints how many were compared, how many have another chain of functions
("wrong"), and how many of their frames the same line. Exit status 1: some are wrong, or fewer than 95 % of lines are right.
"""
import subprocess
import sys


def chains(path, traces):
    """For every address: its frames, (function, line)."""
    addresses = sorted({address for trace in traces for address in trace})
    asked = "".join(f"{int(address, 16) - 1:x}\n" for address in addresses)
    said = subprocess.run(["addr2line", "-afiCe", path], input=asked, capture_output=True, text=True, check=True).stdout
    found = []
    for line in said.splitlines():
        if line.startswith("0x"):
            found.append([])
        else:
            found[-1].append(line)
    assert len(found) == len(addresses), (len(found), len(addresses))
    pairs = ([(f.split("(")[0], at.split(" (")[0].rsplit("/", 1)[-1]) for f, at in zip(lines[::2], lines[1::2])] for lines in found)
    return dict(zip(addresses, pairs))


def read(path):
    return [line.split() for line in open(path)]


def ours(chain):
    """The program's frames; the C library's and the start files' are others."""
    return [frame for frame in chain if frame[0] != "??" and not frame[0].startswith("_start")]


shipped, generation = read(sys.argv[3]), read(sys.argv[4])
of_shipped, of_generation = chains(sys.argv[1], shipped), chains(sys.argv[2], generation)
wrong = frames = lines = 0
assert len(shipped) == len(generation), (len(shipped), len(generation))
for one, other in zip(shipped, generation):
    a = ours([frame for address in one for frame in of_shipped[address]])
    b = ours([frame for address in other for frame in of_generation[address]])
    if [name for name, _ in a] != [name for name, _ in b]:
        wrong += 1
        if wrong <= 3:
            print(f"wrong:\n  {a}\n  {b}")
        continue
    frames += len(a)
    lines += sum(x[1] == y[1] for x, y in zip(a, b))
percent = 100 * lines / max(frames, 1)
print(f"backtraces_compared {len(shipped)} backtraces_wrong {wrong} frames {frames} lines_right_percent {percent:.2f}")
sys.exit(1 if wrong or percent < 95 or not frames else 0)
