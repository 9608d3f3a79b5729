/* SPDX-License-Identifier: Apache-2.0
 *
 * changed - files as they are, and changed copies of them: FUZZ_ROUNDS (20) of
 * each, from FUZZ_SEED (1) on.
 */
#ifndef PERFREC_TESTS_FUZZ_CHANGED_H
#define PERFREC_TESTS_FUZZ_CHANGED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHANGED_BYTES_MAX (1 << 20) /* of a file; the rest is left out */

struct changed_plan {
	void (*use)(const unsigned char *bytes, size_t size);
	size_t head; /* in every second copy only these change; 0: no such */
	bool cut; /* copies end anywhere */
};

static inline unsigned int changed_number(const char *variable,
					  unsigned int usual)
{
	const char *value = getenv(variable);

	return value ? (unsigned int)strtoul(value, NULL, 10) : usual;
}

/* A few bytes: to numbers that are special more often than to others. */
static inline void changed_change(unsigned char *bytes, size_t size,
				  unsigned int *seed)
{
	static const unsigned char special[] = { 0, 1, 0x7f, 0x80, 0xff };
	int count = 1 + rand_r(seed) % 8;

	while (count--) {
		size_t at = (size_t)rand_r(seed) % size;
		unsigned int kind = (unsigned int)rand_r(seed) % 8;

		bytes[at] = kind < sizeof(special)
				    ? special[kind]
				    : (unsigned char)rand_r(seed);
	}
}

static inline void changed_file(const char *path,
				const struct changed_plan *plan)
{
	static unsigned char bytes[CHANGED_BYTES_MAX], copy[CHANGED_BYTES_MAX];
	unsigned int seed = changed_number("FUZZ_SEED", 1);
	unsigned int rounds = changed_number("FUZZ_ROUNDS", 20);
	FILE *file = fopen(path, "re");
	size_t size;

	if (!file) {
		perror(path);
		exit(1);
	}
	size = fread(bytes, 1, sizeof(bytes), file);
	fclose(file);
	plan->use(bytes, size);
	for (unsigned int i = 0; size && i < rounds; i++) {
		bool head = i % 2 == 0 && plan->head && plan->head < size;

		memcpy(copy, bytes, size);
		changed_change(copy, head ? plan->head : size, &seed);
		plan->use(copy, plan->cut ? (size_t)rand_r(&seed) % (size + 1)
					  : size);
	}
}

/* Each of the files that are named on the command line. */
static inline void changed_files(int argc, char **argv,
				 const struct changed_plan *plan)
{
	for (int i = 1; i < argc; i++)
		changed_file(argv[i], plan);
}

#endif
