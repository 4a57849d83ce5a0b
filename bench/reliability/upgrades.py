#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""upgrades.py TOOLS SOURCE OUT N - programs are upgraded by dpkg while they run, are sampled and edited, N times

Half of the upgrades find generations in the files' place (activation = replace), half find them mounted over the files, with the hooks
for dpkg that Morph installs. Every fifth time morphd is killed meanwhile. When dpkg is done, the programs are those of the package,
or generations of these, and stay so. Runs in a mount namespace of its own. Writes counts as JSON to OUT.
"""

import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time

import machine as reliability

VERSIONS = 5
AWAITED_S = 15
HOOKS = "/etc/dpkg/dpkg.cfg.d"
CONTROL = """Package: programs
Version: {version}
Architecture: all
Maintainer: nobody <nobody@example.org>
Description: small programs
"""


def run(*words):
    return subprocess.run(words, capture_output=True, text=True, check=False)


def package(directory, version):
    tree = f"{directory}/tree"
    os.makedirs(tree + "/DEBIAN")
    shutil.copytree(f"{directory}/shipped-{version}", tree + "/usr/bin")
    with open(tree + "/DEBIAN/control", "w", encoding="utf-8") as file:
        file.write(CONTROL.format(version=version))
    subprocess.run(["dpkg-deb", "--root-owner-group", "-b", tree, f"{directory}/programs-{version}.deb"], check=True,
                   stdout=subprocess.DEVNULL)
    shutil.rmtree(tree)


def packages_make(tools, source, directory):
    for version in range(1, VERSIONS + 1):
        reliability.programs_build(tools, source, f"{directory}/shipped-{version}", version)
        package(directory, version)


class System:
    """A place that dpkg installs in, with its own database."""

    def __init__(self, directory):
        self.directory, self.root = directory, directory + "/system"
        for folder in ("info", "updates"):
            os.makedirs(f"{self.root}/var/lib/dpkg/{folder}")
        for name in ("status", "available"):
            with open(f"{self.root}/var/lib/dpkg/{name}", "w", encoding="utf-8"):
                pass

    def dpkg(self, *words):
        return run("dpkg", f"--root={self.root}", "--force-not-root", "--force-bad-path", *words)

    def install(self, version):
        return self.dpkg("-i", f"{self.directory}/programs-{version}.deb")


def hooks_install(tools, source, directory):
    """Those that Morph's package has, for this morphd alone; seen in this mount namespace only."""
    with open(source + "/systemd/dpkg.cfg.in", encoding="utf-8") as file:
        text = re.sub(r"[^ =]*/morph-mount (suspend|resume)", rf"{tools}/morph-mount --config={directory}/morphd.conf \1", file.read())
    text = re.sub(r"-x [^ ]*", f"-x {tools}/morph-mount", text)
    os.makedirs(directory + "/hooks")
    with open(directory + "/hooks/morph", "w", encoding="utf-8") as file:
        file.write(text)
    os.makedirs(HOOKS, exist_ok=True)
    subprocess.run(["mount", "--bind", directory + "/hooks", HOOKS], check=True)


def versions_check(machine, version, when):
    for program in machine.programs:
        try:
            done = subprocess.run(program.command, capture_output=True, text=True, timeout=120, check=False)
        except OSError as error:
            machine.wrong("missing_programs", f"{program.path} {when}: {error}")
            continue
        if done.returncode or done.stdout.encode() != program.expected:
            machine.wrong("half_written", f"{program.path} {when}: status {done.returncode}")
        elif done.stderr != f"version {version}\n":
            machine.wrong("upgrades_lost", f"{program.path} {when} says {done.stderr.strip()}, not version {version}")


def something_awaited(machine, owner, edited):
    """Until an edit runs; EDITED: until one has come to its end since the last upgrade. Not forever: there may be too few samples."""
    before, began = owner.edits, time.monotonic()
    while time.monotonic() - began < AWAITED_S and not (owner.edits > before if edited else machine.editors()):
        time.sleep(0.05)


