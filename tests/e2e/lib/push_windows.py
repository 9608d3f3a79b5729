# SPDX-License-Identifier: Apache-2.0
#
# push_windows.py SPOOL COUNT [KEY=VALUE...] - makes COUNT windows in SPOOL, as
# perfrec-collect does, and prints the sums of their values as JSON:
# {"service metric type": sum}, and by stacks {"... type stack": sum}.
#
#   first=N     number of the first window (its session)
#   stacks=N    different stacks in a profile (default 20)
#   depth=N     frames of a stack (default 5)
#   kinds=A,B   kinds of profiles (default: all)
#   age=S       how old the first window is, in seconds (default 60)
#   services=N  programs (default 2)
#   span=1      samples have trace_id and span_id
#   odd=1       names and values that servers do not take as they are
#   name=BYTES  functions have names of that length
#   plain=1     samples have no label "thread" and "pid", and small profiles are
#               not gzipped, as perfrec-collect writes them: profiles are sent
#               as they are
import gzip
import json
import os
import sys
import time

import push_wire

TOP = os.environ['TOP']
PPROF = push_wire.load(f'{TOP}/proto/profile.proto')
KINDS = {
    'cpu': ('process_cpu', [('samples', 'count'), ('cpu', 'nanoseconds')],
            ('cpu', 'nanoseconds')),
    'wall': ('wall', [('wall', 'nanoseconds')], ('wall', 'nanoseconds')),
    'off_cpu': ('off_cpu', [('off_cpu', 'nanoseconds')], None),
    'mutex': ('mutex', [('contentions', 'count'), ('delay', 'nanoseconds')], None),
    'block': ('block', [('contentions', 'count'), ('delay', 'nanoseconds')], None),
    'memory': ('memory', [('alloc_objects', 'count'), ('alloc_space', 'bytes'),
                          ('inuse_objects', 'count'), ('inuse_space', 'bytes')],
               ('space', 'bytes')),
}
def add(sums, key, value):
    sums[key] = sums.get(key, 0) + value


def profile(kind, want, start_ns, service, sums):
    metric, types, period = KINDS[kind]
    strings = {'': 0}

    def number(text):
        return strings.setdefault(text, len(strings))

    p = {'sample_type': [{'type': number(a), 'unit': number(b)} for a, b in types],
         'time_nanos': start_ns, 'duration_nanos': 15 * 10**9, 'period': 10**7}
    if period:
        p['period_type'] = {'type': number(period[0]), 'unit': number(period[1])}
    p['mapping'] = [{'id': 1, 'memory_start': 0x400000, 'memory_limit': 0x500000,
                     'filename': number('/usr/bin/app'), 'build_id': number('c0ffee' * 6)}]
    stacks, depth = want['stacks'], want['depth']
    frames = [f'f{i}' for i in range(depth - 1)] + [f'leaf{i}' for i in range(stacks)]
    if want['name']:
        frames = [name.ljust(want['name'], 'x') for name in frames]
    first = len(strings)
    for name in frames:
        number(name)
    p['function'] = [{'id': i + 1, 'name': first + i, 'start_line': i + 1}
                     for i in range(len(frames))]
    p['location'] = [{'id': i + 1, 'mapping_id': 1, 'address': 0x400000 + i,
                      'line': [{'function_id': i + 1, 'line': i + 2}]}
                     for i in range(len(frames))]
    thread = number('thread')
    p['sample'] = []
    for i in range(stacks):
        stack = [depth + i] + list(range(1, depth))
        values = [(i + 1) * (t + 1) for t in range(len(types))]
        labels = []
        if not want['plain']:
            labels = [{'key': thread, 'str': number(f'worker{i % 3}')},
                      {'key': number('pid'), 'num': 4711}]
        if want['span']:
            labels += [{'key': number('trace_id'), 'str': number(f'{i % 4 + 1:032x}')},
                       {'key': number('span_id'), 'str': number(f'{i % 4 + 1:016x}')}]
        p['sample'].append({'location_id': stack, 'value': values, 'label': labels})
        for (name, _), value in zip(types, values):
            add(sums, f'{service} {metric} {name}', value)
            add(sums, f'{service} {metric} {name} ' + ';'.join(frames[l - 1] for l in stack),
                value)
    p['string_table'] = list(strings)
    data = push_wire.encode(PPROF, 'Profile', p)
    return data if want['plain'] and len(data) <= 8192 else gzip.compress(data, 1)


def main():
    spool, count = sys.argv[1], int(sys.argv[2])
    want = {'first': 0, 'stacks': 20, 'depth': 5, 'age': 60, 'services': 2, 'span': 0,
            'odd': 0, 'name': 0, 'plain': 0, 'kinds': ','.join(KINDS)}
    for pair in sys.argv[3:]:
        key, value = pair.split('=')
        want[key] = value if key == 'kinds' else int(value)
    sums = {}
    for i in range(count):
        start_ns = (int(time.time()) - want['age'] + i) * 10**9
        service = f'service{i % want["services"]}'
        name = f'{start_ns}-{want["first"] + i}'
        resource = {'service.name': service, 'host.name': 'host', 'process.pid': '4711',
                    'process.executable.name': 'app'}
        if want['odd']:
            resource.update({f'k8s.label-{n}/\u00fc': 'v' * 4000 for n in range(60)})
            resource['1st'] = 'digit'
        kinds = want['kinds'].split(',')
        profiles = [profile(kind, want, start_ns, service, sums) for kind in kinds]
        meta = {'version': 2, 'start_unix_ns': start_ns, 'duration_ns': 15 * 10**9,
                'program': 'app', 'hz': 100, 'resource': resource,
                'profiles': [{'kind': kind, 'bytes': len(data)}
                             for kind, data in zip(kinds, profiles)]}
        with open(f'{spool}/.{name}', 'wb') as out:
            out.write(json.dumps(meta).encode() + b'\n' + b''.join(profiles))
        os.rename(f'{spool}/.{name}', f'{spool}/{name}')
    json.dump(sums, sys.stdout, sort_keys=True)


main()
