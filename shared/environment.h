/* SPDX-License-Identifier: Apache-2.0
 *
 * environment - the variables that set up the shim and may be wrong
 * (libperfrec_preload(7)). The shim reads them, and perfrec record checks them
 * before the program starts. Any context.
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
	[ENV_DEADLINE_MS] = { "PERFREC_DEADLINE_MS", 1, WIRE_DEADLINE_MS_MAX,
			      WIRE_DEADLINE_MS },
};

#define ENV_RSEQ "PERFREC_RSEQ"
#define ENV_INHERIT "PERFREC_INHERIT"
/* In the environment of perfrec's own programs: they record nothing, even if
 * who starts them is recorded. */
#define ENV_NOT_RECORDED "PERFREC_DISABLE=1"

/* Whether the value @text is NULL or empty: then the variable counts as not
 * set. */
static inline bool env_is_unset(const char *text)
{
	return !text || !text[0];
}

/* Whether @text is a number in @range, or unset. *@out becomes what to use in
 * any case: the number, or the nearest one in the range; the fallback if @text
 * is no number or unset. */
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

/* The same for ENV_RSEQ and ENV_INHERIT, which are on or off. */
static inline bool env_switch_parse(const char *text, bool *on)
{
	*on = env_is_unset(text) || strcmp(text, "off") != 0;
	return env_is_unset(text) || !*on || strcmp(text, "on") == 0;
}

#endif
