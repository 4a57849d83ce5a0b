#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""power.py TOOLS SOURCE OUT N [SEED] - power is cut N times, each time at another step of what the daemons write

morphd's state and spool and the monitor's spool are on bench-strict, which keeps only what was synced; the programs are on ext4, in a
file on bench-strict, so that of them what that file system's journal promises is kept. morphd and monitor run with that ext4 as their
root. The power fails instead of a certain step, chosen at random, of anything that is written anywhere; every second time some of what
was not synced had reached the disk by chance. Then all processes are killed, and the machine starts again. Writes counts as JSON to OUT.
"""

import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time

import machine as reliability

DISK_MIB = 64
STEPS = 900  # what a log, an edit, a replacement and a rollback take, about
BUSY_S = 40  # after that the power is cut wherever it is


def run(*words):
    subprocess.run(words, check=True)


def fsync(path):
    fd = os.open(path, os.O_RDONLY)
    os.fsync(fd)
    os.close(fd)


class Root:
    """A system whose own file system is ext4, in DIRECTORY/root; what is in DIRECTORY has the same paths inside and outside."""

    def __init__(self, tools, directory):
        self.tools, self.directory, self.path = tools, directory, directory + "/root"
        self.strict = reliability.Strict(tools, directory + "/strict")
        self.disk = directory + "/strict/disk.img"
        with open(self.disk, "wb") as file:
            file.truncate(DISK_MIB << 20)
        run("mkfs.ext4", "-q", "-F", self.disk)
        for name in ("strict/machine", "root", "programs"):
            os.mkdir(f"{directory}/{name}")
        self.loop = None
        self.mount()
        os.makedirs(self.path + directory)
        os.mkdir(self.path + "/programs")
        for name in os.listdir("/"):
            if os.path.islink("/" + name):
                os.symlink(os.readlink("/" + name), f"{self.path}/{name}")
            else:
                os.makedirs(f"{self.path}/{name}", exist_ok=True)
        self.down()
        self.up()

    def mount(self):
        said = subprocess.run(["losetup", "--find", "--show", self.disk], check=True, capture_output=True, text=True)
        self.loop = said.stdout.strip()
        run("mount", self.loop, self.path)

    def bind(self, path, recursive=False):
        run("mount", "--rbind" if recursive else "--bind", path, self.path + path)

    def up(self):
        self.mount()
        run("mount", "--bind", self.path + "/programs", self.directory + "/programs")
        for name in os.listdir("/"):
            if os.path.isdir("/" + name) and not os.path.islink("/" + name) and name != "lost+found":
                self.bind("/" + name, name != "var")  # we are below that ourselves
        for path in (self.directory + "/programs", self.directory + "/strict"):
            self.bind(path)

    def processes(self):
        found = []
        for entry in filter(str.isdigit, os.listdir("/proc")):
            try:
                if os.readlink(f"/proc/{entry}/root") == self.path:
                    found.append(int(entry))
            except OSError:
                pass
        return found

    def down(self):
        """All that runs there ends at once; also when the power is off, and nothing can be written."""
        while found := self.processes():
            for pid in found:
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    pass
            time.sleep(0.01)
        for path in (self.directory + "/programs", self.path):
            subprocess.run(["umount", "-R", "-l", path], check=False, stderr=subprocess.DEVNULL)
        if not self.loop:
            return
        subprocess.run(["losetup", "-d", self.loop], check=False, stderr=subprocess.DEVNULL)
        for _ in range(600):
            if not os.path.exists(f"/sys/block/{os.path.basename(self.loop)}/loop"):
                self.loop = None
                return
            time.sleep(0.05)
        raise RuntimeError(f"{self.loop} stays in use")

    def sync(self):
        """Everything there is, as after a long quiet time."""
        run("sync", "-f", self.path)
        for folder, _, files in os.walk(self.strict.directory):
            for path in [folder] + [f"{folder}/{name}" for name in files]:
                fsync(path)


class Life:
    """What happens on the machine, and what must be true of it whatever happens."""

    def __init__(self, machine, root, rng):
        self.machine, self.root, self.rng = machine, root, rng
        self.logs = {}  # name: bytes, as they were handed over or were about to be
        self.samples = 0
        self.stands = {program.path: None for program in machine.programs}  # what was acknowledged; None: an order was under way
        self.edits = self.cuts = self.steps = 0

    def sample(self, program):
        machine, log = self.machine, f"{self.machine.directory}/log"
        if machine.morph("record", "--files", "-F", "4000", "-o", log, "--", *program.command).returncode:
            return False
        self.samples += json.loads(machine.morph("dump", "--json", log).stdout)["user"]
        name = f"{len(self.logs) + 1:06d}.samples"
        with open(log, "rb") as file:
            self.logs[name] = file.read()
        reliability.write_durably(f"{machine.spool}/{name}", self.logs[name])
        machine.spool_wait(5)
        return True

    def order(self, verb, program):
        self.stands[program.path] = None
        if self.machine.morph(verb, program.path).returncode == 0:
            self.edits += verb == "reoptimize"
            self.stands[program.path] = reliability.digest(program.path)

    def is_off(self):
        return self.root.strict.state()["power"] == "off"

    def go(self):
        """Until the power is gone."""
        self.root.strict.order("cut-after", str(self.rng.randint(1, STEPS)))
        began = time.monotonic()
        try:
            while not self.is_off() and time.monotonic() - began < BUSY_S:
                program = self.rng.choice(self.machine.programs)
                if self.sample(program):
                    self.order("reoptimize", program)
                    if self.rng.random() < 0.6:
                        self.order("rollback", program)
        except OSError:
            pass  # ours fail, too
        for path in [path for path, digest in self.stands.items() if digest is None]:
            del self.stands[path]
        self.steps += self.root.strict.state()["steps"]
        self.root.strict.order("power", "off")

    def monitor_check(self, when):
        """What has a name in the monitor's spool is whole."""
        directory = self.machine.spool + ".monitor"
        for name in os.listdir(directory):
            if name.endswith((".samples", ".events")) and self.machine.morph("dump", f"{directory}/{name}").returncode:
                self.machine.wrong("half_written", f"{name} of the monitor {when}")
            if name[0] != ".":
                os.unlink(f"{directory}/{name}")

    def again(self):
        """Power comes back."""
        machine, root, when = self.machine, self.root, f"after power cut {self.cuts + 1}"
        root.down()
        machine.manager.wait()
        machine.monitor.wait()
        root.strict.order("power", f"on {self.rng.choice((0, 50))}")
        root.up()
        self.cuts += 1
        for path in (machine.state, machine.spool, machine.spool + ".monitor"):
            os.makedirs(path, exist_ok=True)
        machine.programs_check(when)
        self.monitor_check(when)
        for name, data in list(self.logs.items())[-3:]:  # those that were handed over twice count once
            reliability.write_durably(f"{machine.spool}/{name}", data)
        machine.manager_start()
        self.check(when)
        machine.monitor_start()

    def check(self, when):
        machine = self.machine
        if not machine.spool_wait():
            machine.wrong("lost_counts", f"the spool is not taken {when}")
        daemon = (machine.ask("status") or {}).get("daemon", {})
        found = (daemon.get("total_logs"), daemon.get("total_user"))
        if found != (len(self.logs), self.samples):
            machine.wrong("lost_counts", f"{found} logs and samples are counted, of {(len(self.logs), self.samples)}, {when}")
        for program in machine.programs:
            if self.stands.get(program.path, reliability.digest(program.path)) != reliability.digest(program.path):
                machine.wrong("orders_lost", f"{program.path} is not as it was when morphd said that it was done, {when}")
            self.stands[program.path] = reliability.digest(program.path)
            if what := program.run():
                machine.wrong(what, f"{program.path} {when}")
        machine.records_check(when)


