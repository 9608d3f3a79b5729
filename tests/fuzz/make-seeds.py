#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
#
# make-seeds.py BUILD OUT - makes the folder OUT with inputs of targets: OUT/TARGET/NAME,
# in the formats of this build. tests/fuzz/corpus has the inputs that no program makes:
# found by fuzzing, or written by hand.
#
# Traces, profiles and summaries come from recordings of test programs in BUILD, call
# frame information from a file of tests/fuzz/corpus/unwind.
import gzip, os, re, shutil, struct, subprocess, sys, tempfile

build, seeds = map(os.path.abspath, sys.argv[1:])
corpus = os.path.join(os.path.dirname(os.path.abspath(__file__)), 'corpus')
shutil.rmtree(seeds, ignore_errors=True)


def seed(target, name, data):
    os.makedirs(os.path.join(seeds, target), exist_ok=True)
    with open(os.path.join(seeds, target, name), 'wb') as out:
        out.write(data)


def version():
    with open('shared/wire.h') as header:
        return int(re.search(r'WIRE_VERSION (\d+)u', header.read()).group(1))


def recording():
    with tempfile.TemporaryDirectory() as folder:
        out = os.path.join(folder, 'out')
        subprocess.run([build + '/perfrec', 'record', '-q', '--cpu=499',
                        '-o', out, '--', build + '/tests/progs/demo'],
                       check=True, stdout=subprocess.DEVNULL)
        for name in ('wall', 'cpu', 'heap', 'span'):
            path = os.path.join(out, name + '.pb.gz')
            if os.path.exists(path):
                seed('pprof', name + '.pb', gzip.open(path).read())
        with open(os.path.join(out, 'wall.pb.gz'), 'rb') as packed:
            seed('pprof', 'packed.pb.gz', packed.read())
        with open(os.path.join(out, 'summary.json'), 'rb') as summary:
            seed('summary', 'demo.json', summary.read())
    seed('summary', 'empty.json', b'{"perfrec": {}}')


# Traces of some programs, and these with their indexes (index_input.h).
def traces():
    torture = build + '/tests/torture/everything'
    with tempfile.TemporaryDirectory() as folder:
        def record(name, *command, options=(), status=0):
            out = os.path.join(folder, name)
            ran = subprocess.run([build + '/perfrec', 'record', '-q', '--cpu=off',
                                  *options, '-o', out, '--', *command],
                                 stdout=subprocess.DEVNULL,
                                 stderr=subprocess.PIPE, cwd=folder)
            if ran.returncode != status:
                sys.exit('%s: status %d\n%s' % (name, ran.returncode,
                                                ran.stderr.decode()))
            with open(out + '/trace.pftrace', 'rb') as file:
                trace = file.read()
            with open(out + '/trace.index', 'rb') as file:
                index = file.read()
            for target in 'trace', 'reindex':
                seed(target, name + '.pftrace', trace)
            pair = struct.pack('<H', len(trace)) + trace + items(index)
            for target in 'beside', 'index':
                seed(target, name, pair)
            return trace

        program = build + '/tests/progs/trace/'
        seed('keep', 'ranges.pftrace', record('ranges', program + 'ranges', '3'))
        seed('keep', 'counters.pftrace',
             record('counters', program + 'counters', '4', '9', '2', 'calls'))
        record('threads', program + 'tsd')
        record('blocked', program + 'switches')
        packed = '--compress', '--alloc=off'
        # Several checkpoints need some 4,000 spans, so the trace is compressed.
        record('checkpoints', program + 'flushed', '%s/perfrec ctl -o %s/checkpoints '
               'flush' % (build, folder), options=packed)
        record('contexts', program + 'coroutines', options=packed)
        # Exceptions, longjmp(), forks and threads.
        record('jumps', torture, torture + '_plugin.so', 'once',
               options=(*packed, '--depth=2'), status=7)


# The items of all batches, without their heads (collector/trace/index_items.h).
def items(index):
    at, out = 16, b''
    while at + 32 <= len(index):
        count, = struct.unpack_from('<I', index, at)
        out += index[at + 32:at + 32 + count]
        at += 32 + count
    return out


