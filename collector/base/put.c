/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/base/put.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "collector/base/utf8.h"

#define DIGITS 20

void put_bytes(const char *bytes, size_t count, FILE *out)
{
	fwrite_unlocked(bytes, 1, count, out);
}

void put_text(const char *text, FILE *out)
{
	put_bytes(text, strlen(text), out);
}

void put_char(char c, FILE *out)
{
	putc_unlocked(c, out);
}

void put_count(uint64_t number, FILE *out)
{
	char digits[DIGITS];
	size_t at = DIGITS;

	do {
		digits[--at] = (char)('0' + number % 10);
		number /= 10;
	} while (number);
	put_bytes(digits + at, DIGITS - at, out);
}

void put_int(int64_t number, FILE *out)
{
	if (number < 0)
		put_char('-', out);
	put_count(number < 0 ? -(uint64_t)number : (uint64_t)number, out);
}

void put_thousandth(uint64_t number, FILE *out)
{
	unsigned int rest = (unsigned int)(number % 1000);
	char digits[4] = { '.', (char)('0' + rest / 100),
			   (char)('0' + rest / 10 % 10),
			   (char)('0' + rest % 10) };
	size_t count = 4;

	put_count(number / 1000, out);
	while (count > 1 && digits[count - 1] == '0')
		count--;
	if (count > 1)
		put_bytes(digits, count, out);
}

/* --- text of unknown origin --- */

size_t put_next(const char *text, size_t left, bool *seen)
{
	size_t bytes = utf8_length(text, left);

	*seen = bytes && !utf8_steers(text, bytes);
	return bytes ? bytes : 1;
}

static char find_instead(const char *instead, char c)
{
	for (; instead && *instead; instead += 2)
		if (*instead == c)
			return instead[1];
	return 0;
}

void put_line(const char *text, size_t count, const char *instead, FILE *out)
{
	while (count) {
		bool seen;
		size_t bytes = put_next(text, count, &seen);
		char other = find_instead(instead, *text);

		if (!seen)
			put_char('?', out);
		else if (other)
			put_char(other, out);
		else
			put_bytes(text, bytes, out);
		text += bytes;
		count -= bytes;
	}
}

/* --- JSON --- */

void put_json_escape(uint32_t point, FILE *out)
{
	unsigned int above = point - 0x10000;

	if (point < 0x10000)
		fprintf(out, "\\u%04x", (unsigned int)point);
	else
		fprintf(out, "\\u%04x\\u%04x", 0xd800 + (above >> 10),
			0xdc00 + (above & 0x3ff));
}

static void put_json_character(const char *text, size_t bytes, FILE *out)
{
	uint32_t code = utf8_point(text, bytes);

	if (code == '"' || code == '\\')
		put_char('\\', out);
	if (code == '\n')
		put_text("\\n", out);
	else if (code == '\t')
		put_text("\\t", out);
	else if (utf8_steers(text, bytes))
		put_json_escape(code, out);
	else
		put_bytes(text, bytes, out);
}

void put_json(const char *text, size_t count, FILE *out)
{
	put_char('"', out);
	while (count) {
		size_t bytes = 0;

		while (bytes < count && text[bytes] >= 0x20 &&
		       text[bytes] < 0x7f && text[bytes] != '"' &&
		       text[bytes] != '\\')
			bytes++;
		if (bytes) {
			put_bytes(text, bytes, out);
		} else {
			bytes = utf8_length(text, count);
			if (bytes)
				put_json_character(text, bytes, out);
			else
				put_char('?', out);
			bytes += !bytes;
		}
		text += bytes;
		count -= bytes;
	}
	put_char('"', out);
}

void put_json_text(const char *text, FILE *out)
{
	put_json(text, strlen(text), out);
}

void put_json_real(double real, FILE *out)
{
	if (isfinite(real))
		fprintf(out, "%.17g", real);
	else
		put_text("null", out);
}
