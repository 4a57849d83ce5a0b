#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""size.py BENCH-DIRECTORY MODE ROWS - the size table as build/bench/size.json, from bench/size/size's rows

bench/README.md describes the fields of the result.
"""

import json
import os
import subprocess
import sys

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../measure"))
import measure


def geomean(rows, key):
    values = [row[key] for row in rows if row.get(key)]
    return measure.geomean(values) if values else None


def main(argv):
    if len(argv) != 4:
        measure.usage(__doc__)
    text = subprocess.run(["jq", "-s", "-c", ".", argv[3]], capture_output=True, text=True, check=True).stdout
    rows = json.loads(text)
    measure.write_json(os.path.join(argv[1], "size.json"), {
        "table": "size", "mode": argv[2], "machine": measure.machine(),
        "tools": measure.tools(os.path.join(measure.ROOT, "build/release/bin/morph")),
        "meaning": "Bytes. Morph data (IR, block map, link plan, compressed) is what shipping for Morph adds to a file or "
                   "puts beside it. The profile is what a machine keeps; the "
                   "sample log and perf.data are the same training, sampled at the same rate, before it becomes one.",
        "morph_to_text_geomean": geomean(rows, "morph_to_text"),
        "profile_to_text_geomean": geomean(rows, "profile_to_text"),
        "programs": rows,
    })


if __name__ == "__main__":
    main(sys.argv)
