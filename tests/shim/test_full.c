/* SPDX-License-Identifier: Apache-2.0
 *
 * test_full - rings that are full most of the time. For each policy, path and
 * signal pattern: recorded and dropped spans of a thread add up to the
 * program's own count, each end matches the innermost open begin, and clocks
 * never step back. Block mode loses nothing, and a depth limit drops nothing
 * above it.
 */
#include <limits.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "shared/atomic.h"
#include "shared/futex.h"
#include "tests/shim/mini_collector.h"
#include "tests/shim/victims/room_victim.h"
#include "tests/suite.h"

#define THREADS 4
#define STACK_MAX 4096
/* Cells, of a ring of 4096. */
#define MOST_AT_ONCE 4000
/* A waiter checks several times if the collector is stopped. */
#define SLOW_US 150000

struct run {
	enum wire_on_full on_full;
	const char *rseq;
	uint32_t depth;
	bool drain; /* or leave the ring full */
	bool slow; /* without a heartbeat: slow is not stopped */
	bool pause; /* at first, and then now and then */
};

static const struct run g_runs[] = {
	{ WIRE_ON_FULL_BLOCK, "on", 0, true, false, false },
	{ WIRE_ON_FULL_BLOCK, "off", 0, true, false, false },
	{ WIRE_ON_FULL_DROP, "on", 0, true, false, false },
	{ WIRE_ON_FULL_DROP, "off", 0, true, false, false },
	{ WIRE_ON_FULL_DROP, "on", 0, false, false, false },
	{ WIRE_ON_FULL_BLOCK, "on", 3, true, false, false },
	{ WIRE_ON_FULL_BLOCK, "on", 0, true, true, false },
	{ WIRE_ON_FULL_BLOCK, "on", 0, true, false, true },
	{ WIRE_ON_FULL_BLOCK, "off", 0, true, false, true },
	{ WIRE_ON_FULL_DROP, "on", 0, true, false, true },
};

struct reader {
	uint64_t tail, last_clock;
	uint64_t begins, lost, truncated, waits, paused;
	int depth, deepest;
	struct {
		uint64_t address;
		bool phantom;
	} open[STACK_MAX];
};

static struct reader g_readers[THREADS];
static struct mini_collector g_mini;

static void push(struct reader *reader, uint64_t address, bool phantom)
{
	ck_assert_int_lt(reader->depth, STACK_MAX);
	reader->open[reader->depth].address = address;
	reader->open[reader->depth++].phantom = phantom;
	if (!phantom && reader->depth > reader->deepest)
		reader->deepest = reader->depth;
}

static void read_one(struct reader *reader, struct record record)
{
	uint64_t payload = record_payload(record.word);

	switch (record_kind(record.word)) {
	case RECORD_BEGIN:
		reader->begins++;
		push(reader, payload, false);
		break;
	case RECORD_PHANTOM:
		push(reader, payload, true);
		break;
	case RECORD_END:
		ck_assert_int_gt(reader->depth, 0);
		reader->depth--;
		ck_assert_uint_eq(reader->open[reader->depth].address, payload);
		break;
	case RECORD_LOSS:
		reader->lost += payload;
		return; /* its clock is that of the first loss */
	case RECORD_PAUSED:
		reader->paused += payload;
		return; /* its clock is that of the first paused span */
	case RECORD_WAIT:
		reader->waits++;
		return;
	case RECORD_TRUNC:
		reader->truncated += payload;
		ck_assert_int_ge(reader->depth, (int)payload);
		reader->depth -= (int)payload;
		break;
	case RECORD_FLOW: /* the thread's function has returned */
		break;
	default:
		ck_abort_msg("kind %d", record_kind(record.word));
	}
	ck_assert_uint_ge(record.clock, reader->last_clock);
	reader->last_clock = record.clock;
}

static void drain(uint32_t i, uint64_t most)
{
	struct slot_shm *slot = mini_slot(&g_mini, i);
	const struct record *ring = mini_ring(&g_mini, i);
	struct reader *reader = &g_readers[i];
	/* order: acq, HEAD: cells below it are whole */
	uint64_t head = atom_load_acq(&slot->head);

	ck_assert_uint_le(head - reader->tail, g_mini.hello.ring_cells);
	for (; reader->tail != head && most; reader->tail++, most--)
		read_one(reader,
			 ring[reader->tail & (g_mini.hello.ring_cells - 1)]);
	/* relaxed: only counted */
	atom_store_rlx(&slot->read, reader->tail);
	/* order: sc, TAIL and ROOM: done with the cells, then who waits */
	atom_store_sc(&slot->tail, reader->tail);
	atom_add_sc(&slot->room, 1);
	/* order: sc, ROOM: the writer sees our tail, or we see it waiting.
	 * Without the wake, each wait lasts for its timeout of 50 ms. */
	if (atom_load_sc(&slot->waiting))
		syscall(SYS_futex, &slot->room, FUTEX_OP_WAKE, INT_MAX);
}

