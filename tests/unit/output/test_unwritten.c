/* SPDX-License-Identifier: Apache-2.0
 *
 * Messages about files that could not be written, read back from stderr.
 */
#include <errno.h>
#include <sys/resource.h>
#include <unistd.h>

#include "collector/output/unwritten.h"
#include "tests/suite.h"

static FILE *g_log;

static void catch_log(void)
{
	g_log = tmpfile();
	ck_assert_ptr_nonnull(g_log);
	ck_assert_int_eq(dup2(fileno(g_log), STDERR_FILENO), STDERR_FILENO);
}

/* Returns the logged lines, valid until the next call. */
static const char *logged(void)
{
	static char text[4096];
	ssize_t length = pread(fileno(g_log), text, sizeof(text) - 1, 0);

	ck_assert_int_ge(length, 0);
	text[length] = '\0';
	return text;
}

TEST(nothing_is_no_line)
{
	struct unwritten unwritten = { 0 };

	catch_log();
	unwritten_add(&unwritten, "wall.pb.gz", 0);
	ck_assert_int_eq(unwritten_log(&unwritten, "data"), 0);
	ck_assert_str_eq(logged(), "");
}

TEST(one_line_a_cause)
{
	struct unwritten unwritten = { 0 };

	catch_log();
	unwritten_add(&unwritten, "a", -ENOSPC);
	unwritten_add(&unwritten, "b", -EACCES);
	unwritten_add(&unwritten, "c", -ENOSPC);
	unwritten_add(&unwritten, "d", 0);
	ck_assert_int_eq(unwritten_log(&unwritten, "data"), -ENOSPC);
	ck_assert_str_eq(
		logged(),
		"perfrec: error: cannot write all of a, c in 'data': No space "
		"left on device (make room there, or choose another folder "
		"with -o)\n"
		"perfrec: error: cannot write all of b in 'data': Permission "
		"denied (choose another folder with -o)\n");
	/* The log forgets them. */
	ck_assert_int_eq(unwritten_log(&unwritten, "data"), 0);
}

TEST(names_without_room)
{
	struct unwritten unwritten = { 0 };
	const char *names = unwritten.cause[0].names;
	size_t length;

	for (int i = 0; i < 1000; i++) {
		char name[16];

		snprintf(name, sizeof(name), "file.%03d", i);
		unwritten_add(&unwritten, name, -EIO);
	}
	unwritten_add(&unwritten, "x", -EIO); /* alone it would fit */
	length = strlen(names);
	ck_assert_uint_lt(length, UNWRITTEN_NAMES);
	ck_assert_int_eq(strncmp(names, "file.000, file.001, ", 20), 0);
	ck_assert_str_eq(names + length - 5, ", ...");
	ck_assert_uint_eq((length - 5) % 10, 8);
	ck_assert_ptr_eq(strstr(names, "..."), names + length - 3);
}

TEST(more_causes_than_room)
{
	struct unwritten unwritten = { 0 };

	for (int i = 1; i <= UNWRITTEN_CAUSES + 2; i++)
		unwritten_add(&unwritten, "x", -i);
	ck_assert_int_eq(unwritten.cause[UNWRITTEN_CAUSES - 1].err,
			 -UNWRITTEN_CAUSES);
	ck_assert_str_eq(unwritten.cause[UNWRITTEN_CAUSES - 1].names,
			 "x, x, x");
}

TEST(said_once_until_it_works)
{
	int said = 0;

	catch_log();
	unwritten_say(&said, "data", "1", -ENOSPC);
	unwritten_say(&said, "data", "2", -ENOSPC);
	unwritten_say(&said, "data", "3", 0);
	unwritten_say(&said, "data", "4", -ENOSPC);
	ck_assert_ptr_nonnull(strstr(logged(), "all of 1 in"));
	ck_assert_ptr_null(strstr(logged(), "all of 2 in"));
	ck_assert_ptr_null(strstr(logged(), "all of 3 in"));
	ck_assert_ptr_nonnull(strstr(logged(), "all of 4 in"));
}

/* Names the process' limit, or else the file system's. */
TEST(too_large_names_the_limit)
{
	struct unwritten unwritten = { 0 };
	struct rlimit limit;

	catch_log();
	getrlimit(RLIMIT_FSIZE, &limit);
	limit.rlim_cur = RLIM_INFINITY;
	if (limit.rlim_max == RLIM_INFINITY) {
		ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
		unwritten_say(&(int){ 0 }, "data", "a", -EFBIG);
		ck_assert_str_eq(logged(),
				 "perfrec: error: cannot write all of a in "
				 "'data': File too large (choose another "
				 "folder with -o)\n");
	}
	catch_log();
	limit.rlim_cur = 65536;
	ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
	unwritten_add(&unwritten, "b", -EFBIG);
	ck_assert_int_eq(unwritten_log(&unwritten, "data"), -EFBIG);
	ck_assert_str_eq(logged(),
			 "perfrec: error: cannot write all of b in 'data': "
			 "File too large (ulimit -f allows no more than 64.0 "
			 "KiB: raise it, or record less, see --max-size)\n");
}

TEST(another_folder_only_where_it_helps)
{
	ck_assert_str_eq(unwritten_way_out(-EACCES),
			 "choose another folder with -o");
	ck_assert_str_eq(unwritten_way_out(-ENOSPC),
			 "make room there, or choose another folder with -o");
	ck_assert_str_eq(unwritten_way_out(-EMFILE), "raise ulimit -n");
	ck_assert_str_eq(unwritten_way_out(-ENOMEM),
			 "free memory, or raise ulimit -v");
}
