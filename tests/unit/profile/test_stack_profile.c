/* SPDX-License-Identifier: Apache-2.0
 *
 * Stacks written by stack_profile_add() and stack_profile_write(), then read
 * back through gunzip and protobuf. The functions are in this program.
 */
#include "collector/profile/stack_profile.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <unistd.h>

#include "collector/base/budget.h"
#include "collector/base/log.h"
#include "collector/names/modules.h"
#include "collector/names/symbols.h"
#include "collector/output/comments.h"
#include "collector/profile/function_table.h"
#include "collector/profile/stacks.h"
#include "shared/function_shm.h"
#include "tests/suite.h"
#include "tests/unit/profile_back.h"

#define NAME "cpu.pb.gz"

static uintptr_t g_return;

__attribute__((noinline)) static void mark(void)
{
	g_return = (uintptr_t)__builtin_return_address(0);
	__asm__ volatile("");
}

__attribute__((always_inline)) static inline void inlined(void)
{
	mark();
	__asm__ volatile("");
}

__attribute__((noinline)) static void outer(void)
{
	inlined();
	__asm__ volatile("");
}

static struct {
	struct budget budget;
	struct symbol_cache *cache;
	struct modules *modules;
	struct stack_profile *profile;
	struct stacks *stacks;
	pb_profile *read;
	char dir[32];
	int dir_fd;
} g;

static const struct profile_owner g_owner = { 7,	8,    "process",
					      "thread", NULL, NULL };

