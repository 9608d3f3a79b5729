# SPDX-License-Identifier: Apache-2.0
#
# libseccomp (in man, sshd, systemd's services ...) asks what the kernel knows by
# seccomp() and prctl() calls that must fail. They change nothing: the thread
# goes on recording, and a full ring still waits for the collector.
. "$TOP/tests/e2e/lib.sh"

build probe <<'SOURCE'
#define _GNU_SOURCE
#include <linux/seccomp.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
static void *volatile kept;
__attribute__((noinline)) static void leaf(void)
{
	kept = malloc(10);
	free(kept);
}
int main(void)
{
	unsigned int action = SECCOMP_RET_ERRNO;

	/* As libseccomp does; the last two tell, and set nothing. */
	if (!syscall(SYS_seccomp, SECCOMP_SET_MODE_STRICT, 1, NULL) ||
	    !syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 1, NULL) ||
	    !prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, NULL, 0, 0) ||
	    syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &action) ||
	    prctl(PR_GET_SECCOMP))
		return 77;
	for (int i = 0; i < 200000; i++)
		leaf();
	return 3;
}
SOURCE
run ./probe
[ "$status" != 77 ] || skip 'another seccomp() than expected'

export PERFREC_RING_KB=64
run "$PERFREC" record -q -o data -- ./probe
expect_status 3
expect_eq stderr "$(cat err)" ''
expect_eq spans "$(json data/summary.json .totals.spans)" 200001
expect_eq allocations "$(json data/summary.json .totals.allocs)" 200000
