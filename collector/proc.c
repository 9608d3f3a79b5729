/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/proc.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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

/* What comes after "@key" at the start of a line: a process may have put
 * anything into its name, but no newline that is not escaped. */
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

long proc_status_number(const char *status, const char *key)
{
	const char *found = find_key(status, key);

	return found ? atol(found) : -1;
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
