/* SPDX-License-Identifier: Apache-2.0
 *
 * protobuf-c packs one message, whose parts are arrays that were counted first.
 * Only mappings, functions and locations that a stack refers to are written.
 */
#include "collector/push/pprof_pack.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "collector/push/gzip.h"
#include "collector/push/pack.h"
#include "collector/push/texts.h"
#include "proto/profile.pb-c.h"
#include "shared/compiler.h"

typedef Perftools__Profiles__Profile pb_profile;
typedef Perftools__Profiles__ValueType pb_type;
typedef Perftools__Profiles__Sample pb_sample;
typedef Perftools__Profiles__Label pb_label;
typedef Perftools__Profiles__Mapping pb_mapping;
typedef Perftools__Profiles__Location pb_location;
typedef Perftools__Profiles__Line pb_line;
typedef Perftools__Profiles__Function pb_function;

struct pack {
	const struct pprof *from;
	struct texts texts;
	pb_profile out;
	/* By index in @from: the id in the message, or 0. */
	uint64_t *mapping_ids, *function_ids, *location_ids;
	pb_type types[PPROF_VALUES_MAX + 1];
	pb_type *type_pointers[PPROF_VALUES_MAX];
	pb_sample *samples;
	pb_label *labels;
	pb_mapping *mappings;
	pb_location *locations;
	pb_line *lines;
	pb_function *functions;
	pb_label **label_pointers;
	pb_line **line_pointers;
	uint64_t *ids; /* of all stacks */
};

static int64_t pack_text(struct pack *pack, const char *text)
{
	return texts_number(&pack->texts, text);
}

/* The name of a type, which Pyroscope refuses if it has a '-'. */
static int64_t pack_type_name(struct pack *pack, const char *name)
{
	char *clean = texts_clean(name, strlen(name), TEXT_BYTES_MAX);
	int64_t number = 0;

	if (!clean) {
		pack->texts.err = -ENOMEM;
		return 0;
	}
	for (char *at = clean; *at; at++)
		if (*at == '-')
			*at = '_';
	number = pack_text(pack, clean);
	free(clean);
	return number;
}

static void pack_type(struct pack *pack, const struct pprof_type *type,
		      pb_type *out)
{
	perftools__profiles__value_type__init(out);
	SET(out, type, pack_type_name(pack, type->type));
	SET(out, unit, pack_type_name(pack, type->unit));
}

/* --- room ---------------------------------------------------------------- */

struct sizes {
	size_t labels, lines, frames;
};

static struct sizes count_parts(const struct pprof *from)
{
	struct sizes sizes = { 0 };

	for (size_t i = 0; i < from->sample_count; i++) {
		sizes.labels += from->samples[i].label_count;
		sizes.frames += from->samples[i].depth;
	}
	for (size_t i = 0; i < from->location_count; i++)
		sizes.lines += from->locations[i].line_count;
	return sizes;
}

static bool allocate_parts(struct pack *pack)
{
	const struct pprof *from = pack->from;
	const struct sizes sizes = count_parts(from);
	pb_profile *out = &pack->out;

	return NEW(pack->mapping_ids, from->mapping_count) &&
	       NEW(pack->function_ids, from->function_count) &&
	       NEW(pack->location_ids, from->location_count) &&
	       NEW(pack->samples, from->sample_count) &&
	       NEW(out->sample, from->sample_count) &&
	       NEW(pack->labels, sizes.labels) &&
	       NEW(pack->label_pointers, sizes.labels) &&
	       NEW(pack->mappings, from->mapping_count) &&
	       NEW(out->mapping, from->mapping_count) &&
	       NEW(pack->functions, from->function_count) &&
	       NEW(out->function, from->function_count) &&
	       NEW(pack->locations, from->location_count) &&
	       NEW(out->location, from->location_count) &&
	       NEW(pack->lines, sizes.lines) &&
	       NEW(pack->line_pointers, sizes.lines) &&
	       NEW(pack->ids, sizes.frames) &&
	       NEW(out->comment, from->comment_count);
}

