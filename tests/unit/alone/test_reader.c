/* SPDX-License-Identifier: Apache-2.0
 *
 * perfrec-reader on files, and a reader with wrong answers, which this program
 * plays itself after a restart.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>

#include "collector/names/nowait.h"
#include "collector/names/opener.h"
#include "collector/names/reader.h"
#include "collector/names/reader_wire.h"
#include "tests/suite.h"
#include "tests/unit/scratch.h"

static struct readers *g_readers;
static char g_why[READER_WHY_BYTES];

static void setup(void)
{
	unsetenv("PERFREC_READER");
	ck_assert_int_eq(readers_new(&g_readers), 0);
}

static void teardown(void)
{
	readers_free(&g_readers);
	ck_assert_ptr_null(g_readers);
}

static bool g_refuse_to_spawn;

/* Replaces the C library's function, which cannot fail as root. */
int posix_spawn(pid_t *pid, const char *path,
		const posix_spawn_file_actions_t *actions,
		const posix_spawnattr_t *attributes, char *const *argv,
		char *const *env)
{
	int (*spawn)(pid_t *, const char *, const posix_spawn_file_actions_t *,
		     const posix_spawnattr_t *, char *const *, char *const *);

	if (g_refuse_to_spawn)
		return EAGAIN;
	*(void **)&spawn = dlsym(RTLD_NEXT, "posix_spawn");
	return spawn(pid, path, actions, attributes, argv, env);
}

static int open_self(void)
{
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

	ck_assert_int_ge(fd, 0);
	return fd;
}

/* --- contents of files ---------------------------------------------------- */

FIXTURE(setup, teardown);

TEST(reader_says_what_the_file_says)
{
	const struct reader_symtab own = { .fd = -1 };
	struct elf_functions functions, expected;
	struct elf_headers headers, expected_headers;
	struct elf_bounds bounds, expected_bounds;
	const char *why;
	int fd = open_self();

	ck_assert_int_eq(elf_read_headers(fd, &expected_headers, &why), 0);
	ck_assert_int_eq(reader_headers(g_readers, 1, fd, &headers, g_why), 0);
	ck_assert_str_eq(headers.build_id, expected_headers.build_id);
	ck_assert_uint_eq(headers.segment_count,
			  expected_headers.segment_count);
	ck_assert_mem_eq(headers.segments, expected_headers.segments,
			 headers.segment_count * sizeof(*headers.segments));
	ck_assert_int_eq(elf_read_functions(fd, -1, &expected, &why), 0);
	ck_assert_int_eq(
		reader_functions(g_readers, 1, fd, &own, &functions, g_why), 0);
	ck_assert_uint_gt(functions.count, 0);
	ck_assert_uint_eq(functions.count, expected.count);
	ck_assert_mem_eq(functions.list, expected.list,
			 functions.count * sizeof(*functions.list));
	ck_assert_mem_eq(functions.strings, expected.strings,
			 functions.string_bytes);
	ck_assert_int_eq(elf_bounds_read(fd, &expected_bounds), 0);
	ck_assert_int_eq(reader_bounds(g_readers, 1, fd, &bounds, g_why), 0);
	ck_assert_uint_eq(bounds.count, expected_bounds.count);
	free(headers.segments);
	free(expected_headers.segments);
	free(functions.list);
	free(functions.strings);
	free(expected.list);
	free(expected.strings);
	free(bounds.list);
	free(expected_bounds.list);
	close(fd);
}

TEST(readers_that_are_idle_for_long_end)
{
	struct readers_stats stats;
	struct elf_headers headers;
	int fd = open_self();

	for (int i = 0; i < 2; i++) {
		ck_assert_int_eq(
			reader_headers(g_readers, 1, fd, &headers, g_why), 0);
		free(headers.segments);
		readers_tire(g_readers, 1);
		readers_stats(g_readers, &stats);
		ck_assert_uint_eq(stats.idle, 1);
		readers_tire(g_readers, UINT64_MAX);
		readers_stats(g_readers, &stats);
		ck_assert_uint_eq(stats.idle, 0);
		ck_assert_uint_eq(stats.killed, 0);
	}
	ck_assert_uint_eq(stats.started, 2);
	close(fd);
}

