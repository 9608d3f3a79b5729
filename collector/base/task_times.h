/* SPDX-License-Identifier: Apache-2.0
 *
 * task_times - the kernel's counters of a thread of any process: time on and
 * off CPUs, user and system time, page faults, since the start of the thread.
 * An exec does not reset them. Any thread.
 */
#ifndef PERFREC_COLLECTOR_BASE_TASK_TIMES_H
#define PERFREC_COLLECTOR_BASE_TASK_TIMES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct task_times {
	/* From schedstat, in ns. on_cpu_ns of a running thread may lack the
	 * time since the last tick. */
	uint64_t on_cpu_ns;
	uint64_t delay_ns; /* in a run queue; with has_delay */
	/* From stat, in ticks of 10 ms. The kernel splits on_cpu_ns into the
	 * two. */
	uint64_t user_ns, system_ns;
	uint64_t minor_faults, major_faults;
	char state; /* as in proc(5): R, S, D, T, t, Z, X ... */
	bool has_delay; /* false: this kernel does not count it */
};

/*
 * Reads the times of thread @tid of process @pid, ids of our namespace. Returns
 * 0, or -errno with *@out all 0: -ESRCH without such a thread, -EMFILE or
 * -ENFILE without a free descriptor, -EBADMSG for malformed files. Opens and
 * reads two files: about 20 us.
 */
int task_times_read(pid_t pid, pid_t tid, struct task_times *out);

/* Parse @text, the NUL-terminated text of schedstat or stat, for
 * task_times_read(). Return 0, or -EBADMSG with *@out unchanged. From schedstat
 * alone, a thread that never ran has no delay. */
int task_times_parse_schedstat(const char *text, struct task_times *out);
int task_times_parse_stat(const char *text, struct task_times *out);

#endif
