# SPDX-License-Identifier: Apache-2.0
"""Real daemons over a place of their own: small real programs, what they do, and whether anything of it is missing or half.

A Machine is a directory with installed programs (bin/), morphd's state, spool and socket, and a spool of the monitor's. Programs
were built by `morph cc` and are edited by morphd's own commands. Nothing of the system is touched.
"""

import collections
import hashlib
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import threading
import time

CONFIGURATION = """
state_directory = {state}
spool_directory = {spool}
runtime_directory = {directory}/run
watch_file = {directory}/monitor/watch
worker_socket = /nonexistent
fetch_socket = /nonexistent
mount_socket = {directory}/run/mount
minimum_samples = 200
minimum_free = 0
edit_interval = 0
edits_per_day = 0
decide_interval = 1
idle_pressure = 100
idle_load = 1000
idle_session = no
keep_generations = 2
prefixes = {directory}
edit_memory = {memory}
"""
# name: sources below tests/programs, what the program is told to do
PROGRAMS = {
    "vm": (["vm/vm.c", "vm/main.c"], ["60000", "1"]),
    "loops": (["loops/loops.c"], ["1500000"]),
    "parted": (["parted/main.c", "parted/table.c"], ["3000000"]),
    "shapes": (["shapes/shapes.cpp", "shapes/main.cpp"], ["20000"]),
}
# What must not happen. daemons_died: by anything but our kill -9.
FOUND = ("lost_counts", "half_written", "missing_programs", "upgrades_lost", "orders_lost", "daemons_died")
ANSWER_S = 30  # how long a daemon may take to answer
EDITORS = ("morph-worker", "morph-edit", "morph-check", "morph")


