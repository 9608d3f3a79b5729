# SPDX-License-Identifier: Apache-2.0
#
# The collector may notice the end of a process late. The call that was open at
# the end went on until then, on a CPU. So one function had more time on CPUs
# than its thread ("last_function 882 ms" of 176 ms of all threads).

. "$TOP/tests/e2e/lib.sh"
. "$TOP/tests/e2e/lib/waits.sh"
perf_permitted || skip 'the kernel permits no perf events here'

build ends <<-'SOURCE'
	#include <fcntl.h>
	#include <sys/wait.h>
	#include <unistd.h>

	__attribute__((noinline)) static void last_function(void)
	{
		close(open("ready", O_CREAT | O_WRONLY, 0600));
		while (access("go", F_OK))
			usleep(1000);
		_exit(0);
	}
	int main(void)
	{
		if (!fork())
			last_function();
		wait(0);
		close(open("ended", O_CREAT | O_WRONLY, 0600));
		return 0;
	}
	SOURCE
"$PERFREC" record -q -o data -- ./ends &
record=$!
wait_for 60 test -e ready
collector=$(pgrep -P $record -f perfrec-collect)
stop_process "$collector"
: >go
wait_for 60 test -e ended
# For so long the function would be on a CPU.
sleep 1
kill -CONT "$collector"
wait $record
json data/summary.json '[.functions[].on_cpu_self_ns] | add' >functions
threads=$(json data/summary.json .totals.on_cpu_ns)
[ "$(cat functions)" -le $((threads + threads / 100 + 5000000)) ] ||
	fail "functions were on CPUs for $(cat functions) ns, threads for $threads ns"