def upgrade(machine, system, version, owner, rng, kill):
    """One dpkg -i, at a random moment."""
    something_awaited(machine, owner, rng.random() < 0.6)
    time.sleep(rng.random() * rng.choice((0.1, 1, 3)))
    if kill:
        machine.end(machine.manager, reliability.signal.SIGKILL)
    done = system.install(version)
    if done.returncode:
        machine.wrong("upgrades_lost", f"dpkg -i of version {version}: {done.stderr.strip()}")
    versions_check(machine, version, "after dpkg")
    if kill:
        machine.manager_start()
    time.sleep(rng.random())
    versions_check(machine, version, "a while after dpkg")


def campaign(machine, system, n, rng):
    relay, users, owner = reliability.Relay(machine), reliability.Users(machine, 3), reliability.Owner(machine, 4)
    version = 1
    for thread in (relay, users, owner):
        thread.start()
    for i in range(n):
        version = version % VERSIONS + 1
        upgrade(machine, system, version, owner, rng, i % 5 == 4)
        if i % 10 == 9 or i == n - 1:
            with owner.paused:
                machine.idle_wait()
                relay.check(f"after {i + 1} upgrades")
                machine.damage_check(f"after {i + 1} upgrades")
            print(f"{i + 1} upgrades, {owner.edits} edits, {relay.logs} logs, {relay.user} samples, {users.runs} runs; refused: {dict(owner.refused)}", flush=True)
    for thread in (owner, users, relay):
        thread.ended.set()
        thread.join()
    machine.stop()
    run(machine.tools + "/morphd", f"--config={machine.directory}/morphd.conf", "--rollback-all")
    said = system.dpkg("--verify").stdout
    if said:
        machine.wrong("half_written", f"dpkg --verify after the rollback of all: {said}")
    packed = {reliability.digest(f"{machine.directory}/shipped-{version}/{program.name}") for program in machine.programs}
    for program in machine.programs:
        if reliability.digest(program.path) not in packed:
            machine.wrong("upgrades_lost", f"{program.path} is not the package's after the rollback of all")
    return {"upgrades": n, "edits": owner.edits, "logs": relay.logs, "samples": relay.user, "runs": users.runs}


def one_way(tools, source, directory, activation, n):
    system = System(directory)
    for version in range(1, VERSIONS + 1):
        subprocess.run(["ln", "-s", f"../shipped-{version}", f"../programs-{version}.deb", directory], check=True)
    if system.install(1).returncode:
        raise RuntimeError("dpkg does not install: " + system.install(1).stderr)
    machine = reliability.Machine(tools, directory, f"{directory}/shipped-1", programs=system.root + "/usr/bin", install=False, activation=activation,
                                  mount_prefixes=system.root + "/usr")
    helper = None
    try:
        if activation == "mount":
            hooks_install(tools, source, directory)
            helper = machine.start([tools + "/morph-mount", f"--config={directory}/morphd.conf", f"--listen={directory}/run/mount",
                                    "serve"], "mount")
        machine.manager_start()
        machine.monitor_start()
        return campaign(machine, system, n, random.Random(activation)) | machine.found | {"said": machine.said}
    except Exception:
        print(reliability.tail(directory + "/morphd.log"), flush=True)
        raise
    finally:
        machine.destroy()
        machine.end(helper, reliability.signal.SIGKILL)
        if os.path.ismount(HOOKS):
            run("umount", HOOKS)
        for program in machine.programs:
            run("umount", "-l", program.path)


def main(argv):
    reliability.die_properly()
    reliability.alone(argv)
    tools, source, out, n = *argv[1:4], int(argv[4])
    result, began = {}, time.monotonic()
    with tempfile.TemporaryDirectory(prefix="morph-reliability.", dir="/var/lib") as directory:
        os.chmod(directory, 0o755)  # editors are other users
        packages_make(tools, source, directory)
        for activation in ("replace", "mount"):
            os.mkdir(f"{directory}/{activation}")
            result[activation] = one_way(tools, source, f"{directory}/{activation}", activation, (n + 1) // 2)
    found = {key: sum(result[way][key] for way in result) for key in reliability.FOUND}
    table = {"upgrades": sum(result[way]["upgrades"] for way in result), "ways": result, "seconds": time.monotonic() - began} | found
    with open(out, "w", encoding="utf-8") as file:
        json.dump(table, file, indent=1)
    return 1 if any(found.values()) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
