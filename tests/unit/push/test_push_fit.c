/* SPDX-License-Identifier: Apache-2.0
 *
 * Limits of perfrec-push: stacks, depth, bytes, and names of labels.
 */
#include <errno.h>

#include "collector/push/fit.h"
#include "collector/push/labels.h"
#include "collector/push/pprof_fits.h"
#include "collector/push/pprof_pack.h"
#include "collector/push/texts.h"
#include "proto/profile.pb-c.h"
#include "tests/random.h"
#include "tests/suite.h"

#define FUNCTIONS 64
#define SAMPLES 4000
#define DEPTH_MAX 700

struct random_profile {
	struct pprof pprof;
	struct pprof_function functions[FUNCTIONS];
	struct pprof_location locations[FUNCTIONS];
	struct pprof_line lines[FUNCTIONS];
	struct pprof_sample samples[SAMPLES];
	uint32_t stacks[SAMPLES][DEPTH_MAX];
	struct pprof_label labels[SAMPLES][3];
	char names[FUNCTIONS][8];
};

static void set_functions(struct random_profile *profile)
{
	for (uint32_t i = 0; i < FUNCTIONS; i++) {
		snprintf(profile->names[i], sizeof(profile->names[i]), "f%u",
			 i);
		profile->functions[i] =
			(struct pprof_function){ .name = profile->names[i],
						 .file = "" };
		profile->lines[i].function = i;
		profile->locations[i] =
			(struct pprof_location){ .module = "",
						 .mapping = PPROF_NONE,
						 .lines = &profile->lines[i],
						 .line_count = 1 };
	}
}

static struct random_profile *make_profile(uint64_t seed, uint32_t depth_max)
{
	struct random_profile *profile = calloc(1, sizeof(*profile));

	ck_assert_ptr_nonnull(profile);
	set_functions(profile);
	profile->pprof = (struct pprof){
		.type = { { "samples-seen", "count" }, { "cpu", "ns" } },
		.type_count = 2,
		.period_type = { "", "" },
		.functions = profile->functions,
		.function_count = FUNCTIONS,
		.locations = profile->locations,
		.location_count = FUNCTIONS,
		.samples = profile->samples,
		.sample_count = SAMPLES,
	};
	for (uint32_t i = 0; i < SAMPLES; i++) {
		struct pprof_sample *sample = &profile->samples[i];

		sample->depth =
			(uint32_t)(next_random(&seed) % (depth_max + 1));
		sample->stack = profile->stacks[i];
		for (uint32_t k = 0; k < sample->depth; k++)
			profile->stacks[i][k] =
				(uint32_t)(next_random(&seed) % FUNCTIONS);
		sample->value[0] = (int64_t)(next_random(&seed) % 10);
		sample->value[1] = (int64_t)(next_random(&seed) % 100000);
		sample->labels = profile->labels[i];
		sample->label_count = (uint32_t)(next_random(&seed) % 4);
		profile->labels[i][0] = (struct pprof_label){
			"thread", next_random(&seed) & 1 ? "a" : "b", 0
		};
		profile->labels[i][1] = (struct pprof_label){
			"pid", "", (int64_t)next_random(&seed) % 1000
		};
		profile->labels[i][2] = (struct pprof_label){
			"tid", "", (int64_t)next_random(&seed) % 1000
		};
	}
	return profile;
}

static int64_t sum_of(const struct pprof *pprof, int type)
{
	int64_t sum = 0;

	for (size_t i = 0; i < pprof->sample_count; i++)
		sum += pprof->samples[i].value[type];
	return sum;
}

static const char *frame_name(const struct pprof *pprof, uint32_t location)
{
	ck_assert_uint_lt(location, pprof->location_count);
	return pprof->functions[pprof->locations[location].lines[0].function]
		.name;
}

