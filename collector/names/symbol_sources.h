/* SPDX-License-Identifier: Apache-2.0
 *
 * symbol_sources - the source lines of those addresses of one file that
 * somebody asked for: a table that perfrec-symbolize fills. One thread at a
 * time.
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
	struct source source; /* count 0: nothing is known about it */
};

struct symbol_sources {
	struct known_source *list; /* by vaddr; release() frees it */
	size_t count;
	uint64_t bytes; /* that it put into the cache */
};

/* Frees the table. What its sources point at stays in the text store. */
void symbol_sources_release(struct symbol_sources *sources);
/* The source of @vaddr, valid until the next symbol_sources_ask(). NULL: nobody
 * asked for it yet. */
const struct source *symbol_sources_find(const struct symbol_sources *sources,
					 uint64_t vaddr);
/*
 * Those of the @count addresses @vaddr that nobody asked for yet, ascending and
 * each once, into *@out, which the caller frees. Returns how many they are, or
 * -ENOMEM.
 */
ssize_t symbol_sources_unknown(const struct symbol_sources *sources,
			       const uint64_t *vaddr, size_t count,
			       uint64_t **out);

/* What symbol_sources_ask() needs to know of the file. */
struct symbol_sources_asker {
	struct text_store *texts; /* keeps names and frames */
	/* What the symbol tables of the file call the function that covers
	 * @vaddr, or NULL: debug information has only the short name of a
	 * static function, and a trace and a profile should call it the same.
	 * The name must live as long as @texts. */
	const char *(*name_at)(void *context, uint64_t vaddr);
	void *context;
};
/*
 * Ask perfrec-symbolize (symbolize_lines()) for the addresses of @request, and
 * keep what it says. An address that it says nothing about counts as asked for,
 * with no source. Returns 0, or -errno with a reason for a person in @why.
 */
int symbol_sources_ask(struct symbol_sources *sources,
		       const struct symbol_sources_asker *asker,
		       const struct symbolize_request *request,
		       char why[SYMBOLIZE_WHY_BYTES]);

#endif
