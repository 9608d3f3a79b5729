# SPDX-License-Identifier: Apache-2.0
#
# With --wakers=kernel the kernel names who ended each wait: threads, other processes,
# and interrupts. Where it does not permit that, the message has the way out.
. "$TOP/tests/e2e/lib.sh"
. "$TOP/tests/e2e/lib/waits.sh"

run "$PERFREC" record --sched off --wakers kernel -o no true
expect_match err '--wakers=kernel: only with --sched on'
expect_none no/trace.pftrace

if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null; then
	mkdir programs
	mkdir -m 777 own
	cp "$O"/perfrec* "$O/libperfrec_preload.so" programs
	chmod 711 .
	run setpriv --reuid 65533 --regid 65534 --clear-groups \
		env -u XDG_RUNTIME_DIR HOME=/nonexistent \
		programs/perfrec record --wakers kernel -o own/no true
	expect_match err '--wakers=kernel: .* run as root'
	[ "$status" -ne 0 ] || fail "nobody can have the kernel's wakers"
fi

"$PERFREC" doctor >doctor || true
grep -q 'the kernel says who ended a wait' doctor ||
	skip "no tracepoints here: $(grep wakers doctor)"
perf_permitted || skip "the kernel reports no switches here"
options='--wakers kernel'

# wakes DIR OBJECT: prints who ended each wait for OBJECT.
wakes()
{
	run_ok "$PERFREC" replay "$1"
	sed -n "s/.*wait[a-z]* on \[$2[^]]*\], woken by \(.*\) \*\/.*/\1/p" out
}

# woken FAMILY OBJECT: as wakes(), of a new recording of tasks, into ./by. The
# collector looks up objects now and then: on a busy machine it may miss all.
woken()
{
	for _ in 1 2 3 4 5; do
		rm -rf "$1"
		waits_record "$1" tasks "$1"
		wakes "$1" "$2" >by
		[ ! -s by ] || return 0
	done
	fail "$1: no wait for [$2] was ended by anybody"
}

# The child reads, its parent writes; both sleep.
woken pipe pipe
grep -qv '^tasks [0-9]* in pipe_to_child$' by && fail "the pipe: $(sort -u by)"
woken pipe sleep
[ "$(sort -u by)" = outside ] || fail "sleep: $(sort -u by)"

# A parent waits for its children.
woken forks 'child processes'
grep -qv '^tasks [0-9]*$' by && fail "children: $(sort -u by)"

# Holders and wakers are those of the program's log.
whom mutex-long 20
for dir in pipe forks; do
	"$O/tests/tools/trace_check" "$dir/trace.pftrace" >wrong ||
		fail "$dir: $(cat wrong)"
done
