/* SPDX-License-Identifier: Apache-2.0
 *
 * symbol_sources - where the addresses of one file come from, as far as it
 * was asked: a table that perfrec-symbolize fills. One thread at a time.
 */
#ifndef PERFREC_COLLECTOR_NAMES_SYMBOL_SOURCES_H
#define PERFREC_COLLECTOR_NAMES_SYMBOL_SOURCES_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "collector/names/symbolize.h"
#include "collector/names/symbols.h"

struct known_source {
	uint64_t vaddr;
	struct source source; /* count 0: nothing is known about it */
};

struct symbol_sources {
	struct known_source *list; /* by vaddr; release() frees it */
	size_t count;
	uint64_t bytes; /* that it put into the cache */
};

void symbol_sources_release(struct symbol_sources *sources);
/* NULL: it was never asked for. */
const struct source *symbol_sources_find(const struct symbol_sources *sources,
					 uint64_t vaddr);
/*
 * Those of @vaddr that were never asked for, ascending and each once, into
 * *@out, which the caller frees. Returns how many; -ENOMEM.
 */
ssize_t symbol_sources_unknown(const struct symbol_sources *sources,
			       const uint64_t *vaddr, size_t count,
			       uint64_t **out);
/*
 * Ask perfrec-symbolize (see symbolize_lines()) and keep what it says; what
 * it does not say counts as not known. The functions that have code of their
 * own are called as the symbol tables of @file, whose sources they are, call
 * them. 0, or -errno with a reason in @why.
 */
int symbol_sources_ask(struct symbol_sources *sources, struct symbol_file *file,
		       const struct symbolize_request *request,
		       char why[SYMBOLIZE_WHY_BYTES]);

#endif
