#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""mutants.py BIN TOOLS PROGRAMS PLANTS WORK NUMBER [--seed N] [--jobs N] [--class NAME]... [--program NAME]...
    [--summary FILE]

Edits NUMBER mutants of the programs below PROGRAMS (bench/security/security_programs.sh says what a program is) with BIN/morph, in turns by
program and class, and judges what comes out. A mutant is the shipped file with other Morph data; TOOLS has bench-mutant.

    refused     exit status 1, a line that says why, nothing written
    equal       accepted; the new file does what the shipped one does
    changed     accepted, and it does not
    crashed     a program outside of the sandbox died of a signal, ended with another status, or did not end
    unclear     refused without a word, or something was left behind

A compiler that crashes in the sandbox is a refusal like others, and counted. One line of JSON for each mutant goes to WORK/mutants.jsonl; what is there is not done again. Mutants that were neither refused nor equal are
kept in WORK/kept. Prints progress and what was not as it should be; FILE gets the figures. Exit status 1: some was.
"""

import argparse
import collections
import concurrent.futures
import hashlib
import itertools
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

import ir_facts

LLVM = "/usr/lib/llvm-22/bin/"
WEIGHTS = {"payload": 4, "ir-bytes": 3, "ir-fact": 6, "object-relocation": 2, "object-symbol": 2, "object-code": 2, "argument-more": 3}
PLANTED = "/tmp/morph-planted"  # what some of the mutants would write, had they their way
SHARES = {"lua5.4": 1}  # of the turns, where it is not 4: by what an edit costs
EDIT_TIMEOUT_S = 60
READ_TIMEOUT_S = 30
RUN_TIMEOUT_S = 10
NOTHING_OF_THE_KIND = 3


def command(argv, timeout_s, **options):
    """-> status (None: it did not end), standard output, standard error, peak memory in KiB"""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as error:
        child = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=out, stderr=error, start_new_session=True, **options)
        timer = threading.Timer(timeout_s, lambda: os.killpg(child.pid, signal.SIGKILL))
        timer.start()
        _, status, usage = os.wait4(child.pid, 0)
        ended = timer.is_alive()
        timer.cancel()
        child.returncode = 0
        code = os.waitstatus_to_exitcode(status) if ended else None
        texts = []
        for file in (out, error):
            file.seek(0)
            texts.append(file.read(4 << 20))
    return code, texts[0], texts[1], usage.ru_maxrss


# Who refused, by what it said; the first that fits.
REFUSED_BY = (
    ("sandbox", r"died of signal|was killed|took longer|out of memory"),
    ("reader", r"\.morph data|damaged|no Morph data|not an? ELF"),
    ("plan", r"is not known that it does no harm"),
    ("bitcode reader", r"the IR cannot be read"),
    ("linker", r"ld\.lld"),
    ("library", r"not installed"),
    ("trust", r"the shipped IR is not the program"),
    ("result", r"the result was refused|may not stand"),
    ("self-test", r"self-test"),
)


class Program:
    def __init__(self, directory):
        self.name = os.path.basename(directory)
        self.directory = directory
        self.path = os.path.join(directory, "program")
        self.profile = os.path.join(directory, "profile")
        with open(os.path.join(directory, "place"), encoding="utf-8") as file:
            self.place = file.read().strip()
        with open(os.path.join(directory, "battery"), encoding="utf-8") as file:
            self.battery = [line.rstrip("\n") for line in file if line.strip()]
        self.modules = []  # text of their IR
        self.expected = None

    def prepare(self, tools, work):
        """The IR as text, and what the shipped file does, which must be the same twice."""
        modules = os.path.join(work, "modules-" + self.name)
        os.makedirs(modules, exist_ok=True)
        subprocess.run([tools + "/bench-mutant", "--extract", self.path, modules], check=True)
        for number in itertools.count():
            path = f"{modules}/{number}.bc"
            if not os.path.exists(path):
                break
            self.modules.append(subprocess.run([LLVM + "llvm-dis", "-preserve-ll-uselistorder", path, "-o", "-"], check=True,
                                               capture_output=True, text=True).stdout)
        self.expected = list(self.run(self.path, work))
        if self.difference(self.path, work):
            sys.exit(f"mutants.py: {self.name}: two runs of the shipped file differ; its battery is no judge")

    def run(self, path, work):
        """What the file does in its place, a command at a time: status, output, messages and the files that are there afterwards."""
        for line in self.battery:
            with tempfile.TemporaryDirectory(dir=work) as place:
                directory = os.path.join(place, "run")  # one name for all: programs print it
                shutil.copytree(os.path.join(self.directory, "files"), directory)
                target = os.path.join(directory, self.place)
                os.makedirs(os.path.dirname(target), exist_ok=True)
                shutil.copy2(path, target)
                code, out, error, _ = command(["sh", "-c", line], RUN_TIMEOUT_S, cwd=directory,
                                              env={"PATH": "/usr/bin:/bin", "LC_ALL": "C", "HOME": "/nonexistent"})
                yield (code, hashlib.sha256(out).hexdigest(), hashlib.sha256(error.replace(place.encode(), b"")).hexdigest(),
                       self.files(directory, target))

    def difference(self, path, work):
        """The first command with which the file does something else than the shipped one, in a sentence; None: there is none."""
        for line, new, shipped in zip(self.battery, self.run(path, work), self.expected):
            if new != shipped:
                return f"{line}: status {new[0]}, shipped {shipped[0]}"
        return None

    @staticmethod
    def files(directory, target):
        found = {}
        for base, _, names in os.walk(directory):
            for name in names:
                path = os.path.join(base, name)
                if path != target and not os.path.islink(path):
                    with open(path, "rb") as file:
                        found[os.path.relpath(path, directory)] = hashlib.sha256(file.read()).hexdigest()
        return found


class Campaign:
    def __init__(self, options):
        self.options = options
        self.programs = [Program(os.path.join(options.programs, name)) for name in sorted(os.listdir(options.programs))
                         if not options.program or name in options.program]
        classes = subprocess.run([options.tools + "/bench-mutant", "--classes"], check=True, capture_output=True, text=True).stdout.split()
        classes.append("ir-fact")
        if options.class_:
            classes = [name for name in classes if name in options.class_]
        self.turns = sorted((turn / WEIGHTS.get(name, 1), name) for name in classes for turn in range(WEIGHTS.get(name, 1)))
        self.turns = [name for _, name in self.turns]
        shares = [(turn / SHARES.get(p.name, 4), p.name, p) for p in self.programs for turn in range(SHARES.get(p.name, 4))]
        self.program_turns = [program for _, _, program in sorted(shares, key=lambda share: share[:2])]
        self.lock = threading.Lock()
        self.rows = {}
        self.state = os.path.join(options.work, "mutants.jsonl")
        os.makedirs(options.work, exist_ok=True)
        if os.path.exists(self.state):
            with open(self.state, encoding="utf-8") as file:
                for line in file:
                    row = json.loads(line)
                    self.rows[row["program"], row["class"], row["seed"]] = row

    def plan(self):
        """Which program, class and seed: the same for every run; more than are needed, for some will not exist."""
        turns = {program.name: 0 for program in self.programs}
        for i in itertools.count():
            program = self.program_turns[i % len(self.program_turns)]
            turn = turns[program.name]
            turns[program.name] += 1
            yield program, self.turns[turn % len(self.turns)], self.options.seed + turn

    def make(self, program, kind, seed, out, place):
        """-> what was done, or None"""
        argv = [self.options.tools + "/bench-mutant", program.path, out, kind, str(seed), "--plants", self.options.plants]
        others = [other for other in self.programs if other is not program]
        if others:
            argv += ["--other", others[seed % len(others)].path]
        note = ""
        if kind == "ir-fact":
            drawn = random.Random(f"{program.name} {seed}")
            number = drawn.randrange(len(program.modules))
            changed = ir_facts.change(program.modules[number], drawn)
            if changed is None:
                return None
            note, text = changed
            code, _, _, _ = command([LLVM + "llvm-as", "-o", place + "/module.bc", self.written(place + "/module.ll", text)], READ_TIMEOUT_S)
            if code != 0:
                return None
            argv[3] = "module"
            argv += ["--module", str(number), place + "/module.bc"]
        code, text, error, _ = command(argv, READ_TIMEOUT_S)
        if code == NOTHING_OF_THE_KIND:
            return None
        if code != 0:
            return None if kind == "payload" else sys.exit(f"mutants.py: bench-mutant {kind} {seed} of {program.name}: {error.decode()}")
        return f"{note} {text.decode(errors='replace').strip()}".strip()

    @staticmethod
    def written(path, text):
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return path

    def judge(self, program, mutant, place):
        """-> outcome, sentence, seconds of the edit, peak KiB of what reads it"""
        morph = self.options.bin + "/morph"
        out, work = place + "/new", place + "/work"
        os.mkdir(work)
        os.chmod(work, 0o1777)
        peak = 0
        environment = dict(os.environ, TMPDIR=work)
        for verb in ("inspect", "dump"):
            code, _, error, used = command([morph, verb, mutant], READ_TIMEOUT_S, env=environment)
            peak = max(peak, used)
            if code not in (0, 1):
                return "crashed", f"{verb}: {self.ending(code)}: {self.last(error)}", 0, peak
        start = time.monotonic()
        argv = [morph, "optimize", mutant, "--profile", program.profile, "-o", out, "--work-dir", work, "--timeout", str(EDIT_TIMEOUT_S), "--jobs", "1", "--force"]
        code, _, error, _ = command(argv, EDIT_TIMEOUT_S + 30, env=environment)
        seconds = time.monotonic() - start
        said = self.last(error)
        if code not in (0, 1):
            return "crashed", f"optimize: {self.ending(code)}: {said}", seconds, peak
        if os.listdir(work):
            return "unclear", f"left in the work directory: {os.listdir(work)}", seconds, peak
        if os.path.lexists(PLANTED) or os.path.lexists(PLANTED + ".so"):
            return "unclear", f"{PLANTED} was written", seconds, peak
        if code == 1:
            clear = said.startswith("morph optimize: ") and len(said) > 24
            return ("refused" if clear and not os.path.lexists(out) else "unclear"), said, seconds, peak
        difference = program.difference(out, place)
        return ("changed", difference, seconds, peak) if difference else ("equal", said, seconds, peak)

    @staticmethod
    def ending(code):
        return "did not end" if code is None else f"signal {-code}" if code < 0 else f"status {code}"

    @staticmethod
    def last(error):
        lines = error.decode(errors="replace").strip().splitlines()
        return lines[-1][:300] if lines else ""

    def one(self, program, kind, seed):
        with tempfile.TemporaryDirectory(dir=self.options.work, prefix="mutant.") as place:
            os.chmod(place, 0o755)
            mutant = os.path.join(place, os.path.basename(program.place))
            what = self.make(program, kind, seed, mutant, place)
            row = {"program": program.name, "class": kind, "seed": seed}
            if what is None:
                row["outcome"] = "none"
            else:
                outcome, said, seconds, peak = self.judge(program, mutant, place)
                row |= {"what": what, "outcome": outcome, "said": said.replace(place, "..."), "seconds": round(seconds, 3), "peak_kib": peak}
                if outcome not in ("refused", "equal"):
                    self.keep(program, kind, seed, mutant, place)
        with self.lock:
            self.rows[program.name, kind, seed] = row
            with open(self.state, "a", encoding="utf-8") as file:
                file.write(json.dumps(row) + "\n")
        return row

    def keep(self, program, kind, seed, mutant, place):
        kept = os.path.join(self.options.work, "kept")
        os.makedirs(kept, exist_ok=True)
        shutil.copy2(mutant, f"{kept}/{program.name}-{kind}-{seed}")
        if os.path.exists(place + "/new"):
            shutil.copy2(place + "/new", f"{kept}/{program.name}-{kind}-{seed}.new")

    def figures(self):
        """Of the plan's first mutants, as many as were asked for."""
        rows, wanted = [], self.options.number
        for program, kind, seed in self.plan():
            row = self.rows.get((program.name, kind, seed))
            if row is None or len(rows) == wanted:
                break
            if row["outcome"] != "none":
                rows.append(row)
        outcomes = collections.Counter(row["outcome"] for row in rows)
        by_program = collections.Counter((row["program"], row["outcome"]) for row in rows)
        by_class = collections.Counter((row["class"], row["outcome"]) for row in rows)
        who = collections.Counter(self.refused_by(row["said"]) for row in rows if row["outcome"] == "refused")
        return {
            "mutants": len(rows), "mutants_refused": outcomes["refused"], "mutants_equal": outcomes["equal"],
            "mutants_accepted_changed": outcomes["changed"], "mutants_crashed_outside_sandbox": outcomes["crashed"],
            "mutants_crashed_in_sandbox": who["sandbox"], "mutants_unclear": outcomes["unclear"],
            "mutants_peak_kib_outside_sandbox": max((row["peak_kib"] for row in rows), default=0),
            "mutants_programs": [self.counts(name, by_program) for name in sorted({row["program"] for row in rows})],
            "mutants_classes": [self.counts(name, by_class) for name in sorted({row["class"] for row in rows})],
            "mutants_refused_by": [{"who": name, "mutants": n} for name, n in who.most_common()],
            "mutants_findings": [f'{row["program"]} {row["class"]} {row["seed"]}: {row["what"]}: {row["said"]}' for row in rows
                                 if row["outcome"] not in ("refused", "equal")],
        }

    @staticmethod
    def counts(name, counter):
        return {"name": name} | {outcome: counter[name, outcome] for outcome in ("refused", "equal", "changed", "crashed", "unclear")}

    @staticmethod
    def refused_by(said):
        return next((who for who, pattern in REFUSED_BY if re.search(pattern, said)), "other")

    def run(self):
        for program in self.programs:
            program.prepare(self.options.tools, self.options.work)
        wanted, counts = self.options.number, {}
        plan = self.plan()
        pending = set()
        with concurrent.futures.ThreadPoolExecutor(self.options.jobs) as pool:
            while True:
                done = sum(n for outcome, n in counts.items() if outcome != "none")
                while done + len(pending) < wanted and len(pending) < 2 * self.options.jobs:
                    turn = next(plan)
                    row = self.rows.get((turn[0].name, turn[1], turn[2]))
                    if row is None:
                        pending.add(pool.submit(self.one, *turn))
                    else:
                        counts[row["outcome"]] = counts.get(row["outcome"], 0) + 1
                        done += row["outcome"] != "none"
                if not pending:
                    break
                finished, pending = concurrent.futures.wait(pending, return_when=concurrent.futures.FIRST_COMPLETED)
                for future in finished:
                    row = future.result()
                    n_done = sum(n for outcome, n in counts.items() if outcome != "none") + 1
                    if n_done % 100 == 0:
                        print(f"== mutants: {n_done} of {wanted}", file=sys.stderr)
                    counts[row["outcome"]] = counts.get(row["outcome"], 0) + 1
                    if row["outcome"] not in ("none", "refused", "equal"):
                        print(f'{row["outcome"]}: {row["program"]} {row["class"]} {row["seed"]}: {row["what"]}: {row["said"]}', file=sys.stderr)
        bad = sum(n for outcome, n in counts.items() if outcome not in ("none", "refused", "equal"))
        if self.options.summary:
            with open(self.options.summary, "w", encoding="utf-8") as file:
                json.dump(self.figures(), file, indent=1)
        return bad


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    for name in ("bin", "tools", "programs", "plants", "work"):
        parser.add_argument(name, type=os.path.abspath)
    parser.add_argument("number", type=int)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--class", dest="class_", action="append")
    parser.add_argument("--program", action="append")
    parser.add_argument("--summary", type=os.path.abspath)
    options = parser.parse_args()
    return 1 if Campaign(options).run() else 0


if __name__ == "__main__":
    sys.exit(main())
