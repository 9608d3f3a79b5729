#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""calls_same.py - holds what a page is made of by the index of a recording
against what it is made of without it.

usage: calls_same.py [--count N] [--seed N] WINDOW_DUMP CALLS_DUMP FOLDER

All of the recording and N random ranges are read. Of each thread's stacks calls
and times must be the same, and so must be the calls that were not recorded. Each
call of the timeline must be a slice of the trace, and those of a depth of which no
slice is left out have the longest one, at each level of detail; all of them stand for
all slices.
"""
import argparse
import collections
import os
import random
import subprocess
import sys
import tempfile

TRACE, INDEX = "trace.pftrace", "trace.index"
WAIT = "perfrec: waiting for collector"


def lines_of(*command):
    done = subprocess.run(command, stdout=subprocess.PIPE, check=False)
    if done.returncode:
        sys.exit(f"{command[0]}: status {done.returncode}")
    return done.stdout.decode(errors="replace").splitlines()


class Slices:
    """The slices of a range, as the trace has them."""

    def __init__(self, lines, begin):
        self.found = {}
        self.count = collections.Counter()
        self.longest = collections.Counter()
        for line in lines:
            head, name = line.split("|", 1)[0], line.split("|", 1)[1]
            words = head.split(" ")
            if words[2] != "2":
                continue
            rest = 4 + ("after" in words[4:5])
            times = name.rsplit(":", 1)[1].split()
            uuid, end, depth = words[0], int(words[1]), int(words[3])
            start = max(int(times[1]), begin)
            plain = name.startswith("||:0 ")
            self.found[uuid, depth, start, end] = " ".join(words[rest:]) if plain else None
            self.count[uuid, depth] += 1
            self.longest[uuid, depth] = max(self.longest[uuid, depth], end - start)

    def check(self, calls, beyond):
        """What is wrong with the calls of one level, or None."""
        longest, count = collections.Counter(), collections.Counter()
        for uuid, depth, begin, end, stands, name in calls:
            if (uuid, depth, begin, end) not in self.found:
                return f"no such slice: {name} of {uuid}, {depth} deep, {begin} to {end}"
            if self.found[uuid, depth, begin, end] not in (None, name):
                return f"not {self.found[uuid, depth, begin, end]}, but {name}"
            longest[uuid, depth] = max(longest[uuid, depth], end - begin)
            count[uuid, depth] += stands
        for key in self.longest:
            if count[key] == self.count[key] and longest[key] != self.longest[key]:
                return f"the longest of {key}: {longest[key]}, not {self.longest[key]}"
        missing = sum(self.count.values()) - sum(count.values())
        return None if missing == beyond else f"{missing} slices are missing, not {beyond}"


def read_calls(lines):
    sums, levels, beyond, index = [], collections.defaultdict(list), 0, None
    for line in lines:
        kind, rest = line.split(" ", 1)
        if kind == "call":
            level, uuid, depth, begin, end, stands, name = rest.split(" ", 6)
            levels[level].append((uuid, int(depth), int(begin), int(end), int(stands), name))
        elif kind == "beyond":
            beyond = int(rest)
        elif kind == "index":
            index = rest
        else:
            sums.append(line)
    return index, sorted(sums), levels, beyond


def totals(sums):
    """Calls and times of each thread, and how many stacks these are of."""
    out, stacks = collections.Counter(), 0
    for line in sums:
        if line.startswith("sum "):
            _, uuid, calls, ns, _ = line.split(" ", 4)
            out[uuid, "calls"] += int(calls)
            out[uuid, "ns"] += int(ns)
            stacks += 1
    return out, stacks


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--count", type=int, default=3)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("window_dump")
    parser.add_argument("calls_dump")
    parser.add_argument("folder")
    arguments = parser.parse_args()
    random.seed(arguments.seed)
    with tempfile.TemporaryDirectory(dir=".") as scratch:
        trace = os.path.join(os.path.realpath(arguments.folder), TRACE)
        without = os.path.join(scratch, TRACE)
        os.symlink(trace, without)
        begin, end = 0, 0
        for _ in range(1 + arguments.count):
            wanted = [str(begin), str(end)]
            index, sums, levels, beyond = read_calls(lines_of(arguments.calls_dump, trace, *wanted))
            other = read_calls(lines_of(arguments.calls_dump, without, *wanted))
            if (index, other[0]) != ("1", "0"):
                sys.exit("not by the index")
            if sums != other[1]:
                only = sorted(set(sums) ^ set(other[1]))[:6]
                sys.exit(f"{begin} to {end}: " + "; ".join(only))
            folded = read_calls(lines_of(arguments.calls_dump, trace, *wanted, "fold"))
            all_of, stacks = totals(sums)
            few_of, fewer = totals(folded[1])
            if few_of != all_of or fewer > stacks:
                sys.exit(f"{begin} to {end}: folding has lost something")
            slices = Slices(lines_of(arguments.window_dump, without, *wanted), begin)
            for level in levels:
                wrong = slices.check(levels[level], beyond)
                if wrong:
                    sys.exit(f"{begin} to {end}, level {level}: {wrong}")
            if not end:
                times = sorted({ns for key in slices.found for ns in key[2:]})
            begin, end = sorted(random.sample(times, 2))


if __name__ == "__main__":
    main()
