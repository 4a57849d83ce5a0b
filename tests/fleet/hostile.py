# SPDX-License-Identifier: Apache-2.0
"""hostile.py SOCKET-DIRECTORY - a PostgreSQL server that means harm; the database of the URL says which harm

Speaks the protocol (PostgreSQL's documentation, "Frontend/Backend Protocol") far enough to be believed, and then does not.
What clients told it goes to SOCKET-DIRECTORY/told."""
import os
import random
import socket
import struct
import sys
import threading

directory = sys.argv[1]
told = open(os.path.join(directory, "told"), "ab", buffering=0)


def message(kind, body=b""):
    return kind + struct.pack("!I", len(body) + 4) + body


READY = message(b"Z", b"I")
LET_IN = message(b"R", struct.pack("!I", 0)) + message(b"S", b"server_version\x0015.4\x00") + \
    message(b"K", struct.pack("!II", 1, 1)) + READY
DONE = message(b"C", b"SELECT 1\x00") + READY
BOUND = message(b"1") + message(b"2")


def columns(names, kind, form):
    body = struct.pack("!H", len(names))
    for name in names:
        body += name.encode() + b"\x00" + struct.pack("!IhIhih", 0, 0, kind, -1, -1, form)
    return message(b"T", body)


def row(*values):
    return message(b"D", struct.pack("!H", len(values)) +
                   b"".join(struct.pack("!i", -1) if v is None else struct.pack("!i", len(v)) + v for v in values))


HELLO = columns(["interface", "last", "k", "half_life"], 25, 0) + row(b"3", b"0", b"5", b"7")
PULL = ["guid", "hash", "weight", "samples", "executions", "spread"]


def reals(*values):
    return struct.pack("!IIIII", 1, 0, 701, len(values), 1) + b"".join(struct.pack("!Id", 8, v) for v in values)


def function(guid=1, executions=(1.0, 2.0), spread=(1.0, 1.0), weight=1.0, samples=5.0):
    return row(struct.pack("!Q", guid), struct.pack("!Q", 7), struct.pack("!d", weight), struct.pack("!d", samples),
               reals(*executions), reals(*spread))


SEEN = ["page", "weight", "froms", "targets", "weights"]


def array(kind, form, values):
    return struct.pack("!IIIII", 1, 0, kind, len(values), 1) + \
        b"".join(struct.pack("!I", struct.calcsize(form)) + struct.pack(form, v) for v in values)


def page(number=1, weight=1.0, froms=(0, 4), targets=(-1, 64), weights=(5.0, 2.0)):
    return row(struct.pack("!q", number), struct.pack("!d", weight), array(21, "!h", froms), array(20, "!q", targets),
               array(700, "!f", weights))


def pages(way):
    """What comes in place of the rows of what was seen."""
    head = columns(SEEN, 17, 1)
    if way == "seen-endless":
        return (page(number=i) for i in range(1 << 30))
    if way == "seen-wide":
        return (page(number=i, froms=range(512), targets=[-1] * 512, weights=[1.0] * 512) for i in range(1 << 30))
    if way == "seen-claims":  # an array of four million numbers, in 20 bytes
        short = struct.pack("!IIIII", 1, 0, 21, 1 << 22, 1)
        return [head, row(struct.pack("!q", 1), struct.pack("!d", 1), short, short, short), DONE]
    wrong = {
        "seen-nan": dict(weights=(float("nan"), 1.0)),
        "seen-infinite": dict(weights=(float("inf"), 1.0)),
        "seen-negative": dict(weights=(-1.0, 1.0)),
        "seen-enormous": dict(weights=(1e30, 1.0)),
        "seen-outside": dict(froms=(4096, 4)),
        "seen-before": dict(froms=(-1, 4)),
        "seen-far": dict(number=1 << 60),
        "seen-target": dict(targets=(-2, 64)),
        "seen-lengths": dict(targets=(-1,)),
        "seen-weight": dict(weight=1.5),
    }
    return [head, row(*[None] * 5) if way == "seen-nulls" else page(**wrong.get(way, {})), DONE]


