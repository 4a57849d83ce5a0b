#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""report.py TABLES-DIRECTORY OUTPUT-DIRECTORY - RESULTS.md and results.html from the tables' JSON

Of a table that is not there the section of an earlier run stays as it was. A table that this file does not know in particular is shown as it is: its
figures, then one row for each member of its arrays of objects.
"""

import html
import os
import sys
import textwrap

import picture

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../measure"))
import measure

TITLES = {
    "speedup": "Speedup (the paper's Figure 3)",
    "cost": "Cost of an edit (the paper's section 4.3.2)",
    "size": "Sizes (the paper's Table 6)",
    "packages": "Test suites of whole packages",
    "archive": "Debian's packages, rules untouched",
    "suites": "Suites of Debian's packages",
    "machine": "A machine made of rebuilt packages",
    "overhead": "Overhead of sampling (the paper's Tables 4 and 5)",
    "accuracy": "Accuracy of profiles",
    "layout": "Layout",
    "faults": "Pages of text and page faults",
    "security": "Security",
    "reliability": "Reliability",
    "gain": "Predicted and measured gains",
    "facts": "Claims of the IR",
    "cpi": "What programs wait for",
    "analysis": "What a report costs",
    "fleet": "The fleet's database",
    "fuzz": "Fuzzing",
}


class Page:
    """The same content twice: as Markdown and as HTML."""

    def __init__(self):
        self.markdown, self.html = [], []

    def heading(self, text, level=2):
        self.markdown += ["#" * level + " " + text, ""]
        self.html.append(f"<h{level}>{html.escape(text)}</h{level}>")

    def text(self, text):
        self.markdown += textwrap.wrap(text, 118, break_long_words=False, break_on_hyphens=False) + [""]
        self.html.append(f"<p>{html.escape(text)}</p>")

    def table(self, headings, rows):
        if not rows:
            return
        self.markdown.append("| " + " | ".join(headings) + " |")
        self.markdown.append("|" + "|".join("---" if i == 0 else "--:" for i in range(len(headings))) + "|")
        for row in rows:
            self.markdown.append("| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |")
        self.markdown.append("")
        cells = "".join(f"<th>{html.escape(h)}</th>" for h in headings)
        self.html.append(f"<table><tr>{cells}</tr>")
        for row in rows:
            self.html.append("<tr>" + "".join(f"<td>{html.escape(c)}</td>" for c in row) + "</tr>")
        self.html.append("</table>")

    def figure(self, markup, caption):
        """Only the page has pictures."""
        self.html.append(f"<figure>{markup}<figcaption>{html.escape(caption)}</figcaption></figure>")

    def details(self, summary, lines):
        self.html.append(f"<details><summary>{html.escape(summary)}</summary><pre>")
        self.html.append(html.escape("\n".join(lines)) + "</pre></details>")


def sections(path, mark, end=None):
    """Title -> lines of each section of what an earlier run wrote."""
    found, title = {}, None
    try:
        with open(path, encoding="utf-8") as file:
            lines = file.read().split("\n")
    except FileNotFoundError:
        return found
    for line in lines:
        if line.startswith(mark):
            title = html.unescape(line[len(mark):].removesuffix(end or ""))
            found[title] = []
        elif end and line.startswith("</body>"):
            break
        if title:
            found[title].append(line)
    return found


def number(value):
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:,.0f}" if abs(value) >= 1e5 else f"{value:.4g}"
    return str(value)


def ratio(entry):
    """0.931 (0.922 .. 0.940), or with a mark that there is no difference."""
    if not entry:
        return "-"
    mark = " =" if entry["verdict"] == "no difference seen" else ""
    return f"{entry['value']:.3f} ({entry['low']:.3f} .. {entry['high']:.3f}){mark}"


def plain(value):
    return "-" if value is None else f"{value:.3f}"


# ---- speedup ----

def speedup(page, table, directory):
    page.text("CPU time of the test workload relative to the shipped binary (built by `morph cc`, ThinLTO, no profile): "
              "below 1 is faster. Medians of interleaved rounds with their 95 % bootstrap interval; \"=\" marks "
              "that no difference was seen: the interval includes 1. Training and test inputs differ. Morph compiles for "
              "the CPU in the machine, as users have it, unless its row says otherwise; all others for the CPU that packages "
              "are shipped for.")
    page.text(speedup_sentence(table))
    summary = table["summary"]
    page.heading("All programs, geometric mean", 3)
    speedup_summary(page, summary)
    if table.get("programs_large"):
        page.heading(f"Programs of at least {measure.LARGE_TEXT:,} bytes of text, geometric mean", 3)
        speedup_summary(page, table["summary_large"])
    page.heading("What they execute", 3)
    page.text("Instructions as shares of the shipped program's, and first-level instruction cache misses of 1,000 instructions; "
              "of the test, under callgrind.")
    speedup_counts(page, table["programs"])
    page.figure(picture.bars([(row["label"], row["vs_shipped"]) for row in summary]),
                "CPU time relative to the shipped binary, geometric mean, with 95 % intervals")
    for program in table["programs"]:
        speedup_program(page, program, directory, table["mode"])


def speedup_summary(page, summary):
    page.table(
        ["variant", "programs", "vs shipped", "vs clang -O2", "vs ThinLTO+BOLT, samples", "vs ThinLTO+PGO", "vs ThinLTO+PGO+BOLT",
         "instructions", "I1 misses", "taken branches", "mispredicts"],
        [[row["label"], number(row["vs_shipped"]["programs"]), ratio(row["vs_shipped"]), ratio(row["vs_o2"]),
          ratio(row["vs_bolt_samples"]), ratio(row["vs_lto_pgo"]), ratio(row.get("vs_lto_pgo_bolt")),
          plain(row["instructions_vs_shipped"]), plain(row["i1_misses_vs_shipped"]),
          plain(row["taken_branches_vs_shipped"]), plain(row["mispredicts_vs_shipped"])] for row in summary])


COUNTED = (("morph", "Morph, samples"), ("morph-exact", "Morph, exact counts"), ("lto-pgo", "ThinLTO+PGO"),
           ("lto-pgo-bolt", "ThinLTO+PGO+BOLT"))


def speedup_counts(page, programs):
    rows = []
    for program in programs:
        counts = {v["name"]: v["counts"] for v in program["variants"] if v.get("counts")}
        if "shipped" not in counts:
            continue
        text = next(v["text_bytes"] for v in program["variants"] if v["name"] == "shipped")
        of = [counts.get(name) for name, _ in COUNTED]
        rows.append([program["name"], number(text)]
                    + [plain(c["instructions"] / counts["shipped"]["instructions"]) if c else "-" for c in of]
                    + [f"{1000 * c['i1_misses'] / c['instructions']:.2f}" if c else "-" for c in [counts["shipped"], *of]])
    page.table(["program", "text, bytes"] + ["instructions: " + label for _, label in COUNTED]
               + ["I1 misses: shipped"] + ["I1 misses: " + label for _, label in COUNTED], rows)


def speedup_sentence(table):
    found = table.get("geomean_vs_shipped")
    if found is None:
        return "Morph's own rows are missing in this run."
    row = next(row for row in table["summary"] if row["name"] == "morph")
    entry = row["vs_shipped"]
    if entry["verdict"] == "no difference seen":
        start = "From clock samples alone, no difference to the shipped binaries was seen"
    else:
        gain = abs(1 - found) * 100
        start = (f"From clock samples alone Morph's binaries need {gain:.1f} % "
                 f"{'less' if found < 1 else 'MORE'} CPU time than the shipped ones")
    losses = [p["name"] for p in table["programs"] for v in p["variants"]
              if v["name"] == "morph" and v.get("vs_shipped", {}).get("verdict") == "more"]
    worst = f"; the worst program is at {table['worst_vs_shipped']:.3f}"
    if table.get("worst_vs_shipped_tuned"):
        worst += f", and after `morph tune` at {table['worst_vs_shipped_tuned']:.3f}"
    return start + worst + (f". Morph loses on: {', '.join(losses)}." if losses else "; it loses on none.")


def speedup_program(page, program, directory, mode):
    page.heading(program["name"], 3)
    if "failed" in program:
        page.text("Not measured: " + program["failed"])
        return
    page.text(f"{program['title']}; Debian source {program['source']} {program['version']}; "
              f"{program['rounds']} rounds.")
    rows = []
    for v in program["variants"]:
        if "failed" in v:
            rows.append([v["label"], "failed: " + v["failed"]] + [""] * 8)
            continue
        counts = v.get("counts") or {}
        rows.append([v["label"], ratio(v.get("vs_shipped")),
                     f"{v['vs_shipped']['q1']:.3f} .. {v['vs_shipped']['q3']:.3f}" if "vs_shipped" in v else "-",
                     plain(v["cpu_s"]["median"]), number(v["text_bytes"]), number(counts.get("instructions")),
                     number(counts.get("i1_misses")), number(counts.get("taken_branches")),
                     number(counts.get("mispredicts")), "same" if v["outputs_identical"] else "DIFFERS"])
    page.table(["variant", "CPU time vs shipped", "quartiles", "median, s", "text, bytes", "instructions",
                "I1 misses", "taken branches", "mispredicts", "output"], rows)
    page.figure(picture.bars([(v["label"], v["vs_shipped"]) for v in program["variants"] if "vs_shipped" in v]),
                f"{program['name']}: CPU time relative to the shipped binary")
    for variant, label in (("shipped", "as shipped"), ("morph", "re-optimized by Morph")):
        image = picture.heat(os.path.join(directory, program["name"], mode, variant + ".heat"),
                             os.path.join(directory, program["name"], variant, "prefix"))
        if image:
            page.figure(image, f"{program['name']} {label}: its text, a point for each 64-byte line, from the "
                               "top left; the brighter the more instructions ran there")
    page.details("How each variant was made", [
        line for v in program["variants"] for line in [v["label"] + ":"] + ["  " + c for c in v.get("commands", [])]])


# ---- overhead ----

def overhead(page, table, directory):
    rates = [r for r in table.get("rates", []) if isinstance(r, dict) and "rate_hz" in r]
    if rates:
        page.figure(picture.curve([(r["rate_hz"], r) for r in rates]), "overhead in percent against sampling rate")
    generic(page, table, directory)


# ---- packages ----

def packages(page, table, _directory):
    done = [p for p in table["packages"] if "failed" not in p]
    same = [p for p in done if not refused(p) and p["tests_optimized"] == p["tests_shipped"]]
    page.text("Debian packages built by their own build systems with `morph cc` and hardening flags; their own test "
              "suites on the binaries as shipped, and again when Morph's stand in their places.")
    page.text(f"{len(same)} of {len(table['packages'])} packages pass with all their binaries re-optimized what they passed "
              f"before: {number(sum(p['tests_optimized']['passed'] for p in same))} tests.")
    page.table(
        ["package", "version", "binaries re-optimized", "tests", "passed as shipped", "passed re-optimized", "skipped",
         "instructions vs shipped"],
        [[p["name"], p["version"], package_binaries(p), number(sum(p["tests_shipped"].values())),
          number(p["tests_shipped"]["passed"]), number(p["tests_optimized"]["passed"]),
          number(p["tests_optimized"]["skipped"]), plain(p["instruction_ratio"])] for p in done])
    for package in table["packages"]:
        if package.get("suite"):
            page.text(f"{package['name']}: of its suite, {package['suite']}.")
        if "failed" in package:
            page.text(f"{package['name']}: {package['failed']}")
        for binary in refused(package):
            page.text(f"{package['name']}: {binary['name']} was refused: {binary['refused']}")


def refused(package):
    return [b for b in package.get("binaries", []) if "refused" in b]


def package_binaries(package):
    """bin/sort, bin/wc; or 1 of 2: bin/sort"""
    binaries, without = package["binaries"], refused(package)
    names = ", ".join(b["name"] for b in binaries if b not in without)
    return f"{len(binaries) - len(without)} of {len(binaries)}: {names}" if without else names


# ---- archive ----

def archive(page, table, directory):
    all_of, built = table["packages"], [p for p in table["packages"] if p["built"]]
    sums = {key: sum(p[key] for p in built) for key in ("elf", "with_ir", "regenerate")}
    page.text("Source packages of Debian 12 by `morph rebuild`: `dpkg-buildpackage` in a throw-away root, their rules untouched; "
              "then each program and library that came out, installed: does it carry IR, and does that make the installed file "
              "once more, byte for byte?")
    page.text(f"{len(built)} of {len(all_of)} packages were built; of their {number(sums['elf'])} programs and libraries "
              f"{number(sums['with_ir'])} carry IR, and {number(sums['regenerate'])} of these regenerate. In "
              f"{sum(p['with_ir'] == p['elf'] for p in built)} packages every file carries IR; {sum('library' in p['kind'] for p in built)} are "
              "libraries, or have some. "
              f"{sum(p['checked'] for p in built)} of the builds ran the package's own suite.")
    page.table(["package", "version", "what it is", "run", "programs and libraries", "carry IR", "regenerate"],
               [[p["name"], p["version"], p["kind"], p["run"], *(number(p[key]) if p["built"] else "-" for key in ("elf", "with_ir", "regenerate"))]
                for p in all_of])
    for package in all_of:
        if not package["built"]:
            page.text(f"{package['name']}: not built: {package['cause']}. {package['said']}")
        for path in package["without"]:
            page.text(f"{package['name']}: {path} carries no IR.")
        for one in package["differ"]:
            page.text(f"{package['name']}: {one['path']} does not regenerate: {one['said']}")
    archive_sizes(page, measure.read_json(os.path.join(directory, "archive-sizes.json")))
    notes(page, table)


def archive_sizes(page, sizes):
    if not sizes:
        return
    page.text(f"What Morph data adds (`bench/archive/sizes`; {number(sizes['files'])} files, each once): {number(sizes['morph_bytes'])} bytes to "
              f"{number(sizes['text_bytes'])} of text, {sizes['morph_to_text']:.2f} x; geometric mean {sizes['morph_to_text_geomean']:.2f} x; "
              f"{sizes['above_2']} have more than 2 x, {sizes['worst']} most, {sizes['morph_to_text_worst']:.2f} x. Compressed, against the "
              f"packages without it: {sizes['morph_to_deb']:.2f} x, geometric mean of {sum(bool(p['morph_to_deb']) for p in sizes['packages'])} "
              f"packages {sizes['morph_to_deb_geomean']:.2f} x.")


def notes(page, table):
    """What somebody has to know of this run besides its figures."""
    for text in table.get("notes", []):
        page.text(text)


# ---- suites ----

def suites(page, table, _directory):
    page.text("`bench/archive/suites`: Debian's source packages by `dpkg-buildpackage`, rules untouched, with their own suites: by GCC, by "
              "Morph as shipped, and again after each program and library of the build tree that carries IR was optimized for what the "
              "suite does. passed / failed / skipped, as the suites count.")
    done = [p for p in table["packages"] if "failed" not in p]
    same = [p for p in done if p["gcc"]["counts"] == p["shipped"]["counts"] and p["sampled"]["counts"] == p["optimized"]["counts"]]
    page.text(f"{len(same)} of {len(table['packages'])} packages pass as shipped what they pass with GCC, and re-optimized what they pass as shipped; "
              f"{number(sum(p['optimized']['counts'][0] for p in done))} tests pass re-optimized.")
    page.table(["package", "version", "with GCC", "Morph, as shipped", "run again", "re-optimized", "binaries that ran", "re-optimized of these"],
               [[p["name"], p["version"], *(" / ".join(map(number, p[v]["counts"])) for v in ("gcc", "shipped", "sampled", "optimized")),
                 number(len(p["binaries"]) + len(p["refused"])), number(len(p["binaries"]))] for p in done])
    for package in table["packages"]:
        if "failed" in package:
            page.text(f"{package['name']}: {package['failed']}")
        for text in package.get("refused", []):
            page.text(f"{package['name']}: not optimized: {text}")
    notes(page, table)


# ---- machine ----

def machine(page, table, _directory):
    page.text("`bench/machine/machine`: a Debian 12 root in which apt has installed what `bench/archive/archive` built, booted with its own "
              "systemd; `apt install morph`; a day of use sampled, edited in the night, then measured against the machine as shipped in "
              "interleaved rounds, on other data than the day's; `apt upgrade`; `apt purge morph`.")
    if table.get("settings"):
        page.text("Not as shipped: " + ", ".join(f"{key} {value}" for key, value in table["settings"].items())
                  + ("; a quick run." if table["mode"] == "quick" else "."))
    notes(page, table)
    if table.get("control_ratio") and table["control_ratio"]["verdict"] != "no difference seen":
        page.text("The control, as shipped against as shipped, shows a difference: the CPU times of this run prove nothing.")
    if "error" in table:
        page.text(f"It did not come to its end: {table['error']}")
    keys = ("packages", "binary_packages", "elf", "elf_with_ir", "elf_with_ir_share", "samples", "samples_with_ir_share", "day_s", "night_s",
            "programs_reoptimized", "rounds", "cpu_ratio", "control_ratio", "runs", "crashes", "outputs_changed", "debsums", "debsums_explained",
            "upgraded")
    page.table(["figure", "value"], [[key.replace("_", " "), ratio(table[key]) if isinstance(table[key], dict) else number(table[key])]
                                     for key in keys if table.get(key) is not None])
    page.table(["work", "as shipped, s of CPU", "CPU time now ÷ as shipped"],
               [[one["name"], number(one["as_shipped_s"]), ratio(one["ratio"])] for one in table.get("cpu_by_task", [])])
    page.table(["program", "samples", "predicted gain", "what an edit waits for"],
               [[one["path"], number(one["samples"]), number(one["predicted_gain"]), one.get("verdict") or one.get("note") or ""]
                for one in sorted(table.get("programs", []), key=lambda one: (not one["generation"], -one["samples"])) if one["path"]])
    for key in ("elf_without_ir", "tasks_left_out", "failed_units", "crashes_seen", "crashes_said", "outputs_seen", "debsums_unexplained", "upgrade_failed",
                "upgrade_held", "upgrade_left", "purge_failed", "purge_left", "purge_left_debsums"):
        left = table.get(key) or []
        if left:
            page.text(f"{key.replace('_', ' ')}: {'; '.join([left] if isinstance(left, str) else left[:12])}"
                      + (f" and {len(left) - 12} more" if isinstance(left, list) and len(left) > 12 else ""))


# ---- faults ----

def faults(page, table, _directory):
    page.text(f"Whole test runs at {table['test_percent']} % of the size, relative to the shipped binary; medians of rounds with their "
              "95 % bootstrap interval, \"=\" marks that no difference was seen. Pages that ran are exact "
              f"({table['page_bytes']} bytes; without read-ahead each is a major fault), and so are the fewest under 99 % of "
              "the instructions, the working set. Minor faults are those with the program's "
              "file in the page cache, where the kernel maps up to 16 cached pages around the one that is touched, so "
              "resident text is more than what ran; major faults are those with none of it in the page cache"
              + (f", of which this machine reads {table['read_ahead_kib']} KiB ahead." if table.get("read_ahead_kib") else "."))
    page.text(faults_sentence(table))
    page.heading("All programs, geometric mean", 3)
    columns = ("resident_text_kib", "text_minor_faults", "minor_faults", "major_faults")
    page.table(["variant", "pages that ran", "pages under 99 %", "resident text", "faults in text", "minor faults",
                "major faults"],
               [[row["label"], plain(row["pages_touched_vs_shipped"]), plain(row["pages_99_vs_shipped"])]
                + [ratio(row[column + "_vs_shipped"]) for column in columns] for row in table["summary"]])
    for program in table["programs"]:
        page.heading(program["name"], 3)
        if "failed" in program:
            page.text("Not measured: " + program["failed"])
            continue
        page.table(["variant", "pages mapped", "pages that ran", "pages under 99 %", "resident text, KiB", "faults in text", "minor faults",
                    "minor faults vs shipped", "major faults"],
                   [faults_row(v) for v in program["variants"]])


def faults_row(v):
    if "failed" in v:
        return [v["label"], "failed: " + v["failed"]] + [""] * 7
    return [v["label"], number(v["text_pages"]), number(v["pages_touched"]), number(v["pages_99"]), middle(v["resident_text_kib"]),
            middle(v["text_minor_faults"]), middle(v["minor_faults"]), ratio(v["minor_faults_vs_shipped"]),
            middle(v["major_faults"])]


def middle(entry):
    """742 (741 .. 744): median and quartiles, or the value alone when it never varied."""
    spread = "" if entry["q1"] == entry["q3"] else f" ({number(entry['q1'])} .. {number(entry['q3'])})"
    return number(entry["median"]) + spread


def faults_sentence(table):
    row = next((row for row in table["summary"] if row["name"] == "morph"), None)
    if not row:
        return "Morph's own rows are missing in this run."
    words = {"less": "fewer", "more": "MORE", "no difference seen": "no difference seen in"}
    hottest, touched = row["pages_99_vs_shipped"], row["pages_touched_vs_shipped"]
    start = (f"99 % of what Morph's binaries execute is on {hottest:.3f} times the shipped ones' pages, all of it on "
             f"{touched:.3f} times; " if touched else "")
    parts = [f"{words[row[key]['verdict']]} {key.split('_')[0]} faults"
             for key in ("minor_faults_vs_shipped", "major_faults_vs_shipped") if row[key]]
    return start + ", ".join(parts) + "."


# ---- any other ----

def generic(page, table, _directory):
    if table.get("meaning"):
        page.text(table["meaning"])
    hidden = ("table", "meaning", "mode", "machine", "tools")
    figures = [[key.replace("_", " "), number(value)] for key, value in table.items()
               if key not in hidden and not isinstance(value, (dict, list))]
    page.table(["figure", "value"], figures)
    for key, value in table.items():
        if isinstance(value, list) and value and all(isinstance(row, dict) for row in value):
            page.heading(key.replace("_", " "), 3)
            columns = list(dict.fromkeys(c for row in value for c in row if flat(row[c])))
            page.table([c.replace("_", " ") for c in columns],
                       [[cell(row.get(c)) for c in columns] for row in value])


def flat(value):
    return not isinstance(value, (dict, list)) or (isinstance(value, dict) and "value" in value)


def cell(value):
    if isinstance(value, dict):
        return ratio(value) if {"low", "high", "verdict"} <= value.keys() else number(value.get("value"))
    return number(value)


# ---- cpi ----

def correlations(page, entry):
    page.table(["cycles, correlation of logarithms", "value"],
               [[key.replace("_", " "), number(value)] for key, value in entry.items()])


def cpi(page, table, _directory):
    page.text("Kernels that wait for one known thing, and what morph annotate says of them with a count of their turns. Right: the "
              "share of the stall time whose only cause told is the right one, or what the same code takes when that does "
              "not strike; strict: nothing but the culprit is right. Without a count, frequencies within 15 % are few here, "
              "as these kernels are made to wait. What the fields mean: bench/cpi/cpi.")
    if table.get("note"):
        page.text(table["note"])
    groups = [("all", table), *table.get("groups", {}).items()]
    figures = ("kernels", "culprit_right", "culprit_wrong", "culprit_right_strict", "culprit_wrong_strict",
               "frequency_within_15")
    page.table(["group", *(f.replace("_", " ") for f in figures)],
               [[name, *(number(group[f]) for f in figures)] for name, group in groups])
    correlations(page, table["cpi_correlation"])
    columns = ("kernel", "group", "culprit", "samples", "cycles_a_turn", "cycles_a_turn_measured", "cycles_a_turn_calm",
               "right", "wrong", "right_strict", "wrong_strict", "frequency_ratio", "loop_cycles_llvm_mca")
    page.heading("kernels", 3)
    page.table([c.replace("_", " ") for c in columns], [[number(row[c]) for c in columns] for row in table["rows"]])
    if "suite" in table:
        cpi_suite(page, table["suite"])


def cpi_suite(page, suite):
    page.heading("programs, without a count (the paper's Figure 8)", 3)
    page.text("Frequency: share of all executed instructions whose block is told to run within 15 % of its exact count; samples: "
              "share of all samples that are in such blocks, as the paper weighs them; scaled: by the best one factor for "
              "each program, as one count would give it; function: by the best one for each function; level: how many "
              "times as often as in truth blocks are told to run (median); covered: of all instructions executed, those "
              "in the functions that were looked at; seen: those in blocks with 30 samples or more; annotate: CPU "
              "seconds of one morph annotate of the function that has most samples.")
    means = ("instructions_covered", "instructions_seen", "frequency_within_15", "frequency_within_15_scaled",
             "frequency_within_15_function", "samples_within_15", "samples_within_15_scaled",
             "samples_within_15_function")
    columns = ("program", "blocks", *means, "frequency_level", "annotate_cpu_s")
    page.table([c.replace("_", " ") for c in columns],
               [[number(row.get(c)) for c in columns] for row in suite["programs"]] +
               [["mean", "", *(number(suite[c]) if c in suite else "-" for c in means), "", ""]])
    page.text(f"The {suite['blocks']} hottest blocks of all of them:")
    correlations(page, suite["cpi_correlation"])


RENDERERS = {"cpi": cpi, "speedup": speedup, "overhead": overhead, "packages": packages, "archive": archive, "suites": suites, "machine": machine, "faults": faults}


def machine_line(table):
    m = table.get("machine")
    if not m:
        return None
    tools = ", ".join(f"{name} {version}" for name, version in (table.get("tools") or {}).items() if version)
    return (f"Measured {m['time']} on {m['cpu']}, {m['cpus']} CPUs, {m['memory_mib']} MiB, "
            f"Linux {m['kernel']}, {m['system']}, load {m['load_average']:.1f} at the end"
            + (f"; {tools}" if tools else "") + f"; mode: {table.get('mode', 'full')}.")


STYLE = """
body { font: 15px/1.45 system-ui, sans-serif; max-width: 72em; margin: 2em auto; padding: 0 1em; color: #222; }
table { border-collapse: collapse; margin: 1em 0; font-size: 13px; }
th, td { border-bottom: 1px solid #ddd; padding: .25em .6em; text-align: right; }
th:first-child, td:first-child { text-align: left; }
figure { margin: 1em 0; } figcaption { color: #555; font-size: 13px; }
img.heat { image-rendering: pixelated; background: #000; width: 512px; }
pre { font-size: 12px; overflow-x: auto; background: #f6f6f6; padding: .6em; }
"""


def main(argv):
    if len(argv) != 3:
        measure.usage(__doc__)
    markdown, page_html = (os.path.join(argv[2], name) for name in ("RESULTS.md", "results.html"))
    kept, kept_html = sections(markdown, "## "), sections(page_html, "<h2>", "</h2>")
    page = Page()
    page.heading("Results", 1)
    page.text("Written by scripts/bench from the tables' JSON; bench/README.md says what each figure is.")
    for name, title in TITLES.items():
        table = measure.read_json(os.path.join(argv[1], name + ".json"))
        if table:
            page.heading(title)
            if machine_line(table):
                page.text(machine_line(table))
            RENDERERS.get(name, generic)(page, table, os.path.abspath(argv[1]))
        else:
            page.markdown += kept.get(title, [])
            page.html += kept_html.get(title, [])
    with open(markdown, "w", encoding="utf-8") as out:
        out.write("\n".join(page.markdown).rstrip("\n") + "\n")
    with open(page_html, "w", encoding="utf-8") as out:
        out.write("<!DOCTYPE html><html lang=en><meta charset=utf-8><title>Morph: results</title>"
                  f"<style>{STYLE}</style><body>\n" + "\n".join(page.html) + "\n</body></html>\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
