/* SPDX-License-Identifier: Apache-2.0
 *
 * function_log - two views of the same changes. A hash table has the last
 * changes of each function; it is complete, and knows the state of a function
 * at some time. A ring has the last changes of all functions in their order.
 * From the ring, a replay finds the functions to check again, and the time of
 * the next change. A replay that was away for too long asks the table for all
 * its functions.
 *
 * Entries are never removed, so readers need no lock.
 *
 * The writer lists connected entries. So the unload of a module visits these,
 * and not the whole table: plugins may come and go many thousand times.
 */
#include "collector/replay/function_log.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "shared/atomic.h"
#include "shared/compiler.h"
#include "shared/record.h"

#define TABLE_SHIFT 19
#define TABLE_ENTRIES (1u << TABLE_SHIFT)
/* For this many functions, most pages of the table are needed. */
#define EXPECT_MIN 512

#define FLAG_CONNECTED 1u
#define FLAG_ENTRY_BUILD 2u

struct entry {
	uint64_t function;
	uint32_t flags;
	uint32_t changes; /* number of changes off and on; odd: off */
	uint64_t connect_ns;
	uint64_t ns[FUNCTION_LOG_TIMES]; /* of change n at n % TIMES */
};

struct function_log {
	uint32_t count;
	uint32_t functions;
	uint64_t last_ns;
	struct {
		uint64_t function, ns; /* function with the kind in its low 8
				        * bits */
	} change[FUNCTION_LOG_CHANGES]; /* change n at n % CHANGES */
	uint32_t table[TABLE_ENTRIES]; /* 1 + index of entry; 0: free */
	struct entry entry[FUNCTION_LOG_MAX]; /* in the order they came */
	uint32_t connected_count;
	uint32_t connected[FUNCTION_LOG_MAX];
};

#define KIND_BITS 8

int function_log_new(struct function_log **out)
{
	/* Zero pages, which take no memory until they are written. */
	struct function_log *log = calloc(1, sizeof(*log));

	if (!log)
		return -ENOMEM;
	*out = log;
	return 0;
}

void function_log_free(struct function_log **log)
{
	free(*log);
	*log = NULL;
}

/* Returns the place of @function in the table, or a free place. */
static uint32_t table_place(const struct function_log *log, uint64_t function)
{
	uint64_t at = function * 0x9e3779b97f4a7c15ULL >> (64 - TABLE_SHIFT);
	uint32_t there;

	for (;; at++) {
		/* order: acq, FUNCTIONS: an entry that is found is whole */
		there = atom_load_acq(&log->table[at % TABLE_ENTRIES]);
		if (!there || log->entry[there - 1].function == function)
			return (uint32_t)(at % TABLE_ENTRIES);
	}
}

static const struct entry *find_entry(const struct function_log *log,
				      uint64_t function)
{
	uint32_t there;

	function &= RECORD_PAYLOAD_MAX;
	if (!function)
		return NULL;
	/* relaxed: table_place() has ordered it; entries stay */
	there = atom_load_rlx(&log->table[table_place(log, function)]);
	return there ? &log->entry[there - 1] : NULL;
}

/* --- the writer ---------------------------------------------------------- */

static uint64_t change_ns(struct function_log *log, uint64_t ns)
{
	log->last_ns = MAX(log->last_ns, ns);
	return log->last_ns;
}

static void append_change(struct function_log *log, uint64_t function,
			  enum function_change_kind kind, uint64_t ns)
{
	uint32_t at = log->count % FUNCTION_LOG_CHANGES;

	/* order: rel, FUNCTIONS: a reader that sees part of it in place of
	 * the old change also sees the last count, and drops the old one */
	atom_store_rel(&log->change[at].function,
		       function << KIND_BITS | (uint64_t)kind);
	/* order: rel, FUNCTIONS: as above */
	atom_store_rel(&log->change[at].ns, ns);
	/* order: rel, FUNCTIONS: the change comes before it is counted */
	atom_store_rel(&log->count, log->count + 1);
}

/* NULL: no room for a new entry, or @function is 0. */
static struct entry *get_entry(struct function_log *log, uint64_t function)
{
	struct entry *entry;
	uint32_t place;

	if (!function)
		return NULL;
	place = table_place(log, function);
	if (log->table[place])
		return &log->entry[log->table[place] - 1];
	if (log->functions == FUNCTION_LOG_MAX)
		return NULL;
	entry = &log->entry[log->functions++];
	entry->function = function;
	/* order: rel, FUNCTIONS: an entry is whole before it can be found */
	atom_store_rel(&log->table[place], log->functions);
	return entry;
}

static void add_entry_time(struct entry *entry, uint64_t ns)
{
	/* order: rel, FUNCTIONS: a reader that sees it in place of the old time
	 * also sees the last count */
	atom_store_rel(&entry->ns[entry->changes % FUNCTION_LOG_TIMES], ns);
	/* order: rel, FUNCTIONS: a time comes before it is counted */
	atom_store_rel(&entry->changes, entry->changes + 1);
}

static void set_flags(struct function_log *log, struct entry *entry,
		      uint32_t flags)
{
	/* An entry without flags is not listed, so there is room. */
	if (!entry->flags)
		log->connected[log->connected_count++] =
			(uint32_t)(entry - log->entry);
	/* relaxed: append_change() publishes it */
	atom_store_rlx(&entry->flags, flags);
}

void function_log_expect(struct function_log *log, size_t count)
{
	const uintptr_t page = (uintptr_t)getpagesize();
	uintptr_t start = ((uintptr_t)log->table + page - 1) & ~(page - 1);
	uintptr_t end = (uintptr_t)(log->table + TABLE_ENTRIES) & ~(page - 1);

	/* A page would fault twice otherwise: for a read, then for a write. */
	if (count >= EXPECT_MIN)
		(void)madvise((void *)start, end - start, MADV_POPULATE_WRITE);
}