TEST(few_stacks_stay_as_they_are)
{
	struct random_profile *from = make_profile(3, 3);
	struct fitted fitted;

	from->pprof.sample_count = 2;
	from->samples[0].depth = 3;
	from->samples[0].label_count = 3;
	from->samples[1] = from->samples[0];
	ck_assert_int_eq(fit_make(&from->pprof, 10, false, &fitted), 0);
	/* Equal stacks with equal labels are merged. */
	ck_assert_uint_eq(fitted.view.sample_count, 1);
	ck_assert_uint_eq(fitted.view.samples[0].depth, 3);
	ck_assert_mem_eq(fitted.view.samples[0].stack, from->stacks[0],
			 3 * sizeof(uint32_t));
	ck_assert_int_eq(fitted.view.samples[0].value[1],
			 2 * from->samples[0].value[1]);
	/* Ids of processes and threads are dropped. */
	ck_assert_uint_eq(fitted.view.samples[0].label_count, 1);
	ck_assert_str_eq(fitted.view.samples[0].labels[0].key, "thread");
	ck_assert_uint_eq(fitted.view.comment_count, 0);
	fit_free(&fitted);
	ck_assert_int_eq(fit_make(&from->pprof, 10, true, &fitted), 0);
	ck_assert_uint_eq(fitted.view.samples[0].label_count, 3);
	fit_free(&fitted);
	free(from);
}

TEST(many_stacks_become_few_with_the_same_sums)
{
	static const uint32_t most[] = { 1, 2, 3, 10, 100, 1000, 3999, 16000 };

	for (uint64_t seed = 1; seed < 4; seed++) {
		struct random_profile *from = make_profile(seed, 6);
		size_t before = 0;

		for (size_t i = 0; i < sizeof(most) / sizeof(*most); i++) {
			struct fitted fitted;

			ck_assert_int_eq(
				fit_make(&from->pprof, most[i], false, &fitted),
				0);
			ck_assert_uint_le(fitted.view.sample_count, most[i]);
			ck_assert_uint_ge(fitted.view.sample_count, before);
			before = fitted.view.sample_count;
			ck_assert_int_eq(sum_of(&fitted.view, 0),
					 sum_of(&from->pprof, 0));
			ck_assert_int_eq(sum_of(&fitted.view, 1),
					 sum_of(&from->pprof, 1));
			ck_assert_uint_eq(fitted.view.comment_count,
					  fitted.counts.merged > 0);
			fit_free(&fitted);
		}
		free(from);
	}
}

/* The small stack's parent is a third stack, so the next one follows. */
TEST(the_smallest_stacks_meet_in_their_parent)
{
	struct random_profile *from = make_profile(5, 1);
	static const uint32_t stacks[3][3] = { { 2, 1, 0 },
					       { 3, 1, 0 },
					       { 4, 1, 0 } };
	static const int64_t values[3] = { 1000, 7, 2000 };
	struct fitted fitted;

	from->pprof.sample_count = 3;
	for (int i = 0; i < 3; i++) {
		from->samples[i] =
			(struct pprof_sample){ .stack = stacks[i], .depth = 3 };
		from->samples[i].value[1] = values[i];
	}
	ck_assert_int_eq(fit_make(&from->pprof, 2, false, &fitted), 0);
	ck_assert_uint_eq(fitted.view.sample_count, 2);
	for (size_t i = 0; i < 2; i++) {
		const struct pprof_sample *one = &fitted.view.samples[i];

		if (one->depth == 2) {
			ck_assert_int_eq(one->value[1], 1007);
			ck_assert_mem_eq(one->stack, stacks[0] + 1,
					 2 * sizeof(uint32_t));
		} else {
			ck_assert_int_eq(one->value[1], 2000);
			ck_assert_mem_eq(one->stack, stacks[2],
					 3 * sizeof(uint32_t));
		}
	}
	ck_assert_str_eq(fitted.view.comments[0],
			 "perfrec: 2 small stacks were added to their parent "
			 "frames");
	fit_free(&fitted);
	free(from);
}

TEST(deep_stacks_are_cut_in_the_middle)
{
	struct random_profile *from = make_profile(9, DEPTH_MAX);
	struct fitted fitted;
	struct pprof_sample *one;

	from->pprof.sample_count = 2;
	from->samples[0].depth = FIT_DEPTH_MAX;
	from->samples[1].depth = DEPTH_MAX;
	from->samples[0].label_count = from->samples[1].label_count = 0;
	ck_assert_int_eq(fit_make(&from->pprof, 10, false, &fitted), 0);
	ck_assert_uint_eq(fitted.counts.cut, 1);
	ck_assert_uint_eq(fitted.view.sample_count, 2);
	one = &fitted.view.samples[0];
	ck_assert_mem_eq(one->stack, from->stacks[0],
			 FIT_DEPTH_MAX * sizeof(uint32_t));
	one = &fitted.view.samples[1];
	ck_assert_uint_eq(one->depth, FIT_DEPTH_MAX);
	ck_assert_mem_eq(one->stack, from->stacks[1], 255 * sizeof(uint32_t));
	ck_assert_str_eq(frame_name(&fitted.view, one->stack[255]),
			 FIT_CUT_FRAME);
	ck_assert_mem_eq(one->stack + 256, from->stacks[1] + DEPTH_MAX - 256,
			 256 * sizeof(uint32_t));
	fit_free(&fitted);
	free(from);
}

