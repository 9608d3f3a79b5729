/* SPDX-License-Identifier: Apache-2.0
 *
 * seq_names - the texts that were interned on one packet sequence, beside the
 * names of functions: keys of arguments, names made at run time, and names of
 * sites where no block carries names. Each text is written once, up to a limit
 * of texts; after that texts are written in full. One thread at a time.
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

/* Begin with no text; seq_names_release() ends it. *@last_iid is the last iid
 * that the name of an event has on the sequence, which is counted up. It and
 * @budget must outlive @names. */
void seq_names_init(struct seq_names *names, struct budget *budget,
		    uint32_t *last_iid);
void seq_names_release(struct seq_names *names);

/* The iid of a text of @bytes bytes, which may be any: as the key of an
 * argument, or as the name of an event. If the text is new, it is appended to
 * @interned, fields of InternedData. 0: there is no room for it. */
uint32_t seq_names_key(struct seq_names *names, const char *text, size_t bytes,
		       struct bytes *interned);
uint32_t seq_names_event(struct seq_names *names, const char *text,
			 size_t bytes, struct bytes *interned);
/* The same for the name of a site, with the flags of encode.h. */
uint32_t seq_names_site(struct seq_names *names, const struct site *site,
			struct bytes *interned);

#endif
