#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""day_inside.py SECONDS - a day in the life of a machine, seen from inside: run by systemd in what day.py has booted

Somebody works on all CPUs with a few of the programs in /opt/day/bin, leaves, comes back, and works with others. morphd and morph-monitor
are services, as their units have them; before, the monitor has seen the programs at a faster rate, as it would have in
weeks. Mostly somebody comes back just when an edit runs: every second time to a session of logind, of which only the idle hint changes for
a second; else by working. Meanwhile it is looked, every few ms, what control groups say: when an edit ran, when it was frozen.
Now and then an edit is ordered beside a task that has something to do every 10 ms; the same task is timed beside loops of the idle
class in its own session, which is the most that the kernel offers, and alone. Writes /result.json.
"""

import glob
import json
import os
import random
import statistics
import subprocess
import sys
import threading
import time

BIN, TOOLS = "/opt/day/bin", os.environ["MORPH_BIN"]
LOOK_S = 0.005
GRACE_S = 0.2  # after somebody's return; what runs later is outside of idle time
AT_WORK_S, AWAY_S = (4, 8), (15, 40)
HASTY, INTO_EDIT_S = 0.9, (0.02, 0.5)  # how often somebody comes back because of an edit, and how long after it is seen
INPUT_S = 1  # before who sits down uses more than his keyboard
SPIN = "import os; os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))\nwhile True: pass"
LOGIN = "org.freedesktop.login1"
LEARN_S, LEARN_RATE = 4, "overhead_budget = 10 %\n"  # for each program


def read(path, default=""):
    try:
        with open(path, encoding="utf-8") as file:
            return file.read()
    except OSError:
        return default


def group_of(unit):
    said = subprocess.run(["systemctl", "show", "-p", "ControlGroup", "--value", unit], capture_output=True, text=True, check=False)
    return "/sys/fs/cgroup" + said.stdout.strip()


def usage_us(group):
    words = read(group + "/cpu.stat").split()
    return int(words[words.index("usage_usec") + 1]) if "usage_usec" in words else 0


def rss_kib(group):
    total = 0
    for path in [group, *glob.glob(group + "/*/")]:
        for pid in read(path + "/cgroup.procs").split():
            for line in read(f"/proc/{pid}/status").splitlines():
                total += int(line.split()[1]) if line.startswith("VmRSS") else 0
    return total


class Watch(threading.Thread):
    """What the slice of the edits used, and whether it was frozen, over time; what the daemons take."""

    def __init__(self):
        super().__init__(daemon=True)
        self.slice = os.path.dirname(group_of("morphd.service").replace("/system.slice", "")) + "/morphedit.slice"
        self.ended, self.looks, self.rss = threading.Event(), [], {"morphd": 0, "morph-monitor": 0}
        self.groups = {name: group_of(name + ".service") for name in self.rss}

    def run(self):
        number = total = last = 0
        while not self.ended.wait(LOOK_S):
            frozen = "frozen 1" in read(self.slice + "/cgroup.events")
            now = usage_us(self.slice)
            total += now - last if now >= last else now  # the slice comes and goes with its edits
            last = now
            self.looks.append((time.monotonic(), total, frozen))
            if number % 200 == 0:
                for name, group in self.groups.items():
                    self.rss[name] = max(self.rss[name], rss_kib(group))
            number += 1

    def used(self, begin, end):
        """CPU seconds of edits between two times."""
        inside = [us for at, us, _ in self.looks if begin <= at <= end]
        return max(0, inside[-1] - inside[0]) / 1e6 if len(inside) > 1 else 0

    def running_at(self, at):
        """Did an edit run just before?"""
        return self.used(at - 0.1, at) > 0

    def still_after(self, at):
        """How long after it was the slice frozen, or used nothing more? None: not while it was looked."""
        last = at
        for k, (when, us, frozen) in enumerate(self.looks):
            if when < at:
                continue
            if frozen:
                return max(when, last) - at
            if k and us > self.looks[k - 1][1]:
                last = when
            if when - last > 1:
                return last - at
        return None


class Work(threading.Thread):
    """One CPU's worth of somebody who works with some programs, until he leaves."""

    def __init__(self, programs, seed):
        super().__init__(daemon=True)
        self.programs, self.left, self.random, self.wrong, self.runs = programs, threading.Event(), random.Random(seed), 0, 0

    def run(self):
        while not self.left.is_set():
            command, expected = self.random.choice(self.programs)
            done = subprocess.run(command, capture_output=True, check=False)
            self.runs += 1
            self.wrong += done.returncode != 0 or done.stdout != expected


