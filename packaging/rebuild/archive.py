# SPDX-License-Identifier: Apache-2.0
"""The local archive: what was rebuilt, signed by a key of this machine's, and what apt is told of it.

    ARCHIVE/pool/SOURCE/*.deb, Packages, Release, InRelease     what apt reads
    ARCHIVE/state/SOURCE.json                                   how the last attempt at a source ended
    ARCHIVE/log/SOURCE.log                                      what was said
    ARCHIVE/gnupg                                               the key
"""

import glob
import json
import os
import shutil
import subprocess

from apt import OURS, default_release
from common import Fault, only_one, output, run, write


class Archive:
    def __init__(self, directory, etc):
        self.directory, self.etc = directory, etc
        self.lock = None

    def path(self, *names):
        return os.path.join(self.directory, *names)

    def open(self):
        """Only one at a time."""
        for name in ("pool", "state", "log"):
            os.makedirs(self.path(name), mode=0o755, exist_ok=True)
        os.makedirs(self.path("gnupg"), mode=0o700, exist_ok=True)
        self.lock = only_one(self.path("lock"))

    # ---- how attempts ended ----

    def states(self):
        found = {}
        for path in sorted(glob.glob(self.path("state", "*.json"))):
            try:
                with open(path, encoding="utf-8") as file:
                    state = json.load(file)
                found[state["source"]] = state
            except (OSError, ValueError, KeyError, TypeError):
                continue  # damaged: as if there had been no attempt
        return found

    def note(self, state):
        write(self.path("state", f"{state['source']}.json"), json.dumps(state, indent=1, sort_keys=True) + "\n")

    # ---- the archive ----

    def key(self):
        """The fingerprint of the key, made on first use."""
        home = ["gpg", "--batch", "--quiet", "--homedir", self.path("gnupg")]

        def fingerprint():
            listed = output([*home, "--with-colons", "--list-secret-keys"])
            return next((line.split(":")[9] for line in listed.splitlines() if line.startswith("fpr:")), None)

        if not fingerprint():
            run([*home, "--passphrase", "", "--quick-generate-key", f"morph rebuild on {os.uname().nodename}", "rsa3072", "sign",
                 "never"])
        if not fingerprint():
            raise Fault(f"{self.path('gnupg')}: no key can be made; see what gpg says there")
        return fingerprint()

    def agent_end(self):
        subprocess.run(["gpgconf", "--homedir", self.path("gnupg"), "--kill", "gpg-agent"], check=False,
                       stderr=subprocess.DEVNULL)

    def put(self, source, debs):
        """These are what there is of the source from now on."""
        place, new = self.path("pool", source), self.path("pool", f".{source}.new")
        shutil.rmtree(new, ignore_errors=True)
        os.makedirs(new, mode=0o755)
        for deb in debs:
            shutil.copy(deb, new)
            os.chmod(os.path.join(new, os.path.basename(deb)), 0o644)
        shutil.rmtree(place, ignore_errors=True)
        os.rename(new, place)
        self.publish()

    def drop(self, source):
        shutil.rmtree(self.path("pool", source), ignore_errors=True)
        for name in (self.path("state", f"{source}.json"), self.path("log", f"{source}.log")):
            if os.path.exists(name):
                os.unlink(name)
        self.publish()

    def publish(self):
        fingerprint = self.key()
        packages = output(["apt-ftparchive", "packages", "pool"], cwd=self.directory)
        write(self.path("Packages"), packages)
        release = output(["apt-ftparchive", "-o", "APT::FTPArchive::Release::Origin=morph-rebuilt", "-o",
                          "APT::FTPArchive::Release::Label=morph-rebuilt", "-o", "APT::FTPArchive::Release::Description="
                          "packages of this machine's distribution, rebuilt with IR for Morph", "release", "."],
                         cwd=self.directory)
        write(self.path("Release"), release)
        new = self.path("InRelease.new")
        run(["gpg", "--batch", "--yes", "--quiet", "--homedir", self.path("gnupg"), "--local-user", fingerprint, "--output", new,
             "--clearsign", self.path("Release")])
        os.chmod(new, 0o644)
        os.rename(new, self.path("InRelease"))
        self.tell_apt(fingerprint)
        self.agent_end()

    # ---- what apt is told ----

    def apt_files(self):
        return (os.path.join(self.etc, "sources.list.d", OURS), os.path.join(self.etc, "preferences.d", "morph-rebuilt"))

    def tell_apt(self, fingerprint):
        """A source of its own with its own key. What counts is the version: ours is above the one that it was made from, and
        below any later one (see version.py); the pin only says so, and follows a default release."""
        key = output(["gpg", "--batch", "--homedir", self.path("gnupg"), "--armor", "--export", fingerprint])
        lines = "".join(f" {line or '.'}\n" for line in key.strip().splitlines())
        priority = 990 if default_release() else 500
        sources, preferences = self.apt_files()
        for path in (sources, preferences):
            os.makedirs(os.path.dirname(path), exist_ok=True)
        write(sources, f"# Written by `morph rebuild`; what is in it is signed by this machine.\nTypes: deb\n"
              f"URIs: file:{self.directory}\nSuites: ./\nSigned-By:\n{lines}")
        write(preferences, "# Written by `morph rebuild`: the distribution's next version wins, by its number.\nPackage: *\n"
              f"Pin: release o=morph-rebuilt\nPin-Priority: {priority}\n")
