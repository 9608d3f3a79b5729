# SPDX-License-Identifier: Apache-2.0
#
# sampled - what true_time.py and truth.py share: the programs and their work, how
# they are run and recorded, and profiles of pprof.

import gzip
import os
import re
import resource
import shlex
import shutil
import subprocess
import sys

SUFFIX = re.compile(
    r"(\.(constprop|isra|part|cold|lto_priv|llvm)(\.\d+)*| \[clone [^]]*\])+")
PROGRAMS = {
    # name: (command, its {n} for long runs, its {n} for runs that record all
    # calls, stdin of the two)
    "loops": ("{0} {n}", 40000, 20000, None),
    "lua": ("{0} {top}/tests/real/workload.lua {n}", 1500, 400, None),
    "sqlite": ("{0} -init /dev/null :memory:", 0, 0,
               ("statements", "statements.few")),
    "zstd": ("{0} text {n}", 100, 100, None),
    "templates": ("{0} {n}", 3000, 1000, None),
    "bzip2": ("{0} -kc9 {input}", 0, 0, None),
    # Debian's programs, so only plain builds exist.
    "node": ("{0} --perf-basic-prof {top}/tests/bench/truth_node.js {n}", 3000,
             3000, None),
    "cc1plus": ("{0} -quiet -O2 -D_GNU_SOURCE -imultiarch x86_64-linux-gnu"
                " {top}/tests/bench/templates.cc -o /dev/null", 0, 0, None),
    "rsync": ("{0} -I --no-whole-file --only-write-batch=batch rsync.input"
              " rsync.before/", 0, 0, None),
    "threads": ("{0} {n}", 800, 200, None),
}


# --- profiles -----------------------------------------------------------------

def number(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return value, at


def fields(data):
    at = 0
    while at < len(data):
        key, at = number(data, at)
        if key & 7 == 0:
            value, at = number(data, at)
        else:
            size, at = number(data, at)
            value = data[at:at + size]
            at += size
        yield key >> 3, value


def numbers(value):
    if isinstance(value, int):
        return [value]
    out, at = [], 0
    while at < len(value):
        one, at = number(value, at)
        out.append(one)
    return out


def read_profile(path):
    """[(names of a stack, innermost first; {type: value})]"""
    types, samples, places, functions, texts = [], [], {}, {}, []
    with gzip.open(path) as file:
        data = file.read()
    for tag, value in fields(data):
        if tag == 1:
            types.append(dict(fields(value)).get(1, 0))
        elif tag == 2:
            stack, values = [], []
            for key, part in fields(value):
                if key == 1:
                    stack += numbers(part)
                elif key == 2:
                    values += numbers(part)
            samples.append((stack, [v - (v >> 63 << 64) for v in values]))
        elif tag == 4:
            place, lines = 0, []
            for key, part in fields(value):
                if key == 1:
                    place = part
                elif key == 4:
                    lines.append(dict(fields(part)).get(1, 0))
            places[place] = lines
        elif tag == 5:
            one = dict(fields(value))
            functions[one[1]] = one.get(2, 0)
        elif tag == 6:
            texts.append(value.decode(errors="replace"))
    types = [texts[one] for one in types]
    return [([plain_name(texts[functions[f]]) for place in stack
              for f in places[place]], dict(zip(types, values)))
            for stack, values in samples]


def plain_name(name):
    return SUFFIX.sub("", name)


def fold(profile, value, known):
    out = {}
    for stack, values in profile:
        name = next((one for one in stack if one in known), None)
        out[name] = out.get(name, 0) + values.get(value, 0)
    return out


def inside(profile, value):
    """What each function and all that it called had."""
    out = {}
    for stack, values in profile:
        for name in set(stack):
            out[name] = out.get(name, 0) + values.get(value, 0)
    return out


# --- runs ---------------------------------------------------------------------

class Program:
    """A program, and how it is run. options: program, run (a command in front of
    it), programs and top (folders), perfrec; scale: how many times as long."""

    def __init__(self, options, scale=1):
        self.options = options
        self.name = options.program
        self.run = shlex.split(options.run)
        self.scale = scale
        self.stdin = None

    def command(self, build, short):
        """Without debug information: samples then know of no inlined function,
        and each belongs to a symbol."""
        text, long, few, stdin = PROGRAMS[self.name]
        path = os.path.join(self.options.programs, f"{self.name}.{build}")
        if not os.path.exists(path):
            return None
        copy = f"./{self.name}.{build}"
        if not os.path.exists(copy):
            sections = subprocess.run(["readelf", "-SW", path], check=True,
                                      capture_output=True).stdout
            if b".debug_info" in sections:
                subprocess.run(["objcopy", "--strip-debug", path, copy],
                               check=True)
            else:
                os.symlink(path, copy)
        self.stdin = stdin and stdin[short]
        return text.format(
            copy, n=few if short else long * self.scale, top=self.options.top,
            input="input.few" if short else "input").split()

    def call(self, command):
        with open(self.stdin or "/dev/null", "rb") as stdin:
            done = subprocess.run(self.run + command, stdin=stdin,
                                  stdout=subprocess.DEVNULL,
                                  stderr=subprocess.PIPE, check=False)
        # SQLite's shell ends with 1, since some statements fail.
        if done.returncode not in (0, 1):
            sys.exit(f"{command}: {done.stderr.decode()[-300:]}")

    def cpu_ns(self, short):
        """CPU time of a plain run; the shell that sets its priority is in it,
        about 3 ms."""
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        self.call(self.command("plain", short))
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return (after.ru_utime - before.ru_utime +
                after.ru_stime - before.ru_stime) * 1e9

    def record(self, command, options):
        shutil.rmtree("data", ignore_errors=True)
        self.call([self.options.perfrec, "record", "--quiet", "--max-size",
                   "64G", "--alloc=off", "-o", "data", *options, "--",
                   *command])


def median(values):
    ordered = sorted(values)
    middle = len(ordered) // 2
    if len(ordered) % 2:
        return ordered[middle]
    return (ordered[middle - 1] + ordered[middle]) / 2
