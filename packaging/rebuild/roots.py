# SPDX-License-Identifier: Apache-2.0
"""Throw-away roots: a Debian of this machine's release, in which packages are built.

The base is made by mmdebstrap and kept for a week; each build gets a layer over it, which goes with it. apt and maintainer scripts
of the distribution's packages run there as root, as they do on any machine; what a package builds runs as a user of its own,
without a network but loopback, in namespaces of its own. All mounts are in this process's mount namespace and go with it.
"""

import glob
import hashlib
import os
import re
import shutil
import subprocess
import time

from apt import acquire_settings
from common import BIN, ENVIRONMENT, LIBEXEC, LLVM, Fault, output, run

USER = 61182  # nobody on the machine; below the users of morphd's jobs
PACKAGES = ["build-essential", "ca-certificates", "debhelper", "fakeroot"]
KEPT_S = 7 * 86400
DEVICES = ("null", "zero", "full", "random", "urandom", "tty")


def release():
    with open("/etc/os-release", encoding="utf-8") as file:
        found = re.search(r"(?m)^VERSION_CODENAME=\"?(\w+)", file.read())
    if not found:
        raise Fault("/etc/os-release names no release; only Debian and its like can be rebuilt")
    return found[1]


def morph_files():
    """What of Morph a build needs: where it is here, where it is to be there."""
    names = {os.path.join(BIN, name): f"/usr/bin/{name}" for name in ("morph", "morph-cc", "morph-c++")}
    for name in ("morph-ld", "morph-strip-debug", "morph-edit"):  # the linker has the editor verify what it packs
        names[os.path.join(LIBEXEC, name)] = f"/usr/libexec/morph/{name}"
    for path in glob.glob(os.path.join(LIBEXEC, "masquerade", "*")):
        names[path] = f"/usr/libexec/morph/masquerade/{os.path.basename(path)}"
    prefix = os.path.dirname(BIN)
    module = "share/perl5/Debian/Debhelper/Sequence/morph.pm"
    prefix = prefix if os.path.exists(os.path.join(prefix, module)) else "/usr"
    for name in ("bin/dh_morph", "bin/dh_morph_gencontrol", "bin/dh_morph_builddeb", "bin/dh_morph_symbols", module):
        names[os.path.join(prefix, name)] = f"/usr/{name}"
    missing = [path for path in names if not os.path.lexists(path)]
    if missing or not any("/masquerade/" in path for path in names):
        raise Fault(f"{(missing or [LIBEXEC + '/masquerade'])[0]}: is not there; install morph-backend and dh-morph")
    return names


def packages():
    """The compiler, and the libraries that Morph's own programs need. dpkg may know a file by its name before or after /usr
    was merged."""
    programs = {os.path.realpath(path) for path in morph_files() if os.access(path, os.X_OK)}
    files = {os.path.realpath(os.path.join(LLVM, "bin", name)) for name in ("clang", "ld.lld", "llvm-objcopy")}
    for said in map(lambda path: output(["ldd", path]), sorted(programs)):
        files.update(os.path.realpath(path) for path in re.findall(r"=> (/\S+)", said))
    names = sorted(files | {path[4:] for path in files if path.startswith("/usr/")})
    # Exit status 1 when it does not know one of them.
    said = subprocess.run(["dpkg-query", "-S", *names], check=False, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, env=ENVIRONMENT, text=True).stdout
    return sorted({*PACKAGES, *re.findall(r"(?m)^([a-z0-9][a-z0-9+.-]+)(?::\w+)?: /", said)})


class Base:
    def __init__(self, cache, apt):
        self.apt = apt
        key = hashlib.sha256(repr([release(), packages(), sorted(apt.sources().items())]).encode()).hexdigest()[:12]
        self.directory = os.path.join(cache, f"root-{release()}-{key}")
        self.root = os.path.join(self.directory, "root")

    def is_there(self):
        stamp = os.path.join(self.directory, "complete")
        return os.path.exists(stamp) and time.time() - os.stat(stamp).st_mtime < KEPT_S

    def make(self, log):
        """What stands in the way stays no longer. A package that is missing, or that only another release has, is what mmdebstrap says in its log."""
        for old in glob.glob(os.path.join(os.path.dirname(self.directory), "root-*")):
            shutil.rmtree(old)
        os.makedirs(self.directory)
        try:
            run(["mmdebstrap", "--variant=apt", "--skip=cleanup/apt", f"--include={','.join(packages())}",
                 "--aptopt=Acquire::Languages \"none\"", "--dpkgopt=force-unsafe-io", release(), self.root,
                 *sorted(glob.glob(os.path.join(self.apt.lists, "*")))], log=log)
        except Fault:
            shutil.rmtree(self.directory, ignore_errors=True)
            raise Fault("the root that packages are built in cannot be made") from None
        self.furnish()
        with open(os.path.join(self.directory, "complete"), "w", encoding="ascii"):
            pass

    def furnish(self):
        for path in ("/usr/share/keyrings", "/etc/apt/keyrings", "/etc/apt/trusted.gpg.d"):
            if os.path.isdir(path):
                shutil.copytree(path, self.root + path, dirs_exist_ok=True)
        with open(f"{self.root}/etc/apt/apt.conf.d/90machine", "w", encoding="utf-8") as file:
            file.write(acquire_settings())
        with open(f"{self.root}/etc/passwd", "a", encoding="ascii") as file:
            file.write(f"morph-build:x:{USER}:{USER}::/build:/bin/sh\n")
        with open(f"{self.root}/etc/group", "a", encoding="ascii") as file:
            file.write(f"morph-build:x:{USER}:\n")


