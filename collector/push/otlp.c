/* SPDX-License-Identifier: Apache-2.0
 *
 * otlp - OpenTelemetry's profiles over HTTP, v1development.
 *
 * A resource with its profiles is packed at once, as a request of its own, and
 * the dictionary (otlp_dictionary.h) at the end: protobuf lets a message be
 * written as several that follow each other.
 */
#include "collector/push/protocol.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collector/push/otlp_dictionary.h"
#include "collector/push/pack.h"
#include "collector/push/texts.h"
#include "proto/otlp.pb-c.h"
#include "shared/compiler.h"

/* --- labels of samples --------------------------------------------------- */

static bool parse_hex(const char *text, uint8_t *out, size_t count)
{
	if (strlen(text) != 2 * count ||
	    strspn(text, "0123456789abcdefABCDEF") != 2 * count)
		return false;
	for (size_t i = 0; i < count; i++) {
		const char pair[] = { text[2 * i], text[2 * i + 1], 0 };

		out[i] = (uint8_t)strtoul(pair, NULL, 16);
	}
	return true;
}

/* Whether @label is a part of a link, which it is put into. */
static bool take_link(const struct pprof_label *label, struct otlp_link *link)
{
	if (!strcmp(label->key, "trace_id"))
		return parse_hex(label->text, link->trace_id,
				 OTLP_TRACE_ID_BYTES);
	if (!strcmp(label->key, "span_id"))
		return parse_hex(label->text, link->span_id,
				 OTLP_SPAN_ID_BYTES);
	return false;
}

static const char *attribute_key(const char *key)
{
	if (!strcmp(key, "thread"))
		return "thread.name";
	if (!strcmp(key, "tid"))
		return "thread.id";
	if (!strcmp(key, "process"))
		return "process.executable.name";
	return strcmp(key, "pid") ? key : "process.pid";
}

/* --- a profile of one type of value -------------------------------------- */

struct shared {
	const struct pprof *from;
	uint32_t *locations; /* number of each, if a stack has it */
	uint32_t *stacks, *links; /* of each sample */
	int32_t *attributes; /* of all samples */
	uint32_t *attribute_counts;
	/* Filled anew for each type. */
	Otlp__Sample *samples, **sample_list;
};

/* Puts the numbers of the attributes of @from to @to, and sets *@link. Returns
 * how many attributes there are. */
static uint32_t add_sample_labels(struct otlp *otlp,
				  const struct pprof_sample *from, int32_t *to,
				  uint32_t *link)
{
	static const struct otlp_link none;
	struct otlp_link one = none;
	uint32_t count = 0;

	for (uint32_t i = 0; i < from->label_count; i++) {
		const struct pprof_label *label = &from->labels[i];

		if (!take_link(label, &one))
			to[count++] = (int32_t)otlp_add_attribute(
				otlp, attribute_key(label->key), label->text,
				label->number);
	}
	*link = memcmp(&one, &none, sizeof(one)) ? otlp_add_link(otlp, &one)
						 : 0;
	return count;
}

static int make_shared(struct otlp *otlp, const struct pprof *from,
		       struct shared *out)
{
	size_t labels = 0, at = 0;

	for (size_t i = 0; i < from->sample_count; i++)
		labels += from->samples[i].label_count;
	*out = (struct shared){ .from = from };
	if (!NEW(out->locations, from->location_count) ||
	    !NEW(out->stacks, from->sample_count) ||
	    !NEW(out->links, from->sample_count) ||
	    !NEW(out->attributes, labels) ||
	    !NEW(out->attribute_counts, from->sample_count) ||
	    !NEW(out->samples, from->sample_count) ||
	    !NEW(out->sample_list, from->sample_count))
		return -ENOMEM;
	for (size_t i = 0; i < from->sample_count; i++) {
		const struct pprof_sample *sample = &from->samples[i];

		for (uint32_t j = 0; j < sample->depth; j++) {
			uint32_t *location = &out->locations[sample->stack[j]];

			if (!*location)
				*location = otlp_add_location(otlp, from,
							      sample->stack[j]);
		}
		out->stacks[i] = otlp_add_stack(otlp, sample, out->locations);
		out->attribute_counts[i] = add_sample_labels(
			otlp, sample, out->attributes + at, &out->links[i]);
		at += out->attribute_counts[i];
	}
	return otlp_error(otlp);
}

