/* SPDX-License-Identifier: Apache-2.0
 *
 * scratch - a private folder for suites that compile programs, with helpers to
 * build and run them.
 */
#ifndef PERFREC_TESTS_UNIT_SCRATCH_H
#define PERFREC_TESTS_UNIT_SCRATCH_H

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "shared/compiler.h"

static char g_scratch[PATH_MAX];

/* ck_assert works only inside tests; fixtures need this. */
static inline void scratch_must(int holds, const char *what)
{
	if (holds)
		return;
	fprintf(stderr, "scratch: %s: %m\n", what);
	abort();
}

/* Makes the folder and changes to it, so tests use relative paths. */
static inline void scratch_enter(void)
{
	const char *temp = getenv("TMPDIR");
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/perfrec-test.XXXXXX",
		 temp ? temp : "/tmp");
	scratch_must(mkdtemp(path) && realpath(path, g_scratch) &&
			     !chmod(g_scratch, 0755) && !chdir(g_scratch),
		     path);
}

static inline void ATTR_PRINTF(1, 2) scratch_run(const char *format, ...)
{
	char command[4 * PATH_MAX];
	va_list args;

	va_start(args, format);
	vsnprintf(command, sizeof(command), format, args);
	va_end(args);
	scratch_must(system(command) == 0, command);
}

static inline void scratch_write(const char *path, const void *bytes,
				 size_t size)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0755);

	scratch_must(fd >= 0 && write(fd, bytes, size) == (ssize_t)size, path);
	close(fd);
}

/* Returns up to 16 kB of a file in a static buffer. */
static inline const char *scratch_read(const char *path)
{
	static char text[1 << 14];
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t size = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);

	scratch_must(size >= 0, path);
	close(fd);
	text[size] = '\0';
	return text;
}

static inline int scratch_descriptors(void)
{
	DIR *folder = opendir("/proc/self/fd");
	int count = -3; /* ".", ".." and the folder itself */

	scratch_must(folder != NULL, "/proc/self/fd");
	while (readdir(folder))
		count++;
	closedir(folder);
	return count;
}

/* Compiles @source with @compiler ("gcc -O0 ...") to @output. */
static inline void scratch_compile(const char *compiler, const char *language,
				   const char *source, const char *output)
{
	char file[PATH_MAX];

	snprintf(file, sizeof(file), "%s.%s", output, language);
	scratch_write(file, source, strlen(source));
	scratch_run("%s -o %s %s", compiler, output, file);
}

static inline void scratch_leave(void)
{
	scratch_run("rm -rf '%s'", g_scratch);
}

#endif