/* A handler may run while a span no longer counts but its end is unrecorded, so
 * one more is open. */
static void check_depth(const struct run *run, const struct reader *reader)
{
	ck_assert_int_ge(reader->deepest, (int)run->depth);
	ck_assert_int_le(reader->deepest, (int)run->depth + 1);
}

static void check_result(const struct run *run, FILE *result)
{
	long tid, begins;
	uint64_t paused = 0;
	int found = 0;
	uint32_t i;

	while (fscanf(result, "%ld %ld", &tid, &begins) == 2)
		for (i = 0; i < THREADS; i++) {
			struct slot_shm *slot = mini_slot(&g_mini, i);
			struct reader *reader = &g_readers[i];

			if (slot->tid != tid)
				continue;
			found++;
			if (run->depth)
				check_depth(run, reader);
			else
				ck_assert_uint_eq(reader->begins +
							  slot->dropped_spans +
							  slot->paused_spans,
						  (uint64_t)begins);
			/* Less if the thread ended without a report. */
			ck_assert_uint_le(reader->paused, slot->paused_spans);
			paused += slot->paused_spans;
			ck_assert_uint_le(reader->lost, slot->dropped_spans);
			if (run->on_full == WIRE_ON_FULL_BLOCK)
				ck_assert_uint_eq(slot->dropped_spans, 0);
			else if (!run->pause)
				ck_assert_uint_gt(slot->dropped_spans, 0);
			if (run->drain)
				ck_assert_int_eq(reader->depth, 0);
		}
	ck_assert_int_eq(found, THREADS);
	/* Without waits the program may end before any pause. */
	if (!run->pause)
		ck_assert_uint_eq(paused, 0);
	else if (run->on_full == WIRE_ON_FULL_BLOCK)
		ck_assert_uint_gt(paused, 0);
}

static void drain_while(pid_t pid, const struct run *run)
{
	int status = -1;
	uint32_t i;

	while (waitpid(pid, &status, WNOHANG) == 0) {
		for (i = 0; i < THREADS && run->drain; i++)
			drain(i, run->slow ? UINT64_MAX
					   : (uint64_t)random() % MOST_AT_ONCE);
		g_mini.liveness->heartbeat += !run->slow;
		if (run->pause)
			g_mini.page->control ^= CONTROL_ON ^ CONTROL_PAUSED;
		usleep(run->slow ? SLOW_US : 200);
	}
	ck_assert_msg(status == 0, "nest_victim ended with status %x", status);
	for (i = 0; i < THREADS; i++)
		drain(i, UINT64_MAX);
}

TEST(full_ring_counts_every_span, EACH(0, sizeof(g_runs) / sizeof(g_runs[0])))
{
	const struct run *run = &g_runs[_i];
	struct wire_reply settings = { .on_full = run->on_full,
				       .depth = run->depth };
	char result[] = "/tmp/test_full-XXXXXX";
	/* Fewer spans, because each thread waits for a slow reader. */
	char *argv[] = { (char *)mini_build_path(
				 "tests/shim/victims/nest_victim"),
			 "4", run->slow ? "2000" : "30000", result, NULL };
	FILE *file = fdopen(mkstemp(result), "r");
	pid_t pid;

	memset(g_readers, 0, sizeof(g_readers));
	setenv("PERFREC_RSEQ", run->rseq, 1);
	setenv("PERFREC_RING_KB", "64", 1);
	mini_collector_start(&g_mini);
	pid = mini_spawn(&g_mini, mini_build_path("libperfrec_preload.so"),
			 argv);
	mini_collector_accept(&g_mini, settings,
			      run->pause ? CONTROL_PAUSED : CONTROL_ON);
	drain_while(pid, run);
	check_result(run, file);
	fclose(file);
	unlink(result);
	mini_collector_stop(&g_mini);
}

