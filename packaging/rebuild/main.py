# SPDX-License-Identifier: Apache-2.0
"""morph rebuild: packages of the distribution, built once more so that they carry IR; see morph-rebuild(1).

    choose.py   which          apt.py    what the distribution has       roots.py    where it is built
    build.py    one package    archive.py    where it goes, and what apt is told    spaces.py    nothing outlives it
"""

import argparse
import json
import os
import sys
import time

sys.dont_write_bytecode = True

import choose  # noqa: E402
from apt import Apt  # noqa: E402
from archive import Archive  # noqa: E402
from build import build  # noqa: E402
from common import NAME, VERSION, Fault, only_one, output, run, tools_check  # noqa: E402
from roots import Base  # noqa: E402
from spaces import enter  # noqa: E402

ARCHIVE = "/var/lib/morph/archive"


class Usage(Exception):
    pass


class Parser(argparse.ArgumentParser):
    def error(self, message):
        raise Usage(message)


def options_parse(words):
    parser = Parser(prog="morph rebuild", add_help=False, allow_abbrev=False)
    parser.add_argument("packages", nargs="*")
    for name in ("installed", "outdated", "list", "dry-run", "force", "check", "install", "json"):
        parser.add_argument(f"--{name}", action="store_true")
    parser.add_argument("--remove", action="append", default=[])
    parser.add_argument("--top", type=int, default=None)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--archive", default=ARCHIVE)
    parser.add_argument("--cache", default=None)
    parser.add_argument("--apt-directory", default="/etc/apt")
    options = parser.parse_args(words)
    kinds = sum(map(bool, (options.packages, options.installed, options.outdated, options.list, options.remove)))
    bad = [name for name in options.packages + options.remove if not NAME.match(name)]
    if bad:
        raise Usage(f"{bad[0]!r} is not the name of a package")
    if kinds != 1 or (options.top is not None and not options.installed):
        raise Usage("say which: PACKAGE..., --installed [--top N], --outdated, --remove PACKAGE, or --list")
    if options.jobs < 1 or (options.top is not None and options.top < 1):
        raise Usage("a number must be at least 1")
    options.archive = os.path.abspath(options.archive)
    options.cache = os.path.abspath(options.cache or os.path.join(options.archive, "cache"))
    return options


def progress(text):
    print(f"morph rebuild: {text}", file=sys.stderr, flush=True)


def wanted_of(apt, options, states):
    if options.installed:
        return choose.installed(apt, options.top or 20)
    if options.outdated:
        return choose.outdated(apt, states)
    return list(dict.fromkeys((*apt.source(name), None) for name in options.packages))


def is_done(state, wanted, options):
    """Resumed: what was done of this version is not done again; what failed, only when it is named."""
    if options.force or not state or state.get("version") != wanted or state.get("morph") != VERSION:
        return False
    return state["result"] == "built" or (state["result"] in ("failed", "skipped") and not options.packages)


def last_line(path):
    """Why a build failed is near the end of its log; for the report. apt's last line only says that it has said which file."""
    with open(path, encoding="utf-8", errors="replace") as file:
        lines = [line.strip() for line in file.read()[-4096:].splitlines() if line.strip()]
    lines = [line for line in lines if line != "E: Failed to fetch some archives."] or lines
    return "".join(c if c.isprintable() else "?" for c in lines[-1][:200]) if lines else ""


def attempt(apt, base, archive, options, source, wanted, states, say):
    """One source; what became of it. Whatever fails leaves its report and its log, and the archive as it was."""
    log_path = archive.path("log", f"{source}.log")
    state = {"source": source, "version": wanted, "morph": VERSION, "log": log_path}
    before = states.get(source, {})
    start = time.monotonic()
    with open(log_path, "wb") as log:
        try:
            foreign = choose.foreign(apt.binaries(source, wanted))
            if foreign:
                state.update(result="skipped", reason=f"{foreign[0]} is installed, too, and must have the same version")
                return state
            if not base.is_there():
                say("making the root that packages are built in, once a week")
                base.make(log)
            work = os.path.join(options.cache, "build")
            state.update(result="built", **build(apt, base, archive, work, source, wanted, before.get("rebuilt"), options, log, say))
        except Fault as fault:
            state.update(result="failed", reason=str(fault))
    if state["result"] == "failed":
        said = last_line(log_path)
        state["said"] = said
        if before.get("rebuilt"):  # what there is of it stays
            state["rebuilt"] = before["rebuilt"]
    state["seconds"] = round(time.monotonic() - start, 1)
    return state


