#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""kept_same.py - holds what --keep last has kept of a trace against all of it:
cuts of random ranges in the part that was kept, packet by packet.

usage: kept_same.py [--count N] [--seed N] PERFREC KEPT WHOLE

KEPT and WHOLE are folders, each with a trace.pftrace. KEPT's says from when on
it has all. A range begins there at the earliest. What belongs to threads that had
ended by then may be missing: descriptors of tracks, and last values.
"""
import argparse
import ast
import json
import os
import random
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))
from cut_check import fields, packets  # noqa: E402
from cut_same import ATTRIBUTES, read_cut  # noqa: E402

UUID = 89
ORIGIN, KEPT = "perfrec.cut_origin_ns", "perfrec.cut_kept_from_ns"


class Tools:
    """What read_cut() needs."""

    def __init__(self, perfrec, scratch):
        self.perfrec, self.scratch = perfrec, scratch


def attribute(path, key):
    """The number of an attribute of the trace at path, or None."""
    with open(path, "rb") as file:
        data = file.read()
    for parts in packets(data):
        for _, attribute in fields(dict(parts).get(ATTRIBUTES, b"")):
            entry = dict(fields(attribute))
            if entry.get(1) == key.encode():
                return entry.get(2)
    return None


def origin(tools, folder):
    path = os.path.join(tools.scratch, "origin")
    subprocess.run([tools.perfrec, "cut", "--from", "0ns", "--to", "1ns", "-o",
                    path, folder], check=True, stdout=subprocess.DEVNULL,
                   stderr=subprocess.DEVNULL)
    number = attribute(path, ORIGIN)
    os.remove(path)
    return number


def last_ns(tools, folder):
    """The time of the last event, counted from the origin."""
    done = subprocess.run([tools.perfrec, "report", "--json", "--from", "0ns",
                           folder], stdout=subprocess.PIPE, check=True)
    return json.loads(done.stdout)["to_ns"]


def tracks_of(descriptors):
    """The tracks that packets describe, which are texts."""
    return {dict(fields(dict(ast.literal_eval(text))[60]))[1]
            for text in descriptors}


def is_lost(part, described):
    """Whether the packet has a value or a state of a track that is not known."""
    event = dict(fields(dict(part).get(11, b"")))
    return event.get(9) in (4, 5) and event.get(11) not in described


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--count", type=int, default=20)
    parser.add_argument("--seed", type=int)
    parser.add_argument("perfrec")
    parser.add_argument("kept")
    parser.add_argument("whole")
    given = parser.parse_args()
    seed = given.seed if given.seed is not None else random.randrange(1 << 32)
    dice = random.Random(seed)
    with tempfile.TemporaryDirectory() as scratch:
        tools = Tools(given.perfrec, scratch)
        kept_from = attribute(os.path.join(given.kept, "trace.pftrace"), KEPT)
        if kept_from is None:
            sys.exit("the trace does not say from when on it has all")
        kept_origin = origin(tools, given.kept)
        whole_origin = origin(tools, given.whole)
        end = kept_origin + last_ns(tools, given.kept)
        shown = 0
        for number in range(given.count):
            start = dice.randint(kept_from + 1, max(end, kept_from + 2))
            if number == 0:
                start = kept_from + 1
            length = int(10 ** dice.uniform(2, 8))
            cuts = [read_cut(tools, folder,
                             ["--from", f"{start - zero}ns", "--to",
                              f"{start + length - zero}ns"], name)
                    for folder, zero, name in (
                        (given.kept, kept_origin, "kept"),
                        (given.whole, whole_origin, "whole"))]
            if cuts[0][0] != cuts[1][0]:
                sys.exit(f"seed {seed}: status {cuts[0][0]} and {cuts[1][0]} "
                         f"at {start} +{length}: {cuts[0][1]}{cuts[1][1]}")
            for sequence in sorted(set(cuts[0][2]) | set(cuts[1][2])):
                one, other = (cut[2].get(sequence, []) for cut in cuts)
                if sequence == -1:
                    other = [part for part in other if part in one]
                    described = tracks_of(one)
                else:
                    one, other = (
                        [part for part in parts
                         if UUID not in dict(part)
                         and not is_lost(part, described)]
                        for parts in (one, other))
                if not one and sequence >= 0 and not any(
                        11 in dict(part) for part in other):
                    continue
                if one != other:
                    at = next((i for i, both in enumerate(zip(one, other))
                               if both[0] != both[1]), min(len(one), len(other)))
                    sys.exit(f"seed {seed}: from {start} for {length} ns, "
                             f"sequence {sequence}: packet {at} of {len(one)} "
                             f"and {len(other)} differs:\n{one[at:at + 1]}\n"
                             f"{other[at:at + 1]}")
                shown += len(one)
        print(f"{given.count} ranges are the same, {shown} packets (seed {seed})")


main()
