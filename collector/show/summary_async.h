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

/* Print a row for each name, at most @limit (0: all); nothing if there are
 * none.
 * @terminal is that of @out; NULL: as Markdown. Names are neither short nor cut
 * if @full_names is set. 0 or -ENOMEM; whether @out could be written is the
 * caller's to ask. */
int summary_async_print(const struct summary *summary, size_t limit,
			bool full_names, const struct terminal *terminal,
			FILE *out);

#endif
