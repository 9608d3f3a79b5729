/* SPDX-License-Identifier: Apache-2.0
 *
 * profile_back - reads a profile that a test has written, through gunzip and
 * protobuf, and looks up its samples.
 */
#ifndef PERFREC_TESTS_UNIT_PROFILE_BACK_H
#define PERFREC_TESTS_UNIT_PROFILE_BACK_H

#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <zlib.h>

#include "proto/profile.pb-c.h"
#include "tests/suite.h"

#define PB_FILE_BYTES (64 << 20)

typedef Perftools__Profiles__Profile pb_profile;
typedef Perftools__Profiles__Sample pb_sample;

/* Reads profile @name below @dir_fd. The caller frees it with pb_free(). */
static inline pb_profile *pb_read(int dir_fd, const char *name)
{
	static uint8_t bytes[PB_FILE_BYTES];
	gzFile file = gzdopen(openat(dir_fd, name, O_RDONLY), "r");
	pb_profile *profile;
	int size;

	ck_assert_ptr_nonnull(file);
	size = gzread(file, bytes, sizeof(bytes));
	ck_assert_int_gt(size, 0);
	ck_assert_int_lt(size, PB_FILE_BYTES);
	gzclose(file);
	profile =
		perftools__profiles__profile__unpack(NULL, (size_t)size, bytes);
	ck_assert_ptr_nonnull(profile);
	return profile;
}

static inline void pb_free(pb_profile **profile)
{
	if (*profile)
		perftools__profiles__profile__free_unpacked(*profile, NULL);
	*profile = NULL;
}

static inline const char *pb_string(const pb_profile *profile, int64_t number)
{
	ck_assert_int_ge(number, 0);
	ck_assert_int_lt(number, (int64_t)profile->n_string_table);
	return profile->string_table[number];
}

static inline bool pb_has_comment(const pb_profile *profile, const char *text)
{
	for (size_t i = 0; i < profile->n_comment; i++)
		if (strstr(pb_string(profile, profile->comment[i]), text))
			return true;
	return false;
}

/* Returns the outermost function at @location, so never an inlined one. */
static inline const char *pb_function_name(const pb_profile *profile,
					   uint64_t location)
{
	const Perftools__Profiles__Location *at =
		profile->location[location - 1];
	uint64_t function = at->line[at->n_line - 1]->function_id;

	return pb_string(profile, profile->function[function - 1]->name);
}

/* Returns the innermost eight functions as "c b a", in a static buffer. */
static inline const char *pb_stack_text(const pb_profile *profile,
					const pb_sample *sample)
{
	static char text[4096];

	text[0] = '\0';
	for (size_t i = 0; i < sample->n_location_id && i < 8; i++) {
		strcat(text, i ? " " : "");
		strcat(text, pb_function_name(profile, sample->location_id[i]));
	}
	return text;
}

/* Returns the only sample with this stack. */
static inline const pb_sample *pb_sample_of(const pb_profile *profile,
					    const char *stack)
{
	const pb_sample *found = NULL;

	for (size_t i = 0; i < profile->n_sample; i++) {
		if (strcmp(pb_stack_text(profile, profile->sample[i]), stack))
			continue;
		ck_assert_ptr_null(found);
		found = profile->sample[i];
	}
	ck_assert_msg(found != NULL, "no sample '%s'", stack);
	return found;
}

#endif