static void set_up(void)
{
	g.budget.left = 1ULL << 30;
	strcpy(g.dir, "/tmp/profile.XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(g.dir));
	g.dir_fd = open(g.dir, O_RDONLY | O_DIRECTORY);
	ck_assert_int_eq(symbol_cache_new(&g.cache), 0);
	ck_assert_int_eq(
		modules_new(getpid(), getpid(), NULL, g.cache, &g.modules), 0);
	ck_assert_int_eq(stack_profile_new(&stack_profile_cpu, g.cache,
					   &g.budget, &g.profile),
			 0);
	ck_assert_int_eq(stacks_new(&g.budget, &g.stacks), 0);
}

static void tear_down(void)
{
	pb_free(&g.read);
	stack_profile_free(&g.profile);
	stacks_free(&g.stacks);
	ck_assert_uint_eq(g.budget.left, 1ULL << 30);
	modules_put(&g.modules);
	symbol_cache_put(&g.cache);
	unlinkat(g.dir_fd, NAME, 0);
	close(g.dir_fd);
	ck_assert_int_eq(rmdir(g.dir), 0);
}

static void write_and_read(void)
{
	struct comments comments = { 0 };
	const struct stack_profile_header header = { .start_ns = 5,
						     .duration_ns = 6,
						     .period = 7,
						     .comments = &comments };

	comments_add(&comments, "of the %s", "test");
	ck_assert_int_eq(
		stack_profile_write(g.profile, &header, g.dir_fd, NAME), 0);
	comments_release(&comments);
	g.read = pb_read(g.dir_fd, NAME);
}

static uint32_t child(uint32_t parent, uint64_t address, enum frame_kind kind)
{
	const struct stack_frame frame = { address, 0, kind };

	return stacks_child(g.stacks, parent, &frame);
}

static int add(uint32_t stack, int64_t count, int64_t ns)
{
	const struct stack_values values = { stack, { count, ns } };

	return stack_profile_add(g.profile, &g_owner, g.stacks, g.modules,
				 &values, 1);
}

FIXTURE(set_up, tear_down);

TEST(stack_profile_says_stacks_values_and_period)
{
	uint32_t one = child(STACKS_ROOT, (uintptr_t)outer, FRAME_ENTRY);
	uint32_t two = child(one, (uintptr_t)mark, FRAME_ENTRY);
	uint32_t kernel = child(two, FRAME_KERNEL, FRAME_NAMED);
	const pb_sample *sample;

	ck_assert_int_eq(add(two, 3, 300), 0);
	ck_assert_int_eq(add(two, 1, 100), 0);
	ck_assert_int_eq(add(one, 1, 10), 0);
	ck_assert_int_eq(add(kernel, 2, 20), 0);
	write_and_read();
	ck_assert_int_eq(g.read->n_sample, 3);
	sample = pb_sample_of(g.read, "mark outer");
	ck_assert_int_eq(sample->value[0], 4);
	ck_assert_int_eq(sample->value[1], 400);
	ck_assert_int_eq(sample->n_label, 4);
	ck_assert_int_eq(pb_sample_of(g.read, "[kernel] mark outer")->value[1],
			 20);
	ck_assert_str_eq(pb_string(g.read, g.read->sample_type[0]->type),
			 "samples");
	ck_assert_str_eq(pb_string(g.read, g.read->sample_type[1]->type),
			 "cpu");
	ck_assert_str_eq(pb_string(g.read, g.read->period_type->unit),
			 "nanoseconds");
	ck_assert_int_eq(g.read->period, 7);
	ck_assert_str_eq(pb_string(g.read, g.read->default_sample_type), "cpu");
	ck_assert(pb_has_comment(g.read, "of the test"));
}

/* As where the CPU's counter is no clock: the hook calls clock_gettime(), and that
 * the vdso. */
TEST(clock_behind_a_hook_is_perfrecs)
{
	int fd = memfd_create(THUNK_AREA_NAME, MFD_CLOEXEC);
	uintptr_t clock = (uintptr_t)dlsym(RTLD_DEFAULT, "clock_gettime");
	uintptr_t vdso = getauxval(AT_SYSINFO_EHDR);
	uint32_t one, hook, own, programs;
	uintptr_t thunks;

	ck_assert_uint_ne(clock, 0);
	ck_assert_int_eq(ftruncate(fd, 4096), 0);
	thunks = (uintptr_t)mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_SHARED,
				 fd, 0);
	ck_assert_uint_ne(thunks, (uintptr_t)MAP_FAILED);
	one = child(STACKS_ROOT, (uintptr_t)outer, FRAME_ENTRY);
	hook = child(one, thunks + 1, FRAME_RETURN);
	own = child(hook, clock + 1, FRAME_RETURN);
	programs = child(one, clock + 1, FRAME_RETURN);
	ck_assert_int_eq(add(own, 1, 1), 0);
	ck_assert_int_eq(add(programs, 1, 10), 0);
	if (vdso)
		ck_assert_int_eq(
			add(child(own, vdso + 0x780, FRAME_PC), 1, 100), 0);
	write_and_read();
	ck_assert_int_eq(pb_sample_of(g.read, "[perfrec] outer")->value[1],
			 vdso ? 101 : 1);
	ck_assert_int_eq(g.read->n_sample, 2);
	munmap((void *)thunks, 4096); // NOLINT
	close(fd);
}

