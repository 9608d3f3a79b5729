/* SPDX-License-Identifier: Apache-2.0
 *
 * The trace on disk is complete and ordered. After a full disk, a limit or a
 * cut it still has only whole packets. Producers never wait forever.
 *
 * Each event's name holds its sequence and number, so a reader finds missing
 * and misplaced ones. This file has its own modules_resolve(): a function's
 * name is its address.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>
#include <zlib.h>

#include "collector/base/bytes.h"
#include "collector/names/modules.h"
#include "collector/output/own_files.h"
#include "collector/trace/encode.h"
#include "collector/trace/index_items.h"
#include "collector/trace/out_perfetto.h"
#include "collector/trace/trace_file.h"
#include "proto/perfetto_trace.pb-c.h"
#include "shared/atomic.h"
#include "tests/suite.h"

typedef Perfetto__Protos__Trace pb_trace;
typedef Perfetto__Protos__TracePacket pb_packet;

#define SEQUENCES_MAX 64
#define BUNDLE_MAX (512 * 1024)
#define WIDE_BYTES 500
/* overhead of a file system beside data */
#define ROOM_SLACK_BYTES (256 * 1024)

/* Cheaper than ck_assert() for millions of checks. */
#define EXPECT(condition)                                       \
	do {                                                    \
		if (!(condition))                               \
			ck_abort_msg("not so: %s", #condition); \
	} while (0)

/* --- the part of modules.h that trace_file needs --- */

#define LONG_NAME_FUNCTION 0xbadULL
/* resolving it blocks until g_go_on is set */
#define SLOW_FUNCTION (0x510ULL << 32)
#define NAME_TABLE 4096

struct modules {
	int references;
};

static char g_names[NAME_TABLE][24];
static int g_go_on, g_is_slow;
static char g_long_name[2 * OUT_TEXT_BYTES];

void modules_resolve(struct modules *modules, uint64_t address,
		     uint32_t generation, struct symbol *out)
{
	(void)modules;
	(void)generation;
	memset(out, 0, sizeof(*out));
	/* order: rlx, seeing them late only waits a little longer */
	if (address == SLOW_FUNCTION)
		atom_store_rlx(&g_is_slow, 1);
	while (address == SLOW_FUNCTION && !atom_load_rlx(&g_go_on))
		sched_yield();
	out->name = address == LONG_NAME_FUNCTION
			    ? g_long_name
			    : g_names[address % NAME_TABLE];
}

void modules_put(struct modules **modules)
{
	/* order: rlx, a count that is read when all threads are gone */
	atom_add_rlx(&(*modules)->references, -1);
	*modules = NULL;
}

static struct modules g_modules;

static struct modules *reference(void)
{
	/* order: rlx, as in modules_put */
	atom_add_rlx(&g_modules.references, 1);
	return &g_modules;
}

/* --- files and their contents --- */

static char g_dir[] = "/tmp/test_trace_file.XXXXXX";
static int g_dir_fd = -1;

struct file_bytes {
	uint8_t *data;
	size_t size;
};

static struct file_bytes read_named(const char *name)
{
	int fd = openat(g_dir_fd, name, O_RDONLY | O_NOFOLLOW);
	struct file_bytes file = { NULL, 0 };
	struct stat status;

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(fstat(fd, &status), 0);
	ck_assert_uint_eq(status.st_mode & 07777, 0600);
	file.size = (size_t)status.st_size;
	file.data = malloc(file.size + 1);
	ck_assert_int_eq(read(fd, file.data, file.size + 1), file.size);
	close(fd);
	return file;
}

static struct file_bytes read_file(void)
{
	return read_named(TRACE_NAME);
}

/* 0: the packet is incomplete. */
static size_t packet_bytes(struct file_bytes bytes)
{
	size_t length = 0, at = 1;

	if (bytes.size < 2)
		return 0;
	EXPECT(bytes.data[0] == 0x0a);
	for (unsigned int shift = 0;; shift += 7) {
		if (at >= bytes.size)
			return 0;
		length |= (size_t)(bytes.data[at] & 0x7f) << shift;
		if (!(bytes.data[at++] & 0x80))
			break;
	}
	return length <= bytes.size - at ? at + length : 0;
}

static struct file_bytes inflate_bundle(ProtobufCBinaryData packed)
{
	static uint8_t out[BUNDLE_MAX];
	uLongf size = sizeof(out);

	ck_assert_int_eq(uncompress(out, &size, packed.data, packed.len), Z_OK);
	return (struct file_bytes){ out, size };
}

typedef void visit_packet(void *context, const pb_packet *packet);

/* Includes packets in bundles. Returns the bytes of whole packets. */
static size_t each_packet(struct file_bytes bytes, bool in_bundle,
			  visit_packet *visit, void *context)
{
	size_t all = bytes.size, length;
	pb_trace *trace;

	while ((length = packet_bytes(bytes))) {
		trace = perfetto__protos__trace__unpack(NULL, length,
							bytes.data);
		EXPECT(trace);
		EXPECT(trace->n_packet == 1);
		if (trace->packet[0]->has_compressed_packets) {
			struct file_bytes bundle = inflate_bundle(
				trace->packet[0]->compressed_packets);

			ck_assert(!in_bundle);
			ck_assert_uint_eq(
				each_packet(bundle, true, visit, context),
				bundle.size);
		} else {
			visit(context, trace->packet[0]);
		}
		perfetto__protos__trace__free_unpacked(trace, NULL);
		bytes.data += length;
		bytes.size -= length;
	}
	return all - bytes.size;
}

struct tally {
	uint32_t packets, first_sequence;
	uint32_t globals_before_2; /* events of 1 before the first one of 2 */
	uint32_t events[SEQUENCES_MAX]; /* in order from 0 */
	uint32_t names[SEQUENCES_MAX]; /* iids in order from 1 */
	size_t longest_name;
};

static void tally_names(struct tally *tally, const pb_packet *packet)
{
	uint32_t sequence = packet->trusted_packet_sequence_id;

	for (size_t i = 0; i < packet->interned_data->n_event_names; i++) {
		const Perfetto__Protos__EventName *name =
			packet->interned_data->event_names[i];
		size_t length = strlen(name->name);

		EXPECT(name->iid == ++tally->names[sequence]);
		EXPECT(length > 0);
		tally->longest_name = MAX(tally->longest_name, length);
	}
}

/* Timestamps number the events of a sequence. Names precede their events. */
static void tally_packet(void *context, const pb_packet *packet)
{
	struct tally *tally = context;
	uint32_t sequence = packet->trusted_packet_sequence_id;

	if (!tally->packets++)
		tally->first_sequence = sequence;
	EXPECT(sequence < SEQUENCES_MAX);
	if (packet->interned_data)
		tally_names(tally, packet);
	if (packet->track_event) {
		if (sequence == 2 && !tally->events[2])
			tally->globals_before_2 = tally->events[1];
		EXPECT(packet->timestamp == tally->events[sequence]++);
		EXPECT(packet->track_event->name_iid <= tally->names[sequence]);
	}
}

static struct tally tally_file(void)
{
	struct file_bytes file = read_file();
	struct tally tally = { 0 };

	ck_assert_uint_eq(each_packet(file, false, tally_packet, &tally),
			  file.size);
	free(file.data);
	return tally;
}

static struct trace_file *open_file(bool compress, unsigned int threads,
				    uint64_t max_bytes)
{
	const struct trace_file_options options = {
		.dir_fd = g_dir_fd,
		.name = TRACE_NAME,
		.compress = compress ? COMPRESS_ON : COMPRESS_OFF,
		.compress_threads = threads,
		.max_bytes = max_bytes,
	};
	struct trace_file *file;

	ck_assert_int_eq(trace_file_open(&options, &file), 0);
	return file;
}

/* --- producing --- */

static char g_letters[64 * 1024]; /* random letters for texts */

struct producer {
	struct trace_file *file;
	uint32_t sequence, events, names;
	uint32_t blocks;
};

/* The long text limits a full block to some hundred events, to save time. */
static size_t put_event(struct producer *producer, uint8_t *out, size_t size,
			uint32_t iid)
{
	bool wide = size > 2 * WIDE_BYTES;
	char text[WIDE_BYTES + 1] = "";
	Perfetto__Protos__Trace trace = PERFETTO__PROTOS__TRACE__INIT;
	pb_packet packet = PERFETTO__PROTOS__TRACE_PACKET__INIT;
	pb_packet *packets = &packet;
	Perfetto__Protos__TrackEvent event =
		PERFETTO__PROTOS__TRACK_EVENT__INIT;

	event.has_name_iid = iid && !wide;
	event.name_iid = event.has_name_iid ? iid : 0;
	event.name = wide ? text : NULL;
	if (wide)
		memcpy(text,
		       g_letters + producer->events * 977 %
					   (sizeof(g_letters) - WIDE_BYTES),
		       WIDE_BYTES);
	packet.track_event = &event;
	packet.has_timestamp = 1;
	packet.timestamp = producer->events;
	packet.has_trusted_packet_sequence_id = 1;
	packet.trusted_packet_sequence_id = producer->sequence;
	trace.packet = &packets;
	trace.n_packet = 1;
	if (perfetto__protos__trace__get_packed_size(&trace) > size)
		return 0;
	producer->events++;
	return perfetto__protos__trace__pack(&trace, out);
}

static void submit_block(struct producer *producer, uint32_t bytes,
			 uint32_t names)
{
	struct trace_block *block = trace_file_block(producer->file);
	size_t used;

	block->sequence = producer->sequence;
	for (uint32_t i = 0; i < names; i++) {
		block->names[i].iid = ++producer->names;
		block->names[i].function = producer->names;
	}
	block->name_count = names;
	if (names)
		block->modules = reference();
	while ((used = put_event(producer, block->data + block->bytes,
				 bytes - block->bytes, producer->names)))
		block->bytes += (uint32_t)used;
	trace_file_submit(producer->file, block);
}

static void append_event(struct producer *producer)
{
	uint8_t packet[64];
	size_t bytes = put_event(producer, packet, sizeof(packet), 0);

	trace_file_append(producer->file, producer->sequence, packet, bytes);
}

static void *produce(void *context)
{
	struct producer *producer = context;

	append_event(producer);
	for (uint32_t i = 0; i < producer->blocks; i++) {
		if (i % 3 == 0)
			append_event(producer);
		submit_block(producer, i % 5 ? 500 : TRACE_BLOCK_BYTES, i % 7);
		append_event(producer);
	}
	return NULL;
}

/* --- tests --- */

static void setup(void)
{
	strcpy(strrchr(g_dir, '.'), ".XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(g_dir));
	g_dir_fd = open(g_dir, O_DIRECTORY | O_RDONLY);
	ck_assert_int_ge(g_dir_fd, 0);
	for (unsigned int i = 0; i < NAME_TABLE; i++)
		snprintf(g_names[i], sizeof(g_names[i]), "function_%u", i);
	memset(g_long_name, 'x', sizeof(g_long_name) - 1);
	for (size_t i = 0; i < sizeof(g_letters); i++)
		g_letters[i] = (char)('a' + rand() % 4);
}

static void teardown(void)
{
	unlinkat(g_dir_fd, TRACE_NAME, 0);
	close(g_dir_fd);
	rmdir(g_dir);
}

FIXTURE(setup, teardown);

TEST(trace_file_what_belongs_to_no_thread_comes_first)
{
	struct trace_file *file = open_file(true, 2, 0);
	struct producer globals = { .file = file, .sequence = 1 };
	struct producer thread = { .file = file, .sequence = 2 };

	for (int i = 0; i < 8; i++)
		submit_block(&globals, TRACE_BLOCK_BYTES, 0);
	append_event(&thread);
	ck_assert_int_eq(trace_file_close(&file), 0);
	ck_assert_uint_eq(tally_file().globals_before_2, globals.events);
}

static void write_and_check(bool compress, unsigned int threads)
{
	enum { PRODUCERS = 4 };
	struct producer producers[PRODUCERS] = { 0 };
	struct trace_file *file = open_file(compress, threads, 0);
	struct producer preamble = { .file = file, .sequence = 1 };
	pthread_t ids[PRODUCERS];
	struct tally tally;

	append_event(&preamble);
	for (uint32_t i = 0; i < PRODUCERS; i++) {
		producers[i].file = file;
		producers[i].sequence = i + 2;
		producers[i].blocks = 25;
		ck_assert_int_eq(
			pthread_create(&ids[i], NULL, produce, &producers[i]),
			0);
	}
	for (uint32_t i = 0; i < PRODUCERS; i++)
		pthread_join(ids[i], NULL);
	ck_assert_int_eq(trace_file_close(&file), 0);
	ck_assert_ptr_null(file);

	tally = tally_file();
	ck_assert_uint_eq(tally.first_sequence, 1);
	ck_assert_uint_eq(tally.events[1], 1);
	for (uint32_t i = 0; i < PRODUCERS; i++) {
		ck_assert_uint_eq(tally.events[i + 2], producers[i].events);
		ck_assert_uint_eq(tally.names[i + 2], producers[i].names);
	}
	ck_assert_int_eq(g_modules.references, 0);
}

TEST(trace_file_of_many_threads_is_complete_and_in_order)
{
	write_and_check(false, 0);
}

TEST(trace_file_compressed_is_complete_and_in_order, EACH(1, 4))
{
	write_and_check(true, _i);
}

static void produce_alone(bool compress)
{
	struct trace_file *file = open_file(compress, 1, 0);
	struct producer producer = { .file = file, .sequence = 3, .blocks = 9 };

	produce(&producer);
	ck_assert_int_eq(trace_file_close(&file), 0);
}

#define GATHER_BYTES (4u << 20)

static void gather_packet(void *context, const pb_packet *packet)
{
	struct file_bytes *all = context;
	pb_packet *packets = (pb_packet *)packet;
	Perfetto__Protos__Trace trace = PERFETTO__PROTOS__TRACE__INIT;
	size_t bytes;

	trace.packet = &packets;
	trace.n_packet = 1;
	bytes = perfetto__protos__trace__get_packed_size(&trace);
	EXPECT(bytes <= GATHER_BYTES - all->size);
	perfetto__protos__trace__pack(&trace, all->data + all->size);
	all->size += bytes;
}

TEST(trace_file_compressed_says_the_same_as_uncompressed)
{
	struct file_bytes plain, packed, gathered = { malloc(GATHER_BYTES), 0 };

	produce_alone(false);
	plain = read_file();
	unlinkat(g_dir_fd, TRACE_NAME, 0);
	produce_alone(true);
	packed = read_file();
	ck_assert_uint_lt(packed.size, plain.size / 2);
	each_packet(packed, false, gather_packet, &gathered);
	ck_assert_uint_eq(gathered.size, plain.size);
	ck_assert_mem_eq(gathered.data, plain.data, plain.size);
	free(gathered.data);
	free(packed.data);
	free(plain.data);
}

TEST(trace_file_cut_at_any_byte_loads_up_to_there, EACH(0, 2))
{
	struct trace_file *file = open_file(_i, 1, 0);
	struct producer producer = { .file = file, .sequence = 3 };
	uint32_t before = 0;
	struct file_bytes bytes;

	for (int i = 0; i < 5; i++) {
		append_event(&producer);
		submit_block(&producer, 200, 3);
		trace_file_flush(file); /* makes a separate bundle */
	}
	ck_assert_int_eq(trace_file_close(&file), 0);
	bytes = read_file();
	for (size_t cut = 0; cut <= bytes.size; cut++) {
		struct tally tally = { 0 };
		size_t whole =
			each_packet((struct file_bytes){ bytes.data, cut },
				    false, tally_packet, &tally);

		ck_assert_uint_le(whole, cut);
		ck_assert_uint_ge(tally.packets, before);
		before = tally.packets;
	}
	ck_assert_uint_ge(before, producer.events);
	free(bytes.data);
}

TEST(trace_file_long_names_are_all_written, EACH(0, 2))
{
	struct trace_file *file = open_file(_i, 1, 0);
	struct producer producer = { .file = file, .sequence = 3 };
	struct trace_block *block = trace_file_block(file);
	struct tally tally;

	block->sequence = 3;
	block->modules = reference();
	for (uint32_t i = 0; i < TRACE_BLOCK_NAMES; i++)
		block->names[i] =
			(struct trace_name){ i + 1, 0, LONG_NAME_FUNCTION };
	block->name_count = TRACE_BLOCK_NAMES;
	block->bytes = (uint32_t)put_event(&producer, block->data, 64,
					   TRACE_BLOCK_NAMES);
	trace_file_submit(file, block);
	ck_assert_int_eq(trace_file_close(&file), 0);
	tally = tally_file();
	ck_assert_uint_eq(tally.names[3], TRACE_BLOCK_NAMES);
	ck_assert_uint_eq(tally.events[3], 1);
	ck_assert_uint_eq(tally.longest_name, OUT_TEXT_BYTES);
}

/* Submits more than all blocks; @error must stop the file. */
static size_t fill_until(struct trace_file *file, int error)
{
	struct producer producer = { .file = file, .sequence = 3 };
	struct stat status;
	struct tally tally;

	append_event(&producer);
	/* The flush makes a bundle that fits where no block does. */
	trace_file_flush(file);
	for (int i = 0; i < 300; i++) {
		submit_block(&producer, TRACE_BLOCK_BYTES, 2);
		append_event(&producer);
	}
	trace_file_flush(file);
	ck_assert_int_eq(trace_file_stopped(file), error);
	ck_assert_int_eq(fstatat(g_dir_fd, TRACE_NAME, &status, 0), 0);
	ck_assert_uint_eq(trace_file_bytes(file), (uint64_t)status.st_size);
	ck_assert_int_eq(trace_file_close(&file), error);
	tally = tally_file();
	ck_assert_uint_gt(tally.events[3], 0);
	ck_assert_uint_lt(tally.events[3], producer.events);
	ck_assert_int_eq(g_modules.references, 0);
	return (size_t)status.st_size;
}

TEST(trace_file_at_its_limit_stops_below_it, EACH(0, 2))
{
	uint64_t limit = _i ? 64 * 1024 : 10 * TRACE_BLOCK_BYTES;

	ck_assert_uint_le(fill_until(open_file(_i, 2, limit), TRACE_AT_LIMIT),
			  limit);
}

/* A block, a bundle, or a bundle behind blocks does not fit. */
TEST(trace_file_at_the_process_limit_stops_without_a_signal,
     EACH(COMPRESS_AUTO, COMPRESS_OFF + 1))
{
	const struct trace_file_options options = {
		.dir_fd = g_dir_fd,
		.name = TRACE_NAME,
		.compress = (enum compress_when)_i,
		.compress_from = 2 * TRACE_BLOCK_BYTES,
		.compress_threads = 2,
	};
	struct rlimit before, tight;
	struct trace_file *file;
	size_t size;

	getrlimit(RLIMIT_FSIZE, &before);
	tight = before;
	tight.rlim_cur = 5 * TRACE_BLOCK_BYTES + 77;
	ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &tight), 0);
	ck_assert_int_eq(trace_file_open(&options, &file), 0);
	size = fill_until(file, -EFBIG);
	setrlimit(RLIMIT_FSIZE, &before);
	ck_assert_uint_gt(size, 3 * TRACE_BLOCK_BYTES);
}

