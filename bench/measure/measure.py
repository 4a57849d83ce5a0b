# SPDX-License-Identifier: Apache-2.0
"""What every table of the suite shares: the machine, the tools' versions, ratios over programs.

Statistics as in base/stats.h: medians, percentile bootstrap intervals (95 %), fixed seed.
"""

import json
import math
import os
import platform
import random
import re
import subprocess
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
RESAMPLES = 2000
LLVM = "/usr/lib/llvm-22/bin"
LARGE_TEXT = 1_000_000  # bytes: a program of so much text is called large


def read_text(path, default=""):
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()
    except OSError:
        return default


def read_json(path):
    """The parsed file, or None when it is missing or not JSON."""
    try:
        with open(path, encoding="utf-8") as file:
            return json.load(file)
    except (OSError, ValueError):
        return None


def write_json(path, value):
    os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
    with open(path + ".new", "w", encoding="utf-8") as file:
        json.dump(value, file, indent=1)
        file.write("\n")
    os.replace(path + ".new", path)


def variant_labels():
    """What the tables call each variant, in their order."""
    text = read_text(os.path.join(ROOT, "bench/programs/variants.sh"))
    return dict(re.findall(r'^\t"([\w-]+)\|(.*)"$', text, re.M))


def cpu_name():
    """Virtual machines often hide the model: x86 has its family and number as well."""
    text = read_text("/proc/cpuinfo")
    name = re.search(r"^model name\s*: (.*)$", text, re.M)
    numbers = re.search(r"^cpu family\s*: (\d+)\nmodel\s*: (\d+)$", text, re.M)
    if not name:
        return platform.machine()
    return name.group(1) + (f" (family {numbers.group(1)} model {numbers.group(2)})" if numbers else "")


def machine():
    memory = re.search(r"^MemTotal:\s*(\d+)", read_text("/proc/meminfo"), re.M)
    system = re.search(r'^PRETTY_NAME="(.*)"$', read_text("/etc/os-release"), re.M)
    return {
        "cpu": cpu_name(),
        "cpus": os.cpu_count(),
        "memory_mib": int(memory.group(1)) // 1024 if memory else None,
        "kernel": platform.release(),
        "system": system.group(1) if system else platform.system(),
        "load_average": os.getloadavg()[0],
        "time": time.strftime("%Y-%m-%d %H:%M:%S %Z"),
    }


def version(command, pattern=r"(\d+\.\d+[\w.~+-]*)"):
    """The first thing in the output of COMMAND that looks like a version; None when it cannot run."""
    try:
        text = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)
    except OSError:
        return None
    found = re.search(pattern, text.stdout + text.stderr)
    return found.group(1) if found else None


def tools(morph):
    return {
        "morph": version([morph, "--version"]),
        "clang": version([LLVM + "/clang", "--version"]),
        "ld.lld": version([LLVM + "/ld.lld", "--version"]),
        "llvm-bolt": version([LLVM + "/llvm-bolt", "--version"], r"LLVM version (\S+)"),
        "perf": version(["perf", "--version"]),
        "valgrind": version(["valgrind", "--version"]),
    }


def median(values):
    ordered = sorted(values)
    middle = len(ordered) // 2
    if len(ordered) % 2:
        return ordered[middle]
    return (ordered[middle - 1] + ordered[middle]) / 2


def quantile(values, q):
    ordered = sorted(values)
    at = q * (len(ordered) - 1)
    low = int(at)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (at - low) * (ordered[high] - ordered[low])


def geomean(values):
    return math.exp(sum(math.log(value) for value in values) / len(values))


def verdict(low, high):
    return "less" if high < 1 else "more" if low > 1 else "no difference seen"


def interval(value, resampled):
    low, high = quantile(resampled, 0.025), quantile(resampled, 0.975)
    return {"value": value, "low": low, "high": high, "verdict": verdict(low, high)}


def ratio_interval(ratios):
    """Median of per-round RATIOS with its interval and quartiles.

    Fewer than six never make a difference: even when all are on one side of 1, that is by chance in more than 5 %.
    """
    rng = random.Random(1997)
    resampled = [median(rng.choices(ratios, k=len(ratios))) for _ in range(RESAMPLES)]
    result = interval(median(ratios), resampled)
    if len(ratios) < 6:
        result["verdict"] = "no difference seen"
    result.update(q1=quantile(ratios, 0.25), q3=quantile(ratios, 0.75))
    return result


def geomean_interval(programs):
    """Geometric mean over PROGRAMS (each a list of per-round ratios) of the medians.

    The interval tells what the noise of the measurement leaves open for these programs; it says nothing about others.
    """
    if not programs:
        return None
    rng = random.Random(1997)
    resampled = [
        geomean([median(rng.choices(ratios, k=len(ratios))) for ratios in programs])
        for _ in range(RESAMPLES)
    ]
    result = interval(geomean([median(ratios) for ratios in programs]), resampled)
    result["programs"] = len(programs)
    return result


def usage(text):
    print(text, file=sys.stderr)
    sys.exit(2)
