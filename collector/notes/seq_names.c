/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/notes/seq_names.h"

#include <stdlib.h>
#include <string.h>

#include "collector/base/hash.h"
#include "collector/base/bytes.h"
#include "collector/base/budget.h"
#include "collector/trace/encode.h"
#include "collector/trace/fields.h"
#include "collector/names/sites.h"

#define ENTRIES_MIN 64u

/* A category, the name of an event and that of an argument are messages of the
 * same fields. */
#define TAG_IID TAG_EVENT_NAME_IID
#define TAG_NAME TAG_EVENT_NAME_NAME
_Static_assert(TAG_IID == (int)TAG_EVENT_CATEGORY_IID &&
		       TAG_NAME == (int)TAG_EVENT_CATEGORY_NAME &&
		       TAG_NAME == (int)TAG_DEBUG_ANNOTATION_NAME_NAME,
	       "say_name() writes all three");

enum kind { KIND_KEY, KIND_EVENT, KIND_SITE };

struct seq_name {
	char *text; /* NULL: free */
	uint32_t bytes, kind;
	uint32_t iid;
};

void seq_names_init(struct seq_names *names, struct budget *budget,
		    uint32_t *last_iid)
{
	*names = (struct seq_names){ .budget = budget, .last_iid = last_iid };
}

void seq_names_release(struct seq_names *names)
{
	uint32_t i;

	for (i = 0; names->entry && i <= names->mask; i++) {
		if (!names->entry[i].text)
			continue;
		budget_give(names->budget, names->entry[i].bytes);
		free(names->entry[i].text);
	}
	if (names->entry)
		budget_give(names->budget,
			    (names->mask + 1ULL) * sizeof(*names->entry));
	free(names->entry);
	*names = (struct seq_names){ 0 };
}

static struct seq_name *find(const struct seq_names *names, enum kind kind,
			     const char *text, size_t bytes)
{
	uint64_t at = hash_fold(hash_bytes(HASH_START + kind, text, bytes));

	for (;; at++) {
		struct seq_name *entry = &names->entry[at & names->mask];

		if (!entry->text ||
		    (entry->kind == kind && entry->bytes == bytes &&
		     !memcmp(entry->text, text, bytes)))
			return entry;
	}
}

/* Room for one more. */
static bool reserve(struct seq_names *names)
{
	struct seq_names old = *names;
	uint32_t entries = old.entry ? 2 * (old.mask + 1) : ENTRIES_MIN, i;

	if (old.entry && 2 * old.count <= old.mask)
		return true;
	if (!budget_take(names->budget, entries * sizeof(*names->entry)))
		return false;
	names->entry = calloc(entries, sizeof(*names->entry));
	if (!names->entry) {
		names->entry = old.entry;
		budget_give(names->budget, entries * sizeof(*names->entry));
		return false;
	}
	names->mask = entries - 1;
	for (i = 0; old.entry && i <= old.mask; i++)
		if (old.entry[i].text)
			*find(names, old.entry[i].kind, old.entry[i].text,
			      old.entry[i].bytes) = old.entry[i];
	if (old.entry)
		budget_give(names->budget,
			    (old.mask + 1ULL) * sizeof(*old.entry));
	free(old.entry);
	return true;
}

/* The entry of a text, new if its iid is 0; NULL: there is no room for it. */
static struct seq_name *intern(struct seq_names *names, enum kind kind,
			       const char *text, size_t bytes)
{
	struct seq_name *entry;

	if (!reserve(names))
		return NULL;
	entry = find(names, kind, text, bytes);
	if (entry->text)
		return entry;
	if (names->count == SEQ_NAMES_MAX || !budget_take(names->budget, bytes))
		return NULL;
	entry->text = malloc(bytes + 1);
	if (!entry->text) {
		budget_give(names->budget, bytes);
		return NULL;
	}
	memcpy(entry->text, text, bytes);
	entry->bytes = (uint32_t)bytes;
	entry->kind = kind;
	names->count++;
	return entry;
}

/* Says that @iid of some kind is @text. */
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
	struct seq_name *entry = intern(names, KIND_KEY, text, bytes);

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
	struct seq_name *entry = intern(names, KIND_EVENT, text, bytes);

	if (entry && !entry->iid) {
		entry->iid = ++*names->last_iid;
		say_name(interned, TAG_INTERNED_DATA_EVENT_NAMES, entry->iid,
			 text, bytes);
	}
	return entry ? entry->iid : 0;
}

static void say_location(struct bytes *out, uint32_t iid,
			 const struct site *site)
{
	size_t file = strlen(site->file), function = strlen(site->function);

	bytes_field(
		out, TAG_INTERNED_DATA_SOURCE_LOCATIONS,
		bytes_field_size(TAG_SOURCE_LOCATION_IID, iid) +
			bytes_field_size(TAG_SOURCE_LOCATION_FILE_NAME, file) +
			file +
			bytes_field_size(TAG_SOURCE_LOCATION_FUNCTION_NAME,
					 function) +
			function +
			bytes_field_size(TAG_SOURCE_LOCATION_LINE_NUMBER,
					 site->line));
	bytes_field(out, TAG_SOURCE_LOCATION_IID, iid);
	bytes_text(out, TAG_SOURCE_LOCATION_FILE_NAME, site->file, file);
	bytes_text(out, TAG_SOURCE_LOCATION_FUNCTION_NAME, site->function,
		   function);
	bytes_field(out, TAG_SOURCE_LOCATION_LINE_NUMBER, site->line);
}

uint32_t seq_names_site(struct seq_names *names, const struct site *site,
			struct bytes *interned)
{
	struct seq_name *entry = intern(
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
	if (flags & ENCODE_LOCATION)
		say_location(interned, *names->last_iid, site);
	return entry->iid;
}
