#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""range_oracle.py [options] PERFREC CHECK DIR: holds reports of ranges of the
recording in DIR, and what perfrec finds, against looking at each slice.

Reads the whole trace by `CHECK --dump`, which shares no code with perfrec, and
then asks `PERFREC report --json --from --to [--thread]`, `PERFREC find`, and now
and then `PERFREC export --to csv --calls`, for random ranges, whose ends are mostly times of events. All numbers must be equal:
calls, self and total time, the longest call, clipped calls, lost and paused
calls, threads; of find each call.

  --seed N        of the ranges (1)
  --count N       how many ranges (20)
  --allow WORDS   for CHECK: "--allow-open --allow-cut"
  --demand WORD,...  the ranges must have had some of each of these, all together:
                  calls, clipped, recursion, contexts, lost, paused, unfinished,
                  instant (calls that took no time)

Exit status 0: all is equal; 1, and what is not.
"""
import argparse
import collections
import csv
import io
import json
import random
import re
import subprocess
import sys

from often import often

WAIT = "perfrec: waiting for collector"
MISSING = re.compile(r"(?:recording paused: )?(\d+) spans (lost|not recorded)")

Slice = collections.namedtuple("Slice", "track name begin end ended parent depth waited")


def took(call):
    """How long a call took: what it waited for the collector is no time of it."""
    return call.end - call.begin - call.waited


class Trace:
    """slices: by track, those around a slice before it; instants: (track, ns,
    name); first and last: ns of the first slice and of the last event."""

    def __init__(self, check, path, allow):
        self.slices, self.instants = [], []
        done = self.run(check, "--json", path, allow)
        self.last = json.loads(done)["last_ns"]
        ends, opened = {}, collections.defaultdict(list)
        for line in self.run(check, "--dump", path, allow).splitlines():
            kind, rest = line.split(" ", 1)
            if kind not in "BEI":
                continue
            pid, tid, ns, depth, name = rest.split(" ", 4)
            track, ns = (int(pid), tid), int(ns)
            if kind == "I":
                self.instants.append((track, ns, name))
            elif kind == "B":
                around = opened[track]
                self.slices.append(
                    [track, name, ns, None, around[-1] if around else None, len(around)]
                )
                around.append(len(self.slices) - 1)
            else:
                ends[opened[track].pop()] = ns
        self.slices = [
            Slice(t, n, b, ends.get(i, self.last), i in ends, p, d, 0)
            for i, (t, n, b, _, p, d) in enumerate(self.slices)
        ]
        for wait in self.slices:
            around = wait.parent if wait.name == WAIT else None
            while around is not None:
                s = self.slices[around]
                # The end says so: without one nobody knows.
                waited = s.waited + wait.end - wait.begin if s.ended else 0
                self.slices[around] = s._replace(waited=waited)
                around = s.parent
        self.first = min(s.begin for s in self.slices)

    @staticmethod
    def run(check, how, path, allow):
        done = subprocess.run(
            [check, *allow.split(), how, path], capture_output=True, check=False
        )
        if done.returncode:
            sys.exit(f"{check} {how}: {done.stderr.decode(errors='replace')}")
        return done.stdout.decode(errors="replace")

    def of_thread(self, track, thread):
        return thread is None or track[1].split("/")[0] == thread

    def in_range(self, start, stop, thread):
        """The numbers of the slices in the range [start, stop)."""
        return [
            i
            for i, s in enumerate(self.slices)
            if s.begin < stop
            and (s.begin >= start or s.end >= start)
            and self.of_thread(s.track, thread)
        ]

    def outer(self, number):
        """Whether no slice around it has its name."""
        name = self.slices[number].name
        while (number := self.slices[number].parent) is not None:
            if self.slices[number].name == name:
                return False
        return True


def missing(trace, start, stop, thread):
    found = {"lost": 0, "paused": 0}
    for track, ns, name in trace.instants:
        match = MISSING.match(name)
        if match and start <= ns < stop and trace.of_thread(track, thread):
            found["lost" if match[2] == "lost" else "paused"] += int(match[1])
    return found


def expect(trace, start, stop, thread):
    rows = collections.defaultdict(lambda: [0, 0, 0, 0])
    totals = collections.Counter()
    threads = set()
    for i in trace.in_range(start, stop, thread):
        s = trace.slices[i]
        part = max(min(s.end, stop) - max(s.begin, start), 0)
        threads.add((s.track[0], s.track[1].split("/")[0]))
        if s.name == WAIT:
            totals["waits"] += 1
            totals["wait_ns"] += part
            if s.parent is not None:
                rows[trace.slices[s.parent].name][1] -= part
            while (i := trace.slices[i].parent) is not None:
                rows[trace.slices[i].name][2] -= part if trace.outer(i) else 0
            continue
        totals["calls"] += 1
        totals["open_at_from"] += s.begin < start
        totals["open_at_to"] += s.end >= stop
        row = rows[s.name]
        row[0] += 1
        row[1] += part
        row[2] += part if trace.outer(i) else 0
        if s.ended and start <= s.end < stop:
            row[3] = max(row[3], took(s))
        if s.parent is not None:
            rows[trace.slices[s.parent].name][1] -= part
    totals["threads"] = len(threads)
    totals["processes"] = len({pid for pid, _ in threads})
    gone = missing(trace, start, stop, thread)
    totals["lost_spans"], totals["paused_spans"] = gone["lost"], gone["paused"]
    return {n: tuple(r) for n, r in rows.items()}, totals


class Asker:
    def __init__(self, perfrec, folder, trace, cut):
        self.perfrec, self.folder, self.trace = perfrec, folder, trace
        self.cut = cut  # that is an error, whatever is found
        self.wrong = 0

    def ask(self, *words):
        done = subprocess.run(
            [self.perfrec, *words, self.folder], capture_output=True, check=False
        )
        return done.returncode, done.stdout, done.stderr.decode(errors="replace")

    def range_words(self, start, stop, thread):
        words = ["--from", f"{start - self.trace.first}ns"]
        words += ["--to", f"{stop - self.trace.first}ns"]
        return words + (["--thread", thread] if thread else [])

    def complain(self, words, text):
        self.wrong += 1
        if self.wrong <= 20:
            print(f"perfrec {' '.join(words)}: {text}", file=sys.stderr)

    def report(self, start, stop, thread):
        words = ["report", "--json", *self.range_words(start, stop, thread)]
        status, out, said = self.ask(*words)
        if not out:
            return self.complain(words, f"nothing is written: {said}")
        if not self.cut and (status or said):
            self.complain(words, f"exit status {status}: {said}")
        got = json.loads(out)
        rows, totals = expect(self.trace, start, stop, thread)
        members = ("calls", "self_ns", "total_ns", "max_ns")
        given = {f["name"]: tuple(f[m] for m in members) for f in got["functions"]}
        for name in given.keys() | rows.keys():
            if given.get(name) != rows.get(name):
                self.complain(words, f"{name}: {given.get(name)}, not {rows.get(name)}")
        for name, value in got["totals"].items():
            if value != totals[name]:
                self.complain(words, f"{name}: {value}, not {totals[name]}")

    def find(self, start, stop, thread, name, least):
        """The calls of @name that took @least ns or longer."""
        trace = self.trace
        words = ["find", "--json", f"{name} >= {least}ns"]
        words += self.range_words(start, stop, thread)
        status, out, said = self.ask(*words)
        wanted = sorted(
            (
                (took(s), s.begin - trace.first, s.depth, not s.ended)
                for s in (trace.slices[i] for i in trace.in_range(start, stop, thread))
                if s.name == name and took(s) >= least
            ),
            key=lambda c: (-c[0], c[1:]),
        )
        if not out:
            return self.complain(words, f"nothing is written: {said}")
        members = ("duration_ns", "begin_ns", "depth", "unfinished")
        got = [tuple(c[m] for m in members) for c in json.loads(out)["calls"]]
        if sorted(got) != sorted(wanted) or [g[0] for g in got] != [w[0] for w in wanted]:
            self.complain(words, f"{len(got)} calls, not {len(wanted)}, or others")
        if not self.cut and status != (0 if wanted else 1):
            self.complain(words, f"exit status {status}")

    def export(self, start, stop, thread):
        """The calls of which a part is in the range, each whole."""
        trace = self.trace
        words = ["export", "--to", "csv", "--calls"]
        words += self.range_words(start, stop, thread)
        words[words.index("--to", 3)] = "--until"
        _, out, said = self.ask(*words)
        slices = [trace.slices[i] for i in trace.in_range(start, stop, thread)]
        wanted = [(s.begin - trace.first, took(s)) for s in slices]
        rows = list(csv.DictReader(io.StringIO(out.decode())))
        got = [(int(r["start_ns"]), int(r["duration_ns"])) for r in rows]
        if sorted(got) != sorted(wanted):
            self.complain(words, f"{len(got)} calls, not {len(wanted)}, or others: {said}")


def random_time(trace, rng):
    if rng.random() < 0.25:
        return rng.randint(trace.first, trace.last)
    s = rng.choice(trace.slices)
    return rng.choice((s.begin, s.end)) + rng.randint(-1, 1)


def random_range(trace, rng):
    while True:
        a, b = random_time(trace, rng), random_time(trace, rng)
        if rng.random() < 0.5:  # a short one
            b = a + rng.randint(1, max(2, (trace.last - trace.first) // 50))
        start, stop = min(a, b), max(a, b)
        if trace.first <= start < stop and start <= trace.last:
            return start, stop


def seen_in(trace, start, stop, thread):
    rows, totals = expect(trace, start, stop, thread)
    slices = [trace.slices[i] for i in trace.in_range(start, stop, thread)]
    words = {
        "calls": rows,
        "clipped": totals["open_at_from"] and totals["open_at_to"],
        "recursion": any(
            not trace.outer(i) for i in trace.in_range(start, stop, thread)
        ),
        "contexts": any("/" in s.track[1] for s in slices),
        "lost": totals["lost_spans"],
        "paused": totals["paused_spans"],
        "unfinished": any(not s.ended for s in slices),
        "instant": any(s.begin == s.end for s in slices),
    }
    return {word for word, there in words.items() if there}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=often, default=20)
    parser.add_argument("--allow", default="")
    parser.add_argument("--demand", default="")
    parser.add_argument("perfrec")
    parser.add_argument("check")
    parser.add_argument("dir")
    args = parser.parse_args()
    rng = random.Random(args.seed)
    trace = Trace(args.check, f"{args.dir}/trace.pftrace", args.allow)
    asker = Asker(args.perfrec, args.dir, trace, bool(args.allow))
    tids = sorted({s.track[1].split("/")[0] for s in trace.slices})
    seen = set()
    for number in range(args.count):
        start, stop = random_range(trace, rng)
        thread = rng.choice([None, None, *tids])
        seen |= seen_in(trace, start, stop, thread)
        asker.report(start, stop, thread)
        if number % 4 == 0:
            asker.export(start, stop, thread)
        call = rng.choice(trace.slices)
        if call.name != WAIT:
            asker.find(start, stop, thread, call.name, took(call))
    lacking = set(filter(None, args.demand.split(","))) - seen
    if lacking:
        print(f"no range had {', '.join(sorted(lacking))}", file=sys.stderr)
    sys.exit(1 if asker.wrong or lacking else 0)


if __name__ == "__main__":
    main()
