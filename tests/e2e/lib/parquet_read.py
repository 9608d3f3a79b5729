# SPDX-License-Identifier: Apache-2.0
#
# parquet_read.py FILE [COLUMN...]: the rows of a Parquet file as JSON, one a line,
# after a line with the columns: all, or these. Written from the text of
# apache/parquet-format, not from perfrec's writer. Strict: every byte of the file
# belongs to the marks, to a page or to the footer, all lengths agree, and so do the
# counts and the statistics.
import itertools
import json
import struct
import sys
import zlib


def demand(what, *about):
    if not what:
        sys.exit("%s: %s" % (sys.argv[1], " ".join(str(each) for each in about)))


class Thrift:
    """The compact protocol."""

    def __init__(self, data, at, end):
        self.data, self.at, self.end = data, at, end

    def byte(self):
        demand(self.at < self.end, "a structure ends early")
        self.at += 1
        return self.data[self.at - 1]

    def varint(self):
        value = shift = 0
        while True:
            byte = self.byte()
            value |= (byte & 0x7f) << shift
            shift += 7
            demand(shift <= 70, "a number is too long")
            if byte < 0x80:
                return value

    def zigzag(self):
        value = self.varint()
        return value >> 1 ^ -(value & 1)

    def value(self, kind):
        if kind in (5, 6):
            return self.zigzag()
        if kind == 8:
            length = self.varint()
            demand(length <= self.end - self.at, "a text is too long")
            self.at += length
            return self.data[self.at - length:self.at]
        if kind == 9:
            head = self.byte()
            count = head >> 4 if head >> 4 < 15 else self.varint()
            return [self.value(head & 15) for _ in range(count)]
        demand(kind == 12, "type", kind)
        return self.structure()

    def structure(self):
        fields, number = {}, 0
        while True:
            head = self.byte()
            if head == 0:
                return fields
            demand(head >> 4, "a field has no delta")
            number += head >> 4
            fields[number] = self.value(head & 15)


def take(data, at, form):
    size = struct.calcsize(form)
    demand(at + size <= len(data), "a page ends early")
    return struct.unpack_from(form, data, at)[0]


def runs(data, width, count):
    """The hybrid of runs and bit-packed groups."""
    thrift, values = Thrift(data, 0, len(data)), []
    while len(values) < count:
        head = thrift.varint()
        if head & 1:
            size = (head >> 1) * width
            bits = int.from_bytes(data[thrift.at:thrift.at + size], "little")
            demand(thrift.at + size <= len(data), "a run ends early")
            thrift.at += size
            values += [bits >> i * width & (1 << width) - 1
                       for i in range((head >> 1) * 8)]
        else:
            size = (width + 7) // 8
            values += [int.from_bytes(data[thrift.at:thrift.at + size],
                                      "little")] * (head >> 1)
            thrift.at += size
    demand(thrift.at == len(data), "bytes are left behind runs")
    demand(len(values) - count < 8 and not any(values[count:]), "too many values")
    return values[:count]


def plain(data, ints, count):
    values, at = [], 0
    if ints:
        demand(len(data) == 8 * count, "not as many bytes as values")
        return list(struct.unpack("<%dq" % count, data))
    for _ in range(count):
        length = take(data, at, "<I")
        at += 4 + length
        demand(at <= len(data), "a text is too long")
        values.append(data[at - length:at].decode("utf-8"))
    demand(at == len(data), "bytes are left behind values")
    return values


class File:
    def __init__(self, data):
        self.data = data
        demand(data[:4] == b"PAR1" == data[-4:], "no mark")
        length = take(data, len(data) - 8, "<I")
        self.at = 4  # up to here every byte was read
        self.footer_at = len(data) - 8 - length
        demand(self.footer_at >= 4, "the footer is too long")
        thrift = Thrift(data, self.footer_at, len(data) - 8)
        self.footer = thrift.structure()
        demand(thrift.at == len(data) - 8, "bytes are left behind the footer")
        demand(self.footer[1] == 1, "version")
        root, *self.columns = self.footer[2]
        demand(root[5] == len(self.columns), "number of columns")
        demand(len(self.footer[7]) == len(self.columns), "orders")

    def page(self, at, kind):
        demand(at == self.at, "a page at", at, "behind", self.at)
        thrift = Thrift(self.data, at, self.footer_at)
        head = thrift.structure()
        demand(head[1] == kind, "page type", head)
        self.at = thrift.at + head[3]
        demand(self.at <= self.footer_at, "a page is too long")
        data = zlib.decompress(self.data[thrift.at:self.at], 16 + 15)
        demand(len(data) == head[2], "size of a page")
        return head, data

    def chunk(self, outer, column, rows):
        meta, ints = outer[3], column[1] == 2
        begin, optional = self.at, column[3] == 1
        demand(meta[1] == column[1] and meta[3] == [column[4]], "column", meta)
        demand(meta[4] == 2 and meta[5] == rows, "codec or count", meta)
        demand(ints or column[6] == 0, "UTF8")
        demand(outer[2] == begin == meta.get(11, meta[9]), "offset", outer)
        texts = None
        if 11 in meta:
            head, data = self.page(meta[11], 2)
            demand(head[7][2] == 0, "encoding of a dictionary")
            texts = plain(data, ints, head[7][1])
            demand(len(set(texts)) == len(texts), "a text is there twice")
        head, data = self.page(meta[9], 0)
        demand(head[5][1] == rows, "values of a page", head)
        levels, at = [1] * rows, 0
        if optional:
            at = 4 + take(data, 0, "<I")
            levels = runs(data[4:at], 1, rows)
        if texts is None:
            demand(head[5][2] == 0, "encoding")
            values = plain(data[at:], ints, sum(levels))
        else:
            demand(head[5][2] == 8, "encoding")
            width = data[at]
            demand(len(texts) - 1 >> width == 0, "width", width)
            values = [texts[i] for i in runs(data[at + 1:], width, sum(levels))]
        demand(self.at - begin == meta[7], "size of a column")
        demand(meta[12][3] == rows - sum(levels), "number of NULLs", meta[12])
        if ints and values:
            demand(meta[12][5] == struct.pack("<q", max(values)) and
                   meta[12][6] == struct.pack("<q", min(values)), "statistics")
        left = iter(values)
        return [next(left) if level else None for level in levels]

    def rows(self):
        total = 0
        for group in self.footer[4]:
            count = group[3]
            total += count
            demand(len(group[1]) == len(self.columns), "columns of a group")
            yield from zip(*(self.chunk(chunk, column, count) for chunk, column
                             in zip(group[1], self.columns)))
        demand(self.at == self.footer_at, "bytes that belong to nothing")
        demand(total == self.footer[3], "number of rows")


def main():
    with open(sys.argv[1], "rb") as file:
        table = File(file.read())
    names = [column[4].decode() for column in table.columns]
    chosen = [names.index(name) for name in sys.argv[2:] or names]
    for row in itertools.chain([names], table.rows()):
        print(json.dumps([row[i] for i in chosen]))


main()
