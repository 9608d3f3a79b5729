/* SPDX-License-Identifier: Apache-2.0
 *
 * settings - what the environment asks of the shim (libperfrec_preload(7)).
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
	uint32_t deadline_ms; /* PERFREC_DEADLINE_MS: for the hello */
	const char *socket; /* PERFREC_SOCKET or NULL */
	const char *runtime_dir; /* XDG_RUNTIME_DIR or NULL */
	const char *temp_dir; /* TMPDIR or "/tmp" */
};

/* Fill @settings from @environment (as environ). Its strings point into the
 * environment. What is wrong is replaced by what is nearest, or by the default,
 * and settings->wrong is set. */
void settings_read(char **environment, struct settings *settings);

/* Say on stderr, in a line for each, which variables of @environment are wrong,
 * what would be right, and what is used instead. While recording starts. */
void settings_say_wrong(char **environment);

#endif
