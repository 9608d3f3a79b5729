#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""budget.py [--rounds N] [--budgets 1,5,20] [--kinds entry,calls] [--perfrec FILE]
BASE -- ARGUMENTS...

What --overhead promises, what it costs, and what perfrec prints. BASE.plain,
BASE.entry and BASE.calls are one program built three ways; ARGUMENTS are theirs.
The plain program, the build with all of its hooks switched off, and the build within the
budget run in turn, N rounds after one in which the budget is learned. The least CPU time
of each counts, as other programs only add to it:

  build     CPU time with all hooks off over that of the plain program, less 1
  cost      CPU time within the budget over that with all hooks off, less 1
  printed   what summary.json of that run says: totals.overhead_reached
  all       CPU time within the budget over that of the plain program, less 1
  waited    the least that the program was off the CPU within the budget
"""
import argparse
import json
import os
import shutil
import tempfile
import time


def run(command):
    """Returns CPU and wall time, in s."""
    begin = time.monotonic()
    pid = os.posix_spawnp(command[0], command, os.environ, file_actions=[
        (os.POSIX_SPAWN_OPEN, 1, '/dev/null', os.O_WRONLY, 0),
        (os.POSIX_SPAWN_OPEN, 2, '/dev/null', os.O_WRONLY, 0)])
    _, _, usage = os.wait4(pid, 0)
    return usage.ru_utime + usage.ru_stime, time.monotonic() - begin


OFF = ['--exclude', '*', '--alloc=off', '--cpu=off', '--sched=off']


def record(perfrec, how, into, command):
    """Returns CPU and wall time of the program, and the cost that was told."""
    shutil.rmtree(into, ignore_errors=True)
    run([perfrec, 'record', '-q', '--max-size', '8G', *how, '-o', into, '--',
         *command])
    with open(f'{into}/summary.json', encoding='utf-8') as file:
        summary = json.load(file)
    return ((summary['user_ns'] + summary['sys_ns']) / 1e9,
            summary['wall_ns'] / 1e9, summary['totals']['overhead_reached'])


def measure(options, kind, budget, work):
    """Prints the line of a build within a budget."""
    plain = [f'{options.base}.plain', *options.arguments]
    build = [f'{options.base}.{kind}', *options.arguments]
    rows = []
    for turn in range(options.rounds + 1):
        row = (run(plain), record(options.perfrec, OFF, f'{work}/data', build),
               record(options.perfrec, ['--overhead', f'{budget}%'],
                      f'{work}/data', build))
        if turn:
            rows.append(row)
    least, off, within = (min(row[i][0] for row in rows) for i in range(3))
    waited = min(row[2][1] - row[2][0] for row in rows)
    printed = min(row[2] for row in rows)[2]
    print(f'{os.path.basename(options.base):10s} {kind:5s} {budget:>3s} %  '
          f'plain {least:.3f} s  build {100 * (off / least - 1):5.1f} %  '
          f'cost {100 * (within / off - 1):5.1f} %  '
          f'printed {100 * printed:5.1f} %  '
          f'all {100 * (within / least - 1):5.1f} %  '
          f'waited {1000 * waited:5.1f} ms', flush=True)


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
        for kind in options.kinds.split(','):
            for budget in options.budgets.split(','):
                os.environ['XDG_CACHE_HOME'] = f'{work}/{kind}.{budget}'
                measure(options, kind, budget, work)


main()
