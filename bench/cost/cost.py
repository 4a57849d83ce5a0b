#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""cost.py BENCH-DIRECTORY MODE PROGRAM... - the cost table as build/bench/cost.json

Reads what bench/cost/cost left in PROGRAM/cost-MODE (NAME.costs: lines of bench/measure/rusage.py) and the builds' own figures.
bench/README.md describes the fields of the result.
"""

import json
import os
import sys

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../measure"))
import measure


def lines(path):
    return [json.loads(line) for line in measure.read_text(path).splitlines()]


def seconds(costs):
    return measure.median([line["cpu_s"] for line in costs]) if costs else None


def peak_mib(costs):
    return max((line["max_rss_kib"] for line in costs), default=0) / 1024 or None


def number(path):
    text = measure.read_text(path).strip()
    return float(text) if text else None


def divide(a, b):
    return a / b if a and b else None


def of_variant(bench, program, variant, word):
    """Costs of the commands with WORD in them that made VARIANT."""
    return [line for line in lines(os.path.join(bench, program, variant, "costs"))
            if any(word in part for part in line["command"][:2])]


def program_read(bench, mode, name):
    out = os.path.join(bench, name, "cost-" + mode)
    row = {"name": name}
    for variant in ("o2", "lto", "shipped", "lto-pgo"):
        row["build_cpu_s_" + variant.replace("-", "_")] = number(os.path.join(bench, name, variant, "build-cpu-s"))
        row["build_peak_mib_" + variant.replace("-", "_")] = divide(
            number(os.path.join(bench, name, variant, "build-peak-kib")), 1024)
    row["build_ratio"] = divide(row["build_cpu_s_shipped"], row["build_cpu_s_lto"])
    lto, shipped = (lines(os.path.join(out, "build-" + variant + ".costs")) for variant in ("lto", "shipped"))
    row["build_repeats"] = len(lto) if len(lto) == len(shipped) else 0
    if row["build_repeats"]:
        row.update(
            build_cpu_s_lto=seconds(lto), build_cpu_s_shipped=seconds(shipped),
            build_peak_mib_lto=peak_mib(lto), build_peak_mib_shipped=peak_mib(shipped),
            build_ratio=measure.median([b["cpu_s"] / a["cpu_s"] for a, b in zip(lto, shipped)]))
    edit, again = lines(os.path.join(out, "edit.costs")), lines(os.path.join(out, "again.costs"))
    report = measure.read_json(os.path.join(out, "edit.json"))
    # Of every edit, what its steps took; what is left of the whole is unpacking, checking, starting.
    runs, steps_of_runs = edit + again, lines(os.path.join(out, "edit.steps")) + lines(os.path.join(out, "again.steps"))
    if not edit or not report or len(runs) != len(steps_of_runs):
        row["failed"] = (measure.read_text(os.path.join(out, "edit.failed"))
                         or measure.read_text(os.path.join(bench, name, "morph", "failed"), "not measured")).strip()
        return row
    steps = {step: measure.median([run[step] for run in steps_of_runs]) for step in report["cpu_seconds"]}
    following = lines(os.path.join(out, "next.costs"))
    bolt, profile = lines(os.path.join(out, "bolt.costs")), lines(os.path.join(out, "profile.costs"))
    row.update(
        repeats=len(edit),
        edit_cpu_s=seconds(runs), edit_peak_mib=peak_mib(edit),
        edit_wall_s=measure.median([line["wall_s"] for line in runs]),
        control_ratio=measure.ratio_interval([b["cpu_s"] / a["cpu_s"] for a, b in zip(edit, again)]),
        deterministic=measure.read_text(os.path.join(out, "deterministic")) == "true",
        codegen_cpu_s=steps["trust"],
        edit_to_codegen=measure.median([run["cpu_s"] / of["trust"] for run, of in zip(runs, steps_of_runs)]),
        text_bytes=report["text_bytes_before"], memo_bytes=number(os.path.join(out, "memo-bytes")),
        next_cpu_s=seconds(following),
        edit_again_ratio=divide(seconds(following), seconds(runs)),
        next_from_memo=measure.read_json(os.path.join(out, "next.json")).get("shipped_code_from_memo") if following else None,
        layout_share=steps["layout"] / sum(steps.values()),
        edit_to_clang_peak=divide(peak_mib(edit), row["build_peak_mib_lto"]),
        steps_cpu_s=steps,
        profile_cpu_s=seconds(profile), profile_peak_mib=peak_mib(profile), samples=report["samples"],
        profile_share=divide(seconds(profile), seconds(runs)),
        bolt_cpu_s=seconds(bolt), bolt_peak_mib=peak_mib(bolt),
        perf2bolt_cpu_s=seconds(of_variant(bench, name, "bolt", "perf2bolt")),
        perf2bolt_peak_mib=peak_mib(of_variant(bench, name, "bolt", "perf2bolt")),
    )
    return row


def geomean(programs, key):
    values = [row[key] for row in programs if row.get(key)]
    return measure.geomean(values) if values else None


def large_max(programs, key):
    return max((row[key] for row in programs if row.get(key) and row["text_bytes"] >= measure.LARGE_TEXT), default=None)


def builds_said(programs):
    if all(row["build_repeats"] for row in programs):
        return ("The two builds compared are made in turns with nothing beside them, large ones once, small ones up to "
                "five times: medians.")
    return "Builds are measured once, with others beside them: a program's build ratio is good to a tenth at best."


def main(argv):
    if len(argv) < 4:
        measure.usage(__doc__)
    bench, mode = argv[1], argv[2]
    programs = [program_read(bench, mode, name) for name in argv[3:]]
    measure.write_json(os.path.join(bench, "cost.json"), {
        "table": "cost", "mode": mode, "machine": measure.machine(),
        "tools": measure.tools(os.path.join(measure.ROOT, "build/release/bin/morph")),
        "meaning": "CPU seconds and peak memory: of building with `morph cc` against clang with ThinLTO, and of one edit "
                   "(all of it: unpacking and checking, too) against generating the program's code once (its own first step "
                   "does that), BOLT, and a whole PGO build. " + builds_said(programs),
        "build_ratio_geomean": geomean(programs, "build_ratio"),
        "edit_to_codegen_geomean": geomean(programs, "edit_to_codegen"),
        "edit_to_codegen_large_max": large_max(programs, "edit_to_codegen"),
        "edit_again_ratio_max": large_max(programs, "edit_again_ratio"),
        "edit_again_ratio_geomean": geomean(programs, "edit_again_ratio"),
        "edit_to_clang_peak_geomean": geomean(programs, "edit_to_clang_peak"),
        "layout_share_max": max((row["layout_share"] for row in programs if "layout_share" in row), default=None),
        "deterministic": all(row.get("deterministic", True) for row in programs),
        "programs": programs,
    })


if __name__ == "__main__":
    main(sys.argv)
