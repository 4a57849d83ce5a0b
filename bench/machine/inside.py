#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""inside.py - the machine made of rebuilt packages, from inside: run by systemd at each boot of what bench/machine/machine boots

First boot: `apt install morph`, a day of use, a night in which morphd edits, an evening with what it made. Second boot: does all
run, is it faster than as shipped (/shipped is the machine as it was before, rounds are interleaved), are all of debsums'
complaints explained; `apt upgrade`; `apt purge morph`, and what is left. Writes /day/result.json, adding to it as it goes.
"""

import concurrent.futures
import glob
import hashlib
import json
import os
import random
import re
import subprocess
import sys
import time

import measure

DAY = "/day"
RESULT = DAY + "/result.json"
OURS = ("morph", "morph-cli")
SERVICES = ("nginx", "redis-server", "memcached")
# What changes by itself on a machine that runs, or is noted by apt and dpkg of their own work.
FLEETING = re.compile(r"/(var/(log|cache|tmp|lib/(dpkg|apt|systemd|redis|nginx|private))|etc/(mtab|resolv\.conf|machine-id|ld\.so\.cache"
                      r"|.*-|\.pwd\.lock|\.updated)|usr/lib/udev/hwdb\.bin)(/|$)|/var/\.updated$")
result = {}


def say(text):
    print(time.strftime("%H:%M:%S"), text, flush=True)


def note(**figures):
    result.update(figures)
    measure.write_json(RESULT, result)


def run(*words, check=True, **options):
    return subprocess.run(words, check=check, capture_output=True, text=True, errors="replace", **options)


def morph(*words):
    """What a verb says as JSON; None while morphd does not answer."""
    done = run("morph", *words, "--json", check=False)
    try:
        return json.loads(done.stdout)
    except ValueError:
        return None


# ---- one thing that somebody does ----

class Task:
    def __init__(self, name, data):
        self.name, self.data, self.cpu_s = name, data, None
        self.expected = None

    def do(self, root="/"):
        """(output, CPU seconds, a sentence on how it crashed or None)"""
        with open(os.devnull, encoding="ascii") as null:
            child = subprocess.Popen(["chroot", root, DAY + "/task", self.name, self.data], stdin=null, stdout=subprocess.PIPE,
                                     stderr=subprocess.STDOUT)
            said = child.stdout.read()
            child.stdout.close()
            _, status, usage = os.wait4(child.pid, 0)
        code = os.waitstatus_to_exitcode(status)
        child.returncode = code
        crashed = None
        if code < 0 or code > 128 or b"Segmentation fault" in said or b"Illegal instruction" in said or b"Aborted" in said:
            crashed = f"{self.name}: status {code}: {said[-300:].decode(errors='replace')}"
        return said + b"" if not code else said + f"status {code}".encode(), usage.ru_utime + usage.ru_stime, crashed


class Watch:
    """What went wrong while tasks were done."""

    def __init__(self):
        self.runs, self.crashes, self.changed = 0, [], []

    def do(self, task, root="/"):
        said, cpu_s, crashed = task.do(root)
        self.runs += 1
        if crashed:
            self.crashes.append(crashed)
        elif said != task.expected:
            self.changed.append(f"{task.name} {task.data}: {said[-300:].decode(errors='replace')}")
        return cpu_s


def tasks_make(only):
    """Those whose programs are there and whose output is the same twice, as shipped."""
    names, left_out, tasks = run(DAY + "/task").stdout.split(), [], {}
    names = [name for name in names if not only or name in only]
    for name in names:
        for data in (DAY + "/data-1", DAY + "/data-2"):
            task = Task(name, data)
            task.expected, task.cpu_s, crashed = task.do()
            if crashed or b"status " in task.expected[-12:] or task.do()[0] != task.expected:
                left_out.append(f"{name}: {task.expected[-200:].decode(errors='replace')}")
                break
            tasks.setdefault(data, []).append(task)
    return tasks, left_out


def tasks_keep(tasks):
    measure.write_json(DAY + "/tasks.json", [[t.name, t.data, t.expected.decode("latin-1"), t.cpu_s] for some in tasks.values() for t in some])


def tasks_kept():
    tasks = {}
    for name, data, expected, cpu_s in measure.read_json(DAY + "/tasks.json"):
        task = Task(name, data)
        task.expected, task.cpu_s = expected.encode("latin-1"), cpu_s
        tasks.setdefault(data, []).append(task)
    return tasks


def use(tasks, seconds, seed, watch):
    """Somebody on each CPU; each kind of work gets about as much time as any other."""
    end = time.monotonic() + seconds

    def somebody(number):
        rng, spent = random.Random(seed + number), dict.fromkeys(range(len(tasks)), 0.0)
        while time.monotonic() < end:
            least = sorted(spent, key=spent.get)[:4]
            chosen = rng.choice(least)
            spent[chosen] += watch.do(tasks[chosen])

    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as people:
        for one in [people.submit(somebody, number) for number in range(os.cpu_count())]:
            one.result()


# ---- what the machine is ----

def is_elf(path):
    try:
        with open(path, "rb") as file:
            head = file.read(18)
    except OSError:
        return False
    return head[:4] == b"\x7fELF" and head[16:18] in (b"\x02\0", b"\x03\0")


def has_ir(path):
    with open(path, "rb") as file:
        data = file.read()
    return b"\0.note.morph.sidecar\0" in data or b"\0.morph\0" in data


def installed():
    """name -> version of all packages."""
    listed = run("dpkg-query", "-W", "-f", "${db:Status-Abbrev}\t${Package}\t${Version}\n").stdout
    return {name: version for status, name, version in (line.split("\t") for line in listed.splitlines()) if status.startswith("ii")}


def elf_files(packages):
    files = run("dpkg-query", "-L", *packages).stdout.splitlines()
    files = {os.path.realpath(path) for path in files if not path.startswith("/usr/lib/debug/") and os.path.isfile(path) and not os.path.islink(path)}
    return sorted(path for path in files if is_elf(path))


def describe():
    packages = installed()
    rebuilt = sorted(name for name, version in packages.items() if "morph" in version and not name.endswith("-morph") and name not in OURS)
    ours, all_of = elf_files(rebuilt), elf_files(packages)
    carriers = [path for path in ours if has_ir(path)]
    sources = run("dpkg-query", "-W", "-f", "${source:Package}\n", *rebuilt).stdout.split()
    note(packages=len(set(sources)), sources=sorted(set(sources)), binary_packages=len(rebuilt), binary_packages_installed=len(packages), elf=len(ours),
         elf_with_ir=len(carriers), elf_with_ir_share=len(carriers) / len(ours) if ours else None,
         elf_without_ir=sorted(set(ours) - set(carriers)), elf_of_machine=len(all_of), elf_of_machine_with_ir_share=len(carriers) / len(all_of))


def state():
    """Every file that is not fleeting, with what it is; users, groups, units, processes."""
    found = {}
    for top in ("/etc", "/usr", "/opt", "/var"):
        for place, directories, names in os.walk(top):
            directories[:] = [name for name in directories if not FLEETING.search(f"{place}/{name}")]
            for name in names + directories:
                path = f"{place}/{name}"
                if FLEETING.search(path):
                    continue
                info = os.lstat(path)
                content = ""
                if os.path.islink(path):
                    content = os.readlink(path)
                elif os.path.isfile(path):
                    with open(path, "rb") as file:
                        content = hashlib.sha256(file.read()).hexdigest()
                found[path] = f"{info.st_mode:o} {info.st_uid}:{info.st_gid} {content}"
    for path in ("/etc/passwd", "/etc/group"):
        found |= {f"{path}: {line.split(':')[0]}": "there" for line in measure.read_text(path).splitlines()}
        found.pop(path)
    for path in ("/etc/shadow", "/etc/gshadow"):
        found.pop(path, None)
    units = run("systemctl", "list-units", "--all", "--plain", "--no-legend", "morph*").stdout + run(
        "systemctl", "list-unit-files", "--no-legend", "morph*", check=False).stdout
    found |= {f"unit {line.split()[0]}": "there" for line in units.splitlines() if line.strip()}
    found |= {f"process {line}": "there" for line in run("pgrep", "-a", "^morph", check=False).stdout.splitlines()}
    found |= {path: "there" for path in glob.glob("/run/morph*") + glob.glob("/run/systemd/*/morph*")}
    found |= {f"mount {line.split()[4]}": "there" for line in measure.read_text("/proc/self/mountinfo").splitlines() if "morph" in line.split()[4]}
    return found


def failed_units():
    return [line.split()[0] for line in run("systemctl", "--failed", "--plain", "--no-legend").stdout.splitlines()]


def journal(*words):
    return run("journalctl", "--no-pager", "-o", "short-monotonic", *words, check=False).stdout


# ---- the day and the night ----

def night(seconds, quiet_s):
    """Until nothing has been edited for so long; how long it took."""
    begun = changed = time.monotonic()
    last = None
    while time.monotonic() < begun + seconds and time.monotonic() < changed + quiet_s:
        status = morph("status") or {}
        modules = status.get("modules", [])
        now = (sum(m.get("generations", 0) for m in modules), status.get("daemon", {}).get("editing"), len(modules))
        if now != last or now[1]:
            changed, last = time.monotonic(), now
        time.sleep(3)
    return time.monotonic() - begun


def programs():
    modules = (morph("status") or {}).get("modules", [])
    return [{key: m.get(key) for key in ("path", "samples", "share", "generation", "predicted_gain", "note", "verdict", "failed_edits")} for m in modules]


def reoptimized():
    return [m for m in programs() if (m["generation"] or 0) > 0]


def first_boot(settings):
    subprocess.run(["systemctl", "is-system-running", "--wait"], check=False)
    for number in (1, 2):
        run("python3", DAY + "/data.py", f"{DAY}/data-{number}", str(number))
    tasks, left_out = tasks_make(settings["tasks"])
    tasks_keep(tasks)
    describe()
    note(tasks=[t.name for t in tasks[DAY + "/data-1"]], tasks_left_out=left_out, failed_units_before=failed_units(),
         debsums_before=run("debsums", "-c", check=False).stdout.split())
    say(f"{len(result['tasks'])} kinds of work; left out: {left_out}")
    measure.write_json(DAY + "/before.json", state())

    run("apt-get", "update")
    run("apt-get", "-y", "install", "morph", env=dict(os.environ, DEBIAN_FRONTEND="noninteractive"))
    say("apt install morph")
    watch = Watch()
    use(tasks[DAY + "/data-1"], settings["day_s"], 1, watch)
    say(f"the day is over: {watch.runs} runs")
    note(day_s=settings["day_s"], night_s=night(settings["night_s"], settings["quiet_s"]))
    say(f"the night is over: {len(reoptimized())} programs")
    use(tasks[DAY + "/data-1"], settings["day_s"] / 4, 100, watch)
    note(runs=watch.runs, crashes_seen=watch.crashes, outputs_seen=watch.changed)


# ---- what came of it ----

def compare(tasks, rounds, watch):
    """Interleaved: each kind of work as shipped, as it is now, and as shipped once more."""
    times = {task.name: [] for task in tasks}
    for number in range(rounds):
        for task in tasks:
            order = ["/shipped", "/", "/shipped"] if number % 2 else ["/", "/shipped", "/shipped"]
            used = [watch.do(task, root) for root in order]
            before = [cpu_s for root, cpu_s in zip(order, used) if root == "/shipped"]
            random.Random(number).shuffle(before)
            times[task.name].append((before[0], used[order.index("/")], before[1]))
    ratios = {name: [now / (0.5 * (a + b)) for a, now, b in some] for name, some in times.items()}
    note(rounds=rounds, cpu_ratio=measure.geomean_interval(list(ratios.values())),
         control_ratio=measure.geomean_interval([[b / a for a, _, b in some] for some in times.values()]),
         cpu_by_task=[{"name": name, "as_shipped_s": measure.median([0.5 * (a + b) for a, _, b in times[name]]),
                       "ratio": measure.ratio_interval(some)} for name, some in ratios.items()])


def explained():
    """(files that debsums complains about, those that morph verify does not explain)"""
    complaints = [path for path in run("debsums", "-c", check=False).stdout.split() if path not in result["debsums_before"]]
    said = morph("verify", *complaints) if complaints else {"programs": []}
    known = {os.path.realpath(one["path"]) for one in (said or {}).get("programs", []) if one.get("explained")}
    return complaints, [path for path in complaints if os.path.realpath(path) not in known]


def upgrade():
    """The distribution's next versions of some packages that have been re-optimized (bench/machine/machine has made them)."""
    with open("/etc/apt/sources.list.d/next.list", "w", encoding="ascii") as file:
        file.write("deb [trusted=yes] file:/next ./\n")
    run("apt-get", "update")
    done = run("apt-get", "-y", "upgrade", check=False, env=dict(os.environ, DEBIAN_FRONTEND="noninteractive"))
    versions = installed()
    names = sorted({os.path.basename(path).split("_")[0] for path in glob.glob("/next/*.deb")} & versions.keys())
    left = {name: run("dpkg", "--verify", name, check=False).stdout for name in names}
    held = [name for name in names if not versions[name].endswith("+next1")]
    return {"upgraded": len(names), "upgrade_failed": "" if done.returncode == 0 else done.stdout[-500:] + done.stderr[-500:],
            "upgrade_held": held, "upgrade_left": [f"{name}: {text}" for name, text in left.items() if text]}


