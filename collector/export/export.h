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
	const char *name;
	/* Writers for single calls, for a value of a profile, and for the
	 * summary. NULL: not supported. */
	export_calls *calls;
	export_profile *profile;
	int (*summary)(const struct summary *summary, FILE *out);
	bool binary; /* not for a terminal */
	bool folder; /* several files in a folder: tables.h */
	bool trace; /* the trace itself, with more tracks: export_trace.h */
	bool sched; /* single calls include times on CPUs, if known */
	bool instants; /* besides single calls, takes instants of threads */
	bool self_times; /* single calls include their self time */
};

const struct export_format *export_find(const char *name);

#endif