def answers(way, connection):
    """What comes in place of the rows of a pull."""
    head = columns(PULL, 17, 1)
    if way == "good" or way.startswith("seen"):  # that the rest fails for its own reason, not because this server is not believed
        return [head, function(), DONE]
    if way == "nan":
        return [head, function(executions=(float("nan"), 1.0)), DONE]
    if way == "infinite":
        return [head, function(samples=float("inf")), DONE]
    if way == "negative":
        return [head, function(executions=(-1.0, 1.0)), DONE]
    if way == "enormous":
        return [head, function(executions=(1e300, 1.0)), DONE]
    if way == "twice":
        return [head, function(), function(), DONE]
    if way == "lengths":
        return [head, function(executions=(1.0,), spread=(1.0, 2.0)), DONE]
    if way == "claims":  # an array of four million numbers, in 20 bytes
        short = struct.pack("!IIIII", 1, 0, 701, 1 << 22, 1)
        one = struct.pack("!Q", 1)
        return [head, row(one, one, struct.pack("!d", 1), one, short, short), DONE]
    if way == "nulls":
        return [head, row(*[None] * 6), DONE]
    if way == "columns":
        return [columns(PULL[:2], 17, 1), row(b"1", b"2"), DONE]
    if way == "copy":
        return [message(b"H", struct.pack("!bh", 0, 0))]
    if way == "copyin":
        return [message(b"G", struct.pack("!bh", 0, 0))]
    if way == "length":  # a message of two gigabytes
        return [head, b"D" + struct.pack("!I", 0x7FFFFFF0) + b"x" * 65536]
    if way == "says":
        return [message(b"E", b"SERROR\x00CXX000\x00M\x1b[31mred\nmorph fleet: all is well\x00\x00") + READY]
    if way == "notices":
        return ([message(b"N", b"SNOTICE\x00C00000\x00M\x1b]0;title\x07\x00\x00")] for _ in iter(int, 1))
    if way == "endless":
        return ([function(guid=i)] for i in range(1 << 40))
    if way == "wide":
        return ([function(guid=i, executions=(1.0,) * 100000, spread=(1.0,) * 100000)] for i in range(1 << 40))
    seed = random.Random(way)
    return [BOUND + head + seed.randbytes(seed.randrange(1, 4000)), DONE]


def serve(connection):
    def take(size):
        data = b""
        while len(data) < size:
            more = connection.recv(size - len(data))
            if not more:
                raise EOFError
            data += more
        return data

    def statement():
        """All messages up to a Sync; the text of the statement."""
        text = b""
        while True:
            kind = take(1)
            body = take(struct.unpack("!I", take(4))[0] - 4)
            told.write(kind + b" " + body + b"\n")
            if kind in b"P":
                text = body
            if kind in (b"S", b"Q"):
                return text

    try:
        start = take(struct.unpack("!I", take(4))[0] - 4)
        way = start.split(b"database\x00")[1].split(b"\x00")[0].decode()
        if way == "silent":
            take(1 << 30)
        if way == "password":  # in the clear, please
            connection.sendall(message(b"R", struct.pack("!I", 3)))
            statement()
        if way.startswith("before"):
            connection.sendall(random.Random(way).randbytes(3000))
            return
        connection.sendall(LET_IN)
        statement()
        if way.startswith("hello"):
            connection.sendall(BOUND + random.Random(way).randbytes(3000))
            return
        if way == "interface":
            connection.sendall(BOUND + HELLO.replace(b"\x00\x01" + b"3", b"\x00\x01" + b"9") + DONE)
            return
        connection.sendall(BOUND + HELLO + DONE)
        statement()
        connection.sendall(BOUND)
        for part in answers(way, connection):
            connection.sendall(part if isinstance(part, bytes) else b"".join(part))
        if way == "good" or way.startswith("seen"):
            statement()
            connection.sendall(BOUND)
            for part in pages(way):
                connection.sendall(part)
        take(1 << 30)
    except (EOFError, OSError):
        pass
    finally:
        connection.close()


server = socket.socket(socket.AF_UNIX)
server.bind(os.path.join(directory, ".s.PGSQL.5432"))
server.listen(16)
print("ready", flush=True)
while True:
    threading.Thread(target=serve, args=(server.accept()[0],), daemon=True).start()