int function_log_connect(struct function_log *log, uint64_t function,
			 bool entry_build, uint64_t ns)
{
	struct entry *entry = get_entry(log, function & RECORD_PAYLOAD_MAX);

	if (!entry)
		return -ENOSPC;
	ns = change_ns(log, ns);
	/* relaxed: append_change() publishes it */
	atom_store_rlx(&entry->connect_ns, ns);
	set_flags(log, entry,
		  FLAG_CONNECTED | (entry_build ? FLAG_ENTRY_BUILD : 0));
	append_change(log, entry->function, FUNCTION_LOG_CONNECTED, ns);
	return 0;
}

int function_log_off(struct function_log *log, uint64_t function, uint64_t ns)
{
	struct entry *entry = get_entry(log, function & RECORD_PAYLOAD_MAX);

	if (!entry)
		return -ENOSPC;
	if (entry->changes & 1)
		return 0;
	set_flags(log, entry, entry->flags | FLAG_CONNECTED);
	ns = change_ns(log, ns);
	add_entry_time(entry, ns);
	append_change(log, entry->function, FUNCTION_LOG_OFF, ns);
	return 0;
}

static void entry_on(struct function_log *log, struct entry *entry,
		     enum function_change_kind kind, uint64_t ns)
{
	ns = change_ns(log, ns);
	if (entry->changes & 1)
		add_entry_time(entry, ns);
	append_change(log, entry->function, kind, ns);
}

void function_log_on(struct function_log *log, uint64_t function, uint64_t ns)
{
	struct entry *entry = (struct entry *)find_entry(log, function);

	if (entry && entry->changes & 1)
		entry_on(log, entry, FUNCTION_LOG_ON, ns);
}

void function_log_unload(struct function_log *log, uint64_t start, uint64_t end,
			 uint64_t ns)
{
	uint32_t i = 0;

	while (i < log->connected_count) {
		struct entry *entry = &log->entry[log->connected[i]];

		if (entry->function < start || entry->function >= end) {
			i++;
			continue;
		}
		log->connected[i] = log->connected[--log->connected_count];
		/* relaxed: append_change() publishes it */
		atom_store_rlx(&entry->flags, 0);
		entry_on(log, entry, FUNCTION_LOG_UNLOADED, ns);
	}
}

/* --- readers ------------------------------------------------------------- */

uint32_t function_log_changes(const struct function_log *log)
{
	/* order: acq, FUNCTIONS: the changes it counts are whole */
	return atom_load_acq(&log->count);
}

bool function_log_change(const struct function_log *log, uint32_t index,
			 struct function_change *out)
{
	uint32_t at = index % FUNCTION_LOG_CHANGES;
	uint64_t word, ns;

	if (function_log_changes(log) - index >= FUNCTION_LOG_CHANGES)
		return false;
	/* order: acq, FUNCTIONS: both come before the second look */
	word = atom_load_acq(&log->change[at].function);
	/* order: acq, FUNCTIONS: as above */
	ns = atom_load_acq(&log->change[at].ns);
	*out = (struct function_change){
		word >> KIND_BITS, ns,
		(enum function_change_kind)(word & ((1u << KIND_BITS) - 1))
	};
	return function_log_changes(log) - index < FUNCTION_LOG_CHANGES;
}

/* Finds out if @entry was off at @ns, and when it went off last. Reads from the
 * newest change to the oldest but one, because the oldest may be overwritten
 * now. Returns false if no known change was before @ns. */
static bool look_at_times(const struct entry *entry, uint64_t ns,
			  struct function_then *state)
{
	/* order: acq, FUNCTIONS: the times it counts are whole */
	uint32_t changes = atom_load_acq(&entry->changes), now;
	uint64_t at_ns;
	bool found = false;

	for (uint32_t i = changes;
	     i > 0 && changes - i < FUNCTION_LOG_TIMES - 1; i--) {
		/* order: acq, FUNCTIONS: it comes before the second look */
		at_ns = atom_load_acq(&entry->ns[(i - 1) % FUNCTION_LOG_TIMES]);
		/* order: acq, FUNCTIONS: the times it counts are whole if the
		 * search starts again */
		now = atom_load_acq(&entry->changes);
		/* Changes that came since have overwritten it. */
		if (now - i >= FUNCTION_LOG_TIMES - 1) {
			state->off = found = false;
			state->off_ns = 0;
			changes = now;
			i = now + 1;
			continue;
		}
		if (at_ns > ns)
			continue;
		if (!found)
			state->off = i & 1;
		found = true;
		if (!(i & 1))
			continue;
		state->off_ns = MAX(at_ns, 1);
		break;
	}
	return found;
}

struct function_then function_log_state(const struct function_log *log,
					uint64_t function, uint64_t ns)
{
	const struct entry *entry = find_entry(log, function);
	struct function_then state = { 0 };
	uint32_t flags;

	if (!entry)
		return state;
	/* relaxed, both: ordered by the count of changes, which the caller has
	 * read */
	flags = atom_load_rlx(&entry->flags);
	state.connect_ns = atom_load_rlx(&entry->connect_ns);
	state.entry_build = flags & FLAG_ENTRY_BUILD;
	/* A late collector asks about older times, and the function may have
	 * been connected once more since. Then its changes show it. */
	state.connected =
		(look_at_times(entry, ns, &state) || state.connect_ns <= ns) &&
		flags & FLAG_CONNECTED;
	return state;
}
