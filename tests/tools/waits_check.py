#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
#
# waits_check.py [OPTION...] SUMMARY TRUTH - hold a summary.json against what the
# recorded program knew of its own time (tests/progs/waits/truth.h). A line on
# stderr for each figure that is wrong, and exit status 1.
#
#   --sums    perf_event was refused: there are sums of threads, and no more
#   --late    the collector saw some threads only after their end: they have sums
#   --off     of a recording with --sched off: there is nothing
#   --table   print each figure beside its truth, for people
#
# Bounds hold on any machine, however busy: all truth is of the same run, and what
# the program cannot know is between two bounds.
#
#   - A thread's clocks know it from its begin on, but the main thread may have
#     begun before the recording did: from main() on is the lower bound.
#   - After its last look a thread may run, wait and be blocked for as long as it
#     takes until somebody has seen it end. That is added to the upper bound.
#   - What was spread over the waits of a thread may belong to another of its
#     functions: `spread_ns`, of which no more counts than could be spread, which
#     is what the kernel says that the thread waited for CPUs, and its switches.
#   - Records that were lost are `unknown_sched_ns`, and taken off the lower bound.
#     Of waits for a CPU so much may have been left in blocked time.
#   - A look takes time, which the truth has, and the span has not: what may have
#     come after the span is `after_ns`, much of which may be a wait for a CPU.
#   - A thread that is moved to another CPU while it falls asleep is counted as
#     waiting for one until it runs again (Linux 6.12 on). Of the main thread that
#     may be its wait for the reply to its hello: what it had waited for CPUs
#     before main() may be missing in blocked time.
#   - perfrec's own cost is taken off the time on a CPU: 499 samples a second are 1 %
#     where one takes 20 us. `cost.subtracted_ns` is all of it.
#   - Time that the host has taken is `stolen_ns`: spans have it, sums have not.

import argparse
import json
import sys
from collections import defaultdict

SHARE = 0.01
WAIT_NS = 20_000  # of blocked and runnable time, a switch
LOOK_NS = 4_000  # of on-CPU time, a call
FLOOR_NS = 100_000  # of a thread
SWITCH_NS = 10_000  # what a switch may cost

PARTS = ("on_cpu", "runnable", "blocked", "unknown_sched")
FIGURES = [p + "_ns" for p in PARTS] + ["switches", "migrations", "spread_ns"]
THREAD_FIGURES = FIGURES + ["preemptions", "stolen_ns"]

wrong = 0
rows = []


def complain(text):
    global wrong
    wrong += 1
    if wrong <= 40:
        print(text, file=sys.stderr)


def within(what, value, low, high):
    rows.append((what, low, value, high))
    if not low <= value <= high:
        complain(f"{what}: {value:,.0f} is not in {low:,.0f} .. {high:,.0f}")


def is_figure(value):
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def truth_of(path):
    threads, functions = [], []
    with open(path) as file:
        for line in file:
            if not line.startswith("{"):
                continue
            one = json.loads(line)
            (threads if one["is"] == "thread" else functions).append(one)
    if not threads:
        sys.exit("no truth")
    return threads, functions


