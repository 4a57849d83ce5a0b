# SPDX-License-Identifier: Apache-2.0
"""One package: fetched, given a version, built in a root of its own by Morph's compilers, and looked at."""

import glob
import os
import re
import time

import version
from common import Fault, output, run
from roots import USER, Root

OLD_HEAD = re.compile(r"(\S+) \(([^)]+)\) ([^;]+);")
MARKS = (b"\0.note.morph.sidecar\0", b"\0.morph\0")  # in the table of section names
# For rules that do not use dh; with dh, the sequence does it, and more (packaging/dh/morph.pm). Without it nothing is left out that
# lies among tests: what is installed of that could not be linked once more.
ENVIRONMENT = {
    "PATH": "/usr/libexec/morph/masquerade:/usr/sbin:/usr/bin:/sbin:/bin",
    "DH_EXTRA_ADDONS": "morph",
    "MORPH_VERIFY": "1",
    "MORPH_LINK_CACHE": "/build/morph-cache",  # goes with the root
}


def changelog_add(directory, new):
    """An entry with the new version and the time of the one before, so that the build repeats."""
    path = os.path.join(directory, "debian", "changelog")
    if os.path.islink(path) or os.path.islink(os.path.dirname(path)):
        raise Fault("its debian/changelog is a link")
    with open(path, encoding="utf-8", errors="surrogateescape") as file:
        text = file.read()
    head = OLD_HEAD.match(text)
    signed = re.search(r"(?m)^ -- .*  (.*)$", text)
    if not head or not signed:
        raise Fault("its debian/changelog cannot be read")
    entry = (f"{head[1]} ({new}) {head[3].strip()}; urgency=medium\n\n  * Rebuilt on this machine with IR for Morph, by "
             f"morph rebuild.\n\n -- morph rebuild <root@localhost>  {signed[1]}\n\n")
    with open(path, "w", encoding="utf-8", errors="surrogateescape") as file:
        file.write(entry + text)


def elf_files(directory):
    """Programs and libraries; not the debug symbols that some packages have in packages that are named otherwise."""
    for place, _, names in os.walk(directory):
        if "/usr/lib/debug/" in f"{place}/":
            continue
        for name in names:
            path = os.path.join(place, name)
            if os.path.islink(path) or not os.path.isfile(path):
                continue
            with open(path, "rb") as file:
                head = file.read(18)
            if head[:4] == b"\x7fELF" and head[16:18] in (b"\x02\0", b"\x03\0"):
                yield path


def carriers(root, debs, log):
    """How many programs and libraries there are in the packages, and how many carry IR or name a sidecar."""
    root.run("mkdir unpacked && for deb in *.deb; do dpkg-deb -x $deb unpacked || exit 1; done", log, user=USER, directory="/build")
    found = with_ir = 0
    for path in elf_files(os.path.join(root.root, "build", "unpacked")):
        with open(path, "rb") as file:
            data = file.read()
        found += 1
        with_ir += any(mark in data for mark in MARKS)
    return found, with_ir


def sidecar_loosen(root, deb, log):
    """PACKAGE-morph depends on exactly its PACKAGE; then apt would hold the distribution's next PACKAGE back. Data of another build
    are never taken, so the version does not matter."""
    root.run(f"rm -rf loose && dpkg-deb -R {deb} loose && sed -i -E '/^Depends:/s/ \\(= [^)]*\\)//' loose/DEBIAN/control && "
             f"dpkg-deb --root-owner-group -b loose {deb} && rm -rf loose", log, user=USER, directory="/build")


def package_name(deb):
    """As apt will take it, whatever the file is called."""
    return output(["dpkg-deb", "-f", deb, "Package"]).strip()


def debs_take(root, names, log):
    """What is published: packages that the distribution has from this source, and their IR. Not the debug symbols, and not what a
    build may make besides: in our archive it would be above a source that the machine's pins keep down."""
    directory = os.path.join(root.root, "build")
    allowed = {*names, *(f"{name}-morph" for name in names)}
    debs = []
    for path in sorted(glob.glob(os.path.join(directory, "*.deb"))):
        name = os.path.basename(path)
        if os.path.islink(path) or not os.path.isfile(path) or not re.fullmatch(r"[A-Za-z0-9.+~%_-]+\.deb", name):
            raise Fault("its packages have odd names")
        package = package_name(path)
        if package != name.split("_")[0]:
            raise Fault(f"{name} is another package than it says")
        if package not in allowed:
            if not package.endswith("-dbgsym"):
                log.write(f"morph rebuild: {name} is left out: the distribution has no such package from this source\n".encode())
            os.unlink(path)
            continue
        if package.endswith("-morph"):
            sidecar_loosen(root, name, log)
        debs.append(path)
    if not debs:
        raise Fault("the build made no packages")
    return debs


def build(apt, base, archive, work, source, wanted, previous, options, log, say):
    """Everything, up to the archive. Returns what is to be noted."""
    binaries = apt.binaries(source, wanted)
    new = version.rebuilt(binaries, wanted, previous)
    with Root(base, os.path.join(work, source)) as root:
        say("fetching its source")
        download = os.path.join(root.root, "build")
        dsc = apt.fetch(source, wanted, download, log)
        root.run(f"chown -R {USER}:{USER} /build", log)
        root.run(f"dpkg-source --no-check -x {dsc} source", log, user=USER, directory="/build")
        changelog_add(os.path.join(download, "source"), new)
        say("installing what it needs to be built")
        root.run("apt-get -qq -y --no-install-recommends build-dep ./", log, network=True, directory="/build/source")
        say(f"building {new}")
        environment = {**ENVIRONMENT, "DEB_BUILD_OPTIONS": f"parallel={options.jobs}" + ("" if options.check else " nocheck")}
        root.run("dpkg-buildpackage -us -uc -b -rfakeroot", log, user=USER, directory="/build/source", environment=environment)
        debs = debs_take(root, binaries, log)
        n, n_ir = carriers(root, debs, log)
        if not n_ir:
            raise Fault(f"it was built, but none of its {n} programs and libraries carries IR")
        archive.put(source, debs)
        return {"rebuilt": new, "programs": n, "programs_with_ir": n_ir, "when": int(time.time()),
                "packages": sorted({os.path.basename(deb).split("_")[0] for deb in debs})}