static void free_room(struct pack *pack)
{
	pb_profile *out = &pack->out;
	void *const all[] = {
		pack->mapping_ids, pack->function_ids,	 pack->location_ids,
		pack->samples,	   out->sample,		 pack->labels,
		pack->mappings,	   pack->label_pointers, out->mapping,
		pack->functions,   out->function,	 pack->locations,
		out->location,	   pack->lines,		 pack->line_pointers,
		pack->ids,	   out->comment,
	};

	for (size_t i = 0; i < ARRAY_SIZE(all); i++)
		free(all[i]);
	texts_release(&pack->texts);
}

/* --- parts --------------------------------------------------------------- */

static uint64_t pack_mapping(struct pack *pack, uint32_t index)
{
	const struct pprof_mapping *one;
	pb_mapping *mapping;

	if (index == PPROF_NONE)
		return 0;
	if (pack->mapping_ids[index])
		return pack->mapping_ids[index];
	one = &pack->from->mappings[index];
	mapping = &pack->mappings[pack->out.n_mapping];
	perftools__profiles__mapping__init(mapping);
	pack->out.mapping[pack->out.n_mapping] = mapping;
	SET(mapping, id, ++pack->out.n_mapping);
	SET(mapping, memory_start, one->start);
	SET(mapping, memory_limit, one->end);
	SET(mapping, file_offset, one->offset);
	SET(mapping, filename, pack_text(pack, one->path));
	SET(mapping, build_id, pack_text(pack, one->build_id));
	SET(mapping, has_functions, true);
	return pack->mapping_ids[index] = mapping->id;
}

static uint64_t pack_function(struct pack *pack, uint32_t index)
{
	const struct pprof_function *one = &pack->from->functions[index];
	pb_function *function;

	if (pack->function_ids[index])
		return pack->function_ids[index];
	function = &pack->functions[pack->out.n_function];
	perftools__profiles__function__init(function);
	pack->out.function[pack->out.n_function] = function;
	SET(function, id, ++pack->out.n_function);
	SET(function, name, pack_text(pack, one->name));
	SET(function, system_name, function->name);
	SET(function, filename, pack_text(pack, one->file));
	SET(function, start_line, one->start_line);
	return pack->function_ids[index] = function->id;
}

static uint64_t pack_location(struct pack *pack, uint32_t index)
{
	const struct pprof_location *one = &pack->from->locations[index];
	pb_location *location;

	if (pack->location_ids[index])
		return pack->location_ids[index];
	location = &pack->locations[pack->out.n_location];
	perftools__profiles__location__init(location);
	pack->out.location[pack->out.n_location] = location;
	SET(location, id, ++pack->out.n_location);
	SET(location, mapping_id, pack_mapping(pack, one->mapping));
	SET(location, address, one->address);
	location->line = pack->line_pointers;
	for (uint32_t i = 0; i < one->line_count; i++) {
		pb_line *line = pack->lines++;

		perftools__profiles__line__init(line);
		SET(line, function_id,
		    pack_function(pack, one->lines[i].function));
		SET(line, line, one->lines[i].line);
		*pack->line_pointers++ = line;
	}
	location->n_line = one->line_count;
	return pack->location_ids[index] = location->id;
}

static void pack_sample(struct pack *pack, const struct pprof_sample *one)
{
	pb_sample *sample = &pack->samples[pack->out.n_sample];

	perftools__profiles__sample__init(sample);
	pack->out.sample[pack->out.n_sample++] = sample;
	sample->location_id = pack->ids;
	sample->n_location_id = one->depth;
	for (uint32_t i = 0; i < one->depth; i++)
		*pack->ids++ = pack_location(pack, one->stack[i]);
	sample->value = (int64_t *)(uintptr_t)one->value;
	sample->n_value = pack->from->type_count;
	sample->label = pack->label_pointers;
	sample->n_label = one->label_count;
	for (uint32_t i = 0; i < one->label_count; i++) {
		pb_label *label = pack->labels++;

		perftools__profiles__label__init(label);
		SET(label, key, pack_text(pack, one->labels[i].key));
		if (*one->labels[i].text)
			SET(label, str, pack_text(pack, one->labels[i].text));
		else
			SET(label, num, one->labels[i].number);
		*pack->label_pointers++ = label;
	}
}