static void set_type(struct otlp *otlp, const struct pprof_type *type,
		     Otlp__ValueType *out)
{
	otlp__value_type__init(out);
	SET(out, type_strindex, (int32_t)otlp_add_text(otlp, type->type));
	SET(out, unit_strindex, (int32_t)otlp_add_text(otlp, type->unit));
}

static size_t set_samples(const struct shared *shared, size_t type)
{
	int32_t *attributes = shared->attributes;
	size_t count = 0;

	for (size_t i = 0; i < shared->from->sample_count; i++) {
		struct pprof_sample *from = &shared->from->samples[i];
		Otlp__Sample *to = &shared->samples[count];

		if (from->value[type]) {
			otlp__sample__init(to);
			SET(to, stack_index, (int32_t)shared->stacks[i]);
			SET(to, link_index, (int32_t)shared->links[i]);
			to->attribute_indices = attributes;
			to->n_attribute_indices = shared->attribute_counts[i];
			to->values = &from->value[type];
			to->n_values = 1;
			shared->sample_list[count++] = to;
		}
		attributes += shared->attribute_counts[i];
	}
	return count;
}

/* --- a resource ---------------------------------------------------------- */

struct resource {
	Otlp__KeyValue *attributes, **attribute_list;
	Otlp__AnyValue *values;
	char **texts; /* by attribute: key and value, valid UTF-8 */
	Otlp__Resource out;
};

static int put_attribute(struct resource *resource, const char *name,
			 const char *value)
{
	const size_t at = resource->out.n_attributes;
	Otlp__KeyValue *pair = &resource->attributes[at];
	Otlp__AnyValue *any = &resource->values[at];
	char **texts = &resource->texts[2 * at];

	texts[0] = texts_clean(name, strlen(name), LABEL_NAME_BYTES);
	if (!texts[0])
		return -ENOMEM;
	texts[1] = texts_clean(value, strlen(value), LABEL_VALUE_BYTES);
	if (!texts[1])
		return -ENOMEM;
	otlp__key_value__init(pair);
	otlp__any_value__init(any);
	pair->key = texts[0];
	pair->value = any;
	any->string_value = texts[1];
	resource->attribute_list[at] = pair;
	resource->out.n_attributes++;
	return 0;
}

static int make_resource(const struct push_window *window, struct resource *out)
{
	const size_t count = window->attribute_count + 1;
	int err;

	*out = (struct resource){ 0 };
	otlp__resource__init(&out->out);
	if (!NEW(out->attributes, count) || !NEW(out->attribute_list, count) ||
	    !NEW(out->values, count) || !NEW(out->texts, 2 * count))
		return -ENOMEM;
	out->out.attributes = out->attribute_list;
	err = put_attribute(out, "service.name", window->service);
	for (size_t i = 0; i < window->attribute_count && !err; i++)
		err = put_attribute(out, window->attributes[i].name,
				    window->attributes[i].value);
	return err;
}

/* Appends a request that has @profile alone. */
static int put_profile(struct bytes *body, struct resource *resource,
		       Otlp__Profile *profile)
{
	Otlp__InstrumentationScope scope = OTLP__INSTRUMENTATION_SCOPE__INIT;
	Otlp__ScopeProfiles profiles = OTLP__SCOPE_PROFILES__INIT;
	Otlp__ScopeProfiles *profiles_list = &profiles;
	Otlp__ResourceProfiles one = OTLP__RESOURCE_PROFILES__INIT;
	Otlp__ResourceProfiles *one_list = &one;
	Otlp__ExportProfilesServiceRequest request =
		OTLP__EXPORT_PROFILES_SERVICE_REQUEST__INIT;
	uint8_t *to;

	scope.name = (char *)(uintptr_t) "perfrec";
	scope.version = (char *)(uintptr_t)PERFREC_VERSION;
	profiles.scope = &scope;
	profiles.profiles = &profile;
	profiles.n_profiles = 1;
	one.resource = &resource->out;
	one.scope_profiles = &profiles_list;
	one.n_scope_profiles = 1;
	request.resource_profiles = &one_list;
	request.n_resource_profiles = 1;
	to = bytes_add(body,
		       otlp__export_profiles_service_request__get_packed_size(
			       &request));
	if (!to)
		return -ENOMEM;
	otlp__export_profiles_service_request__pack(&request, to);
	return 0;
}

