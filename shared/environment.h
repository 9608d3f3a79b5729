/* SPDX-License-Identifier: Apache-2.0
 *
 * environment - parses the variables that set up the shim
 * (libperfrec_preload(7)). The shim reads them; perfrec record checks them
 * before the program starts. Callable from any context.
 */
#ifndef PERFREC_SHARED_ENVIRONMENT_H
#define PERFREC_SHARED_ENVIRONMENT_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "shared/compiler.h"
#include "shared/ring_shm.h"
#include "shared/wire.h"

#define ENV_CELLS_PER_KB (1024 / sizeof(struct record))

enum env_number {
	ENV_RING_KB,
	ENV_SLOTS,
	ENV_DEADLINE_MS,
	ENV_FUNCTIONS,
	ENV_NUMBERS,
};

/* Variables that are decimal numbers. */
static const struct env_range {
	const char *name;
	uint32_t low, high, fallback;
} env_ranges[ENV_NUMBERS] = {
	[ENV_RING_KB] = { "PERFREC_RING_KB", RING_CELLS_MIN / ENV_CELLS_PER_KB,
			  RING_CELLS_MAX / ENV_CELLS_PER_KB,
			  RING_CELLS_DEFAULT / ENV_CELLS_PER_KB },
	[ENV_SLOTS] = { "PERFREC_SLOTS", 1, SLOT_COUNT_MAX,
			SLOT_COUNT_DEFAULT },
	/* 0: function_numbers() */
	[ENV_FUNCTIONS] = { "PERFREC_FUNCTIONS", 0, FUNCTIONS_MAX, 0 },
	[ENV_DEADLINE_MS] = { "PERFREC_DEADLINE_MS", 1, WIRE_DEADLINE_MS_MAX,
			      WIRE_DEADLINE_MS },
};

#define ENV_RSEQ "PERFREC_RSEQ"
#define ENV_INHERIT "PERFREC_INHERIT"
#define ENV_PATCH_IMAGE "PERFREC_PATCH_IMAGE"
/* perfrec sets this for its own programs, so that they are not recorded when a
 * recorded program starts them. */
#define ENV_NOT_RECORDED "PERFREC_DISABLE=1"

/* Returns true if the value @text is NULL or empty; both count as not set. */
static inline bool env_is_unset(const char *text)
{
	return !text || !text[0];
}

/* Returns true if @text is unset or a number in @range. Always sets *@out to a
 * usable value: the number, clamped to the range, or the fallback if @text is
 * unset or no number. */
static inline bool env_number_parse(const struct env_range *range,
				    const char *text, uint32_t *out)
{
	uint64_t value = 0;

	*out = range->fallback;
	if (env_is_unset(text))
		return true;
	for (; *text; text++) {
		if (*text < '0' || *text > '9')
			return false;
		value = MIN(value * 10 + (uint64_t)(*text - '0'),
			    (uint64_t)UINT32_MAX);
	}
	*out = (uint32_t)MAX(MIN(value, (uint64_t)range->high),
			     (uint64_t)range->low);
	return value == *out;
}

/* The variables with a program's rank: of PMIx, Open MPI, MPICH and its
 * relatives, Slurm. The first one that is set wins. SLURM_PROCID is last
 * because the script of a Slurm job has SLURM_PROCID=0, and all programs that
 * mpirun starts in that script inherit it. */
#define ENV_RANKS                                                \
	{                                                        \
		"PMIX_RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK", \
			"SLURM_PROCID"                           \
	}
#define ENV_RANK_MAX 99999999u

/* Returns the rank in @text plus 1, or 0 if @text is unset or no rank. */
static inline uint32_t env_rank_parse(const char *text)
{
	uint32_t rank = 0;

	if (env_is_unset(text))
		return 0;
	for (; *text; text++) {
		if (*text < '0' || *text > '9')
			return 0;
		rank = rank * 10 + (uint32_t)(*text - '0');
		if (rank > ENV_RANK_MAX)
			return 0;
	}
	return rank + 1;
}

/* Sets *@on by @text, the value of ENV_RSEQ or ENV_INHERIT; unset means on.
 * Returns false if @text is neither "on" nor "off". */
static inline bool env_switch_parse(const char *text, bool *on)
{
	*on = env_is_unset(text) || strcmp(text, "off") != 0;
	return env_is_unset(text) || !*on || strcmp(text, "on") == 0;
}

#endif
