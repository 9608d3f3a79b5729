/* SPDX-License-Identifier: Apache-2.0
 *
 * pprof_fits - makes three passes over the fields, because locations refer to
 * mappings and functions, and samples to locations. For strings it only keeps
 * the largest number in use.
 */
#include "collector/push/pprof_fits.h"

#include <stdlib.h>
#include <string.h>

#include "collector/base/grow.h"
#include "collector/base/protobuf.h"
#include "collector/base/utf8.h"
#include "collector/push/fit.h"
#include "collector/push/pprof_pack.h"
#include "collector/push/texts.h"
#include "shared/compiler.h"

/* Ids of one kind that are larger are not looked at: 128 KiB for their set. */
#define IDS_MAX (1u << 20)
/* Names of types are among the first strings. */
#define NAMES_MAX 64

#define TAG_NUMBER(field) ((field) << 3)
#define TAG_BYTES(field) ((field) << 3 | 2)

struct id_set {
	uint64_t *words;
	size_t room;
};

enum pass { PASS_OTHERS, PASS_LOCATIONS, PASS_SAMPLES, PASSES };

struct check {
	bool failed;
	enum pass pass;
	struct id_set mappings, functions, locations;
	uint64_t strings, text_max; /* how many; the largest number used */
	struct wire_field names[NAMES_MAX]; /* of the first strings */
	uint64_t names_used[2 * (PPROF_VALUES_MAX + 1)]; /* by types */
	size_t name_count;
	size_t types, samples;
	bool has_time, has_duration, has_period;
	size_t period; /* of names_used */
};

typedef void read_field(struct check *check, const struct wire_field *field,
			void *context);

static void require(struct check *check, bool is_right)
{
	check->failed |= !is_right;
}

static void read_message(struct check *check, struct wire wire,
			 read_field *read, void *context)
{
	struct wire_field field;

	while (!check->failed && wire.at < wire.end)
		if (wire_next(&wire, &field))
			read(check, &field, context);
		else
			check->failed = true;
}

/* --- references ---------------------------------------------------------- */

static bool has_id(const struct id_set *set, uint64_t id)
{
	return id / 64 < set->room && set->words[id / 64] >> id % 64 & 1;
}

static void use_text(struct check *check, uint64_t number)
{
	check->text_max = MAX(check->text_max, number);
}

/* --- the parts of a profile ---------------------------------------------- */

static void read_type_field(struct check *check, const struct wire_field *field,
			    void *context)
{
	uint64_t *number = context;

	if (field->tag == TAG_NUMBER(1))
		number[0] = field->value;
	else if (field->tag == TAG_NUMBER(2))
		number[1] = field->value;
	else
		check->failed = true;
}

/* Reads a ValueType, whose two names are looked at when all strings are known.
 */
static void read_type(struct check *check, const struct wire_field *field)
{
	uint64_t *number = check->names_used + check->name_count;

	require(check, check->name_count < ARRAY_SIZE(check->names_used));
	if (check->failed)
		return;
	check->name_count += 2;
	read_message(check, wire_of(field), read_type_field, number);
	require(check, number[0] < NAMES_MAX && number[1] < NAMES_MAX);
	use_text(check, MAX(number[0], number[1]));
}

static void read_mapping(struct check *check, const struct wire_field *field,
			 void *context)
{
	uint64_t *id = context;

	switch (field->tag) {
	case TAG_NUMBER(1):
		*id = field->value;
		return;
	case TAG_NUMBER(5):
	case TAG_NUMBER(6):
		use_text(check, field->value);
		return;
	default:
		require(check, field->tag && !(field->tag & 7) &&
				       field->tag <= TAG_NUMBER(10));
	}
}

static void read_function(struct check *check, const struct wire_field *field,
			  void *context)
{
	uint64_t *id = context;

	switch (field->tag) {
	case TAG_NUMBER(1):
		*id = field->value;
		return;
	case TAG_NUMBER(2):
	case TAG_NUMBER(3):
	case TAG_NUMBER(4):
		use_text(check, field->value);
		return;
	default:
		require(check, field->tag == TAG_NUMBER(5));
	}
}

static void read_line(struct check *check, const struct wire_field *field,
		      void *context)
{
	(void)context;
	if (field->tag == TAG_NUMBER(1))
		require(check, has_id(&check->functions, field->value));
	else
		require(check, field->tag == TAG_NUMBER(2));
}

static void read_location(struct check *check, const struct wire_field *field,
			  void *context)
{
	uint64_t *id = context;

	switch (field->tag) {
	case TAG_NUMBER(1):
		*id = field->value;
		return;
	case TAG_NUMBER(2):
		require(check, !field->value ||
				       has_id(&check->mappings, field->value));
		return;
	case TAG_NUMBER(3):
		return;
	case TAG_BYTES(4):
		read_message(check, wire_of(field), read_line, NULL);
		return;
	default:
		check->failed = true;
	}
}

static void read_item(struct check *check, const struct wire_field *field,
		      read_field *read, struct id_set *set)
{
	uint64_t id = 0;

	read_message(check, wire_of(field), read, &id);
	require(check, id && id < IDS_MAX && !has_id(set, id));
	if (!check->failed &&
	    grow_array_zeroed(set->words, set->room, (size_t)(id / 64 + 1)))
		check->failed = true;
	if (!check->failed)
		set->words[id / 64] |= UINT64_C(1) << id % 64;
}

