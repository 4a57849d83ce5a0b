#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""full.py TOOLS SOURCE OUT [EVERY [FIRST]] - the disk is full at every write of a whole cycle, one after the other

A cycle: a log is taken, a program is edited and its generation put into place, and rolled back. State, store and spool are on
bench-strict, which counts the calls that take space: in the Nth cycle the Nth of them fails, and every second time all that follow,
too, until somebody makes room. Then the same must succeed, and nothing may be lost or half written. The programs have a file system
of their own, which is full but for 0, 1, 2, ... pages. The monitor has a spool of its own, with the same done to its writes.
EVERY: only each so manieth write below state and spool, from the FIRST on. Writes counts as JSON to OUT.
"""

import json
import os
import subprocess
import sys
import tempfile
import time

import machine as reliability

WRITES_MAX = 5000
PROGRAM = "vm"
BIN_BYTES = 4 << 20


class Cycle:
    """One program, of which morphd gets logs; what was in them."""

    def __init__(self, machine, strict):
        self.machine, self.strict = machine, strict
        self.program = next(p for p in machine.programs if p.name == PROGRAM)
        self.logs = self.samples = 0

    def log_make(self):
        """The next log of the running file, in the spool, but for its name."""
        machine, log = self.machine, f"{self.machine.directory}/log"
        done = machine.morph("record", "--files", "-F", "4000", "-o", log, "--", *self.program.command)
        if done.returncode:
            raise RuntimeError("morph record: " + done.stderr)
        self.logs += 1
        self.samples += json.loads(machine.morph("dump", "--json", log).stdout)["user"]
        with open(log, "rb") as file:
            reliability.write_durably(f"{machine.spool}/.log", file.read())

    def go(self):
        """Is all of it as ordered?"""
        machine = self.machine
        if os.path.exists(machine.spool + "/.log"):
            try:
                os.rename(machine.spool + "/.log", f"{machine.spool}/{self.logs:06d}.samples")
            except OSError:
                return False
        machine.spool_wait(2)
        done = [machine.morph(verb, self.program.path) for verb in ("reoptimize", "rollback")]
        return not any(one.returncode for one in done)

    def check(self, when, succeeded=False):
        """SUCCEEDED: it did, although a write failed."""
        machine = self.machine
        machine.lives(when)
        if not machine.spool_wait(1):  # a full disk makes morphd wait a minute; not here
            if machine.end(machine.manager):
                machine.wrong("daemons_died", f"morphd does not end properly {when}")
            machine.manager_start()
        if not succeeded and not self.go():
            machine.wrong("half_written", f"there is room again, and the cycle fails {when}")
        if not machine.spool_wait():
            machine.wrong("lost_counts", f"the spool is not taken {when}")
        daemon = (machine.ask("status") or {}).get("daemon", {})
        found = (daemon.get("total_logs"), daemon.get("total_user"))
        if found != (self.logs, self.samples):
            machine.wrong("lost_counts", f"{found} logs and samples are counted, of {(self.logs, self.samples)}, {when}")
        machine.programs_check(when)
        machine.records_check(when)


def state_sweep(machine, strict, every, first):
    """Every write below morphd's state and spool."""
    cycle, at, failed, beyond = Cycle(machine, strict), first, 0, 0
    cycle.log_make()
    cycle.check("before the disk is full")
    while at < WRITES_MAX and beyond < 2:
        how = "on" if at // every % 2 else "once"
        cycle.log_make()
        strict.order("fail-at", f"{at} {how}")
        succeeded = cycle.go()
        reached = strict.state()
        strict.order("fail-at", "0 once")
        beyond = 0 if reached["failed"] else beyond + 1
        failed += reached["failed"] > 0
        cycle.check(f"after write {at} failed ({how})", succeeded)
        if at // every % 20 == 0:
            print(f"write {at} ({how}): {reached}", flush=True)
        at += every
    return failed


def ballast(machine, pages):
    """Room for so many PAGES is left where the programs are; None: all of it."""
    path = machine.bin + "/.ballast"
    if os.path.exists(path):
        os.unlink(path)
    if pages is None:
        return
    with open(path, "wb") as file:
        free = os.statvfs(machine.bin).f_bavail
        os.posix_fallocate(file.fileno(), 0, max(free - pages, 1) * 4096)


