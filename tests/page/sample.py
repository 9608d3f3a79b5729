# SPDX-License-Identifier: Apache-2.0
"""Writes pages from data that no recording has: hostile names, broken columns,
a hundred thousand frames. The form is that of docs/PAGE.md, typed in here a
second time: it shares no code with perfrec."""

import base64
import gzip
import json

MARK = "<!-- perfrec:data -->"


def unsigned(value):
    """LEB128."""
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)
    return bytes(out)


def zigzag(value):
    """A signed number as an unsigned one."""
    return value * 2 if value >= 0 else -value * 2 - 1


class Data:
    """The columns and the header of a page."""

    def __init__(self):
        self.header = {"version": 1, "made_by": "sample", "title": "sample", "values": [],
                       "notes": [], "losses": [], "paths": True, "source": False,
                       "summary": {"command": ["./sample"], "wall_ns": 10**9, "totals": {}}}
        self.heads = []
        self.body = []
        self.texts = [""]
        self.known = {"": 0}

    def text(self, text):
        """The number of a text."""
        if text not in self.known:
            self.known[text] = len(self.texts)
            self.texts.append(text)
        return self.known[text]

    def column(self, name, kind, numbers):
        """A column of type u or d."""
        if kind == "u":
            data = b"".join(unsigned(n) for n in numbers)
        else:
            last, parts = 0, []
            for number in numbers:
                parts.append(unsigned(zigzag(number - last)))
                last = number
            data = b"".join(parts)
        self.raw(name, kind, len(numbers), data)

    def raw(self, name, kind, count, data):
        """A column of bytes that may be wrong."""
        self.heads.append({"name": name, "type": kind, "count": count, "bytes": len(data)})
        self.body.append(data)

    def functions(self, names, module="/usr/bin/sample"):
        """Functions behind number 0; returns nothing."""
        names = ["(too small to show)"] + list(names)
        self.column("function.name", "u", [self.text(name) for name in names])
        self.column("function.short", "u", [self.text(name) for name in names])
        self.column("function.module", "u", [0] + [self.text(module)] * (len(names) - 1))
        self.column("function.file", "u", [0] * len(names))
        self.column("function.line", "u", [0] * len(names))

    def nodes(self, nodes):
        """Nodes: (number of the parent + 1 or 0, function)."""
        self.column("node.parent", "u", [parent for parent, _ in nodes])
        self.column("node.function", "u", [function for _, function in nodes])

    def value(self, key, unit, entries, **more):
        """A value: entries are (node, self)."""
        self.header["values"].append(dict({"key": key, "title": key.capitalize(), "unit": unit,
                                           "from": "calls", "timed": False, "by_thread": False}, **more))
        self.column("value.%s.node" % key, "d", [node for node, _ in entries])
        self.column("value.%s.self" % key, "u", [own for _, own in entries])

    def stream(self):
        """All of it, not packed."""
        text = b"".join(text.encode("utf-8", "surrogatepass") + b"\0" for text in self.texts)
        heads = [{"name": "text", "type": "text", "count": len(self.texts), "bytes": len(text)}]
        header = json.dumps(dict(self.header, columns=heads + self.heads)).encode()
        return b"PFPAGE1\n" + len(header).to_bytes(4, "little") + header + text + b"".join(self.body)

    def base64(self):
        """What stands in the page."""
        return base64.b64encode(gzip.compress(self.stream(), 6, mtime=0)).decode()


def write_page(template, path, data):
    """A page of TEMPLATE with DATA, base64."""
    with open(template, encoding="utf-8") as file:
        text = file.read()
    assert text.count(MARK) == 1
    element = '<script type="text/plain" id="perfrec-data">%s</script>' % data
    with open(path, "w", encoding="utf-8") as file:
        file.write(text.replace(MARK, element))


HOSTILE = ["</script><script>document.title='owned'</script>", "<img src=x onerror=alert(1)>",
           "\x1b[31mred\x1b[0m", "safe\u202egnp.exe", "zero\u200bwidth", "a;b\nc\td", "=cmd|' /C calc'!A0",
           "x" * 4096, "\"quoted\" 'both' `three` ${four}", "שלום", "<!--", "&lt;b&gt;&amp;"]


def hostile():
    """Functions with names that try to leave their place."""
    data = Data()
    data.functions(HOSTILE, module="/tmp/</script>\u202e/lib")
    data.nodes([(0, i + 1) for i in range(len(HOSTILE))])
    data.value("wall", "nanoseconds", [(i, 10**6 * (i + 1)) for i in range(len(HOSTILE))])
    data.value("calls", "count", [(i, i + 1) for i in range(len(HOSTILE))])
    data.header["summary"]["command"] = ["./</title><script>alert(1)</script>", "\u202eevil"]
    data.header["notes"] = ["<b>note</b>"]
    data.header["losses"] = ["3 calls of </script>"]
    return data


