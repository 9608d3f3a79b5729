/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/tools/checker/verdict.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

static const struct {
	const char *name, *sentence;
} g_rules[RULE_COUNT] = {
#define RULE(id, name, sentence) { name, sentence },
#include "tests/tools/checker/rules.def"
#undef RULE
};

void verdict_break(struct verdict *verdict, enum rule rule, const char *format,
		   ...)
{
	struct breach *breach = &verdict->breaches[rule];
	va_list arguments;

	if (breach->count++)
		return;
	breach->place = verdict->place;
	va_start(arguments, format);
	vsnprintf(breach->text, sizeof(breach->text), format, arguments);
	va_end(arguments);
}

static void print_breach(const struct breach *breach, const char *name,
			 const char *file)
{
	fprintf(stderr, "%s: %s: at byte %" PRIu64, file, name,
		breach->place.offset);
	if (breach->place.bundled)
		fprintf(stderr, " (byte %" PRIu64 " of the bundle)",
			breach->place.inner);
	fprintf(stderr, ": %s", breach->text);
	if (breach->count > 1)
		fprintf(stderr, " (and %" PRIu64 " more)", breach->count - 1);
	fputc('\n', stderr);
}

int verdict_print(const struct verdict *verdict, const char *file)
{
	int broken = 0;

	for (int rule = 0; rule < RULE_COUNT; rule++) {
		if (!verdict->breaches[rule].count)
			continue;
		print_breach(&verdict->breaches[rule], g_rules[rule].name,
			     file);
		broken++;
	}
	return broken;
}

void verdict_list_rules(void)
{
	for (int rule = 0; rule < RULE_COUNT; rule++)
		printf("%-19s %s\n", g_rules[rule].name,
		       g_rules[rule].sentence);
}
