/* SPDX-License-Identifier: Apache-2.0
 *
 * perf_wakings - tracefs has the number of the tracepoint, and the format of its
 * data. Where it is not mounted, a mount that nobody else sees does as well.
 */
#include "collector/base/perf_wakings.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <time.h>
#include <unistd.h>

#include "collector/base/perf_open.h"

#define EVENT "events/sched/sched_waking"
#define TEXT_BYTES 4096
/* The first namespaces have constant inodes (include/uapi/linux/nsfs.h). */
#define FIRST_PID_NAMESPACE "pid:[4026531836]"
#define FIRST_TIME_NAMESPACE "time:[4026531834]"

/* Returns a descriptor of an own mount of tracefs, or -errno. */
static int mount_tracefs(void)
{
	int context = fsopen("tracefs", FSOPEN_CLOEXEC);
	int fd = -1;

	if (context < 0)
		return -errno;
	if (!fsconfig(context, FSCONFIG_CMD_CREATE, NULL, NULL, 0))
		fd = fsmount(context, FSMOUNT_CLOEXEC, 0);
	if (fd < 0)
		fd = -errno;
	close(context);
	return fd;
}

static int read_tracefs(int dir, const char *name, char text[TEXT_BYTES])
{
	int fd = openat(dir, name, O_RDONLY | O_CLOEXEC);
	ssize_t bytes;
	int err;

	if (fd < 0)
		return -errno;
	bytes = read(fd, text, TEXT_BYTES - 1);
	err = bytes < 0 ? -errno : 0;
	text[bytes < 0 ? 0 : bytes] = '\0';
	close(fd);
	return err;
}

static bool has_known_format(const char *format)
{
	return strstr(format, "field:unsigned char common_flags;\toffset:2;") &&
	       strstr(format, "field:pid_t pid;\toffset:24;\tsize:4;");
}

static int read_tracepoint(__u64 *id)
{
	char text[TEXT_BYTES];
	int dir = open("/sys/kernel/tracing", O_PATH | O_CLOEXEC);
	int err = dir < 0 ? -errno : read_tracefs(dir, EVENT "/id", text);

	if (err == -ENOENT) {
		if (dir >= 0)
			close(dir);
		dir = mount_tracefs();
		err = dir < 0 ? dir : read_tracefs(dir, EVENT "/id", text);
	}
	if (!err) {
		*id = strtoull(text, NULL, 10);
		err = read_tracefs(dir, EVENT "/format", text);
	}
	if (dir >= 0)
		close(dir);
	if (!err && !has_known_format(text))
		err = -EOPNOTSUPP;
	return err;
}

static bool is_in_namespace(const char *path, const char *name)
{
	char space[32] = "";

	return readlink(path, space, sizeof(space) - 1) > 0 &&
	       !strcmp(space, name);
}

int perf_wakings_attributes(struct perf_event_attr *attr)
{
	*attr = (struct perf_event_attr){
		.type = PERF_TYPE_TRACEPOINT,
		.size = sizeof(*attr),
		.sample_period = 1,
		.sample_type = PERF_WAKING,
		.read_format = PERF_FORMAT_ID,
		.disabled = 1,
		.sample_id_all = 1,
		.use_clockid = 1,
		/* BOOTTIME is not permitted: it cannot be read in an NMI. */
		.clockid = CLOCK_MONOTONIC,
	};
	if (!is_in_namespace("/proc/self/ns/pid", FIRST_PID_NAMESPACE) ||
	    !is_in_namespace("/proc/self/ns/time", FIRST_TIME_NAMESPACE))
		return -EXDEV;
	return read_tracepoint(&attr->config);
}

const char *perf_wakings_refusal(int err)
{
	switch (err) {
	case -EACCES:
	case -EPERM:
		return "the kernel does not permit its tracepoints here: run "
		       "as root (with CAP_PERFMON and CAP_SYS_ADMIN), or leave "
		       "the option out";
	case -EXDEV:
		return "not inside of a pid or time namespace, such as a "
		       "container, because the kernel has other ids and times: "
		       "record from outside, or leave the option out";
	case -EOPNOTSUPP:
		return "this kernel's sched_waking has another format: leave "
		       "the option out";
	case -ENOENT:
	case -ENODEV:
		return "the kernel has no tracepoint sched_waking: leave the "
		       "option out";
	default:
		return strerror(-err);
	}
}
