/* SPDX-License-Identifier: Apache-2.0
 *
 * symbol_sources - a table of source lines for the requested addresses of a
 * file, from perfrec-symbolize. One thread at a time.
 */
#ifndef PERFREC_COLLECTOR_NAMES_SYMBOL_SOURCES_H
#define PERFREC_COLLECTOR_NAMES_SYMBOL_SOURCES_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "collector/names/source.h"
#include "collector/names/symbolize.h"

struct text_store;

struct known_source {
	uint64_t vaddr;
	struct source source; /* count 0: unknown */
};

struct symbol_sources {
	struct known_source *list; /* by vaddr */
	size_t count;
	uint64_t bytes;
};

void symbol_sources_release(struct symbol_sources *sources);
/* Valid until the next symbol_sources_ask(). NULL: not requested yet. */
const struct source *symbol_sources_find(const struct symbol_sources *sources,
					 uint64_t vaddr);
/* Lists the addresses not requested yet, sorted and unique. The caller frees
 * *@out. Returns their count or -ENOMEM. */
ssize_t symbol_sources_unknown(const struct symbol_sources *sources,
			       const uint64_t *vaddr, size_t count,
			       uint64_t **out);

struct symbol_sources_asker {
	struct text_store *texts;
	/* Returns the name of @vaddr in the symbol tables, or NULL. Debug
	 * information has only short names of static functions, but traces and
	 * profiles shall agree. Names must outlive @texts. */
	const char *(*name_at)(void *context, uint64_t vaddr);
	void *context;
};
/* Adds the lines of @request (symbolize_lines()). Addresses without an answer
 * count as requested. Returns 0, or -errno with @why. */
int symbol_sources_ask(struct symbol_sources *sources,
		       const struct symbol_sources_asker *asker,
		       const struct symbolize_request *request,
		       char why[SYMBOLIZE_WHY_BYTES]);

#endif