TEST(trace_file_on_a_full_disk_keeps_what_is_whole)
{
	int plain_dir_fd = g_dir_fd;
	char *path;
	size_t size;

	ck_assert_int_gt(asprintf(&path, "%s/full", g_dir), 0);
	ck_assert_int_eq(mkdir(path, 0700), 0);
	if (mount("none", path, "tmpfs", 0, "size=1000k") == 0) {
		g_dir_fd = open(path, O_DIRECTORY | O_RDONLY);
		size = fill_until(open_file(false, 0, 0), -ENOSPC);
		close(g_dir_fd);
		g_dir_fd = plain_dir_fd;
		umount(path);
		ck_assert_uint_gt(size, 3 * TRACE_BLOCK_BYTES);
		ck_assert_uint_le(size, 1000 * 1024);
	} else {
		printf("no full disk tested: mount: %s\n", strerror(errno));
	}
	rmdir(path);
	free(path);
}

/* --- places of blocks --- */

#define PLACES_MOST 5000

struct place {
	uint64_t sequence, offset, inner; /* as in an INDEX_BLOCK */
	uint64_t first, bytes; /* according to the block's item */
};

struct places {
	unsigned int count;
	struct place place[PLACES_MOST];
};

static struct trace_file *open_with_index(enum compress_when compress,
					  uint64_t compress_from,
					  uint64_t max_bytes)
{
	const struct trace_file_options options = {
		.dir_fd = g_dir_fd,
		.name = TRACE_NAME,
		.index_name = INDEX_NAME,
		.compress = compress,
		.compress_from = compress_from,
		.compress_threads = 3,
		.max_bytes = max_bytes,
	};
	struct trace_file *file;

	ck_assert_int_eq(trace_file_open(&options, &file), 0);
	return file;
}

