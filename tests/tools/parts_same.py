#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""parts_same.py - compares replays and exports of a recording by its index with
those of its whole trace, in random ranges: byte by byte.

usage: parts_same.py [--count N] [--damage N] [--batches N] [--seed N]
                     [--thread T] [--function F] PERFREC FOLDER

Each range is read twice, with trace.index and in a folder without it. --thread,
--function: some ranges are read for this thread, or this function, only. --damage N:
the index is cut short or changed N times. --batches N: the index has only its first N
batches.
"""
import argparse
import os
import random
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))
from index_same import INDEX, Folders, cut_batches, damage  # noqa: E402
from often import often  # noqa: E402

COMMANDS = [
    ["replay"],
    ["dump"],
    ["export", "--to", "chrome"],
    ["export", "--to", "speedscope"],
    ["export", "--to", "flamechart"],
    ["export", "--to", "firefox"],
    ["export", "--to", "csv", "--calls"],
    ["export", "--to", "parquet", "-o", "tables"],
]


def take_tables(folder):
    """Returns the content of all tables in @folder, which it removes."""
    folder = os.path.join(folder, "tables")
    content = b""
    for name in sorted(os.listdir(folder) if os.path.isdir(folder) else []):
        path = os.path.join(folder, name)
        with open(path, "rb") as file:
            content += b"\n" + name.encode() + b"\n" + file.read()
        os.remove(path)
    return content


def differ(folders, words):
    """Returns a text that describes the first difference, or None."""
    answers = []
    for folder in (folders.with_index, folders.without):
        done = subprocess.run([folders.perfrec, *words, "."], cwd=folder,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              check=False)
        answers.append((done.returncode, done.stderr,
                        done.stdout + take_tables(folder)))
    one, other = answers
    if one == other:
        return None
    if one[:2] != other[:2]:
        return f"{one[:2]} and {other[:2]}"
    left, right = one[2].splitlines(), other[2].splitlines()
    at = 0
    while at < min(len(left), len(right)) and left[at] == right[at]:
        at += 1
    shown = [lines[at] if at < len(lines) else None for lines in (left, right)]
    return f"line {at} of {len(left)} and {len(right)}: {shown}"


def random_range(times, rng):
    def pick():
        if rng.random() < 0.3:
            return rng.randint(times[0], times[-1])
        return rng.choice(times) + rng.randint(-1, 1)

    start, stop = sorted((pick(), pick()))
    if rng.random() < 0.6:
        stop = start + rng.randint(1, max(2, (times[-1] - times[0]) // 200))
    return max(start, 0), stop + (start == stop)


def times_of(folders):
    """The times of some events, in ns from the first call."""
    done = subprocess.run([folders.perfrec, "export", "--to", "csv", "--calls",
                           folders.without], stdout=subprocess.PIPE, check=True)
    rows = done.stdout.decode(errors="replace").splitlines()[1:]
    times = []
    for row in random.sample(rows, min(len(rows), 20000)):
        pid_tid, rest = row.split(",\"", 1) if ",\"" in row else (row, row)
        words = rest.split("\",", 1)[1].split(",")
        times += [int(words[0]), int(words[0]) + int(words[1])]
    return sorted(times)


def choose(rng, arguments):
    choices = [[], []]
    if arguments.thread:
        choices.append(["--thread", arguments.thread])
    if arguments.function:
        choices.append(["--function", arguments.function])
    return rng.choice(choices) + rng.choice(
        [[], [], ["--min-duration", "1us"], ["--depth", "2"]])


def check(folders, arguments, times, rng):
    wrong = 0
    for _ in range(arguments.count):
        start, stop = random_range(times, rng)
        words = ["--from", f"{start}ns"]
        if rng.random() < 0.8:
            words += ["--until", f"{stop}ns"]
        words += choose(rng, arguments)
        command = rng.choice(COMMANDS)
        found = differ(folders, [*command, *words])
        if found:
            wrong += 1
            print(f"perfrec {' '.join([*command, *words])}: {found}"[:1500],
                  file=sys.stderr)
    return wrong


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--count", type=often, default=20)
    parser.add_argument("--damage", type=int, default=0)
    parser.add_argument("--batches", type=int, default=0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--thread")
    parser.add_argument("--function")
    parser.add_argument("perfrec")
    parser.add_argument("folder")
    arguments = parser.parse_args()
    arguments.perfrec = os.path.realpath(arguments.perfrec)
    arguments.window_dump = None
    random.seed(arguments.seed)
    rng = random.Random(arguments.seed)
    with tempfile.TemporaryDirectory() as scratch:
        folders = Folders(arguments, scratch)
        times = times_of(folders)
        with open(folders.index(), "rb") as file:
            index = file.read()
        if arguments.batches:
            cut_batches(index, arguments.batches, folders.index())
        wrong = check(folders, arguments, times, rng)
        for _ in range(arguments.damage):
            damage(index, folders.index())
            arguments.count = 1
            wrong += check(folders, arguments, times, rng)
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
