/* SPDX-License-Identifier: Apache-2.0
 *
 * Requests of a trace that do not all have room. Includes the file, for a limit
 * that some requests exceed.
 */

/* Room for a pool of 64 ids and as many events, but not for a larger pool. */
#define KEPT_BYTES_MAX 8000u
#include "collector/export/tables.c" /* NOLINT(bugprone-suspicious-include) */

#include "tests/suite.h"

static struct trace_track g_thread = { .kind = TRACE_TRACK_THREAD };

static void keep_slice(struct writer *writer, enum trace_event_kind kind,
		       uint64_t ns, unsigned int number)
{
	const struct trace_event event = { .kind = kind,
					   .ns = ns,
					   .track = &g_thread };
	struct request_ids ids = { 0 };

	snprintf(ids.trace, sizeof(ids.trace), "%032x", number);
	ck_assert_int_eq(keep_request(writer, &event, 0, &ids), 0);
}

/* Behind its only slice with a request, a thread has none. */
TEST(tables_order_requests_that_fill_the_room)
{
	struct writer writer = { .budget = { .left = KEPT_BYTES_MAX } };
	struct requests *requests;
	const struct request_ids *ids;
	unsigned int number = 1;

	pool_init(&writer.ids, &writer.budget, sizeof(union kept_ids),
		  sizeof(union kept_ids));
	keep_slice(&writer, TRACE_BEGIN, 1, number);
	keep_slice(&writer, TRACE_END, 2, number);
	requests = &writer.requests[0];
	while (!requests->unknown_ns) {
		number++;
		keep_slice(&writer, TRACE_BEGIN, number + 1, number);
	}
	ck_assert_uint_gt(writer.ids.count, 1);
	ck_assert_uint_eq(writer.ids.count, writer.ids.room);
	ck_assert_int_eq(order_requests(&writer), 0);
	ids = ids_at(&writer, requests, requests->event, requests->count, 1);
	ck_assert_str_eq(ids->trace, "00000000000000000000000000000001");
	ids = ids_at(&writer, requests, requests->event, requests->count, 2);
	ck_assert_str_eq(ids->trace, "");
	ids = ids_at(&writer, requests, requests->event, requests->count,
		     number + 1);
	ck_assert_ptr_null(ids);
	ck_assert_uint_eq(writer.unknown_requests, 1);
	free(requests->event);
	free(requests->said);
	free(writer.requests);
	pool_release(&writer.ids);
}