/* Its item has its first event and its size. */
static void submit_told(struct producer *producer, bool small)
{
	uint32_t most = small ? 300 : TRACE_BLOCK_BYTES;
	struct trace_block *block = trace_file_block(producer->file);
	uint64_t first = producer->events;
	struct bytes payload = { 0 }, items = { 0 };
	size_t used;

	block->sequence = producer->sequence;
	while ((used = put_event(producer, block->data + block->bytes,
				 most - block->bytes, 0)))
		block->bytes += (uint32_t)used;
	block->own_bytes = block->bytes;
	bytes_varint(&payload, first);
	bytes_varint(&payload, block->bytes);
	index_put_item(&items, INDEX_NODE, payload.at, payload.count);
	bytes_release(&payload);
	block->index = items.at;
	block->index_bytes = items.count;
	trace_file_submit(producer->file, block);
}

static void take_places(struct places *places, const uint8_t *at, size_t bytes)
{
	struct index_get items = { .at = at, .end = at + bytes }, get;
	struct place *place = NULL;
	uint32_t kind;

	while ((kind = index_get_item(&items, &get))) {
		if (kind == INDEX_BLOCK) {
			EXPECT(places->count < PLACES_MOST);
			place = &places->place[places->count++];
			place->sequence = index_get_number(&get);
			place->offset = index_get_number(&get);
			place->inner = index_get_number(&get);
		} else if (kind == INDEX_NODE) {
			EXPECT(place);
			place->first = index_get_number(&get);
			place->bytes = index_get_number(&get);
		}
	}
}

