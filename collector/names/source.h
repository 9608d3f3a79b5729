/* SPDX-License-Identifier: Apache-2.0
 *
 * source - where an address comes from: the source line of its function, and
 * of each function that the compiler inlined there.
 */
#ifndef PERFREC_COLLECTOR_NAMES_SOURCE_H
#define PERFREC_COLLECTOR_NAMES_SOURCE_H

#include <stddef.h>
#include <stdint.h>

struct source_frame {
	const char *function; /* demangled; lives as long as the file */
	/* The name in the debug information, without and with the file that
	 * declares the function. NULL: no other file can have the name. Equal
	 * texts of one file are one. */
	const char *plain, *alias;
	const char *file; /* as the compiler was told, made absolute by its
			   * folder; lives as long as the file */
	uint32_t line; /* 0: unknown */
	uint32_t start_line; /* where the function begins; 0: unknown */
};

struct source {
	const struct source_frame *frames; /* innermost first; the last is the
					    * function that has code of its
					    * own; live as long as the cache */
	size_t count; /* 0: not known */
};

#endif
