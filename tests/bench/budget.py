#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""budget.py [--rounds N] [--budgets 1,5,20] [--kinds entry,calls] [--perfrec FILE]
BASE -- ARGUMENTS...

What --overhead promises, what it costs, and what perfrec prints. BASE.plain,
BASE.entry and BASE.calls are one program built three ways; ARGUMENTS are theirs.
The plain program, the build without a recording, and the build within the budget run in
turn, N rounds after one in which the budget is learned. The least CPU time of each counts,
as other programs only add to it:

  unrecorded  CPU time of the build without a recording over that of the plain program,
              less 1
  measured    CPU time within the budget, and of the collector to connect functions, over
              that of the plain program, less 1
  printed     what summary.json says: totals.overhead_reached, the median
  waited      the least that the program was off the CPU within the budget

A line of each build has what one call costs, in ns: with sites off over the plain program,
counted over sites off, counted over the build without a recording, and what samples at
997 Hz find of it in thunks. A line of the plain and one of the entry build have what
--alloc=sampled costs: a block with its free, where hardly a sample is taken, and a sample.
"""
import argparse
import json
import os
import shutil
import statistics
import tempfile
import time

NOTHING = ['--alloc=off', '--cpu=off', '--sched=off']


def run(command):
    """Returns CPU and wall time, in s."""
    begin = time.monotonic()
    pid = os.posix_spawnp(command[0], command, os.environ, file_actions=[
        (os.POSIX_SPAWN_OPEN, 1, '/dev/null', os.O_WRONLY, 0),
        (os.POSIX_SPAWN_OPEN, 2, '/dev/null', os.O_WRONLY, 0)])
    _, _, usage = os.wait4(pid, 0)
    return usage.ru_utime + usage.ru_stime, time.monotonic() - begin


def record(perfrec, how, into, command):
    """Returns the CPU time of the program, in s, and the summary."""
    shutil.rmtree(into, ignore_errors=True)
    run([perfrec, 'record', '-q', '--max-size', '8G', *how, '-o', into, '--',
         *command])
    with open(f'{into}/summary.json', encoding='utf-8') as file:
        summary = json.load(file)
    return (summary['user_ns'] + summary['sys_ns']) / 1e9, summary


def measure(options, kind, budget, work):
    """Prints the line of a build within a budget."""
    plain = [f'{options.base}.plain', *options.arguments]
    build = [f'{options.base}.{kind}', *options.arguments]
    rows = []
    for turn in range(options.rounds + 1):
        cpu = run(plain)[0], run(build)[0]
        within, summary = record(options.perfrec, ['--overhead', f'{budget}%'],
                                 f'{work}/data', build)
        if turn:
            totals = summary['totals']
            rows.append((*cpu, within + totals['patch_ns'] / 1e9,
                         totals['overhead_reached'],
                         summary['wall_ns'] / 1e9 - within))
    least, unrecorded, within = (min(row[i] for row in rows) for i in range(3))
    print(f'{os.path.basename(options.base):10s} {kind:5s} {budget:>3s} %  '
          f'plain {least:.3f} s  '
          f'unrecorded {100 * (unrecorded / least - 1):5.1f} %  '
          f'measured {100 * (within / least - 1):5.1f} %  '
          f'printed {100 * statistics.median(row[3] for row in rows):5.1f} %  '
          f'waited {1000 * min(row[4] for row in rows):5.1f} ms', flush=True)


def measure_call(options, kind, work):
    """Prints what one call costs."""
    plain = [f'{options.base}.plain', *options.arguments]
    build = [f'{options.base}.{kind}', *options.arguments]
    rows = []
    for _ in range(options.rounds):
        off, _ = record(options.perfrec, ['--exclude', '*', *NOTHING],
                        f'{work}/data', build)
        counted, summary = record(options.perfrec, ['--count', '*', *NOTHING],
                                  f'{work}/data', build)
        rows.append((run(plain)[0], run(build)[0], off, counted))
    calls = summary['totals']['counted_calls'] + summary['totals']['spans']
    least, unrecorded, off, counted = map(min, zip(*rows))
    print(f'{os.path.basename(options.base):10s} {kind:5s} a call, of '
          f'{calls / 1e6:.1f} million:  off {(off - least) / calls * 1e9:.2f}  '
          f'counted {(counted - off) / calls * 1e9:+.2f}, '
          f'over unrecorded {(counted - unrecorded) / calls * 1e9:+.2f}, '
          f'in thunks {in_thunks(options, build, work):.2f} ns', flush=True)


def in_thunks(options, build, work):
    """What samples find of a counted call in perfrec's own code, in ns."""
    cpu, summary = record(options.perfrec,
                          ['--count', '*', '--cpu=997', *NOTHING[::2]],
                          f'{work}/data', build)
    totals = summary['totals']
    return (summary['cost']['own_samples'] / totals['cpu_samples'] * cpu /
            totals['counted_calls'] * 1e9)


def measure_block(options, kind, work):
    """Prints what a block and a sample of one cost."""
    build = [f'{options.base}.{kind}', *options.arguments]
    how = ['--cpu=off', '--sched=off']
    if kind != 'plain':
        how += ['--overhead', '5%']
    rows = []
    for _ in range(options.rounds):
        off, few, (usual, summary) = (
            record(options.perfrec, [*how, f'--alloc={alloc}'],
                   f'{work}/data', build)
            for alloc in ('off', 'sampled:512M', 'sampled:512K'))
        rows.append((off[0], few[0], usual))
    _, exact = record(options.perfrec, [*how, '--alloc=exact'],
                      f'{work}/data', build)
    blocks = exact['totals']['allocs']
    samples = summary['totals']['alloc_bytes'] / 2**19
    off, few, usual = map(min, zip(*rows))
    print(f'{os.path.basename(options.base):10s} {kind:5s} a block, of '
          f'{blocks / 1e6:.2f} million:  {(few - off) / blocks * 1e9:.1f} ns '
          f'({(few - off) * 1e3:.0f} ms of {off * 1e3:.0f})  a sample, of '
          f'{samples:.0f}:  {(usual - few) / samples * 1e6:.0f} us', flush=True)


def main():
    parser = argparse.ArgumentParser(
        usage=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--rounds', type=int, default=5)
    parser.add_argument('--budgets', default='1,5,20')
    parser.add_argument('--kinds', default='entry,calls')
    parser.add_argument('--perfrec', default='build/perfrec')
    parser.add_argument('base')
    parser.add_argument('arguments', nargs='*')
    options = parser.parse_args()
    options.perfrec = os.path.abspath(options.perfrec)
    with tempfile.TemporaryDirectory() as work:
        for kind in 'plain', 'entry':
            measure_block(options, kind, work)
        for kind in options.kinds.split(','):
            measure_call(options, kind, work)
            for budget in options.budgets.split(','):
                os.environ['XDG_CACHE_HOME'] = f'{work}/{kind}.{budget}'
                measure(options, kind, budget, work)


main()