static void read_places(struct places *places)
{
	struct file_bytes file = read_named(INDEX_NAME);
	size_t at = INDEX_HEADER_BYTES;

	*places = (struct places){ 0 };
	while (at < file.size) {
		struct index_batch batch;

		index_get_batch(file.data + at, &batch);
		at += INDEX_BATCH_BYTES;
		take_places(places, file.data + at, batch.bytes);
		at += batch.bytes;
	}
	free(file.data);
}

struct first_event {
	bool seen;
	uint32_t sequence;
	uint64_t number;
};

static void take_first(void *context, const pb_packet *packet)
{
	struct first_event *first = context;

	if (!first->seen)
		*first = (struct first_event){
			true, packet->trusted_packet_sequence_id,
			packet->timestamp
		};
}

static void check_place(struct file_bytes file, const struct place *place)
{
	struct file_bytes at = { file.data + place->offset, place->bytes };
	struct first_event first = { 0 };

	EXPECT(place->offset < file.size);
	if (place->inner) {
		size_t length;
		pb_trace *trace;

		at.size = file.size - place->offset;
		length = packet_bytes(at);
		EXPECT(length);
		trace = perfetto__protos__trace__unpack(NULL, length, at.data);
		EXPECT(trace && trace->packet[0]->has_compressed_packets);
		at = inflate_bundle(trace->packet[0]->compressed_packets);
		perfetto__protos__trace__free_unpacked(trace, NULL);
		EXPECT(place->inner - 1 + place->bytes <= at.size);
		at = (struct file_bytes){ at.data + place->inner - 1,
					  place->bytes };
	} else {
		EXPECT(place->offset + place->bytes <= file.size);
	}
	EXPECT(each_packet(at, false, take_first, &first) == place->bytes);
	EXPECT(first.sequence == place->sequence);
	EXPECT(first.number == place->first);
}

