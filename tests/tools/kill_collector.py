#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""kill_collector.py - kills collectors at random moments, and looks at what they
leave.

usage: kill_collector.py [--count N] [--seed N] BUILD PROGRAM...

BUILD has perfrec, perfrec-collect and so on. N times a daemon records PROGRAM,
and is killed when the trace has got so many bytes, or PROGRAM is. Then

- the trace keeps the rules of the format, as far as it goes;
- the index tells of no more than the trace has, and of all but its last MiBs;
- a report of all of it and of a random range is the same with and without the
  index;
- perfrec report --repair makes what is missing, and says up to when the trace
  goes; then the index tells of all of it, and the reports are still the same.
"""
import argparse
import glob
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time
import zlib

MODES = (["--compress=off"], ["--compress=on"],
         ["--compress=off", "--min-duration", "1us"],
         ["--compress=off", "--on-full", "drop"])
# A batch is written when the trace is so much longer, and some writes.
LAG_BYTES = 6 << 20
MOST_SECONDS = 120


def fail(text):
    sys.exit(f"kill_collector: {text}")


def run(*command):
    done = subprocess.run(command, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, check=False,
                          timeout=MOST_SECONDS)
    return (done.returncode, done.stdout.decode(errors="replace"),
            done.stderr.decode(errors="replace"))


class Victim:
    """A daemon that records a program."""

    def __init__(self, build, program, mode):
        self.build = build
        shutil.rmtree("data", ignore_errors=True)
        with open("collect.log", "w", encoding="utf-8") as log:
            self.collector = subprocess.Popen(
                [f"{build}/perfrec-collect", "-o", "data", "--overhead", "off",
                 "--on-full", "block", "--max-size", "4G"] + mode, stderr=log)
        self.wait(self.listens)
        environment = dict(os.environ, PERFREC_QUIET="1",
                           LD_PRELOAD=f"{build}/libperfrec_preload.so")
        self.program = subprocess.Popen(program, env=environment,
                                        stdout=subprocess.DEVNULL)

    @staticmethod
    def wait(until):
        end = time.monotonic() + MOST_SECONDS
        while not until():
            if time.monotonic() > end:
                fail(f"waited in vain for {until.__name__}")
            time.sleep(0.0002)

    @staticmethod
    def listens():
        with open("collect.log", encoding="utf-8") as log:
            return "listening on" in log.read()

    @staticmethod
    def folder():
        found = glob.glob("data/*/trace.pftrace")
        return os.path.dirname(found[0]) if found else None

    def bytes(self):
        folder = self.folder()
        try:
            return os.path.getsize(f"{folder}/trace.pftrace") if folder else -1
        except FileNotFoundError:
            return -1

    def has_summary(self):
        folder = self.folder()
        return folder and os.path.exists(f"{folder}/summary.json")

    def reach(self, target):
        """Waits until the trace has so many bytes, or the program has ended."""
        self.wait(lambda: self.bytes() >= target or
                  self.program.poll() is not None)

    def end(self, process, number):
        process.send_signal(number)
        process.wait(timeout=MOST_SECONDS)

    def stop(self):
        """In good order, after the recording has ended."""
        self.program.wait(timeout=MOST_SECONDS)
        self.wait(self.has_summary)
        self.end(self.collector, signal.SIGTERM)
        if self.collector.returncode:
            fail(f"the collector ended with {self.collector.returncode}")

    def kill(self):
        self.end(self.collector, signal.SIGKILL)
        # It goes on unrecorded.
        if self.program.wait(timeout=MOST_SECONDS):
            fail(f"the program ended with {self.program.returncode}")


class Folder:
    """What is left."""

    def __init__(self, build, path):
        self.perfrec = f"{build}/perfrec"
        self.check = f"{build}/tests/tools/trace_check"
        self.path = path

    def told(self):
        """How many bytes of the trace the index tells of, and whether that is
        all."""
        with open(f"{self.path}/trace.pftrace", "rb") as file:
            trace = file.read()
        try:
            with open(f"{self.path}/trace.index", "rb") as file:
                index = file.read()
        except FileNotFoundError:
            return 0, False, len(trace)
        at, number, told, whole = 16, 0, 0, False
        while len(index) - at >= 32:
            head = index[at:at + 32]
            count = int.from_bytes(head[:4], "little")
            items = index[at + 32:at + 32 + count]
            crc = zlib.crc32(items, zlib.crc32(head[8:], zlib.crc32(head[:4])))
            if len(items) < count or \
                    crc != int.from_bytes(head[4:8], "little"):
                break
            told = int.from_bytes(head[8:16], "little")
            tail = zlib.crc32(trace[max(told - 64, 0):told])
            if told > len(trace) or \
                    tail != int.from_bytes(head[16:20], "little"):
                fail(f"batch {number} tells of {told} bytes of another trace")
            at += 32 + count
            number += 1
            whole = items.endswith(b"\x0c\x00")
        return told, whole, len(trace)

    def report(self, begin, end):
        status, out, err = run(self.perfrec, "report", "--json", "--from",
                               f"{begin}ns", "--to", f"{end}ns", self.path)
        if status:
            fail(f"report of {begin} to {end}: {err}")
        return json.loads(out)

    def same(self):
        """With the index and without."""
        length = self.report(0, 1 << 62)["recording_ns"]
        begin, end = sorted(random.randrange(length + 1) for _ in range(2))
        parts = [(0, length + 1), (begin, end + 1)]
        one = [self.report(*part) for part in parts]
        index = f"{self.path}/trace.index"
        if not os.path.exists(index):
            return
        os.rename(index, index + ".away")
        other = [self.report(*part) for part in parts]
        os.rename(index + ".away", index)
        if one != other:
            fail(f"{parts[1]}: the index does not say what the trace says")

    def look(self, lags):
        status, out, err = run(self.check, "--allow-open", "--allow-cut",
                               f"{self.path}/trace.pftrace")
        if status:
            fail(f"the trace is broken: {out}{err}")
        told, _, size = self.told()
        if lags and told + LAG_BYTES < size:
            fail(f"the index tells of {told} bytes of {size}")
        self.same()

    def repair(self):
        status, _, err = run(self.perfrec, "report", "--repair", self.path)
        if status or not re.search(r"has summary.json.* ends at [0-9.]+[mun]?s:"
                                   " what came later is lost", err):
            fail(f"repair: status {status}: {err}")
        if not self.told()[1]:
            fail("after repair, the index does not tell of all of the trace")
        self.same()
        status, _, err = run(self.perfrec, "report", self.path)
        if status:
            fail(f"report: {err}")


def nothing_whole(folder):
    """Whether the trace has no packet; then it is small, and that is said."""
    status, _, err = run(folder.perfrec, "report", folder.path)
    if not status:
        return False
    if folder.told()[2] > 1 << 20 or "is empty, or no trace" not in err:
        fail(f"nothing is shown: {err}")
    return True


def measure(arguments, mode):
    victim = Victim(arguments.build, arguments.program, mode)
    victim.stop()
    return victim.bytes()


def kill_once(arguments, mode, size):
    target = random.randrange(size + 1)
    who = random.choice(("collector", "collector", "program"))
    victim = Victim(arguments.build, arguments.program, mode)
    victim.reach(target)
    if who == "program":
        victim.end(victim.program, signal.SIGKILL)
        victim.stop()
    else:
        victim.kill()
    folder = victim.folder()
    print(f"{who} killed at {target} bytes: {victim.bytes()}, {mode}",
          flush=True)
    if not folder:
        return
    folder = Folder(arguments.build, folder)
    if nothing_whole(folder):
        return
    folder.look(mode[0] == "--compress=off")
    if not victim.has_summary():
        folder.repair()
    elif not folder.told()[1]:
        fail("of a finished recording the index does not tell all")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--count", type=int, default=8)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("build")
    parser.add_argument("program", nargs="+")
    arguments = parser.parse_args()
    random.seed(arguments.seed)
    sizes = {}
    for i in range(arguments.count):
        mode = MODES[i % len(MODES)]
        key = " ".join(mode)
        if key not in sizes:
            sizes[key] = measure(arguments, mode)
        kill_once(arguments, mode, sizes[key])


main()
