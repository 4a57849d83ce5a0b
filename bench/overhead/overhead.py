# SPDX-License-Identifier: Apache-2.0
"""overhead.py MODE BIN ROOT OUT: the measurements of bench/overhead/overhead, in order; each is one function."""

import glob
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../measure"))
import measure

KINDS = {
    # The large effects need fewer rounds than those that may be zero.
    "quick": ["off", "tick", "default/2", "stacks/2", "clock:999/4", "perf:999/4"],
    "full": ["off", "tick", "default", "stacks", "clock:19/2", "clock:97/4", "clock:250/4", "clock:999/4", "clock:1999/4",
             "perf:999/4"],
}
LENGTHS = {
    # seconds, but for the idle rounds, which take four each
    "quick": {"slices": 60, "program": 4, "idle_rounds": 3, "agree": 4, "spawn": 10, "load": 16, "burst": 20,
              "soak": 0},
    "full": {"slices": 600, "program": 20, "idle_rounds": 20, "agree": 20, "spawn": 30, "load": 60, "burst": 30,
             "soak": 300},
}


class Bench:
    def __init__(self, mode, binaries, root):
        self.lengths = LENGTHS[mode]
        self.kinds = KINDS[mode]
        self.bin = binaries
        self.root = root
        self.work = tempfile.mkdtemp(prefix="morph-overhead-")
        self.children = []

    def say(self, text):
        print("== overhead: " + text, file=sys.stderr, flush=True)

    def run(self, program, *arguments):
        """The JSON that one of our programs prints, or None with a message."""
        done = subprocess.run([self.bin + "/" + program, *map(str, arguments)], capture_output=True,
                              text=True, check=False)
        if done.returncode != 0:
            self.say(f"{program} {arguments[0]} failed: {done.stderr.strip()}")
            return None
        return json.loads(done.stdout)

    def tool(self, *arguments):
        return self.run("bench-overhead", *arguments)

    def load(self, *arguments):
        return self.run("bench-load", *arguments)

    def start(self, *command, **options):
        child = subprocess.Popen(list(map(str, command)), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                 start_new_session=True, **options)
        self.children.append(child)
        return child

    def stop(self, child, number=15):
        """End CHILD and what it started; its process group is its own."""
        if child.poll() is None:
            try:
                os.killpg(child.pid, number)
            except ProcessLookupError:
                pass
        child.wait()
        self.children.remove(child)

    def compile_load(self):
        """The worst case for a sampler of places: compilers, one per CPU, that never stop starting."""
        sources = sorted(glob.glob(self.root + "/base/*.c") + glob.glob(self.root + "/profiles/*/*.c"))
        loop = ("while :; do for f in " + " ".join(sources) + "; do " + measure.LLVM + "/clang -O2 -std=gnu17 -w "
                f"-D_GNU_SOURCE -I{self.root} -I{self.root}/build/release -c $f -o /dev/null; done; done")
        return [self.start("sh", "-c", loop) for _ in range(os.cpu_count())]

    def monitor(self, name, *options):
        """A monitor with spool and run directory of its own."""
        child = self.start(self.bin + "/morph-monitor", "--config", "/dev/null", "--spool", f"{self.work}/{name}",
                           "--run-directory", f"{self.work}/{name}.run", "--quiet", *options)
        for _ in range(100):
            if os.path.exists(f"{self.work}/{name}.run/status.json"):
                break
            time.sleep(0.1)
        return child

    def status(self, name):
        return measure.read_json(f"{self.work}/{name}.run/status.json") or {}

    def dump(self, path):
        """A sample log as JSON, without the long lists of counts."""
        done = subprocess.run([self.bin + "/morph", "dump", "--json", path], capture_output=True, text=True,
                              check=False)
        return json.loads(done.stdout) if done.returncode == 0 else None

    def close(self):
        for child in list(self.children):
            self.stop(child, 9)
        shutil.rmtree(self.work, ignore_errors=True)


