#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Records programs as Debian ships them, and programs in C++ and with OpenMP, with
# `perfrec record --sched on`, and sees to it that time adds up: what the threads
# were on CPUs is what getrusage() says of the process, and each thread's time on
# CPUs, runnable, blocked and unknown is no longer than its process was there, and
# that of the first one as long.
#
# usage: waits-real.sh BUILD DIR
#
# BUILD is the make's $(O); DIR is where recordings are made. A program that is not
# installed is skipped. Ends with a line "N passed, N failed, N skipped".
set -eu

build=$(cd "$1" && pwd)
mkdir -p "$2"
dir=$(cd "$2" && pwd)
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=tests/real/parts.sh
. "$here/parts.sh"

need_tools "$build"
work=$(mktemp -d "$dir/waits.XXXXXX")
trap 'rm -rf "$work"' EXIT
export XDG_RUNTIME_DIR="$work"
cd "$work"

# adds_up SHARE: listed threads of ./data have at least SHARE percent of the CPU
# time. Threads that record nothing are not listed.
adds_up() {
	jq -r --argjson share "$1" '
	def whole: .on_cpu_ns + .runnable_ns + .blocked_ns + .unknown_sched_ns;
	(.user_ns + .sys_ns) as $used | .totals.on_cpu_ns as $on |
	if [.processes[].threads[] | select(.sched != "measured")] != []
	then "not all threads are measured" else empty end,
	# A program also uses CPU time before its hello and after its end.
	if $on > $used * 1.02 + 10000000 or
		$on < $used * $share / 100 - 30000000
	then "on a CPU for \($on) ns, of \($used)" else empty end,
	(.processes[] | (.end_ns - .start_ns) as $life | .pid as $pid |
	 .threads[] | whole as $whole |
	 if $whole > $life * 1.01 + 5000000 or
		.tid == $pid and $whole < $life * 0.95 - 20000000
	 then "thread \(.tid): \($whole) ns of \($life)" else empty end,
	 if .unknown_sched_ns > $whole / 20
	 then "thread \(.tid): \(.unknown_sched_ns) ns unknown" else empty end)
	' data/summary.json >wrong
	[ ! -s wrong ] || {
		cat wrong >&2
		return 1
	}
	jq -r '"  \(.processes[0].name): \(.totals.on_cpu_ns / 1e6 | floor) ms of \(
		(.user_ns + .sys_ns) / 1e6 | floor) on CPUs, \(
		.totals.threads) threads"' data/summary.json
}

# record SHARE COMMAND...
record() {
	share=$1
	shift
	command -v "$1" >/dev/null || {
		echo "$1 is not installed"
		return 77
	}
	rm -rf data
	"$build/perfrec" record -q --sched on -o data "$@" >out 2>err || {
		cat err >&2
		return 1
	}
	adds_up "$share"
}

cat >cxx.cc <<'SOURCE'
#include <chrono>
#include <condition_variable>
#include <future>
#include <mutex>
#include <thread>
static std::mutex g_lock;
static std::condition_variable g_changed;
static int g_turn;
static volatile long g_work;
static void locked()
{
	std::lock_guard<std::mutex> guard(g_lock);
	for (int i = 0; i < 1000000; i++)
		g_work = g_work + 1;
}
static int part(int number)
{
	for (int i = 0; i < 40; i++)
		locked();
	return number;
}
static void await_turns()
{
	std::unique_lock<std::mutex> guard(g_lock);
	for (int turn = 1; turn <= 30; turn++)
		g_changed.wait(guard, [=] { return g_turn >= turn; });
}
int main()
{
	auto first = std::async(std::launch::async, part, 1);
	auto second = std::async(std::launch::async, part, 2);
	std::thread waiter(await_turns);
	for (int i = 0; i < 30; i++) {
		std::this_thread::sleep_for(std::chrono::milliseconds(5));
		std::lock_guard<std::mutex> guard(g_lock);
		g_turn++;
		g_changed.notify_all();
	}
	waiter.join();
	return first.get() + second.get() != 3;
}
SOURCE
cat >openmp.c <<'SOURCE'
#include <time.h>
static volatile double g_sum;
static void chunk(long steps)
{
	for (long i = 0; i < steps; i++)
		g_sum += (double)i;
}
int main(void)
{
	struct timespec pause = { 0, 5000000 };

	for (int round = 0; round < 20; round++) {
#pragma omp parallel for schedule(static) num_threads(4)
		for (int i = 0; i < 8; i++)
			chunk(1000000L * (1 + i % 4));
		nanosleep(&pause, 0);
	}
	return 0;
}
SOURCE
with_hooks() {
	"$@" -O1 -g -finstrument-functions
}
cxx() {
	with_hooks "${CXX:-g++}" -o cxx cxx.cc -pthread
	record 95 ./cxx
}
openmp() {
	with_hooks "${CC:-gcc}" -fopenmp -o openmp openmp.c
	OMP_WAIT_POLICY=passive record 95 ./openmp
}
redis() {
	# A port that nobody listens at.
	port=$((20000 + $$ % 20000))
	command -v redis-benchmark >/dev/null || return 77
	(
		for try in $(seq 100); do
			sleep 0.1
			redis-cli -p $port ping >/dev/null 2>&1 && break
		done
		redis-benchmark -p $port -n 20000 -c 20 -q -t set >/dev/null
		redis-cli -p $port shutdown nosave
	) &
	record 95 redis-server --port $port --io-threads 2 --save ''
}

part cxx cxx
part openmp openmp
part redis redis
head -c 40000000 /dev/urandom >big
# Its threads for input and output record nothing.
part zstd record 60 zstd -q -T2 -3 -f big -o big.zst
part ripgrep record 30 rg -c return "$here/../../collector"
printf 'all: a b c d\n%%:\n\t@%s -O1 -c -o $@.o cxx.cc\n' "${CXX:-g++}" >Makefile
part make record 90 make -s -j2
parts_end
