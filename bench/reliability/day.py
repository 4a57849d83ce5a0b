#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""day.py TOOLS SOURCE OUT SECONDS - a day in the life of a machine, under its own systemd

This machine's root is booted in a container, with a layer over it that takes all that is written; Morph's units as they are installed,
twenty programs in /opt/day/bin: Lua, and small ones in versions of their own (in less than a minute, four of these). What happens then is
in day_inside.py. IDLE_LOAD and IDLE_PRESSURE are those of morphd.conf(5). Others' work on the host counts, as it should: on a machine that
is never idle nothing is edited unless it is ordered. Writes figures as JSON to OUT.

Where the host has its CPU controller in version 1, which containers' systemd does not use, the workers are put into a group of it with
cpu.idle, as CPUWeight=idle of their slice does with version 2.
"""

import contextlib
import json
import os
import shutil
import subprocess
import sys
import tempfile

import machine as reliability

IDLE_V1, IDLE = "/sys/fs/cgroup/cpu", "/opt/idle"  # the host's, where the container sees the group
SMALL, FEW = 19, 4  # and Lua; in less than a minute
UNITS = ("morphd.service", "morph-monitor.service", "morph-worker@.service", "morph-worker.socket")
SETTINGS = """minimum_samples = 100
edit_interval = 0
edits_per_day = 0
minimum_free = 0
decide_interval = 5s
resume_after = 2s
idle_load = {load}
idle_pressure = {pressure}
"""
PAM = """account required pam_permit.so
session required pam_systemd.so
"""
DAY = """[Unit]
After=multi-user.target dbus.service systemd-logind.service
[Service]
Type=oneshot
Environment=MORPH_BIN={tools}
ExecStart=/usr/bin/python3 {source}/bench/reliability/day_inside.py {seconds}
StandardOutput=append:/day.log
StandardError=append:/day.log
ExecStopPost=systemctl --no-block poweroff
"""


def lua_make(tools, source, directory):
    subprocess.run([source + "/bench/programs/build", "lua5.4", directory + "/lua", f"CC={tools}/morph cc"], check=True,
                   stdout=subprocess.DEVNULL)
    shutil.copy(directory + "/lua/prefix/bin/lua5.4", directory + "/bin/lua5.4")
    shutil.rmtree(directory + "/lua")
    return ["/opt/day/bin/lua5.4", source + "/bench/programs/workloads/lua5.4/train.lua", "1"]


def programs_make(tools, source, directory, is_short):
    """The commands of the day."""
    os.makedirs(directory + "/bin")
    commands, version = [] if is_short else [lua_make(tools, source, directory)], 0
    many = len(commands) + (FEW if is_short else SMALL)
    while len(commands) < many:
        version += 1
        reliability.programs_build(tools, source, f"{directory}/version", version)
        for name in sorted(os.listdir(f"{directory}/version"))[: many - len(commands)]:
            os.rename(f"{directory}/version/{name}", f"{directory}/bin/{name}-{version}")
            commands.append([f"/opt/day/bin/{name}-{version}", *reliability.PROGRAMS[name][1]])
    shutil.rmtree(f"{directory}/version")
    with open(directory + "/programs.json", "w", encoding="utf-8") as file:
        json.dump(commands, file)


@contextlib.contextmanager
def idle_group():
    """A control group of the host's for idle tasks, where containers have none. Its directory, or None."""
    if not os.path.exists(IDLE_V1 + "/cpu.idle"):
        yield None
        return
    path = f"{IDLE_V1}/morph-day-{os.getpid()}"
    os.mkdir(path)
    try:
        write(path + "/cpu.idle", "1")
        os.chmod(path + "/tasks", 0o666)  # a worker has no privilege
        yield path
    finally:
        with contextlib.suppress(OSError):  # of a container that was killed somebody may be left
            os.rmdir(path)


def idle_install(units, tools):
    """Workers put themselves into the group."""
    command = f"""/bin/sh -c 'echo 0 >{IDLE}/tasks && exec "$@"' sh {tools}/morph-worker --socket=3"""
    write(units + "morph-worker@.service.d/idle.conf", f"[Service]\nReadWritePaths={IDLE}\nExecStart=\nExecStart={command}\n")


