#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""cut_check.py [options] PERFREC CHECK DIR: holds cuts of the recording in DIR
against a reading of the whole trace.

Cuts random ranges out of it with `PERFREC cut`, and reads each cut and the trace
with code of its own, which knows nothing of ranges when it reads. A cut must
have, by tracks, what the trace has in the range: the same slices with their
arguments, begins and ends clipped and marked; instants, flows, samples, values
and states, the last of them before the range at its begin; the same switches.
It has the tracks that it shows and no others, and nothing outside of the range.
CHECK, trace_check, must find no broken rule. A cut of a cut is the cut of the
trace.

  --seed N     of the ranges (1)
  --count N    how many ranges (20)
  --compress   every second cut is compressed
  --thread T   cuts of this thread, too
  --slowest F  cuts around calls of function F, too, with several ranges
  --demand WORD,...   the cuts must have had some of each of these, all
               together: slices, clipped, instants, values, states, samples,
               switches, flows, arguments, contexts, lanes, waits, losses, gaps

Exit status 0: all is as it should be; 1, and what is not.
"""
import argparse
import collections
import os
import random
import shutil
import struct
import subprocess
import sys
import tempfile
import zlib

from often import often
from wire import fields, varint

BEGAN = b"perfrec.began_ns"
GOES_ON = b"perfrec.goes_on"
BEGIN, END, INSTANT, COUNTER, STATE = 1, 2, 3, 4, 5
BOOTTIME = 6


# --- protobuf ----------------------------------------------------------------


def packed(data):
    out, at = [], 0
    while at < len(data):
        value, at = varint(data, at)
        out.append(value)
    return out


def packets(data):
    for number, packet in fields(data):
        if number != 1:
            continue
        parts = fields(packet)
        bundles = [value for field, value in parts if field == 50]
        if bundles:
            yield from packets(zlib.decompress(bundles[0]))
        else:
            yield parts


# --- a trace, read as a whole ------------------------------------------------

Slice = collections.namedtuple("Slice", "begin end depth what args flows end_args")


class Sequence:
    def __init__(self):
        self.clock = 0
        self.clock_id = BOOTTIME
        self.track = None
        self.names = {}


class Track:
    def __init__(self):
        self.slices = []  # closed, or open at the end
        self.open = []
        self.points = []  # (ns, type, what)
        self.writers = set()  # tracks of the sequences that its events are on


class Trace:
    def __init__(self, path):
        self.sequences = collections.defaultdict(Sequence)
        self.tracks = collections.defaultdict(Track)
        self.descriptors = {}  # by uuid: dict
        self.pids = {}
        self.tids = {}
        self.samples = []
        self.heaps = []
        self.cpus = collections.defaultdict(list)  # (ns, came, state)
        self.attributes = []
        self.times = []
        self.last = 0
        self.lost = 0
        self.losses = []
        with open(path, "rb") as file:
            for parts in packets(file.read()):
                self.take(parts)
        for track in self.tracks.values():
            while track.open:
                self.close(track, None, ())
            track.slices.sort(key=lambda each: (each.begin, each.depth))

    # What belongs to a sequence.

    def intern(self, sequence, data):
        for kind, entry in fields(data):
            parts = fields(entry)
            iid = [value for number, value in parts if number == 1][0]
            sequence.names[kind, iid] = [
                (number, value) for number, value in parts if number != 1
            ]

    def text(self, sequence, kind, iid):
        entry = sequence.names.get((kind, iid))
        if entry is None:
            raise KeyError("kind %d iid %d is not interned" % (kind, iid))
        return tuple(entry)

    def frame(self, sequence, iid):
        out = []
        for number, value in self.text(sequence, 6, iid):
            if number == 2:
                value = self.text(sequence, 5, value)
            elif number == 3:
                value = tuple(
                    (n, self.text(sequence, {2: 16, 7: 17}[n], v))
                    if n in (2, 7)
                    else (n, v)
                    for n, v in self.text(sequence, 19, value)
                )
            out.append((number, value))
        return tuple(out)

    def stack(self, sequence, iid):
        return tuple(
            self.frame(sequence, frame)
            for number, frame in self.text(sequence, 7, iid)
            if number == 2
        )

    def defaults(self, sequence, data):
        for number, value in fields(data):
            if number == 58:
                sequence.clock_id = value
            elif number == 11:
                for inner, uuid in fields(value):
                    if inner == 11:
                        sequence.track = uuid

    def snapshot(self, sequence, data):
        for number, clock in fields(data):
            if number != 1:
                continue
            clock = dict(fields(clock))
            if 64 <= clock[1] < 128:
                sequence.clock = clock[2]

    def describe(self, data):
        parts = fields(data)
        out = {"raw": tuple(parts), "parent": 0, "pid": 0, "tid": 0, "kind": "other"}
        for number, value in parts:
            if number == 1:
                uuid = value
            elif number == 2:
                out["name"] = value
            elif number == 3:
                out["kind"] = "process"
                out["pid"] = dict(fields(value)).get(1)
            elif number == 4:
                inner = dict(fields(value))
                out["kind"] = "thread"
                out["pid"], out["tid"] = inner.get(1), inner.get(2)
                out["name"] = inner.get(5, b"")
            elif number == 5:
                out["parent"] = value
        before = self.descriptors.get(uuid, {})
        if out["kind"] == "process":
            self.pids[out["pid"]] = uuid
        if out["kind"] == "thread":
            out["process"] = before.get("process") or self.pids.get(out["pid"])
            self.tids[out["tid"]] = uuid
        if out.get("name") in (b"perfrec: waits", b"perfrec: suspended"):
            out["kind"] = "waits"
        self.descriptors[uuid] = out

    # Events.

    def time(self, sequence, packet):
        clock = packet.get(58, sequence.clock_id)
        if 64 <= clock < 128:
            sequence.clock += packet[8]
            return sequence.clock
        assert clock == BOOTTIME, clock
        return packet[8]

    def argument(self, sequence, data):
        name, value = None, None
        for number, each in fields(data):
            if number == 1:
                name = dict(self.text(sequence, 3, each))[2]
            elif number == 10:
                name = each
            else:
                value = (number, each)
        return name, value

    def event(self, sequence, ns, data):
        kind, uuid, what, args, flows = 0, sequence.track, [], [], []
        for number, value in fields(data):
            if number == 9:
                kind = value
            elif number == 11:
                uuid = value
            elif number == 4:
                args.append(self.argument(sequence, value))
            elif number == 10:
                what.append(("name", self.text(sequence, 2, value)))
            elif number == 23:
                what.append(("name", ((2, value),)))
            elif number == 3:
                what.append(("category", self.text(sequence, 1, value)))
            elif number == 34:
                what.append(("location", self.text(sequence, 4, value)))
            elif number in (47, 48):
                flows.append((number == 48, struct.unpack("<Q", value)[0]))
            else:
                what.append((number, value))
        assert uuid is not None
        track = self.tracks[uuid]
        track.writers.add(sequence.track)
        what = tuple(sorted(what, key=repr))
        if self.descriptors.get(uuid, {}).get("kind") != "waits":
            self.last = max(self.last, ns)
        if kind == BEGIN:
            track.open.append((ns, what, tuple(args), tuple(flows)))
        elif kind == END:
            if track.open:
                self.close(track, ns, tuple(args))
        else:
            track.points.append((ns, kind, what, tuple(args), tuple(flows)))
        for name, value in args:
            if kind == INSTANT and name == b"perfrec.lost_spans":
                self.losses.append((ns, uuid, value[1]))

    def close(self, track, ns, args):
        begin, what, begin_args, flows = track.open.pop()
        track.slices.append(
            Slice(begin, ns, len(track.open), what, begin_args, flows, args)
        )

    def sample(self, sequence, ns, data):
        out = []
        for number, value in fields(data):
            if number == 4:
                value = self.stack(sequence, value)
            out.append((number, value))
        self.samples.append((ns, tuple(out)))
        self.last = max(self.last, ns)

    def heap(self, sequence, ns, data):
        out = []
        for number, value in fields(data):
            if number == 5:
                value = tuple(
                    (n, v)
                    if n != 2
                    else tuple(
                        (m, self.stack(sequence, w)) if m == 1 else (m, w)
                        for m, w in fields(v)
                    )
                    for n, v in fields(value)
                )
            out.append((number, value))
        self.heaps.append((ns, tuple(out)))

    def switches(self, data):
        bundle = dict(fields(data))
        lists = dict((n, v) for n, v in fields(bundle[4]) if n != 5)
        times, states, tids = (packed(lists[n]) for n in (1, 2, 3))
        assert len(times) == len(states) == len(tids)
        ns = 0
        for i, step in enumerate(times):
            ns += step
            self.cpus[bundle.get(1, 0)].append(
                (ns, tids[i], states[i], i == 0 and bundle.get(3, 0) > 0)
            )

    def take(self, parts):
        packet = dict(parts)
        sequence = self.sequences[packet.get(10, 0)]
        if packet.get(13, 0) & 1:
            sequence.names = {}
        if 59 in packet:
            self.defaults(sequence, packet[59])
        if 6 in packet:
            self.snapshot(sequence, packet[6])
        if 12 in packet:
            self.intern(sequence, packet[12])
        if 60 in packet:
            self.describe(packet[60])
        if 1 in packet:
            self.switches(packet[1])
        if 35 in packet:
            for number, value in fields(packet[35]):
                if number == 1:
                    self.lost += dict(fields(value)).get(19, 0)
        if 126 in packet:
            for _, attribute in fields(packet[126]):
                self.attributes.append(tuple(fields(attribute)))
        if 8 in packet:
            ns = self.time(sequence, packet)
            self.times.append(ns)
            for number, take in ((11, self.event), (66, self.sample), (37, self.heap)):
                if number in packet:
                    take(sequence, ns, packet[number])

    # What people count from.

    def is_of_calls(self, uuid):
        kind = self.descriptors.get(uuid, {}).get("kind")
        if kind == "thread":
            return True
        return any(each.track == uuid for each in self.sequences.values()) and (
            kind == "other"
        )

    def first_slice(self):
        return min(
            each.begin
            for uuid, track in self.tracks.items()
            if self.is_of_calls(uuid)
            for each in track.slices
        )

    def thread_of(self, uuid):
        for _ in range(8):
            known = self.descriptors.get(uuid)
            if not known:
                return None
            if known["kind"] == "thread":
                return uuid
            uuid = known["parent"]
        return None

    # Stretches of threads on CPUs: (tid, from, to, state), to None: no end.
    def stretches(self, cpu):
        out, running, since, lost = [], 0, 0, False
        for ns, came, state, is_lost in self.cpus[cpu]:
            if running:
                out.append((running, since, ns, 128 if lost else state))
            running, since, lost = came, ns, is_lost
        if running:
            out.append((running, since, None, 128))
        return out


# --- what a cut of it has ----------------------------------------------------


class Window:
    """By tracks, all that has to be in a cut of ranges."""

    def __init__(self, trace, ranges, thread=None):
        self.trace = trace
        self.ranges = ranges
        self.thread = thread
        self.slices = collections.defaultdict(list)
        self.points = collections.defaultdict(list)
        self.used = set()
        self.writers = set()
        for uuid, track in trace.tracks.items():
            if self.has_track(uuid):
                for at, bounds in enumerate(ranges):
                    self.cut_slices(uuid, track, *bounds)
                    self.cut_points(uuid, track, at)
        self.samples = sorted(
            (each for each in trace.samples if self.inside(each[0]) and
             self.has_tid(dict(each[1]).get(3))), key=repr)
        self.heaps = [each for each in trace.heaps if self.inside(each[0])]
        self.stretches = collections.defaultdict(list)
        for cpu in trace.cpus:
            for bounds in ranges:
                self.cut_stretches(cpu, *bounds)
        self.cut_sleepers(ranges[0][0])
        self.use_threads()
        self.lost = sum(
            lost for ns, uuid, lost in trace.losses
            if self.inside(ns) and self.has_track(uuid))

    def inside(self, ns):
        return any(low <= ns < high for low, high in self.ranges)

    def has_thread(self, uuid):
        known = self.trace.descriptors[uuid]
        return self.thread in (known["name"].decode(), str(known["tid"]))

    def has_track(self, uuid):
        if self.thread is None:
            return True
        thread = self.trace.thread_of(uuid)
        return thread is None or self.has_thread(thread)

    def has_tid(self, tid):
        uuid = self.trace.tids.get(tid)
        if self.thread is None:
            return True
        return uuid is not None and self.has_thread(uuid)

    def cut_slices(self, uuid, track, low, high):
        for each in track.slices:
            end = each.end if each.end is not None else max(self.trace.last, each.begin)
            before = each.begin < low
            if each.begin >= high or (before and end < low):
                continue
            after = each.end is None or end >= high
            args, flows, end_args = list(each.args), each.flows, list(each.end_args)
            if before:
                flows = tuple(flow for flow in flows if not flow[0])
                if not any(name == BEGAN for name, _ in args):
                    args.append((BEGAN, (4, each.begin)))
            if after:
                end_args = [(GOES_ON, (2, 1))]
            self.slices[uuid].append(
                Slice(max(low, each.begin), min(high, end), each.depth, each.what,
                      tuple(args), flows, tuple(end_args)))

    def cut_points(self, uuid, track, at):
        low, high = self.ranges[at]
        gap = self.ranges[at - 1][1] if at else 0
        inside = [each for each in track.points if low <= each[0] < high]
        before = [
            each for each in track.points
            if each[1] in (COUNTER, STATE) and gap <= each[0] < low
        ]
        exact = any(each[0] == low and each[1] in (COUNTER, STATE) for each in inside)
        if before and not exact and low <= max(self.trace.last, 0):
            last = max(each[0] for each in before)
            self.points[uuid].append(
                (low,) + [each for each in before if each[0] == last][-1][1:])
        self.points[uuid] += inside

    def cut_stretches(self, cpu, low, high):
        for tid, begin, end, state in self.trace.stretches(cpu):
            last = max(self.trace.last, self.trace.cpus[cpu][-1][0])
            stop = end if end is not None else last
            if begin >= high or (begin < low and stop < low) or not self.has_tid(tid):
                continue
            if stop >= high or end is None:
                stop, state = min(stop, high), 128
            self.stretches[cpu].append((tid, max(low, begin), stop, state))

    # A thread may write to a track that is not its own: the cut has it then.
    def use_writers(self, uuid):
        used = set(self.used)
        for writer in self.trace.tracks[uuid].writers:
            self.use(writer)
        self.writers |= self.used - used
        self.used = used

    # Of threads that are on no CPU at the begin the cut tells the state.
    def cut_sleepers(self, low):
        if low > self.trace.last:
            return
        last = {}
        for cpu in self.trace.cpus:
            for tid, begin, end, state in self.trace.stretches(cpu):
                if begin < low:
                    runs = end is None or end >= low
                    last[tid] = max(last.get(tid, ()),
                                    (begin if runs else end, runs, cpu, state))
        for tid, (_, runs, cpu, state) in last.items():
            if not runs and state in (1, 256) and self.has_tid(tid):
                self.stretches[cpu].append((tid, low, low, state))

    def use(self, uuid):
        known = self.trace.descriptors.get(uuid)
        if not known or uuid in self.used:
            return
        self.used.add(uuid)
        if known["parent"]:
            self.use(known["parent"])
        if known.get("process"):
            self.use(known["process"])

    def use_threads(self):
        for uuid in list(self.slices) + list(self.points):
            if self.slices.get(uuid) or self.points.get(uuid):
                self.use(uuid)
        for uuid in list(self.slices) + list(self.points):
            if self.slices.get(uuid) or self.points.get(uuid):
                self.use_writers(uuid)
        tids = [dict(each[1]).get(3) for each in self.samples]
        for stretches in self.stretches.values():
            tids += [each[0] for each in stretches]
        for tid in tids:
            if tid in self.trace.tids:
                self.use(self.trace.tids[tid])


# --- one cut against it ------------------------------------------------------


def say(what, expected, got):
    lines = ["%s differ:" % what]
    for each in expected:
        if each not in got:
            lines.append("  missing   %r" % (each,))
    for each in got:
        if each not in expected:
            lines.append("  too much  %r" % (each,))
    return "\n".join(lines[:12]) if len(lines) > 1 else what + ": another order"


def names_only(track):
    return {number: value for number, value in track["raw"]}


def differences(want, cut):
    trace = want.trace
    for uuid in set(want.slices) | set(cut.tracks):
        expected = sorted(want.slices.get(uuid, []), key=lambda s: (s.begin, s.depth))
        got = cut.tracks[uuid].slices if uuid in cut.tracks else []
        if expected != got:
            yield say("track %d: slices" % uuid, expected, got)
        expected = sorted(want.points.get(uuid, []), key=repr)
        got = sorted(cut.tracks[uuid].points, key=repr) if uuid in cut.tracks else []
        if expected != got:
            yield say("track %d: points" % uuid, expected, got)
    if want.samples != sorted(cut.samples, key=repr):
        yield say("samples", want.samples, cut.samples)
    if want.heaps != cut.heaps:
        yield say("heaps", want.heaps, cut.heaps)
    for cpu in set(want.stretches) | set(cut.cpus):
        expected = sorted(want.stretches.get(cpu, []))
        got = sorted(cut.stretches(cpu))
        if expected != got:
            yield say("CPU %d: stretches" % cpu, expected, got)
    if want.used != set(cut.descriptors) - (want.writers - want.used):
        yield say("tracks", want.used, set(cut.descriptors))
    for uuid in want.used & set(cut.descriptors):
        if names_only(trace.descriptors[uuid]) != names_only(cut.descriptors[uuid]):
            yield say("descriptors", [trace.descriptors[uuid]], [cut.descriptors[uuid]])
    low, high = want.ranges[0][0], want.ranges[-1][1]
    outside = [ns for ns in cut.times if not low <= ns <= high]
    if outside:
        yield "outside of the range: %r" % outside[:5]
    if want.lost != cut.lost:
        yield "lost %d spans, says %d" % (want.lost, cut.lost)
    own = [each for each in cut.attributes if each[0][1].startswith(b"perfrec.cut_")]
    rest = [each for each in cut.attributes if each not in own]
    old = [each for each in trace.attributes
           if not each[0][1].startswith(b"perfrec.cut_")]
    if rest != old or not own:
        yield say("attributes", old, rest)


def count(window, seen):
    descriptors = window.trace.descriptors
    for uuid, slices in window.slices.items():
        kind = descriptors.get(uuid, {}).get("kind")
        seen["slices"] += len(slices)
        seen["clipped"] += sum(
            1 for each in slices for name, _ in each.args + each.end_args
            if name in (BEGAN, GOES_ON))
        seen["arguments"] += sum(
            1 for each in slices for name, _ in each.args if name != BEGAN)
        seen["flows"] += sum(len(each.flows) for each in slices)
        if kind == "waits":
            seen["waits"] += len(slices)
        elif kind == "other":
            calls = window.trace.is_of_calls(uuid)
            seen["contexts" if calls else "lanes"] += len(slices)
    for points in window.points.values():
        for each in points:
            seen[{INSTANT: "instants", COUNTER: "values", STATE: "states"}[each[1]]] += 1
    seen["samples"] += len(window.samples)
    seen["losses"] += window.lost
    seen["switches"] += sum(len(each) for each in window.stretches.values())


# --- all of it ---------------------------------------------------------------


class Checker:
    def __init__(self, options, work):
        self.options = options
        self.work = work
        self.failed = 0

    def complain(self, what):
        self.failed += 1
        print("cut_check: " + what)

    def cut(self, folder, trace, low, high, name, *words):
        origin = trace.first_slice()
        return self.run(folder, name, "--from", "%dns" % (low - origin),
                        "--to", "%dns" % (high - origin), *words)

    def run(self, folder, name, *words):
        out = os.path.join(self.work, name)
        command = [self.options.perfrec, "cut", "-o", out, *words, folder]
        done = subprocess.run(command, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, check=False)
        if done.returncode:
            self.complain("%s: status %d: %s" % (" ".join(command), done.returncode,
                                                 done.stdout))
            return None
        done = subprocess.run([self.options.check, out], stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, check=False)
        if done.returncode:
            self.complain("%s: %s" % (" ".join(command), done.stdout))
        return out

    def compare(self, trace, ranges, path, thread=None, seen=None):
        want = Window(trace, ranges, thread)
        if seen is not None:
            count(want, seen)
        try:
            cut = Trace(path)
        except KeyError as error:
            self.complain("%s: %s" % (path, error))
            return
        for what in differences(want, cut):
            self.complain("%d to %d (%d): %s" % (*ranges[0], len(ranges), what))

    def cut_again(self, trace, low, high, path, inner):
        """A cut of the cut is the cut of the trace."""
        folder = os.path.join(self.work, "again")
        shutil.rmtree(folder, ignore_errors=True)
        os.mkdir(folder)
        os.rename(path, os.path.join(folder, "trace.pftrace"))
        first = Trace(os.path.join(folder, "trace.pftrace"))
        origin = first.first_slice()
        if inner[0] < origin or inner[0] > first.last:
            return
        again = self.cut(folder, first, *inner, "again.pftrace")
        if again:
            self.compare(trace, [inner], again)


def calls_of(trace, function):
    """(begin, end) of all calls, the slowest first."""
    wanted = ("name", ((2, function.encode()),))
    calls = [
        (each.begin, trace.last if each.end is None else each.end)
        for uuid, track in trace.tracks.items() if trace.is_of_calls(uuid)
        for each in track.slices if wanted in each.what
    ]
    return sorted(calls, key=lambda call: (call[0] - call[1], call[0]))


def ranges_around(calls, margin):
    merged = []
    for begin, end in sorted(calls):
        begin, end = begin - margin, end + margin + 1
        if merged and begin <= merged[-1][1]:
            merged[-1][1] = max(merged[-1][1], end)
        else:
            merged.append([begin, end])
    return [tuple(each) for each in merged]


def counts_of(calls):
    """How many of the slowest calls may be asked for. Two that took as long may
    change places, so no count has one of them and not the other."""
    return [
        count for count in range(1, min(len(calls), 1000) + 1)
        if count == len(calls) or len({b - a for a, b in calls[count - 1:count + 1]}) == 2
    ]


def tries_of(counts, calls, number, chance):
    """(count, margin): the first has a gap, if any count has one. Of random ones,
    often none has: many short calls take as long, and the ranges of slow calls in
    two threads overlap."""
    if not counts:
        return
    yield next((count for count in counts
                if len(ranges_around(calls[:count], 0)) > 1), counts[0]), 0
    for _ in range(number):
        yield chance.choice(counts), chance.choice((0, 1, 1000, 100000))


def check_slowest(checker, trace, function, chance, seen):
    calls = calls_of(trace, function)
    for count, margin in tries_of(counts_of(calls), calls,
                                  checker.options.count // 4, chance):
        path = checker.run(checker.options.dir, "slowest.pftrace", "--slowest",
                           "%s:%d" % (function, count), "--margin", "%dns" % margin)
        if not path:
            return
        ranges = ranges_around(calls[:count], margin)
        seen["gaps"] += len(ranges) - 1
        checker.compare(trace, ranges, path, seen=seen)


def ranges_of(trace, low, high, count, chance):
    """Some that are random, and some whose sides are times of events."""
    times = sorted(ns for ns in set(trace.times) if low <= ns <= high)
    points = sorted({each[0] for track in trace.tracks.values()
                     for each in track.points if low <= each[0] <= high})
    for i in range(count):
        if i % 2 and len(times) > 1:
            some = points if i % 4 == 1 and len(points) > 1 else times
            a, b = chance.choice(some), chance.choice(some)
        else:
            length = int((high - low) * chance.random() ** 3) + 1
            a = chance.randrange(low, high)
            b = a + length
        if a != b:
            yield min(a, b), max(a, b)


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=often, default=20)
    parser.add_argument("--compress", action="store_true")
    parser.add_argument("--thread", action="append", default=[])
    parser.add_argument("--slowest", action="append", default=[])
    parser.add_argument("--demand", default="")
    parser.add_argument("perfrec")
    parser.add_argument("check")
    parser.add_argument("dir")
    options = parser.parse_args()
    trace = Trace(os.path.join(options.dir, "trace.pftrace"))
    chance = random.Random(options.seed)
    seen = collections.Counter()
    with tempfile.TemporaryDirectory() as work:
        checker = Checker(options, work)
        low, high = trace.first_slice(), trace.last
        wanted = [(low, high + 1)]
        wanted += ranges_of(trace, low, high, options.count, chance)
        for i, (a, b) in enumerate(wanted):
            words = ["--compress"] if options.compress and i % 2 else []
            path = checker.cut(options.dir, trace, a, b, "cut.pftrace", *words)
            if not path:
                continue
            checker.compare(trace, [(a, b)], path, seen=seen)
            for thread in options.thread:
                other = checker.cut(options.dir, trace, a, b, "thread.pftrace",
                                    "--thread", thread)
                if other:
                    checker.compare(trace, [(a, b)], other, thread)
            if i % 4 == 0 and b - a > 1:
                inner = (a, b)
                if i % 8:
                    inner = (a + (b - a) // 3, b - (b - a) // 3)
                checker.cut_again(trace, a, b, path, inner)
            if checker.failed > 5:
                break
        for function in options.slowest:
            check_slowest(checker, trace, function, chance, seen)
    for word in options.demand.split(",") if options.demand else []:
        if not seen[word]:
            checker.complain("no cut has any %s" % word)
    print("%d cuts: %s" % (len(wanted), ", ".join(
        "%d %s" % (number, word) for word, number in sorted(seen.items()))))
    sys.exit(1 if checker.failed else 0)


if __name__ == "__main__":
    main()
