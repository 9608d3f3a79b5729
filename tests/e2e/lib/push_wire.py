# SPDX-License-Identifier: Apache-2.0
#
# A strict reader and a writer of protobuf by the .proto files of this tree. The
# reader refuses unknown fields, wrong wire types, invalid UTF-8 and trailing
# bytes. It shares no code with what it checks.
import re
import struct

SCALARS = {'int32', 'int64', 'uint32', 'uint64', 'bool'}


class Bad(Exception):
    pass


def need(holds, what):
    if not holds:
        raise Bad(what)


def load(path):
    """{message: {number: (name, type, repeated)}} of a .proto file."""
    schema, current = {}, None
    for line in open(path, encoding='utf-8'):
        line = line.split('//')[0].strip()
        if m := re.fullmatch(r'message (\w+) \{', line):
            current = schema[m[1]] = {}
        elif m := re.match(r'(optional|repeated) (\w+) (\w+) = (\d+)', line):
            current[int(m[4])] = (m[3], m[2], m[1] == 'repeated')
    return schema


def varint(data, at):
    value = shift = 0
    while True:
        need(at < len(data) and shift < 70, 'a varint is cut')
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return value & (1 << 64) - 1, at


def signed(value, kind):
    if kind in ('int32', 'int64') and value >= 1 << 63:
        value -= 1 << 64
    if kind == 'int32':
        need(-(1 << 31) <= value < 1 << 31, 'an int32 is too large')
    return value


def one(schema, kind, wire, data, at, name):
    if kind in SCALARS or kind == 'fixed64':
        if kind == 'fixed64':
            need(wire == 1 and at + 8 <= len(data), f'{name}: no fixed64')
            return struct.unpack_from('<Q', data, at)[0], at + 8
        need(wire == 0, f'{name}: wire type {wire} for {kind}')
        value, at = varint(data, at)
        return signed(value, kind), at
    need(wire == 2, f'{name}: wire type {wire} for {kind}')
    size, at = varint(data, at)
    need(at + size <= len(data), f'{name} is cut')
    value, at = data[at:at + size], at + size
    if kind == 'bytes':
        return value, at
    if kind == 'string':
        try:
            return value.decode('utf-8'), at
        except UnicodeDecodeError as error:
            raise Bad(f'{name} is no UTF-8') from error
    return decode(schema, kind, value), at


def decode(schema, message, data):
    """A dict; fields that are missing are not in it."""
    out, at = {}, 0
    while at < len(data):
        tag, at = varint(data, at)
        number, wire = tag >> 3, tag & 7
        need(number in schema[message], f'{message} has no field {number}')
        name, kind, repeated = schema[message][number]
        where = f'{message}.{name}'
        if repeated and wire == 2 and kind in SCALARS:
            size, at = varint(data, at)
            end = at + size
            need(end <= len(data), f'{where} is cut')
            values = out.setdefault(name, [])
            while at < end:
                value, at = varint(data, at)
                values.append(signed(value, kind))
            need(at == end, f'{where}: numbers beyond its end')
            continue
        value, at = one(schema, kind, wire, data, at, where)
        if repeated:
            out.setdefault(name, []).append(value)
        elif name in out and isinstance(value, dict):
            raise Bad(f'{where} comes twice')
        else:
            out[name] = value
    return out


def put_varint(value):
    value &= (1 << 64) - 1
    out = b''
    while value > 127:
        out += bytes([value & 127 | 128])
        value >>= 7
    return out + bytes([value])


def encode(schema, message, fields):
    """The bytes of a message of a dict; repeated numbers are packed."""
    out = []
    for number, (name, kind, repeated) in schema[message].items():
        if name not in fields:
            continue
        values = fields[name] if repeated else [fields[name]]
        if repeated and kind in SCALARS:
            packed = b''.join(map(put_varint, values))
            out += [put_varint(number << 3 | 2), put_varint(len(packed)), packed]
            continue
        for value in values:
            if kind in SCALARS:
                out += [put_varint(number << 3), put_varint(value)]
                continue
            if kind == 'fixed64':
                out += [put_varint(number << 3 | 1), struct.pack('<Q', value)]
                continue
            if isinstance(value, str):
                value = value.encode('utf-8')
            elif isinstance(value, dict):
                value = encode(schema, kind, value)
            out += [put_varint(number << 3 | 2), put_varint(len(value)), value]
    return b''.join(out)
