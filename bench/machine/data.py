#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""data.py DIRECTORY SEED - what somebody works with: mail, a web log, a tree of files, a picture, a sound; the same bytes for a seed"""

import math
import os
import random
import struct
import sys
import wave
import zlib

SYLLABLES = "ba co de fi gu la me no pa ri so tu va wi ze tion er ing ed al".split()


def words_make(rng, count):
    made = {"".join(rng.choices(SYLLABLES, k=rng.randint(1, 4))) for _ in range(count)}
    return sorted(made | {"offer", "meeting", "report", "reeport"})


def sentence(rng, words, weights, most=14):
    return " ".join(rng.choices(words, weights, k=rng.randint(3, most)))


def mail(path, rng, words, weights):
    with open(path, "w", encoding="ascii") as file:
        for number in range(7000):
            file.write(f"From: {rng.choice(words[:90])}@{rng.choice(words[:9])}.example\nTo: me@here.example\n"
                       f"Subject: {sentence(rng, words, weights, 6)}\nDate: {rng.randint(0, 23):02}:{rng.randint(0, 59):02}\n\n")
            for _ in range(rng.randint(2, 14)):
                file.write(sentence(rng, words, weights) + rng.choice([".", "!", " <me@here.example>"]) + "\n")
            file.write(f"\nMessage-Id: {number}\n")


def log(directory, rng, words):
    lines, rows, elements = [], [], []
    for number in range(60000):
        host = f"10.{rng.randint(0, 9)}.{rng.randint(0, 3)}.{rng.randint(1, 99)}"
        time = f"[{1 + number // 4000:02}/Nov/2026:{number // 1000 % 24:02}:{number // 17 % 60:02}:{number % 60:02}]"
        method, route = rng.choice(["GET", "GET", "GET", "PUT", "POST"]), "/" + "/".join(rng.choices(words[:60], k=rng.randint(1, 3)))
        status, size = rng.choice([200, 200, 200, 304, 404, 500]), int(rng.expovariate(1 / 6000))
        lines.append(f'{host} - - {time} "{method} {route} HTTP/1.1" {status} {size}\n')
        rows.append(f"{host},{time},{method},{route},{status},{size}\n")
        elements.append(f'<request host="{host}" status="{status}"><route>{route}</route><bytes>{size}</bytes></request>')
    for name, text in (("log", "".join(lines)), ("log.csv", "".join(rows)),
                       ("log.xml", "<log>" + "".join(elements) + "</log>")):
        with open(f"{directory}/{name}", "w", encoding="ascii") as file:
            file.write(text)


def tree(directory, rng, words, weights):
    for folder in rng.sample(words, 40):
        os.makedirs(f"{directory}/{folder}/{folder[::-1]}", exist_ok=True)
        for number in range(20):
            place = rng.choice([folder, f"{folder}/{folder[::-1]}"])
            with open(f"{directory}/{place}/{rng.choice(words)}{number}.txt", "w", encoding="ascii") as file:
                file.writelines(sentence(rng, words, weights) + "\n" for _ in range(rng.randint(0, 120)))


def picture(directory, rng):
    width, height = 900, 700
    a, b, c = (rng.uniform(0.004, 0.03) for _ in range(3))
    rows = []
    for y in range(height):
        row = bytearray()
        for x in range(width):
            base = 127 + 80 * math.sin(a * x + b * y) + 30 * math.sin(c * x * y / 90)
            row += bytes((int(base) & 255, (x + y) * 255 // (width + height), (x ^ y) & 255))
        rows.append(bytes(row))
    with open(f"{directory}/picture.ppm", "wb") as file:
        file.write(f"P6\n{width} {height}\n255\n".encode() + b"".join(rows))

    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    with open(f"{directory}/picture.png", "wb") as file:
        file.write(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)) +
                   chunk(b"IDAT", zlib.compress(b"".join(b"\0" + row for row in rows))) + chunk(b"IEND", b""))


def sound(path, rng):
    tones = [(rng.uniform(100, 2000), rng.uniform(0.05, 0.2)) for _ in range(6)]
    frames = bytearray()
    for i in range(44100 * 20):
        value = sum(volume * math.sin(2 * math.pi * tone * i / 44100 + math.sin(i / 9000)) for tone, volume in tones)
        frames += struct.pack("<hh", int(12000 * value) + rng.randint(-90, 90), int(9000 * value))
    with wave.open(path, "wb") as file:
        file.setnchannels(2)
        file.setsampwidth(2)
        file.setframerate(44100)
        file.writeframes(bytes(frames))


def main(argv):
    directory, seed = argv[1], int(argv[2])
    rng = random.Random(seed)
    os.makedirs(directory)
    words = words_make(rng, 900)
    weights = [1 / (i + 3) for i in range(len(words))]
    rng.shuffle(words)
    mail(directory + "/mail", rng, words, weights)
    log(directory, rng, words)
    tree(directory + "/tree", rng, words, weights)
    picture(directory, rng)
    sound(directory + "/sound.wav", rng)


if __name__ == "__main__":
    main(sys.argv)
