#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""speedup.py BENCH-DIRECTORY MODE PROGRAM... - the speedup table as build/bench/speedup.json

Reads what bench/speedup/speedup left behind for each program: MODE/pairs.json (bench-pairs), MODE/VARIANT.counts
(bench/measure/counts), VARIANT/commands, VARIANT/failed. bench/README.md describes the fields of the result.
"""

import os
import re
import subprocess
import sys

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../measure"))
import measure

REFERENCES = {
    "vs_shipped": "shipped",
    "vs_o2": "o2",
    "vs_bolt_samples": "bolt",
    "vs_bolt_exact": "bolt-exact",
    "vs_lto_pgo": "lto-pgo",
    "vs_lto_pgo_bolt": "lto-pgo-bolt",
}
COUNTS = ("instructions", "i1_misses", "taken_branches", "mispredicts")


def text_bytes(path):
    """Size of the executable sections, as size(1) -A lists them."""
    out = subprocess.run(["size", "-A", "-d", path], capture_output=True, text=True, check=False).stdout
    return sum(int(n) for n in re.findall(r"^\.text\S*\s+(\d+)", out, re.M)) or None


def count_ratios(counts, base):
    return {
        name + "_ratio": counts[name] / base[name]
        for name in COUNTS
        if counts and base and base.get(name)
    }


def variant_read(bench, program, mode, name, label, measured, binary):
    directory = os.path.join(bench, program, name)
    variant = {"name": name, "label": label}
    failed = measure.read_text(os.path.join(directory, "failed"))
    if failed or name not in measured:
        variant["failed"] = failed.strip() or "not run"
        return variant
    variant.update(measured[name])
    if "failed" in variant:
        variant["failed"] = "its test run: " + variant["failed"]
        return variant
    counts = measure.read_json(os.path.join(bench, program, mode, name + ".counts"))
    variant["counts"] = counts
    if not counts:
        log = measure.read_text(os.path.join(bench, program, mode, name + ".counts.log"))
        variant["counts_failed"] = log.strip().splitlines()[-1] if log.strip() else "not counted"
    variant["text_bytes"] = text_bytes(os.path.join(directory, "prefix", binary))
    variant["commands"] = measure.read_text(os.path.join(directory, "commands")).splitlines()
    return variant


def program_read(bench, mode, name, names):
    pairs = measure.read_json(os.path.join(bench, name, mode, "pairs.json"))
    info = measure.read_json(os.path.join(bench, name, mode, "program.json"))
    if not pairs or not info:
        why = measure.read_text(os.path.join(bench, name, mode, "failed"), "not measured").strip()
        return {"name": name, "failed": why, "variants": []}
    measured = {}
    for entry in pairs["variants"]:
        entry["name"] = os.path.basename(os.path.dirname(entry.pop("directory")))
        measured[entry["name"]] = entry
    variants = [
        variant_read(bench, name, mode, v, label, measured, info["binary"])
        for v, label in names.items()
        if v in info["variants"]
    ]
    program = {"name": name, "rounds": pairs["rounds"], "cpu": pairs["cpu"], **info, "variants": variants}
    program.pop("binary")
    for key, base in REFERENCES.items():
        compare(program, key, base)
    return program


def compare(program, key, base_name):
    """Add ratios to BASE_NAME's to each variant of PROGRAM, round by round."""
    base = find(program, base_name)
    for variant in program["variants"]:
        if base and "ratios" in base and "ratios" in variant:
            rounds = [a / b for a, b in zip(variant["ratios"], base["ratios"])]
            variant[key] = measure.ratio_interval(rounds)
            if variant.get("counts") and base.get("counts"):
                variant[key].update(count_ratios(variant["counts"], base["counts"]))


def find(program, name):
    return next((v for v in program["variants"] if v["name"] == name and "failed" not in v), None)


def rounds_of(programs, name, base_name):
    """Per program that has both: the ratios of NAME to BASE_NAME, round by round."""
    result = []
    for program in programs:
        a, b = find(program, name), find(program, base_name)
        if a and b:
            result.append([x / y for x, y in zip(a["ratios"], b["ratios"])])
    return result


def count_geomean(programs, name, base_name, count):
    ratios = []
    for program in programs:
        a, b = find(program, name), find(program, base_name)
        if a and b and a.get("counts") and b.get("counts") and a["counts"][count] and b["counts"][count]:
            ratios.append(a["counts"][count] / b["counts"][count])
    return measure.geomean(ratios) if ratios else None


def summarize(programs, names):
    """Geometric means of every variant against the references."""
    result = []
    for name, label in names.items():
        row = {"name": name, "label": label}
        for key, base in REFERENCES.items():
            row[key] = measure.geomean_interval(rounds_of(programs, name, base))
        for count in COUNTS:
            row[count + "_vs_shipped"] = count_geomean(programs, name, "shipped", count)
        if row["vs_shipped"]:
            result.append(row)
    return result


def large_of(programs):
    """Those of so much text that caches and predictors do not hold what runs."""
    return [p for p in programs for v in [find(p, "shipped")] if v and (v["text_bytes"] or 0) >= measure.LARGE_TEXT]


def figures_of(table, programs, names):
    """What the table says in one number each."""
    large = large_of(programs)
    table["programs_large"] = len(large)
    for suffix, some in (("", programs), ("_large", large)):
        table["summary" + suffix] = summarize(some, names)
        morph = next((row for row in table["summary" + suffix] if row["name"] == "morph"), {})
        for key in REFERENCES:
            table["geomean_" + key + suffix] = morph[key]["value"] if morph.get(key) else None
        table["instructions_vs_shipped" + suffix] = morph.get("instructions_vs_shipped")


def main(argv):
    if len(argv) < 4:
        measure.usage(__doc__)
    bench, mode, wanted = argv[1], argv[2], argv[3:]
    names = measure.variant_labels()
    programs = [program_read(bench, mode, name, names) for name in wanted]
    table = {"table": "speedup", "mode": mode, "machine": measure.machine(),
             "tools": measure.tools(os.path.join(measure.ROOT, "build/release/bin/morph"))}
    figures_of(table, programs, names)
    worst = [v["vs_shipped"]["value"] for p in programs for v in [find(p, "morph")] if v]
    table["worst_vs_shipped"] = max(worst, default=None)
    tuned = [v["vs_shipped"]["value"] for p in programs for v in [find(p, "morph-tuned")] if v]
    table["worst_vs_shipped_tuned"] = max(tuned, default=None)
    table["outputs_identical"] = all(
        v.get("outputs_identical", True) for p in programs for v in p["variants"])
    table["programs"] = programs
    measure.write_json(os.path.join(bench, "speedup.json"), table)


if __name__ == "__main__":
    main(sys.argv)
