/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/names/vdso.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "collector/names/maps.h"

static pthread_once_t g_once = PTHREAD_ONCE_INIT;
static int g_fd = -1;
static uint64_t g_bytes;

static void copy_vdso(uint64_t start, uint64_t bytes)
{
	int fd = memfd_create("vdso", MFD_CLOEXEC);

	if (fd < 0)
		return;
	if (write(fd, (const void *)(uintptr_t)start, bytes) !=
	    (ssize_t)bytes) {
		close(fd);
		return;
	}
	g_fd = fd;
	g_bytes = bytes;
}

static void find_vdso(void)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	struct maps_line line;
	char *text = NULL;
	size_t size = 0;

	while (maps && getline(&text, &size, maps) > 0)
		if (maps_parse(text, &line) && !strcmp(line.path, "[vdso]"))
			copy_vdso(line.start, line.end - line.start);
	free(text);
	if (maps)
		fclose(maps);
}

int vdso_open(uint64_t bytes)
{
	pthread_once(&g_once, find_vdso);
	if (g_fd < 0 || bytes != g_bytes)
		return -1;
	return fcntl(g_fd, F_DUPFD_CLOEXEC, 0);
}
