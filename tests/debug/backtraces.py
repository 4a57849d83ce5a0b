#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""backtraces.py [--json] SHIPPED DEBUG-FILE SHIPPED-TRACES GENERATION-TRACES - are they the same, by function and by line?

A trace is a line of return addresses (tests/programs/crash). Each is looked up one byte before, with inlined functions,
by addr2line, and becomes a chain of functions. Prints how many were compared, how many have another chain of functions
("wrong"), and how many of their frames the same line. Exit status 1: some are wrong, or fewer than 95 % of lines are right.

A tail call leaves no frame of its caller, but a copy of the callee shows one: where one chain is the other without some of its frames,
--json tells of it apart ("tail_calls"); else it is wrong, too. Then it prints figures and exits with 0, whatever they are.
"""
import json
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
    pairs = ([(f.replace("(anonymous namespace)", "anonymous").split("(")[0], at.split(" (")[0].rsplit("/", 1)[-1]) for f, at in zip(lines[::2], lines[1::2])] for lines in found)
    return dict(zip(addresses, pairs))


def read(path):
    return [line.split() for line in open(path)]


def ours(chain):
    """The program's frames; the C library's and the start files' are others."""
    return [frame for frame in chain if frame[0] != "??" and not frame[0].startswith("_start")]


def found_in(few, many):
    """The frames of @many that have the functions of @few, in their order; None: not all are there."""
    rest = iter(many)
    found = [next((frame for frame in rest if frame[0] == name), None) for name, _ in few]
    return None if None in found else found


def compare(shipped, generation, of_shipped, of_generation):
    result = {"compared": len(shipped), "wrong": 0, "tail_calls": 0, "frames": 0, "lines": 0}
    for one, other in zip(shipped, generation):
        a = ours([frame for address in one for frame in of_shipped[address]])
        b = ours([frame for address in other for frame in of_generation[address]])
        if [name for name, _ in a] != [name for name, _ in b]:
            few, many = sorted((a, b), key=len)
            found = found_in(few, many)
            kind = "wrong" if found is None else "tail_calls"
            result[kind] += 1
            if result[kind] <= 3:
                print(f"{kind}:\n  {a}\n  {b}", file=sys.stderr)
            if found is None:
                continue
            a, b = few, found
        result["frames"] += len(a)
        result["lines"] += sum(x[1] == y[1] for x, y in zip(a, b))
    return result


def main(argv):
    as_json = argv[1] == "--json"
    binary, debug, *paths = argv[1 + as_json :]
    shipped, generation = map(read, paths)
    assert len(shipped) == len(generation), (len(shipped), len(generation))
    found = compare(shipped, generation, chains(binary, shipped), chains(debug, generation))
    if as_json:
        print(json.dumps(found))
        return 0
    wrong, percent = found["wrong"] + found["tail_calls"], 100 * found["lines"] / max(found["frames"], 1)
    print(f"backtraces_compared {found['compared']} backtraces_wrong {wrong} frames {found['frames']} lines_right_percent {percent:.2f}")
    return 1 if wrong or percent < 95 or not found["frames"] else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
