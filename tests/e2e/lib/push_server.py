# SPDX-License-Identifier: Apache-2.0
#
# push_server.py STATE [--tls CERT KEY] - a server of Pyroscope's Push and
# /ingest, of OpenTelemetry's profiles and of Parca's WriteRaw, which decodes
# each request strictly and holds it to the limits of these servers. Writes the
# port to STATE/port. Each request takes the first line of STATE/plan away, if
# there is one:
#
#   STATUS [RETRY-AFTER]  answers that, with text that says why
#   small N               413 if it has more than N series
#   cut | cut-after       closes the connection, before or after taking it in
#   stall                 waits until the client gives up
#   says TYPE [BODY]      200 with that Content-Type ("-": none) and body, which
#                         may be hex:DIGITS; takes nothing in
#   any                   accepts what may break the rules
#   html | redirect | huge | trailers | nonsense
#   partial [PART]        accepts, and says that it did not take three profiles
#   echo PART             401, and repeats a PART of what let the client in:
#                         "header", its last "word", or the "password" in it
#
# A request that breaks a rule gets 400, and the rule goes to STATE/broken. The
# accepted values are in STATE/sums (as push_windows.py prints it), and one line for
# each request is in STATE/log.
import base64
import gzip
import json
import os
import re
import sys
import threading
import time
import urllib.parse
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import push_wire
from push_wire import Bad, need

TOP = os.environ['TOP']
PPROF = push_wire.load(f'{TOP}/proto/profile.proto')
PUSH = push_wire.load(f'{TOP}/proto/push.proto')
OTLP = push_wire.load(f'{TOP}/proto/otlp.proto')
STATE = sys.argv[1]
LABEL = re.compile(r'[a-zA-Z_][a-zA-Z0-9_]*')
METRICS = {'process_cpu', 'wall', 'memory', 'mutex', 'block', 'off_cpu'}
lock = threading.Lock()
sums, ids = {}, {}


def add(found, key, value):
    found[key] = found.get(key, 0) + value


def by_id(items, what):
    out = {item.get('id', 0): item for item in items}
    need(0 not in out, f'a {what} has no id')
    need(len(out) == len(items), f'{what}s have the same id')
    return out


def check_pprof(packed, service, metric, found, may_be_plain=False):
    """Decodes a profile, holds it to the rules, and adds its values."""
    gzipped = packed[:2] == b'\x1f\x8b'
    need(gzipped or may_be_plain, 'a profile is not gzipped')
    data = gzip.decompress(packed) if gzipped else packed
    need(gzipped or len(data) <= 8192, 'a large profile is not gzipped')
    need(len(data) <= 4 << 20, f'a profile has {len(data)} bytes')
    p = push_wire.decode(PPROF, 'Profile', data)
    strings = p.get('string_table', [''])
    need(strings[0] == '', 'string 0 is not empty')
    need(max(map(len, (s.encode() for s in strings))) < 65536, 'a symbol is too long')

    def text(index):
        need(0 <= index < len(strings), f'there is no string {index}')
        return strings[index]

    types = [text(t.get('type', 0)) for t in p['sample_type']]
    need(all(types) and not any('-' in t for t in types), f'types {types}')
    samples = p.get('sample', [])
    need(0 < len(samples) <= 16000, f'{len(samples)} samples')
    functions = by_id(p.get('function', []), 'function')
    locations = by_id(p.get('location', []), 'location')
    mappings = by_id(p.get('mapping', []), 'mapping')
    need(p.get('time_nanos', 0) > 0 and p.get('duration_nanos', 0) > 0, 'no time')
    names = {}
    for number, location in locations.items():
        need(location.get('mapping_id', 0) in mappings or not location.get('mapping_id', 0),
             'there is no such mapping')
        for line in location['line']:
            need(line['function_id'] in functions, 'there is no such function')
        names[number] = ';'.join(text(functions[l['function_id']]['name'])
                                 for l in location['line'])
    for sample in samples:
        need(len(sample['value']) == len(types), 'values do not fit the types')
        need(len(sample['location_id']) <= 1000, 'a stack is too deep')
        need(len(sample.get('label', [])) <= 100, 'too many labels')
        for label in sample.get('label', []):
            key, value = text(label['key']), text(label.get('str', 0))
            need(key not in ('pid', 'tid'), f'label {key}')
            size = {'trace_id': 32, 'span_id': 16}.get(key, 0)
            need(not size or re.fullmatch(f'[0-9a-f]{{{size}}}', value), f'{key} {value}')
        stack = ';'.join(names[number] for number in sample['location_id'])
        for name, value in zip(types, sample['value']):
            if value:
                add(found, f'{service} {metric} {name}', value)
                add(found, f'{service} {metric} {name} {stack}', value)
    for mapping in mappings.values():
        text(mapping.get('build_id', 0))
    for comment in p.get('comment', []):
        if text(comment).startswith('perfrec: '):
            add(found, 'comment ' + re.sub(r'\d+', 'N', text(comment)), 1)
    period = p.get('period_type', {})
    return f'{text(period.get("type", 0))}:{text(period.get("unit", 0))}'


