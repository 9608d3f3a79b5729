# SPDX-License-Identifier: Apache-2.0
"""profile_requests PROFILE PREFIX: of each function whose name begins with PREFIX
the requests that its samples have as labels, each with the sum of the first value:
"in_request 0102... a1a2... 17"; "-" stands for no label."""
import collections
import gzip
import sys

import wire


def packed(data):
    """The varints of a packed field."""
    at, out = 0, []
    while at < len(data):
        value, at = wire.varint(data, at)
        out.append(value)
    return out


def main(path, prefix):
    """Prints the table."""
    profile = wire.fields(gzip.open(path).read())
    texts = [v.decode() for n, v in profile if n == 6]
    functions, locations = {}, {}
    for number, value in profile:
        parts = dict(wire.fields(value)) if number == 5 else {}
        if number == 5:
            functions[parts[1]] = texts[parts[2]]
    for number, value in profile:
        if number == 4:
            parts = wire.fields(value)
            lines = [dict(wire.fields(v)) for n, v in parts if n == 4]
            locations[dict(parts)[1]] = [functions[line[1]] for line in lines]
    sums = collections.Counter()
    for number, value in profile:
        if number != 2:
            continue
        parts = wire.fields(value)
        labels = [dict(wire.fields(v)) for n, v in parts if n == 3]
        labels = {texts[one[1]]: texts[one.get(2, 0)] for one in labels}
        ids = labels.get("trace_id", "-"), labels.get("span_id", "-")
        stack = [i for n, v in parts if n == 1 for i in packed(v)]
        names = {name for i in stack for name in locations[i]}
        count = [i for n, v in parts if n == 2 for i in packed(v)][0]
        for name in names:
            if name.startswith(prefix):
                sums[(name, *ids)] += count
    for key, count in sorted(sums.items()):
        print(*key, count)


main(*sys.argv[1:])
