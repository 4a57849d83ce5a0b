# SPDX-License-Identifier: Apache-2.0
"""IR with one thing more to believe: text of LLVM IR in, the same with a promise to the optimizer, or another meaning, out.

What is added costs nothing when code is generated as shipped, so the shipped text often regenerates all the same. The
optimizer that runs afterwards may believe it.
"""

import re

NAME = r'[%@](?:[-\w.$]+|"[^"]*")'


def once(pattern, make):
    """A change that replaces one match of @pattern, chosen by @random, by make(match, random)."""
    compiled = re.compile(pattern, re.M)

    def change(text, random):
        matches = list(compiled.finditer(text))
        if not matches:
            return None
        match = random.choice(matches)
        return text[:match.start()] + make(match, random) + text[match.end():]
    return change


def after(words):
    """An operation gets one of @words behind its name."""
    return lambda match, random: match.group(0) + random.choice(words) + " "


def at_end(things):
    """A line gets one of @things at its end; {0} is the type that the pattern's first group is."""
    return lambda match, random: match.group(0) + ", " + random.choice(things).format(*match.groups())


def assume(text, random):
    """Some condition that is computed anyhow is declared to hold, or not to."""
    matches = list(re.finditer(rf"^  ({NAME}) = icmp .*$", text, re.M))
    if not matches:
        return None
    match = random.choice(matches)
    if random.random() < 0.5:
        lines = f"\n  call void @llvm.assume(i1 {match.group(1)})"
    else:
        lines = f"\n  %planted = xor i1 {match.group(1)}, true\n  call void @llvm.assume(i1 %planted)"
    text = text[:match.end()] + lines + text[match.end():]
    return text if "declare void @llvm.assume" in text else text + "\ndeclare void @llvm.assume(i1)\n"


def number(match, random):
    return match.group(1) + str(int(match.group(2)) + random.choice([-1, 1, 2, 8, 256])) + match.group(3)


def parameter(kinds):
    return lambda match, random: f"{match.group(1)}{match.group(2)} {random.choice(kinds)} {match.group(3)}"