TEST(packed_profiles_can_be_read)
{
	struct random_profile *from = make_profile(11, 6);
	struct bytes bytes = { 0 };
	struct fitted fitted;
	Perftools__Profiles__Profile *got;
	int64_t sum = 0;

	memcpy(from->names[1], "f\xff\xc3(", 5);
	ck_assert_int_eq(fit_make(&from->pprof, 100, false, &fitted), 0);
	ck_assert_int_eq(pprof_pack(&fitted.view, &bytes), 0);
	got = perftools__profiles__profile__unpack(NULL, bytes.count, bytes.at);
	ck_assert_ptr_nonnull(got);
	ck_assert_str_eq(got->string_table[0], "");
	ck_assert_str_eq(got->string_table[got->sample_type[0]->type],
			 "samples_seen");
	ck_assert_uint_eq(got->n_sample, fitted.view.sample_count);
	for (size_t i = 0; i < got->n_sample; i++)
		sum += got->sample[i]->value[1];
	ck_assert_int_eq(sum, sum_of(&from->pprof, 1));
	for (size_t i = 0; i < got->n_string_table; i++)
		ck_assert_ptr_null(strchr(got->string_table[i], '\xff'));
	perftools__profiles__profile__free_unpacked(got, NULL);
	fit_free(&fitted);
	bytes_release(&bytes);
	free(from);
}

static bool packed_fits(const struct pprof *view, const char *period)
{
	const struct pprof_type type = { period, *period ? "nanoseconds" : "" };
	struct bytes bytes = { 0 };
	bool fits;

	ck_assert_int_eq(pprof_pack(view, &bytes), 0);
	fits = pprof_fits(bytes.at, bytes.count, &type);
	bytes_release(&bytes);
	return fits;
}

static struct random_profile *make_fitting(void)
{
	struct random_profile *from = make_profile(13, FIT_DEPTH_MAX);

	from->pprof.time_ns = from->pprof.duration_ns = 1;
	for (uint32_t i = 0; i < SAMPLES; i++) {
		from->samples[i].depth += !from->samples[i].depth;
		from->samples[i].label_count =
			MIN(from->samples[i].label_count, 1u);
	}
	return from;
}

TEST(what_fits_is_sent_as_it_is)
{
	static struct pprof_sample many[FIT_STACKS_MAX + 1];
	struct random_profile *from = make_fitting();
	struct pprof *pprof = &from->pprof;

	ck_assert(packed_fits(pprof, ""));
	ck_assert(!packed_fits(pprof, "cpu"));
	pprof->period_type = (struct pprof_type){ "cpu", "nanoseconds" };
	ck_assert(packed_fits(pprof, "cpu"));
	ck_assert(!packed_fits(pprof, "wall"));
	ck_assert(!packed_fits(pprof, ""));
	from->samples[7].depth = FIT_DEPTH_MAX + 1;
	ck_assert(!packed_fits(pprof, "cpu"));
	from->samples[7].depth = 0;
	ck_assert(!packed_fits(pprof, "cpu"));
	from->samples[7].depth = 1;
	from->samples[7].label_count = 2; /* pid */
	ck_assert(!packed_fits(pprof, "cpu"));
	from->samples[7].label_count = 1;
	pprof->time_ns = 0;
	ck_assert(!packed_fits(pprof, "cpu"));
	pprof->time_ns = 1;
	ck_assert(packed_fits(pprof, "cpu"));
	for (size_t i = 0; i < ARRAY_SIZE(many); i++)
		many[i] = from->samples[7];
	pprof->samples = many;
	pprof->sample_count = FIT_STACKS_MAX;
	ck_assert(packed_fits(pprof, "cpu"));
	pprof->sample_count++;
	ck_assert(!packed_fits(pprof, "cpu"));
	free(from);
}

