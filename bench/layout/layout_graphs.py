#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The graphs of a linked program, as the text that layout-bench and the golden tests read.

usage: layout_graphs.py [--all] [--only NAME] PROGRAM > PROGRAM.graph

PROGRAM was compiled by LLVM 22 with a profile and with

    -fbasic-block-address-map -mllvm -pgo-analysis-map=all

so that its address map holds block frequencies and branch probabilities; blocks come out in the order
in which they stand in the file. Calls are taken from the disassembly: a direct call or tail call
counts as often as its block runs. Functions that never ran are left out unless --all is given.
"""

import argparse
import bisect
import json
import re
import subprocess
import sys

READOBJ = "llvm-readobj-22"
OBJDUMP = "llvm-objdump-22"
PROBABILITY_ONE = 1 << 31
CALL = re.compile(r"^\s*([0-9a-f]+):\s+(?:call|jmp)q?\s+0x([0-9a-f]+) <[^>+]+>$")


def functions_of(program):
    text = subprocess.run([READOBJ, "--bb-addr-map", "--elf-output-style=JSON", program],
                          check=True, capture_output=True, text=True).stdout
    # One file may hold several lists under the same key, so keep pairs instead of dictionaries.
    document = json.loads(text, object_pairs_hook=lambda pairs: pairs)
    for key, functions in document[0]:
        if key == "BBAddrMap":
            for function in functions:
                yield plain(function[0][1])


def plain(value):
    """Lists of pairs back to dictionaries; other lists stay lists."""
    if isinstance(value, list) and value and isinstance(value[0], tuple):
        return {k: plain(v) for k, v in value}
    if isinstance(value, list):
        return [plain(v) for v in value]
    return value


class Function:
    def __init__(self, raw):
        self.name = raw["Name"]
        self.blocks, self.edges = [], []
        pgo = raw.get("PGO analyses") or {}
        entries = pgo.get("PGO BB entries", [])
        number = {}
        for span in raw["BB Ranges"]:
            for block in span["BB Entries"]:
                number[block["ID"]] = len(self.blocks)
                block["address"] = span["Base Address"] + block["Offset"]
                self.blocks.append(block)
        self.address = self.blocks[0]["address"]
        scale = pgo.get("FuncEntryCount", 0) / max(entries[0]["Frequency"], 1) if entries else 0
        for block, entry in zip(self.blocks, entries):
            count = entry["Frequency"] * scale
            block["count"] = count if count >= 0.5 else 0  # LLVM's frequencies are never quite 0
            self.successors(number[block["ID"]], block, entry["Successors"], number)

    def successors(self, index, block, successors, number):
        pads = {s["ID"] for s in successors if self.blocks[number[s["ID"]]]["IsEHPad"]}
        direct = {s["ID"] for s in successors} - pads
        for s in successors:
            kind = ("unwind" if s["ID"] in pads else "switch" if block["HasIndirectBranch"] else
                    "jump" if len(direct) == 1 else "branch")
            count = block["count"] * s["Probability"] / PROBABILITY_ONE
            self.edges.append((index, number[s["ID"]], count, kind))

    def size(self):
        """Bytes of the blocks that run: the others are out of line when functions are placed."""
        return sum(b["Size"] for b in self.blocks if b.get("count", 0) > 0)

    def offset(self, address):
        """Of an address, in the blocks that run."""
        return sum(min(b["Size"], address - b["address"]) for b in self.blocks
                   if b.get("count", 0) > 0 and b["address"] <= address)

    def weight(self):
        return sum(b["Size"] * b.get("count", 0) for b in self.blocks)

    def write(self, out):
        out.write(f"function {self.name}\n")
        for b in self.blocks:
            words = (" pad" if b["IsEHPad"] else "") + (" indirect" if b["HasIndirectBranch"] else "")
            out.write(f"block {b['Size']} {b.get('count', 0):.8g}{words} # id {b['ID']}\n")
        for source, target, count, kind in self.edges:
            out.write(f"edge {source} {target} {count:.8g} {kind}\n")


def calls_of(program, functions):
    text = subprocess.run([OBJDUMP, "-d", "--no-show-raw-insn", program], check=True,
                          capture_output=True, text=True).stdout
    blocks = sorted(((b["address"], i, b) for i, f in enumerate(functions) for b in f.blocks),
                    key=lambda entry: entry[0])
    addresses = [b[0] for b in blocks]
    by_address = {f.address: i for i, f in enumerate(functions)}
    for line in text.splitlines():
        match = CALL.match(line)
        if not match:
            continue
        address, target = (int(g, 16) for g in match.groups())
        k = bisect.bisect_right(addresses, address) - 1
        if k < 0 or target not in by_address:
            continue
        _, caller, block = blocks[k]
        if address < block["address"] + block["Size"] and block.get("count", 0) > 0:
            yield caller, by_address[target], block["count"], functions[caller].offset(address)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--only")
    parser.add_argument("program")
    args = parser.parse_args()
    functions = [Function(raw) for raw in functions_of(args.program)]
    functions.sort(key=lambda f: f.address)
    out = sys.stdout
    for f in functions:
        if (args.all or f.weight() > 0) and args.only in (None, f.name):
            f.write(out)
    if args.only:
        return
    out.write("program\n")
    for f in functions:
        out.write(f"part {f.size()} {f.weight():.8g} {f.name}\n")
    for caller, callee, count, offset in calls_of(args.program, functions):
        out.write(f"call {caller} {callee} {count:.8g} {offset}\n")


main()
