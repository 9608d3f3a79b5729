/* SPDX-License-Identifier: Apache-2.0
 *
 * summary_async - the table of asynchronous slices in a summary.
 */
#ifndef PERFREC_COLLECTOR_SHOW_SUMMARY_ASYNC_H
#define PERFREC_COLLECTOR_SHOW_SUMMARY_ASYNC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "collector/read/summary_read.h"
#include "collector/show/terminal.h"

/* Prints at most @limit rows (0: all), one for each name; nothing if there are
 * none. @terminal NULL: Markdown. @full_names: neither shorten nor cut names.
 * Returns 0 or -ENOMEM; the caller checks @out for errors. */
int summary_async_print(const struct summary *summary, size_t limit,
			bool full_names, const struct terminal *terminal,
			FILE *out);

#endif
