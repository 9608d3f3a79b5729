/* SPDX-License-Identifier: Apache-2.0
 *
 * source - source lines of an address: of its function, and of each function
 * inlined there.
 */
#ifndef PERFREC_COLLECTOR_NAMES_SOURCE_H
#define PERFREC_COLLECTOR_NAMES_SOURCE_H

#include <stddef.h>
#include <stdint.h>

struct source_frame {
	const char *function; /* demangled */
	/* The name in the debug information, without and with the declaring
	 * file; NULL if the name is unique. Interned per file. */
	const char *plain, *alias;
	const char *file; /* absolute */
	uint32_t line; /* 0: unknown */
	uint32_t start_line; /* of the function; 0: unknown */
};

struct source {
	const struct source_frame *frames; /* innermost first, the function's
					    * own last */
	size_t count; /* 0: unknown */
};

#endif
