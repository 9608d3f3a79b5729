/* SPDX-License-Identifier: Apache-2.0
 *
 * formats - writers for the formats of other tools. Each writes directly while
 * it reads, or uses a profile, where each stack is unique, so memory does not
 * grow with the trace. Names are full names. Each writer replaces characters
 * that its format cannot have in names, and documents the replacement.
 */
#ifndef PERFREC_COLLECTOR_EXPORT_FORMATS_H
#define PERFREC_COLLECTOR_EXPORT_FORMATS_H

#include <stdint.h>
#include <stdio.h>

#include "collector/read/pprof_read.h"
#include "collector/show/call_read.h"

struct summary;

struct export_profile {
	const struct pprof *profile;
	uint32_t value;
	const char *title; /* of the recording */
};

/* Return 0, -EIO if @out cannot be written, or another -errno. */
typedef int export_calls(struct call_reader *reader, FILE *out);
typedef int export_profile(const struct export_profile *profile, FILE *out);

/* --- export_chrome.c: JSON trace events, for Perfetto and chrome://tracing. */
export_calls export_chrome;
/* --- export_chart.c: stacks in the order of time, as tracing-flame's. */
export_calls export_flamechart;
/* --- export_folded.c: each stack with its value, for flamegraph.pl. */
export_profile export_folded;
/* Writes a name for a folded stack: ';' becomes ':', and ends of lines become
 * '?'. */
void export_folded_name(const char *name, FILE *out);
/* --- export_svg.c: a flame graph as a page that shows and zooms itself. */
export_profile export_flamegraph;
/* --- export_speedscope.c */
export_calls export_speedscope_calls;
export_profile export_speedscope_profile;
/* --- export_firefox.c: a processed profile of version 48, gzipped. */
export_calls export_firefox;
/* --- export_callgrind.c */
export_profile export_callgrind;
/* --- export_csv.c */
export_calls export_csv_calls;
int export_csv_functions(const struct summary *summary, FILE *out);

#endif
