#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""otlp_check.py OTLP PPROF - do an OTLP profile and a pprof profile of the same samples say the same?

Both are decoded by protoc. What OpenTelemetry's protocol asks of a message is checked: every number is one of its table's,
entry 0 of each table is empty, nothing stands twice or for nothing. Prints how many samples and stacks there are."""

import collections
import gzip
import os
import re
import subprocess
import sys

DATA = os.path.dirname(os.path.abspath(__file__)) + "/profiles/export/data"
LABELS = {"user": "process.owner", "log": "morph.log", "process": "process.title"}


def text_of(quoted):
    """A string as protoc prints it: bytes that are not ASCII are octal."""
    plain = {"n": 10, "r": 13, "t": 9, '"': 34, "'": 39, "\\": 92}
    out = bytearray()
    for escape, one in re.findall(r"\\([0-7]{3}|.)|([^\\])", quoted[1:-1]):
        if one:
            out += one.encode()
        else:
            out.append(int(escape, 8) if len(escape) == 3 else plain[escape])
    return out


def decoded(message, schema, data):
    made = subprocess.run(["protoc", "-I", DATA, f"--decode={message}", schema], input=data, capture_output=True, check=True)
    stack = [{}]
    for line in made.stdout.decode().splitlines():
        line = line.strip()
        if line == "}":
            stack.pop()
            continue
        name, value = line[:-2] if line.endswith(" {") else line.split(": ", 1)[0], line.split(": ", 1)[-1]
        assert not name.isdigit(), f"{schema} does not know the field {name} in {list(stack[-1])}"
        if line.endswith(" {"):
            stack.append({})
            value = stack[-1]
        elif value.startswith('"'):
            value = text_of(value)
        elif value in ("true", "false"):
            value = value == "true"
        else:
            value = int(value)
        stack[-2 if line.endswith(" {") else -1].setdefault(name, []).append(value)
    assert len(stack) == 1
    return stack[0]


def one(message, name, otherwise=0):
    values = message.get(name, [otherwise])
    assert len(values) == 1, (name, values)
    return values[0]


class Otlp:
    def __init__(self, data):
        whole = decoded("otlp.ProfilesData", "otlp.proto", data)
        self.tables = one(whole, "dictionary")
        assert sorted(self.tables) == sorted(f"{k}_table" for k in (
            "mapping", "location", "function", "link", "string", "attribute", "stack")), self.tables.keys()
        self.used = collections.defaultdict(set)
        self.profiles = one(one(whole, "resource_profiles"), "scope_profiles")
        assert one(one(self.profiles, "scope"), "name") == b"morph"
        self.profiles = self.profiles["profiles"]
        for name, table in self.tables.items():
            if name == "link_table":
                assert table == [{"trace_id": [b"\0" * 16], "span_id": [b"\0" * 8]}], table
                continue
            assert not table[0], (name, table[0])
            keys = [repr(x) for x in table]
            assert len(set(keys)) == len(keys), f"{name}: something stands twice"

    def at(self, table, number):
        self.used[table].add(number)
        return self.tables[f"{table}_table"][number]

    def text(self, message, name):
        found = self.at("string", one(message, name))
        return bytes(found).decode() if found else ""

    def attributes(self, message):
        ret = {}
        for number in message.get("attribute_indices", []):
            attribute = self.at("attribute", number)
            key = self.text(attribute, "key_strindex")
            assert key and key not in ret
            ret[key] = one(one(attribute, "value"), "string_value").decode()
        return ret

    def place(self, number):
        location = self.at("location", number)
        mapping = self.at("mapping", one(location, "mapping_index"))
        line = one(location, "lines", {})
        function = self.at("function", one(line, "function_index"))
        image = self.text(mapping, "filename_strindex")
        assert one(location, "address") < one(mapping, "memory_limit", 1)
        kind = self.attributes(location).get("profile.frame.type")
        assert kind in ("native", "kernel", None) and (kind == "kernel") == (image == "[kernel]" and kind is not None)
        assert self.text(function, "name_strindex") == self.text(function, "system_name_strindex")
        return (image, self.attributes(mapping).get("process.executable.build_id.gnu", ""), one(location, "address"),
                self.text(function, "name_strindex"), self.text(function, "filename_strindex"), one(line, "line"))

    def rows(self):
        ret = collections.defaultdict(dict)
        for profile in self.profiles:
            kind = one(profile, "sample_type")
            kind = self.text(kind, "type_strindex") + "/" + self.text(kind, "unit_strindex")
            for sample in profile.get("samples", []):
                stack = self.at("stack", one(sample, "stack_index"))
                key = (tuple(self.place(n) for n in stack.get("location_indices", [])),
                       frozenset(self.attributes(sample).items()))
                assert kind not in ret[key], f"a sample stands twice: {key}"
                ret[key][kind] = one(sample, "values")
        for name, table in self.tables.items():
            left = set(range(1, len(table))) - self.used[name.removesuffix("_table")]
            assert not left, f"{name}: nothing refers to {[table[n] for n in left]}"
        return ret

    def time(self):
        times = {(one(p, "time_unix_nano"), one(p, "duration_nano")) for p in self.profiles}
        assert len(times) == 1
        return times.pop()


def pprof_rows(data):
    whole = decoded("perftools.profiles.Profile", "profile.proto", gzip.decompress(data))
    string = lambda m, k: bytes(whole["string_table"][one(m, k)]).decode()
    functions, locations, mappings = ({one(x, "id"): x for x in whole.get(k, [])} for k in ("function", "location", "mapping"))
    kinds = [string(t, "type") + "/" + string(t, "unit") for t in whole["sample_type"]]

    def place(number):
        location = locations[number]
        mapping, line = mappings[one(location, "mapping_id")], one(location, "line")
        function = functions[one(line, "function_id")]
        return (string(mapping, "filename"), string(mapping, "build_id"), one(location, "address"),
                string(function, "name"), string(function, "filename"), one(line, "line"))

    ret = collections.defaultdict(dict)
    for sample in whole.get("sample", []):
        labels = frozenset((LABELS[string(x, "key")], string(x, "str")) for x in sample.get("label", []))
        key = tuple(place(n) for n in sample["location_id"]), labels
        for kind, value in zip(kinds, sample["value"], strict=True):
            if value:
                ret[key][kind] = ret[key].get(kind, 0) + value
    return ret, (one(whole, "time_nanos"), one(whole, "duration_nanos"))


def main():
    with open(sys.argv[1], "rb") as f:
        otlp = Otlp(f.read())
    with open(sys.argv[2], "rb") as f:
        theirs, time = pprof_rows(f.read())
    ours = otlp.rows()
    assert otlp.time() == time, (otlp.time(), time)
    different = [f"{key}: otlp {ours.get(key)}, pprof {theirs.get(key)}"
                 for key in ours.keys() | theirs.keys() if ours.get(key) != theirs.get(key)]
    assert not different, "\n".join(different)
    sums = collections.Counter()
    for values in ours.values():
        sums.update(values)
    print(f"{len(ours)} stacks", *(f"{k} {v}" for k, v in sorted(sums.items())))


if __name__ == "__main__":
    main()
