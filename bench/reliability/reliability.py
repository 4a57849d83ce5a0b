#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""reliability.py ROOT MODE - what the parts of bench/reliability/reliability found, as build/bench/reliability.json

Exit status 1: something was lost, half written, missing or dead, or a part has never been done.
"""

import os
import sys

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../measure"))
import machine as reliability
import measure

# part: the figure that says how much of it there was
PARTS = {"kills": "kills", "full": "disk_full", "upgrades": "upgrades", "power": "power_cuts"}
DAY = ("edits_outside_idle", "foreground_p99_ratio", "freeze_ms_p99", "manager_rss_mib", "monitor_rss_mib", "daemons_cpu_percent",
       "load_average_before", "load_average_after")
LINES = ("backtraces_compared", "backtraces_wrong", "lines_right_percent")
MEANWHILE = ("edits", "logs", "samples", "runs", "seconds")


def total(row, key):
    """Of a part, or of its ways together."""
    ways = row.get("ways", {}).values()
    return row.get(key, sum(way.get(key, 0) for way in ways) if ways else None)


def main(argv):
    if len(argv) != 3:
        measure.usage(__doc__)
    root, mode = argv[1:]
    bench = root + "/build/bench"
    found = {part: measure.read_json(f"{bench}/reliability/{part}.json") for part in (*PARTS, "day", "lines")}
    table = {
        "table": "reliability", "mode": mode, "machine": measure.machine(), "tools": measure.tools(root + "/build/release/bin/morph"),
        "meaning": "Real daemons, real edits of small real programs: killed, out of disk space, without power, upgraded by dpkg at random "
                   "moments; and a day in the life of a machine, minutes long. What is lost, half written, missing or dead must be 0. "
                   "The day's latencies, and CPU time, tell of Morph where nothing else runs: see its load, before and after.",
    }
    table |= {figure: (found[part] or {}).get(figure) for part, figure in PARTS.items()}
    table |= {what: sum((found[part] or {}).get(what, 0) for part in PARTS) for what in reliability.FOUND}
    table |= {figure: (found["day"] or {}).get(figure) for figure in DAY}
    table |= {figure: (found["lines"] or {}).get(figure) for figure in LINES}
    table["parts"] = [{"part": part} | {key: total(row, key) for key in MEANWHILE} | {"said": len(row.get("said", []))}
                      for part, row in found.items() if row and part in PARTS]
    table["day"] = [{"figure": key, "value": value} for key, value in (found["day"] or {}).items() if key not in DAY and not isinstance(value, dict)]
    table["lines"] = (found["lines"] or {}).get("lines", [])
    measure.write_json(bench + "/reliability.json", table)
    bad = [what for what in reliability.FOUND if table[what]] + [figure for figure in PARTS.values() if table[figure] is None]
    for what in bad:
        print(f"reliability: {what}: {table[what]}", file=sys.stderr)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
