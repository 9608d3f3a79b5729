/* SPDX-License-Identifier: Apache-2.0
 *
 * page - writes one HTML file that shows a recording, or a comparison of two,
 * in any browser. docs/PAGE.md describes its contents.
 */
#ifndef PERFREC_COLLECTOR_PAGE_PAGE_H
#define PERFREC_COLLECTOR_PAGE_PAGE_H

#include <stdbool.h>
#include <stdint.h>

#include "collector/read/time_range.h"

struct diff;
struct trace_index;

struct page_part {
	struct time_range range;
	/* Of the recording. Times start at its first slice, as those of
	 * --from. */
	struct trace_bounds bounds;
	const char *thread; /* NULL: all; otherwise it must exist */
	const struct trace_index *index; /* of the trace; may be NULL */
};

struct page_options {
	const char *dir;
	const char *base; /* recording to compare with, or NULL */
	/* With @base: the comparison that @dir and @base are runs of, of
	 * functions. NULL: none. */
	const struct diff *diff;
	const char *file; /* NULL: report.html in @dir */
	const struct page_part *part; /* NULL: all; not with @base */
	bool no_source; /* no source lines; a part has none */
	bool quiet; /* no progress on a terminal */
};

/* Writes the page atomically, and replaces an existing one. If that takes more
 * than a second, shows progress on stderr if it is a terminal. Returns 0, or
 * -errno after logging one line. */
int page_write(const struct page_options *options);

#endif