static int put_type(struct message *message, struct resource *resource,
		    const struct shared *shared,
		    const struct push_window *window, size_t kind, size_t type)
{
	const struct pprof *from = shared->from;
	struct otlp *otlp = message->otlp;
	Otlp__Profile profile = OTLP__PROFILE__INIT;
	Otlp__ValueType sample_type, period_type;
	int32_t *attributes;
	uint8_t id[16];
	int err;

	profile.n_samples = set_samples(shared, type);
	profile.samples = shared->sample_list;
	if (!profile.n_samples)
		return 0;
	set_type(otlp, &from->type[type], &sample_type);
	profile.sample_type = &sample_type;
	if (*from->period_type.type) {
		set_type(otlp, &from->period_type, &period_type);
		profile.period_type = &period_type;
		SET(&profile, period,
		    (int64_t)MIN(from->period, (uint64_t)INT64_MAX));
	}
	SET(&profile, time_unix_nano, from->time_ns);
	SET(&profile, duration_nano, from->duration_ns);
	window_id(window, kind, (uint32_t)type, id);
	profile.has_profile_id = 1;
	profile.profile_id.data = id;
	profile.profile_id.len = sizeof(id);
	if (!NEW(attributes, from->comment_count))
		return -ENOMEM;
	for (size_t i = 0; i < from->comment_count; i++)
		if (*from->comments[i])
			attributes[profile.n_attribute_indices++] =
				(int32_t)otlp_add_attribute(
					otlp, "pprof.profile.comment",
					from->comments[i], 0);
	profile.attribute_indices = attributes;
	err = otlp_error(otlp)
		      ? otlp_error(otlp)
		      : put_profile(&message->body, resource, &profile);
	free(attributes);
	return err;
}

static void free_shared(struct shared *shared)
{
	free(shared->locations);
	free(shared->stacks);
	free(shared->links);
	free(shared->attributes);
	free(shared->attribute_counts);
	free(shared->samples);
	free(shared->sample_list);
}

static int put_types(struct message *message, struct resource *resource,
		     const struct push_window *window, size_t kind)
{
	struct fitted fitted;
	struct shared shared;
	int err = fit_make(window->profiles[kind], FIT_STACKS_MAX,
			   message->with_pid, &fitted);

	if (err)
		return err;
	message->fitted.merged += fitted.counts.merged;
	message->fitted.cut += fitted.counts.cut;
	err = make_shared(message->otlp, &fitted.view, &shared);
	for (size_t i = 0; i < fitted.view.type_count && !err; i++)
		err = put_type(message, resource, &shared, window, kind, i);
	free_shared(&shared);
	fit_free(&fitted);
	return err;
}

/* --- the message --------------------------------------------------------- */

static void free_resource(struct resource *resource)
{
	for (size_t i = 0; resource->texts && resource->texts[i]; i++)
		free(resource->texts[i]);
	free(resource->texts);
	free(resource->attributes);
	free(resource->attribute_list);
	free(resource->values);
}

static int add_otlp_profile(struct message *message,
			    const struct push_window *window, size_t kind)
{
	struct resource resource;
	int err = message->otlp ? 0 : otlp_new(&message->otlp);

	if (err)
		return err;
	err = make_resource(window, &resource);
	if (!err)
		err = put_types(message, &resource, window, kind);
	free_resource(&resource);
	return err;
}

static int finish_otlp(struct message *message)
{
	snprintf(message->content_type, sizeof(message->content_type),
		 "application/x-protobuf");
	return message->otlp
		       ? otlp_put_dictionary(message->otlp, &message->body)
		       : -ENOMEM;
}

bool otlp_rejected(const void *answer, size_t count, uint64_t *rejected,
		   char *text, size_t room)
{
	Otlp__ExportProfilesServiceResponse *response =
		otlp__export_profiles_service_response__unpack(NULL, count,
							       answer);
	const Otlp__ExportProfilesPartialSuccess *partial =
		response ? response->partial_success : NULL;

	*rejected = 0;
	*text = 0;
	if (partial) {
		*rejected =
			(uint64_t)MAX(partial->rejected_profiles, (int64_t)0);
		if (partial->error_message)
			snprintf(text, room, "%s", partial->error_message);
	}
	if (response)
		otlp__export_profiles_service_response__free_unpacked(response,
								      NULL);
	return response;
}

/* Unpacked files of a window are about ten times as large. */
const struct protocol protocol_otlp = {
	.scheme = "otlp",
	.server = "OpenTelemetry",
	.path = "/v1development/profiles",
	.batch_max = 512,
	.batch_bytes = 512u << 10,
	.gzip = true,
	.add = add_otlp_profile,
	.finish = finish_otlp,
};
