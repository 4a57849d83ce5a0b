# SPDX-License-Identifier: Apache-2.0
# What CPython is trained with: text, records, a simulation and a search, by what the language itself has. PERCENT scales it.
import collections
import json
import random
import re
import sys

PERCENT = int(sys.argv[1])
random.seed(1)


class Account:
    __slots__ = ("name", "balance", "log")

    def __init__(self, name):
        self.name = name
        self.balance = 0
        self.log = []

    def book(self, amount, text):
        self.balance += amount
        self.log.append((amount, text))
        return self.balance


def words(n):
    stems = ["al", "ber", "con", "dor", "el", "fin", "gar", "hol", "im", "jun"]
    return ["".join(random.choices(stems, k=random.randint(1, 4))) for _ in range(n)]


def text_count(n):
    found = collections.Counter()
    for line in (" ".join(words(12)) for _ in range(n)):
        for word in line.split():
            found[word.capitalize()] += 1
    return sorted(found.items(), key=lambda item: (-item[1], item[0]))[:5]


def accounts_keep(n):
    accounts = {name: Account(name) for name in sorted(set(words(60)))}
    names = list(accounts)
    for i in range(n):
        accounts[names[i * 7 % len(names)]].book(i % 97 - 40, f"booking {i:06d}")
    return sum(account.balance for account in accounts.values()), max(len(a.log) for a in accounts.values())


def records_pass(n):
    records = [{"id": i, "tags": words(3), "size": i / 7, "ok": i % 3 == 0, "next": None} for i in range(n)]
    back = json.loads(json.dumps(records, sort_keys=True))
    return len(back), sum(len(record["tags"][0]) for record in back)


def lines_match(n):
    pattern = re.compile(r"(?P<stem>[a-d]\w+?)(?:or|on)\b.*?(\d{2,4})")
    hits = 0
    for i in range(n):
        found = pattern.search(f"{' '.join(words(4))} at {i * 37 % 5000}")
        if found:
            hits += len(found.group("stem"))
    return hits


def bodies_move(n):
    bodies = [[random.random() for _ in range(6)] for _ in range(5)]
    for _ in range(n):
        for i, a in enumerate(bodies):
            for b in bodies[i + 1:]:
                dx, dy, dz = a[0] - b[0], a[1] - b[1], a[2] - b[2]
                force = 0.0001 / (dx * dx + dy * dy + dz * dz + 0.01) ** 1.5
                a[3] -= dx * force
                b[3] += dx * force
                a[4] -= dy * force
                b[4] += dy * force
        for body in bodies:
            body[0] += body[3]
            body[1] += body[4]
            body[2] += body[5]
    return round(sum(body[0] for body in bodies), 6)


def queens(n, row=0, columns=frozenset(), up=frozenset(), down=frozenset()):
    if row == n:
        return 1
    return sum(queens(n, row + 1, columns | {c}, up | {row + c}, down | {row - c})
               for c in range(n) if c not in columns and row + c not in up and row - c not in down)


for turn in range(max(1, PERCENT * 6 // 5)):
    print(turn, text_count(900), accounts_keep(9000), records_pass(700), lines_match(2500), bodies_move(400), queens(6))