def order_until_room(machine, verb, path, every):
    """VERB with room for 0, 1, 2, ... pages, until it succeeds, and then without ballast. How often it failed."""
    failed, pages = 0, 0
    while True:
        ballast(machine, pages)
        done = machine.morph(verb, path)
        ballast(machine, None)
        when = f"after {verb} with room for {pages} pages"
        machine.lives(when)
        machine.programs_check(when)
        machine.records_check(when)
        if done.returncode == 0 or pages > BIN_BYTES // 4096:
            break
        failed, pages = failed + 1, pages + every
    if done.returncode:
        machine.wrong("half_written", f"{verb} fails with all the room there is: {done.stderr}")
    return failed


def programs_sweep(machine, every):
    """Every page of a program that is replaced, and of one that comes back."""
    path = next(p.path for p in machine.programs if p.name == PROGRAM)
    return sum(order_until_room(machine, verb, path, every) for verb in ("reoptimize", "rollback"))


def logs_sum(machine):
    total = 0
    for name in sorted(os.listdir(machine.spool + ".monitor")):
        if name.endswith(".samples"):
            answer = machine.morph("dump", "--json", f"{machine.spool}.monitor/{name}")
            if answer.returncode:
                machine.wrong("half_written", f"{name} of the monitor: {answer.stderr}")
            else:
                total += json.loads(answer.stdout)["user"]
    return total


def monitor_sweep(machine, strict):
    """Every write of the monitor; what it says that it sampled is in its spool at the end."""
    users = reliability.Users(machine, 5)
    users.start()
    failed = 0
    machine.monitor_start()
    while not os.path.exists(machine.directory + "/monitor/status.json"):
        time.sleep(0.05)
    for at in range(1, 13):
        strict.order("fail-at", f"{at} {'on' if at % 2 else 'once'}")
        began = time.monotonic()
        while not strict.state()["failed"] and time.monotonic() - began < 20:
            time.sleep(0.05)
        time.sleep(1.5)
        failed += strict.state()["failed"] > 0
        strict.order("fail-at", "0 once")
        if machine.monitor.poll() is not None:
            machine.wrong("daemons_died", f"morph-monitor, with status {machine.monitor.returncode}")
            break
    users.ended.set()
    users.join()
    machine.end(machine.monitor)
    with open(machine.directory + "/monitor/status.json", encoding="utf-8") as file:
        said = json.load(file)
    found = logs_sum(machine)
    if said["samples"]["user"] != found:
        machine.wrong("lost_counts", f"the monitor counted {said['samples']['user']} samples and wrote {found}")
    return failed


def main(argv):
    reliability.alone(argv)
    reliability.die_properly()
    tools, source, out, every, first = *argv[1:4], *(int(word) for word in (argv[4:] + ["1", "1"])[:2])
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="morph-reliability.", dir="/var/lib") as directory:
        os.mkdir(directory + "/bin")
        subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={BIN_BYTES}", "tmpfs", directory + "/bin"], check=True)
        reliability.programs_build(tools, source, directory + "/shipped")
        strict = reliability.Strict(tools, directory + "/strict")
        machine = reliability.Machine(tools, directory, directory + "/shipped", place=directory + "/strict", automatic="no")
        try:
            machine.manager_start()
            counts = {"state": state_sweep(machine, strict, every, first), "programs": programs_sweep(machine, every),
                      "monitor": monitor_sweep(machine, strict)}
            machine.stop()
        except Exception:
            print(reliability.tail(directory + "/morphd.log"), flush=True)
            raise
        finally:
            machine.destroy()
            strict.close()
            subprocess.run(["umount", "-l", directory + "/bin"], check=False)
        table = {"disk_full": sum(counts.values()), "writes": counts, "seconds": time.monotonic() - began}
        table |= machine.found | {"said": machine.said}
    with open(out, "w", encoding="utf-8") as file:
        json.dump(table, file, indent=1)
    return 1 if any(machine.found.values()) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
