/* SPDX-License-Identifier: Apache-2.0
 *
 * test_map - plugins loaded and unloaded in every way, repeatedly at the same
 * addresses (map_victim). With the log of loads and the generations in the
 * ring, each record of a plugin's function must resolve to the called plugin.
 * dlopen() must behave as always.
 */
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/shim/victims/map_victim.h"
#include "tests/shim/mini_collector.h"
#include "tests/suite.h"

struct map_case {
	const char *name;
	int calls;
	unsigned int entries; /* loads and unloads in the log */
	int names; /* modules with saved names */
	int replaced; /* minimum of plugins at a former plugin's address */
	int status;
};

/* A plugin's constructor, destructor and function are two calls each. */
static const struct map_case g_cases[] = {
	{ "reload", 2 * (1000 * 6 + 334 * 2), 4000, 4, 500, 0 },
	{ "late", 10 * 10, 40, 3, 5, 0 },
	{ "fork", 2 + 20 * 2 + 20 * 8 + 2, 42, 21, 0, 0 },
	{ "first", 10, 2, 1, 1, 0 },
	{ "runpath", 12, 3, 0, 0, 0 },
	{ "errors", 4, 2, 1, 0, 0 },
	{ "dlmopen", 0, 0, 0, 0, 0 },
	{ "exit", 0, 1, 0, 0, 0 },
	{ "quiet", 0, 2, 1, 0, 0 },
	{ "killed", 4, 1, 0, 0, SIGKILL },
	{ "deleted", 0, 1, 1, 0, SIGKILL },
	{ "deleted-late", 0, 1, 1, 0, 0 },
	{ "cut", 0, 2, 0, 0, 0 },
};

static const char *const g_rseq[] = { "on", "off" };

static struct mini_collector g_mini;
static struct map_notes *g_notes;
static char g_notes_path[64]; /* removed after the victim's end */

static pid_t start(const char *name, bool recorded)
{
	static char folder[512], victim[512];
	char *argv[] = { victim, (char *)name, folder, g_notes_path, NULL };
	int fd;

	snprintf(folder, sizeof(folder), "%s",
		 mini_build_path("tests/shim/victims"));
	snprintf(victim, sizeof(victim), "%s",
		 mini_build_path("tests/shim/victims/map_victim"));
	strcpy(g_notes_path, "/tmp/test_map-XXXXXX");
	fd = mkstemp(g_notes_path);
	ck_assert_int_eq(ftruncate(fd, sizeof(*g_notes)), 0);
	g_notes = mmap(NULL, sizeof(*g_notes), PROT_READ, MAP_SHARED, fd, 0);
	ck_assert_ptr_ne(g_notes, MAP_FAILED);
	close(fd);
	return mini_spawn(
		&g_mini,
		recorded ? mini_build_path("libperfrec_preload.so") : "", argv);
}

static void expect_status(pid_t pid, int status)
{
	int is;

	ck_assert_int_eq(waitpid(pid, &is, 0), pid);
	unlink(g_notes_path);
	ck_assert_msg(is == status, "status %x", is);
}

/* --- the log, as its readers must understand it -------------------------- */

struct range {
	uint64_t start, end;
	uint32_t from, to;
	int32_t pid;
	int id; /* of the plugin; OTHER: another library */
};

#define OTHER -1
#define NOTHING -2

static struct range g_ranges[MAP_ENTRIES];
static int g_range_count, g_names_count;

static struct map_entry_shm *entry_at(uint64_t n)
{
	return (struct map_entry_shm *)((char *)g_mini.page + ARENA_MAP) + n;
}

static int id_of(const struct map_entry_shm *entry)
{
	const char *name = strstr(entry->path, "/libmap_plugin_");

	ck_assert_int_eq(entry->path[0], '/');
	ck_assert_uint_gt(entry->build_id_bytes, 0);
	return name ? atoi(name + strlen("/libmap_plugin_")) : OTHER;
}

