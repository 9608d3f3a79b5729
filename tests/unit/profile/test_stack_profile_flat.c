/* SPDX-License-Identifier: Apache-2.0
 *
 * Trees written by stack_profile_add_flat() and stack_profile_write(), then
 * read back through gunzip and protobuf. The functions are in this program.
 */
#include "collector/profile/stack_profile.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include "collector/base/budget.h"
#include "collector/base/log.h"
#include "collector/names/modules.h"
#include "collector/names/symbols.h"
#include "collector/output/comments.h"
#include "collector/replay/cct_flat.h"
#include "tests/suite.h"
#include "tests/unit/profile_back.h"

#define NAME "wall.pb.gz"

#define NODE(parent, function, calls, samples, ns, ...) \
	{                                               \
		parent, function, calls, samples, ns,   \
		{                                       \
			__VA_ARGS__                     \
		}                                       \
	}

__attribute__((noinline, used)) static void one(void)
{
	__asm__ volatile("");
}

__attribute__((noinline, used)) static void two(void)
{
	__asm__ volatile("nop");
}

static struct {
	struct budget budget;
	struct symbol_cache *cache;
	struct modules *modules;
	struct stack_profile *profile;
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
	ck_assert_int_eq(stack_profile_new(&stack_profile_wall, g.cache,
					   &g.budget, &g.profile),
			 0);
}

static void tear_down(void)
{
	pb_free(&g.read);
	stack_profile_free(&g.profile);
	ck_assert_uint_eq(g.budget.left, 1ULL << 30);
	modules_put(&g.modules);
	symbol_cache_put(&g.cache);
	unlinkat(g.dir_fd, NAME, 0);
	close(g.dir_fd);
	ck_assert_int_eq(rmdir(g.dir), 0);
}

static int write_profile(struct comments *comments)
{
	const struct stack_profile_header header = { .start_ns = 5,
						     .duration_ns = 6,
						     .period = 1,
						     .comments = comments };

	return stack_profile_write(g.profile, &header, g.dir_fd, NAME);
}

static void write_and_read(void)
{
	struct comments comments = { 0 };

	ck_assert_int_eq(write_profile(&comments), 0);
	comments_release(&comments);
	g.read = pb_read(g.dir_fd, NAME);
}

static void add(struct flat_node *node, size_t count)
{
	struct flat_function function[] = { { 0, 0 },
					    { (uintptr_t)one, 0 },
					    { (uintptr_t)two, 0 } };
	const struct cct_flat flat = { function, 3, node, count, NULL, NULL };

	ck_assert_int_eq(
		stack_profile_add_flat(g.profile, &g_owner, &flat, g.modules),
		0);
}

static uint64_t all_calls(void)
{
	uint64_t calls = 0;

	for (size_t i = 0; i < g.read->n_sample; i++)
		calls += (uint64_t)g.read->sample[i]->value[0];
	return calls;
}

FIXTURE(set_up, tear_down);

TEST(profile_written_says_stacks_and_values)
{
	struct flat_node node[] = { { 0 },
				    NODE(0, 1, 3, 0, 100),
				    NODE(1, 2, 5, 0, 20) };
	const pb_sample *sample;

	add(node, 3);
	add(node, 3);
	write_and_read();
	ck_assert_int_eq(g.read->n_sample, 2);
	sample = pb_sample_of(g.read, "two one");
	ck_assert_int_eq(sample->value[0], 10);
	ck_assert_int_eq(sample->value[1], 40);
	ck_assert_int_eq(sample->n_label, 4);
	ck_assert_str_eq(pb_string(g.read, sample->label[0]->str), "process");
	ck_assert_str_eq(pb_string(g.read, sample->label[1]->str), "thread");
	ck_assert_int_eq(sample->label[2]->num, 7);
	ck_assert_int_eq(sample->label[3]->num, 8);
	ck_assert_int_eq(pb_sample_of(g.read, "one")->value[1], 200);
	ck_assert_str_eq(pb_string(g.read, g.read->sample_type[0]->type),
			 "calls");
	ck_assert_str_eq(pb_string(g.read, g.read->sample_type[1]->unit),
			 "nanoseconds");
	ck_assert_str_eq(pb_string(g.read, g.read->default_sample_type),
			 "wall");
	ck_assert_str_eq(pb_string(g.read, 0), "");
	ck_assert(!pb_has_comment(g.read, "not in this profile"));
}