def purge(before):
    """Morph goes; what differs from before it came, but for what was upgraded."""
    done = run("apt-get", "-y", "purge", *OURS, check=False, env=dict(os.environ, DEBIAN_FRONTEND="noninteractive"))
    run("systemctl", "daemon-reload")
    time.sleep(2)
    os.unlink("/etc/apt/sources.list.d/next.list")
    now = state()
    # What bench/machine/machine had set for a busy machine went with Morph's own configuration.
    before = {path: what for path, what in before.items() if not path.startswith("/etc/morph") or path in now}
    left = sorted(f"{path}: {'' if path in before else 'not '}there before, {'' if path in now else 'not '}there now"
                  + (f": {before[path]}; {now[path]}" if path in now and path in before else "")
                  for path in before.keys() | now.keys() if before.get(path) != now.get(path))
    complaints = [path for path in run("debsums", "-c", check=False).stdout.split() if path not in result["debsums_before"]]
    return {"purge_failed": "" if done.returncode == 0 else done.stdout[-500:] + done.stderr[-500:], "purge_left": left,
            "purge_left_debsums": complaints}


def crashes_of_programs():
    """What the kernel or morphd said of programs that died."""
    return [line for line in journal().splitlines() if re.search(r"segfault at|traps: .* trap|general protection|Assertion '.*' failed|code=(killed|dumped)|"
                                                                   r"morphd.*(crash|condemn)", line)]