PERIODS = {'process_cpu': 'cpu:nanoseconds', 'wall': 'wall:nanoseconds',
           'memory': 'space:bytes', 'mutex': 'contentions:count',
           'block': 'contentions:count', 'off_cpu': ':'}


def check_labels(labels, delta):
    need(len(labels) == len(dict(labels)), 'labels come twice')
    need(len(labels) <= 30, f'{len(labels)} labels')
    for name, value in labels:
        need(LABEL.fullmatch(name), f'label {name!r}')
        need(len(name.encode()) <= 1024 and len(value.encode()) <= 2048 and value,
             f'label {name} is too long or empty')
    labels = dict(labels)
    need(labels.get('__name__') in METRICS, f'__name__ {labels.get("__name__")}')
    need(labels.get('service_name'), 'no service_name')
    need(not delta or labels.get('__delta__') == 'false', 'no __delta__')
    need(labels.get('host_name') == 'host' or delta is None, 'no host_name')
    need('process_pid' not in labels, 'the pid is a label')
    return labels['service_name'], labels['__name__']


def take_series(profile, labels, delta, found):
    service, metric = check_labels(labels, delta)
    # The whole request is gzipped for Pyroscope, and nothing of it for Parca.
    period = check_pprof(profile, service, metric, found, may_be_plain=delta)
    need(period == PERIODS[metric], f'{metric}: period type {period}')


def take_push(headers, query, body, found):
    need(headers['Content-Type'] == 'application/proto', 'Content-Type')
    need(not query, 'a query')
    need(headers['Content-Encoding'] == 'gzip', 'Content-Encoding')
    request = push_wire.decode(PUSH, 'PushRequest', body)
    for series in request['series']:
        labels = [(l['name'], l['value']) for l in series['labels']]
        for sample in series['samples']:
            need(re.fullmatch(r'[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}', sample['ID']),
                 f'ID {sample["ID"]}')
            found.setdefault('ids', []).append(sample['ID'])
            take_series(sample['raw_profile'], labels, True, found)
    return 'application/proto', b'', len(request['series'])


def take_parca(headers, query, body, found):
    need(headers['Content-Type'] == 'application/json', 'Content-Type')
    request = json.loads(body)
    need(set(request) == {'series'}, f'members {set(request)}')
    for series in request['series']:
        need(set(series) == {'labels', 'samples'}, f'members {set(series)}')
        labels = [(l['name'], l['value']) for l in series['labels']['labels']]
        for sample in series['samples']:
            profile = base64.b64decode(sample['rawProfile'], validate=True)
            take_series(profile, labels, False, found)
    return 'application/json', b'{}', len(request['series'])