TEST(trace_file_index_says_where_each_block_is, EACH(0, 2))
{
	static struct places places;
	struct producer producers[] = { { .sequence = 2 }, { .sequence = 3 } };
	struct trace_file *file =
		open_with_index(_i ? COMPRESS_ON : COMPRESS_OFF, 0, 0);
	uint64_t last[2] = { 0 };
	struct file_bytes bytes;

	producers[0].file = producers[1].file = file;
	for (int i = 0; i < 60; i++) {
		submit_told(&producers[0], i % 3);
		submit_told(&producers[1], i % 4);
		if (i % 16 == 0)
			trace_file_flush(file);
	}
	ck_assert_int_eq(trace_file_close(&file), 0);
	read_places(&places);
	ck_assert_uint_eq(places.count, 120);
	bytes = read_file();
	for (unsigned int i = 0; i < places.count; i++) {
		const struct place *place = &places.place[i];

		EXPECT(!place->first == !last[place->sequence - 2]);
		EXPECT(place->first >= last[place->sequence - 2]);
		last[place->sequence - 2] = place->first + 1;
		EXPECT(!place->inner == !_i);
		check_place(bytes, place);
	}
	free(bytes.data);
}

TEST(trace_file_that_stops_has_an_index_of_what_is_there, EACH(0, 2))
{
	enum { BLOCKS = 100 };
	static struct places places;
	struct producer producer = { .sequence = 3 };
	struct file_bytes bytes;

	producer.file =
		open_with_index(_i ? COMPRESS_ON : COMPRESS_OFF, 0,
				_i ? 200 * 1024 : 10 * TRACE_BLOCK_BYTES);
	for (int i = 0; i < BLOCKS; i++)
		submit_told(&producer, false);
	ck_assert_int_eq(trace_file_close(&producer.file), TRACE_AT_LIMIT);
	read_places(&places);
	ck_assert_uint_gt(places.count, 0);
	ck_assert_uint_lt(places.count, BLOCKS);
	bytes = read_file();
	for (unsigned int i = 0; i < places.count; i++)
		check_place(bytes, &places.place[i]);
	free(bytes.data);
}

/* --- compressed from a certain size --- */

static unsigned int count_bundled(const struct places *places)
{
	unsigned int count = 0;

	for (unsigned int i = 0; i < places->count; i++) {
		/* Later blocks stay compressed. */
		EXPECT(!count || places->place[i].inner);
		count += places->place[i].inner != 0;
	}
	return count;
}

static void check_all_places(const struct places *places)
{
	struct file_bytes bytes = read_file();

	for (unsigned int i = 0; i < places->count; i++)
		check_place(bytes, &places->place[i]);
	free(bytes.data);
}

TEST(trace_file_is_compressed_from_a_size_on)
{
	enum { BLOCKS = 60 };
	static struct places places;
	const uint64_t from = 10 * TRACE_BLOCK_BYTES + 1;
	struct producer producer = { .sequence = 3 };
	struct trace_file *file = open_with_index(COMPRESS_AUTO, from, 0);
	uint64_t bytes = 0, unpacked;
	struct tally tally;

	producer.file = file;
	ck_assert(!trace_file_is_compressed(file));
	for (int i = 0; i < BLOCKS; i++)
		submit_told(&producer, false);
	trace_file_flush(file);
	ck_assert(trace_file_is_compressed(file));
	unpacked = trace_file_unpacked_bytes(file);
	ck_assert_uint_lt(trace_file_bytes(file), unpacked / 2);
	ck_assert_int_eq(trace_file_close(&file), 0);
	read_places(&places);
	for (unsigned int i = 0; i < places.count; i++)
		bytes += places.place[i].bytes;
	ck_assert_uint_eq(unpacked, bytes);
	ck_assert_uint_eq(places.count, BLOCKS);
	/* A block is nearly full. */
	ck_assert_uint_eq(count_bundled(&places), BLOCKS - 11);
	check_all_places(&places);
	tally = tally_file();
	ck_assert_uint_eq(tally.events[3], producer.events);
}