def rebuild_all(apt, archive, options, wanted, states):
    base = Base(options.cache, apt)
    done = []
    for i, (source, version, share) in enumerate(wanted):
        def say(text, head=f"[{i + 1}/{len(wanted)}] {source} {version}"):
            progress(f"{head}: {text}")

        state = states.get(source)
        if is_done(state, version, options):
            say(f"{state['result']} before")
        else:
            state = attempt(apt, base, archive, options, source, version, states, say)
            archive.note(state)
            say({"built": "built; {programs_with_ir} of {programs} programs and libraries carry IR",
                 "failed": "failed: {reason}; {log} says more", "skipped": "skipped: {reason}"}[state["result"]].format(**state))
        done.append({**state, **({"share": share} if share is not None else {})})
    return done


def to_install(states):
    """Of the sources that were built: what is installed, each with its IR."""
    status = output(["dpkg-query", "-W", "-f", "${Package} ${db:Status-Status}\n"])
    installed = {line.split()[0] for line in status.splitlines() if line.endswith(" installed")}
    found = []
    for state in states:
        packages = state.get("packages", []) if state["result"] == "built" else []
        found += [name for name in packages if name in installed or name.removesuffix("-morph") in installed]
    return sorted(set(found))


def install(names):
    run(["apt-get", "-qq", "update"], log=sys.stderr)
    run(["apt-get", "-y", "--no-install-recommends", "install", *names], log=sys.stderr)


def report(options, states):
    if options.json:
        json.dump({"archive": options.archive, "sources": states}, sys.stdout, indent=1)
        print()
    elif options.dry_run or options.list:
        for state in states:
            share = f"  {100 * state['share']:.1f} % of the samples" if "share" in state else ""
            print(f"{state['source']} {state['version']}  {state['result']}{': ' + state['reason'] if 'reason' in state else ''}{share}")
    elif not options.remove:
        names = to_install(states)
        if names and not options.install:
            print(f"apt-get update && apt-get install {' '.join(names)}")


def work(options):
    apt = Apt(os.path.join(options.cache, "apt"))
    archive = Archive(options.archive, options.apt_directory)
    states = archive.states()
    if options.list:
        report(options, list(states.values()))
        return 0
    if os.geteuid() != 0:
        raise Fault("root only: it makes file systems to build in, and an archive that apt trusts")
    tools_check()
    os.makedirs(options.cache, exist_ok=True)
    if options.remove:
        archive.open()
        for name in options.remove:
            archive.drop(name)
        return 0
    progress("asking the mirrors what there is")
    apt.update()
    wanted = wanted_of(apt, options, states)
    if options.dry_run:
        report(options, [{"source": source, "version": version, **({"share": share} if share is not None else {}),
                          "result": states[source]["result"] + " before" if is_done(states.get(source), version, options)
                          else "to be built"} for source, version, share in wanted])
        return 0
    archive.open()
    cache = only_one(os.path.join(options.cache, "build.lock"))  # it may be another archive's, too, or the archive itself
    done = rebuild_all(apt, archive, options, wanted, states)
    cache.close()
    names = to_install(done)
    if options.install and names:
        install(names)
    report(options, done)
    return 1 if any(state["result"] == "failed" for state in done) else 0


def main(words):
    os.umask(0o022)
    try:
        options = options_parse(words)
        if os.geteuid() == 0 and not options.list:
            enter()
        return work(options)
    except Usage as usage:
        print(f"morph rebuild: {usage}", file=sys.stderr)
        return 2
    except Fault as fault:
        print(f"morph rebuild: {fault}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("morph rebuild: interrupted; what is built stays, and is not built again", file=sys.stderr)
        return 1


sys.exit(main(sys.argv[1:]))
