/* SPDX-License-Identifier: Apache-2.0 */

#include "collector/states/states_cache.h"

#include <errno.h>
#include <math.h>
#include <sys/resource.h>
#include <signal.h>
#include <utime.h>

#include "collector/output/cache_files.h"
#include "shared/hash.h"
#include "tests/random.h"
#include "tests/suite.h"
#include "tests/unit/scratch.h"

#define ID "0123456789abcdef0123456789abcdef01234567"
#define PATH "cache/perfrec/functions-" ID

static struct states_cache_function g_functions[3];

static void setup(void)
{
	char path[PATH_MAX + 16];

	scratch_run("rm -rf cache && mkdir cache");
	snprintf(path, sizeof(path), "%s/cache", g_scratch);
	setenv("XDG_CACHE_HOME", path, 1);
	for (size_t i = 0; i < 3; i++)
		g_functions[i] = (struct states_cache_function){
			.offset = 0x3000 - i * 0x1000,
			.known = { .state = i == 1 ? FUNCTION_COUNTED
						   : FUNCTION_SPAN,
				   .mean_ns = 1.5f * (float)i,
				   .calls_per_second = 1e6f * (float)i },
		};
}

static void store(void)
{
	ck_assert_int_eq(states_cache_store(ID, g_functions, 3), 0);
}

static int load(const char *build_id)
{
	struct states_cache_list list;
	int err = states_cache_load(build_id, &list);

	if (err) {
		ck_assert_ptr_null(list.functions);
		ck_assert_uint_eq(list.count, 0);
	}
	states_cache_release(&list);
	return err;
}

SUITE(scratch_enter, scratch_leave);

FIXTURE(setup, NULL);

TEST(states_cache_gives_back_what_it_keeps)
{
	struct states_cache_list list;

	ck_assert_int_eq(load(ID), -ENOENT);
	store();
	ck_assert_int_eq(states_cache_load(ID, &list), 0);
	ck_assert_uint_eq(list.count, 3);
	for (size_t i = 0; i < 3; i++) {
		const struct controller_known *known = &list.functions[i].known;

		ck_assert_uint_eq(list.functions[i].offset, 0x1000 * (i + 1));
		ck_assert_uint_eq(known->state,
				  i == 1 ? FUNCTION_COUNTED : FUNCTION_SPAN);
		ck_assert_float_eq(known->mean_ns, 1.5f * (float)(2 - i));
		ck_assert_float_eq(known->calls_per_second,
				   1e6f * (float)(2 - i));
	}
	states_cache_release(&list);
	ck_assert_int_eq(states_cache_store(ID, g_functions, 0), 0);
	ck_assert_int_eq(states_cache_load(ID, &list), 0);
	ck_assert_uint_eq(list.count, 0);
	states_cache_release(&list);
}

TEST(states_cache_keeps_each_offset_once_and_no_nonsense)
{
	struct states_cache_function functions[5] = {
		{ 8, { FUNCTION_COUNTED, 1, 1 } },
		{ 8, { FUNCTION_COUNTED, 1, 1 } },
		{ 9, { FUNCTION_OFF, 1, 1 } },
		{ 10, { FUNCTION_DRAINING, 1, 1 } },
		{ 12, { FUNCTION_SPAN, NAN, INFINITY } },
	};
	struct states_cache_list list;

	ck_assert_int_eq(states_cache_store(ID, functions, 5), 0);
	ck_assert_int_eq(states_cache_load(ID, &list), 0);
	ck_assert_uint_eq(list.count, 2);
	ck_assert_uint_eq(list.functions[0].offset, 8);
	ck_assert_uint_eq(list.functions[1].offset, 12);
	ck_assert_float_eq(list.functions[1].known.mean_ns, 0);
	states_cache_release(&list);
}

TEST(states_cache_knows_modules_by_build_id_only)
{
	static const char *const bad[] = { "",	   "a",	 "../../x",
					   "AB12", "0g", "12/34" };

	store();
	ck_assert_int_eq(load("0123"), -ENOENT);
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		ck_assert_int_eq(load(bad[i]), -ENOENT);
		ck_assert_int_eq(states_cache_store(bad[i], g_functions, 3),
				 -EINVAL);
	}
	scratch_run("cp " PATH " cache/perfrec/functions-0123");
	ck_assert_int_eq(load("0123"), -EBADMSG);
}

