/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/options/metric_options.h"

#include <string.h>

#include "collector/options/categories.h"
#include "collector/base/size.h"
#include "shared/compiler.h"
#include "shared/record.h"

#define NS_PER_MS UINT64_C(1000000)
#define INTERVAL_MIN_NS (100 * NS_PER_MS)
#define INTERVAL_MAX_NS (24 * 3600 * 1000 * NS_PER_MS)
#define ALLOC_PERIOD_MAX (1ULL << 30)
#define STACK_BYTES_MIN 512
#define HZ_DIGITS 7 /* and the NUL: more are out of range */

_Static_assert(CPU_HZ_MAX == 10000, "the text of --cpu says so");
_Static_assert(STACK_BYTES_MAX == 60 << 10, "that of --stack-size, too");

static const char *const alloc_names[] = {
	[ALLOC_OFF] = "off",
	[ALLOC_AUTO] = "auto",
	[ALLOC_EXACT] = "exact",
	[ALLOC_SAMPLED] = "sampled",
};

static const char *const cpu_names[] = {
	[CPU_PERF] = "perf",
	[CPU_SIGNAL] = "signal",
};

const char *metric_alloc_name(enum alloc_mode mode)
{
	return alloc_names[mode];
}

const char *metric_cpu_name(enum cpu_engine engine)
{
	return cpu_names[engine];
}

const char *metric_parse_alloc(const char *text, enum alloc_mode *mode,
			       uint64_t *period)
{
	static const char sampled[] = "sampled:";
	uint64_t bytes;

	for (size_t i = 0; i < ARRAY_SIZE(alloc_names); i++) {
		if (strcmp(text, alloc_names[i]) == 0) {
			*mode = (enum alloc_mode)i;
			*period = ALLOC_PERIOD_DEFAULT;
			return NULL;
		}
	}
	if (strncmp(text, sampled, strlen(sampled)) != 0)
		return "choose exact, sampled, sampled:BYTES, auto or off";
	if (size_parse_bytes(text + strlen(sampled), &bytes) || !bytes ||
	    bytes > ALLOC_PERIOD_MAX)
		return "give a size from 1 to 1G, such as sampled:512K";
	*mode = ALLOC_SAMPLED;
	*period = bytes;
	return NULL;
}

const char *metric_parse_cpu(const char *text, uint32_t *hz,
			     enum cpu_engine *engine)
{
	const char *comma = strchrnul(text, ',');
	size_t digits = (size_t)(comma - text), i = CPU_PERF;
	char number[HZ_DIGITS];
	uint64_t value;

	if (strcmp(text, "off") == 0) {
		*hz = 0;
		*engine = CPU_PERF;
		return NULL;
	}
	memcpy(number, text, MIN(digits, sizeof(number) - 1));
	number[MIN(digits, sizeof(number) - 1)] = '\0';
	if (size_parse_count(number, 1, CPU_HZ_MAX, &value))
		return "give samples a second from 1 to 10000, with ,perf or "
		       ",signal behind them if you like, or off";
	if (*comma)
		for (i = 0; i < ARRAY_SIZE(cpu_names); i++)
			if (strcmp(comma + 1, cpu_names[i]) == 0)
				break;
	if (i == ARRAY_SIZE(cpu_names))
		return "the engine is perf or signal";
	*hz = (uint32_t)value;
	*engine = (enum cpu_engine)i;
	return NULL;
}

const char *metric_parse_stack(const char *text, uint32_t *bytes)
{
	uint64_t value;

	if (size_parse_bytes(text, &value) || value < STACK_BYTES_MIN ||
	    value > STACK_BYTES_MAX)
		return "give a size from 512 to 60K";
	*bytes = (uint32_t)(value & ~(sizeof(struct record) - 1));
	return NULL;
}

const char *metric_parse_interval(const char *text, uint64_t *ns)
{
	uint64_t value;

	if (size_parse_ns(text, &value) || value < INTERVAL_MIN_NS ||
	    value > INTERVAL_MAX_NS)
		return "give a time from 100ms to 24h, such as 10s or 5m";
	*ns = value;
	return NULL;
}

const char *metric_parse_max_size(const char *text, uint64_t *bytes)
{
	uint64_t value;

	if (size_parse_bytes(text, &value) || value < METRIC_MAX_SIZE_MIN)
		return "give a size of at least 256K, such as 500M or 4G";
	*bytes = value;
	return NULL;
}

const char *metric_parse_categories(const char *text, const char **out)
{
	if (!categories_valid(text))
		return "give globs with commas between them, at most 4,000 "
		       "characters, no control characters";
	*out = text;
	return NULL;
}
