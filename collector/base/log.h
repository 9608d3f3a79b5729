/* SPDX-License-Identifier: Apache-2.0
 *
 * log - messages for a person, on stderr. Results go to stdout.
 *
 * A message is lower case without a full stop. It names its subject and says
 * what to do. Problems of single records are counted, not logged one by one.
 */
#ifndef PERFREC_COLLECTOR_BASE_LOG_H
#define PERFREC_COLLECTOR_BASE_LOG_H

#include <stdint.h>

#include "shared/compiler.h"

enum log_level { LOG_ERR, LOG_WARN, LOG_INFO, LOG_DBG };

/* Starts every line with @program, which must stay valid, and drops lines above
 * level @max. Call it before other threads exist. */
void log_init(const char *program, enum log_level max);

/* Writes one line with one write(2). Never fails; keeps errno. Any thread, but
 * no signal handler. */
void log_at(enum log_level level, const char *format, ...) ATTR_PRINTF(2, 3);

/* A limit for lines that other programs can trigger at will. All zero at
 * first. */
struct log_limit {
	uint64_t next_ns;
	uint64_t withheld;
};
/* Logs the first ten lines of @limit, then one line a second, which reports the
 * number of skipped lines. */
void log_limited(struct log_limit *limit, enum log_level level,
		 const char *format, ...) ATTR_PRINTF(3, 4);

#define log_err(...) log_at(LOG_ERR, __VA_ARGS__)
#define log_warn(...) log_at(LOG_WARN, __VA_ARGS__)
#define log_info(...) log_at(LOG_INFO, __VA_ARGS__)
#define log_dbg(...) log_at(LOG_DBG, __VA_ARGS__)

#endif