/* O_PATH files that are not on a disk are opened by another process. */
TEST(reader_reads_files_that_an_opener_has_opened)
{
	char path[] = "/dev/shm/test_reader.XXXXXX", out[8];
	int file = mkstemp(path), fd;
	size_t got;

	ck_assert_int_ge(file, 0);
	ck_assert_int_eq(write(file, "0123456789", 10), 10);
	fd = open(path, O_PATH | O_CLOEXEC);
	ck_assert(!nowait_is_local(fd));
	for (int i = 0; i < 2; i++) {
		ck_assert_int_eq(
			reader_bytes(g_readers, 1, fd, 4, 4, out, &got, g_why),
			0);
		ck_assert_uint_eq(got, 4);
		ck_assert_mem_eq(out, "4567", 4);
	}
	close(fd);
	fd = opener_find(readers_openers(g_readers), AT_FDCWD, path, 0, 0);
	ck_assert_int_ge(fd, 0);
	close(fd);
	unlink(path);
	ck_assert_int_eq(
		opener_find(readers_openers(g_readers), AT_FDCWD, path, 0, 0),
		-ENOENT);
	close(file);
}

TEST(reader_copies_bytes_up_to_the_end_of_the_file)
{
	char out[8] = "";
	size_t got;
	int fd;

	scratch_write("ten", "0123456789", 10);
	fd = open("ten", O_RDONLY | O_CLOEXEC);
	ck_assert_int_eq(reader_bytes(g_readers, 1, fd, 4, 4, out, &got, g_why),
			 0);
	ck_assert_uint_eq(got, 4);
	ck_assert_str_eq(out, "4567");
	ck_assert_int_eq(reader_bytes(g_readers, 1, fd, 7, 8, out, &got, g_why),
			 0);
	ck_assert_uint_eq(got, 3);
	ck_assert_int_eq(
		reader_bytes(g_readers, 1, fd, 10, 8, out, &got, g_why), 0);
	ck_assert_uint_eq(got, 0);
	close(fd);
}

/* "123456789" is the check value of this crc32. */
TEST(reader_computes_the_checksum_of_debug_links)
{
	uint32_t sum = 0;
	int fd;

	scratch_write("nine", "123456789", 9);
	fd = open("nine", O_RDONLY | O_CLOEXEC);
	ck_assert_int_eq(reader_checksum(g_readers, 1, fd, &sum, g_why), 0);
	ck_assert_uint_eq(sum, 0xcbf43926);
	close(fd);
}

TEST(reader_says_what_is_no_elf_file)
{
	struct elf_headers headers;
	int fd;

	scratch_write("text", "#!/bin/sh\n", 10);
	fd = open("text", O_RDONLY | O_CLOEXEC);
	ck_assert_int_eq(reader_headers(g_readers, 1, fd, &headers, g_why),
			 -ENOEXEC);
	ck_assert_str_eq(g_why, "not an ELF file");
	close(fd);
}

/* --- processes ------------------------------------------------------------ */

static struct readers_stats stats(void)
{
	struct readers_stats out;

	readers_stats(g_readers, &out);
	return out;
}

static int ask_for_a_byte(uid_t uid)
{
	int fd = open_self();
	size_t got;
	char byte;
	int err = reader_bytes(g_readers, uid, fd, 1, 1, &byte, &got, g_why);

	close(fd);
	if (!err)
		ck_assert_int_eq(byte, 'E');
	return err;
}