static void pack_head(struct pack *pack)
{
	const struct pprof *from = pack->from;
	pb_profile *out = &pack->out;

	for (size_t i = 0; i < from->type_count; i++) {
		pack_type(pack, &from->type[i], &pack->types[i]);
		pack->type_pointers[i] = &pack->types[i];
	}
	out->sample_type = pack->type_pointers;
	out->n_sample_type = from->type_count;
	if (*from->period_type.type) {
		out->period_type = &pack->types[PPROF_VALUES_MAX];
		pack_type(pack, &from->period_type, out->period_type);
	}
	SET(out, period, (int64_t)MIN(from->period, (uint64_t)INT64_MAX));
	SET(out, time_nanos, (int64_t)from->time_ns);
	SET(out, duration_nanos, (int64_t)from->duration_ns);
	for (size_t i = 0; i < from->comment_count; i++)
		out->comment[out->n_comment++] =
			pack_text(pack, from->comments[i]);
}

/* The arrays of parts are walked along, and freed from where they began. */
static void pack_samples(struct pack *pack)
{
	const struct pack begin = *pack;

	for (size_t i = 0; i < pack->from->sample_count; i++)
		pack_sample(pack, &pack->from->samples[i]);
	pack->labels = begin.labels;
	pack->label_pointers = begin.label_pointers;
	pack->lines = begin.lines;
	pack->line_pointers = begin.line_pointers;
	pack->ids = begin.ids;
}

int pprof_pack(const struct pprof *view, struct bytes *out)
{
	struct pack pack = { .from = view };
	int err = -ENOMEM;
	size_t size;
	uint8_t *to;

	texts_init(&pack.texts);
	perftools__profiles__profile__init(&pack.out);
	if (allocate_parts(&pack)) {
		pack_head(&pack);
		pack_samples(&pack);
		pack.out.string_table = pack.texts.list;
		pack.out.n_string_table = pack.texts.count;
		err = pack.texts.err;
	}
	if (!err) {
		size = perftools__profiles__profile__get_packed_size(&pack.out);
		to = bytes_add(out, size);
		err = to ? 0 : -ENOMEM;
		if (to)
			perftools__profiles__profile__pack(&pack.out, to);
	}
	free_room(&pack);
	return err;
}

int pprof_pack_to_fit(const struct pprof *from, bool with_pid,
		      struct bytes *out, struct fit_counts *counts)
{
	struct bytes plain = { 0 };
	struct fitted fitted;
	uint32_t stacks = FIT_STACKS_MAX;
	int err;

	for (;;) {
		err = fit_make(from, stacks, with_pid, &fitted);
		if (err)
			break;
		bytes_clear(&plain);
		err = pprof_pack(&fitted.view, &plain);
		if (!err && plain.count > PPROF_BYTES_MAX)
			err = -EFBIG;
		if (err != -EFBIG || stacks == 1)
			break;
		fit_free(&fitted);
		/* Fewer stacks need fewer names. */
		stacks = MAX(1u,
			     (uint32_t)MIN((uint64_t)stacks / 2,
					   stacks * (uint64_t)PPROF_BYTES_MAX /
						   plain.count));
	}
	if (!err)
		err = gzip_put(plain.at, plain.count, GZIP_USUAL, out);
	if (!err) {
		counts->merged += fitted.counts.merged;
		counts->cut += fitted.counts.cut;
	}
	fit_free(&fitted);
	bytes_release(&plain);
	return err;
}
