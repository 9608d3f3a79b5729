/* SPDX-License-Identifier: Apache-2.0
 *
 * perfrec export --to perfetto to a stream that cannot be written for a moment, and of
 * a trace that loses packets meanwhile.
 */
#include <errno.h>
#include <sys/stat.h>

#include "collector/command/export_trace.h"
#include "collector/options/opts.h"
#include "collector/output/kept_trace.h"
#include "collector/output/own_files.h"
#include "tests/unit/scratch.h"
#include "tests/unit/wait_rig.h"

static int g_writes;

static void start(void)
{
	rig_start(1);
	rig_call(0, WORK, 100, 900);
	mkdir("data", 0700);
	scratch_write("data/" TRACE_NAME, g_trace, g_bytes);
	scratch_write("data/" SUMMARY_NAME, "{}", 2);
	g_writes = 0;
}

SUITE(scratch_enter, scratch_leave);
FIXTURE(start, NULL);

static ssize_t write_but_not_first(void *cookie, const char *bytes,
				   size_t count)
{
	(void)cookie;
	(void)bytes;
	errno = EAGAIN;
	return g_writes++ ? (ssize_t)count : 0;
}

static ssize_t write_always(void *cookie, const char *bytes, size_t count)
{
	(void)cookie;
	(void)bytes;
	return (ssize_t)count;
}

/* The recording drops its first packets. */
static ssize_t write_and_drop(void *cookie, const char *bytes, size_t count)
{
	uint8_t header[KEPT_HEADER_BYTES];

	kept_trace_put_header(header, 8);
	scratch_write("data/" HEAD_NAME, header, sizeof(header));
	return write_always(cookie, bytes, count);
}

static int export_to(cookie_write_function_t *write)
{
	const cookie_io_functions_t functions = { .write = write };
	struct call_command call = { .dir = "data" };
	FILE *out = fopencookie(NULL, "w", functions);
	int result;

	ck_assert_ptr_nonnull(out);
	setvbuf(out, NULL, _IONBF, 0);
	result = export_trace_write(&call, out);
	fclose(out);
	return result;
}

TEST(a_trace_is_exported)
{
	ck_assert_int_eq(export_to(write_always), 0);
}

TEST(a_trace_with_a_gap_is_no_success)
{
	ck_assert_int_eq(export_to(write_but_not_first), -EIO);
}

TEST(a_trace_that_drops_packets_is_no_success)
{
	ck_assert_int_eq(export_to(write_and_drop), OPTS_FAILED);
}
