#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
#
# push.py [--programs N] [--windows N] [--warm N] [--scheme pyroscope] [--dir FOLDER]
#         [OPTION...] - what --push costs a daemon: N programs (push_load.c) on a
# perfrec-collect without --push, and at the same time N on one with it, to a server
# that takes everything. Side by side, so that the machine is as slow for both. Prints
# CPU seconds for each window of 15 s, behind the first ones (--warm): of the
# collector's threads, perfrec-push and helper processes. OPTIONs are the collector's
# (default: --cpu 99 --alloc sampled). Both write to a folder in FOLDER (default: O).
# Nothing fails for being slow. O is the build directory.
import http.server
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time

O = os.path.abspath(os.environ.get('O', 'build'))
EVERY = 15.0
# Threads by what they work for; all others record.
PARTS = {'perfrec-jobs': 'jobs', 'perfrec-collect': 'main'}


class Sink(http.server.BaseHTTPRequestHandler):
    protocol_version = 'HTTP/1.1'

    def do_POST(self):
        self.rfile.read(int(self.headers['Content-Length']))
        self.send_response(200)
        self.send_header('Content-Type', 'application/proto')
        self.send_header('Content-Length', '0')
        self.end_headers()

    def log_message(self, *_):
        pass


def read(path):
    try:
        with open(path, encoding='utf-8', errors='replace') as file:
            return file.read()
    except OSError:
        return ''


def stat_of(pid):
    """Parent, and user and system time: its own, and of children that have ended."""
    text = read(f'/proc/{pid}/stat')
    fields = text[text.rindex(')') + 2:].split() if text else ['', '-1'] + ['0'] * 20
    tick = os.sysconf('SC_CLK_TCK')
    own, ended = (sum(int(x) for x in fields[i:i + 2]) / tick for i in (11, 13))
    return int(fields[1]), own, ended


def look(collector):
    """CPU seconds so far, by part."""
    parts = {'helpers': stat_of(collector)[2], 'push': 0.0}
    for thread in os.listdir(f'/proc/{collector}/task'):
        folder = f'/proc/{collector}/task/{thread}'
        name = read(f'{folder}/comm').strip().rstrip('0123456789')
        part = PARTS.get(name, 'record')
        spent = read(f'{folder}/schedstat').split()
        parts[part] = parts.get(part, 0) + (int(spent[0]) / 1e9 if spent else 0)
    for pid in filter(str.isdigit, os.listdir('/proc')):
        parent, own, ended = stat_of(pid)
        if parent == collector:
            is_push = read(f'/proc/{pid}/comm').startswith('perfrec-push')
            parts['push' if is_push else 'helpers'] += own + ended
    return parts


def sleep_to_window(fraction):
    time.sleep((fraction - time.time() / EVERY) % 1 * EVERY)


def start_program(programs, env, data):
    """Adds a program to @programs, if it is recorded: programs wait for a busy
    collector for milliseconds only."""
    program = subprocess.Popen([f'{O}/tests/bench/push_load', '3600'], env=env,
                               stderr=subprocess.DEVNULL)
    for _ in range(20):
        time.sleep(0.05)
        if sum(name[0] != '.' for name in os.listdir(data)) > len(programs):
            programs.append(program)
            return
    program.kill()
    program.wait()


class Daemon:
    """A collector with its programs, in a folder of its own."""

    def __init__(self, want, folder, url):
        os.mkdir(folder)
        self.data, self.programs = f'{folder}/data', []
        self.env = dict(os.environ, PERFREC_SOCKET=f'{folder}/socket',
                        LD_PRELOAD=f'{O}/libperfrec_preload.so')
        command = [f'{O}/perfrec-collect', '-o', self.data, '--socket',
                   f'{folder}/socket', '--log', 'error'] + want['options']
        self.collector = subprocess.Popen(command + (['--push', url] if url else []))
        while not os.path.exists(f'{folder}/socket.ctl'):
            self.must_run()
            time.sleep(0.1)

    def must_run(self):
        if self.collector.poll() is not None:
            sys.exit(f'perfrec-collect has ended with status {self.collector.returncode}')

    def start_programs(self, count):
        while len(self.programs) < count:
            self.must_run()
            start_program(self.programs, self.env, self.data)

    def look(self):
        return look(self.collector.pid)

    def end(self):
        for program in self.programs:
            program.kill()
            program.wait()
        self.collector.send_signal(signal.SIGTERM)
        self.collector.wait()


def measure(want, url):
    """Means of each part for a window: without --push, and with it to @url."""
    daemons = []
    with tempfile.TemporaryDirectory(prefix='bench-push.', dir=want['dir']) as folder:
        try:
            for name in ('without', 'with'):
                daemons.append(Daemon(want, f'{folder}/{name}',
                                      url if name == 'with' else None))
                daemons[-1].start_programs(want['programs'])
            sleep_to_window(0.5)
            time.sleep(EVERY * want['warm'])
            before = [daemon.look() for daemon in daemons]
            for _ in range(want['windows']):
                time.sleep(EVERY / 2)
                sleep_to_window(0.5)
            after = [daemon.look() for daemon in daemons]
        finally:
            for daemon in daemons:
                daemon.end()
    return [{part: (b[part] - a.get(part, 0)) / want['windows'] for part in b}
            for a, b in zip(before, after)]


def main():
    want = {'programs': 200, 'windows': 4, 'warm': 2, 'scheme': 'pyroscope', 'dir': O}
    rest = sys.argv[1:]
    while rest and rest[0][2:] in want:
        kind = type(want[rest[0][2:]])
        want[rest[0][2:]] = kind(rest[1])
        rest = rest[2:]
    want['options'] = rest or ['--cpu', '99', '--alloc', 'sampled']
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    sink = http.server.ThreadingHTTPServer(('127.0.0.1', 0), Sink)
    threading.Thread(target=sink.serve_forever, daemon=True).start()
    runs = measure(want, f'{want["scheme"]}+http://127.0.0.1:{sink.server_port}')
    print(f'{"CPU s per window":18} {"without":>9} {"with":>9} {"more":>9}   of a CPU')
    runs = [dict(run, all=sum(run.values())) for run in runs]
    for part in ('record', 'main', 'jobs', 'helpers', 'push', 'all'):
        off, on = (run.get(part, 0) for run in runs)
        print(f'{part:18} {off:9.3f} {on:9.3f} {on - off:+9.3f}   {(on - off) / EVERY:+.2%}')


main()
