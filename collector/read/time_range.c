/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/read/time_range.h"

#include <inttypes.h>
#include <stdio.h>

enum time_range_error time_wish_check(const struct time_wish *wish)
{
	uint64_t from = wish->has_from ? wish->from_ns : 0;

	if (!wish->has_to || wish->to_ns > from)
		return TIME_RANGE_FINE;
	return wish->to_ns < from ? TIME_RANGE_REVERSED : TIME_RANGE_EMPTY;
}

static uint64_t add_limited(uint64_t a, uint64_t b)
{
	return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

enum time_range_error time_range_make(const struct time_wish *wish,
				      const struct trace_bounds *bounds,
				      struct time_range *out)
{
	enum time_range_error error = time_wish_check(wish);
	struct time_range range = TIME_RANGE_ALL;

	if (error != TIME_RANGE_FINE)
		return error;
	if ((wish->has_from || wish->has_to) && !bounds->first_ns)
		return TIME_RANGE_NO_CALLS;
	if (wish->has_from)
		range.from_ns = add_limited(bounds->first_ns, wish->from_ns);
	if (wish->has_to)
		range.to_ns = add_limited(bounds->first_ns, wish->to_ns);
	if (wish->has_from && range.from_ns > bounds->last_ns)
		return TIME_RANGE_BEYOND;
	*out = range;
	return TIME_RANGE_FINE;
}

char *time_range_text(uint64_t ns, char text[TIME_RANGE_TEXT])
{
	static const struct {
		const char *name;
		uint64_t ns;
		int digits;
	} units[] = {
		{ "s", 1000000000, 9 },
		{ "ms", 1000000, 6 },
		{ "us", 1000, 3 },
		{ "ns", 1, 0 },
	};
	size_t unit = 0, length;

	while (ns && ns < units[unit].ns)
		unit++;
	length = (size_t)snprintf(text, TIME_RANGE_TEXT,
				  "%" PRIu64 ".%0*" PRIu64, ns / units[unit].ns,
				  units[unit].digits, ns % units[unit].ns);
	while (text[length - 1] == '0')
		length--;
	if (text[length - 1] == '.')
		length--;
	snprintf(text + length, TIME_RANGE_TEXT - length, "%s",
		 units[unit].name);
	return text;
}