/* Signals shorten a wait but cause no additional check. */
TEST(stop_is_believed_after_full_waits)
{
	struct wire_reply settings = { .on_full = WIRE_ON_FULL_BLOCK };
	char *argv[] = { (char *)mini_build_path(
				 "tests/shim/victims/stopped_victim"),
			 NULL };
	int status;
	pid_t pid;

	setenv("PERFREC_RSEQ", "on", 1);
	setenv("PERFREC_RING_KB", "64", 1);
	mini_collector_start(&g_mini);
	mini_collector_freeze(&g_mini);
	pid = mini_spawn(&g_mini, mini_build_path("libperfrec_preload.so"),
			 argv);
	mini_collector_accept(&g_mini, settings, CONTROL_ON);
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_msg(status == 0, "stopped_victim ended with status %x",
		      status);
	ck_assert_uint_gt(mini_slot(&g_mini, 0)->dropped_spans, 0);
	mini_collector_stop(&g_mini);
}

/* of stopped_victim */
#define VICTIM_CELLS 20000

/* The first lap touches the ring's pages ahead of the writer. */
TEST(ring_is_touched_ahead)
{
	struct wire_reply settings = { .on_full = WIRE_ON_FULL_DROP };
	char *argv[] = { (char *)mini_build_path(
				 "tests/shim/victims/stopped_victim"),
			 NULL };
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), head;
	struct record *last;
	unsigned char resident = 0;
	pid_t pid;

	setenv("PERFREC_RSEQ", "on", 1);
	setenv("PERFREC_RING_KB", "512", 1);
	mini_collector_start(&g_mini);
	pid = mini_spawn(&g_mini, mini_build_path("libperfrec_preload.so"),
			 argv);
	mini_collector_accept(&g_mini, settings, CONTROL_ON);
	ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
	head = mini_slot(&g_mini, 0)->head;
	ck_assert_uint_gt(head, g_mini.hello.ring_cells / 2);
	ck_assert_uint_lt(head, VICTIM_CELLS + 100);
	/* The end of the piece that contains the head. */
	last = mini_ring(&g_mini, 0) + ALIGN_UP(head, TOUCH_CELLS) - 1;
	ck_assert_uint_gt((uintptr_t)last & -page,
			  (uintptr_t)(mini_ring(&g_mini, 0) + head));
	ck_assert_int_eq(
		mincore((void *)((uintptr_t)last & -page), 1, &resident), 0);
	ck_assert_int_eq(resident & 1, 1);
	mini_collector_stop(&g_mini);
}

static int serve_room(pid_t pid, struct room_told *told)
{
	struct slot_shm *slot = mini_slot(&g_mini, 0);
	uint32_t asked;
	int status;

	while (waitpid(pid, &status, WNOHANG) == 0) {
		/* acquire: the head is what the victim left */
		asked = atom_load_acq(&told->asked);
		/* order: sc, ROOM: it sees our tail, or we see it waiting */
		if (asked != told->emptied || atom_load_sc(&slot->waiting))
			drain(0, UINT64_MAX);
		/* release: the tail first */
		atom_store_rel(&told->emptied, asked);
		usleep(10);
	}
	drain(0, UINT64_MAX);
	return status;
}

/* A handler takes the room that the interrupted hook waited for, so the hook
 * waits again. */
TEST(handler_takes_the_room_that_was_waited_for, EACH(0, 2), SLOW)
{
	struct wire_reply settings = { .on_full = WIRE_ON_FULL_BLOCK };
	char path[] = "/tmp/test_full-XXXXXX";
	char *argv[] = { (char *)mini_build_path(
				 "tests/shim/victims/room_victim"),
			 path, NULL };
	int fd = mkstemp(path), status;
	struct room_told *told;
	pid_t pid;

	ck_assert_int_eq(ftruncate(fd, sizeof(*told)), 0);
	told = mmap(NULL, sizeof(*told), PROT_READ | PROT_WRITE, MAP_SHARED, fd,
		    0);
	ck_assert_ptr_ne(told, MAP_FAILED);
	memset(g_readers, 0, sizeof(g_readers));
	setenv("PERFREC_RSEQ", _i ? "off" : "on", 1);
	setenv("PERFREC_RING_KB", "64", 1);
	mini_collector_start(&g_mini);
	pid = mini_spawn(&g_mini, mini_build_path("libperfrec_preload.so"),
			 argv);
	mini_collector_accept(&g_mini, settings, CONTROL_ON);
	status = serve_room(pid, told);
	ck_assert_msg(status == 0, "room_victim ended with status %x", status);
	ck_assert_uint_gt(told->handlers, 20);
	ck_assert_uint_ge(g_readers[0].waits, told->handlers);
	ck_assert_uint_eq(mini_slot(&g_mini, 0)->dropped_spans, 0);
	ck_assert_uint_eq(g_readers[0].begins, told->begins);
	ck_assert_int_eq(g_readers[0].depth, 0);
	munmap(told, sizeof(*told));
	close(fd);
	unlink(path);
	mini_collector_stop(&g_mini);
}
