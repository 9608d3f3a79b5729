/* SPDX-License-Identifier: Apache-2.0
 *
 * fuzz - what all targets share. A target, fuzz_X.c, defines the entry point of
 * libFuzzer. It is linked with libFuzzer (make fuzz), or with replay.c, which
 * runs the files of tests/fuzz/corpus/X only.
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

/* One input. Returns 0. A crash, or an abort(), is a finding; so are leaked
 * memory and an input that takes long. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static inline void fuzz_must(bool holds, const char *what)
{
	if (holds)
		return;
	fprintf(stderr, "fuzz: %s\n", what);
	abort();
}

/* A file in memory with the @size bytes of @data, which the caller closes. */
static inline int fuzz_file(const void *data, size_t size)
{
	int fd = memfd_create("fuzz", MFD_CLOEXEC);

	fuzz_must(fd >= 0 && write(fd, data, size) == (ssize_t)size,
		  "cannot make a file");
	return fd;
}

#endif
