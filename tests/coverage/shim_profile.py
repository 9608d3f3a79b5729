#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""shim_profile.py SHIM COUNTERS OUT: a profile that llvm-profdata reads, made of
the counters that shim_counters.c has shared and of what clang has put into the
sections of the shim.

The format is that of LLVM 14, "raw" version 8: a header of eleven numbers, the
data (functions), the counters, the names.
"""
import struct
import sys

MAGIC = 0xff6c70726f667281  # of 64 bits
VERSION = 8
FUNCTION_BYTES = 48
KINDS_OF_VALUES = 1  # the number of the last: none has values here


def sections(elf):
    """{name: (address, bytes)}"""
    table, = struct.unpack_from("<Q", elf, 40)
    size, count, names = struct.unpack_from("<HHH", elf, 58)
    headers = [struct.unpack_from("<IIQQQQIIQQ", elf, table + i * size) for i in range(count)]
    text = headers[names][4]

    def name(at):
        return elf[text + at:elf.index(b"\0", text + at)].decode()

    return {name(h[0]): (h[3], elf[h[4]:h[4] + h[5]]) for h in headers}


def main(shim, counters, out):
    with open(shim, "rb") as file:
        found = sections(file.read())
    with open(counters, "rb") as file:
        counts = file.read()
    data_at, data = found["__llvm_prf_data"]
    counts_at, zeros = found["__llvm_prf_cnts"]
    _, names = found["__llvm_prf_names"]
    if len(counts) != len(zeros):
        sys.exit(f"{counters}: {len(counts)} bytes, not {len(zeros)}")
    header = struct.pack("<11Q", MAGIC, VERSION, 0, len(data) // FUNCTION_BYTES, 0, len(counts) // 8,
                         0, len(names), (counts_at - data_at) % (1 << 64), 0, KINDS_OF_VALUES)
    with open(out, "wb") as file:
        file.write(header + data + counts + names + b"\0" * (-len(names) % 8))


main(*sys.argv[1:])