def take_ingest(headers, query, body, found):
    q = {k: v[0] for k, v in urllib.parse.parse_qs(query, strict_parsing=True).items()}
    need(set(q) == {'name', 'from', 'until', 'format', 'spyName', 'sampleRate'}, f'query {q}')
    need(q['format'] == 'pprof' and q['spyName'] == 'perfrec' and q['sampleRate'] == '100', 'query')
    need(len(q['from']) == 19 and int(q['until']) - int(q['from']) == 15 * 10**9, 'times')
    m = re.fullmatch(r'([a-zA-Z0-9_./-]+)\{([^{}]*)\}', q['name'])
    need(m, f'name {q["name"]}')
    for pair in m[2].split(','):
        need(re.fullmatch(r'[a-zA-Z0-9_.]+=[^=]+', pair) and not pair.startswith('__'), pair)
    m2 = re.fullmatch(r'multipart/form-data; boundary=([0-9A-Za-z]+)', headers['Content-Type'])
    need(m2, 'Content-Type')
    parts = {}
    pieces = body.split(b'--' + m2[1].encode())
    need(pieces[0] == b'' and pieces[-1] == b'--\r\n', 'multipart')
    for piece in pieces[1:-1]:
        head, content = piece.split(b'\r\n\r\n', 1)
        name = re.search(rb'; name="(\w+)"', head)[1].decode()
        need(content.endswith(b'\r\n'), 'multipart')
        parts[name] = content[:-2]
    need(set(parts) == {'profile', 'sample_type_config'}, f'parts {set(parts)}')
    config = json.loads(parts['sample_type_config'])
    shown = {c['display-name'] for c in config.values()}
    for metric, sign in (('process_cpu', 'cpu'), ('wall', 'wall'), ('memory', 'alloc_space'),
                         ('mutex', 'mutex_count'), ('block', 'block_count'),
                         ('off_cpu', 'off_cpu')):
        if sign in shown:
            break
    else:
        raise Bad(f'sample types {shown}')
    check_pprof(parts['profile'], m[1], metric, found)
    return 'text/plain', b'', 1


def take_otlp(headers, query, body, found):
    need(headers['Content-Type'] == 'application/x-protobuf', 'Content-Type')
    r = push_wire.decode(OTLP, 'ExportProfilesServiceRequest', body)
    d = r['dictionary']
    zero = {'mapping_table': {}, 'location_table': {}, 'function_table': {}, 'link_table': {},
            'string_table': '', 'attribute_table': {}, 'stack_table': {}}
    for name, value in zero.items():
        need(d[name][0] == value, f'element 0 of {name} is {d[name][0]}')

    def at(table, index):
        need(0 <= index < len(d[table]), f'{table} has no {index}')
        return d[table][index]

    def attributes(indices):
        out = {}
        for index in indices:
            need(index > 0, 'attribute 0')
            pair = at('attribute_table', index)
            key = at('string_table', pair['key_strindex'])
            need(key and len(pair['value']) == 1, f'attribute {key}')
            out[key] = list(pair['value'].values())[0]
        return out

    for table in ('string_table',):
        need(len(set(d[table])) == len(d[table]), f'{table} has an element twice')
    for mapping in d['mapping_table'][1:]:
        a = attributes(mapping.get('attribute_indices', []))
        need(a.get('process.executable.build_id.gnu'), 'a mapping has no build id')
        need(at('string_table', mapping['filename_strindex']), 'a mapping has no file')
    for function in d['function_table'][1:]:
        need(at('string_table', function['name_strindex']), 'a function has no name')
    names = []
    for location in d['location_table']:
        at('mapping_table', location.get('mapping_index', 0))
        lines = location.get('lines', [])
        names.append(';'.join(at('string_table', at('function_table', l['function_index'])
                                 ['name_strindex']) for l in lines))
    for link in d['link_table'][1:]:
        need(len(link['trace_id']) == 16 and len(link['span_id']) == 8, 'a link')
    links = 0
    for resource in r['resource_profiles']:
        pairs = {a['key']: a['value']['string_value']
                 for a in resource['resource']['attributes']}
        need(len(pairs) == len(resource['resource']['attributes']), 'attributes come twice')
        need('process.pid' not in pairs, 'the pid is an attribute')
        for scope in resource['scope_profiles']:
            need(scope['scope']['name'] == 'perfrec', 'scope')
            for p in scope['profiles']:
                kind = at('string_table', p['sample_type']['type_strindex'])
                period = p.get('period_type', {})
                period = (at('string_table', period.get('type_strindex', 0)) + ':' +
                          at('string_table', period.get('unit_strindex', 0)))
                metrics = [m for m, want in PERIODS.items() if want == period]
                need(metrics, f'period type {period}')
                need(len(p['profile_id']) == 16 and p['time_unix_nano'] and p['duration_nano'],
                     'no id or no time')
                found.setdefault('ids', []).append(p['profile_id'].hex())
                for key, value in attributes(p.get('attribute_indices', [])).items():
                    if key == 'pprof.profile.comment' and value.startswith('perfrec: '):
                        add(found, 'comment ' + re.sub(r'\d+', 'N', value), 1)
                need(0 < len(p['samples']) <= 16000, f'{len(p["samples"])} samples')
                for sample in p['samples']:
                    need(len(sample['values']) == 1, 'not one value')
                    a = attributes(sample.get('attribute_indices', []))
                    need(set(a) <= {'thread.name'}, f'attributes {set(a)}')
                    at('link_table', sample.get('link_index', 0))
                    links += sample.get('link_index', 0) > 0
                    need(sample['stack_index'] > 0, 'a sample without a stack')
                    stack = at('stack_table', sample['stack_index'])['location_indices']
                    need(0 < len(stack) <= 1000 and 0 not in stack, 'a stack')
                    stack = ';'.join(names[number] for number in stack)
                    # mutex and block have the same types: they count as one.
                    add(found, f'{pairs["service.name"]} {metrics[0]} {kind}',
                        sample['values'][0])
                    add(found, f'{pairs["service.name"]} {metrics[0]} {kind} {stack}',
                        sample['values'][0])
    if links:
        found['links'] = links
    return 'application/x-protobuf', b'', len(r['resource_profiles'])


