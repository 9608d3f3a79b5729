#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# soak.sh SECONDS [LIFETIME_MS] - perfrec-collect serves 500 short programs a
# minute for SECONDS, up to 50 at a time: some with threads, some that fork, exec
# or are killed. Afterwards every folder must be complete and all calls counted.
# The collector must have no more open files or mappings than after the first
# programs, and no more memory. Prints its figures meanwhile. O is the build
# folder; works in the current one.
set -u

O=$(cd "${O:-build}" && pwd) || exit 2
seconds=${1:-600}
lifetime=${2:-5000}
at_once=50
if [ "$seconds" -ge 60 ]; then
	interval=0.12 # 500 a minute
	warm=60 # programs, until figures are compared
	batch=100
else
	interval=0.03
	warm=30
	batch=60
fi
calls=1000
# Permitted growth of the allocator and the tables of names.
kb_more=16384

XDG_RUNTIME_DIR=$PWD
export XDG_RUNTIME_DIR
unset PERFREC_SOCKET
collector=

fail()
{
	echo "soak: FAIL: $*" >&2
	tail -n 20 soak.log >&2
	exit 1
}
trap '[ -z "$collector" ] || kill -KILL $collector' EXIT

cat >soak-load.c <<'SOURCE'
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
#define QUIET __attribute__((no_instrument_function))
__attribute__((noinline)) static void leaf(void) { __asm__ volatile(""); }
QUIET static void *work(void *calls)
{
	for (long i = 0; i < (long)calls; i++)
		leaf();
	return NULL;
}
/* KIND CALLS MS [again] */
QUIET int main(int argc, char **argv)
{
	int kind = atoi(argv[1]) % 5;
	void *calls = (void *)atol(argv[2]);
	pthread_t thread[3];

	work(calls);
	for (int i = 0; i < 3 && kind == 1; i++)
		pthread_create(thread + i, NULL, work, calls);
	for (int i = 0; i < 3 && kind == 1; i++)
		pthread_join(thread[i], NULL);
	for (int i = 0; i < 2 && kind == 2; i++)
		if (fork() == 0) {
			work(calls);
			_exit(0);
		}
	usleep((useconds_t)atol(argv[3]) * 1000);
	if (kind == 3 && argc < 5)
		execl(argv[0], argv[0], argv[1], argv[2], "1", "again", NULL);
	if (kind == 4)
		raise(SIGKILL);
	while (wait(NULL) > 0)
		;
	return 0;
}
SOURCE
${CC:-gcc} -O1 -g -finstrument-functions -o soak-load soak-load.c -lpthread ||
	exit 2

# figures: the collector's files, arenas (including its liveness page), threads and
# kB of memory. The threads of base/closer do not count: they start on demand, up
# to a limit, and stay.
figures()
{
	grep -q ^VmRSS /proc/$collector/status 2>/dev/null || {
		wait $collector
		status=$?
		collector=
		fail "the collector has ended with status $status"
	}
	files=$(ls /proc/$collector/fd | wc -l)
	arenas=$(grep -c 'memfd:perfrec' /proc/$collector/maps)
	kb=$(sed -n 's/^VmRSS:[^0-9]*\([0-9]*\).*/\1/p' /proc/$collector/status)
	threads=$(cat /proc/$collector/task/*/comm 2>/dev/null |
		grep -vc perfrec-closer)
}

# quiet: no program is being recorded, and all folders are complete.
quiet()
{
	[ "$(find data -name summary.json | wc -l)" -eq \
		"$(find data -mindepth 1 -type d | wc -l)" ] &&
		"$O/perfrec" ctl list --json | jq -e '.programs == []' >/dev/null
}
settle()
{
	tries=600
	until quiet; do
		tries=$((tries - 1))
		[ $tries -gt 0 ] || fail 'some folders stay incomplete'
		sleep 0.1
	done
	figures
	# A thread of the last program may still be ending.
	while [ "$threads" -gt "${first_threads:-$threads}" ] && [ $tries -gt 0 ]; do
		tries=$((tries - 1))
		sleep 0.1
		figures
	done
}

# load N: starts N programs, one per interval.
started=0 expected=0
load()
{
	wanted=$(($1 + started))
	while [ $started -lt $wanted ]; do
		while [ "$(jobs -p | wc -l)" -gt $at_once ]; do
			sleep 0.02
			# Some shells drop ended jobs only when listing them.
			jobs >/dev/null
		done
		LD_PRELOAD=$O/libperfrec_preload.so PERFREC_DEADLINE_MS=20000 \
			./soak-load $started $calls "$lifetime" 2>>errors &
		case $((started % 5)) in
		1) times=4 ;;
		2) times=3 ;;
		3) times=2 ;;
		*) times=1 ;;
		esac
		expected=$((expected + times * calls))
		started=$((started + 1))
		sleep $interval
	done
}

# end_load: waits for all children except the collector.
end_load()
{
	for pid in $(jobs -p); do
		[ "$pid" = "$collector" ] || wait "$pid" 2>/dev/null
	done
}

rm -rf data errors
: >errors
"$O/perfrec-collect" -o data 2>soak.log &
collector=$!
until grep -q 'listening on' soak.log; do
	kill -0 $collector 2>/dev/null || fail 'no collector'
	sleep 0.05
done
load $warm
end_load
settle
first_files=$files first_kb=$kb first_threads=$threads first_arenas=$arenas
echo "soak: after $started programs: $files files, $arenas arenas," \
	"$threads threads, $kb kB"

end=$(($(date +%s) + seconds))
while [ "$(date +%s)" -lt $end ]; do
	load $batch
	figures
	echo "soak: $started programs begun: $files files, $arenas arenas," \
		"$threads threads, $kb kB"
done
end_load
settle
echo "soak: after $started programs: $files files, $arenas arenas," \
	"$threads threads, $kb kB"

[ "$files" -le "$first_files" ] || fail "$first_files files became $files"
[ "$threads" -le "$first_threads" ] ||
	fail "$first_threads threads became $threads"
[ "$arenas" -le "$first_arenas" ] ||
	fail "$first_arenas arenas became $arenas"
[ "$kb" -le $((first_kb + kb_more)) ] || fail "$first_kb kB became $kb"
[ ! -s errors ] || fail "a program said: $(head -n 3 errors)"
others=$(find data -type f ! -name trace.pftrace ! -name summary.json \
	! -name trace.index ! -name wall.pb.gz \
	! -name cpu.pb.gz ! -name offcpu.pb.gz ! -name span.pb.gz | head -n 3)
[ -z "$others" ] || fail "left behind: $others"
counted=$(find data -name summary.json -exec cat {} + | jq -n '
	reduce inputs as $one (0; . + ([$one.functions[] |
		select(.name == "leaf") | .calls] | add // 0))')
[ "$counted" = $expected ] || fail "$counted calls of $expected are counted"
! grep -E 'warning|error' soak.log || fail 'see above'
kill -TERM $collector
wait $collector || fail "the collector ended with status $?"
collector=
echo "soak: passed: $started programs, $expected calls, $files files," \
	"$first_kb kB became $kb"
