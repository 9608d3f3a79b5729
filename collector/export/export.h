/* SPDX-License-Identifier: Apache-2.0
 *
 * export - the formats of other tools, by name.
 */
#ifndef PERFREC_COLLECTOR_EXPORT_EXPORT_H
#define PERFREC_COLLECTOR_EXPORT_EXPORT_H

#include <stdbool.h>
#include <stdio.h>

#include "collector/export/formats.h"

struct export_format {
	const char *name; /* as the user types it */
	/* What it can be made of; NULL: it cannot. Of single calls; of a value
	 * of a profile; of the summary. */
	export_calls *calls;
	export_profile *profile;
	int (*summary)(const struct summary *summary, FILE *out);
	bool binary; /* not for a terminal */
	bool sched; /* single calls have where threads ran, if it is known */
};

/* The format called @name, or NULL. It is constant. */
const struct export_format *export_find(const char *name);

#endif
