/* SPDX-License-Identifier: Apache-2.0
 *
 * fuzz - definitions for all targets. A target, fuzz_X.c, defines libFuzzer's
 * entry point. It is linked with libFuzzer (make fuzz) or with replay.c, which
 * only runs the files of tests/fuzz/corpus/X.
 */
#ifndef PERFREC_TESTS_FUZZ_FUZZ_H
#define PERFREC_TESTS_FUZZ_FUZZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

/* Runs one input and returns 0. Crashes, abort(), leaked memory and slow inputs
 * are findings. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static inline void fuzz_must(bool holds, const char *what)
{
	if (holds)
		return;
	fprintf(stderr, "fuzz: %s\n", what);
	abort();
}

/* Returns a memory file with @data, which the caller closes. */
static inline int fuzz_file(const void *data, size_t size)
{
	int fd = memfd_create("fuzz", MFD_CLOEXEC);

	fuzz_must(fd >= 0 && write(fd, data, size) == (ssize_t)size,
		  "cannot make a file");
	return fd;
}

#endif
