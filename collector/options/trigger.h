/* SPDX-License-Identifier: Apache-2.0
 *
 * trigger - what makes the flight recorder write a snapshot, as a person gives
 * it:
 *
 *   FUNC > TIME               a call of FUNC took longer       parse* > 10ms
 *   FUNC > [K x] p99          it took longer than K times what 99 % of the
 * calls of FUNC take                     parse* > 5 x p99 counter NAME > NUMBER
 * the counter went beyond          counter queue > 100 counter NAME < NUMBER it
 * went below annotation [NAME]         PERFREC_TRIGGER() was met signal USR1
 * perfrec-collect got the signal (or USR2) crash                     a program
 * was ended by a signal
 *
 * >= and <= include the bound. FUNC is the full name of a function or a pattern
 * of name_pattern.h (also @GLOB); NAME is a name or a glob (fnmatch(3)).
 * "call FUNC > TIME" is the same as without "call": for a FUNC that begins with
 * one of the other words.
 */
#ifndef PERFREC_COLLECTOR_OPTIONS_TRIGGER_H
#define PERFREC_COLLECTOR_OPTIONS_TRIGGER_H

#include <stdbool.h>
#include <stdint.h>

#include "collector/options/expression.h"

/* As many as a recording can have. */
#define TRIGGERS_MAX 30
#define TRIGGER_TIMES_MAX 1e6

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
	uint64_t min_ns; /* of TRIGGER_CALL: a call that takes as long, or
			  * longer */
	double times; /* of TRIGGER_P99: longer than so many times the p99; or
		       * as long (equal) */
	double bound; /* of TRIGGER_COUNTER; in ns or bytes, if it was given
		       * with such a unit */
	bool greater, equal; /* of TRIGGER_COUNTER: >, >= or <=; <, if none */
	int signal; /* of TRIGGER_SIGNAL: its number */
};

/* Reads @text, which has to outlive *@out. 0; or -EINVAL, with *@error set:
 * expression_complain() says it. Any thread. */
int trigger_parse(const char *text, struct trigger *out,
		  struct expression_error *error);

/* Whether @value of a counter is beyond the bound of @trigger. Pure. */
static inline bool trigger_is_beyond(const struct trigger *trigger,
				     double value)
{
	if (trigger->equal && value == trigger->bound)
		return true;
	return trigger->greater ? value > trigger->bound
				: value < trigger->bound;
}

#endif