def slices(bench, table):
    bench.say(f"{bench.lengths['slices']} s of slices: {', '.join(bench.kinds)}")
    found = bench.tool("slices", bench.lengths["slices"], *bench.kinds)
    if not found:
        return
    table["slices"] = found["kinds"]
    by_name = {kind["name"]: kind for kind in found["kinds"]}
    names = {"off": "control", "tick": "tick", "default": "default", "stacks": "stacks", "perf:999": "perf", "clock:999": "clock"}
    for kind, name in names.items():
        for field, suffix in (("percent", "percent"), ("low", "low"), ("high", "high")):
            table[f"{name}_overhead_{suffix}"] = by_name[kind][field]
    table["rates"] = [
        {"rate_hz": float(kind["name"][6:]), "value": kind["percent"], "low": kind["low"], "high": kind["high"]}
        for kind in found["kinds"] if kind["name"].startswith("clock:")]


def program(bench, table):
    bench.say("time in the tick's program")
    load = [bench.start("sh", "-c", "while :; do :; done") for _ in range(os.cpu_count())]
    table["program_cpu_bound"] = bench.tool("program", bench.lengths["program"])
    for child in load:
        bench.stop(child)
    load = bench.compile_load()
    time.sleep(1)
    table["program_compile"] = bench.tool("program", bench.lengths["program"])
    for how in ("owners", "stacks"):
        table[f"program_compile_{how}"] = bench.tool("program", bench.lengths["program"], how)
        table[f"ns_per_tick_{how}"] = table[f"program_compile_{how}"]["ns_per_tick"]
    table["program_compile_no_cache"] = bench.tool("program", bench.lengths["program"], "nocache")
    for child in load:
        bench.stop(child)
    if table["program_cpu_bound"]:
        table["ns_per_tick_cpu_bound"] = table["program_cpu_bound"]["ns_per_tick"]
    if table["program_compile"]:
        table["ns_per_tick"] = table["program_compile"]["ns_per_tick"]


def wakeups(bench, table):
    bench.say("wake-ups of an idle CPU")
    found = bench.tool("wakeups", 1, bench.lengths["idle_rounds"], "off", "tick", "clock:999")
    if not found:
        return
    off, tick, clock = (kind["timer_interrupts_per_second"] for kind in found["kinds"])
    table["wakeups"] = found["kinds"]
    table["idle_wakeups_per_second"] = off
    table["added_idle_wakeups_per_second"] = tick - off
    table["added_idle_wakeups_per_second_clock_999"] = clock - off


def agree(bench, table):
    bench.say("identification against bpf_find_vma")
    load = bench.compile_load()
    table["agree_compile"] = bench.tool("agree", bench.lengths["agree"], 2000)
    table["agree_compile_no_cache"] = bench.tool("agree", bench.lengths["agree"], 2000, "nocache")
    for child in load:
        bench.stop(child)
    churn = subprocess.Popen([bench.bin + "/bench-load", "churn", "2", str(bench.lengths["agree"] + 2)],
                             stdout=subprocess.PIPE, text=True)
    time.sleep(1)
    table["agree_churn"] = bench.tool("agree", bench.lengths["agree"], 2000)
    rate = json.loads(churn.communicate()[0])
    table["churn_per_second"] = rate["mapped_and_unmapped_per_second"]
    parts = [table[k] for k in ("agree_compile", "agree_compile_no_cache", "agree_churn") if table[k]]
    compared = sum(part["compared"] for part in parts)
    samples = sum(part["samples"] for part in parts)
    table["agreement_percent"] = 100 * sum(part["same"] for part in parts) / max(compared, 1)
    table["agreement_compared"] = compared
    table["refused_percent"] = 100 * sum(part["races"] for part in parts) / max(samples, 1)
    table["find_vma_refused_percent"] = 100 * sum(part["find_vma_refused"] for part in parts) / max(samples, 1)


def logs_of(bench, name):
    return sorted(glob.glob(f"{bench.work}/{name}/*.samples"))


def lost_share(logs):
    user = sum(log["user"] for log in logs)
    lost = sum(sum(log["lost"].values()) for log in logs)
    return 100 * lost / max(user, 1), user


