#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""fuzz.py ROOT [--runs N] [--minutes N] [--jobs N] [--record] [--again] [READER...] - see scripts/fuzz

A reader is a program build/fuzz/bin/fuzz-READER. What it did is kept in build/fuzz/campaign/READER: state.json, corpus/, findings/.
"""

import argparse
import concurrent.futures
import glob
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import threading
import time

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../measure"))
import measure

SLICE_S = 60
INPUT_TIMEOUT_S = 10
MEMORY_MIB = 2048
# Inputs are small where a reader's time grows with them and what they say does not.
MAX_BYTES = {"flow": 192, "bitcode_pack": 512, "crash_line": 256, "recover": 2048, "link_map": 1024, "plan_check": 512,
             "process_text": 512, "text": 256, "profile": 1024}
MAX_BYTES_ELSE = 4096
SANITIZERS = {"malloc_context_size": 1, "quarantine_size_mb": 8, "detect_leaks": 1, "allocator_may_return_null": 1}
MAX_FINDINGS = 3  # of a reader, which then waits for whoever mends it
FINDINGS = ("crash-*", "timeout-*", "oom-*", "leak-*")


class Reader:
    def __init__(self, root, name, again):
        self.name, self.root, self.turns = name, root, 0
        self.program = f"{root}/build/fuzz/bin/fuzz-{name}"
        self.corpus = f"{root}/tests/corpus/{name}"
        self.directory = f"{root}/build/fuzz/campaign/{name}"
        if again:
            shutil.rmtree(self.directory, ignore_errors=True)
        for below in ("corpus", "findings"):
            os.makedirs(f"{self.directory}/{below}", exist_ok=True)
        self.state = measure.read_json(self.path("state.json")) or (None if again else self.recorded()) or {
            "name": name, "runs": 0, "seconds": 0.0, "commits": []}

    def path(self, name):
        return f"{self.directory}/{name}"

    def recorded(self):
        """What the last recorded campaign did, where this machine knows of none."""
        table = measure.read_json(f"{self.root}/bench/fuzz.json") or {"readers": []}
        for row in table["readers"]:
            if row["name"] == self.name:
                return {key: row[key] for key in ("name", "runs", "seconds", "commits")}
        return None

    def findings(self):
        return sorted(path for pattern in FINDINGS for path in glob.glob(self.path("findings/" + pattern)))

    def slice(self, runs, seconds, commit):
        """Some of the runs that are left."""
        environment = dict(os.environ, ASAN_OPTIONS=":".join(f"{key}={value}" for key, value in SANITIZERS.items()),
                           UBSAN_OPTIONS="print_stacktrace=1")
        argv = ["nice", "-n", "19", self.program, f"-runs={runs}", f"-max_total_time={seconds}", f"-timeout={INPUT_TIMEOUT_S}",
                f"-rss_limit_mb={MEMORY_MIB}", f"-max_len={MAX_BYTES.get(self.name, MAX_BYTES_ELSE)}", "-print_final_stats=1", "-verbosity=0",
                "-artifact_prefix=" + self.path("findings/"), self.path("corpus"), self.corpus]
        start = time.monotonic()
        with open(self.path("log"), "w", encoding="utf-8", errors="replace") as log:
            ended = subprocess.run(argv, stdout=log, stderr=subprocess.STDOUT, env=environment, check=False, cwd=self.directory).returncode
        with open(self.path("log"), encoding="utf-8", errors="replace") as log:
            text = log.read()
        found = re.search(r"number_of_executed_units:\s+(\d+)", text)
        self.state["runs"] += int(found.group(1)) if found else 0
        self.state["seconds"] = round(self.state["seconds"] + time.monotonic() - start, 1)
        if commit not in self.state["commits"]:
            self.state["commits"].append(commit)
        if ended != 0:
            self.keep(text)
        temporary = self.path("state.json.new")
        with open(temporary, "w", encoding="utf-8") as file:
            json.dump(self.state, file)
        os.replace(temporary, self.path("state.json"))

    def keep(self, text):
        """What was said about a finding, beside its input; one that left no input is one all the same."""
        name = hashlib.sha256(text.encode()).hexdigest()[:16]
        if not self.findings():
            with open(self.path("findings/crash-without-input-" + name), "w", encoding="utf-8"):
                pass
        shutil.copy2(self.path("log"), self.path(f"findings/log-{name}"))

    def row(self):
        return self.state | {"findings": len(self.findings()), "per_second": round(self.state["runs"] / max(self.state["seconds"], 0.1)),
                             "seeds": len(os.listdir(self.corpus)), "inputs": len(os.listdir(self.path("corpus")))}


def commit_of(root):
    """The commit that is checked out; "+" says that files differ from it."""
    def git(*argv):
        return subprocess.run(["git", "-C", root, *argv], capture_output=True, text=True, check=False).stdout.strip()
    changed = git("status", "--porcelain", "--untracked-files=no", "--", ".", ":(exclude)bench", ":(exclude)docs")
    return (git("rev-parse", "--short=12", "HEAD") or "unknown") + ("+" if changed else "")


def table(readers, wanted):
    rows = [reader.row() for reader in readers]
    return {
        "table": "fuzz", "mode": "full", "machine": measure.machine(), "sanitizers": "address, undefined, leak", "fuzzer": "libFuzzer of clang 22",
        "runs_wanted": wanted, "fuzz_readers": len(rows), "fuzz_runs_total": sum(row["runs"] for row in rows),
        "fuzz_runs_least": min(row["runs"] for row in rows), "fuzz_findings": sum(row["findings"] for row in rows),
        "commits": sorted({commit for row in rows for commit in row["commits"]}), "readers": rows,
    }


def campaign(readers, options):
    """In turns; first those that had the fewest."""
    end = time.monotonic() + options.minutes * 60 if options.minutes else None
    commit, lock, busy = commit_of(options.root), threading.Lock(), set()

    def next_one():
        with lock:
            waiting = [r for r in readers if r.state["runs"] < options.runs and r not in busy and len(r.findings()) < MAX_FINDINGS]
            if not waiting or (end and time.monotonic() >= end):
                return None
            reader = min(waiting, key=lambda r: (r.turns, r.state["runs"]))
            reader.turns += 1
            busy.add(reader)
            return reader

    def work(_):
        while (reader := next_one()) is not None:
            seconds = SLICE_S if not end else max(1, min(SLICE_S, int(end - time.monotonic())))
            reader.slice(options.runs - reader.state["runs"], seconds, commit)
            with lock:
                busy.discard(reader)
                done = sum(min(r.state["runs"], options.runs) for r in readers)
                print(f"== {reader.name}: {reader.state['runs']:,} runs, {len(reader.findings())} findings; "
                      f"{100 * done / (options.runs * len(readers)):.1f} % of the campaign", file=sys.stderr)

    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        list(pool.map(work, range(options.jobs)))


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("root", type=os.path.abspath)
    parser.add_argument("--runs", type=int, default=10_000_000)
    parser.add_argument("--minutes", type=float, default=0)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--record", action="store_true")
    parser.add_argument("--again", action="store_true")
    parser.add_argument("reader", nargs="*")
    options = parser.parse_intermixed_args()
    names = sorted(os.path.basename(path)[5:] for path in glob.glob(options.root + "/build/fuzz/bin/fuzz-*"))
    names = [name for name in names if os.path.isdir(f"{options.root}/tests/corpus/{name}")]
    for name in options.reader:
        if name not in names:
            sys.exit(f"fuzz: there is no reader \"{name}\"; there are: {', '.join(names)}")
    readers = [Reader(options.root, name, options.again) for name in options.reader or names]
    campaign(readers, options)
    result = table(readers, options.runs)
    measure.write_json(os.path.join(options.root, "build/bench/fuzz.json"), result)
    if options.record:
        shutil.copyfile(os.path.join(options.root, "build/bench/fuzz.json"), os.path.join(options.root, "bench/fuzz.json"))
    print(json.dumps(result, indent=1))
    return 1 if result["fuzz_findings"] else 0


if __name__ == "__main__":
    sys.exit(main())
