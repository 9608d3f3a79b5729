/* SPDX-License-Identifier: Apache-2.0
 *
 * look_victim - the filter of test_look and its victim.
 */
#ifndef PERFREC_TESTS_SHIM_VICTIMS_LOOK_VICTIM_H
#define PERFREC_TESTS_SHIM_VICTIMS_LOOK_VICTIM_H

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#define LOOK_FILTER 8
#define LOOK_AT(member) (uint32_t) offsetof(struct seccomp_data, member)

/* The filter kills a caller who permits @pid to inspect it. */
static inline void look_filter(struct sock_filter out[LOOK_FILTER], int pid)
{
	const struct sock_filter filter[LOOK_FILTER] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, LOOK_AT(nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_prctl, 0, 4),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, LOOK_AT(args[0])),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, PR_SET_PTRACER, 0, 2),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, LOOK_AT(args[1])),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)pid, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
	};

	memcpy(out, filter, sizeof(filter));
}

#endif
