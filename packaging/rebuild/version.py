# SPDX-License-Identifier: Apache-2.0
"""The version of what was rebuilt: above the distribution's, and below whatever the distribution does next.

"+morph1" would be above "+deb12u1", for "m" comes after "d": the next security update would not be installed. A number right after
the plus sign sorts below every letter there, so 4.9-1 < 4.9-1+0morph1 < 4.9-1+b1, 4.9-1+deb12u1, 4.9-1.1, 4.9-2.
"""

from common import is_newer

SUFFIX = "+0morph"


def rebuilt(binaries, version, previous):
    """The version for a new attempt, given what the distribution's binaries have; @previous: ours of the last time, or None."""
    newest = version
    for one in binaries.values():
        if is_newer(one, newest):
            newest = one
    base = f"{newest}{SUFFIX}"
    if previous and previous.startswith(base) and previous[len(base):].isdigit():
        return f"{base}{int(previous[len(base):]) + 1}"
    return f"{base}1"
