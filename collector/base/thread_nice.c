/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/base/thread_nice.h"

#include <errno.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

static __thread int g_raised;

void thread_nice_raise(int nice)
{
	id_t tid;

	if (nice <= g_raised)
		return;
	g_raised = nice;
	tid = (id_t)syscall(SYS_gettid);
	if (thread_nice_of((pid_t)tid) < nice)
		(void)setpriority(PRIO_PROCESS, tid, nice);
}

int thread_nice(void)
{
	return g_raised;
}

int thread_nice_of(pid_t pid)
{
	int nice;

	/* -1 is also a valid nice value. */
	errno = 0;
	nice = getpriority(PRIO_PROCESS, (id_t)pid);
	return nice == -1 && errno ? 0 : nice;
}
