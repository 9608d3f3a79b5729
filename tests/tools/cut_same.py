#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""cut_same.py - holds cuts of a recording by its index against cuts of all of its
trace, in random ranges: packet by packet. And calls that perfrec find finds.

usage: cut_same.py [--count N] [--damage N] [--batches N] [--seed N] [--find F]
                   [--slowest F] [--thread T] [--short] PERFREC FOLDER

Each range is cut twice, with trace.index and in a folder that does not have it.
Each sequence must have the same packets in the same order, but for those that
describe tracks: of these, the same, in any order. --slowest F: ranges around calls of F,
too, which are several. --thread T: cuts of this thread, too. --short: none of the
ranges is long. --find F: what is found of F must be the same, too. --damage N: so many times the index is cut short or
changed. --batches N: the index has its first N batches only.
"""
import argparse
import collections
import os
import random
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))
from index_same import INDEX, Folders, cut_batches, damage  # noqa: E402
from cut_check import fields, packets  # noqa: E402
from often import often  # noqa: E402

SEQUENCE, DESCRIPTOR, ATTRIBUTES = 10, 60, 126


def read_cut(folders, folder, options, name):
    path = os.path.join(folders.scratch, name)
    done = subprocess.run([folders.perfrec, "cut", *options, "-o", path, folder],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          check=False)
    if not os.path.exists(path):
        return done.returncode, done.stderr.decode(), {}
    with open(path, "rb") as file:
        data = file.read()
    os.remove(path)
    sequences = collections.defaultdict(list)
    described = []
    for parts in packets(data):
        numbers = dict(parts)
        if b"perfrec.cut_of" in numbers.get(ATTRIBUTES, b""):
            continue  # it names the folder
        if DESCRIPTOR in numbers and 11 not in numbers:
            described.append(repr(parts))
        else:
            sequences[numbers.get(SEQUENCE, 0)].append(parts)
    sequences[-1] = sorted(described)
    return done.returncode, done.stderr.decode().replace(folder, ""), sequences


def differ(folders, options):
    """What differs, or None."""
    one = read_cut(folders, folders.with_index, options, "one")
    other = read_cut(folders, folders.without, options, "other")
    if one[:2] != other[:2]:
        return f"status or message: {one[:2]} and {other[:2]}"
    for number in sorted(set(one[2]) | set(other[2])):
        left, right = one[2].get(number, []), other[2].get(number, [])
        if left == right:
            continue
        at = 0
        while at < min(len(left), len(right)) and left[at] == right[at]:
            at += 1
        return (f"sequence {number} of {len(left)} and {len(right)} packets, at "
                f"{at}: {shown(left, at)} and {shown(right, at)}")
    return None


def find_differs(folders, options):
    """The same for perfrec find."""
    answers = []
    for folder in (folders.with_index, folders.without):
        done = subprocess.run([folders.perfrec, "find", *options, folder],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              check=False)
        answers.append([done.returncode,
                        (done.stdout + done.stderr).decode().replace(folder, "")])
    return None if answers[0] == answers[1] else f"{answers[0]} and {answers[1]}"


def searches(function, length, thread, short):
    if short:
        yield ["--limit", "3", function]
        yield ["--json", function + " > 3us"]
        return
    for bound in ("", " > 300ns", " > 3us", " > 30us", " > 200us", " > 5s", " < 1us"):
        yield [function + bound]
        yield ["--limit", "3", function + bound]
        yield ["--json", function + bound]
        for options in ranges(length, 1, False):
            yield ["--sort", "time", *options, function + bound]
        if thread:
            yield ["--thread", thread[0], "--limit", "2", function + bound]


def shown(packet_list, at):
    if at >= len(packet_list):
        return "nothing"
    packet = packet_list[at]
    if isinstance(packet, str):
        return packet
    return [(number, fields(value) if number == 11 else value)
            for number, value in packet]


def ranges(length, count, short):
    for _ in range(count):
        span = random.choice((length // 1000, 1000) if short else
                             (length, length // 10, length // 1000, 1000))
        begin = random.randrange(-1000, length)
        yield ["--from", f"{max(begin, 0)}ns", "--to",
               f"{max(begin, 0) + 1 + random.randrange(span + 1)}ns"]


def length_of(folders):
    """How long the recording is, in ns from its first slice."""
    low, high = 0, 1 << 50
    while low + 1 < high:
        middle = (low + high) // 2
        done = subprocess.run(
            [folders.perfrec, "report", "--json", "--from", f"{middle}ns",
             folders.with_index], stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL, check=False)
        if done.returncode:
            high = middle
        else:
            low = middle
    return high


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--count", type=often, default=20)
    parser.add_argument("--damage", type=int, default=0)
    parser.add_argument("--batches", type=int, default=0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--slowest", action="append", default=[])
    parser.add_argument("--find", action="append", default=[])
    parser.add_argument("--thread", action="append", default=[])
    parser.add_argument("--short", action="store_true")
    parser.add_argument("perfrec")
    parser.add_argument("folder")
    arguments = parser.parse_args()
    arguments.window_dump = None
    random.seed(arguments.seed)
    with tempfile.TemporaryDirectory(dir=".") as scratch:
        folders = Folders(arguments, scratch)
        folders.scratch = scratch
        length = length_of(folders)
        if arguments.batches:
            with open(folders.index(), "rb") as file:
                index = file.read()
            cut_batches(index, arguments.batches, folders.index())
        short = arguments.short
        tried = [["--from", f"{length - 1}ns"]]
        if not short:
            tried += [["--from", "0s"], ["--to", f"{length}ns"]]
        tried += ranges(length, arguments.count, short)
        for function in arguments.slowest:
            tried += [["--slowest", function + ":5", "--margin", margin]
                      for margin in ("0", "1us", "100us")]
        for thread in arguments.thread:
            tried += [options + ["--thread", thread]
                      for options in ranges(length, 3, short)]
        for options in tried:
            wrong = differ(folders, options)
            if wrong:
                sys.exit(f"{' '.join(options)}: {wrong}")
        for function in arguments.find:
            for options in searches(function, length, arguments.thread,
                                    short):
                wrong = find_differs(folders, options)
                if wrong:
                    sys.exit(f"find {' '.join(options)}: {wrong}")
        with open(folders.index(), "rb") as file:
            index = file.read()
        for _ in range(arguments.damage):
            how = damage(index, folders.index())
            for options in ranges(length, 1, short):
                wrong = differ(folders, options)
                if wrong:
                    sys.exit(f"{how}, {' '.join(options)}: {wrong}")


if __name__ == "__main__":
    main()
