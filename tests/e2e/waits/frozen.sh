# SPDX-License-Identifier: Apache-2.0
#
# A program in a frozen cgroup, as docker pause and systemctl freeze make it, waits
# on [frozen]: a thread that computes, and one in a system call.
. "$TOP/tests/e2e/lib.sh"
. "$TOP/tests/e2e/lib/waits.sh"

perf_permitted || skip 'the kernel tells of no switches'
gcc -O1 -x c -o both - -pthread <<-'SOURCE' || fail 'cannot compile'
	#include <poll.h>
	#include <pthread.h>
	#include <stdatomic.h>
	#include <stdio.h>
	#include <unistd.h>

	static atomic_bool ends;

	static void *compute(void *none)
	{
		while (!ends)
			;
		return none;
	}

	int main(void)
	{
		struct pollfd input = { .fd = 0, .events = POLLIN };
		pthread_t thread;

		pthread_create(&thread, NULL, compute, NULL);
		printf("%d\n", getpid());
		fflush(stdout);
		poll(&input, 1, -1);
		ends = 1;
		pthread_join(thread, NULL);
		return 0;
	}
	SOURCE

# record DIR GROUP FILE FROZEN THAWED: the program is in the cgroup GROUP; FILE
# freezes it for ten usual pauses of the collector.
record()
{
	dir=$1 group=$2 file=$3 frozen=$4 thawed=$5
	rm -f input pid
	mkfifo input
	"$PERFREC" record -q -o "$dir" -- ./both <input >pid &
	recorder=$!
	exec 3>input
	wait_for 60 test -s pid
	cat pid >"$group/cgroup.procs"
	echo "$frozen" >"$group/$file"
	sleep 0.5
	echo "$thawed" >"$group/$file"
	exec 3>&-
	wait "$recorder" || fail "$dir: exit status $?"
	rmdir "$group"
	run_ok "$PERFREC" report --json --view wait "$dir"
	jq -r '.functions[] | "\(.self.waits) \(.name)"' out >objects
	grep -q '^2 \[frozen\]$' objects ||
		fail "$dir: not frozen twice, but: $(cat objects)"
	expect_no_match objects 'page fault'
}

done=
for top in /sys/fs/cgroup/freezer /sys/fs/cgroup /sys/fs/cgroup/unified; do
	group=$top/perfrec-e2e.$$
	mkdir "$group" 2>/dev/null || continue
	if [ -w "$group/freezer.state" ]; then
		record v1 "$group" freezer.state FROZEN THAWED
		done=1
	elif [ -w "$group/cgroup.freeze" ]; then
		record v2 "$group" cgroup.freeze 1 0
		done=1
	else
		rmdir "$group"
	fi
done
[ "$done" ] || skip 'no cgroup may be frozen here'
