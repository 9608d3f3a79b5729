/* SPDX-License-Identifier: Apache-2.0
 *
 * witness_file - counters of the program witness, right at every moment.
 */
#ifndef PERFREC_TESTS_PROGS_WITNESS_FILE_H
#define PERFREC_TESTS_PROGS_WITNESS_FILE_H

#include <fcntl.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

#define WITNESSES_MAX 16

struct witness {
	uint64_t tid; /* 0: has not run */
	uint64_t ended; /* calls of work() that have returned */
	uint64_t pad[14]; /* two cache lines for each thread */
};

struct witness_file {
	uint64_t pid; /* 0: main() has not been reached */
	uint64_t pad[15];
	struct witness witness[WITNESSES_MAX];
};

/* The file at @path, made when it is not there, or NULL. */
static inline struct witness_file *witness_map(const char *path)
{
	int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	void *address = MAP_FAILED;

	if (fd < 0)
		return NULL;
	if (ftruncate(fd, sizeof(struct witness_file)) == 0)
		address = mmap(NULL, sizeof(struct witness_file),
			       PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	return address == MAP_FAILED ? NULL : address;
}

#endif