ROUTES = {'/push.v1.PusherService/Push': take_push,
          '/v1development/profiles': take_otlp,
          '/profiles/writeraw': take_parca,
          '/ingest': take_ingest}


ANSWERS = {'/push.v1.PusherService/Push': ('application/proto', b''),
           '/v1development/profiles': ('application/x-protobuf', b''),
           '/profiles/writeraw': ('application/json', b'{}'),
           '/ingest': ('text/plain', b'')}


def next_plan():
    with lock:
        try:
            lines = open(f'{STATE}/plan').read().splitlines()
        except FileNotFoundError:
            return []
        if not lines:
            return []
        # "*" stays.
        rest = lines if lines[0].startswith('* ') else lines[1:]
        with open(f'{STATE}/plan.new', 'w') as out:
            out.write(''.join(line + '\n' for line in rest))
        os.rename(f'{STATE}/plan.new', f'{STATE}/plan')
        return lines[0].removeprefix('* ').split()


def note(name, text):
    with lock, open(f'{STATE}/{name}', 'a', encoding='utf-8') as out:
        out.write(text + '\n')


class Handler(BaseHTTPRequestHandler):
    protocol_version = 'HTTP/1.1'

    def log_message(self, *_):
        pass

    def answer(self, status, kind, body, headers=()):
        self.send_response(status)
        for name, value in headers:
            self.send_header(name, value)
        if kind != '-':
            self.send_header('Content-Type', kind)
        self.send_header('Content-Length', str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def accept(self, path, body):
        """What Content-Type, body and number of series the request gets."""
        found = {}
        path, _, query = path.partition('?')
        if self.headers.get('Content-Encoding') == 'gzip':
            body = gzip.decompress(body)
        else:
            need(not self.headers.get('Content-Encoding'), 'Content-Encoding')
        need(path in ROUTES, f'path {path}')
        kind, answer, count = ROUTES[path](self.headers, query, body, found)
        return kind, answer, count, found

    def keep(self, found):
        with lock:
            for one in found.pop('ids', []):
                add(ids, one, 1)
            for key, value in found.items():
                add(sums, key, value)
            with open(f'{STATE}/sums.new', 'w') as out:
                json.dump(sums, out, sort_keys=True)
            os.rename(f'{STATE}/sums.new', f'{STATE}/sums')
            with open(f'{STATE}/twice', 'w') as out:
                out.writelines(f'{one}\n' for one, n in ids.items() if n > 1)

    def part(self, which):
        header = self.headers['Authorization']
        word = header.split(' ')[-1]
        return {'header': header, 'word': word,
                'password': base64.b64decode(word + '==').rpartition(b':')[2].decode('latin-1'),
                }[which]

    def do_POST(self):
        body = self.rfile.read(int(self.headers['Content-Length']))
        plan = next_plan() or ['200']
        said = ' '.join(f'{name}={self.headers[name]}' for name in
                        ('Authorization', 'X-Scope-OrgID', 'OTLP-Profiles-Development-Version',
                         'X-Extra') if self.headers[name])
        if plan[0] == 'stall':
            time.sleep(600)
            return
        if plan[0] == 'any':
            note('log', f'any {self.path.partition("?")[0]} {said}')
            self.answer(200, *ANSWERS[self.path.partition('?')[0]])
            return
        try:
            kind, answer, count, found = self.accept(self.path, body)
        except Bad as error:
            note('broken', f'{self.path}: {error}')
            note('log', f'broken {self.path}')
            self.answer(400, 'application/json', b'{"code":"invalid_argument"}')
            return
        note('log', f'{" ".join(plan)} {self.path.partition("?")[0]} series={count} {said}')
        if plan[0] == 'small' and count <= int(plan[1]):
            plan = ['200']
        if plan[0] in ('200', 'cut-after', 'partial'):
            self.keep(found)
        if plan[0] == '200':
            self.answer(200, kind, answer)
        elif plan[0] in ('cut', 'cut-after'):
            self.close_connection = True
            self.connection.close()
        elif plan[0] == 'small':
            self.answer(413, 'text/plain', b'too large')
        elif plan[0] == 'html':
            self.answer(200, 'text/html', b'<html>Welcome to the cafe</html>')
        elif plan[0] == 'redirect':
            self.answer(302, 'text/plain', b'', [('Location', plan[1])])
        elif plan[0] == 'huge':
            self.answer(200, kind, b'x' * (8 << 20))
        elif plan[0] == 'trailers':
            self.send_response(200)
            self.send_header('Content-Type', kind)
            self.send_header('Transfer-Encoding', 'chunked')
            self.end_headers()
            try:
                self.wfile.write(b'0\r\n')
                for _ in range(64):
                    self.wfile.write((b'X: ' + b'a' * 1000 + b'\r\n') * 1024)
                note('broken', 'all trailers were taken')
                self.wfile.write(b'\r\n')
            except OSError:
                pass
            self.close_connection = True
        elif plan[0] == 'nonsense':
            self.answer(200, kind, b'\xff' * 1000)
        elif plan[0] == 'says':
            text = plan[2] if len(plan) > 2 else ''
            self.answer(200, plan[1], bytes.fromhex(text[4:]) if text.startswith('hex:')
                        else text.encode())
        elif plan[0] == 'partial':
            self.answer(200, kind, push_wire.encode(OTLP, 'ExportProfilesServiceResponse', {
                'partial_success': {
                    'rejected_profiles': 3,
                    'error_message': ' '.join(['three are odd', *map(self.part, plan[1:])])}}))
        elif plan[0] == 'echo':
            self.answer(401, 'text/plain', b'away with ' + self.part(plan[1]).encode())
        else:
            headers = [('Retry-After', plan[1].replace('_', ' '))] if len(plan) > 1 else []
            self.answer(int(plan[0]), 'application/json',
                        b'{"code":"x","message":"the plan says %s"}' % plan[0].encode(), headers)


def main():
    server = ThreadingHTTPServer(('127.0.0.1', 0), Handler)
    server.daemon_threads = True
    server.handle_error = lambda *_: None
    if len(sys.argv) > 2:
        import ssl
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(sys.argv[3], sys.argv[4])
        server.socket = context.wrap_socket(server.socket, server_side=True)
    with open(f'{STATE}/port.new', 'w') as out:
        out.write(str(server.server_port))
    os.rename(f'{STATE}/port.new', f'{STATE}/port')
    server.serve_forever()


main()