def at_work(programs, seed, seconds):
    """Somebody's busy time: (begin, end, runs, how many went wrong)."""
    people = [Work(programs, seed + k) for k in range(os.cpu_count())]
    begin = time.monotonic()
    for person in people:
        person.start()
    time.sleep(seconds)
    for person in people:
        person.left.set()
    end = time.monotonic()
    for person in people:
        person.join()
    return begin, end, sum(p.runs for p in people), sum(p.wrong for p in people)


class Desk:
    """A local session of logind's that tells when it is idle."""

    def __init__(self):
        subprocess.run(["systemd-run", "-q", "--unit=desk", "-p", "PAMName=morph-day", "-p", "User=root", "-E", "XDG_SESSION_TYPE=wayland",
                        "-E", "XDG_SESSION_CLASS=user", "sleep", "infinity"], check=True)
        self.path = None
        while not self.path:
            time.sleep(0.1)
            said = subprocess.run(["busctl", "--json=short", "call", LOGIN, "/org/freedesktop/login1", LOGIN + ".Manager", "ListSessions"],
                                  capture_output=True, text=True, check=False).stdout
            sessions = json.loads(said or '{"data": [[]]}')["data"][0]
            self.path = sessions[0][4] if sessions else None
        self.idle(True)

    def idle(self, is_idle):
        subprocess.run(["busctl", "call", LOGIN, self.path, LOGIN + ".Session", "SetIdleHint", "b", str(is_idle).lower()], check=True)


def service(what, *names):
    for name in names:
        subprocess.run(["systemctl", what, name], check=True)


def learn(programs, seconds):
    """Counts of all programs, in morphd's spool."""
    config = "/etc/morph/monitor.conf"
    with open(config, "w", encoding="utf-8") as file:
        file.write(LEARN_RATE)
    service("start", "morph-monitor")
    for program in programs:
        at_work([program], 0, seconds)
    service("stop", "morph-monitor")
    os.truncate(config, 0)


def come_back(desk):
    """To the desk, with nothing but input for a while. When was that?"""
    begin = time.monotonic()
    desk.idle(False)
    time.sleep(INPUT_S)
    return begin


def away(watch, rng):
    """Nobody is there."""
    is_hasty, end = rng.random() < HASTY, time.monotonic() + rng.uniform(*AWAY_S)
    while time.monotonic() < end:
        time.sleep(0.1)
        if is_hasty and watch.running_at(time.monotonic()):
            time.sleep(rng.uniform(*INTO_EDIT_S))
            return


def periodic(seconds):
    said = subprocess.run([TOOLS + "/bench-periodic", str(seconds)], capture_output=True, text=True, check=True).stdout
    return [tuple(map(int, line.split())) for line in said.splitlines()]


def beside_spin(seconds):
    """The task beside loops of the idle class, one per CPU, in its own session."""
    loops = [subprocess.Popen([sys.executable, "-c", SPIN]) for _ in range(os.cpu_count())]
    time.sleep(0.5)
    samples = periodic(seconds)
    for loop in loops:
        loop.kill()
        loop.wait()
    return [late for _, late in samples]