def die_properly():
    """So that what was started is ended, whoever stops us."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))


def digest(path):
    with open(path, "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()


def write_durably(path, data):
    """As morph-monitor does, for what somebody else must be able to rely on."""
    beside = os.path.join(os.path.dirname(path), "." + os.path.basename(path))
    fd = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o640)
    try:
        os.write(fd, data)
        os.fsync(fd)
    finally:
        os.close(fd)
    os.rename(beside, path)
    fd = os.open(os.path.dirname(path), os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def programs_build(tools, source, directory, version=None):
    """Each of PROGRAMS in DIRECTORY, as it is shipped. VERSION: a number that it says on standard error."""
    os.makedirs(directory, exist_ok=True)
    for name, (parts, _) in PROGRAMS.items():
        sources = [f"{source}/tests/programs/{part}" for part in parts]
        if version is not None:
            sources += ["-Wno-deprecated", f"{source}/bench/reliability/version.c"]
        compiler = "cc" if parts[0].endswith(".c") else "c++"
        subprocess.run([tools + "/morph", compiler, "-O2", f"-DVERSION={version}", "-o", f"{directory}/{name}", *sources],
                       check=True, stdout=subprocess.DEVNULL)


class Program:
    def __init__(self, name, path, shipped, within):
        self.name, self.path, self.shipped, self.within = name, path, shipped, within
        self.command = [path, *PROGRAMS[name][1]]
        self.expected = subprocess.run([shipped, *PROGRAMS[name][1]], check=True, capture_output=True).stdout

    def run(self):
        """What is wrong with it: a key of Machine.found, or None."""
        try:
            done = subprocess.run(self.within + self.command, capture_output=True, timeout=120, check=False)
        except FileNotFoundError:
            return "missing_programs"
        except OSError:
            return "half_written"
        return None if done.returncode == 0 and done.stdout == self.expected else "half_written"


class Machine:
    def __init__(self, tools, directory, shipped, place=None, programs=None, install=True, within=(), **settings):
        """SHIPPED: a directory that programs_build() made, from which they are installed in PROGRAMS, or somebody else does that.

        PLACE: where state and spool are; default, as of PROGRAMS: in DIRECTORY. WITHIN: words that all commands are run by."""
        self.tools, self.directory, self.place, self.within = tools, directory, place or directory, list(within)
        self.bin = programs or directory + "/bin"
        self.state, self.spool = self.place + "/state", self.place + "/spool"
        self.manager = self.monitor = None
        self.found = dict.fromkeys(FOUND, 0)
        self.said = []
        self.lock = threading.Lock()
        for path in (self.bin, directory + "/run", self.spool, self.spool + ".monitor"):
            os.makedirs(path, exist_ok=True)
            os.chmod(path, 0o755)
        os.chmod(directory, 0o755)
        self.environment = dict(os.environ, MORPH_SOCKET=directory + "/run/socket", ASAN_OPTIONS="detect_leaks=0")
        self.programs = []
        for name in sorted(os.listdir(shipped)):
            path = f"{self.bin}/{name}"
            if install:
                shutil.copy(f"{shipped}/{name}", path)
                os.chmod(path, 0o755)
            self.programs.append(Program(name, path, f"{shipped}/{name}", self.within))
        self.whole = {digest(program.shipped) for program in self.programs}
        self.configure(**settings)

    def configure(self, **settings):
        # The address space of a program with sanitizers is as large as it gets.
        memory = "0" if "/build/dev/" in self.tools + "/" else "8G"
        text = CONFIGURATION.format(directory=self.directory, state=self.state, spool=self.spool, memory=memory)
        with open(self.directory + "/morphd.conf", "w", encoding="utf-8") as file:
            file.write(text + "".join(f"{key} = {value}\n" for key, value in settings.items()))
        if memory == "0":
            said = subprocess.run([self.tools + "/morphd", "--check-config", f"--config={self.directory}/morphd.conf"],
                                  capture_output=True, text=True, check=True).stdout
            command = next(line for line in said.split("\n") if line.startswith("editor_command = "))
            with open(self.directory + "/morphd.conf", "a", encoding="utf-8") as file:
                file.write(command + " --memory 0\n")

    # ---- what goes wrong ----

    def wrong(self, what, text):
        with self.lock:
            self.found[what] += 1
            self.said.append(f"{what}: {text}")
        print(f"reliability: {what}: {text}", flush=True)

    # ---- daemons ----

    def start(self, command, log):
        with open(f"{self.directory}/{log}.log", "ab") as file:
            return subprocess.Popen(self.within + command, stdout=file, stderr=file, stdin=subprocess.DEVNULL, env=self.environment)

    def manager_start(self):
        self.manager = self.start([self.tools + "/morphd", f"--config={self.directory}/morphd.conf", "--bus=none"], "morphd")
        began = time.monotonic()
        while self.morph("status").returncode:
            if self.manager.poll() is not None or time.monotonic() - began > ANSWER_S:
                raise RuntimeError(f"morphd does not come up; see {self.directory}/morphd.log")
            time.sleep(0.02)
        return time.monotonic() - began

    def monitor_start(self, interval="1s"):
        command = [self.tools + "/morph-monitor", "--config=/dev/null", "--budget=5%", f"--spool={self.spool}.monitor",
                   f"--run-directory={self.directory}/monitor", f"--interval={interval}"]
        self.monitor = self.start(command, "monitor")

    @staticmethod
    def end(process, how=signal.SIGTERM):
        if process and process.poll() is None:
            process.send_signal(how)
            process.wait(timeout=60)
        return process.returncode if process else None

    def stop(self):
        self.end(self.monitor)
        return self.end(self.manager)

    def destroy(self):
        self.end(self.monitor, signal.SIGKILL)
        self.end(self.manager, signal.SIGKILL)

    def lives(self, when):
        if self.manager.poll() is not None:
            self.wrong("daemons_died", f"morphd {when}, with status {self.manager.returncode}: {tail(self.directory + '/morphd.log', 3)}")
            self.manager_start()

    # ---- questions and orders ----

    def morph(self, *words, timeout=300):
        return subprocess.run(self.within + [self.tools + "/morph", *words], capture_output=True, text=True, timeout=timeout, check=False,
                              env=self.environment)

    def ask(self, verb, *words):
        answer = self.morph(verb, "--json", *words)
        return json.loads(answer.stdout) if answer.returncode == 0 else None

    def editors(self):
        """Processes below morphd: whoever checks, profiles and edits just now."""
        children, names = {}, {}
        for entry in os.listdir("/proc"):
            try:
                with open(f"/proc/{int(entry)}/stat", encoding="utf-8", errors="replace") as file:
                    text = file.read()
            except (ValueError, OSError):
                continue
            name, rest = text[text.index("(") + 1:text.rindex(")")], text[text.rindex(")") + 2:].split()
            children.setdefault(int(rest[1]), []).append(int(entry))
            names[int(entry)] = name
        found, left = [], list(children.get(self.manager.pid, []))
        while left:
            pid = left.pop()
            left += children.get(pid, [])
            if names[pid] in EDITORS:
                found.append(pid)
        return found

    # ---- what must be so ----

    def generations(self):
        """Digest of every generation in the store that stands there under its final name."""
        found = set()
        for folder, folders, files in os.walk(self.state + "/store"):
            folders[:] = [name for name in folders if not name.startswith(".")]
            found |= {digest(f"{folder}/{name}") for name in files if name == "binary"}
        return found

    def programs_check(self, when):
        """Every program is there, and whole: as shipped, or as some generation is."""
        for program in self.programs:
            try:
                stands = digest(program.path)
            except FileNotFoundError:
                self.wrong("missing_programs", f"{program.path} {when}")
                continue
            if stands not in self.whole:
                self.whole |= self.generations()
            if stands not in self.whole:
                self.wrong("half_written", f"{program.path} is no known file {when}")

    def differences(self):
        """What `morph verify` finds that nobody answers for, and what lies beside the programs."""
        said = self.morph("verify", "--all", "--json", f"--config={self.directory}/morphd.conf")
        try:
            answer = json.loads(said.stdout)
        except ValueError:
            return {f"morph verify: {said.stderr}"}
        found = {f"{row['path']}: {row['text']}" for row in answer["programs"] if not row["explained"]} | set(answer["differences"])
        beside = set(os.listdir(self.bin)) - {program.name for program in self.programs} - {".ballast"}
        return found | {f"{name} lies beside the programs" for name in beside}

    def records_check(self, when):
        """With morphd there and no edit under way: what stands there is what morphd says, and nothing is left beside it."""
        found = self.differences()
        # morphd tidies up once it runs: what is so only while it does that is no difference.
        for _ in range(3):
            if not found:
                break
            time.sleep(0.5)
            found &= self.differences()
        for text in sorted(found):
            self.wrong("half_written", f"{text}, {when}")
        self.damage_check(when)

    def damage_check(self, when):
        """Neither database nor spool had anything that morphd had to set aside."""
        damaged = [name for name in os.listdir(self.state) if name.startswith("state.db.damaged") or name == "state.suspect"]
        if os.path.isdir(self.spool + "/damaged"):
            damaged += os.listdir(self.spool + "/damaged")
        for name in damaged:
            self.wrong("half_written", f"{name} was set aside {when}")

    def spool_wait(self, seconds=ANSWER_S):
        for _ in range(seconds * 20):
            if not any(name.endswith((".samples", ".events")) and name[0] != "." for name in os.listdir(self.spool)):
                return True
            time.sleep(0.05)
        return False

    def idle_wait(self):
        """Until no edit runs."""
        for _ in range(ANSWER_S * 20):
            if not self.editors():
                time.sleep(0.1)
                if not self.editors():
                    return
            time.sleep(0.05)


class Strict:
    """bench-strict on a directory: power that is cut, a disk that is full."""

    def __init__(self, tools, directory):
        self.directory = directory
        os.makedirs(directory, exist_ok=True)
        self.process = subprocess.Popen([tools + "/bench-strict", directory])
        while not os.path.ismount(directory):
            if self.process.poll() is not None:
                raise RuntimeError("bench-strict does not run")
            time.sleep(0.01)

    def order(self, what, text):
        os.setxattr(self.directory, "user.strict." + what, text.encode())

    def state(self):
        """power, steps, spaces, failed"""
        text = os.getxattr(self.directory, "user.strict.state").decode()
        return {key: int(value) if value.isdigit() else value for key, value in (word.split("=") for word in text.split())}

    def close(self):
        subprocess.run(["umount", "-l", self.directory], check=False)
        self.process.wait(timeout=60)


def alone(argv):
    """Goes on in a mount namespace of its own."""
    if "MORPH_RELIABILITY_NAMESPACE" not in os.environ:
        os.environ["MORPH_RELIABILITY_NAMESPACE"] = "yes"
        os.execvp("unshare", ["unshare", "--mount", "--propagation", "private", sys.executable, *argv])


class Relay(threading.Thread):
    """Takes logs of the monitor's spool to morphd's, and knows what was in them."""

    def __init__(self, machine):
        super().__init__(daemon=True)
        self.machine, self.ended, self.paused = machine, threading.Event(), threading.Lock()
        self.logs = self.user = 0
        self.path = machine.directory + "/log"

    def one(self, name):
        machine = self.machine
        path = f"{machine.spool}.monitor/{name}"
        if name.endswith(".samples"):
            answer = subprocess.run([machine.tools + "/morph", "dump", "--json", path], capture_output=True, text=True, check=False,
                                    env=machine.environment)
            if answer.returncode:
                machine.wrong("half_written", f"{name} of the monitor: {answer.stderr.strip()}")
                os.unlink(path)
                return
            self.logs += 1
            self.user += json.loads(answer.stdout)["user"]
        os.rename(path, f"{machine.spool}/{name}")

    def once(self):
        with self.paused:
            for name in sorted(os.listdir(self.machine.spool + ".monitor")):
                if name[0] != "." and name.endswith((".samples", ".events")):
                    self.one(name)

    def run(self):
        while not self.ended.wait(0.1):
            self.once()

    def check(self, when):
        """All that was ever handed over has been counted, once."""
        with self.paused:
            if not self.machine.spool_wait():
                self.machine.wrong("lost_counts", f"the spool is not taken {when}")
            daemon = (self.machine.ask("status") or {}).get("daemon", {})
            counted = (daemon.get("total_logs"), daemon.get("total_user"))
            if counted != (self.logs, self.user):
                self.machine.wrong("lost_counts", f"{counted[0]} logs and {counted[1]} samples are counted, of {self.logs} "
                                                  f"and {self.user}, {when}")


class Users(threading.Thread):
    """Who uses the programs, all the time: they run, they give the right output, they are there."""

    def __init__(self, machine, seed):
        super().__init__(daemon=True)
        self.machine, self.ended, self.random, self.runs = machine, threading.Event(), random.Random(seed), 0

    def run(self):
        while not self.ended.is_set():
            program = self.random.choice(self.machine.programs)
            what = program.run()
            self.runs += 1
            if what:
                self.machine.wrong(what, f"{program.path}, when it was run")


class Owner(threading.Thread):
    """Who orders edits and rollbacks, one after the other."""

    def __init__(self, machine, seed):
        super().__init__(daemon=True)
        self.machine, self.ended, self.random, self.orders, self.edits = machine, threading.Event(), random.Random(seed), 0, 0
        self.refused = collections.Counter()
        self.paused = threading.Lock()

    def run(self):
        while not self.ended.wait(0.02):
            with self.paused:
                program = self.random.choice(self.machine.programs)
                verb = "reoptimize" if self.random.random() < 0.75 else "rollback"
                done = self.machine.morph(verb, program.path)
                self.orders += 1
                self.edits += verb == "reoptimize" and done.returncode == 0
                if done.returncode:
                    self.refused[re.sub(r"^morph: |[\d.]+|/\S*", "", done.stderr.strip())] += 1

    def edit_wait(self, seconds=300):
        """Until one more edit was done."""
        before, end = self.edits, time.monotonic() + seconds
        while self.edits == before and time.monotonic() < end:
            time.sleep(0.1)


def tail(path, n=20):
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return "".join(file.readlines()[-n:])
    except OSError:
        return ""