TEST(reader_process_serves_one_user_only)
{
	for (int i = 0; i < 5; i++)
		ck_assert_int_eq(ask_for_a_byte(7), 0);
	ck_assert_uint_eq(stats().started, 1);
	ck_assert_int_eq(ask_for_a_byte(8), 0);
	ck_assert_uint_eq(stats().started, 2);
	ck_assert_uint_eq(stats().idle, 2);
	for (uid_t uid = 10; uid < 30; uid++)
		ck_assert_int_eq(ask_for_a_byte(uid), 0);
	ck_assert_uint_eq(stats().idle, 4);
	readers_rest(g_readers);
	ck_assert_uint_eq(stats().idle, 0);
	/* Reaps the process whose end took more than 100 ms. */
	while (waitpid(-1, NULL, 0) > 0)
		;
	ck_assert_int_eq(errno, ECHILD);
}

TEST(reader_process_that_died_while_idle_is_replaced)
{
	char command[64];

	ck_assert_int_eq(ask_for_a_byte(7), 0);
	snprintf(command, sizeof(command), "pkill -9 -P %d perfrec-reader",
		 (int)getpid());
	ck_assert_int_eq(system(command), 0);
	ck_assert_int_eq(ask_for_a_byte(7), 0);
	ck_assert_uint_eq(stats().started, 2);
	ck_assert_uint_eq(stats().busy, 0);
}

TEST(reader_that_does_not_answer_is_killed)
{
	char command[64];

	ck_assert_int_eq(ask_for_a_byte(7), 0);
	snprintf(command, sizeof(command), "pkill -STOP -P %d perfrec-reader",
		 (int)getpid());
	ck_assert_int_eq(system(command), 0);
	ck_assert_int_eq(ask_for_a_byte(7), -ETIMEDOUT);
	ck_assert_str_eq(g_why, "reading it took too long");
	ck_assert_uint_eq(stats().killed, 1);
	ck_assert_int_eq(ask_for_a_byte(7), 0);
}

/* The start was retried forever. */
TEST(reader_that_cannot_be_started_is_told)
{
	struct elf_headers headers;
	int fd = open_self();

	g_refuse_to_spawn = true;
	ck_assert_int_eq(reader_headers(g_readers, 1, fd, &headers, g_why),
			 -EAGAIN);
	ck_assert_str_eq(g_why, "cannot start perfrec-reader: Resource "
				"temporarily unavailable");
	close(fd);
}

TEST(reader_that_is_missing_is_told)
{
	setenv("PERFREC_READER", "/nowhere/perfrec-reader", 1);
	ck_assert_int_eq(ask_for_a_byte(7), -ENOENT);
	ck_assert_str_eq(g_why, "cannot start perfrec-reader: No such file or "
				"directory");
}

/* --- a hijacked reader ---------------------------------------------------- */

struct answer {
	const char *name;
	struct reader_reply reply;
	const void *bytes; /* of both parts */
	size_t count;
	int err; /* expected result */
};

#define FUNCTIONS(...)                \
	(const struct elf_function[]) \
	{                             \
		__VA_ARGS__           \
	}
#define HEX "00112233445566778899aabbccddeeff"

static const struct reader_headers g_bad_id = { .build_id = "../../etc" };
static const struct reader_headers g_endless_id = {
	.build_id = HEX HEX HEX HEX "0",
};

