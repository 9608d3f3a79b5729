/* SPDX-License-Identifier: Apache-2.0
 *
 * fuzz_notes - the input is the annotations in the rings of a hostile program's
 * two threads, one half each. Sites, tracks and asynchronous slices must stay
 * within their budget and return all memory. The trace must satisfy
 * trace_check, if $TRACE_CHECK is set.
 */
#include <sys/stat.h>

#include "tests/fuzz/fuzz.h"
#include "tests/unit/notes_rig.h"

#define INPUT_RECORDS 8192

/* Sites of each kind, and of an invalid kind. */
static void tell_sites(struct rig *rig)
{
	static const char *const texts[6] = { "name", "cat", "a.c", "f" };

	for (unsigned int i = 0; i < 9; i++)
		rig_site(rig,
			 (struct site_shm){ .kind = (uint8_t)(1 + i % 5),
					    .flags = (uint16_t)(i % 8),
					    .track = 1 + i % 3,
					    .parent = i % 4 ? i : TRACK_THREAD,
					    .merge = i & 1,
					    .order = (uint8_t)(i % 5),
					    .track_kind = TRACK_SLICES },
			 texts, i & 1 ? "key" : NULL);
}

static bool try_input(const struct record *cells, size_t count)
{
	struct rig *rig = rig_new();
	const char *checker = getenv("TRACE_CHECK");
	char command[512];
	bool good = true;

	tell_sites(rig);
	rig_run(rig, 0, cells, count / 2);
	rig_run(rig, 1, cells + count / 2, count - count / 2);
	/* Only a recording writes losses into the statistics. */
	for (int i = 0; i < RIG_THREADS; i++)
		if (fibers_counts(&rig->thread[i].fibers).lost_spans)
			checker = NULL;
	rig_end(rig);
	if (checker) {
		snprintf(command, sizeof(command), "%s %s/" TRACE_NAME, checker,
			 rig->dir);
		good = system(command) == 0;
	}
	rig_free(rig);
	return good;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct record cells[INPUT_RECORDS];
	size_t count = MIN(size / sizeof(*cells), (size_t)INPUT_RECORDS);

	memcpy(cells, data, count * sizeof(*cells));
	fuzz_must(try_input(cells, count), "the trace breaks a rule");
	return 0;
}
