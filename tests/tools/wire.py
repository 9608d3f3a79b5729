# SPDX-License-Identifier: Apache-2.0
"""wire - reads messages of Protocol Buffers, for the tools beside it."""
import sys


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return value, at


def fields(data):
    """[(number, value)]: an int, or bytes."""
    out = []
    at, end = 0, len(data)
    while at < end:
        tag, at = varint(data, at)
        wire = tag & 7
        if wire == 0:
            value, at = varint(data, at)
        elif wire == 1:
            value = data[at : at + 8]
            at += 8
        elif wire == 2:
            count, at = varint(data, at)
            value = data[at : at + count]
            at += count
        else:
            sys.exit(f"wire type {wire} at byte {at}")
        out.append((tag >> 3, value))
    return out
