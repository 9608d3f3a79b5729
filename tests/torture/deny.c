/* SPDX-License-Identifier: Apache-2.0
 *
 * deny NUMBER ERRNO COMMAND... - runs a command and fails one of its system
 * calls. mmap fails only for shared memory; programs need private mappings.
 */
#include <err.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The lower half of argument I on little-endian machines. */
#define LOAD(offset) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offset)
#define LOAD_ARGUMENT(i) LOAD(offsetof(struct seccomp_data, args[i]))
#define UNLESS_EQUAL(value, skip) \
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, 0, skip)
#define RETURN(value) BPF_STMT(BPF_RET | BPF_K, value)

int main(int argc, char **argv)
{
	uint32_t number = argc > 3 ? (uint32_t)atoi(argv[1]) : 0;
	uint32_t error = argc > 3 ? (uint32_t)atoi(argv[2]) : 0;
	struct sock_filter filter[] = {
		LOAD(offsetof(struct seccomp_data, nr)),
		UNLESS_EQUAL(SYS_mmap, 2),
		LOAD_ARGUMENT(3),
		BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, MAP_SHARED, 0, 3),
		LOAD(offsetof(struct seccomp_data, nr)),
		UNLESS_EQUAL(number, 1),
		RETURN(SECCOMP_RET_ERRNO | error),
		RETURN(SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {
		.len = sizeof(filter) / sizeof(filter[0]),
		.filter = filter,
	};

	if (argc < 4)
		errx(2, "usage: deny NUMBER ERRNO COMMAND...");
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program))
		err(77, "seccomp");
	execvp(argv[3], argv + 3);
	err(127, "%s", argv[3]);
}
