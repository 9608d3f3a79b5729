/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/push/labels.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "collector/push/texts.h"

/* A new name of @name: [a-zA-Z_][a-zA-Z0-9_]*. NULL: no memory. */
static char *clean_name(const char *name)
{
	/* Room for a '_' in front of a digit. */
	char *clean = texts_clean(name, strlen(name), LABEL_NAME_BYTES - 1);
	const size_t length = clean ? strlen(clean) : 0;

	if (clean && (!length || isdigit((unsigned char)*clean))) {
		char *longer = realloc(clean, length + 2);

		if (!longer) {
			free(clean);
			return NULL;
		}
		clean = longer;
		memmove(clean + 1, clean, length + 1);
		*clean = '_';
	}
	for (char *at = clean; at && *at; at++)
		if (!isalnum((unsigned char)*at))
			*at = '_';
	return clean;
}

int labels_add(struct labels *labels, const char *name, const char *value)
{
	struct push_label *new = &labels->list[labels->count];
	struct push_label one;
	int err = 0;

	if (!*value)
		return 0;
	if (labels->count == LABELS_MAX) {
		labels->dropped++;
		return 0;
	}
	one.name = clean_name(name);
	one.value = texts_clean(value, strlen(value), LABEL_VALUE_BYTES);
	for (size_t i = 0; one.name && i < labels->count; i++)
		if (!strcmp(labels->list[i].name, one.name))
			err = -EEXIST;
	if (!one.name || !one.value)
		err = -ENOMEM;
	if (!err) {
		*new = one;
		labels->count++;
		return 0;
	}
	free(one.name);
	free(one.value);
	return err == -EEXIST ? 0 : err;
}

void labels_release(struct labels *labels)
{
	for (size_t i = 0; i < labels->count; i++) {
		free(labels->list[i].name);
		free(labels->list[i].value);
	}
	*labels = (struct labels){ 0 };
}
