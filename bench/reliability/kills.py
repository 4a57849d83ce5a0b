#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""kills.py TOOLS SOURCE OUT N - manager, monitor and editors are killed at random moments, N times in all

Programs run all the time, are sampled by the real monitor, and edited by the real editor, one edit after the other; every moment
may be the one of `kill -9`. Whoever was killed is started again, as systemd would. Writes counts as JSON to OUT.
"""

import json
import random
import signal
import sys
import tempfile
import time

import machine as reliability

CHECK_EVERY = 50  # kills, between two looks at everything
PAUSES_S = (0.05, 0.5, 2, 5)  # an edit takes about one or two


def manager_kill(machine):
    machine.end(machine.manager, signal.SIGKILL)
    machine.programs_check("after morphd was killed")
    return machine.manager_start()


def monitor_kill(machine):
    machine.end(machine.monitor, signal.SIGKILL)
    machine.monitor_start()


def editor_kill(machine, rng):
    """A process of an edit, at a random moment of its life. False: there was none."""
    for _ in range(200):
        if machine.editors():
            break
        time.sleep(0.02)
    time.sleep(rng.random() * rng.choice((0.02, 0.2, 1)))
    found = machine.editors()
    if not found:
        return False
    try:
        reliability.os.kill(rng.choice(found), signal.SIGKILL)
    except ProcessLookupError:
        return False
    return True


def look(machine, relay, owner, when):
    with owner.paused:
        machine.idle_wait()
        relay.check(when)
        machine.programs_check(when)
        machine.records_check(when)


def campaign(machine, n, rng):
    relay, users, owner = reliability.Relay(machine), reliability.Users(machine, 1), reliability.Owner(machine, 2)
    killed = {"manager": 0, "monitor": 0, "editor": 0}
    starts, looked = [], 0
    for thread in (relay, users, owner):
        thread.start()
    while sum(killed.values()) < n:
        time.sleep(rng.random() * rng.choice(PAUSES_S))
        victim = rng.choice(("manager", "manager", "editor", "monitor"))
        if victim == "manager":
            starts.append(manager_kill(machine))
        elif victim == "monitor":
            monitor_kill(machine)
        elif not editor_kill(machine, rng):
            continue
        killed[victim] += 1
        if sum(killed.values()) - looked >= CHECK_EVERY:
            looked = sum(killed.values())
            look(machine, relay, owner, f"after {looked} kills")
            print(f"{looked} kills, {owner.edits} edits, {relay.logs} logs, {relay.user} samples, {users.runs} runs", flush=True)
    owner.edit_wait()  # who is left alone works again, however seldom an edit lived long enough before
    owner.ended.set()
    owner.join()
    machine.end(machine.monitor)
    relay.once()
    look(machine, relay, owner, "at the end")
    for thread in (relay, users):
        thread.ended.set()
        thread.join()
    return {"kills": sum(killed.values()), "killed": killed, "edits": owner.edits, "logs": relay.logs, "samples": relay.user,
            "runs": users.runs, "restart_s_max": max(starts, default=None)}


def main(argv):
    reliability.die_properly()
    tools, source, out, n = *argv[1:4], int(argv[4])
    with tempfile.TemporaryDirectory(prefix="morph-reliability.", dir="/var/lib") as directory:
        reliability.programs_build(tools, source, directory + "/shipped")
        machine = reliability.Machine(tools, directory, directory + "/shipped")
        began = time.monotonic()
        try:
            machine.manager_start()
            machine.monitor_start()
            result = campaign(machine, n, random.Random(26))
            if machine.stop():
                machine.wrong("half_written", "morphd does not end properly")
        except Exception:
            print(reliability.tail(directory + "/morphd.log"), flush=True)
            raise
        finally:
            machine.destroy()
        result |= machine.found | {"said": machine.said, "seconds": time.monotonic() - began}
    with open(out, "w", encoding="utf-8") as file:
        json.dump(result, file, indent=1)
    return 1 if any(machine.found.values()) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