/* The module is there since the previous one was unloaded. */
static void add_load(const struct map_entry_shm *entry)
{
	struct range *range = &g_ranges[g_range_count++];
	struct range *other;

	*range = (struct range){ entry->start, entry->end, 0,
				 UINT32_MAX,   entry->pid, id_of(entry) };
	for (other = g_ranges; other < range; other++)
		if (other->pid == range->pid && other->start < range->end &&
		    range->start < other->end) {
			ck_assert_uint_ne(other->to, UINT32_MAX);
			if (other->to > range->from)
				range->from = other->to;
		}
}

/* @pid 0: any process. */
static struct range *open_range(uint64_t start, int32_t pid)
{
	struct range *range = g_ranges + g_range_count;

	while (range-- > g_ranges)
		if (range->start == start && range->to == UINT32_MAX &&
		    (!pid || range->pid == pid))
			return range;
	return NULL;
}

static void add_unload(const struct map_entry_shm *entry)
{
	struct range *range = open_range(entry->start, entry->pid);

	/* Loaded by the parent before the fork, or before the hello, where it
	 * is plugin 0. */
	if (!range) {
		range = open_range(entry->start, 0);
		g_ranges[g_range_count] =
			range ? *range
			      : (struct range){ .start = entry->start,
						.end = entry->end };
		range = &g_ranges[g_range_count++];
		range->pid = entry->pid;
	}
	ck_assert_uint_eq(range->end, entry->end);
	range->to = entry->generation;
}

/* Entry @n must save names of a plugin. Returns the number of its pieces. */
static uint64_t check_names(uint64_t n)
{
	static char bytes[1 << 16];
	const struct map_entry_shm *entry = entry_at(n);
	size_t count = entry->names.symbols + entry->names.strings;
	size_t i;

	if (!entry->build_id_bytes) /* the file was unreadable */
		return map_pieces(count);
	g_names_count++;
	ck_assert_uint_eq(entry->names.symbols % 24, 0);
	ck_assert_uint_le(count, sizeof(bytes));
	for (i = 0; i < count; i += MAP_PIECE_BYTES)
		memcpy(bytes + i,
		       ((struct map_piece_shm *)entry_at(n + 1 +
							 i / MAP_PIECE_BYTES))
			       ->bytes,
		       MIN(count - i, (size_t)MAP_PIECE_BYTES));
	ck_assert_ptr_nonnull(memmem(bytes + entry->names.symbols,
				     entry->names.strings, "\0map_", 5));
	return map_pieces(count);
}

static unsigned int read_log(void)
{
	unsigned int entries = 0;
	uint64_t n;

	g_range_count = g_names_count = 0;
	ck_assert_uint_eq(g_mini.page->map_lost, 0);
	ck_assert_uint_lt(g_mini.page->map_head, MAP_ENTRIES);
	for (n = 0; n < g_mini.page->map_head; n++) {
		const struct map_entry_shm *entry = entry_at(n);

		ck_assert_uint_eq(entry->sequence, n + 1);
		if (entry->kind == MAP_NAMES) {
			n += check_names(n);
			continue;
		}
		entries++;
		if (entry->kind == MAP_LOAD)
			add_load(entry);
		else
			add_unload(entry);
	}
	return entries;
}

/* A child inherits its parent's mappings. */
static int lookup(uint64_t address, uint32_t generation, int32_t pid)
{
	int i, id = NOTHING;

	for (i = 0; i < g_range_count; i++) {
		const struct range *range = &g_ranges[i];

		if (address < range->start || address >= range->end ||
		    generation < range->from || generation >= range->to)
			continue;
		if (range->pid == pid)
			return range->id;
		id = range->id;
	}
	return id;
}

/* --- the rings ----------------------------------------------------------- */

static const struct map_call *next_noted(const struct slot_shm *slot,
					 uint32_t *cursor)
{
	while (*cursor < g_notes->count) {
		const struct map_call *call = &g_notes->call[(*cursor)++];

		if (call->tid == slot->tid)
			return call;
	}
	return NULL;
}