CHANGES = {
    "no-wrap": once(r"(?<== )(?:add|sub|mul|shl) (?!n[us]w)", after(["nsw", "nuw", "nuw nsw"])),
    "exact": once(r"(?<== )(?:[su]div|[la]shr) (?!exact)", after(["exact"])),
    "disjoint": once(r"(?<== )or (?!disjoint)", after(["disjoint"])),
    "nneg": once(r"(?<== )(?:zext|uitofp) (?!nneg)", after(["nneg"])),
    "trunc": once(r"(?<== )trunc (?!n[us]w)", after(["nsw", "nuw"])),
    "samesign": once(r"(?<== )icmp (?!samesign|eq|ne)", after(["samesign"])),
    "fast": once(r"(?<== )(?:fadd|fsub|fmul|fdiv|fcmp|fneg) (?!fast|nnan|n)", after(["fast", "nnan", "ninf", "nsz", "reassoc", "contract"])),
    "inbounds": once(r"(?<== )getelementptr (?!inbounds|n)", after(["inbounds", "nuw", "nusw"])),
    "load-pointer": once(r"(?<== )load (?:volatile )?ptr, .*?align \d+", at_end(
        ["!nonnull !{{}}", "!dereferenceable !{{i64 4096}}", "!align !{{i64 4096}}", "!noundef !{{}}", "!invariant.load !{{}}"])),
    "load-number": once(r"(?<== )load (i\d+), .*?align \d+", at_end(
        ["!range !{{{0} 0, {0} 1}}", "!noundef !{{}}", "!invariant.load !{{}}", "!range !{{{0} 1, {0} 0}}"])),
    "call-number": once(rf"(?<== )((?:tail |notail )?call )()(i\d+ {NAME}\()", lambda m, r: m.group(1) + r.choice(
        ["range({} 0, 1) ", "noundef range({} 5, 7) ", "noundef "]).format(re.match(r"i\d+", m.group(3)).group(0)) + m.group(3)),
    "call-pointer": once(rf"(?<== )((?:tail |notail )?call )()(ptr {NAME}\()", lambda m, r: m.group(1) + r.choice(
        ["nonnull ", "noalias ", "align 4096 ", "dereferenceable(4096) "]) + m.group(3)),
    "parameter-pointer": once(r"^(define .*)(\bptr)(?: noundef)? (%[\w.]+)", parameter(
        ["nonnull", "noalias", "readonly", "readnone", "writeonly", "returned", "dereferenceable(4096)", "align 4096", "noundef", "captures(none)",
         "nofree"])),
    "parameter-number": once(r"^(define .*)(\bi(?:32|64))(?: noundef)? (%[\w.]+)", lambda m, r: "{}{} {} {}".format(
        m.group(1), m.group(2), r.choice([f"range({m.group(2)} 0, 2)", f"noundef range({m.group(2)} 3, 4)", "noundef", "returned"]), m.group(3))),
    "function": once(r"^(?:define|declare) [^\n{]*\)(?: local_unnamed_addr| unnamed_addr)?(?= #| \{|$)", lambda m, r: m.group(0) + " " + r.choice(
        ["memory(none)", "memory(read)", "memory(argmem: read)", "willreturn nounwind", "noreturn", "nosync nofree", "norecurse", "mustprogress",
         "speculatable", '"no-nans-fp-math"="true"', "nocallback", "cold", "optsize", "alwaysinline", "noinline", "returns_twice", "nonlazybind",
         '"no-builtins"', '"target-cpu"="znver4"', '"unsafe-fp-math"="true"', "null_pointer_is_valid", 'section ".planted"', 'prefix i32 7'])),
    "call": once(rf"^ .*\bcall [^\n]*{NAME}\([^\n]*\)(?= #| *$)", lambda m, r: m.group(0) + " " + r.choice(
        ["memory(none)", "memory(read)", "nounwind", "noreturn", "willreturn", "nofree", "nomerge", "speculatable"])),
    "assume": assume,
    "constant": once(r"^(@[^\n]*? = [^\n]*?)\bglobal\b", lambda m, r: m.group(1) + "constant"),
    "global": once(r"^(@[^\n]*? = )(?=(?:internal|private|constant|global|local))", lambda m, r: m.group(1) + r.choice(
        ["unnamed_addr ", "dso_local ", "hidden ", "thread_local ", "weak ", "linkonce_odr "])),
    "alignment": once(r"(\balign )(\d+)()", lambda m, r: m.group(1) + r.choice(["1", "4096", "64", "2"])),
    "volatile": once(r"\b(load|store) volatile ", lambda m, r: m.group(1) + " "),
    "freeze": once(r"(?<== )freeze (i\d+) (%[\w.]+)", lambda m, r: f"add {m.group(1)} {m.group(2)}, 0"),
    "prof": once(r"^  br i1 [^\n!]*$", lambda m, r: m.group(0) + r.choice(
        [", !prof !{!\"branch_weights\", i32 0, i32 1}", ", !unpredictable !{}", ", !prof !{!\"branch_weights\", i32 -1, i32 1}"])),
    # Other meanings, which the shipped text should betray.
    "number": once(r"( (?:add|sub|mul|icmp|store|and|or|shl|xor|ret|switch)\b[^\n]*? )(-?\d+)(\b)", number),
    "predicate": once(r"\bicmp (samesign )?(\w+)", lambda m, r: "icmp " + r.choice(["eq", "ne", "slt", "sgt", "sle", "sge", "ult", "ugt"])),
    "branch": once(r"br i1 ([^,]+), label ([^,]+), label ([^,\n]+)", lambda m, r: f"br i1 {m.group(1)}, label {m.group(3)}, label {m.group(2)}"),
    "text": once(r'(c")(.)([^"]{2,}")', lambda m, r: m.group(1) + ("Z" if m.group(2) != "\\" else "\\") + m.group(3)),
    "store": once(r"^  store [^\n]*\n", lambda m, r: ""),
    "callee": once(r"(\bcall [^\n@]*@)(\w[\w.]*)", lambda m, r: m.group(1) + r.choice(["abort", "exit", "puts", "free"])),
}


def change(text, random):
    """-> (name, text), or None after a few attempts that met nothing."""
    for _ in range(8):
        name = random.choice(sorted(CHANGES))
        changed = CHANGES[name](text, random)
        if changed is not None and changed != text:
            return name, changed
    return None
