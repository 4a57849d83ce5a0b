# SPDX-License-Identifier: Apache-2.0
"""Which packages: named, what this machine spends its time in, what has a newer version by now."""

import json
import os
import re

from common import BIN, Fault, output


def owner(path):
    """The installed package that has the file; None. Since /usr was merged, dpkg may know it by either name."""
    names = [path, os.path.realpath(path)]
    names += [name[4:] for name in names if name.startswith("/usr/")] + [f"/usr{name}" for name in names]
    for name in dict.fromkeys(names):
        found = re.match(r"([a-z0-9][a-z0-9+.-]+)(?::\w+)?: ", output(["dpkg-query", "-S", name]))
        if found:
            return found[1]
    return None


def sampled(status):
    """Paths with their samples, from `morph status --json`: what carries IR, and what does not."""
    rows = [row for key in ("modules", "others") for row in status.get(key) or []]
    for row in rows:
        path, samples = row.get("path"), row.get("samples")
        if isinstance(path, str) and path.startswith("/") and isinstance(samples, (int, float)) and samples > 0:
            yield path, samples


def installed(apt, top, status_of=None):
    """The sources of installed packages by the samples of their files: [(source, version, share)], the most first."""
    said = status_of or output([os.path.join(BIN, "morph"), "status", "--all-users", "-a", "--json"])
    try:
        status = json.loads(said)
    except ValueError:
        raise Fault("morph status has no answer; is morphd running?") from None
    weights, versions, total = {}, {}, 0
    for path, samples in sampled(status):
        total += samples
        package = owner(path)
        found = package and apt.candidate(package)
        if not found or found[0] == "morph":
            continue
        source, version, _ = found
        weights[source] = weights.get(source, 0) + samples
        versions[source] = version
    if not total:
        raise Fault("there are no samples yet; let morph-monitor see what this machine does, for a day perhaps")
    order = sorted(weights, key=lambda name: (-weights[name], name))[:top]
    return [(source, versions[source], weights[source] / total) for source in order]


def outdated(apt, states):
    """What was rebuilt of a version that is not the distribution's any more."""
    found = []
    for source, state in states.items():
        if state.get("result") not in ("built", "failed"):
            continue
        try:
            now = apt.source(source)
        except Fault:
            continue  # the distribution has it no more
        if now[1] != state.get("version"):
            found.append((*now, None))
    return found


def is_foreign(line, ours):
    """Of dpkg-query: a status, and an architecture, which a package that was never installed may lack."""
    status, _, architecture = line.partition(" ")
    return status == "installed" and architecture not in (ours, "all")


def foreign(binaries):
    """Those that are installed for another architecture, too: both must have one version, and we build for one."""
    ours = output(["dpkg", "--print-architecture"]).strip()
    found = []
    for name in binaries:
        lines = output(["dpkg-query", "-W", "-f", "${db:Status-Status} ${Architecture}\n", f"{name}:*"]).splitlines()
        found += [f"{name}:{line.split(' ')[1]}" for line in lines if is_foreign(line, ours)]
    return found
