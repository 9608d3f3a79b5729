#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
#
# true_time.py PROGRAM - see true_time.sh, which calls it.
#
# The program built plain is sampled 999 times a second (perfrec record --cpu)
# for the shares of its functions. Then builds with hooks are recorded, in turn
# with runs of the plain program for its CPU time. The *sampled* time of a
# function is its share times the CPU time of the plain runs just before and
# after; the *reported* one is its self time in wall.pb.gz. Medians of some runs.
#
# Both are folded alike: the time of a stack belongs to the innermost function
# of it that has spans in the recording. So what is sampled in the C library, or
# in functions that are counted or off, belongs to their nearest caller that is
# recorded. That is where a recording has this time, too. Functions are compared
# by their symbols, without what the compiler appends (.isra.0, .cold). The
# plain build has no debug information, so samples know of no inlined function.
#
# A function is compared if it has 1 % or more of the sampled time. "error" is
# (reported - sampled) / sampled; "by share" is the same of the parts of all
# time, which a change of the CPU's speed between two runs does not alter; "+-"
# is the error that chance leaves in the sampled time (one sigma). Times are wall
# time, so on a busy machine they hold what others took: the sum is compared
# without that. "counted", where
# all functions are: the mean of the recorded calls times all calls, against the
# sampled time of stacks that they are in.

import argparse
import json
import sys

from sampled import (PROGRAMS, Program, fold, inside, median, plain_name,
                     read_profile)

# As in truth.py: faster timers come late on some virtual machines, and their
# samples are then of the next system call.
RATE = "999"
ROWS = {
    # name: (build, options, short run)
    "entry-5": ("entry", ["--overhead", "5%"], False),
    "entry-30": ("entry", ["--overhead", "30%"], False),
    "entry-all": ("entry", [], True),
    "entry-count": ("entry", ["--count", "*"], False),
    "calls-5": ("calls", ["--overhead", "5%"], False),
    "calls-all": ("calls", [], True),
}


def recorded_whole(summary):
    """Names of functions of which all, or nearly all, calls were recorded."""
    known = {}
    for one in summary["functions"]:
        if one["calls"]:
            name = plain_name(one["name"])
            known[name] = (known.get(name, True) and one["state"] == "span" and
                           one["recorded"] >= 0.98 * one["calls"])
    return {name for name in known if known[name]}


def off_cpu_ns(summary):
    """How long the program, which has one thread and waits for nothing, had no
    CPU while its functions were measured."""
    measured = sum(one["measured_self_ns"] for one in summary["functions"])
    return max(0, measured - summary["totals"]["wait_ns"] -
               summary["totals"]["cpu_ns"])


