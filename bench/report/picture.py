# SPDX-License-Identifier: Apache-2.0
"""Pictures for results.html, as markup that needs nothing else: bars and curves (SVG), heat maps (PNG in the page)."""

import base64
import html
import math
import re
import struct
import subprocess
import zlib

LINE_BYTES = 64
COLORS = {"less": "#2a7f4f", "more": "#b8442f", "no difference seen": "#8a8f98"}


def bars(rows):
    """ROWS: (label, {value, low, high, verdict}); 1 is marked, intervals are whiskers."""
    rows = [(label, entry) for label, entry in rows if entry]
    if not rows:
        return ""
    low = min(0.8, min(entry["low"] for _, entry in rows) - 0.02)
    high = max(1.1, max(entry["high"] for _, entry in rows) + 0.02)
    left, width, step = 300, 520, 24

    def x(value):
        return left + (value - low) / (high - low) * width

    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{left + width + 70}" height="{step * len(rows) + 34}" '
           'font-family="system-ui, sans-serif" font-size="12">']
    tick = math.ceil(low * 20) / 20
    while tick <= high:
        out.append(f'<line x1="{x(tick):.1f}" x2="{x(tick):.1f}" y1="4" y2="{step * len(rows) + 8}" '
                   f'stroke="{"#444" if abs(tick - 1) < 1e-9 else "#ddd"}"/>'
                   f'<text x="{x(tick):.1f}" y="{step * len(rows) + 24}" text-anchor="middle">{tick:.2f}</text>')
        tick = round(tick + 0.05, 2)
    for i, (label, entry) in enumerate(rows):
        y = i * step + 8
        start, end = sorted((x(1), x(entry["value"])))
        out.append(f'<text x="{left - 8}" y="{y + 13}" text-anchor="end">{html.escape(label)}</text>'
                   f'<rect x="{start:.1f}" y="{y}" width="{max(end - start, 1):.1f}" height="{step - 8}" '
                   f'fill="{COLORS[entry["verdict"]]}"/>'
                   f'<path d="M{x(entry["low"]):.1f} {y + 3}v10m0-5H{x(entry["high"]):.1f}m0-5v10" '
                   'stroke="#000" fill="none"/>'
                   f'<text x="{x(max(entry["high"], 1)) + 6:.1f}" y="{y + 13}">{entry["value"]:.3f}</text>')
    return "".join(out) + "</svg>"


def curve(points):
    """POINTS: (rate, {percent | value, low, high}); rate on a logarithmic axis."""
    points = sorted((rate, entry) for rate, entry in points if rate > 0)
    points = [(rate, entry.get("percent", entry.get("value")), entry.get("low"), entry.get("high"))
              for rate, entry in points]
    points = [p for p in points if p[1] is not None]
    if not points:
        return ""
    width, height, left, bottom = 560, 260, 50, 30
    first, last = math.log(points[0][0]), math.log(points[-1][0])
    top = max(0.5, max(p[3] if p[3] is not None else p[1] for p in points) * 1.1)
    low = min(0.0, min(p[2] if p[2] is not None else p[1] for p in points) * 1.1)

    def x(rate):
        return left + 20 + (math.log(rate) - first) / max(last - first, 1e-9) * (width - left - 40)

    def y(percent):
        return 10 + (top - percent) / (top - low) * (height - bottom - 10)

    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
           'font-family="system-ui, sans-serif" font-size="12">'
           f'<line x1="{left}" x2="{width}" y1="{y(0):.1f}" y2="{y(0):.1f}" stroke="#444"/>'
           f'<text x="4" y="{y(0) + 4:.1f}">0 %</text><text x="4" y="{y(top) + 8:.1f}">{top:.1f} %</text>']
    path = "L".join(f"{x(p[0]):.1f} {y(p[1]):.1f}" for p in points)
    out.append(f'<path d="M{path}" stroke="#2a5f9f" fill="none"/>')
    for rate, percent, lower, upper in points:
        if lower is not None and upper is not None:
            out.append(f'<path d="M{x(rate):.1f} {y(lower):.1f}V{y(upper):.1f}" stroke="#000"/>')
        out.append(f'<circle cx="{x(rate):.1f}" cy="{y(percent):.1f}" r="3" fill="#2a5f9f"/>'
                   f'<text x="{x(rate):.1f}" y="{height - 8}" text-anchor="middle">{rate:g} Hz</text>')
    return "".join(out) + "</svg>"


def text_range(path):
    """(first line, lines) of the sections with code, in 64-byte lines of file addresses; None without any."""
    out = subprocess.run(["size", "-A", "-d", path], capture_output=True, text=True, check=False).stdout
    sections = [(int(address), int(size))
                for size, address in re.findall(r"^\.text\S*\s+(\d+)\s+(\d+)", out, re.M) if int(size)]
    if not sections:
        return None
    first = min(address for address, _ in sections) // LINE_BYTES
    last = max(address + size for address, size in sections) // LINE_BYTES
    return first, last - first + 1


def png(width, height, pixels):
    """PIXELS: rows of RGB bytes."""
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    raw = b"".join(b"\0" + row for row in pixels)
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0))
            + chunk(b"IDAT", zlib.compress(raw, 9)) + chunk(b"IEND", b""))


def glow(share):
    """Black, violet, orange, white."""
    stops = [(0, 0, 0), (40, 15, 90), (190, 55, 85), (250, 150, 30), (255, 255, 220)]
    at = min(max(share, 0.0), 1.0) * (len(stops) - 1)
    i = min(int(at), len(stops) - 2)
    return bytes(int(a + (at - i) * (b - a)) for a, b in zip(stops[i], stops[i + 1]))


def heat(path, prefix):
    """The hottest object of heat file PATH (see bench/measure/counts) below PREFIX, one pixel a line, as an <img>."""
    objects = {}
    try:
        with open(path, encoding="utf-8") as file:
            for line in file:
                thing, at, count = line.rsplit(" ", 2)
                if thing.startswith(prefix + "/"):
                    objects.setdefault(thing, {})[int(at)] = int(count)
    except OSError:
        return None
    if not objects:
        return None
    thing = max(objects, key=lambda name: sum(objects[name].values()))
    extent = text_range(thing)
    if not extent:
        return None
    first, lines = extent
    width = max(64, 1 << round(math.log2(math.sqrt(lines * 2))))
    height = -(-lines // width)
    top = math.log1p(max(objects[thing].values()))
    rows = []
    for y in range(height):
        rows.append(b"".join(
            glow(0.15 + 0.85 * math.log1p(count) / top) if count else (b"\x18\x18\x1c" if inside else b"\xff\xff\xff")
            for x in range(width)
            for inside in [y * width + x < lines]
            for count in [objects[thing].get(first + y * width + x, 0)]))
    data = base64.b64encode(png(width, height, rows)).decode()
    return f'<img class="heat" alt="heat map" src="data:image/png;base64,{data}">'
