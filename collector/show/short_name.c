/* SPDX-License-Identifier: Apache-2.0
 *
 * Names are sorted by short text, then by full name, so clashing names are
 * adjacent. The algorithm opens the template lists that contain the first
 * difference of two names. Each name of a group opens up to three lists: where
 * the entire group first differs, where it differs from its predecessor, and
 * from its successor. Then all texts of a group differ, unless a difference is
 * in no list. In that case the group shows full names.
 */
#include "collector/show/short_name.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "collector/base/grow.h"
#include "shared/compiler.h"

struct entry {
	const char *full;
	size_t begin; /* start of the displayed part */
	const char *text;
	size_t which; /* index of the name */
};

static int add_short_text(struct short_names *names, const char *text,
			  size_t length, size_t which)
{
	int err =
		grow_array(names->bytes, names->room, names->used + length + 1);

	if (err)
		return err;
	memcpy(names->bytes + names->used, text, length + 1);
	names->text[which] = names->used;
	names->used += length + 1;
	return 0;
}

static int compare_entries(const void *a, const void *b)
{
	const struct entry *left = a, *right = b;
	int order = strcmp(left->text, right->text);

	if (!order)
		order = strcmp(left->full + left->begin,
			       right->full + right->begin);
	return order ? order : strcmp(left->full, right->full);
}

static size_t find_difference(const struct entry *a, const struct entry *b)
{
	const char *left = a->full + a->begin, *right = b->full + b->begin;
	size_t at = 0;

	while (left[at] && left[at] == right[at])
		at++;
	return a->begin + at;
}

static size_t open_texts(const struct entry *group, size_t count, size_t i,
			 char out[NAME_FOLD_BYTES])
{
	size_t open[3], used = 0;

	/* The first and last of sorted texts differ where any two do. */
	open[used++] = find_difference(&group[i], &group[i ? 0 : count - 1]);
	if (i)
		open[used++] = find_difference(&group[i], &group[i - 1]);
	if (i + 1 < count)
		open[used++] = find_difference(&group[i], &group[i + 1]);
	return name_fold_open(group[i].full, open, used, out);
}

static int compare_texts(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Returns true if two names of @group have equal texts. @group has no
 * duplicates. */
static bool has_equal_texts(const struct short_names *names,
			    const struct entry *group, size_t count,
			    const char **scratch)
{
	for (size_t i = 0; i < count; i++)
		scratch[i] = short_names_get(names, group[i].which);
	qsort(scratch, count, sizeof(*scratch), compare_texts);
	for (size_t i = 1; i < count; i++)
		if (strcmp(scratch[i - 1], scratch[i]) == 0)
			return true;
	return false;
}

/* Makes distinct texts for the different names of @group, which share one. */
static int open_group(struct short_names *names, const struct entry *group,
		      size_t count, const char **scratch)
{
	char text[NAME_FOLD_BYTES];
	int err = 0;

	for (size_t i = 0; i < count && !err; i++)
		err = add_short_text(names, text,
				     open_texts(group, count, i, text),
				     group[i].which);
	if (err || !has_equal_texts(names, group, count, scratch))
		return err;
	for (size_t i = 0; i < count && !err; i++)
		err = add_short_text(names, text,
				     name_fold_clean(group[i].full, text),
				     group[i].which);
	return err;
}

/* Moves the distinct names of the sorted @list to the front. Sets @first[i] to
 * the representative of name i. Returns their number. */
static size_t drop_equal(struct entry *list, size_t count, size_t *first)
{
	size_t kept = 0;

	for (size_t i = 0; i < count; i++) {
		if (!kept || strcmp(list[i].full, list[kept - 1].full) != 0)
			list[kept++] = list[i];
		first[list[i].which] = list[kept - 1].which;
	}
	return kept;
}

static int open_groups(struct short_names *names, const struct entry *list,
		       size_t count, const char **scratch)
{
	int err = 0;

	for (size_t i = 0, end; i < count && !err; i = end) {
		end = i + 1;
		while (end < count && strcmp(list[i].text, list[end].text) == 0)
			end++;
		if (end - i > 1)
			err = open_group(names, list + i, end - i, scratch);
	}
	return err;
}

/* Finds clashing names. @list points to its own copies of the texts. */
static int part_names(struct short_names *names, struct entry *list)
{
	size_t count = names->count;
	size_t *first = malloc(count * sizeof(*first));
	const char **scratch = malloc(count * sizeof(*scratch));
	int err = first && scratch ? 0 : -ENOMEM;

	if (!err) {
		qsort(list, count, sizeof(*list), compare_entries);
		err = open_groups(names, list, drop_equal(list, count, first),
				  scratch);
		for (size_t i = 0; i < count; i++)
			names->text[i] = names->text[first[i]];
	}
	free(first);
	free(scratch);
	return err;
}

static int add_texts(struct short_names *names, const char *const *full,
		     bool is_full)
{
	char text[NAME_FOLD_BYTES];
	int err = 0;

	for (size_t i = 0; i < names->count && !err; i++) {
		size_t length = is_full ? name_fold_clean(full[i], text)
					: name_fold(full[i], text);

		err = add_short_text(names, text, length, i);
	}
	return err;
}

int short_names_make(struct short_names *names, const char *const *full,
		     size_t count, bool is_full)
{
	struct entry *list;
	char *folded;
	int err;

	*names = (struct short_names){ .count = count };
	if (!count)
		return 0;
	names->text = calloc(count, sizeof(*names->text));
	list = calloc(count, sizeof(*list));
	err = names->text && list ? add_texts(names, full, is_full) : -ENOMEM;
	if (!err && !is_full) {
		/* New texts may move the bytes, so the list needs a copy. */
		folded = malloc(names->used);
		err = folded ? 0 : -ENOMEM;
		if (folded)
			memcpy(folded, names->bytes, names->used);
		for (size_t i = 0; i < count && !err; i++)
			list[i] = (struct entry){
				.full = full[i],
				.begin = name_fold_begin(full[i]),
				.text = folded + names->text[i],
				.which = i,
			};
		if (!err)
			err = part_names(names, list);
		free(folded);
	}
	free(list);
	return err;
}

const char *short_names_get(const struct short_names *names, size_t which)
{
	return names->bytes + names->text[which];
}

void short_names_free(struct short_names *names)
{
	free(names->bytes);
	free(names->text);
	*names = (struct short_names){ 0 };
}