def foreground(watch, path):
    """Latencies of the task beside an edit that was ordered, beside what the kernel can make idle, and alone: lists of ns."""
    order = subprocess.Popen([TOOLS + "/morph", "reoptimize", path], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    samples = periodic(4)
    order.wait()
    beside = [late for due, late in samples if watch.used(due / 1e9 - 0.015, due / 1e9 + 0.015) > 0]
    # On a busy machine what ran at the lowest priority takes its time to end.
    while "populated 1" in read(watch.slice + "/cgroup.events"):
        time.sleep(0.1)
    spin = beside_spin(4)
    alone = [late for _, late in periodic(4)]
    return {"edit": beside, "spin": spin, "alone": alone}


def p99(values):
    return sorted(values)[min(len(values) - 1, int(0.99 * len(values)))] if values else None


def programs_all():
    found = []
    with open("/opt/day/programs.json", encoding="utf-8") as file:
        commands = json.load(file)
    for command in commands:
        found.append((command, subprocess.run(command, capture_output=True, check=True).stdout))
    return found


def live(seconds, rng):
    programs = programs_all()
    learn(programs, LEARN_S if seconds >= 60 else 1)
    desk = Desk()
    service("start", "morph-monitor", "morphd")
    watch = Watch()
    watch.start()
    before = {name: usage_us(group) for name, group in watch.groups.items()}
    began, busy, late = time.monotonic(), [], {"edit": [], "spin": [], "alone": []}
    while time.monotonic() - began < seconds:
        came = come_back(desk) if len(busy) % 2 else None
        begin, *work = at_work(rng.sample(programs, min(5, len(programs) - 1)), len(busy) * 100, rng.uniform(*AT_WORK_S))
        busy.append((came or begin, came is not None, *work))
        desk.idle(True)
        if len(busy) % 4 == 0:
            for beside, found in foreground(watch, programs[0][0][0]).items():
                late[beside] += found
        away(watch, rng)
    lasted = time.monotonic() - began
    time.sleep(1.5)
    watch.ended.set()
    watch.join()
    return watch, busy, late, lasted, before


def ratio(one, other):
    return one / other if one and other else None


def conclude(watch, busy, late, lasted, before):
    returns = [(begin, by_input) for begin, by_input, *_ in busy if watch.running_at(begin)]
    frozen = [(1000 * still, by_input) for begin, by_input in returns if (still := watch.still_after(begin)) is not None]
    freezes = [ms for ms, _ in frozen]
    outside = [used for begin, _, end, *_ in busy if (used := watch.used(begin + GRACE_S, end)) > 0]
    edit, spin, alone = (p99(late[beside]) for beside in ("edit", "spin", "alone"))
    cpu = {name: (usage_us(group) - before[name]) / 1e6 / lasted / os.cpu_count() * 100 for name, group in watch.groups.items()}
    status = json.loads(subprocess.run([TOOLS + "/morph", "status", "--json"], capture_output=True, text=True, check=True).stdout)
    edited = [module for module in status["modules"] if module.get("path", "").startswith(BIN)]
    return {
        "day_seconds": lasted, "programs": len(glob.glob(BIN + "/*")), "busy_times": len(busy), "runs": sum(row[3] for row in busy),
        "runs_wrong": sum(row[4] for row in busy), "samples": sum(module.get("samples", 0) for module in edited),
        "programs_edited": sum(module.get("generation", 0) > 0 for module in edited),
        "edit_cpu_s": watch.looks[-1][1] / 1e6 if watch.looks else 0, "returns_to_an_edit": len(returns),
        "edits_outside_idle": len(outside), "edits_outside_idle_cpu_s": sum(outside),
        "freeze_ms_p99": p99(freezes), "freezes": len(freezes), "freeze_ms_median": statistics.median(freezes) if freezes else None,
        "freezes_by_input": sum(by_input for _, by_input in frozen),
        "foreground_p99_ratio": ratio(edit, alone), "foreground_p99_ratio_spin": ratio(spin, alone),
        "foreground_p99_ms": ratio(edit, 1e6), "foreground_spin_p99_ms": ratio(spin, 1e6), "foreground_alone_p99_ms": ratio(alone, 1e6),
        "foreground_periods": len(late["edit"]),
        "manager_rss_mib": watch.rss["morphd"] / 1024, "monitor_rss_mib": watch.rss["morph-monitor"] / 1024,
        "daemons_cpu_percent": sum(cpu.values()), "cpus": os.cpu_count(), "manager_cpu_percent": cpu["morphd"], "monitor_cpu_percent": cpu["morph-monitor"],
        "load_average_after": os.getloadavg()[0],
    }


def main(argv):
    result = {"error": "did not come to its end"}
    try:
        service("start", "morph-worker.socket")
        result = conclude(*live(int(argv[1]), random.Random(24)))
    except Exception as error:
        result = {"error": repr(error)}
        raise
    finally:
        result["journal"] = subprocess.run(["journalctl", "-b", "--no-pager", "-n", "400", "-u", "morphd", "-u", "morph-monitor"],
                                           capture_output=True, text=True, check=False).stdout
        with open("/result.json", "w", encoding="utf-8") as file:
            json.dump(result, file, indent=1)


if __name__ == "__main__":
    main(sys.argv)
