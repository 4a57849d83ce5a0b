#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""gain.py BENCH-DIRECTORY MODE ROUNDS PROGRAM... - predicted against measured gains as build/bench/gain.json

Gains are shares of CPU time that are saved, in points here. A prediction is adjusted as morphd does it
(measure_calibration() in manager/act/measure.c): times the factor that fits what was measured on this machine best, here
of all other programs, for the program itself is not known beforehand.

    gain_predicted_error        median |adjusted prediction - measured|
    gain_predicted_error_raw    the same of what the editor says
    gain_sign_wrong             programs whose measured interval excludes 0 and whose prediction has the other sign
"""

import os
import statistics
import sys

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../measure"))
import measure

PRIOR = 0.0025  # as in measure.c: one gain of five points, known to a point
FACTOR_MAX = 2.0


def factor_of(rows):
    """Least squares through the origin, each weighed by its interval; half of that is about two standard errors."""
    both = predicted = PRIOR
    for row in rows:
        error = max((row["high"] - row["low"]) / 4, 0.005)
        weight = 0.0001 / (error * error)
        both += weight * row["predicted"] * row["measured"]
        predicted += weight * row["predicted"] ** 2
    return min(max(both / predicted, 0), FACTOR_MAX)


def predicted_of(directory):
    """Of all the program's files that were edited, by what of the samples each had."""
    reports = [
        measure.read_json(os.path.join(directory, name))
        for name in sorted(os.listdir(directory) if os.path.isdir(directory) else [])
        if name.startswith("report-") and name.endswith(".json")
    ]
    weights = [report.get("samples") or 1 for report in reports if report and "predicted_gain" in report]
    gains = [report["predicted_gain"] for report in reports if report and "predicted_gain" in report]
    return sum(g * w for g, w in zip(gains, weights)) / sum(weights) if gains else None


def program_read(bench, name):
    directory = os.path.join(bench, name)
    pairs = measure.read_json(os.path.join(directory, "gain", "pairs.json"))
    predicted = predicted_of(os.path.join(directory, "morph"))
    made = [v for v in (pairs or {}).get("variants", []) if "/morph/" in v["directory"]]
    if not made or predicted is None or "ratio" not in made[0]:
        why = measure.read_text(os.path.join(directory, "morph", "failed")).strip() or "not measured"
        return {"name": name, "failed": why}
    ratio = made[0]["ratio"]
    return {
        "name": name,
        "predicted": predicted,
        "measured": 1 - ratio["median"],
        "low": 1 - ratio["high"],
        "high": 1 - ratio["low"],
    }


def main():
    bench, mode, rounds = sys.argv[1], sys.argv[2], int(sys.argv[3])
    programs = [program_read(bench, name) for name in sys.argv[4:]]
    rows = [row for row in programs if "failed" not in row]
    for row in rows:
        row["factor"] = factor_of([other for other in rows if other is not row])
        row["adjusted"] = row["factor"] * row["predicted"]
        row["error_points"] = 100 * abs(row["adjusted"] - row["measured"])
        row["sign_wrong"] = not row["low"] <= 0 <= row["high"] and row["adjusted"] * row["measured"] < 0
    measure.write_json(
        os.path.join(bench, "gain.json"),
        {
            "table": "gain",
            "mode": mode,
            "rounds": rounds,
            "machine": measure.machine(),
            "meaning": "Gains that edits are predicted to have, against those that were measured; points of CPU time.",
            "gain_predicted_error": statistics.median(row["error_points"] for row in rows) if rows else None,
            "gain_predicted_error_raw": statistics.median(
                100 * abs(row["predicted"] - row["measured"]) for row in rows
            )
            if rows
            else None,
            "gain_sign_wrong": sum(row["sign_wrong"] for row in rows),
            "factor": factor_of(rows),
            "programs": programs,
        },
    )


if __name__ == "__main__":
    main()
