# SPDX-License-Identifier: Apache-2.0
"""Namespaces of mounts and processes for the whole run: whatever is mounted, and whoever was started, goes with it."""

import ctypes
import os
import signal
import sys

from common import Fault, run

CLONE_NEWNS, CLONE_NEWPID, PR_SET_PDEATHSIG = 0x20000, 0x20000000, 1


def enter():
    """Returns in the first process of the new namespaces; the caller's waits for it, passes signals on, and ends as it does."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(CLONE_NEWNS | CLONE_NEWPID) != 0:
        raise Fault(f"namespaces cannot be made: {os.strerror(ctypes.get_errno())}")
    sys.stdout.flush()
    child = os.fork()
    if child == 0:
        libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
        run(["mount", "--make-rprivate", "/"])
        run(["mount", "-t", "proc", "-o", "nosuid,nodev,noexec", "proc", "/proc"])
        return
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the terminal tells both
    signal.signal(signal.SIGTERM, lambda *_: os.kill(child, signal.SIGTERM))
    _, status = os.waitpid(child, 0)
    code = os.waitstatus_to_exitcode(status)
    os._exit(code if code >= 0 else 1)