/* The second value excludes perfrec's time; the third includes it. */
TEST(profile_written_has_true_times)
{
	const struct own_costs costs = { .inner_ns = 10, .outer_ns = 5 };
	struct flat_node node[] = { { 0 },
				    NODE(0, 1, 3, 0, 100, .inner = 3,
					 .outer = 5),
				    NODE(1, 2, 5, 0, 20, .inner = 5) };

	add(node, 3);
	add(node, 3);
	stack_profile_set_costs(g.profile, &costs, 3);
	write_and_read();
	ck_assert_str_eq(pb_string(g.read, g.read->sample_type[2]->type),
			 "wall_measured");
	ck_assert_int_eq(pb_sample_of(g.read, "one")->value[0], 6);
	ck_assert_int_eq(pb_sample_of(g.read, "one")->value[1],
			 2 * (100 - 30 - 25));
	ck_assert_int_eq(pb_sample_of(g.read, "one")->value[2], 200);
	ck_assert_int_eq(pb_sample_of(g.read, "two one")->value[1], 0);
	ck_assert_int_eq(pb_sample_of(g.read, "two one")->value[2], 40);
	ck_assert(pb_has_comment(g.read, "3 calls were only counted"));
}

TEST(profile_written_maps_functions_to_their_module)
{
	struct flat_node node[] = { { 0 }, NODE(0, 1, 1, 0, 1) };
	const Perftools__Profiles__Mapping *mapping;
	uint64_t address;
	char path[512];
	ssize_t length = readlink("/proc/self/exe", path, sizeof(path) - 1);

	path[length] = '\0';
	add(node, 2);
	write_and_read();
	ck_assert_int_eq(g.read->n_mapping, 1);
	mapping = g.read->mapping[0];
	ck_assert_str_eq(pb_string(g.read, mapping->filename), path);
	ck_assert(mapping->has_functions);
	address = g.read->location[pb_sample_of(g.read, "one")->location_id[0] -
				   1]
			  ->address;
	ck_assert_uint_eq(address, (uintptr_t)one);
	ck_assert_uint_le(mapping->memory_start, address);
	ck_assert_uint_gt(mapping->memory_limit, address);
}

TEST(profile_same_thread_name_has_no_tid)
{
	struct flat_node node[] = { { 0 }, NODE(0, 1, 1, 0, 1) };
	struct flat_function function[] = { { 0, 0 }, { (uintptr_t)one, 0 } };
	const struct cct_flat flat = { function, 2, node, 2, NULL, NULL };
	struct profile_owner other = g_owner;

	add(node, 2);
	other.tid = 9;
	stack_profile_add_flat(g.profile, &other, &flat, g.modules);
	write_and_read();
	ck_assert_int_eq(pb_sample_of(g.read, "one")->value[0], 2);
	ck_assert_int_eq(pb_sample_of(g.read, "one")->n_label, 3);
}

TEST(profile_odd_values_are_no_nonsense)
{
	struct flat_node node[] = { { 0 },
				    NODE(0, 1, UINT64_MAX, 0, INT64_MAX),
				    NODE(1, 2, 1, 0, -5) };

	add(node, 3);
	add(node, 3);
	write_and_read();
	ck_assert_int_eq(pb_sample_of(g.read, "one")->value[0], INT64_MAX);
	ck_assert_int_eq(pb_sample_of(g.read, "one")->value[1], INT64_MAX);
	ck_assert_int_eq(pb_sample_of(g.read, "two one")->value[1], 0);
}

TEST(profile_has_the_comments_of_its_writer_first)
{
	static char name[] = "a\nb\xff", *const command[] = { name, NULL };
	static const char form[] = "# {call was|calls were} lost";
	struct comments comments = { 0 };

	comments_add_command(&comments, command);
	for (uint64_t i = 0; i < 40; i++)
		comments_add_count(&comments, form, i);
	stack_profile_add_lost(g.profile, 1);
	ck_assert_int_eq(write_profile(&comments), 0);
	comments_release(&comments);
	g.read = pb_read(g.dir_fd, NAME);
	ck_assert_uint_eq(g.read->n_comment, 42);
	ck_assert_str_eq(pb_string(g.read, g.read->comment[0]),
			 "perfrec " PERFREC_VERSION);
	ck_assert_str_eq(pb_string(g.read, g.read->comment[1]),
			 "command: a?b?");
	ck_assert_str_eq(pb_string(g.read, g.read->comment[2]),
			 "1 call was lost");
	ck_assert_str_eq(pb_string(g.read, g.read->comment[40]),
			 "39 calls were lost");
	ck_assert_str_eq(pb_string(g.read, g.read->comment[41]),
			 "1 call is not in this profile: there was no memory "
			 "for its stack");
}