/* A limit that is too small compresses at once, a large one does not. */
TEST(trace_file_is_compressed_at_once_if_room_is_short, EACH(0, 2))
{
	static struct places places;
	uint64_t limit = _i ? 1ULL << 40 : 900ULL << 20;
	struct producer producer = { .sequence = 3 };
	struct trace_file *file = open_with_index(COMPRESS_AUTO, 0, limit);
	struct statvfs disk;

	ck_assert_int_eq(fstatvfs(g_dir_fd, &disk), 0);
	if (_i && disk.f_bavail * disk.f_frsize < 2ULL << 30)
		printf("there is little room here, too\n");
	else
		ck_assert(trace_file_is_compressed(file) == !_i);
	producer.file = file;
	submit_told(&producer, false);
	ck_assert_int_eq(trace_file_close(&file), 0);
	read_places(&places);
	check_all_places(&places);
}

/* g_disk_sleeps calls of writev() sleep first. */
static int g_disk_sleeps;
static const struct timespec g_disk_nap = { 0, 200000000 };

ssize_t writev(int fd, const struct iovec *parts, int count)
{
	/* order: rlx, the count of a test */
	if (atom_load_rlx(&g_disk_sleeps) > 0) {
		atom_add_rlx(&g_disk_sleeps, -1);
		nanosleep(&g_disk_nap, NULL);
	}
	return syscall(SYS_writev, fd, parts, count);
}

#define HELD_MOST 4096 /* more than the pool has */

/* The disk naps while the test holds all blocks, or while there are free ones,
 * which must not compress. */
TEST(trace_file_is_compressed_if_the_disk_is_too_slow, EACH(0, 2))
{
	enum { BLOCKS = 60 };
	static struct places places;
	static struct trace_block *held[HELD_MOST];
	struct producer producer = { .sequence = 3 };
	struct trace_file *file = open_with_index(COMPRESS_AUTO, 1ULL << 40, 0);
	bool lags = !_i;
	int holds = 0;

	producer.file = file;
	while (lags && !trace_file_lags(file) && holds < HELD_MOST)
		held[holds++] = trace_file_block(file);
	ck_assert(trace_file_lags(file) == lags);
	/* order: rlx, as in writev() */
	atom_store_rlx(&g_disk_sleeps, lags ? BLOCKS : 5);
	for (int i = 0; i < BLOCKS; i++) {
		submit_told(&producer, true);
		if (!lags)
			trace_file_flush(file);
	}
	while (lags && !trace_file_is_compressed(file))
		sched_yield();
	/* order: rlx, as in writev() */
	atom_store_rlx(&g_disk_sleeps, 0);
	while (holds)
		trace_file_submit(file, held[--holds]);
	trace_file_flush(file);
	ck_assert(trace_file_is_compressed(file) == lags);
	ck_assert_int_eq(trace_file_close(&file), 0);
	read_places(&places);
	ck_assert_int_eq(count_bundled(&places) > 0, lags);
	check_all_places(&places);
}

/* --- open slices when the trace stops --- */

/* 3, 4 and 5 modulo SEQUENCES_MAX; the last id is the longest. */
static const uint32_t g_sliced[] = { 3, 4 + SEQUENCES_MAX, 5 + (1u << 21) };

#define SLICE_BLOCK_BYTES 400

struct slices {
	const char *mark; /* of each thread where the trace stops */
	unsigned int open[SEQUENCES_MAX], open_most, marks, losses;
};

static void count_slice(void *context, const pb_packet *packet)
{
	struct slices *slices = context;
	unsigned int *open = &slices->open[packet->trusted_packet_sequence_id %
					   SEQUENCES_MAX];

	slices->losses += packet->previous_packet_dropped;
	if (!packet->track_event)
		return;
	EXPECT(!slices->losses);
	if ((int)packet->track_event->type == OUT_BEGIN) {
		++*open;
		slices->open_most = MAX(slices->open_most, *open);
	} else if ((int)packet->track_event->type == OUT_END) {
		EXPECT((*open)-- > 0);
	} else {
		EXPECT(*open);
		EXPECT(!strcmp(packet->track_event->name, slices->mark));
		slices->marks++;
	}
}

/* Ends are as frequent as @ends_in_8 of 8. Returns the number of open slices
 * behind it, given @open before. */
static unsigned int submit_slices(struct trace_file *file, uint32_t sequence,
				  unsigned int open, unsigned int ends_in_8)
{
	struct trace_block *block = trace_file_block(file);
	struct encode_template begin;
	struct encoder encoder;
	unsigned int before = open;

	encoder_init(&encoder, sequence, 0);
	begin = encode_template(&encoder, 1);
	encoder.out = block->data;
	while (encoder.out - block->data < SLICE_BLOCK_BYTES) {
		if (open && ((unsigned int)rand() % 8 < ends_in_8 ||
			     open == TRACE_OPEN_MAX)) {
			encode_end(&encoder, encoder.last_ns + 1);
			open--;
		} else {
			encode_begin(&encoder, encoder.last_ns + 1, &begin);
			open++;
		}
	}
	block->sequence = sequence;
	block->bytes = (uint32_t)(encoder.out - block->data);
	block->opened = (int32_t)(open - before);
	trace_file_submit(file, block);
	return open;
}

