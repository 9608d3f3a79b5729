#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""index_same.py - holds what readers find by the index of a recording against
what they find without it, in random ranges.

usage: index_same.py [--count N] [--damage N] [--batches N] [--torn] [--seed N]
                     PERFREC WINDOW_DUMP FOLDER

All of it and each of N ranges are read by window_dump and by perfrec report, once with
trace.index and once in a folder that does not have it. Some ranges begin and
end at the times of events. --damage N: so many times the index is cut short,
has a byte changed, or has bytes behind its end; the answers must be the same, and
those of curves_check, which lies beside WINDOW_DUMP, right.
--batches N: the index has its first N batches only, and the rest of the trace is
not told of. --torn: the trace is damaged somewhere.
"""
import argparse
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile

from often import often

TRACE, INDEX = "trace.pftrace", "trace.index"


def output(*command):
    done = subprocess.run(command, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, check=False)
    return done.returncode, done.stdout.decode(errors="replace")


class Folders:
    """A recording, and what is the same without its index."""

    def __init__(self, arguments, scratch, torn=False):
        self.perfrec = arguments.perfrec
        self.dump = arguments.window_dump
        self.torn = torn
        self.with_index = self.copy(arguments.folder, scratch, "with")
        self.without = self.copy(arguments.folder, scratch, "without")
        os.remove(os.path.join(self.without, INDEX))

    @staticmethod
    def copy(folder, scratch, name):
        to = os.path.join(scratch, name, "recording")
        os.makedirs(to)
        for file in os.listdir(folder):
            source = os.path.join(os.path.realpath(folder), file)
            if file == INDEX:
                shutil.copy(source, to)
            elif os.path.isfile(source):
                os.symlink(source, os.path.join(to, file))
        return to

    def index(self):
        return os.path.join(self.with_index, INDEX)

    def events(self, folder, begin, end):
        """Of a damaged trace, what is in front of the damage."""
        status, text = output(self.dump, os.path.join(folder, TRACE),
                              str(begin), str(end))
        if status and not self.torn:
            sys.exit(f"window_dump of {folder}: status {status}")
        return sorted(text.splitlines())

    def report(self, folder, begin, end):
        status, text = output(self.perfrec, "report", "--json", "--from",
                              f"{begin}ns", "--to", f"{end}ns", folder)
        return [status, json.loads(text) if text else None]

    def curves(self):
        """What is wrong with the curves of counters, or None."""
        check = os.path.join(os.path.dirname(self.dump), "curves_check")
        done = subprocess.run([check, os.path.join(self.with_index, TRACE),
                               "1", str(random.randrange(1 << 20))],
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              check=False)
        if done.returncode:
            return f"status {done.returncode}: {done.stdout.decode()}"
        return None

    def differ(self, begin, end, first):
        """What differs in [begin, end), or None."""
        one = self.events(self.with_index, begin, end)
        other = self.events(self.without, begin, end)
        if one != other:
            only = sorted(set(one) ^ set(other))[:6]
            return "events: " + "; ".join(only)
        one = self.report(self.with_index, begin - first, end - first)
        other = self.report(self.without, begin - first, end - first)
        return None if one == other else f"report: {one} and {other}"


def damage(index, path):
    """Writes a copy of the bytes of an index in which something is wrong."""
    bad = bytearray(index)
    how = random.choice(("cut", "byte", "more", "zeros"))
    at = random.randrange(len(bad))
    if how == "cut":
        del bad[at:]
    elif how == "byte":
        bad[at] ^= 1 << random.randrange(8)
    elif how == "more":
        bad += os.urandom(100)
    else:
        bad[at:at + 64] = bytes(len(bad[at:at + 64]))
    with open(path, "wb") as file:
        file.write(bad)
    return f"{how} at {at}"


def cut_batches(index, batches, path):
    """Writes the first batches of an index."""
    at = 16
    for _ in range(batches):
        at += 32 + int.from_bytes(index[at:at + 4], "little")
    if at >= len(index):
        sys.exit(f"the index has no more than {batches} batches")
    with open(path, "wb") as file:
        file.write(index[:at])


def ranges(times, count):
    for _ in range(count):
        if random.random() < 0.5:
            begin, end = random.choice(times), random.choice(times)
        else:
            begin, end = (random.randrange(times[0], times[-1] + 2)
                          for _ in range(2))
        begin, end = min(begin, end), max(begin, end)
        yield begin, end + (begin == end)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--count", type=often, default=20)
    parser.add_argument("--damage", type=int, default=0)
    parser.add_argument("--batches", type=int, default=0)
    parser.add_argument("--torn", action="store_true")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("perfrec")
    parser.add_argument("window_dump")
    parser.add_argument("folder")
    arguments = parser.parse_args()
    random.seed(arguments.seed)
    with tempfile.TemporaryDirectory(dir=".") as scratch:
        folders = Folders(arguments, scratch, arguments.torn)
        times = sorted({int(line.split()[1]) for line in
                        folders.events(folders.without, 0, 0)
                        if line.split()[2] in "12"})
        # A begin is the first of them.
        first = times[0]
        if arguments.batches:
            with open(folders.index(), "rb") as file:
                index = file.read()
            cut_batches(index, arguments.batches, folders.index())
        tried = [(first, times[-1] + 1)]
        tried += ranges(times, arguments.count)
        for begin, end in tried:
            wrong = folders.differ(begin, end, first)
            if wrong:
                sys.exit(f"{begin} to {end}: {wrong}")
        with open(folders.index(), "rb") as file:
            index = file.read()
        for _ in range(arguments.damage):
            how = damage(index, folders.index())
            for begin, end in ranges(times, 1):
                wrong = folders.differ(begin, end, first) or folders.curves()
                if wrong:
                    sys.exit(f"{how}, {begin} to {end}: {wrong}")


if __name__ == "__main__":
    main()