def write(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def units_install(tools, source, root, seconds):
    units = root + "/etc/systemd/system/"
    for unit in UNITS:
        with open(f"{source}/systemd/{unit}.in", encoding="utf-8") as file:
            text = file.read()
        for name in ("@MORPH_SBINDIR@/", "@MORPH_LIBEXECDIR@/morph/", "@MORPH_BINDIR@/"):
            text = text.replace(name, tools + "/")
        write(units + unit, text)
    shutil.copy(source + "/systemd/morphedit.slice", units)
    # The monitor stays away from containers, whose host it would sample; this is one.
    write(units + "morph-monitor.service.d/here.conf", "[Unit]\nConditionVirtualization=\n")
    shutil.copy(source + "/systemd/morphd.tmpfiles", root + "/etc/tmpfiles.d/morphd.conf")
    write(root + "/etc/morph/morphd.conf", SETTINGS.format(load=os.environ.get("IDLE_LOAD", "0.5"),
                                                           pressure=os.environ.get("IDLE_PRESSURE", "10")))
    write(root + "/etc/morph/monitor.conf", "")
    write(root + "/etc/pam.d/morph-day", PAM)
    shutil.copy(source + "/systemd/org.morph.Manager1.conf", root + "/usr/share/dbus-1/system.d/")
    for name, config in (("morphd", "morphd.conf"), ("morph-monitor", "monitor.conf")):
        write(f"{units}{name}.service.d/config.conf", f"[Service]\nExecStart=\nExecStart={tools}/{name} --config=/etc/morph/{config}\n")
    if "/build/dev/" in tools + "/":  # sanitizers look into their own process when it ends, and take all the address space
        for unit in ("morphd.service", "morph-monitor.service", "morph-worker@.service"):
            write(f"{units}{unit}.d/sanitizers.conf", "[Service]\nEnvironment=ASAN_OPTIONS=detect_leaks=0\nMemoryDenyWriteExecute=no\n")
        said = subprocess.run([tools + "/morphd", "--check-config", f"--config={root}/etc/morph/morphd.conf"], capture_output=True,
                              text=True, check=True, env=dict(os.environ, ASAN_OPTIONS="detect_leaks=0")).stdout
        command = next(line for line in said.split("\n") if line.startswith("editor_command = "))
        with open(root + "/etc/morph/morphd.conf", "a", encoding="utf-8") as file:
            file.write(f"edit_memory = 0\n{command} --memory 0\n")
    write(units + "day.service", DAY.format(tools=tools, source=source, seconds=seconds))
    write(units + "day.target", "[Unit]\nRequires=basic.target dbus.socket systemd-logind.service\nAfter=basic.target\nWants=day.service\n")


def boot(work, tools, source, seconds):
    root = work + "/root"
    for name in ("upper", "work", "root"):
        os.mkdir(f"{work}/{name}")
    subprocess.run(["mount", "-t", "overlay", "-o", f"lowerdir=/,upperdir={work}/upper,workdir={work}/work", "overlay", root], check=True)
    programs_make(tools, source, root + "/opt/day", seconds < 60)
    subprocess.run(["chmod", "-R", "go+rX", root + "/opt/day"], check=True)
    units_install(tools, source, root, seconds)
    with open(work + "/boot.log", "wb") as log, idle_group() as group:
        binds = ["--bind=/sys/kernel", "--bind=/sys/fs/bpf"]
        if group:
            idle_install(root + "/etc/systemd/system/", tools)
            os.mkdir(root + IDLE)
            binds += [f"--bind={group}:{IDLE}"]
        subprocess.run([source + "/scripts/boot", root, "--private-network", *binds, "systemd.unit=day.target"],
                       stdin=subprocess.DEVNULL, stdout=log, stderr=log, timeout=seconds + 500, check=False)
    try:
        with open(root + "/result.json", encoding="utf-8") as file:
            return json.load(file) | {"idle_group": "version 1, by hand" if group else "systemd's"}
    except FileNotFoundError:
        print(reliability.tail(work + "/boot.log"), reliability.tail(root + "/day.log"))
        return {"error": "the machine did not boot"}


def main(argv):
    reliability.alone(argv)
    reliability.die_properly()
    tools, source, out, seconds = *argv[1:4], int(argv[4])
    with tempfile.TemporaryDirectory(prefix="morph-reliability.", dir="/var/lib") as work:
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=2g", "tmpfs", work], check=True)
        try:
            before = os.getloadavg()[0]
            result = boot(work, tools, source, seconds) | {"load_average_before": before}
        finally:
            subprocess.run(["umount", "-R", "-l", work], check=False)
    journal = result.pop("journal", "")
    write(out + ".journal", journal)
    with open(out, "w", encoding="utf-8") as file:
        json.dump(result, file, indent=1)
    print(json.dumps(result, indent=1))
    if "error" in result or result["runs_wrong"]:
        print(journal)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
