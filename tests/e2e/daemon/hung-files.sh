# SPDX-License-Identifier: Apache-2.0
#
# A program whose files lie on a file system that never answers the collector,
# such as that of a server which is gone, delays nobody but itself: another one
# starts, is recorded, sampled, listed, flushed and ends meanwhile. Then SIGTERM
# ends the daemon, with all recordings whole. Times are held against the same
# without the first program, before or at the same time: ten times as long is too
# long.
. "$TOP/tests/e2e/lib.sh"
. "$TOP/tests/e2e/lib/daemon.sh"

mkdir source hung
"$O/tests/tools/hang_fs" source hung >fs.out 2>fs.err &
fs=$!
trap 'kill $fs 2>/dev/null; [ -z "$collector" ] || kill -KILL $collector' EXIT
mounted()
{
	grep -q ready fs.out || ! kill -0 $fs 2>/dev/null
}
wait_for 60 mounted
grep -q ready fs.out || skip "cannot mount: $(cat fs.err)"

build_calls
build host -D_GNU_SOURCE -ldl <<'SOURCE'
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>
static volatile long sum;
/* The kernel has nothing in memory any more of the page that the file begins
 * with: whoever reads it there, such as the collector, waits for the file. */
static void drop_first_page(const char *path, void *function)
{
	Dl_info info;
	int fd = open(path, O_RDONLY);

	if (!dladdr(function, &info) ||
	    madvise(info.dli_fbase, 4096, MADV_DONTNEED) ||
	    posix_fadvise(fd, 0, 4096, POSIX_FADV_DONTNEED))
		_exit(9);
}
static void work(void)
{
	for (long i = 0; i < 10000000; i++)
		sum += i;
}
int main(int argc, char **argv)
{
	void *plugin;

	alarm(600); /* whatever becomes of the test */
	fclose(fopen(argv[1], "w"));
	plugin = dlopen(argc > 2 ? argv[2] : NULL, RTLD_NOW);
	if (argc > 2) {
		((int (*)(int))dlsym(plugin, "entry"))(6);
		drop_first_page(argv[2], dlsym(plugin, "entry"));
	}
	while (access("go", F_OK) < 0) {
		work();
		usleep(10000);
	}
	return 0;
}
SOURCE
cat >plugin.c <<'SOURCE'
int entry(int i) { return i + 1; }
SOURCE
${CC:-gcc} -O1 -fPIC -shared -finstrument-functions -o source/plugin.so \
	plugin.c || fail 'cannot compile plugin.c'
cp host source/

now_ms()
{
	date +%s%3N
}

# timed WHAT COMMAND...: sets $took, in milliseconds.
timed()
{
	begin=$(now_ms)
	"$@" || fail "$*: status $?"
	took=$(($(now_ms) - begin))
}

# within WHAT ALONE: $took is not much more than $2.
within()
{
	echo "# $1: $took ms beside hung files, $2 ms alone"
	[ "$took" -le $((10 * $2)) ] || [ "$took" -le 1500 ] && return
	elsewhere now_alone "$1" >now || fail "$(cat now)"
	[ "$took" -le $((10 * $(cat now))) ] ||
		fail "$1 took $took ms beside hung files, $2 and $(cat now) ms alone"
}
now_alone()
{
	cp ../calls ../host .
	if [ "$1" = 'a program' ]; then
		timed victim now
	else
		LD_PRELOAD=$SHIM ./host up >/dev/null 2>&1 &
		wait_for 60 test -e up
		# shellcheck disable=SC2086 # words
		timed "$PERFREC" $1 >flush.out 2>&1
		: >go
		wait $!
	fi
	echo "$took"
}

# victim NAME: a program of its own file, until its summary is there.
victim()
{
	cp calls "$1"
	printf '%s\n' "$1" >>"$1"
	LD_PRELOAD=$SHIM "./$1" 1000000 7 >out 2>err
	expect_eq "status of $1" $? 7
	wait_for 60 has_summary "$1"
	expect_eq "spans of $1" "$(json data/"$1"-*/summary.json .totals.spans)" \
		1000002
	expect_eq "names of $1" "$(json data/"$1"-*/summary.json \
		'[.functions[].name] | contains(["leaf", "main", "work"])')" true
	# The summary waits until all samples have been unwound.
	expect_eq "samples of $1" "$(json data/"$1"-*/summary.json \
		'.totals.cpu_samples > 0')" true
}

start_daemon --on-full block --cpu 1000,signal --exclude nothing_has_this_name
LD_PRELOAD=$SHIM ./host up >/dev/null 2>&1 &
other=$!
wait_for 60 test -e up
timed victim alone
victim_ms=$took
timed "$PERFREC" ctl list >/dev/null
list_ms=$took
timed "$PERFREC" ctl flush "$other" >flush.out 2>&1
flush_ms=$took

# One is there from the start, the other one is loaded.
PERFREC_DEADLINE_MS=100 LD_PRELOAD=$SHIM ./hung/host up1 >hung1.out 2>&1 &
hung=$!
PERFREC_DEADLINE_MS=100 LD_PRELOAD=$SHIM ./host up2 ./hung/plugin.so \
	>hung2.out 2>&1 &
loads=$!
wait_for 60 test -e up1
wait_for 60 test -e up2

timed victim beside
within 'a program' "$victim_ms"
timed "$PERFREC" ctl list >list.out
within 'ctl list' "$list_ms"
expect_match list.out "$hung"
timed "$PERFREC" ctl flush "$other" >flush.out 2>&1
within 'ctl flush' "$flush_ms"

timed stop_daemon
echo "# the end: $took ms"
[ "$took" -le 50000 ] || fail "the end took $took ms"
: >go
wait $other $loads $hung
for recording in data/*/; do
	[ -s "$recording/summary.json" ] || fail "$recording has no summary"
	"$O/tests/tools/trace_check" --allow-open "$recording/trace.pftrace" \
		>check.out || fail "the trace: $(cat check.out)"
done
