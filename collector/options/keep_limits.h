/* SPDX-License-Identifier: Apache-2.0
 *
 * keep_limits - the value of --keep-recordings: how many finished recordings a
 * daemon keeps. Pure.
 */
#ifndef PERFREC_COLLECTOR_OPTIONS_KEEP_LIMITS_H
#define PERFREC_COLLECTOR_OPTIONS_KEEP_LIMITS_H

#include <stdbool.h>
#include <stdint.h>

/* 0: no limit. */
struct keep_limit {
	uint64_t count;
	uint64_t bytes; /* on the disk */
	uint64_t age_ns; /* since a recording has ended */
};

/* All zero at first. */
struct keep_limits {
	struct keep_limit all; /* of all recordings together */
	struct keep_limit each; /* of those of one program */
};

/* Adds the limits in @text to *@limits: "20G,14d,each:100". A later limit
 * replaces an earlier one of its kind. False: @text is no such list. */
bool keep_limits_parse(const char *text, struct keep_limits *limits);
bool keep_limits_given(const struct keep_limits *limits);

#endif
