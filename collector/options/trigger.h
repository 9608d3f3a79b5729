/* SPDX-License-Identifier: Apache-2.0
 *
 * trigger - parses an event that makes the flight recorder write a snapshot:
 *
 *   FUNC > TIME            a call of FUNC took longer: parse* > 10ms
 *   FUNC(CONDITIONS) > TIME
 *                          the same, with conditions on its arguments
 *                          (argument_conditions.h): read_page(size > 4096) > 1ms
 *   FUNC > [K x] p99       a call took longer than K times the duration that
 *                          99 % of the calls of FUNC stay below: f > 5 x p99
 *   counter NAME > NUMBER  the counter rose above NUMBER: counter queue > 100
 *   counter NAME < NUMBER  the counter fell below NUMBER
 *   annotation [NAME]      the program reached PERFREC_TRIGGER()
 *   signal USR1            perfrec-collect received the signal, or USR2
 *   crash                  a signal ended a program
 *
 * >= and <= include the bound. FUNC is the full name of a function or a pattern
 * of name_pattern.h (also @GLOB); NAME is a name or a glob (fnmatch(3)).
 * "call FUNC > TIME" is the same as without "call": for a FUNC that starts with
 * one of the other words.
 */
#ifndef PERFREC_COLLECTOR_OPTIONS_TRIGGER_H
#define PERFREC_COLLECTOR_OPTIONS_TRIGGER_H

#include <stdbool.h>
#include <stdint.h>

#include "collector/options/argument_conditions.h"
#include "collector/options/expression.h"

#define TRIGGERS_MAX 30
#define TRIGGER_TIMES_MAX 1e6
/* All triggers together have no more: a call has a bit for each. */
#define TRIGGER_CONDITIONS_MAX 8u

enum trigger_kind {
	TRIGGER_CALL, /* by its time: min_ns */
	TRIGGER_P99, /* by its time, relative: times */
	TRIGGER_COUNTER,
	TRIGGER_ANNOTATION,
	TRIGGER_SIGNAL,
	TRIGGER_CRASH,
};

struct trigger {
	const char *text; /* as it was given */
	enum trigger_kind kind;
	char name[EXPRESSION_GLOB]; /* FUNC or NAME; "": any */
	struct argument_conditions conditions; /* of TRIGGER_CALL, _P99 */
	uint64_t min_ns; /* of TRIGGER_CALL: a call that takes as long, or
			  * longer */
	double times; /* of TRIGGER_P99: longer than so many times the p99; or
		       * as long (equal) */
	double bound; /* of TRIGGER_COUNTER; a unit in the text makes it ns or
		       * bytes */
	bool greater, equal; /* of TRIGGER_COUNTER: >, >= or <=; <, if none */
	int signal; /* of TRIGGER_SIGNAL: its number */
};

/* Reads @text, which must outlive *@out. 0; or -EINVAL, with *@error set for
 * expression_complain(). Any thread. */
int trigger_parse(const char *text, struct trigger *out,
		  struct expression_error *error);

/* Returns true if @value of a counter is beyond the bound of @trigger. Pure. */
static inline bool trigger_is_beyond(const struct trigger *trigger,
				     double value)
{
	if (trigger->equal && value == trigger->bound)
		return true;
	return trigger->greater ? value > trigger->bound
				: value < trigger->bound;
}

#endif
