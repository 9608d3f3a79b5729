/* SPDX-License-Identifier: Apache-2.0
 *
 * page - one HTML file that shows a recording, or two that are compared, in any
 * browser. docs/PAGE.md says what is in it.
 */
#ifndef PERFREC_COLLECTOR_PAGE_PAGE_H
#define PERFREC_COLLECTOR_PAGE_PAGE_H

#include <stdbool.h>
#include <stdint.h>

#include "collector/read/time_range.h"

struct trace_index;

/* A part of a recording. */
struct page_part {
	struct time_range range;
	struct trace_bounds bounds; /* of the recording: times count from the
				     * first slice, as those of --from */
	const char *thread; /* NULL: all; else one that there is */
	const struct trace_index *index; /* of the trace; NULL: there is none */
};

struct page_options {
	const char *dir; /* of the recording */
	const char *base; /* of the one before it, to compare; NULL: none */
	const char *file; /* to write; NULL: report.html in @dir */
	const struct page_part *part; /* only this; NULL: all. Not with @base */
	bool no_source; /* no lines of source; a part has none */
	bool quiet; /* no progress on a terminal */
};

/*
 * Writes the page. The file is there whole or not at all, and one that was
 * there is replaced. On a terminal, progress is shown on stderr when it takes
 * more than a second. Returns 0, or -errno after logging one line.
 */
int page_write(const struct page_options *options);

#endif
