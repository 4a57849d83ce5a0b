# SPDX-License-Identifier: Apache-2.0
"""suite.py - frequencies and cycles per execution that `morph annotate` tells of the suite's programs without a count, against
exact ones: callgrind's counts, and what the CPU's time comes to by them."""

import json
import resource
import struct
import subprocess

SHARE = 0.95  # of a program's samples, in the functions that are looked at
FUNCTIONS = 80  # at most
HOTTEST = 100  # blocks of the suite
LEAST_SAMPLES = 30  # of a block whose cycles are compared: below it, chance is more than a fifth
WITHIN = 0.15


def segments_of(path):
    """(address, offset, size) of what is loaded from an ELF file."""
    with open(path, "rb") as f:
        head = f.read(64)
        table, size, n = struct.unpack_from("<Q", head, 32)[0], *struct.unpack_from("<HH", head, 54)
        f.seek(table)
        headers = [struct.unpack("<IIQQQQQQ", f.read(size)[:56]) for _ in range(n)]
    return [(address, offset, length) for kind, _, offset, address, _, length, _, _ in headers if kind == 1]


def offset_of(segments, address):
    for start, offset, length in segments:
        if start <= address < start + length:
            return address - start + offset
    return None


def exact_of(path):
    with open(path) as f:
        modules = json.load(f)["modules"]
    return {c["offset"]: c["count"] for c in modules[0]["counts"]}


def blocks_of(morph, directory, program, binary, samples):
    """Of the functions in which most of the samples are: their blocks, as annotate tells them; all about the program; and the
    CPU seconds that annotate took for the first function."""
    with open(f"{directory}/{program}.annotated") as f:
        whole = json.load(f)
    left = SHARE * sum(x["samples"] for x in whole["functions"])
    blocks, cost = [], None
    for function in whole["functions"][:FUNCTIONS]:
        if left <= 0:
            break
        left -= function["samples"]
        before = cpu_of_children()
        made = subprocess.run([morph, "annotate", binary, function["address"], "-s", samples, "--json"],
                              capture_output=True, text=True)
        cost = cpu_of_children() - before if cost is None else cost
        if made.returncode == 0:
            blocks += [(function["name"], b) for x in json.loads(made.stdout)["functions"] for b in x.get("blocks", [])]
    return whole, blocks, cost


def cpu_of_children():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def to_first_jump(block):
    """What runs as often as the block: a block may end with a jump behind one that may leave it."""
    ret = []
    for instruction in block["instructions"]:
        ret.append(instruction)
        if instruction["text"].startswith("j"):
            break
    return ret


def rows_of(morph, directory, program, binary, turns, samples):
    whole, blocks, cost = blocks_of(morph, directory, program, binary, samples)
    exact, segments = exact_of(f"{directory}/{program}.exact"), segments_of(binary)
    cycles_a_sample = whole["clock_hz"] / whole["rate_hz"]
    rows = []
    for function, block in blocks:
        counts = [exact.get(offset_of(segments, int(i["address"], 16)), 0) for i in to_first_jump(block)]
        true = turns * min(counts, default=0)
        charged = sum(i["charged"] for i in block["instructions"])
        rows.append({
            "program": program, "function": function, "block": block, "instructions": len(counts), "true": true,
            "estimate": block["executions"], "cycles": block["cycles"], "charged": charged,
            "share": charged / whole["samples"],
            "cycles_exact": charged * cycles_a_sample / true if true else None,
        })
    # Every instruction that ran, and every sample, in these functions or not.
    return rows, turns * sum(exact.values()), whole["samples"], cost


def by_executions(row):
    """How much a block weighs: the instructions that were executed in it, its samples."""
    return row["true"] * row["instructions"]


def by_samples(row):
    return row["charged"]


def within(rows, weight, scale=1):
    """Of the weight, that of blocks whose estimate is near enough."""
    return sum(weight(r) for r in rows
               if r["true"] and r["estimate"] and abs(scale * r["estimate"] / r["true"] - 1) <= WITHIN)


def best_scale(rows, weight):
    """One factor for a program, or a function: the one by which most is near enough."""
    ratios = [r["true"] / r["estimate"] for r in rows if r["true"] and r["estimate"] and weight(r)]
    return max(ratios, key=lambda s: within(rows, weight, s), default=1)


def within_by_function(rows, weight):
    """The same with a best factor for each function: what is left is within functions."""
    functions = {}
    for r in rows:
        functions.setdefault(r["function"], []).append(r)
    return sum(within(f, weight, best_scale(f, weight)) for f in functions.values())


def level_of(rows):
    """How many times more often than in truth blocks are told to run: the median, by instructions executed."""
    known = sorted((r["estimate"] / r["true"], r["true"] * r["instructions"]) for r in rows if r["true"] and r["estimate"])
    half, at = sum(w for _, w in known) / 2, 0
    for ratio, weight in known:
        at += weight
        if at >= half:
            return ratio
    return None


def summary(morph, directory, correlation, mca_cycles):
    with open(f"{directory}/suite") as f:
        lines = [line.split() for line in f]
    programs, rows = [], []
    for program, binary, turns, samples in lines:
        found, executed, sampled, cost = rows_of(morph, directory, program, binary, int(turns), samples)
        covered = sum(by_executions(r) for r in found)
        seen = sum(by_executions(r) for r in found if r["charged"] >= LEAST_SAMPLES)
        programs.append({
            "program": program, "blocks": len(found), "instructions_covered": covered / executed,
            "instructions_seen": seen / executed,
            "frequency_within_15": within(found, by_executions) / executed,
            "frequency_within_15_scaled": within(found, by_executions, best_scale(found, by_executions)) / executed,
            "frequency_within_15_function": within_by_function(found, by_executions) / executed,
            "samples_within_15": within(found, by_samples) / sampled,
            "samples_within_15_scaled": within(found, by_samples, best_scale(found, by_samples)) / sampled,
            "samples_within_15_function": within_by_function(found, by_samples) / sampled,
            "frequency_level": level_of(found),
            "annotate_cpu_s": cost,
        })
        rows += found
    hottest = sorted((r for r in rows if r["charged"] >= LEAST_SAMPLES and r["cycles_exact"]),
                     key=lambda r: -r["share"])[:HOTTEST]
    for r in hottest:
        r["cycles_llvm_mca"] = mca_cycles(r["block"])
    mean = lambda key: sum(p[key] for p in programs) / len(programs)
    return {
        "programs": programs,
        **{key: mean(key) for key in programs[0] if key.startswith(("frequency_within", "samples_within", "instructions_"))},
        "blocks": len(hottest),
        "cpi_correlation": {
            "measured": correlation([(r["cycles"], r["cycles_exact"]) for r in hottest]),
            "llvm_mca": correlation([(r["cycles"], r["cycles_llvm_mca"]) for r in hottest]),
            "llvm_mca_to_measured": correlation([(r["cycles_llvm_mca"], r["cycles_exact"]) for r in hottest]),
        },
        "hottest": [{k: r[k] for k in ("program", "share", "instructions", "true", "estimate", "cycles", "cycles_exact",
                                       "cycles_llvm_mca")} | {"address": r["block"]["address"]} for r in hottest],
    }
