/* SPDX-License-Identifier: Apache-2.0
 *
 * task_times - what the kernel has counted for a thread, of any process: time
 * on a CPU and time without one, user and system time, page faults. Since the
 * thread began: an exec changes nothing. Any thread.
 */
#ifndef PERFREC_COLLECTOR_BASE_TASK_TIMES_H
#define PERFREC_COLLECTOR_BASE_TASK_TIMES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct task_times {
	/* Of schedstat, to the ns. Of a thread that runs just now the first may
	 * lack what has gone by since the last tick. */
	uint64_t on_cpu_ns;
	uint64_t delay_ns; /* runnable, but on no CPU; with has_delay */
	/* Of stat: cut to ticks of 10 ms. The kernel divides on_cpu_ns into the
	 * two. */
	uint64_t user_ns, system_ns;
	uint64_t minor_faults, major_faults;
	char state; /* as in proc(5): R, S, D, T, t, Z, X ... */
	bool has_delay; /* false: this kernel does not count it */
};

/*
 * Sets *@out to the times of thread @tid of process @pid, both as we call them.
 * Returns 0, or -errno: -ESRCH if there is no such thread, -EMFILE or -ENFILE
 * if there is no descriptor to look, -EBADMSG if /proc says what it never does;
 * then *@out is all 0. Opens and reads two files: about 20 us.
 */
int task_times_read(pid_t pid, pid_t tid, struct task_times *out);

/* The parts of it. Take in @text, ended by a NUL, of a file schedstat or stat.
 * 0, or -EBADMSG; then *@out is as it was. A thread that never ran has no delay
 * by the first one alone. */
int task_times_parse_schedstat(const char *text, struct task_times *out);
int task_times_parse_stat(const char *text, struct task_times *out);

#endif
