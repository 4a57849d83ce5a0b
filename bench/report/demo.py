#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""demo.py DEMO-DIRECTORY RESULT NAME=VALUE... - what scripts/demo found, as JSON and as a table

Reads DEMO-DIRECTORY/pairs.json (original, new, original again), original.counts, morph.counts and report.json.
The NAME=VALUEs go into the result as they are; numbers, true and false as such.
"""

import json
import os
import sys

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../measure"))
import measure

COUNTS = {
    "instructions": "instruction_ratio",
    "i1_misses": "i1_miss_ratio",
    "taken_branches": "taken_branch_ratio",
    "mispredicts": "mispredict_ratio",
}


def value(text):
    try:
        return json.loads(text)
    except ValueError:
        return text


def result(directory, given):
    pairs = measure.read_json(os.path.join(directory, "pairs.json"))
    before = measure.read_json(os.path.join(directory, "original.counts")) or {}
    after = measure.read_json(os.path.join(directory, "morph.counts")) or {}
    original, new, control = pairs["variants"]
    found = dict(given)
    found.update(
        outputs_identical=new["outputs_identical"] and control["outputs_identical"],
        cpu_ratio_median=new["ratio"]["median"],
        cpu_ratio=new["ratio"],
        cpu_verdict=new["verdict"],
        control_ratio=control["ratio"],
        control_verdict=control["verdict"],
        rounds=pairs["rounds"],
        cpu_s_before=original["cpu_s"],
        cpu_s_after=new["cpu_s"],
        counts_before=before,
        counts_after=after,
        edit=measure.read_json(os.path.join(directory, "report.json")),
        machine=measure.machine(),
    )
    for count, name in COUNTS.items():
        found[name] = after[count] / before[count] if after.get(count) and before.get(count) else None
    return found


def number(n):
    if n is None:
        return "-"
    if isinstance(n, int):
        return f"{n:,}"
    return f"{n:.3f}"


def rows(r):
    edit = r["edit"] or {}
    spread = "{q1:.3f} .. {q3:.3f}"
    yield "", "original", "Morph", "ratio"
    yield ("file, bytes", number(r["file_bytes_before"]), number(r["file_bytes_after"]),
           number(r["file_bytes_after"] / r["file_bytes_before"]))
    text = [edit.get("text_bytes_before"), edit.get("text_bytes_after")]
    yield "text, bytes", number(text[0]), number(text[1]), number(text[1] / text[0]) if all(text) else "-"
    yield ("CPU time, s (median)", number(r["cpu_s_before"]["median"]),
           number(r["cpu_s_after"]["median"]), number(r["cpu_ratio"]["median"]))
    yield ("  quartiles; interval of the ratio", spread.format(**r["cpu_s_before"]),
           spread.format(**r["cpu_s_after"]), "{low:.3f} .. {high:.3f}".format(**r["cpu_ratio"]))
    yield "  the original once more", "", "", number(r["control_ratio"]["median"])
    for count, name in COUNTS.items():
        before, after = r["counts_before"].get(count), r["counts_after"].get(count)
        yield count.replace("_", " ").replace("i1", "I1"), number(before), number(after), number(r[name])


def show(r):
    edit = r["edit"] or {}
    print(f"\n{r['title']}; source {r['source']}")
    print(f"{number(r['samples'])} samples by {r['sampler']}; "
          f"{number(edit.get('functions'))} functions, {number(edit.get('hot_functions'))} of them hot; "
          f"{number(edit.get('blocks'))} blocks, {number(edit.get('hot_blocks'))} hot; "
          f"generation {r['generation']}\n")
    table = list(rows(r))
    widths = [max(len(row[i]) for row in table) for i in range(4)]
    for row in table:
        print(row[0].ljust(widths[0]), *(row[i].rjust(widths[i]) for i in (1, 2, 3)), sep="  ")
    seen = {"less": "less CPU time", "more": "MORE CPU TIME"}.get(r["cpu_verdict"], r["cpu_verdict"])
    print(f"\n{seen} ({r['rounds']} rounds, 95 % interval of the median ratio); "
          f"outputs {'identical' if r['outputs_identical'] else 'DIFFER'}; "
          f"file after rollback {'identical' if r['rolled_back_identical'] else 'DIFFERS'}")


def main(argv):
    if len(argv) < 3:
        measure.usage(__doc__)
    given = {name: value(text) for name, _, text in (argument.partition("=") for argument in argv[3:])}
    found = result(argv[1], given)
    measure.write_json(argv[2], found)
    show(found)
    return 0 if found["outputs_identical"] and found["rolled_back_identical"] else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv))