TEST(profile_losses_are_comments)
{
	struct flat_node node[] = { { 0 },
				    NODE(0, 0, 0, 0, 0),
				    NODE(1, 1, 4, 0, 1) };

	add(node, 3);
	stack_profile_add_lost(g.profile, 11);
	write_and_read();
	ck_assert(pb_has_comment(g.read, "11 calls are not in this profile"));
	ck_assert_int_eq(pb_sample_of(g.read, "one [overflow]")->value[0], 4);
}

TEST(profile_without_memory_counts_what_it_lost)
{
	struct flat_node node[] = { { 0 },
				    NODE(0, 1, 3, 0, 1),
				    NODE(1, 1, 5, 0, 1) };
	struct flat_function function[] = { { 0, 0 }, { (uintptr_t)one, 0 } };
	const struct cct_flat flat = { function, 2, node, 3, NULL, NULL };
	uint64_t left;
	int err = 0;

	add(node, 2);
	left = g.budget.left;
	g.budget.left = 0;
	for (int i = 0; i < 100; i++) {
		struct profile_owner owner = g_owner;

		owner.pid = 100 + i;
		err = stack_profile_add_flat(g.profile, &owner, &flat,
					     g.modules);
	}
	g.budget.left = left;
	ck_assert_int_eq(err, -ENOMEM);
	write_and_read();
	ck_assert(pb_has_comment(g.read, "there was no memory"));
	ck_assert_uint_lt(all_calls(), 3 + 100 * 8);
}

TEST(profile_deep_stack_is_cut_in_the_middle)
{
	enum { DEEP = 100000 };
	struct flat_node *node = calloc(DEEP + 1, sizeof(*node));
	size_t deepest = 0;

	for (uint32_t i = 1; i <= DEEP; i++)
		node[i] =
			(struct flat_node)NODE(i - 1, 1 + (i == DEEP), 1, 0, 1);
	add(node, DEEP + 1);
	free(node);
	write_and_read();
	ck_assert_uint_eq(all_calls(), DEEP);
	for (size_t i = 0; i < g.read->n_sample; i++) {
		const pb_sample *sample = g.read->sample[i];

		deepest = MAX(deepest, sample->n_location_id);
		if (sample->n_location_id > PROFILE_DEPTH_MAX)
			ck_assert_str_eq(
				pb_function_name(g.read,
						 sample->location_id[1]),
				"[truncated]");
	}
	ck_assert_uint_eq(deepest, PROFILE_DEPTH_MAX + 1);
	ck_assert_uint_eq(g.read->n_sample, PROFILE_DEPTH_MAX + 2);
	ck_assert(pb_has_comment(g.read, "99488 calls were too deep"));
}

TEST(profile_merged_is_as_added_twice)
{
	struct flat_node node[] = { { 0 },
				    NODE(0, 1, 3, 0, 100),
				    NODE(1, 2, 5, 0, 20) };
	struct stack_profile *from = g.profile;

	add(node, 3);
	ck_assert_int_eq(stack_profile_new(&stack_profile_wall, g.cache,
					   &g.budget, &g.profile),
			 0);
	add(node, 3);
	ck_assert_int_eq(stack_profile_merge(g.profile, from), 0);
	stack_profile_free(&from);
	write_and_read();
	ck_assert_int_eq(g.read->n_sample, 2);
	ck_assert_int_eq(pb_sample_of(g.read, "two one")->value[0], 10);
	ck_assert_int_eq(pb_sample_of(g.read, "one")->value[1], 200);
}

TEST(profile_write_fails_leaves_no_file)
{
	struct flat_node node[] = { { 0 }, NODE(0, 1, 1, 0, 1) };
	struct comments comments = { 0 };
	const struct rlimit limit = { 8, RLIM_INFINITY };

	add(node, 2);
	signal(SIGXFSZ, SIG_IGN);
	setrlimit(RLIMIT_FSIZE, &limit);
	ck_assert_int_eq(write_profile(&comments), -EFBIG);
	comments_release(&comments);
	ck_assert_int_lt(faccessat(g.dir_fd, NAME, F_OK, 0), 0);
}

TEST(profile_empty_is_a_profile)
{
	write_and_read();
	ck_assert_int_eq(g.read->n_sample, 0);
	ck_assert_int_eq(g.read->n_sample_type, 3);
}

static void begin_suite(void)
{
	log_init("test_stack_profile_flat", LOG_ERR);
}

SUITE(begin_suite, NULL);
