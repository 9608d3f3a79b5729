#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""as_host.py TRACE [BOOT SHIFT_NS]: prints the clocks that the trace has a
snapshot of, BOOTTIME and REALTIME, in ns.

With BOOT, 36 letters, the trace then says that it is of another boot, of a
machine whose wall clock reads SHIFT_NS more at the same CLOCK_BOOTTIME: a host
that was booted that much later. "-" leaves out what trace_origin reads: a trace
of an older perfrec. The trace must begin with packets that are not compressed.
"""
import sys

from wire import fields

REALTIME, BOOTTIME = 1, 6


def varint(value):
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes(out + bytes([value]))


def clocks_of(data):
    for number, packet in fields(data[:1 << 16]):
        for field, snapshot in fields(packet) if number == 1 else []:
            if field == 6:
                pairs = [dict(fields(c)) for f, c in fields(snapshot) if f == 1]
                return {pair[1]: pair[2] for pair in pairs}
    return sys.exit("no clock snapshot")


def replace(data, old, new):
    at = data.index(old)
    if len(old) != len(new):
        sys.exit("another length")
    return data[:at] + new + data[at + len(old):]


def main():
    with open(sys.argv[1], "rb") as file:
        data = file.read()
    clocks = clocks_of(data)
    print(clocks[BOOTTIME], clocks[REALTIME])
    if len(sys.argv) < 3:
        return
    at = data.index(b"perfrec.boot")
    if sys.argv[2] == "-":
        data = replace(data, b"perfrec.boot", b"perfrec.b___")
        data = replace(data, b"perfrec.host", b"perfrec.h___")
    else:
        boot = data[at + 14:at + 50]
        data = replace(data, boot, sys.argv[2].encode())
    data = replace(data, varint(clocks[REALTIME]),
                   varint(clocks[REALTIME] + int(sys.argv[3])))
    with open(sys.argv[1], "wb") as file:
        file.write(data)


if __name__ == "__main__":
    main()