static void append_losses(struct trace_file *file)
{
	uint8_t packets[OUT_LOSSES_BYTES(ARRAY_SIZE(g_sliced))];
	uint32_t there[ARRAY_SIZE(g_sliced)];
	size_t count = 0;

	for (size_t i = 0; i < ARRAY_SIZE(g_sliced); i++)
		if (trace_file_has(file, g_sliced[i]))
			there[count++] = g_sliced[i];
	trace_file_append_last(
		file, packets,
		out_perfetto_losses(packets, sizeof(packets), there, count, 1));
}

/* The file must end all open slices. Returns its size. */
static size_t check_stopped(struct trace_file *file, int why,
			    struct slices *slices)
{
	unsigned int known = 0;
	struct file_bytes bytes;

	for (size_t i = 0; i < ARRAY_SIZE(g_sliced); i++)
		known += trace_file_has(file, g_sliced[i]);
	append_losses(file);
	ck_assert_int_eq(trace_file_close(&file), why);
	bytes = read_file();
	EXPECT(each_packet(bytes, false, count_slice, slices) == bytes.size);
	free(bytes.data);
	for (size_t i = 0; i < SEQUENCES_MAX; i++)
		EXPECT(!slices->open[i]);
	EXPECT(slices->losses == known);
	return bytes.size;
}

static void fill_with_slices(struct trace_file *file, unsigned int ends_in_8)
{
	unsigned int open[ARRAY_SIZE(g_sliced)] = { 0 };

	for (unsigned int i = 0; !trace_file_stopped(file); i++) {
		unsigned int which = (unsigned int)rand() % 3;

		open[which] = submit_slices(file, g_sliced[which], open[which],
					    ends_in_8);
		if (i % 4 == 0)
			trace_file_flush(file);
	}
	trace_file_flush(file);
}

TEST(trace_file_at_its_limit_ends_what_is_open, EACH(0, 2), SLOW_FROM(1))
{
	unsigned int marks = 0, open_most = 0;

	for (unsigned int i = 0; i < 200; i++) {
		uint64_t limit = 64 + 37 * i * (1 + i / 8);
		struct trace_file *file = open_file(_i, 2, limit);
		struct slices slices = { .mark = "trace stopped: size limit" };
		size_t size;

		fill_with_slices(file, i % 5);
		size = check_stopped(file, TRACE_AT_LIMIT, &slices);
		EXPECT(size <= limit);
		/* The file must not reserve more than the ends may need. */
		EXPECT(_i || limit - size < 1500 + 18 * slices.open_most);
		marks += slices.marks;
		open_most = MAX(open_most, slices.open_most);
		unlinkat(g_dir_fd, TRACE_NAME, 0);
	}
	ck_assert_uint_gt(marks, 200);
	ck_assert_uint_gt(open_most, 300);
}

/* The bytes cut off after a failed write leave room for the ends. */
TEST(trace_file_that_cannot_grow_ends_what_is_open)
{
	struct producer producer = { .sequence = 6 };
	struct slices slices = { .mark = "trace stopped: no room" };
	struct rlimit before, tight;
	struct trace_file *file;

	getrlimit(RLIMIT_FSIZE, &before);
	tight = before;
	tight.rlim_cur = TRACE_BLOCK_BYTES / 2;
	signal(SIGXFSZ, SIG_IGN); /* as in the collector */
	ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &tight), 0);
	file = producer.file = open_file(false, 0, 0);
	for (size_t i = 0; i < ARRAY_SIZE(g_sliced); i++)
		submit_slices(file, g_sliced[i], 0, 3);
	submit_block(&producer, TRACE_BLOCK_BYTES, 0);
	trace_file_flush(file);
	check_stopped(file, -EFBIG, &slices);
	setrlimit(RLIMIT_FSIZE, &before);
	ck_assert_uint_eq(slices.marks, ARRAY_SIZE(g_sliced));
}

TEST(trace_file_gives_back_the_room_that_it_did_not_use, EACH(0, 2))
{
	struct producer producer = { .sequence = 1 };
	struct stat status;
	uint64_t limit = _i ? (3u << 20) + 77 : 0;

	producer.file = open_file(false, 0, limit);
	while (trace_file_bytes(producer.file) < 5u << 19) {
		submit_block(&producer, TRACE_BLOCK_BYTES, 1);
		trace_file_flush(producer.file);
		ck_assert_int_eq(fstatat(g_dir_fd, TRACE_NAME, &status, 0), 0);
		ck_assert_uint_eq(status.st_size,
				  trace_file_bytes(producer.file));
		if (limit)
			ck_assert_uint_lt(status.st_blocks * 512,
					  limit + ROOM_SLACK_BYTES);
	}
	ck_assert_int_eq(trace_file_close(&producer.file), 0);
	ck_assert_int_eq(fstatat(g_dir_fd, TRACE_NAME, &status, 0), 0);
	ck_assert_uint_lt(status.st_blocks * 512,
			  status.st_size + ROOM_SLACK_BYTES);
}

TEST(trace_file_that_exists_is_not_touched)
{
	const struct trace_file_options options = { .dir_fd = g_dir_fd,
						    .name = TRACE_NAME };
	struct trace_file *file = NULL;

	ck_assert_int_eq(symlinkat("elsewhere", g_dir_fd, TRACE_NAME), 0);
	ck_assert_int_eq(trace_file_open(&options, &file), -EEXIST);
	ck_assert_ptr_null(file);
	ck_assert_int_eq(faccessat(g_dir_fd, "elsewhere", F_OK, 0), -1);
}

TEST(trace_file_flush_brings_all_to_disk, EACH(0, 2))
{
	struct trace_file *file = open_file(_i, 2, 0);
	struct producer producer = { .file = file, .sequence = 3 };

	append_event(&producer);
	submit_block(&producer, 1000, 5);
	append_event(&producer);
	trace_file_flush(file);
	ck_assert_uint_eq(tally_file().events[3], producer.events);
	ck_assert_int_eq(trace_file_close(&file), 0);
}

