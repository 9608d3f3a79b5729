/* SPDX-License-Identifier: Apache-2.0
 *
 * The track of a critical path with more calls than it shows.
 */
#include "collector/export/path_track.h"

#include <stdlib.h>

#include "tests/suite.h"

#define SHOWN 100000 /* slices of functions */
#define TOOK 10

/* Returns the size of the track of a path with @count calls of equal length. */
static size_t track_bytes(size_t count)
{
	struct critical_path path = { .slice_count = count,
				      .length_ns = count * TOOK };
	struct path_list list = { .path = &path };
	uint64_t ns = UINT64_C(1) << 40;
	char *text = NULL;
	size_t bytes;
	FILE *out = open_memstream(&text, &bytes);

	path.budget.left = 1 << 20;
	ck_assert_int_eq(trace_texts_init(&path.texts, &path.budget), 0);
	path.slices = calloc(count, sizeof(*path.slices));
	for (size_t i = 0; i < count; i++, ns += TOOK)
		path.slices[i] = (struct path_slice){
			.from_ns = ns,
			.to_ns = ns + TOOK,
			.function = trace_texts_number(
				&path.texts,
				(const uint8_t *)(i % 2 ? "odd" : "even"),
				i % 2 ? 3 : 4),
			.tid = 7,
		};
	path.end_ns = ns;
	ck_assert_int_eq(path_track_write(&list, out), 0);
	fclose(out);
	free(text);
	free(path.slices);
	trace_texts_release(&path.texts);
	return bytes;
}

TEST(a_track_has_its_most_slices_even_if_all_are_of_one_length)
{
	ck_assert_uint_eq(track_bytes(2 * SHOWN), track_bytes(SHOWN));
}
