# SPDX-License-Identifier: Apache-2.0
"""cpi.py DIRECTORY OUT MORPH - what `morph annotate` said of each kernel, against what is known of it; and of the suite's
programs (suite.py), if they were run."""

import json
import math
import os
import re
import subprocess
import sys

import suite

CALM_CAUSES = ("dependency", "unit")


def function_of(path, kernel):
    with open(path) as f:
        found = [x for x in json.load(f)["functions"] if x["name"] == kernel]
    return found[0] if found else None


def sum_of(path, kernel):
    """A kernel is its function and those that it calls, NAME__PART: cycles, and shares of them; and the clock's rate."""
    with open(path) as f:
        whole = json.load(f)
    parts = [x for x in whole["functions"] if x["name"] == kernel or x["name"].startswith(kernel + "__")]
    cycles = sum(x["cycles"] for x in parts)
    shares = {}
    for x in parts:
        for cause, share in x["shares"].items():
            into = shares.setdefault(cause, {"least": 0, "most": 0})
            for k in into:
                into[k] += share[k] * x["cycles"] / cycles
    return {"shares": shares, "cycles": cycles, "samples": sum(x["samples"] for x in parts)}, whole["clock_hz"]


def loop_block(function, loop):
    for block in function["blocks"]:
        start = int(block["address"], 16)
        if start <= loop < start + block["size"]:
            return block
    return None


def mca_cycles(block):
    """Cycles of one execution of a block by llvm-mca, as a loop of it, on this CPU; None: it cannot read it."""
    if not block or len(block["instructions"]) > 5000:
        return None
    lines = [re.sub(r"^(j\w+|call) 0x[0-9a-f]+$", r"\1 target", i["text"]) for i in block["instructions"]]
    made = subprocess.run(["llvm-mca-22", "-mcpu=native", "-iterations=100"], capture_output=True, text=True,
                          input="\n".join([".intel_syntax noprefix", "target:", *lines, ""]))
    found = re.search(r"^Total Cycles: +(\d+)", made.stdout, re.M)
    return int(found[1]) / 100 if found and made.returncode == 0 else None


# The same code cannot be run without its culprit; what it would take then is the sum of what others take: a load that hits,
# and two additions.
CALM_PARTS = ("store_forward_wide", "store_forward_apart", "store_forward_bytes")


def calm_parts(raw):
    def cycles(kernel):
        found = [r for r in raw if r[0] == kernel]
        return float(found[0][5]) / int(found[0][4]) if found else 0

    return cycles("l1_chase") + 2 * cycles("add_chain") / 12


def row_of(directory, row, parts):
    kernel, culprit, group, loop, turns, seconds, calm_turns, calm_seconds = row
    turns = int(turns)
    counted, clock_hz = sum_of(f"{directory}/{kernel}.all", kernel)
    guessed = function_of(f"{directory}/{kernel}.guessed", kernel)
    if not counted["samples"] or not guessed:
        sys.exit(f"cpi: no samples in {kernel}: nothing can be said of it; run it longer")
    least = {k: v["least"] for k, v in counted["shares"].items()}
    stall = sum(least.values()) - least.get("execution", 0)
    stall += max(0, 1 - sum(least.values()))  # told as one of several
    wrong = {k: v for k, v in least.items() if k not in ("execution", "unknown", culprit)}
    right = least.get(culprit, 0)
    # What the same code takes when its culprit does not strike is a wait for results and units, and right to be told as such.
    cycles = counted["cycles"] / turns
    calm = float(calm_seconds) / int(calm_turns) if int(calm_turns) else parts if kernel in CALM_PARTS else 0
    calm *= clock_hz
    allowed = min(sum(wrong.get(k, 0) for k in CALM_CAUSES), min(1, calm / cycles), stall)
    block = loop_block(guessed, int(loop, 16))
    counted_block = loop_block(function_of(f"{directory}/{kernel}.counted", kernel), int(loop, 16))
    estimate = block["executions"] if block else None
    return {
        "kernel": kernel,
        "group": group,
        "culprit": culprit,
        "samples": counted["samples"],
        "cycles_a_turn": cycles,
        "cycles_a_turn_measured": float(seconds) * clock_hz / turns,
        "cycles_a_turn_calm": calm or None,
        "right": (right + allowed) / stall if stall > 0 else 0,
        "wrong": (sum(wrong.values()) - allowed) / stall if stall > 0 else 0,
        "right_strict": right / stall if stall > 0 else 0,
        "wrong_strict": sum(wrong.values()) / stall if stall > 0 else 0,
        "taken_for": wrong,
        "may_be_right": (counted["shares"].get(culprit, {"most": 0})["most"] + allowed) / stall if stall > 0 else 0,
        "frequency_ratio": estimate / turns if estimate else None,
        "loop_cycles": counted_block["cycles"] if counted_block else None,
        "loop_cycles_without_count": block["cycles"] if block else None,
        "loop_cycles_llvm_mca": mca_cycles(counted_block),
    }


