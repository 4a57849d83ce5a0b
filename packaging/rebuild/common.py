# SPDX-License-Identifier: Apache-2.0
"""What all parts of `morph rebuild` share: where things are, errors in one sentence, commands with a log."""

import fcntl
import os
import re
import shutil
import subprocess

BIN = os.environ.get("MORPH_BIN_DIR", "/usr/bin")
LIBEXEC = os.environ.get("MORPH_LIBEXEC_DIR", "/usr/libexec/morph")
LLVM = os.environ.get("MORPH_LLVM_DIR", "/usr/lib/llvm-22")
VERSION = os.environ.get("MORPH_VERSION", "0")

# Of Debian: what is run on the machine itself. The rest runs in the root.
TOOLS = {
    "apt-ftparchive": "apt-utils",
    "dpkg-deb": "dpkg",
    "gpg": "gnupg",
    "ip": "iproute2",
    "mmdebstrap": "mmdebstrap",
    "mount": "mount",
    "unshare": "util-linux",
}

# Nothing of the caller's comes along.
ENVIRONMENT = {
    "PATH": "/usr/sbin:/usr/bin:/sbin:/bin",
    "HOME": "/nonexistent",
    "LC_ALL": "C.UTF-8",
    "DEBIAN_FRONTEND": "noninteractive",
}

NAME = re.compile(r"[a-z0-9][a-z0-9+.-]+\Z")  # of a package: Debian Policy 5.6.1
VERSIONS = re.compile(r"[0-9A-Za-z.+~:-]+\Z")


class Fault(Exception):
    """What, where, what to do; in one sentence."""


def tools_check():
    missing = sorted({package for tool, package in TOOLS.items() if not shutil.which(tool)})
    if missing:
        raise Fault(f"these packages are missing: {' '.join(missing)}; apt-get install {' '.join(missing)}")


def only_one(path):
    """Whoever works in a file's directory, as long as what is returned is open; there is only one at a time."""
    lock = open(path, "w", encoding="ascii")
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        raise Fault(f"{os.path.dirname(path)}: another morph rebuild is at work; wait for it") from None
    return lock


def run(words, log=None, environment=None, **options):
    """A command that must succeed; what it says goes to the log."""
    out = log or subprocess.DEVNULL
    try:
        subprocess.run(words, check=True, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT if log else out,
                       env={**ENVIRONMENT, **(environment or {})}, **options)
    except subprocess.CalledProcessError as error:
        raise Fault(f"{os.path.basename(words[0])} failed with status {error.returncode}") from None
    except OSError as error:
        raise Fault(f"{words[0]}: {error.strerror}") from None


def output(words, **options):
    """What a command says; empty when it fails."""
    try:
        return subprocess.run(words, check=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                              env=ENVIRONMENT, text=True, errors="replace", **options).stdout
    except (subprocess.CalledProcessError, OSError):
        return ""


def write(path, text, mode=0o644):
    """A file that is there whole or not at all."""
    data = text.encode() if isinstance(text, str) else text
    new = f"{path}.new"
    with open(new, "wb") as out:
        out.write(data)
        out.flush()
        os.fsync(out.fileno())
        os.fchmod(out.fileno(), mode)
    os.rename(new, path)


def stanzas(text):
    """Of a control file, each as a dictionary."""
    for paragraph in re.split(r"\n\s*\n", text):
        fields, name = {}, None
        for line in paragraph.splitlines():
            if line[:1] in " \t" and name:
                fields[name] += "\n" + line
            elif ":" in line:
                name, value = line.split(":", 1)
                fields[name] = value.strip()
        if fields:
            yield fields


def is_newer(left, right):
    return subprocess.run(["dpkg", "--compare-versions", left, "gt", right], check=False).returncode == 0