TEST(stack_profile_has_no_frame_of_perfrec_but_one_innermost)
{
	int fd = memfd_create(THUNK_AREA_NAME, MFD_CLOEXEC);
	uint32_t thread, one, two, hook, kernel, behind;
	uintptr_t own;

	ck_assert_int_eq(ftruncate(fd, 4096), 0);
	own = (uintptr_t)mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_SHARED, fd,
			      0);
	ck_assert_uint_ne(own, (uintptr_t)MAP_FAILED);
	/* perfrec calls the thread's function; the hook calls perfrec's code
	 * and the kernel. */
	thread = child(STACKS_ROOT, own, FRAME_PC);
	one = child(thread, (uintptr_t)outer, FRAME_ENTRY);
	two = child(one, (uintptr_t)mark, FRAME_ENTRY);
	hook = child(child(two, own + 1, FRAME_RETURN), own + 9, FRAME_PC);
	kernel = child(hook, FRAME_KERNEL, FRAME_NAMED);
	behind = child(hook, (uintptr_t)mark, FRAME_ENTRY);
	ck_assert_int_eq(add(two, 1, 1), 0);
	ck_assert_int_eq(add(hook, 1, 10), 0);
	ck_assert_int_eq(add(kernel, 1, 100), 0);
	ck_assert_int_eq(add(behind, 1, 1000), 0);
	ck_assert_int_eq(add(child(behind, FRAME_KERNEL, FRAME_NAMED), 1, 5),
			 0);
	ck_assert_int_eq(add(thread, 1, 7), 0);
	write_and_read();
	ck_assert_int_eq(g.read->n_sample, 5);
	ck_assert_int_eq(pb_sample_of(g.read, "mark outer")->value[1], 1);
	ck_assert_int_eq(pb_sample_of(g.read, "[perfrec] mark outer")->value[1],
			 110);
	ck_assert_int_eq(pb_sample_of(g.read, "mark mark outer")->value[1],
			 1000);
	ck_assert_int_eq(
		pb_sample_of(g.read, "[kernel] mark mark outer")->value[1], 5);
	ck_assert_int_eq(pb_sample_of(g.read, "[perfrec]")->value[1], 7);
	munmap((void *)own, 4096); // NOLINT
	close(fd);
}

TEST(stack_profile_return_address_has_inlined_functions)
{
	const Perftools__Profiles__Location *location;
	const Perftools__Profiles__Function *function;
	uint32_t one;

	outer();
	one = child(STACKS_ROOT, g_return, FRAME_RETURN);
	ck_assert_int_eq(add(one, 1, 1), 0);
	write_and_read();
	location =
		g.read->location[pb_sample_of(g.read, "outer")->location_id[0] -
				 1];
	ck_assert_uint_eq(location->address, g_return - 1);
	ck_assert_int_eq(location->n_line, 2);
	function = g.read->function[location->line[0]->function_id - 1];
	ck_assert_str_eq(pb_string(g.read, function->name), "inlined");
	ck_assert_ptr_nonnull(strstr(pb_string(g.read, function->filename),
				     "test_stack_profile.c"));
	ck_assert_int_gt(location->line[0]->line, 0);
}

TEST(stack_profile_without_memory_keeps_the_total)
{
	int64_t total = 0;
	int err = 0;

	ck_assert_int_eq(
		add(child(STACKS_ROOT, (uintptr_t)mark, FRAME_ENTRY), 1, 1), 0);
	for (uint64_t i = 0; i < 10000; i++) {
		uint32_t stack = child(STACKS_ROOT, 0x10000 + i, FRAME_ENTRY);
		uint64_t left = g.budget.left;

		g.budget.left = 0;
		if (add(stack, 1, 1))
			err = -ENOMEM;
		g.budget.left = left;
	}
	ck_assert_int_eq(err, -ENOMEM);
	write_and_read();
	for (size_t i = 0; i < g.read->n_sample; i++)
		total += g.read->sample[i]->value[0];
	ck_assert_int_eq(total, 10001);
	ck_assert_int_gt(pb_sample_of(g.read, "[other stacks]")->value[0], 0);
	ck_assert(pb_has_comment(g.read, "samples are in [other stacks]"));
}

TEST(stack_profile_deep_stack_is_cut_in_the_middle)
{
	enum { DEEP = 5000 };
	uint32_t stack = STACKS_ROOT;

	for (int i = 0; i < DEEP; i++)
		stack = child(stack, (uintptr_t)outer, FRAME_ENTRY);
	stack = child(stack, (uintptr_t)mark, FRAME_ENTRY);
	ck_assert_int_eq(add(stack, 1, 1), 0);
	write_and_read();
	ck_assert_int_eq(g.read->n_sample, 1);
	ck_assert_uint_eq(g.read->sample[0]->n_location_id,
			  PROFILE_DEPTH_MAX + 1);
	ck_assert_str_eq(
		pb_function_name(g.read, g.read->sample[0]->location_id[0]),
		"mark");
	ck_assert_str_eq(
		pb_function_name(g.read, g.read->sample[0]->location_id[1]),
		"[truncated]");
}

