# SPDX-License-Identifier: Apache-2.0
"""cpi.py DIRECTORY OUT - what `morph annotate` said of each kernel, against what is known of it."""

import json
import sys


def function_of(path, kernel):
    with open(path) as f:
        found = [x for x in json.load(f)["functions"] if x["name"] == kernel]
    return found[0] if found else None


def executions(function, loop):
    for block in function["blocks"]:
        start = int(block["address"], 16)
        if start <= loop < start + block["size"]:
            return block["executions"]
    return None


def row_of(directory, kernel, culprit, loop, turns):
    counted = function_of(f"{directory}/{kernel}.counted", kernel)
    guessed = function_of(f"{directory}/{kernel}.guessed", kernel)
    if not counted or not guessed:
        sys.exit(f"cpi: no samples in {kernel}: nothing can be said of it; run it longer")
    least = {k: v["least"] for k, v in counted["shares"].items()}
    stall = sum(least.values()) - least.get("execution", 0)
    stall += max(0, 1 - sum(least.values()))  # told as one of several
    wrong = {k: v for k, v in least.items() if k not in ("execution", "unknown", culprit)}
    estimate = executions(guessed, loop)
    return {
        "kernel": kernel,
        "culprit": culprit,
        "samples": counted["samples"],
        "cycles_a_turn": counted["cycles"] / turns,
        "right": least.get(culprit, 0) / stall,
        "wrong": sum(wrong.values()) / stall,
        "taken_for": wrong,
        "may_be_right": counted["shares"].get(culprit, {"most": 0})["most"] / stall,
        "frequency_ratio": estimate / turns if estimate else None,
    }


def main():
    directory, out = sys.argv[1:]
    rows = []
    with open(f"{directory}/rows") as f:
        for line in f:
            kernel, culprit, loop, turns = line.split()
            rows.append(row_of(directory, kernel, culprit, int(loop, 16), int(turns)))
    ratios = [r["frequency_ratio"] for r in rows]
    result = {
        "kernels": len(rows),
        "culprit_right": sum(r["right"] for r in rows) / len(rows),
        "culprit_wrong": sum(r["wrong"] for r in rows) / len(rows),
        "frequency_within_15": sum(1 for x in ratios if x and abs(x - 1) <= 0.15) / len(rows),
        "rows": rows,
    }
    with open(out, "w") as f:
        json.dump(result, f, indent=1)
        f.write("\n")
    for r in rows:
        print(f"{r['kernel']:20} {r['culprit']:18} right {r['right']:.2f} wrong {r['wrong']:.2f} "
              f"{r['cycles_a_turn']:10.1f} cycles a turn")
    print({k: result[k] for k in ("kernels", "culprit_right", "culprit_wrong", "frequency_within_15")})


main()
