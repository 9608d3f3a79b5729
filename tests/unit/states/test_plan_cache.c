/* SPDX-License-Identifier: Apache-2.0
 *
 * Finding the plan of a file. test_states_cache.c tests invalid files of the
 * cache.
 */
#include "collector/output/cache_files.h"
#include "collector/states/plan_cache.h"

#include <errno.h>

#include "collector/code/code_plan.h"
#include "collector/states/states_cache.h"
#include "tests/suite.h"
#include "tests/unit/scratch.h"

#define ID "0123456789abcdef0123456789abcdef01234567"
#define PATH "cache/perfrec/plan-" ID

static struct code_function g_functions[1] = { { .address = 0x1000 } };
static const struct code_plan g_plan = { .functions = g_functions,
					 .function_count = 1 };

static void setup(void)
{
	char path[PATH_MAX + 16];

	scratch_run("rm -rf cache && mkdir cache && echo code > module");
	snprintf(path, sizeof(path), "%s/cache", g_scratch);
	setenv("XDG_CACHE_HOME", path, 1);
}

static struct plan_key key_of(const char *path)
{
	struct plan_key key;
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(plan_cache_key(fd, false, &key), 0);
	close(fd);
	return key;
}

static int load(const char *build_id, const char *path)
{
	struct plan_key key = key_of(path);
	struct code_plan *plan;
	int err = plan_cache_load(build_id, &key, &plan);

	ck_assert(!err == !!plan);
	if (plan) {
		ck_assert_uint_eq(plan->function_count, 1);
		ck_assert_uint_eq(plan->functions[0].address, 0x1000);
	}
	code_plan_free(&plan);
	return err;
}

static void store(void)
{
	struct plan_key key = key_of("module");

	ck_assert_int_eq(plan_cache_store(ID, &key, &g_plan), 0);
}

SUITE(scratch_enter, scratch_leave);

FIXTURE(setup, NULL);

TEST(plan_cache_knows_a_file_again)
{
	ck_assert_int_eq(load(ID, "module"), -ENOENT);
	store();
	ck_assert_int_eq(load(ID, "module"), 0);
	ck_assert_int_eq(load("0123", "module"), -ENOENT);
	ck_assert_int_eq(load("", "module"), -ENOENT);
}

/* A tool may rewrite code and keep the build-id, the size and mtime. */
TEST(plan_cache_takes_no_changed_file_for_the_same)
{
	store();
	scratch_run("cp -p module copy");
	ck_assert_int_eq(load(ID, "copy"), -ENOENT);
	/* ctime advances in steps, so the loop repeats the change. */
	for (struct plan_key was = key_of("module"), now = was;
	     now.changed[2] == was.changed[2] &&
	     now.changed[3] == was.changed[3];
	     now = key_of("module"))
		scratch_run("touch -r module time && echo CODE > module && "
			    "touch -r time module");
	ck_assert_int_eq(load(ID, "module"), -ENOENT);
	store();
	ck_assert_int_eq(load(ID, "module"), 0);
}

TEST(plan_cache_believes_no_bytes_but_a_plan)
{
	struct plan_key key = key_of("module");

	store();
	scratch_run("cp " PATH " good && head -c 200 good > " PATH);
	ck_assert_int_eq(load(ID, "module"), -EBADMSG);
	scratch_run("cp good " PATH);
	ck_assert_int_eq(load(ID, "module"), 0);
	key.perfrec[1]++;
	ck_assert_int_eq(plan_cache_store(ID, &key, &g_plan), 0);
	ck_assert_int_eq(load(ID, "module"), -ENOENT);
}

TEST(plan_cache_keeps_no_plan_that_is_too_large)
{
	const size_t count = PLAN_CACHE_BYTES_MAX / sizeof(uint64_t);
	struct code_plan large = { .function_count = count };
	struct plan_key key = key_of("module");

	store();
	large.functions = calloc(count, sizeof(*large.functions));
	ck_assert_ptr_nonnull(large.functions);
	ck_assert_int_eq(plan_cache_store(ID, &key, &large), -EFBIG);
	free(large.functions);
	ck_assert_int_eq(load(ID, "module"), 0);
}

TEST(plan_cache_forgets_plans_and_nothing_else)
{
	unsigned int removed;
	struct states_cache_function function = { .offset = 1 };
	struct states_cache_list list;

	ck_assert_int_eq(cache_files_forget(CACHE_PREFIX_PLANS, &removed), 0);
	store();
	ck_assert_int_eq(states_cache_store(ID, &function, 1), 0);
	ck_assert_int_eq(load(ID, "module"), 0);
	ck_assert_int_eq(cache_files_forget(CACHE_PREFIX_PLANS, &removed), 0);
	ck_assert_int_eq(load(ID, "module"), -ENOENT);
	ck_assert_int_eq(states_cache_load(ID, &list), 0);
	ck_assert_uint_eq(list.count, 1);
	states_cache_release(&list);
}
