# SPDX-License-Identifier: Apache-2.0
#
# A program has changed code of its own, and its file was replaced, before
# somebody asks for states: what differs from the file that is mapped is refused
# by name and stays as it is, the rest is changed.
. "$TOP/tests/e2e/lib.sh"
. "$TOP/tests/e2e/lib/daemon.sh"
[ "$(uname -m)" = x86_64 ] || skip 'changes code of x86-64'
build changed <<'SOURCE'
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <poll.h>
#include <unistd.h>
#define QUIET __attribute__((no_instrument_function))
volatile long sum;
__attribute__((noinline, aligned(256))) void own(void) { sum++; }
__attribute__((noinline, aligned(256))) void other(void) { sum++; }
/* Its first call of a hook is a nop from now on. */
QUIET static unsigned char *change(void)
{
	static const unsigned char nop[] = { 0x0f, 0x1f, 0x44, 0, 0 };
	unsigned char *at = (unsigned char *)own;
	char *page = (char *)((uintptr_t)at & -4096ul);

	while (*at != 0xe8)
		at++;
	if (mprotect(page, 8192, PROT_READ | PROT_WRITE | PROT_EXEC))
		return NULL;
	memcpy(at, nop, sizeof(nop));
	mprotect(page, 8192, PROT_READ | PROT_EXEC);
	return at;
}
QUIET int main(void)
{
	struct pollfd input = { .fd = 0, .events = POLLIN };
	unsigned char *at, copy[64];

	other();
	at = change();
	if (!at)
		return 77;
	memcpy(copy, at, sizeof(copy));
	puts("ready");
	fflush(stdout);
	do {
		own();
		other();
	} while (poll(&input, 1, 1) == 0);
	puts(memcmp(copy, at, sizeof(copy)) ? "written" : "as it was");
	return 0;
}
SOURCE
export XDG_RUNTIME_DIR="$PWD"
start_daemon
mkfifo input
preload ./changed <input >out.program 2>err.program &
program=$!
exec 9>input
wait_for 60 test -s out.program
cp "$O/perfrec" another
mv another changed
run_ok "$PERFREC" ctl functions changed --off own --count other
expect_match out '^counted.* other$' \
	'^span .* own  \(stays as it is: its bytes in memory are not those of its file\)$'
exec 9>&-
wait $program
status=$?
[ $status -ne 77 ] || skip 'code cannot be changed here'
expect_eq 'exit status of the program' $status 0
expect_match out.program '^as it was$'
stop_daemon
