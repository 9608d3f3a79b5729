#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""thread_starts.py - prints where the first packet of each thread ends in a trace
that is not compressed, and each of the next MORE packets: an offset a line.

usage: thread_starts.py TRACE [MORE]
"""
import sys

from wire import fields, varint

# Of a packet: with these two a thread begins.
START = {6, 59}  # clock_snapshot, trace_packet_defaults


def main():
    with open(sys.argv[1], "rb") as file:
        data = file.read()
    more = int(sys.argv[2]) if len(sys.argv) > 2 else 0
    at = left = 0
    while at < len(data):
        _, begin = varint(data, at)
        count, begin = varint(data, begin)
        at = begin + count
        if START <= {number for number, _ in fields(data[begin:at])}:
            left = more + 1
        if left:
            print(at)
            left -= 1


main()