static void check_call(const struct slot_shm *slot, uint64_t address,
		       uint32_t generation, const struct map_call *call)
{
	int id = lookup(address, generation, slot->pid);

	ck_assert_ptr_nonnull(call);
	ck_assert_uint_eq(address, call->function);
	ck_assert_msg(id == call->id, "thread %d, generation %u: %d, not %d",
		      slot->tid, generation, id, call->id);
}

/* Returns the number of calls. */
static int check_slot(const struct slot_shm *slot, const struct record *ring)
{
	uint32_t generation = slot->claim_map, cursor = 0;
	int calls = 0;
	uint64_t i;

	for (i = 0; i < slot->head; i++) {
		uint64_t payload = record_payload(ring[i].word);
		enum record_kind kind = record_kind(ring[i].word);

		if (kind == RECORD_MAP) {
			ck_assert_uint_ge(payload, generation);
			generation = (uint32_t)payload;
		} else if (kind == RECORD_BEGIN && payload != MAP_IDLE &&
			   lookup(payload, generation, slot->pid) != OTHER) {
			check_call(slot, payload, generation,
				   next_noted(slot, &cursor));
			calls++;
		}
	}
	ck_assert_ptr_null(next_noted(slot, &cursor));
	return calls;
}

static int check_rings(void)
{
	uint32_t i;
	int calls = 0;

	for (i = 0; i < g_mini.hello.slot_count; i++)
		if (mini_slot(&g_mini, i)->claims) {
			ck_assert_uint_eq(mini_slot(&g_mini, i)->claims, 1);
			calls += check_slot(mini_slot(&g_mini, i),
					    mini_ring(&g_mini, i));
		}
	return calls;
}

static int count_replaced(void)
{
	int i, before, count = 0;

	for (i = 0; i < g_range_count; i++) {
		for (before = i - 1; before >= 0; before--)
			if (g_ranges[before].start == g_ranges[i].start)
				break;
		count += before >= 0 && g_ranges[before].id != g_ranges[i].id;
	}
	return count;
}

static void run_case(const struct map_case *map, const char *rseq)
{
	struct wire_reply settings = { .on_full = WIRE_ON_FULL_BLOCK };
	pid_t pid;

	setenv("PERFREC_RSEQ", rseq, 1);
	mini_collector_start(&g_mini);
	pid = start(map->name, true);
	mini_collector_accept(&g_mini, settings, CONTROL_ON);
	expect_status(pid, map->status);
	ck_assert_uint_eq(read_log(), map->entries);
	ck_assert_int_eq(g_names_count, map->names);
	ck_assert_int_eq(check_rings(), map->calls);
}

TEST(map_every_record_means_what_was_called,
     EACH(0, 2 * (sizeof(g_cases) / sizeof(g_cases[0]))))
{
	const struct map_case *map = &g_cases[_i / 2];

	run_case(map, g_rseq[_i % 2]);
	ck_assert_int_ge(count_replaced(), map->replaced);
	mini_collector_stop(&g_mini);
}

TEST(map_unrecorded_runs_as_always,
     EACH(0, sizeof(g_cases) / sizeof(g_cases[0])))
{
	mini_collector_start(&g_mini);
	unlink(g_mini.socket_path);
	expect_status(start(g_cases[_i].name, true), g_cases[_i].status);
	mini_collector_stop(&g_mini);
}

TEST(map_without_shim_runs_as_always,
     EACH(0, sizeof(g_cases) / sizeof(g_cases[0])))
{
	mini_collector_start(&g_mini);
	expect_status(start(g_cases[_i].name, false), g_cases[_i].status);
	mini_collector_stop(&g_mini);
}

static void begin_suite(void)
{
	setenv("PERFREC_QUIET", "1", 1);
}

SUITE(begin_suite, NULL);
