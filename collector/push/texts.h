/* SPDX-License-Identifier: Apache-2.0
 *
 * texts - the string table of a message: each text once, called by its number.
 * Number 0 is "". Texts become valid UTF-8, and are cut to TEXT_BYTES_MAX.
 */
#ifndef PERFREC_COLLECTOR_PUSH_TEXTS_H
#define PERFREC_COLLECTOR_PUSH_TEXTS_H

#include <stddef.h>
#include <stdint.h>

#include "collector/base/pool.h"

/* The longest symbol that Pyroscope keeps. */
#define TEXT_BYTES_MAX 65535

struct texts {
	struct pool known; /* the texts, before they were made valid */
	char **list; /* by number: what protobuf-c packs */
	uint32_t count, room;
	int err; /* the first: -ENOMEM */
};

/* Begins a table that has "". texts_release() ends it. */
void texts_init(struct texts *texts);
void texts_release(struct texts *texts);
/* Returns the number of @text; 0 when memory was short, and then texts->err is
 * not 0. */
uint32_t texts_number(struct texts *texts, const char *text);
/* A copy of the first @count bytes of @text as valid UTF-8, cut between
 * characters to @most bytes. The caller frees it. NULL: no memory. */
char *texts_clean(const char *text, size_t count, size_t most);

#endif