def hellos():
    # The hello of tests/fuzz/collector_rig.h: arena_bytes() is of one slot.
    def hello(**changes):
        values = dict(magic=0x6f6c6c6568637270, version=version(), pid=1,
                      slots=1, cells=4096, bytes=23658496, tsc=1,
                      instrumented=1, fds=0, entry_build=0)
        values.update(changes)
        return struct.pack('<QIiIIQIIII', *values.values())

    def said(message, fds=1, unsealed=0, as_said=0, page=b''):
        return bytes([len(message), fds, unsealed, as_said]) + message + page

    ver = version()
    seed('hello', 'good', said(hello()))
    seed('hello', 'thunks', said(hello(fds=1), 2))
    seed('hello', 'all-fds', said(hello(fds=3), 3))
    seed('hello', 'unsealed', said(hello(), unsealed=1))
    seed('hello', 'other-version', said(hello(version=0), as_said=1))
    seed('hello', 'other-pid', said(hello(), as_said=2))
    seed('hello', 'other-size', said(hello(bytes=4096), as_said=4))
    seed('hello', 'entry-build', said(hello(entry_build=1)))
    seed('hello', 'many-slots', said(hello(slots=0xffffffff)))
    seed('hello', 'page', said(hello(), page=struct.pack(
        '<QIIII', 0x616e657261637270, ver, 1, 4096, 1 << 20)))
    seed('hello', 'regret', said(struct.pack(
        '<QII', 0x7465726765726370, ver, 1), 0))
    seed('hello', 'child', said(struct.pack(
        '<QIiQQ', 0x646c696863637270, ver, 1, 1, 1), 1))
    seed('hello', 'short', said(hello()[:12]))
    seed('hello', 'eight-fds', said(hello(), 7))


def requests():
    for name, line in dict(
            list=b'list\n', target=b'list 7\n', pause=b'pause\n',
            resume=b'resume\n', flush=b'flush\n', stop=b'stop\n',
            top=b'top\n', categories=b'categories\tnet,disk*,-gpu\n',
            functions=b'functions\ts*\tcmain\to?ork\n',
            two=b'list\nlist\n', unknown=b'do\n', no_end=b'list',
            long=b'list ' + b'x' * 9000 + b'\n').items():
        seed('ctl', name, line)


def map_logs():
    def entry(kind, order=1, skip=0, head=0, sequence=0, generation=0,
              start=0x1000, end=0x2000, names=(0, 0), ident=b'\xab\x01\x1c',
              path=b'/lib/a.so'):
        return struct.pack('<BBhi IiIHH QQII 32s 432s', order, skip, head,
                           sequence, kind, 7, generation, len(ident), 0,
                           start, end, *names, ident, path)

    load, unload, names = 1, 2, 3
    piece = entry(0, order=0)
    seed('map_log', 'loads', entry(load) + entry(load, start=0x3000,
                                                 end=0x8000))
    seed('map_log', 'unload', entry(load) + entry(unload, generation=1,
                                                  path=b''))
    seed('map_log', 'names', entry(names, names=(24, 100), skip=1, order=0) +
         entry(load))
    seed('map_log', 'pieces', entry(names, order=0, names=(400, 400), skip=2) +
         piece + entry(load))
    seed('map_log', 'backward', entry(load) + entry(load, order=2, head=-1))
    seed('map_log', 'unfinished', entry(load, sequence=1) + entry(load))
    seed('map_log', 'lost', entry(load, order=3, skip=9) + entry(load))
    seed('map_log', 'closed', entry(load) + entry(load, order=4) + entry(load))


def frames():
    for name in ('gcc.so', 'cxx.so'):
        path = os.path.join(corpus, 'unwind', name)
        if not os.path.exists(path):
            continue
        with open(path, 'rb') as file:
            data = file.read()
        header, count = struct.unpack_from('<Q', data, 32)[0], \
            struct.unpack_from('<H', data, 56)[0]
        for i in range(count):
            kind, _, at = struct.unpack_from('<IIQ', data, header + 56 * i)
            if kind == 0x6474e550:  # PT_GNU_EH_FRAME
                seed('cfi', name, data[at:at + 4096])


def switches():
    def varint(value):
        out = b''
        while value >= 0x80:
            out += bytes([value & 0x7f | 0x80])
            value >>= 7
        return out + bytes([value])

    def text(number, data):
        return varint(number << 3 | 2) + varint(len(data)) + data

    def number(number, value):
        return varint(number << 3) + varint(value)

    # A switch: ns since the one before, the state of the thread that leaves,
    # the thread that comes.
    def packet(cpu, switches, lost=False):
        lists = [b''.join(map(varint, values)) for values in zip(*switches)]
        sched = text(5, b'')
        for field, values in enumerate(lists):
            sched += text(field + 1, values)
        sched += text(4, b'x' * len(switches))
        sched += text(6, bytes(len(switches)))
        bundle = number(1, cpu) + (number(3, 1) if lost else b'')
        return text(1, number(10, 4) + text(1, bundle + text(4, sched)))

    start = 1000
    trace = (
        packet(0, [(start, 0, 0), (0, 0, 7), (100, 256, 8), (50, 1, 0),
                   (1, 0, 7), (90, 16, 0)]) +
        packet(1, [(start, 0, 9), (0, 1, 0), (200, 0, 8), (99, 128, 9)]) +
        packet(0, [(start + 400, 128, 0), (60, 0, 9), (5, 2048, 0)], True) +
        packet(1024, [(start, 0, 0)]) +
        packet(1, [(1, 0, 1 << 40), (2, 0, 0)]))
    for target in 'trace', 'reindex':
        seed(target, 'switches.pftrace', trace)


recording()
traces()
hellos()
requests()
map_logs()
frames()
switches()