TEST(states_cache_limits_its_size)
{
	size_t count = STATES_CACHE_FUNCTIONS_MAX + 10;
	struct states_cache_function *functions =
		calloc(count, sizeof(*functions));
	struct states_cache_list list;

	for (size_t i = 0; i < count; i++)
		functions[i].offset = i;
	ck_assert_int_eq(states_cache_store(ID, functions, count), 0);
	ck_assert_int_eq(states_cache_load(ID, &list), 0);
	ck_assert_uint_eq(list.count, STATES_CACHE_FUNCTIONS_MAX);
	states_cache_release(&list);
	free(functions);
}

static size_t read_file_of(char *bytes, size_t room)
{
	int fd = open(PATH, O_RDONLY);
	ssize_t size = read(fd, bytes, room);

	close(fd);
	ck_assert_int_gt(size, 160);
	return (size_t)size;
}

TEST(states_cache_believes_no_file_that_is_not_whole)
{
	char bytes[1024], changed[1024];
	size_t size;

	store();
	size = read_file_of(bytes, sizeof(bytes));
	for (size_t cut = 0; cut < size; cut++) {
		scratch_write(PATH, bytes, cut);
		ck_assert_int_eq(load(ID), -EBADMSG);
	}
	memcpy(changed, bytes, size);
	memset(changed + size, 0, sizeof(changed) - size);
	scratch_write(PATH, changed, size + 24);
	ck_assert_int_eq(load(ID), -EBADMSG);
	for (size_t i = 0; i < size; i++) {
		memcpy(changed, bytes, size);
		changed[i] ^= 1 << (i % 8);
		scratch_write(PATH, changed, size);
		ck_assert_int_eq(load(ID), -EBADMSG);
	}
	scratch_write(PATH, bytes, size);
	ck_assert_int_eq(load(ID), 0);
}

/* The checksum does not stop an attacker. */
TEST(states_cache_stands_any_file)
{
	uint64_t random = 4711;
	char bytes[1024], changed[1024];
	size_t size, loaded = 0;

	store();
	size = read_file_of(bytes, sizeof(bytes));
	for (unsigned int round = 0; round < 2000; round++) {
		struct states_cache_list list;
		uint64_t hash;
		int err;

		memcpy(changed, bytes, size);
		for (uint64_t i = next_random(&random) % 4; i < 4; i++)
			changed[160 + next_random(&random) % (size - 160)] =
				(char)next_random(&random);
		hash = hash_bytes(HASH_START, changed + 24, 160 - 24);
		hash = hash_words(hash, changed + 160, size - 160);
		memcpy(changed + 16, &hash, sizeof(hash));
		scratch_write(PATH, changed, size);
		err = states_cache_load(ID, &list);
		ck_assert(err == 0 || err == -EBADMSG);
		for (size_t i = 0; i < list.count; i++) {
			const struct controller_known *known =
				&list.functions[i].known;

			ck_assert(known->state <= FUNCTION_COUNTED &&
				  isfinite(known->mean_ns) &&
				  isfinite(known->calls_per_second));
		}
		loaded += !err;
		states_cache_release(&list);
	}
	ck_assert_uint_gt(loaded, 0);
	ck_assert_uint_lt(loaded, 2000);
}

TEST(states_cache_opens_nothing_but_plain_files)
{
	store();
	scratch_run("mv " PATH " other && ln -s ../../other " PATH);
	ck_assert_int_eq(load(ID), -EBADMSG);
	store(); /* replaces the link */
	ck_assert_int_eq(load(ID), 0);
	scratch_run("cmp -s other " PATH);
	scratch_run("rm " PATH " && mkfifo " PATH);
	ck_assert_int_eq(load(ID), -EBADMSG);
	scratch_run("rm " PATH " && mkdir " PATH);
	ck_assert_int_eq(load(ID), -EBADMSG);
	ck_assert_int_lt(states_cache_store(ID, g_functions, 3), 0);
	scratch_run("rmdir " PATH " && truncate -s 1G " PATH);
	ck_assert_int_eq(load(ID), -EBADMSG);
	scratch_run("rm " PATH " && mkdir " PATH);
	/* The attempt leaves nothing behind. */
	scratch_run("test $(ls cache/perfrec | wc -l) = 1");
}

