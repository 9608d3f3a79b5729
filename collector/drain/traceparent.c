/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/drain/traceparent.h"

#include "collector/base/hex.h"

/* "00-", 32 digits, "-", 16 digits, "-01". */
#define TRACE_AT 3
#define SPAN_AT 36
#define FLAGS_AT 53
#define BYTES 55

static bool parse_traceparent_hex(const char *text, uint8_t *out, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		int high = hex_value(text[2 * i]),
		    low = hex_value(text[2 * i + 1]);

		if (high < 0 || low < 0)
			return false;
		out[i] = (uint8_t)(high << 4 | low);
	}
	return true;
}

static bool is_zero(const uint8_t *id, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (id[i])
			return false;
	return true;
}

/* Later versions may have more data after another '-'. */
static bool has_form(const char *text, size_t bytes)
{
	uint8_t version, flags;

	if (bytes < BYTES || !parse_traceparent_hex(text, &version, 1) ||
	    !parse_traceparent_hex(text + FLAGS_AT, &flags, 1) ||
	    version == 0xff || text[TRACE_AT - 1] != '-' ||
	    text[SPAN_AT - 1] != '-' || text[FLAGS_AT - 1] != '-')
		return false;
	return bytes == BYTES || (version && text[BYTES] == '-');
}

bool traceparent_parse(const char *text, size_t bytes, struct trace_ids *out)
{
	if (has_form(text, bytes) &&
	    parse_traceparent_hex(text + TRACE_AT, out->trace,
				  sizeof(out->trace)) &&
	    parse_traceparent_hex(text + SPAN_AT, out->span,
				  sizeof(out->span)) &&
	    trace_ids_are_set(out) && !is_zero(out->span, sizeof(out->span)))
		return true;
	*out = (struct trace_ids){ 0 };
	return false;
}
