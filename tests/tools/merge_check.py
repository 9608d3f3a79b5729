#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""merge_check.py ARCHIVE: reads an archive of traces by the rules of Perfetto's
trace_processor (v58: tar, perfetto_manifest, clocks), and says where it places
each event.

Prints a line for each begin of a slice, in the order of the file:

    NS  MACHINE  PROCESS  NAME  FLOWS  CORRELATION

with tabs between, NS on the timeline of the archive. Exit status 1, and what is
wrong: an archive or a manifest that Perfetto would refuse, an event that it
would drop.
"""
import json
import struct
import sys
import zlib

from cut_check import packets
from wire import fields

CLOCKS = {"REALTIME": 1, "REALTIME_COARSE": 2, "MONOTONIC": 3,
          "MONOTONIC_COARSE": 4, "MONOTONIC_RAW": 5, "BOOTTIME": 6}
REALTIME, BOOTTIME = 1, 6
PATH_MAX = 4  # edges of a conversion


def refuse(text):
    sys.exit(f"merge_check: {text}")


# --- the archive -------------------------------------------------------------


def text_of(data):
    return data.split(b"\0")[0].decode()


def number_of(data):
    if data[0] & 0x80:
        return int.from_bytes(data[1:], "big")
    return int(data.strip(b" \0") or b"0", 8)


def members(data):
    """[(name, bytes)] of a tar."""
    out, at, zeros = [], 0, 0
    while zeros < 2:
        header = data[at:at + 512]
        if len(header) < 512:
            refuse("the archive ends without two blocks of zeros")
        at += 512
        if not any(header):
            zeros += 1
            continue
        zeros = 0
        if header[257:265] != b"ustar\x0000":
            refuse("a header is no ustar")
        sum_of = sum(header[:148]) + 8 * 32 + sum(header[156:])
        if number_of(header[148:156]) != sum_of:
            refuse("a header has a wrong checksum")
        name, size = text_of(header[:100]), number_of(header[124:136])
        if header[156:157] != b"0" or text_of(header[345:500]):
            refuse(f"{name}: no plain file")
        if at + size > len(data):
            refuse(f"{name}: cut")
        if name.startswith((".", "/")) or "/" in name or len(name) > 99:
            refuse(f"{name}: no safe name, or one that is hidden")
        if any(data[at + size:at + (size + 511) // 512 * 512]):
            refuse(f"{name}: bytes behind it")
        out.append((name, data[at:at + size]))
        at += (size + 511) // 512 * 512
    if len({name for name, _ in out}) != len(out):
        refuse("two members have one name")
    return out


# --- clocks ------------------------------------------------------------------


class Graph:
    """Clocks, and the snapshots that relate them. A clock is a tuple."""

    def __init__(self):
        self.edges = {}  # clock -> {(other, kind): [(ns, other ns)]}

    def add(self, snapshot):
        kind = tuple(sorted(clock for clock, _ in snapshot))
        for clock, ns in snapshot:
            for other, other_ns in snapshot:
                if clock != other:
                    links = self.edges.setdefault(clock, {})
                    links.setdefault((other, kind), []).append((ns, other_ns))

    def path(self, clock, to):
        paths, seen = [[clock]], {clock}
        links = [[]]
        while paths:
            at, taken = paths.pop(0), links.pop(0)
            if at[-1] == to:
                return taken
            if len(taken) == PATH_MAX:
                continue
            for (other, kind), known in self.edges.get(at[-1], {}).items():
                if other not in seen:
                    seen.add(other)
                    paths.append(at + [other])
                    links.append(taken + [known])
        return None

    def convert(self, clock, ns, to):
        path = self.path(clock, to)
        if path is None:
            return None
        for known in path:
            before = [pair for pair in known if pair[0] <= ns] or known[:1]
            ns += before[-1][1] - before[-1][0]
        return ns


# --- the manifest ------------------------------------------------------------


def clock_of(name):
    if name not in CLOCKS:
        refuse(f"manifest: unknown clock {name}")
    return CLOCKS[name]


class Manifest:
    def __init__(self, document, names, graph):
        meta = document["perfetto_manifest"]
        if type(meta.get("version")) is not int or meta["version"] != 1:
            refuse("manifest: version is not 1")
        self.machine = {}
        for entry in meta.get("files", []):
            if entry["path"] not in names:
                refuse(f"manifest: no member {entry['path']}")
            if not entry["machine"]["name"]:
                refuse("manifest: a machine without a name")
            self.machine[entry["path"]] = entry["machine"]["name"]
        for entry in meta.get("files", []):
            self.relate(entry, graph)
        time = meta.get("trace_time")
        self.time = None
        if time:
            self.time = (self.of(time["file"]), "", clock_of(time["clock"]))

    def of(self, path):
        if path not in self.machine:
            refuse(f"manifest: no entry for {path}")
        return self.machine[path]

    def relate(self, entry, graph):
        clocks = entry.get("clocks")
        if not clocks:
            return
        offset = clocks.get("offset_ns", 0)
        if type(offset) is not int or not -2**63 < offset < 2**63:
            refuse("manifest: offset_ns is no integer of 64 bits")
        to = clocks["sync_to"]
        # Both are the clocks of the machine: another file of it has its own.
        graph.add([((self.of(entry["path"]), "", clock_of(clocks["clock"])),
                    max(-offset, 0)),
                   ((self.of(to["file"]), "", clock_of(to["clock"])),
                    max(offset, 0))])


# --- traces ------------------------------------------------------------------


class Sequence:
    def __init__(self):
        self.ns, self.clock, self.track = 0, None, None
        self.names = {}


class Trace:
    """A member, read as the only file of its machine, or as another one."""

    def __init__(self, name, machine, first, graph, time):
        self.name, self.machine, self.graph = name, machine, graph
        self.tag = "" if first else name
        self.first, self.time = first, time
        self.sequences, self.processes, self.threads = {}, {}, {}
        self.bridged = False

    def clock(self, number, sequence):
        if 64 <= number < 128:
            return (self.machine, self.name, number, sequence)
        return (self.machine, self.tag, number)

    def take_snapshot(self, data, sequence):
        snapshot = []
        for field, clock in fields(data):
            if field == 1:
                parts = dict(fields(clock))
                snapshot.append((self.clock(parts[1], sequence), parts[2]))
                if 64 <= parts[1] < 128:
                    self.sequences[sequence].ns = parts[2]
        if not self.first and self.machine != self.time[0]:
            snapshot += [((self.machine, "", REALTIME), ns)
                         for clock, ns in snapshot if clock[2] == REALTIME]
        self.graph.add(snapshot)

    def bridge(self):
        """What trace_processor assumes when nothing relates two clocks."""
        graph, own = self.graph, (self.machine, "", BOOTTIME)
        mine = (self.machine, self.tag, BOOTTIME)
        if graph.convert(mine, 0, own) is None:
            graph.add([(mine, 0), (own, 0)])
        if graph.convert(own, 0, self.time) is not None:
            return
        wall, other = (self.machine, "", REALTIME), (self.time[0], "", REALTIME)
        if (graph.convert(own, 0, wall) is not None and
                graph.convert(other, 0, self.time) is not None):
            graph.add([(wall, 0), (other, 0)])
        else:
            graph.add([(own, 0), (self.time, 0)])

    def place(self, clock, ns):
        if not self.bridged:
            self.bridged = True
            self.bridge()
        at = self.graph.convert(clock, ns, self.time)
        if at is None:
            refuse(f"{self.name}: an event on a clock that leads nowhere")
        if at < 0:
            refuse(f"{self.name}: an event before the timeline begins")
        return at

    def take_track(self, data):
        parts = dict(fields(data))
        if 3 in parts:
            process = dict(fields(parts[3]))
            self.processes[process[1]] = process.get(6, b"").decode()
        if 4 in parts:
            self.threads[parts[1]] = dict(fields(parts[4]))[1]

    def take_event(self, data, sequence, clock, stamp):
        event = fields(data)
        kind, uuid, name = 0, sequence.track, ""
        flows, correlation = [], ""
        for field, value in event:
            if field == 9:
                kind = value
            elif field == 11:
                uuid = value
            elif field == 10:
                name = sequence.names.get(value, "?")
            elif field == 23:
                name = value.decode()
            elif field in (47, 48):
                flows.append(str(struct.unpack("<Q", value)[0]))
            elif field == 52:
                correlation = str(value)
        at = self.place(clock, stamp)
        if kind == 1:
            process = self.processes.get(self.threads.get(uuid), "?")
            print(at, self.machine, process, name, ",".join(flows), correlation,
                  sep="\t")

    def take(self, parts):
        number = next((v for f, v in parts if f == 10), 0)
        sequence = self.sequences.setdefault(number, Sequence())
        stamp = clock = event = None
        for field, value in parts:
            if field == 6:
                self.take_snapshot(value, number)
            elif field == 8:
                stamp = value
            elif field == 58:
                clock = value
            elif field == 11:
                event = value
            elif field == 59:
                self.take_defaults(value, sequence)
            elif field == 60:
                self.take_track(value)
            elif field == 98:
                refuse(f"{self.name}: data of several machines")
            elif field == 12:
                for kind, entry in fields(value):
                    if kind == 2:
                        pair = dict(fields(entry))
                        sequence.names[pair[1]] = pair[2].decode()
        clock = clock or sequence.clock or BOOTTIME
        if stamp is not None and 64 <= clock < 128:
            sequence.ns += stamp
            stamp = sequence.ns
        if event is not None:
            self.take_event(event, sequence, self.clock(clock, number), stamp)

    @staticmethod
    def take_defaults(data, sequence):
        for field, value in fields(data):
            if field == 58:
                sequence.clock = value
            elif field == 11:
                sequence.track = dict(fields(value)).get(11, sequence.track)


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    with open(sys.argv[1], "rb") as file:
        files = dict(members(file.read()))
    manifests = [name for name, data in files.items()
                 if b"".join(data[:64].split()).startswith(
                     b'{"perfetto_manifest"')]
    if len(manifests) != 1:
        refuse(f"{len(manifests)} manifests")
    graph = Graph()
    manifest = Manifest(json.loads(files.pop(manifests[0])), files, graph)
    seen = set()
    for name in sorted(files):
        if files[name][:1] != b"\x0a":
            refuse(f"{name}: no trace")
        machine = manifest.machine.get(name, "")
        time = manifest.time or ("", "", BOOTTIME)
        trace = Trace(name, machine, machine not in seen, graph, time)
        seen.add(machine)
        try:
            for parts in packets(files[name]):
                trace.take(parts)
        except (IndexError, zlib.error):
            pass  # cut: Perfetto takes what is whole


if __name__ == "__main__":
    main()