def large(count=100000):
    """COUNT frames that all are wide enough to be painted one day."""
    data = Data()
    functions = 5000
    data.functions(["module_%d::function_number_%d(int, char const*)" % (i % 37, i) for i in range(functions)])
    nodes, state = [(0, 1)], 12345
    for i in range(1, count):
        state = (state * 1103515245 + 12345) % 2**31
        nodes.append(((i - 1) // 3 + 1 if i > 9 else i, state // 65536 % functions + 1))
    data.nodes(nodes)
    entries, state = [], 1
    for i in range(count):
        state = (state * 1103515245 + 12345) % 2**31
        entries.append((i, state // 1024 % 1000000 + 1))
    data.value("wall", "nanoseconds", entries)
    data.value("calls", "count", [(i, 1 + own % 977) for i, own in entries])
    return data


class Rich:
    """A server of four threads in two processes: every view has something.

    Attribute entries: {key: [(bucket, thread, node, self), ...]}, to be added
    up by a test on its own; parents and functions: of the nodes."""

    NAMES = ["main", "serve", "read_request", "parse", "tokenize", "lookup", "hash", "render",
             "template::expand<…>(std::string const&)", "write_reply", "compress", "memcpy", "log_line", "wait_for_work"]
    # (parent + 1, function, share of the time, length of a call in ns)
    SHAPE = [(0, 1, 2, 9e7), (1, 2, 4, 2e6), (2, 3, 6, 3e5), (2, 4, 10, 4e5), (4, 5, 30, 2e4), (5, 12, 4, 2e3),
             (2, 6, 8, 2e5), (7, 7, 22, 1e3), (2, 8, 9, 8e5), (9, 9, 25, 5e4), (10, 12, 12, 4e3), (10, 5, 5, 2e4),
             (2, 10, 5, 3e5), (13, 11, 28, 2e5), (14, 12, 6, 3e3), (2, 13, 3, 5e4), (1, 14, 20, 5e6)]
    BUCKETS = 200
    WIDTH = 5 * 10**6

    def __init__(self):
        self.data = Data()
        self.state = 7
        self.entries = {"wall": [], "calls": [], "cpu": []}
        self.parents = [parent for parent, _, _, _ in self.SHAPE]
        self.functions = [function for _, function, _, _ in self.SHAPE]
        self.fill()

    def chance(self, below):
        """A number that is the same in each run."""
        self.state = (self.state * 1103515245 + 12345) % 2**31
        return self.state // 65536 % below

    def fill(self):
        """All columns."""
        data = self.data
        data.functions(self.NAMES, "/usr/bin/server")
        data.column("node.parent", "u", self.parents)
        data.column("node.function", "u", self.functions)
        data.column("process.pid", "u", [0, 4711, 4712])
        data.column("process.name", "u", [data.text(n) for n in ("(not known)", "server", "helper")])
        data.column("process.command", "u", [data.text(n) for n in ("", "/usr/bin/server -p 80", "/usr/bin/helper")])
        data.column("thread.process", "u", [0, 1, 1, 1, 2])
        data.column("thread.tid", "u", [0, 4711, 4713, 4714, 4712])
        data.column("thread.name", "u", [data.text(n) for n in ("(not known)", "server", "worker 1", "worker 2", "helper")])
        data.column("thread.first_ns", "u", [0, 0, 10**7, 10**7, 3 * 10**8])
        data.column("thread.last_ns", "u", [0, 10**9, 9 * 10**8, 10**9, 7 * 10**8])
        self.values()
        self.timeline()
        self.memory()
        data.header["summary"] = {
            "command": ["/usr/bin/server", "-p", "80"], "wall_ns": 10**9, "user_ns": 18 * 10**8, "sys_ns": 10**8,
            "started": "2026-11-22T12:00:00Z", "exit": {"status": 0}, "cost": {"share": 0.043, "total_ns": 8 * 10**7},
            "totals": {"spans": 1234567, "threads": 4, "processes": 2, "peak_bytes": 52 * 2**20, "cpu_samples": 188}}

    def busy(self, bucket, thread):
        """How busy a thread is in a bucket, 0 to 10."""
        if thread == 4:
            return 5 if 60 <= bucket < 140 else 0
        wave = abs((bucket * (3 + thread)) % 60 - 30) // 4
        return max(1, wave + self.chance(4) - (2 if bucket < 12 else 0))

    def values(self):
        """Wall time, calls and CPU time of all nodes in all buckets."""
        sums = {"wall": [0] * self.BUCKETS, "calls": [0] * self.BUCKETS, "cpu": [0] * self.BUCKETS}
        for bucket in range(self.BUCKETS):
            for thread in range(1, 5):
                busy = self.busy(bucket, thread)
                for node, (_, _, share, length) in enumerate(self.SHAPE):
                    wall = busy * share * (1500 + self.chance(500))
                    calls = int(wall / length * 3) or (1 if self.chance(9) == 0 else 0)
                    cpu = wall if node < 16 and self.chance(3) else 0
                    for key, own in (("wall", wall), ("calls", calls), ("cpu", cpu)):
                        if own:
                            self.entries[key].append((bucket, thread, node, own))
                            sums[key][bucket] += own
        titles = {"wall": ("Wall time", "nanoseconds", "calls"), "calls": ("Calls", "count", "calls"),
                  "cpu": ("CPU time", "nanoseconds", "samples")}
        for key, (title, unit, source) in titles.items():
            entries = self.entries[key]
            self.data.value(key, unit, [(node, own) for _, _, node, own in entries], title=title, timed=True,
                            by_thread=True, estimated=key == "cpu", **{"from": source})
            self.data.column("value.%s.bucket" % key, "d", [bucket for bucket, _, _, _ in entries])
            self.data.column("value.%s.thread" % key, "u", [thread for _, thread, _, _ in entries])
        self.data.header["buckets"] = {"count": self.BUCKETS, "first_ns": 0, "width_ns": self.WIDTH}
        self.data.header["time"] = {"first_ns": 0, "last_ns": self.BUCKETS * self.WIDTH}
        self.data.column("overview.calls", "u", sums["calls"])
        self.data.column("overview.cpu", "u", sums["cpu"])

    def timeline(self):
        """Two levels: all calls, and those above a millisecond."""
        rows = []
        for thread in range(1, 5):
            begin, end = (3 * 10**8, 7 * 10**8) if thread == 4 else (10**7 * (thread > 1), 10**9)
            rows.append((thread, 0, begin, end - begin, 1))
            at = begin + 10**6
            while at < end - 10**7:
                length = 10**6 * (2 + self.chance(7))
                serves = self.chance(4) > 0
                rows.append((thread, 1, at, length, 2 if serves else 14))
                inner = at + 10**4
                while serves and inner < at + length * 9 // 10:
                    part = min(length // (2 + self.chance(5)), at + length - inner)
                    rows.append((thread, 2, inner, part, (3, 4, 6, 8, 10, 13)[self.chance(6)]))
                    inner += part + 10**4
                at += length + 10**5 * self.chance(20)
        rows.sort()
        self.rows = rows
        self.data.header["timeline"] = []
        for level, width, least in ((0, 10**6, 10**6), (1, 1, 0)):
            shown = [row for row in rows if row[3] >= least]
            for i, name in enumerate(("thread", "depth", "begin", "duration", "function")):
                self.data.column("timeline.%d.%s" % (level, name), "d" if name == "begin" else "u", [row[i] for row in shown])
            self.data.column("timeline.%d.count" % level, "u", [1 if level else 3 for _ in shown])
            self.data.header["timeline"].append({"level": level, "width_ns": width})

    def memory(self):
        """A curve, its peak, and who allocated."""
        curve, most = [], [0] * self.BUCKETS
        for i in range(400):
            size = 2**20 * (4 + (i % 100) // 4 + i // 30 + (20 if 260 < i < 300 else 0)) + self.chance(2**20)
            curve.append((i * 25 * 10**5, size))
            most[i // 2] = max(most[i // 2], size)
        self.data.column("heap.ns", "d", [ns for ns, _ in curve])
        self.data.column("heap.bytes", "u", [size for _, size in curve])
        peak = max(curve, key=lambda point: point[1])
        self.data.header["heap"] = {"peak_ns": peak[0], "peak_bytes": peak[1]}
        self.data.column("overview.memory", "u", most)
        for key, title, unit, entries in (
                ("alloc_space", "Allocated", "bytes", [(2, 9 << 24), (4, 7 << 25), (9, 3 << 26), (13, 5 << 20)]),
                ("inuse_space", "In use at the end", "bytes", [(4, 5 << 20), (7, 9 << 20), (15, 4096)]),
                ("inuse_objects", "Blocks in use", "count", [(4, 811), (7, 4000), (15, 1)]),
                ("peak_space", "In use at the peak", "bytes", [(4, 9 << 20), (7, 11 << 20), (9, 30 << 20)])):
            self.data.value(key, unit, entries, title=title, **{"from": "allocations"})

    def in_range(self, key, first, last, threads=None):
        """{function: self} in the buckets FIRST to LAST, of some threads."""
        sums = {}
        for bucket, thread, node, own in self.entries[key]:
            if first <= bucket <= last and (threads is None or thread in threads):
                function = self.NAMES[self.functions[node] - 1]
                sums[function] = sums.get(function, 0) + own
        return sums


def difference():
    """Two recordings: a function is new, one is gone, one is slower."""
    data = Data()
    names = ["main", "parse", "render", "old_hash", "new_hash", "send"]
    data.functions(names)
    data.nodes([(0, 1), (1, 2), (1, 3), (2, 4), (2, 5), (1, 6)])
    before = [10**6, 5 * 10**7, 9 * 10**7, 4 * 10**7, 0, 3 * 10**7]
    after = [10**6, 5 * 10**7, 14 * 10**7, 0, 10**7, 3 * 10**7]
    data.value("wall", "nanoseconds", list(enumerate(after)), title="Wall time")
    data.column("value.wall.base", "u", before)
    data.value("calls", "count", [(i, 10) for i in range(6)], title="Calls")
    data.column("value.calls.base", "u", [1, 10, 10, 500, 0, 10])
    data.header["diff"] = {"a": {"name": "before", "summary": dict(data.header["summary"])},
                           "b": {"name": "after", "summary": dict(data.header["summary"])}}
    return data


def durations():
    """Two functions of which it is known how long single calls took."""
    data = Data()
    data.functions(["main", "wait"])
    data.nodes([(0, 1), (1, 2)])
    data.value("wall", "nanoseconds", [(0, 2000), (1, 90000)], title="Wall time")
    data.value("calls", "count", [(0, 1), (1, 8)])
    # Plus 1; of main nothing is known.
    data.column("function.median", "u", [0, 0, 1001])
    data.column("function.p99", "u", [0, 0, 80001])
    data.column("function.max", "u", [0, 0, 81921])
    data.column("function.bars", "u", [0, 0, 3])
    data.column("bar.ns", "u", [896, 1280, 81920])
    data.column("bar.calls", "u", [6, 1, 1])
    return data


def lines():
    """Lines of three files: one of the program, one of a library, one that was not there."""
    data = Data()
    data.functions(["main"])
    data.nodes([(0, 1)])
    data.value("cpu", "nanoseconds", [(0, 10**9)], title="CPU time", **{"from": "samples"})
    rows = [("malloc.c", 7, "", 10**9), ("/usr/include/c++/12/bits/stl_map.h", 9, "return it;", 5 * 10**8),
            ("/home/me/app/main.c", 3, "work();", 10**8)]
    data.column("source.file", "u", [data.text(file) for file, _, _, _ in rows])
    data.column("source.line", "d", [line for _, line, _, _ in rows])
    data.column("source.text", "u", [data.text(text) for _, _, text, _ in rows])
    data.column("source.cpu", "u", [cpu for _, _, _, cpu in rows])
    return data


def allocators(count):
    """COUNT functions that have allocated."""
    data = Data()
    data.functions(["function_%d" % i for i in range(count)])
    data.nodes([(0, i + 1) for i in range(count)])
    data.value("inuse_space", "bytes", [(i, i + 1) for i in range(count)], title="In use at the end", **{"from": "allocations"})
    return data


def gaps():
    """Ten buckets: all calls of buckets 4 to 6 are muted, those of 7 are lost."""
    data = Data()
    data.functions(["main"])
    data.nodes([(0, 1)])
    calls = [40, 40, 40, 40, 0, 0, 0, 0, 40, 0]
    at = [i for i, count in enumerate(calls) if count]
    data.value("calls", "count", [(0, 40) for _ in at], title="Calls", timed=True)
    data.column("value.calls.bucket", "d", at)
    data.header["buckets"] = {"count": 10, "first_ns": 0, "width_ns": 10**6}
    data.header["counters"] = [{"key": "counter.0", "title": "RSS", "unit": "bytes"}]
    data.column("overview.calls", "u", calls)
    data.column("overview.muted", "u", [0] * 4 + [3] * 3 + [0] * 3)
    data.column("overview.lost", "u", [0] * 7 + [700, 0, 0])
    data.column("overview.counter.0", "u", [2**20 * (i + 1) for i in range(10)])
    return data