TEST(states_cache_believes_no_folder_of_others)
{
	store();
	scratch_run("chmod 777 cache/perfrec");
	ck_assert_int_eq(load(ID), -EPERM);
	ck_assert_int_eq(states_cache_store(ID, g_functions, 3), -EPERM);
	if (geteuid() == 0) {
		scratch_run("chmod 700 cache/perfrec && "
			    "chown 65534 cache/perfrec");
		ck_assert_int_eq(load(ID), -EPERM);
		scratch_run("chown 0 cache/perfrec && chown 65534 " PATH);
		ck_assert_int_eq(load(ID), -EBADMSG);
	}
}

TEST(states_cache_needs_a_home)
{
	char path[PATH_MAX + 16];

	unsetenv("XDG_CACHE_HOME");
	setenv("HOME", g_scratch, 1);
	ck_assert_int_eq(cache_files_folder(path), 0);
	ck_assert_int_eq(strncmp(path, g_scratch, strlen(g_scratch)), 0);
	ck_assert_str_eq(path + strlen(g_scratch), "/.cache/perfrec");
	setenv("XDG_CACHE_HOME", "relative", 1);
	ck_assert_int_eq(cache_files_folder(path), 0);
	ck_assert_str_eq(path + strlen(g_scratch), "/.cache/perfrec");
	store();
	ck_assert_int_eq(load(ID), 0);
	scratch_run("rm -r .cache");
	unsetenv("HOME");
	ck_assert_int_eq(cache_files_folder(path), -ENOENT);
	ck_assert_int_eq(load(ID), -ENOENT);
	ck_assert_int_eq(states_cache_store(ID, g_functions, 3), -ENOENT);
	scratch_run("echo > file");
	snprintf(path, sizeof(path), "%s/file", g_scratch);
	setenv("XDG_CACHE_HOME", path, 1);
	ck_assert_int_lt(states_cache_store(ID, g_functions, 3), 0);
	ck_assert_int_lt(load(ID), 0);
}

TEST(states_cache_is_written_whole_or_not)
{
	struct rlimit limit = { 200, RLIM_INFINITY };
	int limited, stored;

	store();
	scratch_run("cp " PATH " other");
	signal(SIGXFSZ, SIG_IGN);
	g_functions[0].known.mean_ns = 77;
	/* check's own file is limited too, so nothing is asserted meanwhile. */
	limited = setrlimit(RLIMIT_FSIZE, &limit);
	stored = states_cache_store(ID, g_functions, 3);
	limit.rlim_cur = RLIM_INFINITY;
	ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
	ck_assert_int_eq(limited, 0);
	ck_assert_int_eq(stored, -EFBIG);
	scratch_run("cmp -s other " PATH);
	scratch_run("test $(ls cache/perfrec | wc -l) = 1");
}

TEST(states_cache_drops_what_is_old_or_too_much)
{
	struct utimbuf old = { 1000000000, 1000000000 };

	store();
	utime(PATH, &old);
	ck_assert_int_eq(load(ID), -ENOENT);
	scratch_run("cd cache/perfrec && touch -d '2 days ago' "
		    "functions-ab.0123456789abcdef && "
		    "touch functions-cd.0123456789abcdef functions-notours "
		    "cc-0123456789abcdef");
	ck_assert_int_eq(states_cache_store("ef01", g_functions, 3), 0);
	scratch_run("cd cache/perfrec && test \"$(echo $(ls))\" = "
		    "'cc-0123456789abcdef functions-cd.0123456789abcdef "
		    "functions-ef01 functions-notours'");
	scratch_run("cd cache/perfrec && for i in $(seq 100 400); do "
		    "touch -d '1 hour ago' functions-$i; done");
	ck_assert_int_eq(states_cache_store(ID, g_functions, 3), 0);
	scratch_run("test $(ls cache/perfrec | grep -c '^functions-[0-9a-f.]*$'"
		    ") = 256");
	ck_assert_int_eq(load(ID), 0);
}

TEST(states_cache_forgets_its_own_files)
{
	unsigned int removed = 7;

	ck_assert_int_eq(cache_files_forget(CACHE_PREFIX_FUNCTIONS, &removed),
			 0);
	ck_assert_uint_eq(removed, 0);
	store();
	ck_assert_int_eq(states_cache_store("ab12", g_functions, 3), 0);
	scratch_run("touch cache/perfrec/cc-0123456789abcdef "
		    "cache/perfrec/functions-of-mine");
	ck_assert_int_eq(cache_files_forget(CACHE_PREFIX_FUNCTIONS, &removed),
			 0);
	ck_assert_uint_eq(removed, 2);
	ck_assert_int_eq(load(ID), -ENOENT);
	scratch_run("test $(ls cache/perfrec | wc -l) = 2");
}