class Bounds:
    """Of figures that are added up: each as [low, high]."""

    def __init__(self):
        self.low = defaultdict(float)
        self.high = defaultdict(float)
        self.count = 0

    def add(self, truth, process):
        begin, end = truth["begin"], truth["end"]
        made = truth["made_ns"]
        ended = truth["joined_ns"] or process["end_ns"]
        gap = max(ended - end["wall_ns"], 0)
        self.count += 1

        def both(name, keys, loose=0):
            of_end = sum(end[k] for k in keys)
            before = 0 if made else sum(begin[k] for k in keys)
            self.low[name] += of_end - before
            self.high[name] += of_end + loose

        both("on_cpu_ns", ["cpu_ns"], gap)
        both("runnable_ns", ["delay_ns"], gap)
        both("user_us", ["user_us"], gap // 1000)
        both("system_us", ["system_us"], gap // 1000)
        both("minor_faults", ["minor"], 1000)
        both("major_faults", ["major"], 1000)
        both("preemptions", ["involuntary"], gap // 50_000)
        both("switches", ["voluntary", "involuntary"], gap // 50_000 + 8)
        self.add_wall(begin, end, made or process["start_ns"], gap,
                      0 if made else begin["delay_ns"])

    def add_wall(self, begin, end, made, gap, early):
        def blocked(now):
            return now["wall_ns"] - now["cpu_ns"] - now["delay_ns"]

        before = max(begin["wall_ns"] - made, 0)
        self.low["wall_ns"] += end["wall_ns"] - begin["wall_ns"]
        self.high["wall_ns"] += end["wall_ns"] - made + gap
        self.low["blocked_ns"] += blocked(end) - blocked(begin) - early
        self.high["blocked_ns"] += blocked(end) - blocked(begin) + before + gap


def group(items, key):
    groups = defaultdict(list)
    for item in items:
        groups[key(item)].append(item)
    return groups


def summed(items, name):
    if name == "wall_ns":
        values = [summed(items, part + "_ns") for part in PARTS]
    else:
        values = [item.get(name) for item in items]
    return None if None in values else sum(values)


def check_thread_figures(what, found, bounds, sums):
    names = ["on_cpu_ns", "runnable_ns"]
    if not sums:
        names += ["blocked_ns", "wall_ns", "switches", "preemptions"]
    unknown = summed(found, "unknown_sched_ns") or 0
    stolen = summed(found, "stolen_ns") or 0
    lost = unknown > 0
    for name in names:
        value = summed(found, name)
        if value is None:
            complain(f"{what}: no {name}")
            continue
        low, high = bounds.low[name], bounds.high[name]
        if name.endswith("_ns"):
            floor = FLOOR_NS * bounds.count
            # What is too much of the others is missing here.
            if name == "blocked_ns":
                floor += SHARE * (bounds.low["on_cpu_ns"] +
                                  bounds.low["runnable_ns"])
            low = low * (1 - SHARE) - floor - unknown - stolen
            high = high * (1 + SHARE) + floor + stolen
            high += unknown if name == "blocked_ns" else 0
        else:
            low = 0 if lost else low * (1 - SHARE) - 2
            high = high * (1 + SHARE) + 2
        within(f"{what} {name}", value, low, high)


def check_thread_rusage(what, found, bounds):
    """By ticks, or by the clock, and split by ticks in any case."""
    for name in ("user_ns", "system_ns"):
        value = summed(found, name)
        if value is None:
            continue
        loose = 25_000_000 + 0.05 * bounds.high["on_cpu_ns"]
        key = name.replace("_ns", "_us")
        within(f"{what} {name}", value, bounds.low[key] * 1000 - loose,
               bounds.high[key] * 1000 + loose)
    for name in ("minor_faults", "major_faults"):
        value = summed(found, name)
        if value is not None:
            within(f"{what} {name}", value, bounds.low[name],
                   bounds.high[name])


def check_thread_whole(what, thread):
    for name in THREAD_FIGURES:
        if not is_figure(thread.get(name)):
            complain(f"{what}: {name} is {thread.get(name)}")
            return
    if thread["preemptions"] > thread["switches"]:
        complain(f"{what}: more preemptions than switches")
    whole = sum(thread[p + "_ns"] for p in PARTS)
    if thread["spread_ns"] > whole:
        complain(f"{what}: {thread['spread_ns']} spread of {whole}")


def check_process(summary, truths):
    """The CPU time of all threads that a process had, which it knows."""
    for truth in truths:
        if truth["tid"] != truth["pid"]:
            continue
        # A shell that became the program has the same id.
        images = [p for p in summary["processes"] if p["pid"] == truth["pid"]]
        found = [t for p in images for t in p["threads"]]
        value = summed(found, "on_cpu_ns")
        if value is None:
            return
        # What threads do when they end is not known of each, so there is no
        # lower bound but that of all threads.
        end = truth["end"]
        gap = max(images[-1]["end_ns"] - end["wall_ns"], 0)
        loose = 3 * FLOOR_NS + (summed(found, "stolen_ns") or 0)
        within(f"process {truth['pid']} on_cpu_ns", value, 1,
               end["process_ns"] * (1 + SHARE) + loose + gap)


def threads_of(summary):
    for process in summary["processes"]:
        for thread in process["threads"]:
            yield process, thread


def check_threads(summary, truths, sums, states):
    processes = {p["pid"]: p for p in summary["processes"]}
    found = defaultdict(list)
    for process, thread in threads_of(summary):
        # The truth is of the last image: not of a shell that became it.
        if process["ended"] != "exec":
            found[process["pid"], thread["tid"]].append(thread)
    everything = Bounds()
    all_found = []
    for key, same in group(truths, lambda t: (t["pid"], t["tid"])).items():
        what = f"thread {key[1]}"
        if not found[key]:
            complain(f"{what} is not in the summary")
            continue
        bounds = Bounds()
        for truth in same:
            bounds.add(truth, processes[key[0]])
            everything.add(truth, processes[key[0]])
        all_found += found[key]
        for thread in found[key]:
            if thread.get("sched") not in states:
                complain(f"{what}: sched is {thread.get('sched')}")
            elif not sums:
                check_thread_whole(what, thread)
        check_thread_figures(what, found[key], bounds, sums)
        check_thread_rusage(what, found[key], bounds)
    # Floors of many threads are more than they have: all of them have one.
    everything.count = 3
    check_thread_figures("all threads", all_found, everything, sums)


def check_function_parts(what, function):
    """False: the figures are not there."""
    for name in FIGURES:
        stem, ns = (name[:-3], "_ns") if name.endswith("_ns") else (name, "")
        if not is_figure(function.get(name)):
            complain(f"{what}: {name} is {function.get(name)}")
            return False
        own = function.get(f"{stem}_self{ns}")
        if own is not None and own > function[name]:
            complain(f"{what}: {own} of {name} are self, of {function[name]}")
    whole = sum(function[p + "_ns"] for p in PARTS)
    if function["spread_ns"] > whole:
        complain(f"{what}: {function['spread_ns']} spread of {whole}")
    own = sum(function[p + "_self_ns"] for p in PARTS)
    walls = (function["self_ns"], function["measured_self_ns"])
    loose = 20_000 + 100 * function["calls"]
    within(f"{what} wall", own, min(walls) * (1 - SHARE) - loose,
           max(walls) * (1 + SHARE) + loose)
    return True


def spread_of(threads):
    """What may belong to another function of these threads."""
    return sum(
        min(t["spread_ns"], t["runnable_ns"] + SWITCH_NS * t["switches"])
        for t in threads
    )


def check_function(function, truths, threads, own):
    what = function["name"]
    spread = spread_of(threads)
    unknown = sum(t["unknown_sched_ns"] for t in threads)
    stolen = sum(t["stolen_ns"] for t in threads)
    calls, switches, wall, cpu, delay, after, after_switches = (
        sum(t[k] for t in truths)
        for k in ("calls", "switches", "wall_ns", "cpu_ns", "delay_ns",
                  "after_ns", "after_switches")
    )
    blocked = wall - cpu - delay
    ran = sum(t["on_cpu_ns"] for t in threads)

    def check(name, truth, loose, more=0, less=0):
        loose += spread + stolen
        within(f"{what} {name}", function[name],
               truth - loose - unknown - after - less, truth + loose + more)

    look = LOOK_NS * calls
    check("on_cpu_ns", cpu, SHARE * ran + look, less=own)
    check("runnable_ns", delay, SHARE * delay + WAIT_NS * switches)
    check("blocked_ns", blocked,
          max(SHARE * blocked, WAIT_NS * switches) + look, unknown)
    # A function that calls others has not theirs.
    low = switches * (1 - SHARE) - 2 - after_switches
    is_leaf = function["self_ns"] == function["total_ns"]
    within(f"{what} switches", function["switches"],
           low if is_leaf and not unknown else 0,
           switches * (1 + SHARE) + 2)
    if function["calls"] != calls:
        complain(f"{what}: {function['calls']} calls, not {calls}")


def check_functions(summary, truths):
    found = {f["name"]: f for f in summary["functions"]}
    whole = True
    for function in summary["functions"]:
        whole = check_function_parts(function["name"], function) and whole
    if not whole:
        return
    by_tid = group(threads_of(summary), lambda pt: (pt[0]["pid"], pt[1]["tid"]))
    for name, same in group(truths, lambda t: t["name"]).items():
        if name not in found:
            complain(f"{name} is not in the summary")
            continue
        keys = {(t["pid"], t["tid"]) for t in same}
        # Several threads may have had an id.
        threads = [t for k in keys for _, t in by_tid.get(k, [])]
        check_function(found[name], same, threads,
                       summary["cost"]["subtracted_ns"])


def check_sums(summary, truths):
    """Functions have what the threads have, but for what is in no span. A child
    that was forked waits for its first CPU within spans that its parent had
    open: that is the thread's, and in no function."""
    if any(t["made_ns"] and t["pid"] == t["tid"] for t in truths):
        return
    functions = summary["functions"]
    threads = [t for _, t in threads_of(summary)]
    outside = 0
    rests = {}
    for part in PARTS:
        of_threads = summed(threads, part + "_ns")
        of_functions = summed(functions, part + "_self_ns")
        if of_threads is None or of_functions is None:
            complain(f"{part}: not known of each thread and function")
            return
        rests[part] = of_threads - of_functions
        outside += rests[part]
    loose = FLOOR_NS + SHARE * sum(t["on_cpu_ns"] for t in threads) / 10
    loose += sum(t["stolen_ns"] for t in threads)
    loose += sum(t["unknown_sched_ns"] for t in threads)
    for part, rest in rests.items():
        within(f"{part} outside of spans", rest, -loose, outside + loose)


def check_nothing(summary):
    for what in [t for _, t in threads_of(summary)] + summary["functions"]:
        for name in ("on_cpu_ns", "runnable_ns", "blocked_ns", "sched"):
            if what.get(name):
                complain(f"{what['name']}: {name} is {what[name]}")


def print_table():
    for what, low, value, high in rows:
        print(f"{what:44} {low:16,.0f} <= {value:16,.0f} <= {high:16,.0f}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--sums", action="store_true")
    parser.add_argument("--late", action="store_true")
    parser.add_argument("--off", action="store_true")
    parser.add_argument("--table", action="store_true")
    parser.add_argument("summary")
    parser.add_argument("truth")
    options = parser.parse_args()
    with open(options.summary) as file:
        summary = json.load(file)
    threads, functions = truth_of(options.truth)
    if options.off:
        check_nothing(summary)
    else:
        sums = options.sums or options.late
        states = ["sums"] if sums else []
        states += [] if options.sums else ["measured"]
        check_threads(summary, threads, sums, states)
        check_process(summary, threads)
        if not sums:
            check_functions(summary, functions)
            check_sums(summary, threads)
    if options.table:
        print_table()
    sys.exit(1 if wrong else 0)


main()
