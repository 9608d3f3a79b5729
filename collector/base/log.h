/* SPDX-License-Identifier: Apache-2.0
 *
 * log - messages for a person, on stderr. Results go to stdout.
 *
 * Text is lower case without a full stop, names the thing and says the way
 * out. Trouble of single records is counted, never logged one by one.
 */
#ifndef PERFREC_COLLECTOR_BASE_LOG_H
#define PERFREC_COLLECTOR_BASE_LOG_H

#include <stdint.h>

#include "shared/compiler.h"

enum log_level { LOG_ERR, LOG_WARN, LOG_INFO, LOG_DBG };

/* @program prefixes every line; lines above @max are not written. Call it
 * before other threads exist. */
void log_init(const char *program, enum log_level max);

/* Any thread, never from a signal handler. One write(2) a line; never fails
 * and keeps errno. */
void log_at(enum log_level level, const char *format, ...) ATTR_PRINTF(2, 3);

/*
 * For lines that others can cause as often as they like: @limit lets ten
 * through and then one a second, which says how many were not written. All zero
 * at first.
 */
struct log_limit {
	uint64_t next_ns; /* of CLOCK_MONOTONIC */
	uint64_t withheld;
};
void log_limited(struct log_limit *limit, enum log_level level,
		 const char *format, ...) ATTR_PRINTF(3, 4);

#define log_err(...) log_at(LOG_ERR, __VA_ARGS__)
#define log_warn(...) log_at(LOG_WARN, __VA_ARGS__)
#define log_info(...) log_at(LOG_INFO, __VA_ARGS__)
#define log_dbg(...) log_at(LOG_DBG, __VA_ARGS__)

#endif
