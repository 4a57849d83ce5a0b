# SPDX-License-Identifier: Apache-2.0
"""What the distribution has, by the machine's own apt configuration: its source lists, keys, proxies and pins.

A private copy of the lists, with a `deb-src` for each `deb`, because few machines have these, and without our own archive, so
that a rebuilt package is never taken for the distribution's. The machine's configuration is read, never changed.
"""

import glob
import hashlib
import os
import re
import time

from common import ENVIRONMENT, NAME, VERSIONS, Fault, output, run, stanzas

OURS = "morph-rebuilt.sources"
FRESH_S = 6 * 3600


class Apt:
    def __init__(self, directory):
        self.directory = directory
        self.lists = os.path.join(directory, "sources.d")

    def options(self):
        state = {
            "Dir::Etc::SourceList": "/dev/null",
            "Dir::Etc::SourceParts": self.lists,
            "Dir::State::Lists": os.path.join(self.directory, "lists"),
            "Dir::State::status": "/dev/null",  # what is installed must not count as what there is
            "Dir::Cache": os.path.join(self.directory, "cache"),
            "Dir::Cache::pkgcache": "pkgcache.bin",  # images of containers keep none, and each question costs a second then
            "Dir::Cache::srcpkgcache": "srcpkgcache.bin",
            "APT::Sandbox::User": "root",
            "Acquire::Languages": "none",
        }
        return [word for key, value in state.items() for word in ("-o", f"{key}={value}")]

    def sources(self):
        """The machine's lists as ours should be: names and texts."""
        configured = output(["apt-config", "shell", "list", "Dir::Etc::SourceList/f", "parts", "Dir::Etc::SourceParts/d"])
        places = dict(re.findall(r"(\w+)='([^']*)'", configured))
        parts = places.get("parts", "/etc/apt/sources.list.d/")
        found = {}
        for path in [places.get("list", "/etc/apt/sources.list"), *sorted(glob.glob(os.path.join(parts, "*")))]:
            name = os.path.basename(path)
            if name == OURS or not os.path.isfile(path) or not name.endswith((".list", ".sources")):
                continue
            with open(path, encoding="utf-8", errors="replace") as file:
                text = file.read()
            if name.endswith(".sources"):
                found[name] = re.sub(r"(?mi)^Types:.*$", "Types: deb deb-src", text)
            else:
                lines = re.findall(r"(?m)^[ \t]*deb[ \t].*$", text)
                found[name] = "".join(f"{line.strip()}\ndeb-src{line.strip()[3:]}\n" for line in lines)
        return found

    def update(self, log=None):
        """Indexes that are not older than some hours."""
        wanted = self.sources()
        stamp = os.path.join(self.directory, "complete")
        digest = hashlib.sha256(repr(sorted(wanted.items())).encode()).hexdigest()
        try:
            with open(stamp, encoding="ascii") as file:
                if file.read() == digest and time.time() - os.stat(stamp).st_mtime < FRESH_S:
                    return
        except OSError:
            pass
        for name in ("sources.d", "lists/partial", "cache/archives/partial"):
            os.makedirs(os.path.join(self.directory, name), exist_ok=True)
        for path in glob.glob(os.path.join(self.lists, "*")):
            os.unlink(path)
        for name, text in wanted.items():
            with open(os.path.join(self.lists, name), "w", encoding="utf-8") as file:
                file.write(text)
        try:
            run(["apt-get", *self.options(), "-qq", "--error-on=any", "update"], log=log)
        except Fault:
            raise Fault("the indexes of packages and sources cannot be fetched from the mirrors that /etc/apt names; is there "
                        "a network, and do they have sources?") from None
        with open(stamp, "w", encoding="ascii") as file:
            file.write(digest)

    def cache(self, *words):
        return output(["apt-cache", *self.options(), *words])

    def candidate(self, package):
        """(source, its version, version of the binary) that the distribution would install; None: it has no such package."""
        policy = re.search(r"(?m)^  Candidate: (\S+)$", self.cache("policy", package))
        if not policy or policy[1] == "(none)":
            return None
        for fields in stanzas(self.cache("show", f"{package}={policy[1]}")):
            named = re.match(r"(\S+)(?: \((\S+)\))?", fields.get("Source", package))
            return named[1], named[2] or policy[1], policy[1]
        return None

    def source(self, name):
        """The same for a package that is named as binary or as source."""
        found = self.candidate(name)
        if not found:
            binaries = {binary for fields in stanzas(self.cache("showsrc", "--only-source", name))
                        for binary in re.split(r"[,\s]+", fields.get("Binary", "")) if binary}
            found = next((one for one in map(self.candidate, sorted(binaries)) if one and one[0] == name), None)
        if not found:
            raise Fault(f"{name}: the archives of /etc/apt have no such package")
        source, version, _ = found
        if not NAME.match(source) or not VERSIONS.match(version):
            raise Fault(f"{name}: its source has a name or a version that cannot be")
        return source, version

    def binaries(self, source, version):
        """Names and versions of what was built from it; rebuilt for a new library, a binary has a version of its own (+b1)."""
        names = {binary for fields in stanzas(self.cache("showsrc", "--only-source", f"{source}"))
                 if fields.get("Version") == version for binary in re.split(r"[,\s]+", fields.get("Binary", "")) if binary}
        found = {name: self.candidate(name) for name in sorted(names)}
        return {name: one[2] for name, one in found.items() if one and one[:2] == (source, version)}

    def fetch(self, source, version, directory, log):
        try:
            run(["apt-get", *self.options(), "-qq", "--download-only", "source", "--only-source", f"{source}={version}"],
                log=log, cwd=directory)
        except Fault:
            raise Fault("its source cannot be fetched") from None
        found = glob.glob(os.path.join(directory, "*.dsc"))
        if len(found) != 1:
            raise Fault("apt-get fetched no source")
        return os.path.basename(found[0])


def acquire_settings():
    """How this machine reaches its mirrors: proxies and the like, for apt in the root."""
    return "".join(f"{line}\n" for line in output(["apt-config", "dump"]).splitlines()
                   if re.match(r"Acquire::(https?|ftp)::[^ ]*Proxy[^ ]* \"", line, re.I))


def default_release():
    return bool(re.search(r"(?m)^APT::Default-Release \"[^\"]", output(["apt-config", "dump"])))
