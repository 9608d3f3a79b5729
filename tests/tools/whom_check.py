#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
#
# whom_check.py [--floor PERCENT] TRACE TRUTH - holds the waits for locks in
# trace.pftrace against the log of tests/progs/waits/whom.c: who held the lock for
# the longest part of the wait, and who released it last before the wait's end.
# Prints right, unknown and wrong in % of the time of all waits. Exit status 1 if
# more than 0.5 % are wrong, or fewer than PERCENT (95) right.

import argparse
import bisect
import sys
import zlib
from collections import defaultdict

from wire import fields, varint

WAIT_NS_MIN = 20_000  # perfrec leaves out waits below 10 us, by its own clock
CLOSE_NS = 20_000  # a wait begins and ends at most that far from its log
WRONG = 0.5
TIE = 0.9  # a holder with this part of the longest time is as right


def trace_packets(path):
    with open(path, "rb") as file:
        data = file.read()
    for _, packet in fields(data):
        parts = fields(packet)
        packed = [value for number, value in parts if number == 50]
        for value in packed:
            yield from (fields(inner) for _, inner in fields(zlib.decompress(value)))
        if not packed:
            yield parts


def text(value):
    return value.decode("utf-8", "replace")


class Trace:
    """Slices of waits: dicts of their arguments, with tid, name, from, to."""

    def __init__(self, path):
        self.tids, self.parents, self.names = {}, {}, {}
        self.interned = defaultdict(dict)
        self.open, self.slices = {}, []
        for parts in trace_packets(path):
            packet = dict(parts)
            sequence = packet.get(10, 0)
            if 12 in packet:
                self.intern(sequence, packet[12])
            if 60 in packet:
                self.track(fields(packet[60]))
            if 11 in packet:
                self.event(sequence, packet, fields(packet[11]))

    def intern(self, sequence, data):
        for number, entry in fields(data):
            if number in (2, 3):
                entry = dict(fields(entry))
                self.interned[sequence][number, entry[1]] = text(entry[2])

    def track(self, parts):
        track = dict(parts)
        uuid = track[1]
        if 4 in track:
            self.tids[uuid] = dict(fields(track[4]))[2]
        if 2 in track:
            self.names[uuid] = text(track[2])
        self.parents[uuid] = track.get(5, 0)

    def event(self, sequence, packet, parts):
        event = dict(parts)
        uuid = event.get(11)
        if self.names.get(uuid) != "perfrec: waits":
            return
        if event[9] == 1:
            wait = {"tid": self.tids.get(self.parents[uuid]), "from": packet[8]}
            wait["name"] = (
                self.interned[sequence].get((2, event[10]))
                if 10 in event
                else text(event[23])
            )
            for number, value in parts:
                if number == 4:
                    note = dict(fields(value))
                    key = self.interned[sequence].get((3, note.get(1)))
                    wait[key] = text(note[6]) if 6 in note else note.get(3, note.get(4))
            self.open[uuid] = wait
        elif event[9] == 2:
            wait = self.open.pop(uuid)
            wait["to"] = packet[8]
            self.slices.append(wait)


def varints(data):
    at = 0
    while at < len(data):
        value, at = varint(data, at)
        yield value


def read_sleeps(path):
    """{tid: [(from, to)]}: off a CPU because it slept, by the kernel's switches."""
    switches = defaultdict(list)
    for parts in trace_packets(path):
        for number, value in parts:
            if number == 1:
                bundle = dict(fields(value))
                compact = dict(fields(bundle[4])) if 4 in bundle else {}
                ns = 0
                for step, state, tid in zip(
                    *(varints(compact.get(field, b"")) for field in (1, 2, 3))
                ):
                    ns += step
                    switches[bundle.get(1, 0)].append((ns, state, tid))
    outs, ins = defaultdict(list), defaultdict(list)
    for cpu in switches.values():
        runs = 0
        for ns, state, tid in sorted(cpu):
            if runs and state in (1, 2):
                outs[runs].append(ns)
            ins[tid].append(ns)
            runs = tid
    sleeps = defaultdict(list)
    for tid, begins in outs.items():
        ins[tid].sort()
        for begin in sorted(begins):
            at = bisect.bisect_right(ins[tid], begin)
            if at < len(ins[tid]):
                sleeps[tid].append((begin, ins[tid][at]))
    return sleeps


def read_truth(path, inherits):
    truth = defaultdict(list)
    with open(path, encoding="ascii") as file:
        for line in file:
            kind, tid, begin, end, where, after = line.split()
            truth[kind].append((int(begin), int(end), int(tid), where, int(after)))
    for lines in truth.values():
        lines.sort()
    # A release is over when the next thread has the lock. A release of a lock with
    # priority inheritance gives it to a thread that may still wait for a CPU, and
    # that of a writer gives the lock to all readers that wait.
    begins = sorted(h[0] for kind in "HhRr" for h in truth[kind])
    ends = sorted(h[1] for kind in "HhRr" for h in truth[kind])
    for kind in "HhRr":
        for i, h in enumerate(truth[kind]):
            at = bisect.bisect_left(begins, h[1])
            after = min([h[4], *begins[at : at + 1]])
            at = bisect.bisect_right(ends, h[0])
            since = ends[at - 1] if (inherits or kind in "Rr") and at else h[0]
            truth[kind][i] = (*h[:4], after, since)
    return truth