/* --- samples ------------------------------------------------------------- */

struct sample {
	size_t depth, values;
};

static void read_label(struct check *check, const struct wire_field *field,
		       void *context)
{
	(void)context;
	if (field->tag == TAG_NUMBER(1) || field->tag == TAG_NUMBER(2))
		use_text(check, field->value);
	else
		require(check, field->tag == TAG_NUMBER(3));
}

static void read_sample_field(struct check *check,
			      const struct wire_field *field, void *context)
{
	struct sample *sample = context;

	if (field->tag == TAG_BYTES(1)) {
		struct wire wire = wire_of(field);
		uint64_t id;

		while (!check->failed && wire_varint(&wire, &id)) {
			require(check, has_id(&check->locations, id));
			sample->depth++;
		}
		require(check, wire.at == wire.end);
	} else if (field->tag == TAG_BYTES(2)) {
		struct wire values = wire_of(field);
		uint64_t value;

		while (wire_varint(&values, &value))
			sample->values++;
		require(check, values.at == values.end);
	} else if (field->tag == TAG_BYTES(3))
		read_message(check, wire_of(field), read_label, NULL);
	else
		check->failed = true;
}

static void read_sample(struct check *check, const struct wire_field *field)
{
	struct sample sample = { 0 };

	read_message(check, wire_of(field), read_sample_field, &sample);
	require(check, sample.depth && sample.depth <= FIT_DEPTH_MAX &&
			       sample.values == check->types);
	require(check, ++check->samples <= FIT_STACKS_MAX);
}

/* --- the profile --------------------------------------------------------- */

static void read_other(struct check *check, const struct wire_field *field)
{
	switch (field->tag) {
	case TAG_BYTES(1):
		read_type(check, field);
		check->types++;
		return;
	case TAG_BYTES(3):
		read_item(check, field, read_mapping, &check->mappings);
		return;
	case TAG_BYTES(5):
		read_item(check, field, read_function, &check->functions);
		return;
	case TAG_BYTES(6): {
		const char *text = (const char *)field->bytes;
		const size_t count = (size_t)field->value;

		/* Push leaves out these labels, wherever a profile uses their
		 * names. */
		require(check,
			(check->strings || !count) &&
				!(count == 3 && (!memcmp(text, "pid", 3) ||
						 !memcmp(text, "tid", 3))));
		require(check, count <= TEXT_BYTES_MAX &&
				       !memchr(text, 0, count) &&
				       utf8_valid_bytes(text, count) == count);
		if (check->strings < NAMES_MAX)
			check->names[check->strings] = *field;
		check->strings++;
		return;
	}
	case TAG_NUMBER(9):
		check->has_time = (int64_t)field->value > 0;
		return;
	case TAG_NUMBER(10):
		check->has_duration = (int64_t)field->value > 0;
		return;
	case TAG_BYTES(11):
		require(check, !check->has_period);
		check->period = check->name_count;
		check->has_period = true;
		read_type(check, field);
		return;
	case TAG_NUMBER(12):
		return;
	case TAG_BYTES(13): {
		struct wire wire = wire_of(field);
		uint64_t number;

		while (wire_varint(&wire, &number))
			use_text(check, number);
		require(check, wire.at == wire.end);
		return;
	}
	case TAG_NUMBER(14):
		use_text(check, field->value);
		return;
	default:
		check->failed = true;
	}
}

static void read_field_of_pass(struct check *check,
			       const struct wire_field *field, void *context)
{
	const enum pass pass = field->tag == TAG_BYTES(2)   ? PASS_SAMPLES
			       : field->tag == TAG_BYTES(4) ? PASS_LOCATIONS
							    : PASS_OTHERS;

	(void)context;
	if (pass != check->pass)
		return;
	if (pass == PASS_SAMPLES)
		read_sample(check, field);
	else if (pass == PASS_LOCATIONS)
		read_item(check, field, read_location, &check->locations);
	else
		read_other(check, field);
}

static bool is_name(const struct check *check, uint64_t number,
		    const char *name)
{
	const struct wire_field *text = &check->names[number];

	return text->value == strlen(name) &&
	       !memcmp(text->bytes, name, (size_t)text->value);
}

static bool has_period(const struct check *check,
		       const struct pprof_type *period)
{
	const uint64_t *used = &check->names_used[check->period];

	if (check->failed || !check->has_period)
		return !*period->type;
	return is_name(check, used[0], period->type) &&
	       is_name(check, used[1], period->unit);
}

bool pprof_fits(const uint8_t *bytes, size_t count,
		const struct pprof_type *period)
{
	const struct wire wire = { bytes, bytes + count };
	struct check check = { 0 };

	require(&check, count <= PPROF_BYTES_MAX);
	for (; check.pass < PASSES; check.pass++)
		read_message(&check, wire, read_field_of_pass, NULL);
	require(&check, check.types && check.types <= PPROF_VALUES_MAX &&
				check.has_time && check.has_duration &&
				check.text_max < check.strings);
	/* Pyroscope refuses a '-' in the names of types. */
	for (size_t i = 0; i < check.name_count && !check.failed; i++) {
		const struct wire_field *text =
			&check.names[check.names_used[i]];

		require(&check, !memchr(text->bytes, '-', (size_t)text->value));
	}
	require(&check, has_period(&check, period));
	free(check.mappings.words);
	free(check.functions.words);
	free(check.locations.words);
	return !check.failed;
}