static void count_sequence_3(void *context, const pb_packet *packet)
{
	uint32_t *count = context;

	*count += packet->trusted_packet_sequence_id == 3;
}

struct flood {
	struct trace_file *file;
	int over;
};

static void *flood(void *context)
{
	struct flood *flood = context;
	struct producer producer = { .sequence = 2 };
	uint8_t data[4096];
	size_t bytes = 0, used;

	while ((used = put_event(&producer, data + bytes, sizeof(data) - bytes,
				 0)))
		bytes += used;
	/* order: rlx, seeing it late only floods a little longer */
	while (!atom_load_rlx(&flood->over)) {
		struct trace_block *block;

		if (trace_file_lags(flood->file)) {
			sched_yield();
			continue;
		}
		block = trace_file_block(flood->file);
		block->sequence = 2;
		block->bytes = (uint32_t)bytes;
		memcpy(block->data, data, bytes);
		trace_file_submit(flood->file, block);
	}
	return NULL;
}

TEST(trace_file_flush_under_load_brings_own_packets_to_disk, EACH(0, 2))
{
	enum { FLUSHES = 50 };
	struct flood other = { open_file(_i, 1, 0), 0 };
	struct producer producer = { .file = other.file, .sequence = 3 };
	uint64_t bytes[FLUSHES], from = 0;
	uint32_t count = 0;
	struct file_bytes all;
	pthread_t id;

	ck_assert_int_eq(pthread_create(&id, NULL, flood, &other), 0);
	for (int i = 0; i < FLUSHES; i++) {
		append_event(&producer);
		trace_file_flush(other.file);
		bytes[i] = trace_file_bytes(other.file);
	}
	/* order: rlx, as in flood */
	atom_store_rlx(&other.over, 1);
	pthread_join(id, NULL);
	ck_assert_int_eq(trace_file_close(&other.file), 0);
	all = read_file();
	for (uint32_t i = 0; i < FLUSHES; i++) {
		struct file_bytes more = { all.data + from, bytes[i] - from };

		from += each_packet(more, false, count_sequence_3, &count);
		ck_assert_uint_eq(from, bytes[i]);
		ck_assert_uint_gt(count, i);
	}
	free(all.data);
}

static void submit_name(struct producer *producer, uint64_t function)
{
	struct trace_block *block = trace_file_block(producer->file);

	block->sequence = producer->sequence;
	block->modules = reference();
	block->names[block->name_count++] =
		(struct trace_name){ .iid = ++producer->names,
				     .function = function };
	block->bytes = (uint32_t)put_event(producer, block->data,
					   TRACE_BLOCK_BYTES, 0);
	trace_file_submit(producer->file, block);
}

TEST(trace_file_whose_writer_waits_lags_and_holds_no_producer)
{
	enum { BLOCKS = 300 };
	struct trace_file *file = open_file(false, 1, 0);
	struct producer producer = { .file = file, .sequence = 3 };
	struct tally tally;

	ck_assert(!trace_file_lags(file));
	submit_name(&producer, SLOW_FUNCTION);
	/* The producer must not block here. */
	for (int i = 0; i < BLOCKS / 3; i++)
		submit_block(&producer, 100, 0);
	ck_assert(trace_file_lags(file));
	ck_assert(trace_file_admits(file));
	for (int i = BLOCKS / 3; i < BLOCKS; i++)
		submit_block(&producer, 100, 0);
	/* A producer that ignores the lag loses blocks. */
	ck_assert(!trace_file_admits(file));
	ck_assert(!trace_file_admits(file));
	ck_assert_uint_eq(trace_file_left_out(file), 2);
	/* order: rlx, as in modules_resolve() */
	atom_store_rlx(&g_go_on, 1);
	trace_file_flush(file);
	ck_assert(!trace_file_lags(file));
	ck_assert(trace_file_admits(file));
	tally = tally_file();
	ck_assert_uint_eq(tally.events[3], producer.events);
	ck_assert_uint_gt(producer.events, BLOCKS);
	ck_assert_int_eq(trace_file_close(&file), 0);
}

/* One writer reads a symbol table; another one's later bundle of the same
 * sequence must not overtake it. */
TEST(trace_file_another_writer_goes_on_and_keeps_the_order)
{
	struct trace_file *file = open_file(true, 2, 0);
	struct producer producer = { .file = file, .sequence = 3 };
	struct tally tally;

	submit_name(&producer, SLOW_FUNCTION);
	/* order: rlx, as in modules_resolve() */
	while (!atom_load_rlx(&g_is_slow))
		sched_yield();
	submit_block(&producer, TRACE_BLOCK_BYTES, 3);
	/* Hangs if the block waits for the other one. order: rlx, as in
	 * modules_put() */
	while (atom_load_rlx(&g_modules.references) > 1)
		sched_yield();
	ck_assert_uint_eq(trace_file_bytes(file), 0);
	for (int i = 0; i < 40; i++)
		submit_block(&producer, TRACE_BLOCK_BYTES / 2, 1);
	ck_assert(trace_file_lags(file));
	ck_assert_uint_eq(trace_file_bytes(file), 0);
	/* order: rlx, as in modules_resolve() */
	atom_store_rlx(&g_go_on, 1);
	trace_file_flush(file);
	ck_assert(!trace_file_lags(file));
	tally = tally_file();
	ck_assert_uint_eq(tally.events[3], producer.events);
	ck_assert_uint_eq(tally.names[3], producer.names);
	ck_assert_int_eq(trace_file_close(&file), 0);
}
