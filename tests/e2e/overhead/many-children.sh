# SPDX-License-Identifier: Apache-2.0
#
# A collector keeps nothing of children that have ended: it had a descriptor or
# two of each, until it had no more.
. "$TOP/tests/e2e/lib.sh"
build forks <<'SOURCE'
#include <stdio.h>
#include <unistd.h>
#include <sys/wait.h>
__attribute__((noinline)) int leaf(int i) { return i * 3; }
int main(void)
{
	volatile int sum = 0;
	for (int i = 0; i < 300; i++) {
		pid_t child = fork();
		for (int j = 0; j < 10; j++)
			sum += leaf(j);
		if (!child)
			_exit(0);
		waitpid(child, NULL, 0);
	}
	puts("done");
	fflush(stdout);
	return getchar() == 0;
}
SOURCE
descriptors()
{
	[ "$(ls "/proc/$collector/fd" | wc -l)" -lt 100 ]
}
for options in '' '--count leaf'; do
	rm -rf input data out.forks
	mkfifo input
	# shellcheck disable=SC2086 # options
	"$PERFREC" record -q $options --alloc=off --cpu=off -o data -- \
		./forks <input >out.forks 2>err.forks &
	recorder=$!
	exec 9>input
	wait_for 60 grep -q done out.forks
	"$PERFREC" ctl -o data list --json >list.json ||
		fail "ctl list: $?"
	collector=$(jq .collector.pid list.json)
	wait_for 60 descriptors
	exec 9>&-
	wait $recorder || fail "exit status $?: $(cat err.forks)"
done
