#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""rusage.py FILE COMMAND [ARGUMENT...] - run COMMAND and append what it cost to FILE, a line of JSON

`cpu_s` is user and system time of it and its children, `max_rss_kib` the peak of the largest single process.
The exit status is COMMAND's.
"""

import json
import os
import sys
import time


def main(argv):
    if len(argv) < 3:
        print(__doc__, file=sys.stderr)
        return 2
    start = time.monotonic()
    pid = os.posix_spawnp(argv[2], argv[2:], os.environ)
    _, status, usage = os.wait4(pid, 0)
    code = os.waitstatus_to_exitcode(status)
    with open(argv[1], "a", encoding="utf-8") as out:
        out.write(json.dumps({
            "command": argv[2:], "exit": code, "cpu_s": round(usage.ru_utime + usage.ru_stime, 4),
            "wall_s": round(time.monotonic() - start, 4), "max_rss_kib": usage.ru_maxrss}) + "\n")
    return code if code >= 0 else 128 - code


if __name__ == "__main__":
    sys.exit(main(sys.argv))
