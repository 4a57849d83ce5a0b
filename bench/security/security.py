#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""security.py ROOT MODE - what bench/security/security found, as build/bench/security.json

Exit status 1: an attack succeeded or could not be tried, a mutant was accepted that does something else, a program outside of the sandbox
crashed, or fuzzing found something.
"""

import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../measure"))
import measure

UNITS = {"manager": "morphd.service", "monitor": "morph-monitor.service", "mount": "morph-mount@.service"}


def attacks(directory):
    """Every "attack NAME: held|succeeded" that a test printed; a name is one attack, however often it is tried."""
    held, succeeded, rows = set(), set(), []
    for path in sorted(glob.glob(directory + "/*.log")):
        text, test = measure.read_text(path), os.path.basename(path)[:-4]
        found = re.findall(r"^(?:\d+: )?attack ([\w.-]+): (held|succeeded)\s*$", text, re.M)
        held |= {name for name, outcome in found if outcome == "held"}
        succeeded |= {name for name, outcome in found if outcome == "succeeded"}
        passed = measure.read_text(path[:-4] + ".status").strip() == "0"
        rows.append({"test": test, "attacks": len({name for name, _ in found}),
                     "outcome": "failed" if not passed else "skipped" if re.search(r"\*\*\*Skipped", text) else "passed"})
    return {
        "attacks": len(held | succeeded), "attacks_succeeded": len(succeeded),
        "attack_tests": len(rows), "attack_tests_failed": sum(row["outcome"] == "failed" for row in rows),
        "attack_tests_skipped": sum(row["outcome"] == "skipped" for row in rows),
        "attack_names": sorted(held | succeeded), "attacks_that_succeeded": sorted(succeeded), "tests": rows,
    }


def mutants(path):
    found = measure.read_json(path)
    return found if found else sys.exit(f"security.py: {path} is missing; run bench/security/security")


def fuzzing(root):
    """The last campaign here, or the recorded one, whichever had more runs of the reader that had fewest."""
    tables = [measure.read_json(path) for path in (root + "/build/bench/fuzz.json", root + "/bench/fuzz.json")]
    table = max((t for t in tables if t), key=lambda t: (t["fuzz_readers"], t["fuzz_runs_least"]), default=None)
    if not table:
        return {"fuzz_runs_total": None, "fuzz_runs_least": None, "fuzz_readers": None, "fuzz_findings": None}
    return {key: table[key] for key in ("fuzz_runs_total", "fuzz_runs_least", "fuzz_readers", "fuzz_findings")} | {
        "fuzz_time": table["machine"]["time"], "fuzz_commits": ", ".join(table["commits"]),
        "readers": [{key: row[key] for key in ("name", "runs", "findings", "per_second")} for row in table["readers"]],
    }


def exposure(unit_file):
    """What `systemd-analyze security` takes the unit to be, from 0 (best) to 10; None: it cannot tell."""
    with tempfile.TemporaryDirectory() as directory:
        unit = os.path.join(directory, os.path.basename(unit_file).replace("@.", "@1."))
        try:
            shutil.copy(unit_file, unit)
            text = subprocess.run(["systemd-analyze", "security", "--offline=true", "--no-pager", unit], capture_output=True, text=True,
                                  check=False).stdout
        except OSError:
            return None
    found = re.search(r"Overall exposure level for \S+: ([\d.]+)", text)
    return float(found.group(1)) if found else None


def main(argv):
    if len(argv) != 3:
        measure.usage(__doc__)
    root, mode = argv[1:]
    bench = root + "/build/bench"
    table = {
        "table": "security", "mode": mode, "machine": measure.machine(), "tools": measure.tools(root + "/build/release/bin/morph"),
        "meaning": "Attacks on the real daemons and tools, each a test; programs whose Morph data was changed, edited and compared with the shipped "
                   "file; runs of the readers of foreign bytes under sanitizers; exposure as systemd reckons it, 0 to 10.",
    }
    table |= attacks(bench + "/security/attacks") | mutants(bench + "/security/mutants.json") | fuzzing(root)
    table["facts_cost_percent"] = (measure.read_json(bench + "/facts.json") or {}).get("facts_cost_percent")
    for name, unit in UNITS.items():
        table["exposure_" + name] = exposure(f"{root}/build/release/systemd/{unit}")
    measure.write_json(bench + "/security.json", table)
    bad = [key for key in ("attacks_succeeded", "attack_tests_failed", "mutants_accepted_changed", "mutants_crashed_outside_sandbox", "mutants_unclear",
                           "fuzz_findings") if table[key]]
    for key in bad:
        print(f"security: {key}: {table[key]}", file=sys.stderr)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
