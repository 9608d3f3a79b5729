/* SPDX-License-Identifier: Apache-2.0
 *
 * seq_names - the interned texts of one packet sequence except names of
 * functions: keys of arguments, names made at run time, and names of sites
 * where no block has names. Each text is written once, up to a limit of texts;
 * later texts are written in full. One thread at a time.
 */
#ifndef PERFREC_COLLECTOR_DRAIN_SEQ_NAMES_H
#define PERFREC_COLLECTOR_DRAIN_SEQ_NAMES_H

#include <stddef.h>
#include <stdint.h>

#include "collector/base/pool.h"

struct budget;
struct bytes;
struct site;

#define SEQ_NAMES_MAX 4096 /* texts of a sequence */

struct seq_names {
	struct pool pool; /* texts, with their budget */
	uint32_t *last_iid; /* of event names on the sequence */
	uint32_t last_key;
};

/* Starts without texts; the caller ends it with seq_names_release(). *@last_iid
 * is the last iid of an event name on the sequence, and is incremented. It and
 * @budget must outlive @names. */
void seq_names_init(struct seq_names *names, struct budget *budget,
		    uint32_t *last_iid);
void seq_names_release(struct seq_names *names);

/* Return the iid of a text of any @bytes bytes, as the key of an argument, or
 * as the name of an event. Append a new text to @interned, fields of
 * InternedData. Return 0 without room. */
uint32_t seq_names_key(struct seq_names *names, const char *text, size_t bytes,
		       struct bytes *interned);
uint32_t seq_names_event(struct seq_names *names, const char *text,
			 size_t bytes, struct bytes *interned);
/* The same for the name of a site, with the flags of encode.h. */
uint32_t seq_names_site(struct seq_names *names, const struct site *site,
			struct bytes *interned);

#endif