def short_lived(bench, table):
    seconds = bench.lengths["spawn"]
    bench.say(f"1000 processes per second, for {seconds} s")
    monitor = bench.monitor("spawn")
    before = bench.status("spawn")
    found = bench.load("spawn", 1000, seconds, "/bin/true")
    bench.stop(monitor)
    after = bench.status("spawn")
    logs = [bench.dump(path) for path in logs_of(bench, "spawn")]
    lost, user = lost_share([log for log in logs if log])
    table["short_lived_started_per_second"] = found and found["started_per_second"]
    table["short_lived_user_samples"] = user
    table["short_lived_attributed_percent"] = 100 - lost
    table["short_lived_rss_mib"] = after.get("rss_bytes", 0) / 2**20
    table["short_lived_monitor_cpu_percent"] = (
        100 * (after.get("cpu_s", 0) - before.get("cpu_s", 0)) /
        max(after.get("elapsed_s", 0) - before.get("elapsed_s", 0), 1e-9))


def perf_log_rate(bench, table, seconds):
    path = f"{bench.work}/perf.data"
    subprocess.run(["perf", "record", "-q", "-e", "cpu-clock", "-F", "999", "-a", "-o", path, "--", "sleep",
                    str(seconds)], capture_output=True, check=False)
    if os.path.exists(path):
        table["perf_bytes_per_second"] = os.path.getsize(path) / seconds


def accounts(bench, table, status):
    """What the monitor says of itself, and what others say of it."""
    budget = status.get("budget", {})
    samples = status.get("samples", {})
    table["accounted_percent"] = budget.get("total_percent")
    table["accounted_monitor_percent"] = budget.get("monitor_percent")
    table["budget_percent"] = budget.get("budget_percent")
    table["interrupt_ns"] = budget.get("interrupt_ns")
    table["reference_hz"] = status.get("reference_hz")
    table["tick_divisor"] = status.get("tick_divisor")
    table["drains"] = status.get("drains")
    table["drains_that_broke_the_law"] = status.get("drains_that_broke_the_law")
    table["unknown_percent"] = 100 * sum(samples.get("lost", {}).values()) / max(samples.get("user", 1), 1)
    table["cache_hit_percent"] = 100 * samples.get("cache_hits", 0) / max(samples.get("user", 1), 1)


