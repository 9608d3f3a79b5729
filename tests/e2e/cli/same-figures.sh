# SPDX-License-Identifier: Apache-2.0
#
# Each figure of the summary names its scope: spans belong to the same threads
# and processes with any other data, memory of several processes does not look
# like that of one, and the peak equals that of the heap view.
. "$TOP/tests/e2e/lib.sh"

# A shell, which is not instrumented, runs it twice: four processes with spans
# (two parents and two children), and a thread in each parent.
build forks -pthread <<'SOURCE'
#include <pthread.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
__attribute__((noinline)) static void *leaf(void *bytes)
{
	return malloc((size_t)bytes);
}
__attribute__((no_instrument_function)) int main(void)
{
	pthread_t thread;

	pthread_create(&thread, NULL, leaf, (void *)1000);
	pthread_join(thread, NULL);
	leaf((void *)100000);
	if (fork() == 0) {
		leaf((void *)300000);
		_exit(0);
	}
	wait(NULL);
	return 0;
}
SOURCE

for alloc in off auto sampled exact; do
	for cpu in off 99 99,signal; do
		run_ok "$PERFREC" record --alloc $alloc --cpu $cpu -o data \
			sh -c './forks; ./forks; true'
		expect_match err \
			'^  recorded   6 calls of 6 threads in 4 processes$'
	done
done

# Exact, and of four processes: with their own peaks in all.
run "$PERFREC" record --alloc exact --cpu off -o data sh -c './forks; ./forks'
expect_match err '^  allocated .*, in [0-9]+ processes; not freed: '
expect_match err '^  at peak .* each process at its own; at most .* in one: forks'
peak=$(sed -n 's/^  at peak    \([0-9.]* [KM]iB\),.*/\1/p' err)
run "$PERFREC" report --view heap data
expect_match out "at peak $peak,"

# A static program is said to be one, not to have ended too soon.
echo 'int main(void) { return 0; }' >static.c
if ${CC:-gcc} -static -o static static.c 2>/dev/null; then
	run "$PERFREC" record --cpu off -o data sh -c './static; ./static'
	expect_no_match err 'before there was anything to sample'
	expect_match err 'linked statically .*are not recorded'
fi
