/* SPDX-License-Identifier: Apache-2.0
 *
 * kept_head - reads the old head and the packets since, up to the start of the
 * rest, and writes the state there.
 */
#include "collector/cut/kept_head.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collector/base/clock.h"
#include "collector/cut/packet_window.h"
#include "collector/output/kept_trace.h"
#include "collector/output/own_files.h"
#include "collector/read/trace_packets.h"
#include "collector/trace/fields.h"
#include "collector/trace/out_perfetto.h"
#include "shared/compiler.h"

static struct cut_range g_never = { UINT64_MAX - 1, UINT64_MAX };
static const struct cut_ranges g_ranges = { .at = &g_never, .count = 1 };

/* A packet that fills @count bytes has one field, synchronization_marker, with
 * two lengths of two bytes. */
#define FILL_HEAD_BYTES (1 + 2 + 2 + 2)
_Static_assert(FILL_HEAD_BYTES + KEPT_ALIGN < 1 << 14,
	       "a varint of two bytes has its length");

static uint8_t *put_two(uint8_t *at, size_t number)
{
	*at++ = (uint8_t)(number | 0x80);
	*at++ = (uint8_t)(number >> 7);
	return at;
}

/* Fills up to where the rest may follow. Returns the bytes of that, or
 * -errno. */
static int64_t fill_up(FILE *out, uint64_t bytes, uint64_t gone)
{
	uint8_t fill[FILL_HEAD_BYTES + KEPT_ALIGN] = { TAG_TRACE_PACKET };
	size_t count = (gone - bytes) % KEPT_ALIGN;
	uint8_t *at;

	if (!count)
		return 0;
	if (count < FILL_HEAD_BYTES)
		count += KEPT_ALIGN;
	at = put_two(fill + 1, count - 3);
	at = put_two(at, TAG_TRACE_PACKET_SYNCHRONIZATION_MARKER);
	put_two(at, count - FILL_HEAD_BYTES);
	return fwrite(fill, 1, count, out) == count ? (int64_t)count : -EIO;
}

/* Writes the start of the complete part of the trace. */
static void put_about(struct cut_file *file, uint64_t from_ns)
{
	const struct out_attribute about = { .key = KEPT_ATTRIBUTE,
					     .number = (int64_t)from_ns };
	uint8_t packet[256];

	cut_file_put(
		file, packet,
		out_perfetto_attributes(packet, sizeof(packet), &about, 1));
}

static int pass_all_packets(struct trace_packets *packets,
			    struct packet_window *window)
{
	struct trace_packet_bytes bytes;
	int got;

	while ((got = trace_packets_next(packets, &bytes)) > 0) {
		struct wire *ahead;

		packet_window_take(window, &bytes);
		ahead = trace_packets_ahead(packets);
		ahead->at += packet_window_skip(
			window, ahead->at, (size_t)(ahead->end - ahead->at));
	}
	if (got < 0)
		return got;
	return trace_packets_left(packets) || trace_packets_bad_bundles(packets)
		       ? -EBADMSG
		       : 0;
}

static int write_state(const struct trace_rest *rest,
		       struct trace_packets *packets, struct cut_file *file,
		       struct trace_head *out)
{
	const struct packet_window_rest following = {
		.lives = rest->lives,
		.next_step = rest->next_step,
		.context = rest->context,
		.all_known = rest->all_known,
		.from_ns = rest->from_ns,
		.first_ns = rest->first_ns,
	};
	struct packet_window *window;
	int err = packet_window_new(&g_ranges, file, NULL, &window);

	if (err)
		return err;
	err = pass_all_packets(packets, window);
	if (!err) {
		uint64_t ns = packet_window_leave(window, &following);

		/* Programs may give events any time, so clamp it. */
		out->from_ns = MIN(ns, clock_boottime_ns());
		put_about(file, rest->all_known ? rest->from_ns : out->from_ns);
	}
	packet_window_free(&window);
	return err;
}

static int write_head(const struct trace_rest *rest,
		      struct trace_packets *packets, FILE *to,
		      struct trace_head *out)
{
	uint8_t header[KEPT_HEADER_BYTES];
	struct cut_file file;
	int64_t filled;
	int err, end;

	kept_trace_put_header(header, rest->gone);
	if (fwrite(header, 1, sizeof(header), to) != sizeof(header))
		return -EIO;
	err = cut_file_begin(&file, to, rest->compress);
	if (err)
		return err;
	err = write_state(rest, packets, &file, out);
	end = cut_file_end(&file);
	if (err || end)
		return err ?: end;
	filled = fill_up(to, file.bytes, rest->gone);
	if (filled < 0)
		return (int)filled;
	out->bytes = file.bytes + (uint64_t)filled;
	return 0;
}

static int open_part(const struct trace_rest *rest,
		     struct file_stretch *stretch, struct trace_packets **out)
{
	char path[64];
	int err;

	snprintf(path, sizeof(path), "/proc/self/fd/%d/" TRACE_NAME,
		 rest->dir_fd);
	err = trace_packets_open(path, out);
	if (err)
		return err;
	*stretch = (struct file_stretch){ 0, trace_packets_offset_of(
						     *out, rest->gone) };
	trace_packets_only(*out, stretch, 1);
	return 0;
}

static int make_file(const struct trace_rest *rest,
		     struct trace_packets *packets, struct trace_head *out)
{
	FILE *to;
	int fd, err;

	/* A failed try may have left it. */
	own_files_discard(rest->dir_fd, HEAD_NAME);
	fd = own_files_create(rest->dir_fd, HEAD_NAME, 0);
	to = fd < 0 ? NULL : fdopen(fd, "w");
	if (!to) {
		err = fd < 0 ? fd : -errno;
		if (fd >= 0)
			close(fd);
		return err;
	}
	errno = 0;
	err = write_head(rest, packets, to, out);
	if (fclose(to) && !err)
		err = errno ? -errno : -EIO;
	if (err)
		own_files_discard(rest->dir_fd, HEAD_NAME);
	else
		err = own_files_keep(rest->dir_fd, HEAD_NAME);
	return err;
}

int kept_head_make(const struct trace_rest *rest, struct trace_head *out)
{
	struct trace_packets *packets;
	struct file_stretch stretch;
	int err = open_part(rest, &stretch, &packets);

	*out = (struct trace_head){ 0 };
	if (err)
		return err;
	err = make_file(rest, packets, out);
	trace_packets_close(&packets);
	return err;
}
