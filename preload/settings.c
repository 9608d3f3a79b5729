/* SPDX-License-Identifier: Apache-2.0 */
#include "preload/settings.h"

#include <stddef.h>
#include <string.h>

#include "shared/compiler.h"
#include "shared/ring_shm.h"
#include "shared/wire.h"

/* Not getenv(): a program may have replaced it, and this runs before main. */
static const char *find(char **environment, const char *name)
{
	size_t length = strlen(name);

	for (; *environment; environment++)
		if (!strncmp(*environment, name, length) &&
		    (*environment)[length] == '=')
			return *environment + length + 1;
	return NULL;
}

static bool is_set(char **environment, const char *name)
{
	const char *value = find(environment, name);

	return value && value[0] && strcmp(value, "0");
}

/* A decimal number within @low and @high; @fallback when there is none. */
static uint32_t number(char **environment, const char *name, uint32_t low,
		       uint32_t high, uint32_t fallback)
{
	const char *digit = find(environment, name);
	uint64_t value = 0;

	if (!digit || !*digit)
		return fallback;
	for (; *digit; digit++) {
		if (*digit < '0' || *digit > '9')
			return fallback;
		value = MIN(value * 10 + (uint64_t)(*digit - '0'),
			    (uint64_t)UINT32_MAX);
	}
	return (uint32_t)MAX(MIN(value, (uint64_t)high), (uint64_t)low);
}

static uint32_t round_down_to_power_of_two(uint32_t x)
{
	return 1u << (31 - __builtin_clz(x));
}

void settings_read(char **environment, struct settings *settings)
{
	const uint32_t cells_per_kb = 1024 / sizeof(struct record);
	const char *rseq = find(environment, "PERFREC_RSEQ");
	uint32_t kb = number(environment, "PERFREC_RING_KB",
			     RING_CELLS_MIN / cells_per_kb,
			     RING_CELLS_MAX / cells_per_kb,
			     RING_CELLS_DEFAULT / cells_per_kb);

	settings->disabled = is_set(environment, "PERFREC_DISABLE");
	settings->quiet = is_set(environment, "PERFREC_QUIET");
	settings->no_rseq = rseq && !strcmp(rseq, "off");
	settings->ring_cells = round_down_to_power_of_two(kb * cells_per_kb);
	settings->slot_count = number(environment, "PERFREC_SLOTS", 1,
				      SLOT_COUNT_MAX, SLOT_COUNT_DEFAULT);
	settings->deadline_ms = number(environment, "PERFREC_DEADLINE_MS", 1,
				       WIRE_DEADLINE_MS_MAX, WIRE_DEADLINE_MS);
	settings->socket = find(environment, "PERFREC_SOCKET");
	if (settings->socket && !settings->socket[0])
		settings->socket = NULL;
	settings->runtime_dir = find(environment, "XDG_RUNTIME_DIR");
	settings->temp_dir = find(environment, "TMPDIR");
	if (!settings->temp_dir || !settings->temp_dir[0])
		settings->temp_dir = "/tmp";
}
