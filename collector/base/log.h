/* SPDX-License-Identifier: Apache-2.0
 *
 * log - messages for a person, on stderr. Results go to stdout.
 *
 * A message is lower case without a full stop. It names the thing that it is
 * about, and says what to do. Trouble of single records is counted, never
 * logged one by one.
 */
#ifndef PERFREC_COLLECTOR_BASE_LOG_H
#define PERFREC_COLLECTOR_BASE_LOG_H

#include <stdint.h>

#include "shared/compiler.h"

enum log_level { LOG_ERR, LOG_WARN, LOG_INFO, LOG_DBG };

/* Begins every line with @program, which must stay; leaves out lines of a level
 * above @max. Call it before other threads exist. */
void log_init(const char *program, enum log_level max);

/* Writes one line, by one write(2). Never fails; keeps errno. Any thread, but
 * no signal handler. */
void log_at(enum log_level level, const char *format, ...) ATTR_PRINTF(2, 3);

/* For lines that other programs can cause as often as they like. All zero at
 * first. */
struct log_limit {
	uint64_t next_ns; /* of CLOCK_MONOTONIC */
	uint64_t withheld; /* lines that were not written */
};
/* Does what log_at() does for the first ten lines of @limit, and then for one
 * line a second, which says how many lines were left out. */
void log_limited(struct log_limit *limit, enum log_level level,
		 const char *format, ...) ATTR_PRINTF(3, 4);

#define log_err(...) log_at(LOG_ERR, __VA_ARGS__)
#define log_warn(...) log_at(LOG_WARN, __VA_ARGS__)
#define log_info(...) log_at(LOG_INFO, __VA_ARGS__)
#define log_dbg(...) log_at(LOG_DBG, __VA_ARGS__)

#endif
