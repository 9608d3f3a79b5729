# SPDX-License-Identifier: Apache-2.0
#
# perfrec ctl stop right after two children have recorded and ended. Each has so
# many mappings that perfrec pauses after it has found the first one, if that lived
# for long enough; the second one is recorded all the same.
. "$TOP/tests/e2e/lib.sh"
build mapped <<'SOURCE'
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#define QUIET __attribute__((no_instrument_function))
__attribute__((noinline)) static void leaf(void)
{
	__asm__ volatile("");
}
QUIET int main(int argc, char **argv)
{
	char *at = mmap(NULL, 40000 * 4096L, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	for (int i = 0; i < 40000; i += 2)
		mprotect(at + i * 4096L, 4096, PROT_NONE);
	leaf();
	for (int i = 0; i < 2; i++) {
		if (fork() == 0) {
			leaf();
			usleep(i ? 0 : 1000 * atoi(argv[1]));
			_exit(0);
		}
		wait(NULL);
	}
	puts("done");
	fflush(stdout);
	while (getchar() != EOF)
		;
	return 0;
}
SOURCE
mkfifo input
for ms in 5 10 20 30 40 60 80 100; do
	rm -rf data out.mapped
	"$PERFREC" record -q --alloc=off --cpu=off -o data ./mapped $ms <input \
		>out.mapped 2>err.mapped &
	recorder=$!
	exec 9>input
	wait_for 60 test -s out.mapped
	run "$PERFREC" ctl -o data stop
	exec 9>&-
	wait $recorder
	expect_eq "$ms ms: status" $? 0
	expect_eq "$ms ms: calls of leaf" "$(json data/summary.json \
		'[.functions[] | select(.name == "leaf") | .calls] | add')" 3
done
