/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/drain/seq_names.h"

#include <stdlib.h>
#include <string.h>

#include "collector/base/budget.h"
#include "collector/base/bytes.h"
#include "collector/base/pool.h"
#include "collector/names/sites.h"
#include "collector/trace/encode.h"
#include "collector/trace/fields.h"
#include "shared/hash.h"

/* The messages of a category, of the name of an event and of the name of an
 * argument have the same fields. */
#define TAG_IID TAG_EVENT_NAME_IID
#define TAG_NAME TAG_EVENT_NAME_NAME
_Static_assert(TAG_IID == (int)TAG_EVENT_CATEGORY_IID &&
		       TAG_NAME == (int)TAG_EVENT_CATEGORY_NAME &&
		       TAG_NAME == (int)TAG_DEBUG_ANNOTATION_NAME_NAME,
	       "say_name() writes all three");

enum kind { KIND_KEY, KIND_EVENT, KIND_SITE };

struct seq_name {
	const char *text; /* owned by the table */
	uint32_t bytes, kind;
	uint32_t iid; /* 0: new */
};

static uint64_t hash_seq_name(const void *item)
{
	const struct seq_name *name = item;

	return hash_fold(
		hash_words(HASH_START + name->kind, name->text, name->bytes));
}

static bool is_same_seq_name(const void *a, const void *b)
{
	const struct seq_name *x = a, *y = b;

	return x->kind == y->kind && x->bytes == y->bytes &&
	       !memcmp(x->text, y->text, x->bytes);
}

static const struct pool_key name_key = { hash_seq_name, is_same_seq_name };

static struct seq_name *seq_name_at(const struct seq_names *names,
				    uint32_t number)
{
	return (struct seq_name *)names->pool.items + number;
}

void seq_names_init(struct seq_names *names, struct budget *budget,
		    uint32_t *last_iid)
{
	*names = (struct seq_names){ .last_iid = last_iid,
				     .last_key = ENCODE_KEYS };
	pool_init_key(&names->pool, budget, sizeof(struct seq_name), &name_key);
}

void seq_names_release(struct seq_names *names)
{
	for (uint32_t i = 0; i < names->pool.count; i++) {
		budget_give(names->pool.budget, seq_name_at(names, i)->bytes);
		free((char *)seq_name_at(names, i)->text);
	}
	pool_release(&names->pool);
	*names = (struct seq_names){ 0 };
}

/* @name is not in the table yet. Returns NULL without room. */
static struct seq_name *add_seq_name(struct seq_names *names,
				     struct seq_name name)
{
	struct budget *budget = names->pool.budget;
	char *text = NULL;
	uint32_t number;

	if (names->pool.count == SEQ_NAMES_MAX ||
	    !budget_take(budget, name.bytes))
		return NULL;
	text = malloc(name.bytes + 1ULL);
	if (text) {
		memcpy(text, name.text, name.bytes);
		name.text = text;
		if (pool_intern(&names->pool, &name, &number) > 0)
			return seq_name_at(names, number);
	}
	free(text);
	budget_give(budget, name.bytes);
	return NULL;
}

/* Returns the entry of a text; its iid is 0 if it is new. Returns NULL without
 * room. The next call may move the entry. */
static struct seq_name *intern_name(struct seq_names *names, enum kind kind,
				    const char *text, size_t bytes)
{
	const struct seq_name name = { .text = text,
				       .bytes = (uint32_t)bytes,
				       .kind = kind };
	uint32_t number;

	if (pool_find(&names->pool, &name, &number))
		return seq_name_at(names, number);
	return add_seq_name(names, name);
}

static void say_name(struct bytes *out, enum trace_tag tag, uint32_t iid,
		     const char *text, size_t bytes)
{
	bytes_field(out, tag,
		    bytes_field_size(TAG_IID, iid) +
			    bytes_field_size(TAG_NAME, bytes) + bytes);
	bytes_field(out, TAG_IID, iid);
	bytes_text(out, TAG_NAME, text, bytes);
}

uint32_t seq_names_key(struct seq_names *names, const char *text, size_t bytes,
		       struct bytes *interned)
{
	struct seq_name *entry = intern_name(names, KIND_KEY, text, bytes);

	if (entry && !entry->iid) {
		entry->iid = ++names->last_key;
		say_name(interned, TAG_INTERNED_DATA_DEBUG_ANNOTATION_NAMES,
			 entry->iid, text, bytes);
	}
	return entry ? entry->iid : 0;
}

uint32_t seq_names_event(struct seq_names *names, const char *text,
			 size_t bytes, struct bytes *interned)
{
	struct seq_name *entry = intern_name(names, KIND_EVENT, text, bytes);

	if (entry && !entry->iid) {
		entry->iid = ++*names->last_iid;
		say_name(interned, TAG_INTERNED_DATA_EVENT_NAMES, entry->iid,
			 text, bytes);
	}
	return entry ? entry->iid : 0;
}

uint32_t seq_names_site(struct seq_names *names, const struct site *site,
			struct bytes *interned)
{
	struct seq_name *entry = intern_name(
		names, KIND_SITE, (const char *)&site->id, sizeof(site->id));
	uint32_t flags = (site->category[0] ? ENCODE_CATEGORY : 0) |
			 (site->file[0] ? ENCODE_LOCATION : 0);

	if (!entry)
		return 0;
	if (entry->iid)
		return entry->iid;
	entry->iid = ++*names->last_iid | flags;
	say_name(interned, TAG_INTERNED_DATA_EVENT_NAMES, *names->last_iid,
		 site->name, strlen(site->name));
	if (flags & ENCODE_CATEGORY)
		say_name(interned, TAG_INTERNED_DATA_EVENT_CATEGORIES,
			 *names->last_iid, site->category,
			 strlen(site->category));
	if (flags & ENCODE_LOCATION) {
		uint32_t iid = *names->last_iid;
		size_t file = strlen(site->file),
		       function = strlen(site->function);

		bytes_field(
			interned, TAG_INTERNED_DATA_SOURCE_LOCATIONS,
			bytes_field_size(TAG_SOURCE_LOCATION_IID, iid) +
				bytes_field_size(TAG_SOURCE_LOCATION_FILE_NAME,
						 file) +
				file +
				bytes_field_size(
					TAG_SOURCE_LOCATION_FUNCTION_NAME,
					function) +
				function +
				bytes_field_size(
					TAG_SOURCE_LOCATION_LINE_NUMBER,
					site->line));
		bytes_field(interned, TAG_SOURCE_LOCATION_IID, iid);
		bytes_text(interned, TAG_SOURCE_LOCATION_FILE_NAME, site->file,
			   file);
		bytes_text(interned, TAG_SOURCE_LOCATION_FUNCTION_NAME,
			   site->function, function);
		bytes_field(interned, TAG_SOURCE_LOCATION_LINE_NUMBER,
			    site->line);
	}
	return entry->iid;
}
