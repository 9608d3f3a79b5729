#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
#
# push_away.py PERFREC PROGRAM - what --push costs while nothing gets through. One
# window a second stands for one of 15 s: 240 windows are an hour.
#
#   away   nobody listens
#   full   a spool of 1 MiB on a file system of 4 MiB that has no room left
#   slow   a server answers each request after 60 s
#
# Each pair is a run without and a run with --push of the same program, at the
# same time, so that other load is the same for both. Prints CPU and wall time
# of the program, and the largest spool; of the collector and of perfrec-push
# the resident size after a quarter of the run and at its end. PAIRS and WINDOWS
# (environment) are 3 and 240.
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

PERFREC = os.path.abspath(sys.argv[1])
BUSY = os.path.abspath(sys.argv[2])
PAIRS = int(os.environ.get('PAIRS', '3'))
WINDOWS = int(os.environ.get('WINDOWS', '240'))


class Slow(BaseHTTPRequestHandler):
    protocol_version = 'HTTP/1.1'

    def log_message(self, *_):
        pass

    def do_POST(self):
        self.rfile.read(int(self.headers['Content-Length']))
        time.sleep(60)
        self.send_response(200)
        self.send_header('Content-Type', 'application/proto')
        self.send_header('Content-Length', '0')
        self.end_headers()


def children(pid):
    out = []
    for task in os.listdir(f'/proc/{pid}/task'):
        with open(f'/proc/{pid}/task/{task}/children') as file:
            out += [int(word) for word in file.read().split()]
    return out


def name_of(pid):
    with open(f'/proc/{pid}/comm') as file:
        return file.read().strip()


def resident(pid):
    with open(f'/proc/{pid}/statm') as file:
        return int(file.read().split()[1]) * 4096


def spool_bytes(folder):
    total = 0
    for base, _, files in os.walk(folder):
        for file in files:
            try:
                total += os.lstat(f'{base}/{file}').st_blocks * 512
            except FileNotFoundError:
                pass
    return total


def look(perfrec, folder, row):
    """Adds what is seen now to @row."""
    try:
        for child in children(perfrec):
            if name_of(child) != 'perfrec-collect':
                continue
            row['collector'].append(resident(child))
            row['push'] += [resident(one) for one in children(child)
                            if name_of(one) == 'perfrec-push']
    except (FileNotFoundError, ProcessLookupError):
        return
    row['spool'] = max(row['spool'], spool_bytes(f'{folder}/.push'))


def run_pair(url, base):
    rows, processes = [], []
    for with_push in (False, True):
        folder = base + ('.with' if with_push else '.without')
        options = ['--push', url, '--push-interval', '1s', '--push-spool', '1M'] if with_push else []
        err = open(os.environ.get('LINES', os.devnull), 'a', encoding='utf-8')
        processes.append(subprocess.Popen(
            [PERFREC, 'record', '-q', '--cpu', '99', '--alloc', 'exact', '--max-size', '1M', *options,
             '-o', folder, '--', BUSY, str(WINDOWS)], stdout=subprocess.DEVNULL, stderr=err))
        rows.append({'folder': folder, 'collector': [], 'push': [], 'spool': 0})
    while any(process.poll() is None for process in processes):
        for process, row in zip(processes, rows):
            if process.poll() is None:
                look(process.pid, row['folder'], row)
        time.sleep(0.5)
    for process, row in zip(processes, rows):
        row['status'] = process.returncode
        with open(f'{row["folder"]}/summary.json') as file:
            summary = json.load(file)
        row['cpu'] = summary['user_ns'] + summary['sys_ns']
        row['wall'] = summary['wall_ns']
    return rows


def quarter(sizes):
    """The size after a quarter of the run, and the last one."""
    return [sizes[len(sizes) // 4] >> 10, sizes[-1] >> 10] if sizes else [0, 0]


def main():
    server = ThreadingHTTPServer(('127.0.0.1', 0), Slow)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    urls = {'away': 'pyroscope+http://127.0.0.1:1',
            'full': 'pyroscope+http://127.0.0.1:1',
            'slow': f'pyroscope+http://127.0.0.1:{server.server_port}'}
    chosen = os.environ.get('CASES', 'away full slow').split()
    print('case  pair  status     CPU s, with/without   wall s, with/without  '
          'spool KiB  collector KiB  perfrec-push KiB')
    for case in chosen:
        for pair in range(PAIRS):
            with tempfile.TemporaryDirectory() as base:
                if case == 'full':
                    subprocess.run(['mount', '-t', 'tmpfs', '-o', 'size=4M', 'tmpfs', base],
                                   check=True)
                    with open(f'{base}/fill', 'wb') as file:
                        file.write(b'x' * (3 << 20))
                try:
                    plain, push = run_pair(urls[case], f'{base}/r')
                finally:
                    if case == 'full':
                        subprocess.run(['umount', '-l', base], check=False)
            print(f'{case:5} {pair:4}  {plain["status"]} {push["status"]}  '
                  f'{push["cpu"] / 1e9:8.2f} {plain["cpu"] / 1e9:8.2f} {push["cpu"] / plain["cpu"]:5.3f}'
                  f'  {push["wall"] / 1e9:8.2f} {plain["wall"] / 1e9:8.2f} {push["wall"] / plain["wall"]:5.3f}'
                  f'  {push["spool"] >> 10:9}  {quarter(push["collector"])} {quarter(push["push"])}'
                  f' (without {quarter(plain["collector"])})', flush=True)


main()
