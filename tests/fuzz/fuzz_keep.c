/* SPDX-License-Identifier: Apache-2.0
 *
 * fuzz_keep - the input is the part of a trace that --keep last discards. A
 * window reads all its packets and writes the state for the rest. Another
 * window skips plain packets. Both must write the same bytes.
 */
#include <stdio.h>
#include <string.h>

#include "collector/cut/packet_window.h"
#include "collector/read/trace_packets.h"
#include "shared/compiler.h"
#include "tests/fuzz/fuzz.h"

struct state {
	char *bytes;
	size_t count;
	uint64_t last_ns;
};

static bool lives(void *context, uint32_t sequence)
{
	(void)context;
	return sequence % 3;
}

static uint64_t next_step(void *context, uint32_t sequence)
{
	(void)context;
	return sequence % 2 ? sequence : UINT64_MAX;
}

static void skip(struct trace_packets *packets, struct packet_window *window)
{
	struct wire *ahead = trace_packets_ahead(packets);

	ahead->at += packet_window_skip(window, ahead->at,
					(size_t)(ahead->end - ahead->at));
}

static void take_all(const char *path, struct packet_window *window, bool skips)
{
	struct trace_packet_bytes bytes;
	struct trace_packets *packets;

	fuzz_must(!trace_packets_open(path, &packets), "cannot open the input");
	while (trace_packets_next(packets, &bytes) > 0) {
		packet_window_take(window, &bytes);
		if (skips)
			skip(packets, window);
	}
	trace_packets_close(&packets);
}

static struct state leave(const char *path, bool all_known, bool skips)
{
	static struct cut_range never = { UINT64_MAX - 1, UINT64_MAX };
	const struct cut_ranges ranges = { .at = &never, .count = 1 };
	const struct packet_window_rest rest = { .lives = lives,
						 .next_step = next_step,
						 .all_known = all_known,
						 .from_ns = 5000,
						 .first_ns = 7000 };
	struct packet_window *window;
	struct state state = { 0 };
	FILE *out = open_memstream(&state.bytes, &state.count);
	struct cut_file file;

	fuzz_must(out && !cut_file_begin(&file, out, false), "no file");
	fuzz_must(!packet_window_new(&ranges, &file, NULL, &window),
		  "no memory");
	take_all(path, window, skips);
	state.last_ns = packet_window_leave(window, &rest);
	packet_window_free(&window);
	fuzz_must(!cut_file_end(&file) && !fclose(out),
		  "the state was not written");
	return state;
}

static void compare(const char *path, bool all_known)
{
	struct state taken = leave(path, all_known, false);
	struct state skipped = leave(path, all_known, true);

	fuzz_must(taken.last_ns == skipped.last_ns &&
			  taken.count == skipped.count &&
			  !memcmp(taken.bytes, skipped.bytes, taken.count),
		  "the windows wrote different bytes");
	free(taken.bytes);
	free(skipped.bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int fd = fuzz_file(data, size);
	char path[32];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	compare(path, true);
	compare(path, false);
	close(fd);
	return 0;
}
