/* SPDX-License-Identifier: Apache-2.0
 *
 * find_symbolize - finds perfrec-symbolize from a test program: it is two
 * folders above, in the build directory.
 */
#ifndef PERFREC_TESTS_FIND_SYMBOLIZE_H
#define PERFREC_TESTS_FIND_SYMBOLIZE_H

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* @path has PATH_MAX + 32 bytes. Exits if there is no such program. */
static inline void find_symbolize(char *path)
{
	ssize_t length = readlink("/proc/self/exe", path, PATH_MAX);

	if (length > 0) {
		path[length] = '\0';
		strcpy(strrchr(path, '/'), "/../../perfrec-symbolize");
	}
	if (length <= 0 || access(path, X_OK) != 0) {
		perror("perfrec-symbolize");
		exit(1);
	}
}

#endif
