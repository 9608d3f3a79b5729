/* SPDX-License-Identifier: Apache-2.0
 *
 * seq_names - what was interned on one sequence beside the names of functions:
 * keys of arguments, names made at run time, and sites where no block carries
 * names. Each text once, up to a limit; then texts are written as they are.
 * One thread at a time.
 */
#ifndef PERFREC_COLLECTOR_NOTES_SEQ_NAMES_H
#define PERFREC_COLLECTOR_NOTES_SEQ_NAMES_H

#include <stddef.h>
#include <stdint.h>

#include "collector/base/pool.h"

struct budget;
struct bytes;
struct site;

#define SEQ_NAMES_MAX 4096 /* texts on a sequence */

struct seq_names {
	struct pool pool; /* of texts; their budget is its */
	uint32_t *last_iid; /* of event names: the sequence's */
	uint32_t last_key;
};

/* @last_iid, the last iid that an event name has had, and @budget must outlive
 * it. */
void seq_names_init(struct seq_names *names, struct budget *budget,
		    uint32_t *last_iid);
void seq_names_release(struct seq_names *names);

/* The iid of a text, @bytes long, of any bytes; if it is new, what says so is
 * put into @interned, fields of InternedData. 0: there is no room for it. */
uint32_t seq_names_key(struct seq_names *names, const char *text, size_t bytes,
		       struct bytes *interned);
uint32_t seq_names_event(struct seq_names *names, const char *text,
			 size_t bytes, struct bytes *interned);
/* The same for the name of a site, with the flags of encode.h. */
uint32_t seq_names_site(struct seq_names *names, const struct site *site,
			struct bytes *interned);

#endif
