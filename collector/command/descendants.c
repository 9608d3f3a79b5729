/* SPDX-License-Identifier: Apache-2.0
 *
 * The kernel's list of children, /proc/PID/task/PID/children, may lack entries
 * if other children are reaped during the read. Only perfrec's single thread
 * reaps them, by wait(2), so the list is complete.
 */
#include "collector/command/descendants.h"

#include <errno.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "collector/base/log.h"

static FILE *open_children(void)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/task/%d/children",
		 (int)getpid());
	return fopen(path, "re");
}

int descendants_adopt(void)
{
	FILE *children = open_children();
	int err = children ? 0 : -errno;

	if (children)
		fclose(children);
	if (!err && prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) < 0)
		err = -errno;
	if (err)
		log_err("cannot follow descendants (--follow): this kernel "
			"does "
			"not list the children of a process: %m");
	return err;
}

size_t descendants_count(pid_t except)
{
	FILE *children = open_children();
	size_t count = 0;
	int pid;

	while (children && fscanf(children, "%d", &pid) == 1)
		count += pid != except;
	if (children)
		fclose(children);
	return count;
}
