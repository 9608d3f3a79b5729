/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/base/size.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shared/compiler.h"

/* Parses digits only: strtoull(3) would also accept signs, blanks and
 * hexadecimal. */
static int parse_digits(const char *text, uint64_t *out, const char **rest)
{
	char *end;

	if (!isdigit((unsigned char)text[0]))
		return -EINVAL;
	errno = 0;
	*out = strtoull(text, &end, 10);
	*rest = end;
	return -errno;
}

int size_parse_bytes(const char *text, uint64_t *out)
{
	static const char units[] = "KMGT";
	const char *rest, *unit;
	uint64_t number;
	int shift = 0;
	int err = parse_digits(text, &number, &rest);

	if (err)
		return err;
	if (rest[0]) {
		unit = strchr(units, toupper((unsigned char)rest[0]));
		if (!unit || rest[1])
			return -EINVAL;
		shift = 10 * (int)(unit - units + 1);
	}
	if (number > UINT64_MAX >> shift)
		return -ERANGE;
	*out = number << shift;
	return 0;
}

int size_parse_count(const char *text, uint64_t min, uint64_t max,
		     uint64_t *out)
{
	const char *rest;
	uint64_t number;
	int err = parse_digits(text, &number, &rest);

	if (err)
		return err;
	if (rest[0])
		return -EINVAL;
	if (number < min || number > max)
		return -ERANGE;
	*out = number;
	return 0;
}

static const struct time_unit {
	const char *name;
	uint64_t ns;
} time_units[] = {
	{ "ns", 1 },	     { "us", 1000 },	   { "ms", 1000000 },
	{ "s", 1000000000 }, { "m", 60000000000 }, { "h", 3600000000000 },
};

static uint64_t find_time_unit(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(time_units); i++)
		if (strcmp(name, time_units[i].name) == 0)
			return time_units[i].ns;
	return 0;
}

int size_parse_ns(const char *text, uint64_t *out)
{
	const char *rest;
	uint64_t number, unit;
	int err = parse_digits(text, &number, &rest);

	if (err)
		return err;
	unit = find_time_unit(rest);
	if (unit < 1000000)
		return -EINVAL;
	if (number > UINT64_MAX / unit)
		return -ERANGE;
	*out = number * unit;
	return 0;
}

int size_parse_duration(const char *text, uint64_t *out)
{
	uint64_t number, part = 0, unit, scale = 1;
	const char *rest, *point;
	int err = parse_digits(text, &number, &rest);

	if (err)
		return err;
	if (rest[0] == '.') {
		point = rest + 1;
		err = parse_digits(point, &part, &rest);
		if (err || rest - point > 9)
			return -EINVAL;
		for (; point < rest; point++)
			scale *= 10;
	}
	unit = find_time_unit(rest);
	if (!unit)
		return -EINVAL;
	if (number >= UINT64_MAX / unit)
		return -ERANGE;
	*out = number * unit +
	       (uint64_t)((unsigned __int128)part * unit / scale);
	return 0;
}

static void format_scaled(double value, const char *unit, char *text)
{
	int decimals = value < 9.995 ? 2 : value < 99.95 ? 1 : 0;

	snprintf(text, SIZE_TEXT, "%.*f %s", decimals, value, unit);
}

char *size_format_bytes(uint64_t bytes, char *text)
{
	static const char *const units[] = { "KiB", "MiB", "GiB",
					     "TiB", "PiB", "EiB" };
	double value = (double)bytes / 1024;
	size_t unit = 0;

	if (bytes < 1024) {
		snprintf(text, SIZE_TEXT, "%" PRIu64 " B", bytes);
		return text;
	}
	for (; value >= 1023.5; unit++)
		value /= 1024;
	format_scaled(value, units[unit], text);
	return text;
}

char *size_format_ns(uint64_t ns, char *text)
{
	static const char *const units[] = { "us", "ms", "s" };
	const uint64_t second = 1000000000, minute = 60 * second;
	double value = (double)ns / 1000;
	size_t unit = 0;

	if (ns < 1000) {
		snprintf(text, SIZE_TEXT, "%" PRIu64 " ns", ns);
	} else if (ns < 10 * minute) {
		for (; value >= 999.5 && unit + 1 < ARRAY_SIZE(units); unit++)
			value /= 1000;
		format_scaled(value, units[unit], text);
	} else if (ns < 60 * minute) {
		snprintf(text, SIZE_TEXT, "%" PRIu64 " min %02" PRIu64 " s",
			 ns / minute, ns / second % 60);
	} else {
		snprintf(text, SIZE_TEXT, "%" PRIu64 " h %02" PRIu64 " min",
			 ns / (60 * minute), ns / minute % 60);
	}
	return text;
}

char *size_format_ns_within(uint64_t ns, uint64_t error_ns, char *text)
{
	static const char *const units[] = { "ns", "us", "ms", "s" };
	uint64_t digit = 1, value, scale = 1;
	size_t unit = 0;

	if (ns >= error_ns)
		return size_format_ns(ns, text);
	while (error_ns / digit >= 10)
		digit *= 10;
	value = (error_ns / digit + (error_ns % digit != 0)) * digit;
	for (; value / scale >= 1000 && unit + 1 < ARRAY_SIZE(units); unit++)
		scale *= 1000;
	snprintf(text, SIZE_TEXT, "< %" PRIu64 " %s", value / scale,
		 units[unit]);
	return text;
}

char *size_format_count(uint64_t count, char *text)
{
	char digits[SIZE_TEXT];
	int length = snprintf(digits, sizeof(digits), "%" PRIu64, count);
	char *out = text;

	for (int i = 0; i < length; i++) {
		if (i && (length - i) % 3 == 0)
			*out++ = ',';
		*out++ = digits[i];
	}
	*out = '\0';
	return text;
}

void size_format_text(const char *form, const char *number, char *text,
		      size_t room)
{
	bool one = !strcmp(number, "1"), left_out = false;
	size_t length = 0;

	for (; *form && length + 1 < room; form++) {
		if (*form == '{')
			left_out = !one;
		else if (*form == '|')
			left_out = one;
		else if (*form == '}')
			left_out = false;
		else if (left_out)
			continue;
		else if (*form != '#')
			text[length++] = *form;
		else
			for (const char *digit = number;
			     *digit && length + 1 < room; digit++)
				text[length++] = *digit;
	}
	text[length] = '\0';
}
