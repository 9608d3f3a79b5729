/* SPDX-License-Identifier: Apache-2.0
 *
 * A trace in two files reads as one. Joining them succeeds after a kill at any
 * point.
 */
#include "collector/output/kept_trace.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "collector/output/own_files.h"
#include "tests/suite.h"
#include "tests/unit/scratch.h"

#define HEAD_BYTES 5000u
/* Bytes gone from the trace: only multiples of KEPT_ALIGN beyond the head can
 * be joined without copying. */
#define GONE_ALIGNED (HEAD_BYTES + 4u * KEPT_ALIGN)
#define GONE_ODD (HEAD_BYTES + 2u * KEPT_ALIGN + 17)
#define REST_BYTES (3u << 20)

static int g_dir_fd;
static uint8_t g_expected[HEAD_BYTES + REST_BYTES];

static void setup(void)
{
	g_dir_fd = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	ck_assert_int_ge(g_dir_fd, 0);
	own_files_remove(g_dir_fd);
	for (size_t i = 0; i < sizeof(g_expected); i++)
		g_expected[i] = (uint8_t)(1 + i * 7 % 251);
}

static void teardown(void)
{
	own_files_remove(g_dir_fd);
	close(g_dir_fd);
}

static void write_at(const char *name, const void *bytes, size_t count,
		     off_t offset)
{
	int fd = open(name, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(pwrite(fd, bytes, count, offset), (ssize_t)count);
	close(fd);
}

static void put_header(uint64_t gone, bool joining)
{
	uint8_t header[KEPT_HEADER_BYTES];

	kept_trace_put_header(header, gone);
	header[16] = joining;
	write_at(HEAD_NAME, header, sizeof(header), 0);
}

/* The start of the trace is a hole or still there. */
static void put_apart(uint64_t gone, bool joining, bool hole)
{
	put_header(gone, joining);
	write_at(HEAD_NAME, g_expected, HEAD_BYTES, KEPT_HEADER_BYTES);
	write_at(TRACE_NAME, g_expected + HEAD_BYTES, REST_BYTES, (off_t)gone);
	if (!hole)
		write_at(TRACE_NAME, "\x0a", 1, 0);
}

static void expect_bytes(void)
{
	struct kept_trace trace;
	uint8_t *got = malloc(sizeof(g_expected) + 1);
	size_t count = 0;
	ssize_t some;

	ck_assert_ptr_nonnull(got);
	ck_assert_int_eq(kept_trace_open("./" TRACE_NAME, &trace), 0);
	ck_assert_uint_eq(trace.bytes, sizeof(g_expected));
	while ((some = kept_trace_read(&trace, got + count,
				       sizeof(g_expected) + 1 - count, count)) >
	       0)
		count += (size_t)some;
	ck_assert_int_eq(some, 0);
	ck_assert_uint_eq(count, sizeof(g_expected));
	ck_assert_int_eq(memcmp(got, g_expected, count), 0);
	kept_trace_close(&trace);
	free(got);
}

static void expect_joined(void)
{
	struct stat status;

	ck_assert_int_eq(kept_trace_join(g_dir_fd), 0);
	ck_assert(!kept_trace_is_apart(g_dir_fd));
	ck_assert_int_eq(access(TRACE_JOINED_NAME, F_OK), -1);
	ck_assert_int_eq(stat(TRACE_NAME, &status), 0);
	ck_assert_int_eq(status.st_size, (off_t)sizeof(g_expected));
	expect_bytes();
	ck_assert_int_eq(kept_trace_join(g_dir_fd), 0);
	expect_bytes();
}

static off_t g_synced; /* size of the copy */
static bool g_early; /* a hole was made before the copy was on the disk */

int fdatasync(int fd)
{
	struct stat status;

	g_synced = fstat(fd, &status) ? 0 : status.st_size;
	return (int)syscall(SYS_fdatasync, fd);
}

int fallocate(int fd, int mode, off_t offset, off_t bytes)
{
	struct stat status;

	if (!stat(TRACE_JOINED_NAME, &status))
		g_early |= status.st_size > g_synced;
	return (int)syscall(SYS_fallocate, fd, mode, offset, bytes);
}

SUITE(scratch_enter, scratch_leave);

FIXTURE(setup, teardown);

TEST(copy_is_on_the_disk_before_there_is_a_hole)
{
	put_apart(GONE_ODD, false, false);
	g_synced = g_early = 0;
	expect_joined();
	ck_assert_int_eq(g_synced, (off_t)sizeof(g_expected));
	ck_assert(!g_early);
}

static const uint64_t g_gone[] = { GONE_ALIGNED, GONE_ODD };

TEST(apart_is_read_and_joined, EACH(0, 2))
{
	put_apart(g_gone[_i], false, true);
	ck_assert(kept_trace_is_apart(g_dir_fd));
	expect_bytes();
	expect_joined();
}

TEST(killed_before_the_hole, EACH(0, 2))
{
	put_apart(g_gone[_i], false, false);
	expect_bytes();
	expect_joined();
}

TEST(killed_when_joining_had_begun, EACH(0, 2))
{
	put_apart(g_gone[_i], true, true);
	expect_bytes();
	expect_joined();
}

TEST(killed_before_the_hole_is_taken_out)
{
	put_apart(GONE_ALIGNED, true, true);
	write_at(TRACE_NAME, g_expected, HEAD_BYTES / 2,
		 GONE_ALIGNED - HEAD_BYTES);
	expect_bytes();
	expect_joined();
}

TEST(killed_when_all_was_joined, EACH(0, 2))
{
	put_header(g_gone[_i], true);
	write_at(HEAD_NAME, g_expected, HEAD_BYTES, KEPT_HEADER_BYTES);
	write_at(TRACE_NAME, g_expected, sizeof(g_expected), 0);
	expect_bytes();
	expect_joined();
}

/* The sources are holes except for the last piece. */
TEST(killed_while_copying, EACH(0, 9))
{
	static const size_t copied[] = { 0,
					 1,
					 HEAD_BYTES - 1,
					 HEAD_BYTES,
					 HEAD_BYTES + 1,
					 HEAD_BYTES + (1u << 20),
					 HEAD_BYTES + (1u << 20) + 12345,
					 sizeof(g_expected) - 1,
					 sizeof(g_expected) };
	size_t count = copied[_i], whole;
	uint8_t *zeros = calloc(1, REST_BYTES);

	ck_assert_ptr_nonnull(zeros);
	put_apart(GONE_ALIGNED, true, true);
	write_at(TRACE_JOINED_NAME, g_expected, count, 0);
	whole = count > HEAD_BYTES ? (count - HEAD_BYTES) >> 20 << 20 : 0;
	write_at(TRACE_NAME, zeros, whole, GONE_ALIGNED);
	free(zeros);
	expect_joined();
}

TEST(odd_heads)
{
	static const char nonsense[KEPT_HEADER_BYTES] = "no head";

	write_at(TRACE_NAME, g_expected, sizeof(g_expected), 0);
	write_at(HEAD_NAME, nonsense, sizeof(nonsense), 0);
	expect_bytes();
	ck_assert_int_eq(kept_trace_join(g_dir_fd), -EBADMSG);
	ck_assert_int_eq(truncate(HEAD_NAME, 3), 0);
	expect_bytes();
	ck_assert_int_eq(kept_trace_join(g_dir_fd), -EBADMSG);
	put_header(sizeof(g_expected) + 1, false);
	expect_bytes();
	ck_assert_int_eq(kept_trace_join(g_dir_fd), -EBADMSG);
	put_header(UINT64_MAX, true);
	expect_bytes();
	expect_joined();
}

TEST(head_of_nothing)
{
	write_at(TRACE_NAME, g_expected, sizeof(g_expected), 0);
	put_header(0, false);
	expect_bytes();
	ck_assert_int_eq(kept_trace_join(g_dir_fd), -EBADMSG);
	expect_bytes();
}

/* Opening it must not block. */
TEST(pipe_for_the_copy)
{
	put_apart(GONE_ODD, false, true);
	ck_assert_int_eq(mkfifo(TRACE_JOINED_NAME, 0600), 0);
	ck_assert_int_eq(kept_trace_join(g_dir_fd), -EEXIST);
	expect_bytes();
	ck_assert_int_eq(unlink(TRACE_JOINED_NAME), 0);
	expect_joined();
}