def true_holders(truth, sleeps, begin, end, where, kind):
    """The holders and wakers that the log permits for a wait. The waker is the last
    one before the end of the wait that released the lock while others waited, or a
    later one that logged that nobody waits, if this thread fell asleep between its
    log and its release. Each thread that held the lock while this one was blocked has
    a least and a longest time, by its log and by what its log may leave out. A sleep
    lasts until it has a CPU again, being blocked only until the last release within
    that woke a thread."""
    sleeps = [(off, on) for off, on in sleeps if on > begin and off < end]
    holds = [
        (h, what)
        for what in ("HhRr" if kind != "V" else "Hh")
        for h in truth[what]
        if h[3] == where and h[4] > begin and h[5] < end
    ]
    wakes = [h for h, what in holds if what in "HR" and begin < h[1] <= end]
    late = [h for h, _ in holds if any(h[1] <= off < h[4] for off, _ in sleeps)]
    least, most = defaultdict(int), defaultdict(int)
    for off, on in sleeps:
        in_time = [h for h in wakes if off < h[1] <= on]
        first = max((h[1] for h in in_time), default=off)
        latest = [h[4] for h in in_time + late if off < h[4]]
        latest = min(max(latest, default=off), on)
        if kind == "T" and on >= end - CLOSE_NS:
            first = latest = on
        for h, what in holds:
            holder = "readers" if what in "Rr" else h[2]
            start = max(off, begin)
            least[holder] += max(min(h[1], first, end) - max(h[0], start), 0)
            most[holder] += max(min(h[4], latest, end) - max(h[5], start), 0)
    longest = max(least.values(), default=0)
    owners = [holder for holder, ns in most.items() if ns >= TIE * longest]
    last = max((h[1] for h in wakes), default=0)
    wakers = [h[2] for h in wakes if h[1] == last]
    wakers += [h[2] for h in late if h[1] > last]
    for h in wakes:
        if h[1] == last:
            wakers += [u[2] for u in truth["u"] if u[1] <= h[4] and last < u[4]]
    return owners, wakers


def find_slice(by_tid, tid, begin, end):
    slices = by_tid[tid]
    at = bisect.bisect_left(slices, begin - CLOSE_NS, key=lambda wait: wait["from"])
    while at < len(slices) and slices[at]["to"] <= begin:
        at += 1
    if at < len(slices) and slices[at]["from"] < end:
        return slices[at]
    return None


class Score:
    def __init__(self):
        self.ns = {"right": 0, "unknown": 0, "wrong": 0}
        self.bad = []

    def add(self, verdict, ns, wait):
        self.ns[verdict] += ns
        if verdict == "wrong":
            self.bad.append(wait)

    def percent(self, verdict):
        return 100 * self.ns[verdict] / max(sum(self.ns.values()), 1)


def judge(named, right):
    if named is None:
        return "unknown"
    return "right" if named in right else "wrong"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--floor", type=float, default=95)
    parser.add_argument("--inherits", action="store_true", help="priorities")
    parser.add_argument("--show", action="store_true", help="wrong waits")
    parser.add_argument("trace")
    parser.add_argument("truth")
    options = parser.parse_args()
    trace = Trace(options.trace)
    truth = read_truth(options.truth, options.inherits)
    sleeps = read_sleeps(options.trace)
    by_tid = defaultdict(list)
    for wait in sorted(trace.slices, key=lambda wait: wait["from"]):
        by_tid[wait["tid"]].append(wait)
    scores = {"held": Score(), "woken": Score()}
    failed = False
    for tid, waits in by_tid.items():
        for before, after in zip(waits, waits[1:]):
            if after["from"] < before["to"]:
                print(f"two waits at once: {tid}: {before}, {after}")
                failed = True
    for kind in "WVT":
        for begin, end, tid, where, _ in truth[kind]:
            if end - begin < WAIT_NS_MIN:
                continue
            wait = find_slice(by_tid, tid, begin, end) or {}
            owners, wakers = true_holders(
                truth, sleeps[tid], begin, end, where, kind
            )
            named = wait.get("held_by_tid")
            if wait.get("held_by") == "readers":
                named = "readers"
            verdict = judge(named, owners)
            scores["held"].add(verdict, end - begin, (wait, owners))
            if kind == "T":
                verdict = (
                    "right"
                    if wait.get("result") == "timed out"
                    and wait.get("woken_by") == "outside"
                    else "wrong" if "woken_by_tid" in wait else "unknown"
                )
            else:
                verdict = judge(wait.get("woken_by_tid"), wakers)
            scores["woken"].add(verdict, end - begin, (wait, wakers))
    for begin, end, tid, where, _ in truth["C"]:
        if end - begin >= WAIT_NS_MIN:
            wait = find_slice(by_tid, tid, begin, end) or {}
            signals = [s for s in truth["S"] if s[3] == where and s[0] <= end]
            verdict = judge(wait.get("woken_by_tid"), [s[2] for s in signals[-1:]])
            scores["woken"].add(verdict, end - begin, (wait, signals[-1:]))
    if not truth["W"]:
        del scores["held"]
    for what, score in scores.items():
        right, wrong = score.percent("right"), score.percent("wrong")
        print(
            f"{what}: {right:.2f} % right, {score.percent('unknown'):.2f} unknown,"
            f" {wrong:.2f} wrong of {sum(score.ns.values()) / 1e6:.0f} ms"
        )
        failed |= wrong > WRONG or right < options.floor
        if options.show:
            for bad in score.bad[:20]:
                print(*bad)
    return failed


sys.exit(main())
