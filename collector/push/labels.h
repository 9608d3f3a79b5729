/* SPDX-License-Identifier: Apache-2.0
 *
 * labels - the names and values that identify profiles on a server, within its
 * limits. Names come from resource attributes: "host.name" is host_name.
 */
#ifndef PERFREC_COLLECTOR_PUSH_LABELS_H
#define PERFREC_COLLECTOR_PUSH_LABELS_H

#include <stdbool.h>
#include <stddef.h>

/* Pyroscope allows 30 names, and adds five of its own. */
#define LABELS_MAX 25
#define LABEL_NAME_BYTES 1024
#define LABEL_VALUE_BYTES 2048

struct push_label {
	char *name, *value;
};

/* All zero: none. */
struct labels {
	struct push_label list[LABELS_MAX];
	size_t count, dropped; /* beyond LABELS_MAX */
};

/* Adds @name with @value, made valid: characters beside letters, digits and '_'
 * become '_' in a name, bytes that are no UTF-8 become '?' in a value, and both
 * are cut. Without effect for an empty value, and for a name that is there
 * already. 0 or -ENOMEM. */
int labels_add(struct labels *labels, const char *name, const char *value);
void labels_release(struct labels *labels);

#endif