def compilers(bench, table):
    """The default monitor under compilers, and beside it three that take one clock each."""
    seconds = bench.lengths["load"]
    bench.say(f"log size, budget, likeness of tick and timer samples under compilers, {seconds} s")
    load = bench.compile_load()
    monitor = bench.monitor("log")
    start = time.monotonic()
    time.sleep(2)  # new modules are behind us
    outputs, clocks = {}, []
    for name, options in (("tick", ["--source", "tick", "--budget", "9 %"]),
                          ("timer", ["--source", "cpu-clock", "--rate", "250"]),
                          ("timer2", ["--source", "cpu-clock", "--rate", "250"])):
        config = f"{bench.work}/{name}.conf"
        with open(config, "w", encoding="utf-8") as file:
            file.write("reference = no\n")
        outputs[name] = f"{bench.work}/{name}.samples"
        clocks.append(bench.start(bench.bin + "/morph-monitor", "--config", config, "--output", outputs[name],
                                  "--quiet", "--duration", seconds, *options))
    for child in clocks:
        child.wait()
        bench.children.remove(child)
    outside = bench.tool("outside", monitor.pid, max(seconds // 2, 10))
    bench.stop(monitor)
    elapsed = time.monotonic() - start
    status = bench.status("log")
    table["log_bytes_per_second"] = sum(os.path.getsize(path) for path in logs_of(bench, "log")) / elapsed
    accounts(bench, table, status)
    if outside and table["interrupt_ns"]:
        interrupts = outside["clock_events_per_second"] * table["interrupt_ns"] / 1e7 / os.cpu_count()
        table["outside"] = outside
        table["outside_percent"] = outside["programs_percent"] + outside["process_percent"] + interrupts
    perf_log_rate(bench, table, max(seconds // 4, 5))
    for child in load:
        bench.stop(child)
    fidelity(bench, table, outputs)


def fidelity(bench, table, outputs):
    def alike(a, b):
        done = subprocess.run([bench.bin + "/bench-similarity", outputs[a], outputs[b]], capture_output=True,
                              text=True, check=False)
        return json.loads(done.stdout) if done.returncode == 0 else None

    pairs = {"timer_timer": alike("timer", "timer2"), "tick_timer": alike("tick", "timer"),
             "tick_timer2": alike("tick", "timer2")}
    table["fidelity"] = [dict(pair=name, **found) for name, found in pairs.items() if found]
    if all(pairs.values()):
        for place in ("line", "page", "file"):
            between = (pairs["tick_timer"][place] + pairs["tick_timer2"][place]) / 2
            table[f"fidelity_{place}_difference"] = between - pairs["timer_timer"][place]


def synchronous(bench, table):
    seconds = bench.lengths["burst"]
    bench.say(f"work in step with the tick, {seconds} s")
    hz = bench.status("log").get("tick_hz", 250)
    monitor = bench.monitor("burst", "--interval", "5s")
    background = bench.start("sh", "-c", "while :; do :; done")
    found = bench.load("burst", 1e6 / hz, 300, 1e6 / hz / 4, seconds)
    time.sleep(1)
    bench.stop(background)
    bench.stop(monitor)
    name = "bench-load"
    marked, samples, all_samples = False, 0, 0
    for path in logs_of(bench, "burst"):
        log = bench.dump(path)
        for module in (log or {}).get("modules", []):
            if os.path.basename(module["path"]) == name:
                if module["tick_synchronous"]:
                    marked = True
                    samples += module["samples"]
                    all_samples += log["user"]
    table["synchronous_cpu_percent"] = found and found["cpu_percent"]
    table["synchronous_is_marked"] = marked
    table["synchronous_share_percent"] = 100 * samples / all_samples if marked else None
    table["synchronous_expected_share_percent"] = found and 100 * found["cpu_percent"] / (100 + found["cpu_percent"])


def soak(bench, table):
    """A day has 5760 drains of the default interval; these come once a second."""
    seconds = bench.lengths["soak"]
    if not seconds:
        return
    bench.say(f"soak, {seconds} s")
    load = bench.compile_load()
    monitor = bench.monitor("soak", "--interval", "1s")
    sizes = []
    for _ in range(10):
        time.sleep(seconds / 10)
        sizes.append(bench.status("soak").get("rss_bytes", 0) / 2**20)
    bench.stop(monitor)
    for child in load:
        bench.stop(child)
    status = bench.status("soak")
    table["soak_seconds"] = seconds
    table["soak_drains"] = status.get("drains")
    table["soak_drains_that_broke_the_law"] = status.get("drains_that_broke_the_law")
    table["soak_rss_mib"] = sizes
    table["soak_lost"] = status.get("samples", {}).get("lost")


def main():
    if len(sys.argv) != 5:
        measure.usage("usage: overhead.py MODE BIN ROOT OUT")
    mode, binaries, root, out = sys.argv[1:]
    bench = Bench(mode, binaries, root)
    table = {
        "table": "overhead",
        "mode": mode,
        "meaning": "Added CPU time of the same work, in percent, with 95 % bootstrap intervals; the control "
                   "switches nothing.",
        "machine": measure.machine(),
        "tools": measure.tools(binaries + "/morph"),
    }
    try:
        for step in (slices, program, wakeups, agree, short_lived, compilers, synchronous, soak):
            step(bench, table)
            measure.write_json(out, table)
    finally:
        bench.close()
    wanted = ("tick_overhead_percent", "perf_overhead_percent", "ns_per_tick", "added_idle_wakeups_per_second")
    missing = [name for name in wanted if table.get(name) is None]
    if missing:
        sys.exit("overhead: could not be measured: " + ", ".join(missing))
    interval = f"[{table['tick_overhead_low']:+.2f}, {table['tick_overhead_high']:+.2f}]"
    bench.say(f"tick {table['tick_overhead_percent']:+.2f} % {interval}, perf record "
              f"{table['perf_overhead_percent']:+.2f} %, {table['ns_per_tick']:.0f} ns per tick, "
              f"{table['added_idle_wakeups_per_second']:+.1f} wake-ups/s; {out}")


main()
