# SPDX-License-Identifier: Apache-2.0
# What CPython is tested with: it shares no function with train.py. PERCENT scales it.
import array
import bisect
import csv
import datetime
import hashlib
import heapq
import io
import math
import pickle
import string
import struct
import sys
import textwrap
import types

PERCENT = int(sys.argv[1])


def numbers(seed):
    while True:
        seed = (seed * 1103515245 + 12345) & 0x7FFFFFFF
        yield seed >> 8


# A little language: read into a tree, folded, run on a stack.
class Node:
    def __init__(self, kind, *parts):
        self.kind, self.parts = kind, parts

    def __repr__(self):
        return f"({self.kind} {' '.join(map(repr, self.parts))})"


class Reader:
    def __init__(self, text):
        self.tokens = list(self.split(text))
        self.at = 0

    @staticmethod
    def split(text):
        i = 0
        while i < len(text):
            if text[i].isspace():
                i += 1
            elif text[i].isdigit():
                k = i
                while k < len(text) and text[k].isdigit():
                    k += 1
                yield int(text[i:k])
                i = k
            elif text[i].isalpha():
                k = i
                while k < len(text) and text[k].isalnum():
                    k += 1
                yield text[i:k]
                i = k
            else:
                yield text[i]
                i += 1

    def peek(self):
        return self.tokens[self.at] if self.at < len(self.tokens) else None

    def take(self):
        self.at += 1
        return self.tokens[self.at - 1]

    def sum(self):
        left = self.product()
        while self.peek() in ("+", "-"):
            left = Node(self.take(), left, self.product())
        return left

    def product(self):
        left = self.atom()
        while self.peek() in ("*", "/"):
            left = Node(self.take(), left, self.atom())
        return left

    def atom(self):
        token = self.take()
        if token == "(":
            inner = self.sum()
            if self.take() != ")":
                raise SyntaxError("( is not closed")
            return inner
        if token == "-":
            return Node("negate", self.atom())
        return Node("number", token) if isinstance(token, int) else Node("name", token)


def emit(node, code):
    if node.kind == "number":
        code.append(("push", node.parts[0]))
    elif node.kind == "name":
        code.append(("load", node.parts[0]))
    else:
        for part in node.parts:
            emit(part, code)
        code.append((node.kind, None))
    return code


def execute(code, names):
    stack = []
    for what, value in code:
        match what:
            case "push":
                stack.append(value)
            case "load":
                stack.append(names[value])
            case "negate":
                stack.append(-stack.pop())
            case "+" | "-" | "*" | "/":
                b, a = stack.pop(), stack.pop()
                try:
                    stack.append(a + b if what == "+" else a - b if what == "-" else a * b if what == "*" else a // b)
                except ZeroDivisionError:
                    stack.append(0)
    return stack.pop()


def language(n):
    result = 0
    for i in range(n):
        text = f"(a{i % 3} + {i}) * (17 - b) / (c - -{i % 5}) - {i * 3} * (b + a{i % 3} * (c - {i % 11}))"
        names = {"a0": 3, "a1": 4, "a2": 5, "b": i, "c": i % 7}
        result = (result + execute(emit(Reader(text).sum(), []), names)) % 1000003
    return result


def routes(n):
    random = numbers(n)
    edges = {k: [((k * 31 + j * 17) % n, next(random) % 90 + 1) for j in range(4)] for k in range(n)}
    distance, heap = {0: 0}, [(0, 0)]
    while heap:
        far, at = heapq.heappop(heap)
        if far > distance[at]:
            continue
        for to, length in edges[at]:
            if far + length < distance.get(to, math.inf):
                distance[to] = far + length
                heapq.heappush(heap, (far + length, to))
    return len(distance), max(distance.values())


def table(n):
    random, out = numbers(3), io.StringIO()
    writer = csv.writer(out)
    start = datetime.date(2001, 2, 3)
    for i in range(n):
        day = start + datetime.timedelta(days=next(random) % 9000)
        writer.writerow([i, day.isoformat(), f"{next(random) / 997:.3f}", f'"{i % 7}", quoted'])
    by_year = {}
    for row in csv.DictReader(io.StringIO(out.getvalue()), fieldnames=["id", "day", "value", "text"]):
        when = datetime.datetime.strptime(row["day"], "%Y-%m-%d") if int(row["id"]) % 16 == 0 else \
            datetime.datetime.fromisoformat(row["day"])
        by_year.setdefault(when.year, []).append(float(row["value"]))
    return {year: round(sum(values) / len(values), 3) for year, values in sorted(by_year.items())[:3]}


def bytes_pack(n):
    random, packed = numbers(5), bytearray()
    for _ in range(n):
        packed += struct.pack("<IHb", next(random), next(random) & 0xFFFF, next(random) % 100)
    values = array.array("H", (b for _, b, _ in struct.iter_unpack("<IHb", packed)))
    state = [types.SimpleNamespace(**pickle.loads(pickle.dumps({"at": i, "of": [values[i], (i, str(i))]}))) for i in range(n // 4)]
    return hashlib.sha512(packed).hexdigest()[:12], sum(values) % 65521, sum(one.of[0] for one in state) % 65521


def page(n):
    template = string.Template("$name has $count of $what; $$ $name")
    lines, sorted_names = [], []
    for i in range(n):
        name = "".join(chr(97 + (i * k) % 26) for k in (3, 5, 7, 11))
        bisect.insort(sorted_names, name)
        lines.append(template.substitute(name=name.title(), count=i, what="%s%%" % (i % 9)))
    text = textwrap.fill(" ".join(lines), 72).translate(str.maketrans("aeiou", "AEIOU"))
    return len(text.splitlines()), sorted_names[n // 2], text.count("A")


def primes(n):
    sieve = bytearray([1]) * n
    for i in range(2, int(n ** 0.5) + 1):
        if sieve[i]:
            sieve[i * i::i] = bytes(len(range(i * i, n, i)))
    big = math.prod(i for i in range(2, 400) if sieve[i])
    return sum(sieve) - 2, len(str(big)), big % 1000000007, pow(3, big, 998244353)


for turn in range(max(1, PERCENT * 6 // 5)):
    print(turn, language(900), routes(1200), table(1100), bytes_pack(2400), page(500), primes(40000))
