#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""code_entry.py FROM TO - the code in FROM under the key of TO (docs/format-code.md), with checksums that are right

code_entry.py --nop-odd TO: the first instruction of odd(), if it is defined there, becomes two of one byte
"""

import struct
import sys
import zlib


def unpack(path):
    with open(path, "rb") as file:
        container = file.read()
    flags = struct.unpack("<I", container[12:16])[0]
    return zlib.decompress(container[32:]) if flags & 1 else container[32:]


def sections(data):
    """(name, type, offset, size, link) of each."""
    start, = struct.unpack_from("<Q", data, 0x28)
    count, names = struct.unpack_from("<HH", data, 0x3c)
    heads = [struct.unpack_from("<IIQQQQI", data, start + 64 * i) for i in range(count)]
    for name, kind, _, _, offset, size, link in heads:
        begin = heads[names][4] + name
        yield data[begin:data.index(b"\0", begin)].decode(), kind, offset, size, link


def nop_odd(data):
    data = bytearray(data)
    for name, kind, offset, size, _ in sections(bytes(data)):
        if name == ".text.odd" and kind == 1 and size:
            data[offset:offset + 2] = b"\x90\x90"
    return bytes(data)


def main(source, target):
    payload = unpack(target)
    payload = payload[:32] + (nop_odd(payload[32:]) if source == "--nop-odd" else unpack(source)[32:])
    head = b"\x89MORPH\r\n" + struct.pack("<HHIQI", 6, 1, 0, len(payload), len(payload))
    with open(target, "wb") as file:
        file.write(head + struct.pack("<I", zlib.crc32(payload, zlib.crc32(head))) + payload)


main(*sys.argv[1:])