def second_boot(settings):
    subprocess.run(["systemctl", "is-system-running", "--wait"], check=False)
    tasks, watch = tasks_kept(), Watch()
    status = morph("status") or {}
    modules, others = status.get("modules", []), status.get("others", [])
    seen = sum(m.get("samples", 0) for m in modules + others)
    note(programs=programs(), programs_reoptimized=len(reoptimized()),
         samples=sum(m.get("samples", 0) for m in modules), samples_with_ir_share=sum(m.get("samples", 0) for m in modules) / seen if seen else None,
         services=[name for name in SERVICES if run("systemctl", "is-active", name, check=False).stdout == "active\n"],
         failed_units=[name for name in failed_units() if name not in result["failed_units_before"]])
    say(f"after a reboot: {result['programs_reoptimized']} programs; services {result['services']}, failed {result['failed_units']}")
    for data in sorted(tasks):
        for task in tasks[data]:
            watch.do(task)
    compare(tasks[DAY + "/data-2"], settings["rounds"], watch)
    complaints, unexplained = explained()
    note(debsums=len(complaints), debsums_unexplained=unexplained, debsums_explained=len(complaints) - len(unexplained),
         crashes_seen=result["crashes_seen"] + watch.crashes, outputs_seen=result["outputs_seen"] + watch.changed,
         runs=result["runs"] + watch.runs)
    say(f"debsums: {len(complaints)}, not explained: {unexplained}")
    note(**upgrade())
    for task in tasks[DAY + "/data-1"]:
        watch.do(task)
    with open(DAY + "/journal", "w", encoding="utf-8") as file:
        file.write(journal("-u", "morphd", "-u", "morph-monitor", "-u", "morph-worker@*"))
    note(**purge(measure.read_json(DAY + "/before.json")))
    for task in tasks[DAY + "/data-1"]:
        watch.do(task)
    note(crashes_seen=result["crashes_seen"] + [c for c in watch.crashes if c not in result["crashes_seen"]],
         outputs_seen=result["outputs_seen"] + [c for c in watch.changed if c not in result["outputs_seen"]], runs=result["runs"] + 2 * len(tasks[DAY + "/data-1"]))
    said = crashes_of_programs()
    note(crashes=len(result["crashes_seen"]) + len(said), outputs_changed=len(result["outputs_seen"]), crashes_said=said, ended=True)


def main():
    os.environ["LC_ALL"] = "C.UTF-8"
    result.update(measure.read_json(RESULT) or {})
    settings = measure.read_json(DAY + "/settings.json")
    first = "boots" not in result
    note(boots=result.get("boots", 0) + 1)
    try:
        (first_boot if first else second_boot)(settings)
    except subprocess.CalledProcessError as error:
        note(error=f"{' '.join(error.cmd)}: {error.stdout[-500:]} {error.stderr[-500:]}")
        first = False
    except Exception as error:
        note(error=repr(error))
        first = False
        raise
    finally:
        subprocess.run(["systemctl", "--no-block", "reboot" if first else "poweroff"], check=False)


if __name__ == "__main__":
    sys.exit(main())
