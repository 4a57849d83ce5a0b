#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What `morph help --words` offers is what the verbs' option tables take, no more and no less; and bash, zsh and fish, run
on a terminal with the installed completions, complete it. Usage: completion_test.py SOURCE MORPH PREFIX SHELL...
PREFIX: an installation, whose completions are used."""
import glob
import os
import pty
import re
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time

SOURCE, MORPH, PREFIX, SHELLS = sys.argv[1], sys.argv[2], sys.argv[3], sys.argv[4:]
DAEMON = {"json", "socket", "bus", "help"}
failed = False


def fail(sentence):
    global failed
    failed = True
    print(sentence)


def words(*verb):
    run = subprocess.run([MORPH, "help", "--words", *verb], capture_output=True, text=True, check=True)
    return [line.split("\t")[0] for line in run.stdout.splitlines()]


def tabled(path, offered):
    """The long options of a source file's table, but for those of which the short form is offered."""
    text = open(path, encoding="utf-8").read()
    if '"cli/file_verb.h"' in text:  # verbs that show a file share their options
        text += open(f"{SOURCE}/cli/file_verb.c", encoding="utf-8").read()
    table = re.findall(r'\{\s*"([a-z-]+)",\s*(?:no|required|optional)_argument,\s*NULL,\s*(\S+)', text)
    found = {name for name, value in table if "-" + value.strip("'") not in offered}
    if "DAEMON_OPTIONS" in text:
        found |= DAEMON
    if "DAEMON_READER_OPTIONS" in text or "daemon_only_options" in text and "daemon_read(" in text:
        found |= DAEMON | {"all-users"}
    elif "daemon_only_options" in text:
        found |= DAEMON
    return found


def options(*verb):
    return {word[2:].rstrip("=") for word in words(*verb) if word.startswith("--")} - {"version"}


def rebuild_options():
    with open(f"{SOURCE}/packaging/rebuild/main.py", encoding="utf-8") as file:
        text = file.read()
    flags = re.search(r"for name in \(([^)]*)\):\n *parser.add_argument\(f\"--{name}\"", text)
    return set(re.findall(r"\"([a-z-]+)\"", flags[1])) | set(re.findall(r"add_argument\(\"--([a-z-]+)\"", text))


def tables_check(verbs):
    for verb in verbs:
        name = "_".join(verb).replace("-", "_")
        path = f"{SOURCE}/editor/options.c" if name == "optimize" else f"{SOURCE}/cli/{name}.c"
        if not os.path.exists(path):  # a verb with a folder of its own
            path = f"{SOURCE}/cli/{verb[0]}/{name}.c"
        if name == "fleet":  # what it starts takes them
            path = f"{SOURCE}/fleet/morph-fleet.c"
        has, offered = tabled(path, words(*verb)) - {"version"}, options(*verb)
        if name == "rebuild":  # what it starts takes them
            has = rebuild_options() | {"help"}
        if has != offered:
            fail(f"morph {' '.join(verb)}: {path} takes {sorted(has - offered)}, which the synopsis lacks; the synopsis "
                 f"has {sorted(offered - has)}, which is not taken")


class Shell:
    """An interactive shell on a terminal."""

    def __init__(self, name, home):
        start = {"bash": ["bash", "--norc", "--noprofile", "-i"], "zsh": ["zsh", "-f", "-i"], "fish": ["fish", "-i", "--no-config"]}
        self.name = name
        environment = {"PATH": f"{PREFIX}/bin:{PREFIX}/sbin:/usr/bin:/bin", "HOME": home, "TERM": "dumb", "PS1": "",
                       "XDG_DATA_DIRS": f"{PREFIX}/share", "LC_ALL": "C", "INPUTRC": "/dev/null"}
        self.pid, self.terminal = pty.fork()
        if self.pid == 0:
            os.chdir(home)
            os.execvpe(name, start[name], environment)
        setup = {"bash": f". {PREFIX}/share/bash-completion/completions/morph; bind 'set enable-bracketed-paste off'; bind 'set bell-style none'",
                 "zsh": f"bindkey -e; unsetopt beep; fpath=({PREFIX}/share/zsh/site-functions $fpath); autoload -U compinit; compinit -u -D",
                 "fish": f"source {PREFIX}/share/fish/vendor_completions.d/morph.fish"}
        self.ask(f"{setup[name]}; echo REA''DY\n", "READY")

    def ask(self, keys, until, seconds=20.0):
        said = ""
        for key in re.findall(r"[^\t]+|\t", keys):
            os.write(self.terminal, key.encode())
            if key == "\t":  # some shells take what follows at once for pasted text
                time.sleep(0.25)
        end = time.monotonic() + seconds
        while until not in said and time.monotonic() < end:
            if select.select([self.terminal], [], [], 0.1)[0]:
                said += os.read(self.terminal, 65536).decode(errors="replace")
        return said

    def completed(self, typed):
        """The line after a tab: it is printed by putting an echo before it."""
        said = self.ask(f"{typed}\t\x01echo 'L[' \x05 ']L'\n", "]L\r\n")
        found = re.findall(r"L\[ (.*?) *\]L\r", said)
        return found[-1] if found else said

    def close(self):
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        os.close(self.terminal)


def unique(word, among):
    """A beginning of @word that no other begins with, as short as can be; None when another goes on from it."""
    for n in range(3 if word.startswith("--") else 1, len(word.rstrip("="))):
        if [other for other in among if other.startswith(word[:n])] == [word]:
            return word[:n]
    return None


def shell_check(name, verbs):
    home = tempfile.mkdtemp()
    shell = Shell(name, home)
    top = words()
    lines = [("", word) for word in top if not word.startswith("-")] + [("profile ", word) for word in ("merge", "export")]
    for verb in verbs[::4]:
        lines += [(" ".join(verb) + " ", word) for word in words(*verb) if word.startswith("--")][:2]
    n = 0
    for before, word in lines:
        start = unique(word, top if not before else words(*before.split()))
        if not start:
            continue
        n += 1
        want = f"morph {before}{word}"
        got = shell.completed(f"morph {before}{start}")
        if got.strip() != want:
            fail(f"{name}: \"morph {before}{start}\" became {got!r}, not {want!r}")
    for daemon, start, word in (("morphd", "--check", "--check-config"), ("morph-mount", "--lis", "--listen=")):
        got = shell.completed(f"{daemon} {start}")
        if got.strip().rstrip("=") != f"{daemon} {word}".rstrip("="):
            fail(f"{name}: \"{daemon} {start}\" became {got!r}")
    open(f"{home}/some-file", "w").close()
    got = shell.completed("morph inspect some-f")
    if got.strip() != "morph inspect some-file":
        fail(f"{name}: a file was not completed: {got!r}")
    shell.close()
    shutil.rmtree(home)
    print(f"{name}: {n} words completed")
    if n < 20:
        fail(f"{name}: only {n} words were tried")


def main():
    verbs = [(word,) for word in words() if not word.startswith("-") and word not in ("help", "cc", "c++")]
    verbs += [("profile", os.path.basename(path)[8:-2]) for path in sorted(glob.glob(f"{SOURCE}/cli/profile/profile_*.c"))]
    tables_check(verbs)
    for shell in SHELLS:
        shell_check(shell, verbs)
    return failed


sys.exit(main())
