#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""memo.py MEMO OUT PART WHAT - a memo (docs/format-memo.md) with one part changed, and all its checksums right

PART: ir, code, proofs, halves. WHAT: text: a byte in the middle of the largest piece; zero: the first object becomes zeros;
fewer: a module fewer than there are; claim: a size that nobody has.
"""

import struct
import sys
import zlib

KIND, VERSION = 5, 1


def pack(payload, level):
    stored, flags = payload, 0
    if level:
        deflated = zlib.compress(payload, level)
        if len(deflated) < len(payload):
            stored, flags = deflated, 1
    head = b"\x89MORPH\r\n" + struct.pack("<HHIQI", KIND, VERSION, flags, len(payload), len(stored))
    return head + struct.pack("<I", zlib.crc32(stored, zlib.crc32(head))) + stored


def unpack(container):
    flags = struct.unpack("<I", container[12:16])[0]
    return zlib.decompress(container[32:]) if flags & 1 else container[32:]


def uleb(data, at):
    value = shift = 0
    while True:
        value |= (data[at] & 127) << shift
        shift += 7
        at += 1
        if not data[at - 1] & 128:
            return value, at


def change(part, payload, what):
    payload = bytearray(payload)
    if part != "code":
        payload[len(payload) // 2] ^= 1
        return bytes(payload)
    if what == "fewer":
        payload[0] -= 1
        return bytes(payload)
    _, at = uleb(payload, 0)
    size, start = uleb(payload, at + 1)
    if what == "claim":
        return bytes(payload[:at + 1]) + b"\xff" * 9 + b"\x01" + bytes(payload[start:])
    if what == "zero":
        payload[start:start + size] = bytes(size)
        return bytes(payload)
    # The largest section of code of the first object.
    sections = struct.unpack_from("<Q", payload, start + 0x28)[0]
    n = struct.unpack_from("<H", payload, start + 0x3c)[0]
    best = (0, 0)
    for i in range(n):
        kind, flags = struct.unpack_from("<IQ", payload, start + sections + 64 * i + 4)
        offset, length = struct.unpack_from("<QQ", payload, start + sections + 64 * i + 24)
        if kind == 1 and flags & 4:
            best = max(best, (length, offset))
    payload[start + best[1] + best[0] // 2] ^= 1
    return bytes(payload)


def main(memo, out, part, what):
    payload = unpack(open(memo, "rb").read())
    parts, at = [], 32
    for name in ("ir", "code", "proofs", "halves"):
        size = struct.unpack_from("<Q", payload, at)[0]
        bytes_of = payload[at + 8:at + 8 + size]
        parts.append(pack(change(part, unpack(bytes_of), what), 1) if name == part else bytes_of)
        at += 8 + size
    made = payload[:32] + b"".join(struct.pack("<Q", len(one)) + one for one in parts)
    open(out, "wb").write(pack(made, 0))


if __name__ == "__main__":
    main(*sys.argv[1:])
