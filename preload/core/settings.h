/* SPDX-License-Identifier: Apache-2.0
 *
 * settings - the environment variables of the shim (libperfrec_preload(7)).
 */
#ifndef PERFREC_PRELOAD_CORE_SETTINGS_H
#define PERFREC_PRELOAD_CORE_SETTINGS_H

#include <stdbool.h>
#include <stdint.h>

struct settings {
	bool disabled; /* PERFREC_DISABLE=1 */
	bool quiet; /* PERFREC_QUIET=1 */
	bool wrong; /* see settings_say_wrong() */
	bool no_rseq; /* PERFREC_RSEQ=off */
	bool no_inherit; /* PERFREC_INHERIT=off */
	uint32_t ring_cells; /* PERFREC_RING_KB, a power of two */
	uint32_t slot_count; /* PERFREC_SLOTS */
	uint32_t functions; /* PERFREC_FUNCTIONS, as in struct wire_hello */
	uint32_t deadline_ms; /* PERFREC_DEADLINE_MS, of hello */
	uint32_t rank; /* as in struct wire_hello */
	const char *socket; /* PERFREC_SOCKET or NULL */
	const char *runtime_dir; /* XDG_RUNTIME_DIR or NULL */
	const char *temp_dir; /* TMPDIR or "/tmp" */
	const char *patch_image; /* PERFREC_PATCH_IMAGE or NULL */
};

/* Fills @settings from @environment (as environ); its strings point there. An
 * invalid value becomes the nearest valid one or the default, and sets
 * settings->wrong. */
void settings_read(char **environment, struct settings *settings);

/* Writes a line on stderr for each invalid variable of @environment, with the
 * valid values and the value used. Only while recording starts. */
void settings_say_wrong(char **environment);

#endif
