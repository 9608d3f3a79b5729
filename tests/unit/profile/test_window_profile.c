/* SPDX-License-Identifier: Apache-2.0
 *
 * Windows of sums that grow, shrink and vanish (window_profile.h). The
 * functions are in this program.
 */
#include "collector/profile/window_profile.h"

#include <errno.h>
#include <unistd.h>

#include "collector/base/budget.h"
#include "collector/names/modules.h"
#include "collector/names/symbols.h"
#include "collector/profile/stack_profile.h"
#include "collector/profile/stacks.h"
#include "collector/push/gzip.h"
#include "collector/push/pprof_fits.h"
#include "collector/read/pprof_read.h"
#include "tests/suite.h"
#include "tests/unit/profile_back.h"

#define NAME "cpu.pb.gz" /* any name in the table of files */

static struct {
	struct budget budget;
	struct symbol_cache *cache;
	struct modules *modules;
	struct stacks *stacks;
	struct stack_profile *window;
	char folder[32];
	int dir_fd;
} g;

static void set_up(const struct stack_profile_kind *kind)
{
	memset(&g, 0, sizeof(g));
	g.budget.left = 1ULL << 30;
	ck_assert_int_eq(symbol_cache_new(&g.cache), 0);
	ck_assert_int_eq(
		modules_new(getpid(), getpid(), NULL, g.cache, &g.modules), 0);
	ck_assert_int_eq(stacks_new(&g.budget, &g.stacks), 0);
	ck_assert_int_eq(
		window_profile_new(kind, g.cache, &g.budget, &g.window), 0);
	strcpy(g.folder, "/tmp/perfrec-window.XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(g.folder));
	g.dir_fd = open(g.folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

static void tear_down(void)
{
	stack_profile_free(&g.window);
	stacks_free(&g.stacks);
	ck_assert_uint_eq(g.budget.left, 1ULL << 30);
	modules_put(&g.modules);
	symbol_cache_put(&g.cache);
	unlinkat(g.dir_fd, NAME, 0);
	close(g.dir_fd);
	ck_assert_int_eq(rmdir(g.folder), 0);
}

/* @value of the stack @object, summed up for process @pid. */
static void give(pid_t pid, const char *object, const int64_t value[4])
{
	const struct profile_owner owner = { .pid = pid };
	const struct stack_frame frame = { .address = (uintptr_t)object,
					   .kind = FRAME_TEXT };
	struct stack_values values = { .stack = stacks_child(
					       g.stacks, STACKS_ROOT, &frame) };
	struct stack_profile *from;

	memcpy(values.value, value, 4 * sizeof(*value));
	ck_assert_int_eq(stack_profile_new(&stack_profile_heap, g.cache,
					   &g.budget, &from),
			 0);
	ck_assert_int_eq(stack_profile_add(from, &owner, g.stacks, g.modules,
					   &values, 1),
			 0);
	ck_assert_int_eq(window_profile_add(g.window, from, NULL), 0);
	stack_profile_free(&from);
}

static void give_two(const char *object, int64_t count, int64_t ns)
{
	const struct profile_owner nobody = { .pid = 0 };
	const struct stack_frame frame = { .address = (uintptr_t)object,
					   .kind = FRAME_TEXT };
	const struct stack_values values = {
		.stack = stacks_child(g.stacks, STACKS_ROOT, &frame),
		.value = { count, ns },
	};

	ck_assert_int_eq(stack_profile_add(g.window, &nobody, g.stacks,
					   g.modules, &values, 1),
			 0);
}

/* perfrec-push sends the unmodified file of @view unless it is large. */
static void expect_fitting(const struct window_view *view)
{
	const struct pprof_type period = { view->head.period_type.type,
					   view->head.period_type.unit };
	struct bytes plain = { 0 };
	uint8_t packed[4096];
	int fd = openat(g.dir_fd, NAME, O_RDONLY | O_CLOEXEC);
	ssize_t count = read(fd, packed, sizeof(packed));

	close(fd);
	ck_assert_int_gt(count, 0);
	ck_assert_int_eq(gzip_get(packed, (size_t)count, 1 << 20, &plain), 0);
	ck_assert(pprof_fits(plain.at, plain.count, &period));
	bytes_release(&plain);
}

/* Returns value @type of stack @name in the file of @view; -1: missing. */
static int64_t value_of(const struct window_view *view, const char *name,
			size_t type)
{
	const struct stack_profile_header header = { .start_ns = 5,
						     .duration_ns = 6 };
	int64_t found = -1;
	pb_profile *file;

	ck_assert_int_eq(
		window_profile_write(g.window, view, &header, g.dir_fd, NAME),
		0);
	expect_fitting(view);
	file = pb_read(g.dir_fd, NAME);
	ck_assert_int_eq(file->time_nanos, 5);
	ck_assert_int_eq(file->duration_nanos, 6);
	for (size_t i = 0; i < file->n_sample; i++) {
		const pb_sample *sample = file->sample[i];

		ck_assert_uint_eq(file->n_location, file->n_sample);
		ck_assert_uint_eq(sample->n_location_id, 1);
		ck_assert_uint_eq(sample->n_label, 0);
		for (size_t k = 0; k < file->n_location; k++)
			if (file->location[k]->id == sample->location_id[0] &&
			    !strcmp(pb_string(file, file->function[k]->name),
				    name))
				found = sample->value[type];
	}
	pb_free(&file);
	return found;
}

#define MEMORY(...) ((const int64_t[4]){ __VA_ARGS__ })

static void pack(const struct window_view *view, struct bytes *out)
{
	const struct stack_profile_header header = { .start_ns = 5,
						     .duration_ns = 6 };

	ck_assert_int_eq(window_profile_pack(g.window, view, &header, out), 0);
}

FIXTURE(NULL, tear_down);

/* In memory only a large profile is gzipped, and both are read. */
TEST(a_packed_window_is_gzipped_if_it_is_large)
{
	const struct window_view *view = &window_view_memory;
	const size_t stacks = 1000;
	struct bytes file = { 0 };
	struct pprof *pprof;
	size_t before;
	char name[32];

	set_up(&stack_profile_heap);
	give(1, "[a]", MEMORY(1, 10, 1, 10));
	ck_assert(window_profile_end(g.window));
	pack(view, &file);
	ck_assert_uint_le(file.count, 8192);
	ck_assert_uint_ne(file.at[0], 0x1f);
	ck_assert_int_eq(pprof_read_bytes(file.at, file.count, &pprof), 0);
	ck_assert_uint_eq(pprof->sample_count, 1);
	ck_assert_int_eq(pprof->samples[0].value[1], 10);
	ck_assert_uint_eq(pprof->time_ns, 5);
	pprof_free(&pprof);
	/* A part of either is no profile. */
	ck_assert_int_eq(pprof_read_bytes(file.at, file.count - 1, &pprof),
			 -EBADMSG);
	before = file.count;
	for (size_t i = 0; i < stacks; i++) {
		snprintf(name, sizeof(name), "[stack %zu]", i);
		give(1, symbol_cache_string(g.cache, name), MEMORY(1, 7, 0, 0));
	}
	ck_assert(window_profile_end(g.window));
	/* It goes behind the first one. */
	pack(view, &file);
	ck_assert_uint_eq(file.at[before], 0x1f);
	ck_assert_int_eq(
		pprof_read_bytes(file.at + before, file.count - before, &pprof),
		0);
	ck_assert_uint_eq(pprof->sample_count, stacks + 1);
	pprof_free(&pprof);
	ck_assert_int_eq(pprof_read_bytes(file.at + before,
					  file.count - before - 1, &pprof),
			 -EBADMSG);
	bytes_put(&file, "more", 4);
	ck_assert_int_eq(
		pprof_read_bytes(file.at + before, file.count - before, &pprof),
		-EBADMSG);
	bytes_release(&file);
}

/* The only sample of @window has the only label @key. */
static void expect_label(const struct stack_profile *window, const char *key,
			 const char *text)
{
	const struct stack_profile_header header = { .start_ns = 5 };
	const struct window_view *view = &window_view_memory;
	struct bytes file = { 0 };
	struct pprof *pprof;

	ck_assert_int_eq(window_profile_pack(window, view, &header, &file), 0);
	ck_assert_int_eq(pprof_read_bytes(file.at, file.count, &pprof), 0);
	ck_assert_uint_eq(pprof->sample_count, 1);
	ck_assert_uint_eq(pprof->samples[0].label_count, 1);
	ck_assert_str_eq(pprof->samples[0].labels[0].key, key);
	ck_assert_str_eq(pprof->samples[0].labels[0].text, text);
	pprof_free(&pprof);
	bytes_release(&file);
}

TEST(a_sample_has_its_request_or_its_program)
{
	struct stack_frame label = { .kind = FRAME_LABEL };
	struct stack_values values = { .value = { 1, 10 } };
	const struct profile_owner nobody = { .pid = 0 };
	const struct profile_owner owner = { .pid = 7 };
	struct stack_profile *ended, *all;
	struct stack_frame frame = { .kind = FRAME_TEXT };

	set_up(&stack_profile_heap);
	label.address = (uintptr_t)symbol_cache_string(g.cache, "0102");
	frame.address = (uintptr_t)symbol_cache_string(g.cache, "[a]");
	values.stack = stacks_child(
		g.stacks, stacks_child(g.stacks, STACKS_ROOT, &label), &frame);
	/* First of a running process, then of the same one that has ended. */
	ck_assert_int_eq(stack_profile_add(g.window, &nobody, g.stacks,
					   g.modules, &values, 1),
			 0);
	ck_assert(window_profile_end(g.window));
	expect_label(g.window, "trace_id", "0102");
	window_profile_keep(g.window);
	ck_assert_int_eq(stack_profile_new(&stack_profile_heap, g.cache,
					   &g.budget, &ended),
			 0);
	ck_assert_int_eq(stack_profile_add(ended, &owner, g.stacks, g.modules,
					   &values, 1),
			 0);
	window_profile_begin(g.window);
	ck_assert_int_eq(window_profile_add(g.window, ended, NULL), 0);
	ck_assert(!window_profile_end(g.window));
	window_profile_begin(g.window);
	for (int i = 0; i < 2; i++)
		ck_assert_int_eq(window_profile_add(g.window, ended, NULL), 0);
	ck_assert(window_profile_end(g.window));
	expect_label(g.window, "trace_id", "0102");
	ck_assert_int_eq(window_profile_new(&stack_profile_heap, g.cache,
					    &g.budget, &all),
			 0);
	ck_assert_int_eq(window_profile_add(all, g.window, "program"), 0);
	ck_assert(window_profile_end(all));
	expect_label(all, "program", "program");
	stack_profile_free(&all);
	stack_profile_free(&ended);
}

TEST(only_growth_is_in_a_window)
{
	const struct window_view *view = &window_view_memory;

	set_up(&stack_profile_heap);
	window_profile_begin(g.window);
	ck_assert(!window_profile_end(g.window));
	window_profile_begin(g.window);
	give(1, "[a]", MEMORY(1, 10, 1, 10));
	give(2, "[a]", MEMORY(2, 20, 0, 0));
	ck_assert(window_profile_end(g.window));
	ck_assert(window_profile_has(g.window, view));
	ck_assert_int_eq(value_of(view, "[a]", 1), 30);
	ck_assert_int_eq(value_of(view, "[a]", 3), 10);
	window_profile_keep(g.window);
	/* Memory in use is part of each window. */
	window_profile_begin(g.window);
	give(1, "[a]", MEMORY(3, 30, 1, 10));
	give(1, "[b]", MEMORY(1, 7, 0, 0));
	ck_assert(window_profile_end(g.window));
	ck_assert_int_eq(value_of(view, "[a]", 1), 0);
	ck_assert_int_eq(value_of(view, "[a]", 3), 10);
	ck_assert_int_eq(value_of(view, "[b]", 1), 7);
	/* Without a keep, the next window has it again. */
	window_profile_begin(g.window);
	give(1, "[a]", MEMORY(3, 30, 0, 0));
	give(1, "[b]", MEMORY(2, 9, 0, 0));
	ck_assert(window_profile_end(g.window));
	ck_assert_int_eq(value_of(view, "[a]", 1), -1);
	ck_assert_int_eq(value_of(view, "[b]", 1), 9);
	window_profile_keep(g.window);
	window_profile_begin(g.window);
	give(1, "[a]", MEMORY(3, 30, 0, 0));
	give(1, "[b]", MEMORY(2, 9, 0, 0));
	ck_assert(!window_profile_end(g.window));
	ck_assert(!window_profile_has(g.window, view));
}

TEST(after_a_start_values_are_differences)
{
	const struct window_view *view = &window_view_memory;

	set_up(&stack_profile_heap);
	window_profile_begin(g.window);
	give(1, "[a]", MEMORY(3, 30, 2, 20));
	give(1, "[b]", MEMORY(1, 7, 1, 7));
	(void)window_profile_end(g.window);
	window_profile_start(g.window);
	/* Unchanged memory in use is omitted; less memory is negative. */
	window_profile_begin(g.window);
	give(1, "[a]", MEMORY(3, 30, 1, 10));
	give(1, "[b]", MEMORY(1, 7, 1, 7));
	give(1, "[c]", MEMORY(2, 9, 1, 5));
	ck_assert(window_profile_end(g.window));
	ck_assert_int_eq(value_of(view, "[a]", 1), 0);
	ck_assert_int_eq(value_of(view, "[a]", 2), -1);
	ck_assert_int_eq(value_of(view, "[a]", 3), -10);
	ck_assert_int_eq(value_of(view, "[b]", 3), -1);
	ck_assert_int_eq(value_of(view, "[c]", 1), 9);
	ck_assert_int_eq(value_of(view, "[c]", 3), 5);
}

TEST(what_gets_smaller_is_taken_from_others)
{
	const struct window_view *view = &window_view_cpu;

	set_up(&stack_profile_cpu);
	window_profile_begin(g.window);
	give_two("[a]", 10, 1000);
	give_two("[b]", 10, 1000);
	ck_assert(window_profile_end(g.window));
	window_profile_keep(g.window);
	/* The loss of 3 takes a third of the others' growth of 9. */
	window_profile_begin(g.window);
	give_two("[a]", 10, 997);
	give_two("[b]", 11, 1002);
	give_two("[c]", 1, 7);
	ck_assert(window_profile_end(g.window));
	ck_assert_int_eq(value_of(view, "[a]", 1), -1);
	ck_assert_int_eq(value_of(view, "[b]", 0), 1);
	ck_assert_int_eq(value_of(view, "[b]", 1), 1);
	ck_assert_int_eq(value_of(view, "[c]", 1), 5);
	window_profile_keep(g.window);
	/* No growth remains to reduce. */
	window_profile_begin(g.window);
	give_two("[a]", 10, 900);
	give_two("[b]", 11, 1002);
	give_two("[c]", 1, 8);
	ck_assert(!window_profile_end(g.window));
}

TEST(waits_on_locks_are_apart)
{
	set_up(&stack_profile_offcpu);
	window_profile_begin(g.window);
	give_two("[mutex app+0x40]", 1, 10);
	give_two("[condition]", 2, 20);
	give_two("[rwlock app+0x50]", 3, 30);
	give_two("[mutexes 5]", 4, 40);
	give_two("[futex app+0x60]", 5, 50);
	ck_assert(window_profile_end(g.window));
	ck_assert_int_eq(value_of(&window_view_off_cpu, "[rwlock app+0x50]", 0),
			 30);
	ck_assert_int_eq(value_of(&window_view_off_cpu, "[mutexes 5]", 0), 40);
	ck_assert_int_eq(value_of(&window_view_mutex, "[mutex app+0x40]", 1),
			 10);
	ck_assert_int_eq(value_of(&window_view_mutex, "[condition]", 0), 2);
	ck_assert_int_eq(value_of(&window_view_mutex, "[mutexes 5]", 0), -1);
	ck_assert_int_eq(value_of(&window_view_block, "[mutexes 5]", 0), 4);
	ck_assert_int_eq(value_of(&window_view_block, "[futex app+0x60]", 1),
			 50);
	ck_assert_int_eq(value_of(&window_view_block, "[condition]", 0), -1);
}

TEST(what_finds_no_memory_is_told)
{
	const struct window_view *view = &window_view_cpu;
	char names[64][16];

	set_up(&stack_profile_cpu);
	window_profile_begin(g.window);
	give_two("[a]", 1, 10);
	ck_assert(window_profile_end(g.window));
	window_profile_keep(g.window);
	window_profile_begin(g.window);
	give_two("[a]", 1, 10);
	g.budget.left -= 1ULL << 30;
	for (int i = 0; i < 64; i++) {
		const struct profile_owner nobody = { .pid = 0 };
		struct stack_values values = { .value = { 1, 10 } };

		snprintf(names[i], sizeof(names[i]), "[%d]", i);
		values.stack = stacks_child(
			g.stacks, STACKS_ROOT,
			&(struct stack_frame){ .address = (uintptr_t)names[i],
					       .kind = FRAME_TEXT });
		(void)stack_profile_add(g.window, &nobody, g.stacks, g.modules,
					&values, 1);
	}
	g.budget.left += 1ULL << 30;
	ck_assert(window_profile_end(g.window));
	ck_assert_int_gt(value_of(view, "[other stacks]", 1), 0);
}