def campaign(machine, root, n, rng):
    life = Life(machine, root, rng)
    machine.manager_start()
    machine.monitor_start()
    root.sync()
    for _ in range(n):
        life.go()
        life.again()
        if life.cuts % 10 == 0:
            print(f"{life.cuts} cuts, {life.edits} edits, {life.steps} steps, {len(life.logs)} logs, {life.samples} samples", flush=True)
    return {"power_cuts": life.cuts, "edits": life.edits, "logs": len(life.logs), "samples": life.samples}


def main(argv):
    reliability.alone(argv)
    reliability.die_properly()
    tools, source, out, n, seed = *argv[1:4], int(argv[4]), int((argv + ["1997"])[5])
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="morph-reliability.", dir="/var/lib") as directory:
        os.chmod(directory, 0o755)
        reliability.programs_build(tools, source, directory + "/shipped")
        root = Root(tools, directory)
        try:
            machine = reliability.Machine(tools, directory, directory + "/shipped", place=directory + "/strict/machine",
                                          programs=directory + "/programs", within=["chroot", root.path], automatic="no")
            result = campaign(machine, root, n, random.Random(seed))
        except Exception:
            print(reliability.tail(directory + "/morphd.log"), flush=True)
            raise
        finally:
            root.down()
            root.strict.close()
        result |= machine.found | {"said": machine.said, "seconds": time.monotonic() - began}
    with open(out, "w", encoding="utf-8") as file:
        json.dump(result, file, indent=1)
    return 1 if any(machine.found.values()) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
