#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""flight_found.py - which of the slow requests that were planted are whole in a
snapshot.

usage: flight_found.py PERFREC RECORDING PLANTED EXPRESSION THREADS

PLANTED has a line with the thread (0: not known), the begin and the end of each,
CLOCK_BOOTTIME in ns; the slow call lies between these. EXPRESSION is what perfrec find
looks for in each snapshot. Prints how many were planted, how many of them are
whole in a snapshot, how many of these have calls of THREADS threads at least, how
many snapshots there are, and their bytes.
"""
import glob
import json
import os
import subprocess
import sys


def calls_of(perfrec, expression, snapshot):
    """(thread, begin, end, threads in the snapshot) of each slow call that is
    whole."""
    with open(f"{snapshot}/why.json", encoding="utf-8") as file:
        why = json.load(file)
    done = subprocess.run(
        [perfrec, "find", "--json", "--limit", "0", expression, snapshot],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    # One that was asked for may have no slow call.
    found = json.loads(done.stdout or '{"calls": []}')
    for call in found["calls"]:
        if not call["unfinished"] and call["begin_ns"] > 0:
            begin = why["from_ns"] + call["begin_ns"]
            yield (call["tid"], begin, begin + call["duration_ns"],
                   why["trace"]["threads"])


def main():
    perfrec, recording, planted, expression, threads = sys.argv[1:]
    snapshots = glob.glob(f"{recording}/snapshots/*")
    calls = sorted((call for snapshot in snapshots for call in
                    calls_of(perfrec, expression, snapshot)),
                   key=lambda call: call[1])
    total = whole = beside = 0
    with open(planted, encoding="utf-8") as file:
        for line in file:
            tid, begin, end = map(int, line.split())
            total += 1
            seen = [call for call in calls
                    if begin <= call[1] and call[2] <= end
                    and tid in (0, call[0])]
            whole += bool(seen)
            beside += any(call[3] >= int(threads) for call in seen)
    size = sum(os.path.getsize(f"{snapshot}/trace.pftrace")
               for snapshot in snapshots)
    print(total, whole, beside, len(snapshots), size)


if __name__ == "__main__":
    main()