class Root:
    """A layer over the base, mounted for as long as the `with` lasts."""

    def __init__(self, base, directory):
        self.base, self.directory = base, directory
        self.root = os.path.join(directory, "root")

    def __enter__(self):
        shutil.rmtree(self.directory, ignore_errors=True)
        for name in ("root", "upper", "work"):
            os.makedirs(os.path.join(self.directory, name))
        run(["mount", "-t", "overlay", "-o", f"lowerdir={self.base.root},upperdir={self.directory}/upper,"
             f"workdir={self.directory}/work", "overlay", self.root])
        run(["mount", "-t", "tmpfs", "-o", "mode=755,nosuid,size=1m", "tmpfs", f"{self.root}/dev"])
        for name in DEVICES:
            path = f"{self.root}/dev/{name}"
            with open(path, "wb"):
                pass
            run(["mount", "--bind", f"/dev/{name}", path])
        for name in ("shm", "pts"):
            os.mkdir(f"{self.root}/dev/{name}")
        run(["mount", "-t", "tmpfs", "-o", "mode=1777,nosuid,nodev", "tmpfs", f"{self.root}/dev/shm"])
        run(["mount", "-t", "devpts", "-o", "newinstance,ptmxmode=0666,mode=620", "devpts", f"{self.root}/dev/pts"])
        os.symlink("pts/ptmx", f"{self.root}/dev/ptmx")
        for number, name in enumerate(("stdin", "stdout", "stderr")):
            os.symlink(f"/proc/self/fd/{number}", f"{self.root}/dev/{name}")
        os.symlink("/proc/self/fd", f"{self.root}/dev/fd")
        shutil.copy("/etc/resolv.conf", f"{self.root}/etc/resolv.conf")
        if not os.path.exists(f"{self.root}/etc/hosts"):  # nothing of mmdebstrap's; Debian's installer writes it
            with open(f"{self.root}/etc/hosts", "w", encoding="ascii") as hosts:
                hosts.write("127.0.0.1 localhost\n::1 localhost ip6-localhost ip6-loopback\n")
        for here, there in morph_files().items():
            os.makedirs(os.path.dirname(self.root + there), exist_ok=True)
            if os.path.lexists(self.root + there):
                os.unlink(self.root + there)
            shutil.copy2(here, self.root + there, follow_symlinks=False)
        os.makedirs(f"{self.root}/build")
        os.chown(f"{self.root}/build", USER, USER)
        return self

    def __exit__(self, *_):
        subprocess.run(["umount", "-R", "-l", self.root], check=False, stderr=subprocess.DEVNULL)
        shutil.rmtree(self.directory, ignore_errors=True)

    def run(self, command, log, network=False, user=0, directory="/", environment=None):
        """A shell command inside; everything that it started ends with it."""
        inside = ["chroot", f"--userspec={user}:{user}", "--groups=", self.root, "env", "-i",
                  *(f"{key}={value}" for key, value in {**ENVIRONMENT, "HOME": "/build" if user else "/root",
                                                         **(environment or {})}.items()),
                  *(["setpriv", "--no-new-privs"] if user else []), "sh", "-c", f"cd {directory} && {command}"]
        # Suites talk to themselves; an interface that is down makes them wait for ever.
        loopback = "" if network else "ip link set lo up && "
        outside = loopback + 'mount -t proc -o nosuid,nodev,noexec proc "$1/proc" && shift && exec "$@"'
        run(["unshare", "--mount", "--propagation=private", "--pid", "--fork", "--kill-child", "--ipc", "--uts",
             *([] if network else ["--net"]), "sh", "-c", outside, "sh", self.root, *inside], log=log)
