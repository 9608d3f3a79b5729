#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
#
# page_read.py PAGE - the data of a page (docs/PAGE.md) as JSON, by code that
# shares nothing with what wrote it. Every rule of the form is checked; the
# first that is broken ends the program.

import base64
import json
import re
import struct
import sys
import zlib


def must(holds, what):
    if not holds:
        sys.exit(f"{sys.argv[1]}: {what}")


def numbers(data, kind, count):
    out, at, last = [], 0, 0
    for _ in range(count):
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                break
        if kind in "zd":
            value = value >> 1 ^ -(value & 1)
        if kind == "d":
            value = last = last + value
        must(abs(value) < 1 << 53, "a number is too large")
        out.append(value)
    must(at == len(data), "a column has more bytes than numbers")
    return out


def read_page(path):
    html = open(path, encoding="utf-8").read()
    found = re.findall(r'<script type="text/plain" id="perfrec-data">([A-Za-z0-9+/=]*)</script>', html)
    must(len(found) == 1, "not one element with data")
    must(not re.search(r'(src|href)="?(https?:)?//', html), "a link to the network")
    must("default-src 'none'" in html, "no content policy")
    data = zlib.decompress(base64.b64decode(found[0], validate=True), 31)
    must(data[:8] == b"PFPAGE1\n", "no mark")
    size = struct.unpack("<I", data[8:12])[0]
    page = json.loads(data[12 : 12 + size])
    at, columns = 12 + size, {}
    for column in page["columns"]:
        piece = data[at : at + column["bytes"]]
        at += column["bytes"]
        if column["type"] == "text":
            texts = piece.decode("utf-8").split("\0")
            must(texts.pop() == "" and len(texts) == column["count"], "texts")
            columns[column["name"]] = texts
        else:
            columns[column["name"]] = numbers(piece, column["type"], column["count"])
    must(at == len(data), "bytes behind the last column")
    return page, columns


def check_tree(page, columns):
    nodes = len(columns["node.parent"])
    functions = len(columns["function.name"])
    texts = len(columns["text"])
    for i, parent in enumerate(columns["node.parent"]):
        must(parent <= i, "a parent comes after its child")
    for name in ("name", "short", "module", "file"):
        must(all(t < texts for t in columns["function." + name]), "a text")
    must(all(f < functions for f in columns["node.function"]), "a function")
    buckets = page.get("buckets", {}).get("count", 0)
    must(buckets <= 500, "more than 500 buckets")
    for value in page["values"]:
        key = "value." + value["key"]
        entries = list(zip(*(columns[f"{key}.{part}"]
                             for part in ("bucket", "thread", "node")
                             if part == "node" or value["timed"])))
        must(entries == sorted(set(entries)), key + " is not sorted")
        must(all(entry[-1] < nodes for entry in entries), key + ": a node")
        must(sum(columns[key + ".self"]) == value["sum"], key + ": the sum")
        if value["timed"]:
            threads = len(columns["thread.tid"])
            must(all(e[0] <= buckets and e[1] < threads for e in entries), key)


def check_timeline(page, columns):
    total = 0
    for level in page.get("timeline", []):
        part = f"timeline.{level['level']}."
        rows = list(zip(columns[part + "thread"], columns[part + "depth"],
                        columns[part + "begin"], columns[part + "duration"]))
        total += len(rows)
        must(rows == sorted(rows), "the timeline is not sorted")
        for one, other in zip(rows, rows[1:]):
            must(one[:2] != other[:2] or one[2] + one[3] <= other[2],
                 "calls of one row overlap")
    must(total <= 300000, "too many calls in the timeline")


def check_states(columns):
    """A moment of a thread is in one state, though programs share its tid after exec()."""
    ends = {}
    pieces = zip(*(columns.get("state." + part, []) for part in ("begin", "duration", "thread")))
    for begin, duration, thread in sorted(pieces):
        tid = columns["thread.tid"][thread]
        must(begin >= ends.get(tid, begin), "states of thread %d overlap" % tid)
        ends[tid] = begin + duration


def totals(page, columns, key):
    """Self and total by function, from the nodes."""
    nodes = columns["node.parent"]
    whole = [0] * len(nodes)
    own = {}
    for node, amount in zip(columns[f"value.{key}.node"], columns[f"value.{key}.self"]):
        whole[node] += amount
        name = columns["text"][columns["function.name"][columns["node.function"][node]]]
        own[name] = own.get(name, 0) + amount
    for i in range(len(nodes) - 1, -1, -1):
        if nodes[i]:
            whole[nodes[i] - 1] += whole[i]
    return {"self": own, "sum": sum(w for w, p in zip(whole, nodes) if not p)}


def functions(page, columns):
    out = []
    for i in range(len(columns["function.name"])):
        one = {"name": columns["text"][columns["function.name"][i]],
               "module": columns["text"][columns["function.module"][i]],
               "short": columns["text"][columns["function.short"][i]]}
        for value in page["values"]:
            for part in ("self", "total", "base_self", "base_total"):
                column = f"function.{value['key']}.{part}"
                if column in columns:
                    one[f"{value['key']}.{part}"] = columns[column][i]
        out.append(one)
    return out


def code(columns):
    """The machine code: {function, text of its instructions, their CPU time}."""
    out, at = [], 0
    for function, count in zip(columns.get("code.function", []), columns.get("code.count", [])):
        here = slice(at, at + count)
        at += count
        out.append({"function": columns["text"][columns["function.name"][function]],
                    "texts": [columns["text"][t] for t in columns["instruction.text"][here]],
                    "cpu": sum(columns["instruction.cpu"][here])})
    for name, numbers_of in columns.items():
        must(not name.startswith("instruction.") or len(numbers_of) == at, "instructions of no function")
    return out


def main():
    page, columns = read_page(sys.argv[1])
    check_tree(page, columns)
    check_timeline(page, columns)
    check_states(columns)
    page["functions"] = functions(page, columns)
    page["tree"] = {v["key"]: totals(page, columns, v["key"]) for v in page["values"]}
    page["threads"] = [columns["text"][t] for t in columns["thread.name"]]
    page["unknown_time"] = {
        v["key"]: sum(amount for bucket, amount in
                      zip(columns[f"value.{v['key']}.bucket"], columns[f"value.{v['key']}.self"])
                      if bucket == page["buckets"]["count"])
        for v in page["values"] if v["timed"]}
    page["lines"] = [columns["text"][t] for t in columns.get("source.text", [])]
    page["code"] = code(columns)
    page["calls"] = [{"begin": begin, "duration": duration} for begin, duration in
                     zip(columns.get("timeline.2.begin", []), columns.get("timeline.2.duration", []))]
    sites = [columns[f"heap.site.{i}"] for i in range(len(columns.get("heap.site_name", [])))]
    must(all(len(site) == len(columns["heap.site_ns"]) for site in sites), "a site at other times")
    use = dict(zip(columns.get("heap.ns", []), columns.get("heap.bytes", [])))
    page["sites"] = {
        "names": [columns["text"][t] for t in columns.get("heap.site_name", [])],
        "count": len(columns.get("heap.site_ns", [])),
        "sums": [[sum(site[i] for site in sites), use.get(ns)]
                 for i, ns in enumerate(columns.get("heap.site_ns", []))]}
    page["overview"] = {name[len("overview."):]: amounts for name, amounts in columns.items()
                        if name.startswith("overview.")}
    must(all(len(amounts) == page["buckets"]["count"] for amounts in page["overview"].values()),
         "an overview of other buckets")
    page["size"] = {c["name"]: c["bytes"] for c in page["columns"]}
    json.dump(page, sys.stdout)


main()