TEST(damaged_profiles_do_not_fit)
{
	struct random_profile *from = make_fitting();
	const struct pprof_type none = { "", "" };
	struct bytes bytes = { 0 };
	uint64_t seed = 17;

	from->pprof.sample_count = 20;
	ck_assert_int_eq(pprof_pack(&from->pprof, &bytes), 0);
	for (int i = 0; i < 5000; i++) {
		const size_t at = (size_t)(next_random(&seed) % bytes.count);
		const uint8_t before = bytes.at[at];
		Perftools__Profiles__Profile *got;

		bytes.at[at] = (uint8_t)next_random(&seed);
		if (pprof_fits(bytes.at, bytes.count, &none)) {
			got = perftools__profiles__profile__unpack(
				NULL, bytes.count, bytes.at);
			ck_assert_ptr_nonnull(got);
			ck_assert_str_eq(got->string_table[0], "");
			for (size_t k = 0; k < got->n_function; k++)
				ck_assert_uint_lt(
					(uint64_t)got->function[k]->name,
					got->n_string_table);
			perftools__profiles__profile__free_unpacked(got, NULL);
		}
		bytes.at[at] = before;
	}
	ck_assert(pprof_fits(bytes.at, bytes.count, &none));
	bytes.at[bytes.count - 1] |= 0x80; /* the last varint does not end */
	ck_assert(!pprof_fits(bytes.at, bytes.count, &none));
	ck_assert(!pprof_fits(bytes.at, 0, &none));
	/* Pyroscope refuses such a type. */
	bytes_clear(&bytes);
	ck_assert_int_eq(pprof_pack(&from->pprof, &bytes), 0);
	*(char *)memmem(bytes.at, bytes.count, "samples_seen", 12) = '-';
	ck_assert(!pprof_fits(bytes.at, bytes.count, &none));
	bytes_release(&bytes);
	free(from);
}

TEST(labels_are_made_valid)
{
	struct labels labels = { 0 };
	char *value = malloc(3001), name[32];

	memset(value, 'v', 3000);
	value[3000] = 0;
	/* A two-byte character crosses the limit. */
	memcpy(value + LABEL_VALUE_BYTES - 1, "\xc3\xbc", 2);
	ck_assert_int_eq(labels_add(&labels, "host.name", "a\xff"), 0);
	ck_assert_int_eq(labels_add(&labels, "1st-\xc3\xbc", value), 0);
	ck_assert_int_eq(labels_add(&labels, "host_name", "again"), 0);
	ck_assert_int_eq(labels_add(&labels, "empty", ""), 0);
	ck_assert_int_eq(labels_add(&labels, "", "x"), 0);
	ck_assert_uint_eq(labels.count, 3);
	ck_assert_str_eq(labels.list[0].name, "host_name");
	ck_assert_str_eq(labels.list[0].value, "a?");
	ck_assert_str_eq(labels.list[1].name, "_1st___");
	ck_assert_uint_eq(strlen(labels.list[1].value), LABEL_VALUE_BYTES - 1);
	ck_assert_str_eq(labels.list[2].name, "_");
	ck_assert_int_eq(labels_add(&labels, value, "long"), 0);
	ck_assert_uint_lt(strlen(labels.list[3].name), LABEL_NAME_BYTES);
	for (int i = 0; i < 40; i++) {
		snprintf(name, sizeof(name), "n%d", i);
		ck_assert_int_eq(labels_add(&labels, name, "x"), 0);
	}
	ck_assert_uint_eq(labels.count, LABELS_MAX);
	ck_assert_uint_eq(labels.dropped, 40 + 4 - LABELS_MAX);
	labels_release(&labels);
	free(value);
}

TEST(texts_are_kept_once)
{
	struct texts texts;
	char text[] = "one";

	texts_init(&texts);
	ck_assert_uint_eq(texts_number(&texts, ""), 0);
	ck_assert_uint_eq(texts_number(&texts, text), 1);
	memcpy(text, "two", 3);
	ck_assert_uint_eq(texts_number(&texts, text), 2);
	ck_assert_uint_eq(texts_number(&texts, "one"), 1);
	ck_assert_uint_eq(texts_number(&texts, "\xff"), 3);
	ck_assert_uint_eq(texts_number(&texts, "\xff"), 3);
	ck_assert_str_eq(texts.list[3], "?");
	ck_assert_uint_eq(texts.count, 4);
	ck_assert_int_eq(texts.err, 0);
	texts_release(&texts);
}