TEST(stack_profile_merged_is_as_added_twice)
{
	uint32_t one = child(STACKS_ROOT, (uintptr_t)outer, FRAME_ENTRY);
	uint32_t two = child(one, (uintptr_t)mark + 1, FRAME_RETURN);
	struct stack_profile *from = g.profile;

	ck_assert_int_eq(add(two, 3, 300), 0);
	ck_assert_int_eq(stack_profile_new(&stack_profile_cpu, g.cache,
					   &g.budget, &g.profile),
			 0);
	ck_assert_int_eq(add(two, 3, 300), 0);
	ck_assert_int_eq(stack_profile_merge(g.profile, from), 0);
	stack_profile_free(&from);
	write_and_read();
	ck_assert_int_eq(g.read->n_sample, 1);
	ck_assert_int_eq(pb_sample_of(g.read, "mark outer")->value[1], 600);
}

TEST(stack_profile_of_no_stack_keeps_the_total)
{
	ck_assert_int_eq(add(STACKS_ROOT, 2, 2), 0);
	add(12345, 3, 3);
	write_and_read();
	ck_assert_int_eq(pb_sample_of(g.read, "[other stacks]")->value[0], 5);
}

static void find_symbolize(void)
{
	char self[4000], path[4096];
	ssize_t length = readlink("/proc/self/exe", self, sizeof(self) - 1);

	self[MAX(length, 0)] = '\0';
	*strrchr(self, '/') = '\0';
	snprintf(path, sizeof(path), "%s/../../perfrec-symbolize", self);
	setenv("PERFREC_SYMBOLIZE", path, 1);
}

/* By function, with the time that the kernel did not report. */
TEST(stack_profile_sum_has_where_the_time_went)
{
	const int64_t values[2][SPAN_OWN] = {
		{ [SPAN_CALLS] = 1,
		  [SPAN_WALL] = 100,
		  [SPAN_RUNNABLE] = 10,
		  [SPAN_BLOCKED] = 60 },
		{ [SPAN_CALLS] = 1, [SPAN_WALL] = 50, [SPAN_ON_CPU] = -50 },
	};
	const uint64_t entry = (uint64_t)(uintptr_t)outer;
	struct function_table table = { 0 };
	const struct function_total *all;
	struct stack_profile *profile;
	struct stack_values value;
	size_t count;

	ck_assert_int_eq(stack_profile_new(&stack_profile_span, g.cache,
					   &g.budget, &profile),
			 0);
	for (size_t i = 0; i < 2; i++) {
		value = (struct stack_values){
			child(STACKS_ROOT, entry, FRAME_ENTRY), { 0 }
		};
		memcpy(value.value, values[i], sizeof(values[i]));
		ck_assert_int_eq(stack_profile_add(profile, &g_owner, g.stacks,
						   g.modules, &value, 1),
				 0);
	}
	ck_assert_int_eq(stack_profile_sum(profile, &table), 0);
	all = function_table_all(&table, &count);
	while (count && strcmp(all->name, "outer") != 0) {
		all++;
		count--;
	}
	ck_assert_uint_gt(count, 0);
	ck_assert_uint_eq(all->measured_self_ns, 150);
	ck_assert_uint_eq(all->kernel_self.runnable_ns, 10);
	ck_assert_uint_eq(all->kernel_self.blocked_ns, 60);
	ck_assert_uint_eq(all->kernel_self.unknown_ns, 50);
	function_table_release(&table);
	stack_profile_free(&profile);
}

static void begin_suite(void)
{
	log_init("test_stack_profile", LOG_ERR);
	find_symbolize();
}

SUITE(begin_suite, NULL);
