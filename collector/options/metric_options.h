/* SPDX-License-Identifier: Apache-2.0
 *
 * metric_options - the values of --alloc, --cpu, --stack-size,
 * --snapshot-interval, --categories and --max-size, which perfrec record checks
 * and perfrec-collect takes.
 *
 * Each parser returns NULL, or what a value must look like ("give ..."), and
 * then leaves its results alone.
 */
#ifndef PERFREC_COLLECTOR_OPTIONS_METRIC_OPTIONS_H
#define PERFREC_COLLECTOR_OPTIONS_METRIC_OPTIONS_H

#include <stdint.h>

#include "collector/options/collect_options.h"

/* The least that --max-size takes, in bytes: room for the first block of a
 * trace, and for what ends the trace (trace_file.c asserts it). */
#define METRIC_MAX_SIZE_MIN (256u << 10)

/* "off", "auto", "exact", "sampled" or "sampled:BYTES". */
const char *metric_parse_alloc(const char *text, enum alloc_mode *mode,
			       uint64_t *period);
/* "off" (*@hz is 0), "HZ", "HZ,perf" or "HZ,signal". */
const char *metric_parse_cpu(const char *text, uint32_t *hz,
			     enum cpu_engine *engine);
/* Bytes, rounded down to whole cells. */
const char *metric_parse_stack(const char *text, uint32_t *bytes);
/* "500ms", "10s", "5m" or "1h". */
const char *metric_parse_interval(const char *text, uint64_t *ns);
/* Bytes of a trace. */
const char *metric_parse_max_size(const char *text, uint64_t *bytes);
const char *metric_parse_categories(const char *text, const char **out);

/* As --alloc and --cpu take them, for summary.json: "exact", "signal". */
const char *metric_alloc_name(enum alloc_mode mode);
const char *metric_cpu_name(enum cpu_engine engine);

#endif
