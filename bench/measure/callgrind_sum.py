#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""callgrind_sum.py [--heat FILE] DIRECTORY BASE CALLGRIND-OUT... - totals of all given files, as JSON on standard output

The files were written with --dump-instr=yes --collect-jumps=yes --compress-pos=no and both simulators. FILE receives a
line "OBJECT LINE INSTRUCTIONS" per 64-byte line of code that ran, by its address in the object's file.
bench/measure/counts says what the totals mean. Valgrind takes a jump into another symbol, such as the cold part of a function,
for a call; what the instruction is decides here.

Valgrind knows an object by its section .text alone: code of .text.hot and the like is in the object "???", at the
address where it ran. Such code is the program's own (`cmd:`, in DIRECTORY) when that has it there: valgrind loads
position-independent programs at BASE.
"""

import collections
import json
import os
import struct
import sys

LINE_BYTES = 64
ET_DYN, PT_LOAD, PF_X = 3, 1, 1


def segments_of(path):
    """(address, length, place in the file) of a 64-bit ELF file's executable segments, and its type; none when it is none."""
    try:
        with open(path, "rb") as file:
            header = file.read(64)
            if header[:5] != b"\x7fELF\x02":
                return [], 0
            (kind,) = struct.unpack_from("<H", header, 16)
            (at,), (size, count) = struct.unpack_from("<Q", header, 32), struct.unpack_from("<HH", header, 54)
            file.seek(at)
            segments = [struct.unpack_from("<IIQQQQQ", file.read(size)) for _ in range(count)]
    except OSError:
        return [], 0
    return [(address, length, offset)
            for kind_of, flags, offset, address, _, length, _ in segments if kind_of == PT_LOAD and flags & PF_X], kind


def code_of(path, base):
    """Where a program's executable segments run, as (start, end, what to take off)."""
    segments, kind = segments_of(path)
    shift = base if kind == ET_DYN else 0
    return [(address + shift, address + shift + length, shift) for address, length, _ in segments]


class Code:
    """Instructions of files, by their addresses there."""

    PREFIXES = {0x2E, 0x3E, 0x64, 0x65, 0x66, 0x67, 0xF2, 0xF3, *range(0x40, 0x50)}

    def __init__(self):
        self.files = {}

    def bytes_at(self, path, address):
        if path not in self.files:
            segments, _ = segments_of(path)
            data = b""
            if segments:
                with open(path, "rb") as file:
                    data = file.read()
            self.files[path] = segments, data
        segments, data = self.files[path]
        for start, length, offset in segments:
            if start <= address < start + length:
                at = address - start + offset
                return data[at:at + 15]
        return b""

    def is_jump(self, path, address):
        """Is the x86-64 instruction there known to be no call?"""
        code = list(self.bytes_at(path, address))
        while code and code[0] in self.PREFIXES:
            code.pop(0)
        return bool(code) and code[0] != 0xE8 and not (code[0] == 0xFF and len(code) > 1 and code[1] >> 3 & 7 in (2, 3))


class Totals:
    def __init__(self, directory, base):
        self.directory, self.base = directory, base
        self.events = collections.Counter()
        self.taken = 0
        self.calls = 0
        self.programs = 0
        self.heat = collections.Counter()
        self.code = Code()

    def place(self, thing, address, program, code):
        """(object, address in its file) of an instruction."""
        if thing == "???":
            for start, end, shift in code:
                if start <= address < end:
                    return program, address - shift
        return thing, address

    def read(self, path):
        names, thing, skip = [], "", 0
        objects = {}  # callgrind's number -> name
        program, code = "", []
        with open(path, encoding="utf-8", errors="replace") as file:
            for line in file:
                if line.startswith("0x"):
                    # After `calls=` stands the callee's cost, which is not this address's.
                    part = line.split(None, 3)
                    place, address = self.place(thing, int(part[0], 16), program, code)
                    if not skip and len(part) > 2:
                        self.heat[place, address // LINE_BYTES] += int(part[2])
                    elif skip and self.code.is_jump(place, address):
                        self.taken += skip
                    else:
                        self.calls += skip
                    skip = 0
                elif line.startswith("jump="):
                    self.taken += int(line[5:].split(" ", 1)[0])
                elif line.startswith("jcnd="):
                    self.taken += int(line[5:].split("/", 1)[0])
                elif line.startswith("calls="):
                    skip = int(line[6:].split(" ", 1)[0])
                elif line.startswith(("ob=", "cob=")):
                    kind, _, text = line.strip().partition("=")
                    number, _, name = text.partition(" ")
                    objects[number] = name or objects[number]
                    if kind == "ob":
                        thing = objects[number]
                elif line.startswith("cmd:"):
                    program = os.path.realpath(os.path.join(self.directory, line.split()[1]))
                    code = code_of(program, self.base)
                elif line.startswith("events:"):
                    names = line.split()[1:]
                elif line.startswith("totals:"):
                    self.events.update(dict(zip(names, map(int, line.split()[1:]))))
                    self.programs += 1

    def result(self):
        e = self.events
        return {
            "instructions": e["Ir"],
            "i1_misses": e["I1mr"],
            "l1d_misses": e["D1mr"] + e["D1mw"],
            "ll_misses": e["ILmr"] + e["DLmr"] + e["DLmw"],
            "branches": e["Bc"] + e["Bi"],
            "mispredicts": e["Bcm"] + e["Bim"],
            "taken_branches": self.taken,
            "calls": self.calls,
            "code_lines": len(self.heat),
        }


def main(argv):
    heat = None
    if argv[1:2] == ["--heat"]:
        heat, argv = argv[2], argv[2:]
    totals = Totals(argv[1], int(argv[2], 16))
    for path in argv[3:]:
        totals.read(path)
    if not totals.programs:
        print("callgrind_sum.py: no totals in the files given", file=sys.stderr)
        return 1
    print(json.dumps(totals.result()))
    if heat:
        with open(heat, "w", encoding="utf-8") as out:
            for (thing, line), instructions in sorted(totals.heat.items()):
                out.write(f"{thing} {line} {instructions}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