/* The first two answer reader_headers(), the rest reader_functions(). */
static const struct answer g_answers[] = {
	{ "a build-id that is a path",
	  { .bytes = { sizeof(g_bad_id), 0 } },
	  &g_bad_id,
	  sizeof(g_bad_id),
	  -EBADMSG },
	{ "a build-id without an end",
	  { .bytes = { sizeof(g_endless_id), 0 } },
	  &g_endless_id,
	  sizeof(g_endless_id),
	  -EBADMSG },
	{ "not sorted",
	  { .bytes = { 32, 2 } },
	  FUNCTIONS({ .start = 2, .size = 1 }, { .start = 1, .size = 1 },
		    { 0 }),
	  34,
	  -EBADMSG },
	{ "the same address twice",
	  { .bytes = { 32, 2 } },
	  FUNCTIONS({ .start = 2, .size = 1 }, { .start = 2, .size = 1 },
		    { 0 }),
	  34,
	  -EBADMSG },
	{ "a function of no bytes",
	  { .bytes = { 16, 2 } },
	  FUNCTIONS({ .start = 2 }, { 0 }),
	  18,
	  -EBADMSG },
	{ "a name behind the strings",
	  { .bytes = { 16, 2 } },
	  FUNCTIONS({ .start = 2, .size = 1, .name = 2 }, { 0 }),
	  18,
	  -EBADMSG },
	{ "strings without an end",
	  { .bytes = { 16, 2 } },
	  FUNCTIONS({ .start = 2, .size = 1 }, { .start = UINT64_MAX }),
	  18,
	  -EBADMSG },
	{ "no strings",
	  { .bytes = { 16, 0 } },
	  FUNCTIONS({ .start = 2, .size = 1 }),
	  16,
	  -EBADMSG },
	{ "half a function",
	  { .bytes = { 24, 2 } },
	  FUNCTIONS({ .start = 2, .size = 1 }, { 0 }),
	  26,
	  -EBADMSG },
	{ "more than there can be",
	  { .bytes = { 1ull << 60, 2 } },
	  NULL,
	  0,
	  -EBADMSG },
	{ "an end too early",
	  { .bytes = { 1 << 20, 2 } },
	  FUNCTIONS({ .start = 2, .size = 1 }),
	  16,
	  -EBADMSG },
	{ "an error that is none", { .err = 5 }, NULL, 0, -EBADMSG },
	{ "an error out of range", { .err = INT32_MIN }, NULL, 0, -EBADMSG },
	{ "an error of its own",
	  { .err = -EFBIG, .why = "big\n\xff" },
	  NULL,
	  0,
	  -EFBIG },
	{ "all good",
	  { .bytes = { 16, 2 } },
	  FUNCTIONS({ .start = 2, .size = 1 }, { 0 }),
	  18,
	  0 },
};

static int play_reader(const struct answer *answer)
{
	struct reader_request request;

	if (recv(STDOUT_FILENO, &request, sizeof(request), MSG_WAITALL) !=
		    sizeof(request) ||
	    send(STDOUT_FILENO, &answer->reply, sizeof(answer->reply), 0) < 0 ||
	    send(STDOUT_FILENO, answer->bytes, answer->count, 0) < 0)
		return 1;
	return 0;
}

static void use_player(size_t number)
{
	char self[PATH_MAX] = "", script[PATH_MAX + 64], path[PATH_MAX + 32];

	ck_assert_int_gt(readlink("/proc/self/exe", self, sizeof(self) - 1), 0);
	snprintf(script, sizeof(script), "#!/bin/sh\nexec '%s' play %zu\n",
		 self, number);
	scratch_write("player", script, strlen(script));
	ck_assert_int_eq(chmod("player", 0755), 0);
	snprintf(path, sizeof(path), "%s/player", g_scratch);
	setenv("PERFREC_READER", path, 1);
}

TEST(reader_answers_are_checked, EACH(0, (int)ARRAY_SIZE(g_answers)))
{
	const struct answer *answer = &g_answers[_i];
	const struct reader_symtab own = { .fd = -1 };
	struct elf_functions functions = { 0 };
	struct elf_headers headers;
	int fd = open_self(), err;

	use_player((size_t)_i);
	err = _i < 2 ? reader_headers(g_readers, 7, fd, &headers, g_why)
		     : reader_functions(g_readers, 7, fd, &own, &functions,
					g_why);
	ck_assert_msg(err == answer->err, "%s: %d (%s)", answer->name, err,
		      g_why);
	if (err == -EFBIG)
		ck_assert_str_eq(g_why, "big??");
	else if (err)
		ck_assert_ptr_null(functions.list);
	ck_assert_uint_eq(stats().busy, 0);
	free(functions.list);
	free(functions.strings);
	close(fd);
}

static int play_another(int argc, char **argv)
{
	if (argc == 3 && !strcmp(argv[1], "play"))
		return play_reader(&g_answers[atoi(argv[2])]);
	return -1;
}

ROLE(play_another);

SUITE(scratch_enter, scratch_leave);
