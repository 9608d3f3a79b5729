/* SPDX-License-Identifier: Apache-2.0
 *
 * fuzz_notes FILE... - takes each file for what a hostile program puts into
 * the rings of its two threads, half of it each: annotations. Sites, tracks
 * and asynchronous slices must stay within their memory and give all of it
 * back, and the trace must break no rule of trace_check ($TRACE_CHECK, if that
 * is set).
 *
 * fuzz_notes -r SEED COUNT does that for COUNT inputs made up from SEED, and
 * leaves the one that fails in fuzz_notes.crash.
 */
#include <sys/stat.h>

#include "collector/base/clock.h"
#include "shared/record_ext.h"
#include "tests/random.h"
#include "tests/unit/notes_rig.h"

#define INPUT_RECORDS 8192

/* --- inputs -----------------------------------------------------------------
 */

struct maker {
	uint64_t state, clock;
	struct record *cells;
	size_t count;
};

static uint64_t draw(struct maker *maker, uint64_t limit)
{
	return next_random(&maker->state) % limit;
}

static void put(struct maker *maker, uint64_t word, uint64_t clock)
{
	if (maker->count < INPUT_RECORDS)
		maker->cells[maker->count++] = (struct record){ word, clock };
}

static void put_extended(struct maker *maker)
{
	static const uint64_t numbers[] = {
		TRACK_PROCESS, TRACK_GLOBAL, TRACK_THREAD, 1, 2, 3, 1000, 1001
	};
	enum record_ext ext = (enum record_ext)(EXT_ARGS + draw(maker, 16));
	uint32_t cells = (uint32_t)draw(maker, 5), i;

	if (ext > EXT_AT && ext < EXT_INSTANT)
		ext = EXT_INSTANT;
	put(maker, record_ext_word(ext, cells, (uint32_t)draw(maker, 12), 0),
	    maker->clock += draw(maker, 100));
	for (i = 0; i < cells; i++) {
		uint64_t noise = next_random(&maker->state);

		if (ext == EXT_ARGS)
			put(maker,
			    noise % 8 | (noise >> 8 & 1) << 8 |
				    (noise >> 9 & 15) << 16 |
				    (noise >> 16 & 31) << 32,
			    noise);
		else
			put(maker, numbers[noise % 8], noise >> 8 & 7);
	}
}

static size_t make_up(uint64_t seed, struct record cells[INPUT_RECORDS])
{
	struct maker maker = { .state = seed * 0x9e3779b97f4a7c15ULL + 1,
			       .clock = clock_boottime_ns() - 500000000,
			       .cells = cells };
	size_t wanted = 50 + draw(&maker, 4000);

	while (maker.count < wanted) {
		uint64_t what = draw(&maker, 8), site = 1 + draw(&maker, 10);

		if (what > 2)
			put_extended(&maker);
		else
			put(&maker,
			    record_word(what ? RECORD_BEGIN : RECORD_END, site,
					0x900 - 16 * draw(&maker, 4)),
			    maker.clock += draw(&maker, 100));
	}
	return maker.count;
}

/* --- one of them ------------------------------------------------------------
 */

/* One of each kind, and one that is not there. */
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
	/* Only a recording puts losses into the statistics. */
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

static void leave(const struct record *cells, size_t count)
{
	int fd = open("fuzz_notes.crash", O_WRONLY | O_CREAT | O_TRUNC, 0644);

	if (fd < 0 || write(fd, cells, count * sizeof(*cells)) < 0)
		perror("fuzz_notes.crash");
	if (fd >= 0)
		close(fd);
}

static int try_random(uint64_t seed, uint64_t rounds)
{
	static struct record cells[INPUT_RECORDS];

	for (uint64_t i = 0; i < rounds; i++) {
		size_t count = make_up(seed + i, cells);

		leave(cells, count);
		if (!try_input(cells, count)) {
			fprintf(stderr, "fuzz_notes: seed %llu\n",
				(unsigned long long)(seed + i));
			return 1;
		}
	}
	unlink("fuzz_notes.crash");
	return 0;
}

static int try_file(const char *path)
{
	static struct record cells[INPUT_RECORDS];
	int fd = open(path, O_RDONLY);
	ssize_t got = fd >= 0 ? read(fd, cells, sizeof(cells)) : -1;

	if (got < 0) {
		perror(path);
		return 1;
	}
	close(fd);
	return !try_input(cells, (size_t)got / sizeof(*cells));
}

int main(int argc, char **argv)
{
	int failed = 0;

	if (argc == 4 && !strcmp(argv[1], "-r"))
		return try_random(strtoull(argv[2], NULL, 0),
				  strtoull(argv[3], NULL, 0));
	for (int i = 1; i < argc; i++)
		failed |= try_file(argv[i]);
	return failed;
}
