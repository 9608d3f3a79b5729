/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/base/proc.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#define STAT_STATE_FIELD 3 /* proc(5) */
#define STAT_FLAGS_FIELD 9
#define STAT_EXIT_FIELD 52
#define STAT_START_FIELD 22
#define FLAG_EXITING 4u /* PF_EXITING, linux/sched.h */

bool proc_is_ours(void)
{
	char self[16] = "";
	/* The link has our id in the namespace of the mount. */
	ssize_t length = readlink("/proc/self", self, sizeof(self) - 1);

	return length > 0 && atoi(self) == getpid();
}

size_t proc_read(pid_t pid, const char *name, char *buffer, size_t size)
{
	char path[64];
	size_t length = 0;
	ssize_t got = -1;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	while (fd >= 0 && length < size - 1 &&
	       (got = read(fd, buffer + length, size - 1 - length)) > 0)
		length += (size_t)got;
	if (fd >= 0)
		close(fd);
	buffer[length] = '\0';
	return length;
}

uint64_t proc_resident_bytes(pid_t pid)
{
	unsigned long long pages;
	char text[128];

	if (!proc_read(pid, "statm", text, sizeof(text)) ||
	    sscanf(text, "%*u %llu", &pages) != 1)
		return 0;
	return pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

/* Returns the text behind "@key" at the start of a line, or NULL. A process
 * name may contain anything, but its newlines are escaped. */
static const char *find_key(const char *status, const char *key)
{
	size_t length = strlen(key);

	while (status && strncmp(status, key, length) != 0) {
		status = strchr(status, '\n');
		if (status)
			status++;
	}
	return status ? status + length : NULL;
}

int64_t proc_boottime_offset_ns(void)
{
	long long seconds, ns;
	int64_t offset_ns = 0;
	FILE *file = fopen("/proc/self/timens_offsets", "re");
	char name[16];

	/* The file describes children; this process has the same offsets. */
	while (file && fscanf(file, "%15s %lld %lld", name, &seconds, &ns) == 3)
		if (strcmp(name, "boottime") == 0)
			offset_ns = seconds * 1000000000 + ns;
	if (file)
		fclose(file);
	return offset_ns;
}

bool proc_has_other_clocks(pid_t pid)
{
	struct stat own, other;
	char path[48];

	snprintf(path, sizeof(path), "/proc/%d/ns/time", (int)pid);
	return stat("/proc/self/ns/time", &own) == 0 &&
	       stat(path, &other) == 0 && own.st_ino != other.st_ino;
}

long proc_status_number(const char *status, const char *key)
{
	const char *found = find_key(status, key);

	return found ? atol(found) : -1;
}

/* Returns true if the four ids behind @key (real, effective, saved, of files)
 * are equal. Sets *@id to the first. */
static bool has_one_id(const char *status, const char *key, unsigned int *id)
{
	const char *found = find_key(status, key);
	unsigned int effective, saved, of_files;

	return found &&
	       sscanf(found, "%u %u %u %u", id, &effective, &saved,
		      &of_files) == 4 &&
	       *id == effective && *id == saved && *id == of_files;
}

bool proc_is_of_user(pid_t pid, uid_t uid)
{
	char status[PROC_STATUS_BYTES];
	unsigned int user, group;

	if (!uid)
		return true;
	proc_read(pid, "status", status, sizeof(status));
	return has_one_id(status, "Uid:", &user) && user == uid &&
	       has_one_id(status, "Gid:", &group);
}

/* A name, the second field, may contain blanks and brackets. */
const char *proc_stat_field(const char *stat, int number)
{
	const char *at = strrchr(stat, ')');

	for (int i = 2; at && i < number; i++) {
		at = strchr(at, ' ');
		if (at)
			at++;
	}
	return at ? at : "";
}

/* Returns true if thread @tid of @pid is dying or gone. */
static bool is_dying(pid_t pid, int tid)
{
	char name[64], text[PROC_STATUS_BYTES];
	const char *pending;

	snprintf(name, sizeof(name), "task/%d/stat", tid);
	if (!proc_read(pid, name, text, sizeof(text)) ||
	    strtoul(proc_stat_field(text, STAT_FLAGS_FIELD), NULL, 10) &
		    FLAG_EXITING)
		return true;
	/* When a process ends, the kernel sends SIGKILL to each of its
	 * threads. */
	snprintf(name, sizeof(name), "task/%d/status", tid);
	proc_read(pid, name, text, sizeof(text));
	pending = find_key(text, "SigPnd:");
	return pending && strtoull(pending, NULL, 16) & 1ull << (SIGKILL - 1);
}

bool proc_is_dying(pid_t pid)
{
	const struct dirent *entry;
	bool all = true;
	char path[64];
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	dir = opendir(path);
	while (dir && all && (entry = readdir(dir)))
		if (entry->d_name[0] != '.')
			all = is_dying(pid, atoi(entry->d_name));
	if (dir)
		closedir(dir);
	return all;
}

uint64_t proc_began(pid_t pid)
{
	char text[PROC_STAT_BYTES];

	errno = 0;
	if (!proc_read(pid, "stat", text, sizeof(text)))
		return errno == EMFILE || errno == ENFILE ? PROC_UNKNOWN : 0;
	if (strchr("ZX", *proc_stat_field(text, STAT_STATE_FIELD)))
		return 0;
	return strtoull(proc_stat_field(text, STAT_START_FIELD), NULL, 10);
}

/* The first version of struct pidfd_info, <linux/pidfd.h>. */
struct pidfd_state {
	uint64_t mask, cgroup;
	uint32_t ids[11];
	int32_t exit_code;
};

#define PIDFD_STATE _IOWR(0xff, 11, struct pidfd_state) /* PIDFD_GET_INFO */
#define PIDFD_STATE_EXIT (UINT64_C(1) << 3) /* PIDFD_INFO_EXIT */

static int pidfd_wait_status(int pidfd)
{
	struct pidfd_state state = { .mask = PIDFD_STATE_EXIT };

	if (pidfd < 0 || ioctl(pidfd, PIDFD_STATE, &state) < 0 ||
	    !(state.mask & PIDFD_STATE_EXIT))
		return -1;
	return state.exit_code;
}

int proc_wait_status(pid_t pid, int pidfd)
{
	char text[PROC_STAT_BYTES];
	int status = pidfd_wait_status(pidfd);

	if (status < 0 && proc_read(pid, "stat", text, sizeof(text)) &&
	    *proc_stat_field(text, STAT_STATE_FIELD) == 'Z')
		status = (int)strtol(proc_stat_field(text, STAT_EXIT_FIELD),
				     NULL, 10);
	/* The parent may have waited for it meanwhile. */
	return status < 0 ? pidfd_wait_status(pidfd) : status;
}

int proc_status_inner(const char *status, pid_t *inner)
{
	const char *at = find_key(status, "NSpid:");
	int count = 0;
	char *end;

	while (at && *at == '\t') {
		long number = strtol(at + 1, &end, 10);

		if (end == at + 1)
			break;
		*inner = (pid_t)number;
		count++;
		at = end;
	}
	return count;
}
