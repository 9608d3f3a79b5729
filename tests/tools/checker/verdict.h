/* SPDX-License-Identifier: Apache-2.0
 *
 * verdict - which rules (rules.def) a trace breaks, how often, and where
 * first.
 */
#ifndef PERFREC_TESTS_VERDICT_H
#define PERFREC_TESTS_VERDICT_H

#include <stdint.h>

#include "shared/compiler.h"

enum rule {
#define RULE(id, name, sentence) RULE_##id,
#include "tests/tools/checker/rules.def"
#undef RULE
	RULE_COUNT
};

/* A byte of the file; inside a bundle also the byte of its unpacked
 * content. */
struct place {
	uint64_t offset, inner;
	int bundled;
};

struct verdict {
	struct place place; /* of the packet being read: the caller's */
	struct breach {
		uint64_t count;
		struct place place; /* of the first */
		char text[160];
	} breaches[RULE_COUNT];
};

/* Notes that the packet at verdict->place breaks @rule. */
void verdict_break(struct verdict *verdict, enum rule rule, const char *format,
		   ...) ATTR_PRINTF(3, 4);
/* One line on stderr for every rule that is broken. Returns how many. */
int verdict_print(const struct verdict *verdict, const char *file);
/* All rules with their sentences, on stdout. */
void verdict_list_rules(void);

#endif
