#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""faults.py BENCH-DIRECTORY MODE PERCENT CPU BENCH-FAULTS PROGRAM=SCRIPT... - the table as build/bench/faults.json

Runs each program's SCRIPT in its variants, in rounds, an order drawn anew in each, under BENCH-FAULTS: warm, then
cold. The pages that ran come from MODE/VARIANT.heat (bench/measure/counts, the same script). bench/README.md describes the fields.
"""

import collections
import json
import os
import random
import subprocess
import sys
import tempfile

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../measure"))
import measure

ROUNDS = 9
VARIANTS = ("shipped", "again", "morph", "bolt")
LINE_BYTES = 64
PAGE_BYTES = os.sysconf("SC_PAGESIZE")
# bench-pairs' environment
ENVIRONMENT = {"PATH": "/usr/bin:/bin", "HOME": "/nonexistent", "LC_ALL": "C", "TZ": "UTC"}
# from the counts: exact, so one figure and no rounds
PAGES = ("pages_touched", "pages_99")
# figure of the table -> cache, field of bench-faults, sum or mean over the processes of a run
FIGURES = {
    "minor_faults": ("warm", "minor_faults", sum),
    "text_minor_faults": ("warm", "text_minor_faults", sum),
    "resident_text_kib": ("warm", "resident_text_kib", lambda values: sum(values) / len(values)),
    "major_faults": ("cold", "major_faults", sum),
    "text_major_faults": ("cold", "text_major_faults", sum),
}


class Failed(Exception):
    """A variant cannot be measured; the sentence says why."""


def pages_read(heat, prefix):
    """Pages of the prefix's own files: on which an instruction ran, and the fewest under 99 % of what ran there."""
    pages = collections.Counter()
    for line in measure.read_text(heat).splitlines():
        thing, at, instructions = line.rsplit(" ", 2)
        if thing.startswith(prefix + "/"):
            pages[thing, int(at) * LINE_BYTES // PAGE_BYTES] += int(instructions)
    if not pages:
        return dict.fromkeys(PAGES)
    left, hottest = 0.99 * sum(pages.values()), 0
    for _, instructions in pages.most_common():
        if left <= 0:
            break
        left -= instructions
        hottest += 1
    return {"pages_touched": len(pages), "pages_99": hottest}


def run(tool, cache, directory, script, cpu):
    """One run of SCRIPT: what bench-faults says of each of its processes."""
    with tempfile.NamedTemporaryFile(prefix="morph-faults-") as lines:
        done = subprocess.run(["sh", script], cwd=directory, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                              stderr=subprocess.PIPE, text=True, errors="replace", check=False,
                              env=dict(ENVIRONMENT, RUN=f"{tool} {cache} {lines.name}"),
                              preexec_fn=lambda: os.sched_setaffinity(0, {cpu}))
        processes = [json.loads(line) for line in measure.read_text(lines.name).splitlines()]
    if done.returncode or not processes:
        said = [line for line in done.stderr.splitlines() if line.strip()]
        raise Failed(said[-1] if said else f"its test run: exit status {done.returncode}")
    return processes


def rounds_run(bench, program, variants, script, cpu, tool):
    """{variant: {cache: [a round's processes]}}; a variant that fails has its reason instead."""
    rng = random.Random(1997)
    found = {name: {"warm": [], "cold": []} for name in variants}
    for _ in range(ROUNDS):
        for name in rng.sample(variants, len(variants)):
            for cache in ("warm", "cold"):
                if isinstance(found[name], str):
                    continue
                try:
                    found[name][cache].append(
                        run(tool, cache, os.path.join(bench, program, name, "prefix"), script, cpu))
                except Failed as failed:
                    found[name] = str(failed)
    return found


def runs_of(bench, program, mode, script, cpu, tool):
    """Measured now, or before if no variant is newer."""
    path = os.path.join(bench, program, mode, "faults.json")
    complete = {name: os.path.join(bench, program, name, "complete") for name in VARIANTS}
    variants = [name for name in VARIANTS if os.path.exists(complete[name])]
    kept = measure.read_json(path)
    if kept and list(kept) == variants and all(os.path.getmtime(complete[name]) < os.path.getmtime(path) for name in variants):
        return kept
    print(f"== {program}: page faults, {ROUNDS} rounds of {len(variants)} variants", file=sys.stderr, flush=True)
    found = rounds_run(bench, program, variants, script, cpu, tool)
    measure.write_json(path, found)
    return found


def figure(runs, name):
    """A figure of the table, run by run."""
    cache, field, total = FIGURES[name]
    return [total([process[field] for process in processes]) for processes in runs[cache]]


def spread(values):
    return {"median": measure.median(values), "q1": measure.quantile(values, 0.25), "q3": measure.quantile(values, 0.75)}


def divided(values, base):
    """Round by round; None when there are rounds without any."""
    return [a / b for a, b in zip(values, base)] if all(values) and all(base) else None


def variant_read(bench, program, mode, name, label, found):
    row = {"name": name, "label": label}
    if isinstance(found[name], str):
        row["failed"] = found[name]
        return row
    row["processes"] = len(found[name]["warm"][0])
    row["text_pages"] = max(process["text_kib"] for process in found[name]["warm"][0]) * 1024 // PAGE_BYTES
    directory = os.path.join(bench, program)
    row.update(pages_read(os.path.join(directory, mode, name + ".heat"), os.path.join(directory, name, "prefix")))
    for key in FIGURES:
        values = figure(found[name], key)
        row[key] = spread(values)
        ratios = None if isinstance(found["shipped"], str) else divided(values, figure(found["shipped"], key))
        row[key + "_vs_shipped"] = ratios and measure.ratio_interval(ratios)
    return row


def program_read(bench, mode, name, found, labels):
    row = {"name": name, "rounds": ROUNDS, "variants": []}
    if "shipped" not in found:
        row["failed"] = measure.read_text(os.path.join(bench, name, "shipped", "failed"), "not made").strip()
        return row
    row["variants"] = [variant_read(bench, name, mode, variant, labels[variant], found) for variant in found]
    shipped = row["variants"][0]
    for variant in row["variants"]:
        for key in PAGES:
            both = variant.get(key) and shipped.get(key)
            variant[key + "_vs_shipped"] = variant[key] / shipped[key] if both else None
    return row


def summarize(programs, found, labels):
    """Geometric means over the programs, per variant."""
    summary = []
    for name in VARIANTS:
        row = {"name": name, "label": labels[name]}
        for key in PAGES:
            ratios = [v[key + "_vs_shipped"] for p in programs for v in p["variants"]
                      if v["name"] == name and v[key + "_vs_shipped"]]
            row[key + "_vs_shipped"] = measure.geomean(ratios) if ratios else None
        for key in FIGURES:
            both = [(runs[name], runs["shipped"]) for runs in found
                    if all(isinstance(runs.get(v), dict) for v in (name, "shipped"))]
            ratios = [divided(figure(a, key), figure(b, key)) for a, b in both]
            row[key + "_vs_shipped"] = measure.geomean_interval([r for r in ratios if r])
        if row["minor_faults_vs_shipped"]:
            summary.append(row)
    return summary


def read_ahead_kib(directory):
    """Of the device that the programs are on; None when it has no queue."""
    device = os.stat(directory).st_dev
    queue = f"/sys/dev/block/{os.major(device)}:{os.minor(device)}"
    text = measure.read_text(queue + "/queue/read_ahead_kb") or measure.read_text(queue + "/../queue/read_ahead_kb")
    return int(text) if text else None


def main(argv):
    if len(argv) < 7:
        measure.usage(__doc__)
    bench, mode, percent, cpu, tool = argv[1], argv[2], int(argv[3]), int(argv[4]), argv[5]
    labels = measure.variant_labels()
    found = {name: runs_of(bench, name, mode, script, cpu, tool)
             for name, _, script in (entry.partition("=") for entry in argv[6:])}
    programs = [program_read(bench, mode, name, runs, labels) for name, runs in found.items()]
    summary = summarize(programs, found.values(), labels)
    morph = next((row for row in summary if row["name"] == "morph"), {})
    measure.write_json(os.path.join(bench, "faults.json"), {
        "table": "faults", "mode": mode, "machine": measure.machine(),
        "tools": measure.tools(os.path.join(measure.ROOT, "build/release/bin/morph")),
        "meaning": "Pages of text that the test executes, pages under 99 % of it, the text that a run has resident at its end, "
                   "its minor faults with the program's file in the page cache, and its major faults without.",
        "test_percent": percent, "page_bytes": PAGE_BYTES, "read_ahead_kib": read_ahead_kib(bench),
        **{"geomean_" + key: morph.get(key + "_vs_shipped") for key in PAGES},
        **{"geomean_" + key: (morph.get(key + "_vs_shipped") or {}).get("value") for key in FIGURES},
        "summary": summary, "programs": programs,
    })


if __name__ == "__main__":
    main(sys.argv)