def correlation(pairs):
    """Pearson's, of the logarithms: costs are from 1 to 100,000 cycles."""
    pairs = [(math.log(a), math.log(b)) for a, b in pairs if a and b]
    if len(pairs) < 3:
        return None
    ma, mb = (sum(p[i] for p in pairs) / len(pairs) for i in (0, 1))
    cov = sum((a - ma) * (b - mb) for a, b in pairs)
    return cov / math.sqrt(sum((a - ma) ** 2 for a, _ in pairs) * sum((b - mb) ** 2 for _, b in pairs))


def summary(rows):
    ratios = [r["frequency_ratio"] for r in rows]
    mean = lambda key: sum(r[key] for r in rows) / len(rows)
    return {
        "kernels": len(rows),
        "culprit_right": mean("right"),
        "culprit_wrong": mean("wrong"),
        "culprit_right_strict": mean("right_strict"),
        "culprit_wrong_strict": mean("wrong_strict"),
        "frequency_within_15": sum(1 for x in ratios if x and abs(x - 1) <= 0.15) / len(rows),
        "cpi_correlation": {
            "measured": correlation([(r["loop_cycles"], r["cycles_a_turn_measured"]) for r in rows]),
            "measured_without_count": correlation(
                [(r["loop_cycles_without_count"], r["cycles_a_turn_measured"]) for r in rows]),
            "llvm_mca": correlation([(r["loop_cycles"], r["loop_cycles_llvm_mca"]) for r in rows]),
            "llvm_mca_to_measured": correlation(
                [(r["loop_cycles_llvm_mca"], r["cycles_a_turn_measured"]) for r in rows]),
        },
    }


def main():
    directory, out, morph = sys.argv[1:]
    with open(f"{directory}/rows") as f:
        raw = [line.split() for line in f]
    rows = [row_of(directory, row, calm_parts(raw)) for row in raw]
    result = summary(rows)
    result["groups"] = {g: summary([r for r in rows if r["group"] == g]) for g in dict.fromkeys(r["group"] for r in rows)}
    result["rows"] = rows
    if os.path.exists(f"{directory}/suite"):
        result["suite"] = suite.summary(morph, directory, correlation, mca_cycles)
    with open(out, "w") as f:
        json.dump(result, f, indent=1)
        f.write("\n")
    for r in rows:
        print(f"{r['kernel']:20} {r['culprit']:18} right {r['right']:.2f} wrong {r['wrong']:.2f} "
              f"{r['cycles_a_turn']:10.1f} cycles a turn")
    for name, group in [("all", result), *result["groups"].items()]:
        print(name, {k: group[k] for k in ("kernels", "culprit_right", "culprit_wrong", "frequency_within_15")})
    if "suite" in result:
        print("suite", {k: v for k, v in result["suite"].items() if k not in ("programs", "hottest")})


if __name__ == "__main__":
    main()
