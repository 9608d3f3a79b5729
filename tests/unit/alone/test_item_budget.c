/* SPDX-License-Identifier: Apache-2.0
 *
 * item_budget: a failed allocation takes nothing from the budget of
 * packet_window and trace_read.
 */
#include <sys/mman.h>
#include <unistd.h>

#include "collector/cut/packet_window_inner.h"
#include "collector/read/trace_read_inner.h"
#include "tests/suite.h"
#include "tests/unit/no_memory.h"

#define ITEMS 200

static void *add_to_window(void *list, uint64_t id)
{
	struct packet_window *window = list;

	return by_id_add(&window->sequences, id, sizeof(struct wsequence));
}

static void *add_to_reader(void *list, uint64_t id)
{
	struct trace_reader *reader = list;

	return by_id_add(&reader->sequences, id, sizeof(struct sequence));
}

/* With @refuse each allocation fails once. Returns the number of failures. */
static unsigned int add_items(void *(*add)(void *list, uint64_t id), void *list,
			      bool refuse)
{
	unsigned int refused = 0;

	g_once = true;
	for (uint64_t id = 1; id <= ITEMS; id++) {
		void *item = NULL;

		for (size_t blocks = 0; !item; blocks++) {
			g_blocks = refuse ? blocks : SIZE_MAX;
			item = add(list, id);
			g_blocks = SIZE_MAX;
			refused += !item;
		}
	}
	return refused;
}

static uint64_t fill_window(bool refuse)
{
	struct cut_range all = { 0, UINT64_MAX };
	const struct cut_ranges ranges = { .at = &all, .count = 1 };
	FILE *out = fopen("/dev/null", "we");
	struct packet_window *window;
	struct cut_file file;
	uint64_t left;

	ck_assert_ptr_nonnull(out);
	ck_assert_int_eq(cut_file_begin(&file, out, false), 0);
	ck_assert_int_eq(packet_window_new(&ranges, &file, NULL, &window), 0);
	ck_assert_int_eq(!add_items(add_to_window, window, refuse), !refuse);
	left = window->budget.left;
	packet_window_free(&window);
	ck_assert_int_eq(cut_file_end(&file), 0);
	fclose(out);
	return left;
}

TEST(refused_item_takes_nothing_of_a_windows_budget,
     UNLESS(HAS_ASAN || HAS_TSAN))
{
	ck_assert_uint_eq(fill_window(true), fill_window(false));
}

static uint64_t fill_reader(bool refuse)
{
	int fd = memfd_create("trace", MFD_CLOEXEC);
	struct trace_reader *reader;
	char path[32];
	uint64_t left;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	ck_assert_int_eq(trace_reader_open(path, &reader), 0);
	ck_assert_int_eq(!add_items(add_to_reader, reader, refuse), !refuse);
	left = reader->budget.left;
	trace_reader_close(&reader);
	close(fd);
	return left;
}

TEST(refused_item_takes_nothing_of_a_readers_budget,
     UNLESS(HAS_ASAN || HAS_TSAN))
{
	ck_assert_uint_eq(fill_reader(true), fill_reader(false));
}

/* With a sanitizer the suite has no test. */
SUITE(NULL, NULL);