class Row:
    """What some runs of one row have said, and what the plain program took just
    before and after each."""

    def __init__(self):
        self.walls, self.summaries, self.plain_ns = [], [], []

    def add(self, before_ns, after_ns):
        with open("data/summary.json", encoding="utf-8") as file:
            self.summaries.append(json.load(file))
        self.walls.append(read_profile("data/wall.pb.gz"))
        self.plain_ns.append((before_ns + after_ns) / 2)

    def compare(self, sampled):
        known = set.intersection(*map(recorded_whole, self.summaries))
        # An inlined function is in no stack that was sampled.
        known &= {name for stack, _ in sampled for name in stack}
        plain = fold(sampled, "cpu", known)
        counts = fold(sampled, "samples", known)
        # What no function has: the start of the program, lost stacks.
        plain.pop(None, None)
        if self.summaries[-1]["settings"]["count"]:
            self.compare_estimates(sampled, median(self.plain_ns) / sum(
                values.get("cpu", 0) for _, values in sampled))
            return
        folded = [fold(one, "wall", known) for one in self.walls]
        all_plain = sum(plain.values())
        sums = [sum(one.values()) for one in folded]
        good, far, worst = 0, 0, 0.0
        for name in sorted(known, key=lambda n: -plain.get(n, 0)):
            part = plain.get(name, 0) / all_plain
            if part < 0.01:
                break
            error = 100 * median([one.get(name, 0) / (part * ns) - 1
                                  for one, ns in zip(folded, self.plain_ns)])
            by_share = 100 * median([one.get(name, 0) / (part * total) - 1
                                     for one, total in zip(folded, sums)])
            chance = 100 / max(counts[name], 1) ** 0.5
            print(f"    {100 * part:6.2f} %  error {error:+7.1f} %"
                  f"  by share {by_share:+7.1f} %  +-{chance:.1f}  {name[:60]}")
            near = abs(by_share) <= 5 + 2 * chance
            good += near
            far += not near
            worst = max(worst, abs(by_share))
        lost = [off_cpu_ns(one) for one in self.summaries]
        errors = [100 * ((total - off) / ns - 1)
                  for total, off, ns in zip(sums, lost, self.plain_ns)]
        total = median(errors)
        print(f"    sum: CPU time of the plain run"
              f" {median(self.plain_ns) / 1e6:.1f} ms, self times"
              f" {median(sums) / 1e6:.1f} ms, of these"
              f" {median(lost) / 1e6:.1f} off the CPU: {total:+.1f} %"
              f" ({min(errors):+.1f} to {max(errors):+.1f};"
              f" {'within' if abs(total) <= 3 else 'not within'} 3 %);"
              f" {good} of {good + far} functions within 5 %"
              f" by share (and chance), the worst {worst:.1f} % off")
    def compare_estimates(self, sampled, scale):
        total = inside(sampled, "cpu")
        samples = inside(sampled, "samples")
        least = sum(v.get("cpu", 0) for _, v in sampled) / 100
        for one in self.summaries[-1]["functions"]:
            name = plain_name(one["name"])
            if (one["state"] != "counted" or
                    not 100 <= one["recorded"] < 0.9 * one["calls"] or
                    total.get(name, 0) < least):
                continue
            said = one["total_ns"] / one["recorded"] * one["calls"]
            # Recursion: the report says only what was recorded (">").
            if said > sum(f["self_ns"] for f in self.summaries[-1]["functions"]):
                continue
            error = 100 * (said / (total[name] * scale) - 1)
            print(f"    counted: total {total[name] * scale / 1e6:9.2f} ms"
                  f" ~{said / 1e6:9.2f} ms  error {error:+7.1f} %"
                  f"  +-{100 / samples[name] ** 0.5:.1f}"
                  f"  1 of {one['calls'] / one['recorded']:.0f}  {name[:60]}")


def main():
    parser = argparse.ArgumentParser()
    for name in ("perfrec", "programs", "top", "run", "rows"):
        parser.add_argument("--" + name, default="")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("program", choices=PROGRAMS)
    options = parser.parse_args()
    program = Program(options)
    wanted = options.rows.split(",") if options.rows else list(ROWS)

    sampled = []
    for _ in range(options.rounds):
        program.record(program.command("plain", False),
                       ["--cpu=" + RATE, "--stack-size", "8K"])
        sampled += read_profile("data/cpu.pb.gz")
    count = sum(values.get("samples", 0) for _, values in sampled)
    print(f"{program.name}: {count:,} samples", flush=True)
    for name in wanted:
        build, how, short = ROWS[name]
        command = program.command(build, short)
        if not command:
            continue
        row = Row()
        if how: # what the budget learns is there in the next run
            program.record(command, how)
        for _ in range(options.rounds):
            before_ns = program.cpu_ns(short)
            program.record(command, ["--cpu=1000", *how])
            row.add(before_ns, program.cpu_ns(short))
        cost = [one["cost"] for one in row.summaries]
        print(f"  {name}: {' '.join(how) or 'everything recorded'};"
              f" {row.summaries[-1]['totals']['spans']:,} spans,"
              f" {median([c['subtracted_ns'] for c in cost]) / 1e6:.1f} ms"
              f" subtracted, costs fitted by"
              f" {median([c['fitted'] for c in cost]):+.0%}")
        row.compare(sampled)
        sys.stdout.flush()


main()
