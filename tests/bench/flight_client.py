#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""flight_client.py - asks a redis or a memcached for slow requests, while others
keep it busy.

usage: flight_client.py redis|memcached SOCKET SECONDS SLOW PLANTED

Redis sleeps in DEBUG SLEEP; a memcached that tests/bench/flight.sh has built does
so for a key that begins with "slow_". Four connections set and get values all the
time. PLANTED gets a line "0 BEGIN END" for each slow request, the times at which it was
sent and answered, CLOCK_BOOTTIME in ns.
"""
import socket
import sys
import threading
import time

CONNECTIONS = 4
PIPELINE = 50


def connect(path):
    end = time.monotonic() + 60
    while True:
        client = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            client.connect(path)
            return client
        except OSError:
            client.close()
            if time.monotonic() > end:
                raise
            time.sleep(0.01)


def ask(client, request, answers, last):
    """Sends @request and waits for so many lines that end in @last."""
    client.sendall(request)
    got = b""
    while got.count(last) < answers:
        more = client.recv(1 << 16)
        if not more:
            sys.exit("flight_client: the server has hung up")
        got += more


def load(kind, path, end):
    client = connect(path)
    if kind == "redis":
        batch, last = b"SET key value\r\nGET key\r\n", b"\r\n"
        answers = 3 * PIPELINE
    else:
        batch, last = b"set key 0 0 5\r\nvalue\r\nget key\r\n", b"END\r\n"
        answers = PIPELINE
    while time.monotonic() < end:
        ask(client, batch * PIPELINE, answers, last)


def plant(kind, path, end, slow, name):
    client = connect(path)
    pause = (end - time.monotonic()) / (slow + 1)
    with open(name, "w", encoding="utf-8") as planted:
        for i in range(slow):
            time.sleep(pause)
            now = time.clock_gettime_ns(time.CLOCK_BOOTTIME)
            if kind == "redis":
                ask(client, b"DEBUG SLEEP 0.02\r\n", 1, b"\r\n")
            else:
                ask(client, b"get slow_%d\r\n" % i, 1, b"END\r\n")
            end_ns = time.clock_gettime_ns(time.CLOCK_BOOTTIME)
            planted.write(f"0 {now} {end_ns}\n")


def main():
    kind, path, seconds, slow, name = sys.argv[1:]
    connect(path).close()
    end = time.monotonic() + float(seconds)
    threads = [threading.Thread(target=load, args=(kind, path, end))
               for _ in range(CONNECTIONS)]
    threads.append(threading.Thread(target=plant, args=(
        kind, path, end, int(slow), name)))
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


if __name__ == "__main__":
    main()
