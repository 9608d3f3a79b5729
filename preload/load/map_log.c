/* SPDX-License-Identifier: Apache-2.0
 *
 * map_log - reports modules that are loaded and unloaded after hello, so that
 * the collector resolves each address as of its time (shared/ring_shm.h, "The
 * map log").
 *
 * The shim keeps a table of reported modules. dlopen(), dlclose() and exit
 * compare it with ld.so's list (publish_changes()). An unload starts a new
 * generation: the upper half of the gate changes, so every thread takes the
 * general path once and puts a MAP record before its next record (map_follow(),
 * hook.c).
 *
 * Two cases come too early for these calls:
 *
 *   - A plugin's functions run before dlopen() returns. Their names must
 *     survive a crash at that time. So a thread that called dlopen() checks
 *     for a while the module of each function that it records.
 *   - dlclose() unmaps a module before the shim can report it. Another thread
 *     may load and call a module in its place. So while a dlclose() runs, all
 *     threads check the modules of the functions that they record.
 *
 * This check takes no lock of ld.so, because a hook may run under a lock of the
 * program that a thread inside ld.so waits for.
 *
 * The collector reads names from the module's file, which it opens when it
 * reads the report. Programs that generate plugins soon delete their files. So
 * the shim saves the module's dynamic symbols in the log (save_names()), once
 * per module: with the report if the file is gone already, before dlclose(), or
 * at exit if the file is gone by then. The kernel copies them, because reading
 * a truncated file faults.
 *
 * Lock order: ld.so's lock (held while ld.so calls visit_module()), then
 * g_gate.map_lock, which guards the table. map_lock is held for microseconds,
 * with signals blocked, and never while waiting. It is in the gate's page, so a
 * forked child finds it free, and at worst repeats a report of its parent.
 */
#include "preload/load/map_log.h"

#include <link.h>
#include <string.h>
#include <sys/uio.h>

#include "preload/core/elf_tables.h"
#include "preload/core/gate.h"
#include "preload/core/libc.h"
#include "preload/core/sys.h"
#include "preload/core/thread.h"
#include "preload/core/thread_context.h"
#include "preload/load/bind.h"
#include "preload/load/module.h"
#include "preload/load/thunk_map.h"
#include "shared/atomic.h"
#include "shared/futex.h"

#define KNOWN_MAX 4096
/* Functions that a thread checks after a dlopen(). */
#define LOOKS 256
/* After 2 s the lock counts as lost: a longjmp() has skipped its release. */
#define LOCK_STEP_NS 50000
#define LOCK_TRIES 40000
#define SAVED 256
/* Pieces per call of the kernel. */
#define PIECES_AT_ONCE 64

struct known {
	uint64_t start, end, bias;
	uint64_t identity; /* struct module */
	uint64_t sweep; /* last sweep that saw the module */
	bool unbound; /* bind_module() has not seen it yet */
};

static struct {
	uint32_t count;
	uint64_t sweep;
	uint64_t adds, subs; /* ld.so's counters at the last sweep */
	bool silent; /* before hello: no reports */
	bool deep; /* modules may be bound past the shim */
	bool broken; /* the lock is lost: no more reports */
	bool adding; /* map_set_adding() */
	uint64_t context_adds,
		context_subs; /* at the last thread_context_find() */
	bool context_lost; /* find thread_context again */
	char path[MAP_PATH_BYTES]; /* for append_entry(), under the lock */
	struct iovec pieces[PIECES_AT_ONCE]; /* for copy_names() */
	uint64_t saved[SAVED]; /* identities; a ring */
	uint32_t saves; /* number of stored identities */
	struct known known[KNOWN_MAX];
} g_map;

/* --- the lock ------------------------------------------------------------- */

/* Returns false in a handler that interrupts the lock's holder. */
static bool enter_map(uint64_t *signals)
{
	if (t_thread.in_map || g_map.broken)
		return false;
	*signals = g_shim.no_syscalls ? 0 : sys_block_signals();
	t_thread.in_map = true;
	return true;
}

static void leave_map(uint64_t signals)
{
	t_thread.in_map = false;
	if (!g_shim.no_syscalls)
		sys_restore_signals(signals);
}

static bool lock_map(void)
{
	const struct timespec step = { 0, LOCK_STEP_NS };

	for (unsigned int tries = 0; tries < LOCK_TRIES; tries++) {
		/* order: sc, MAPLOCK: what the last holder wrote */
		if (atom_cas_sc(&g_gate.map_lock, 0, 1))
			return true;
		if (g_shim.no_syscalls)
			return false;
		sys(SYS_nanosleep, &step, 0);
	}
	g_map.broken = true;
	return false;
}

static void unlock_map(void)
{
	/* order: rel, MAPLOCK: for the next holder */
	atom_store_rel(&g_gate.map_lock, 0);
}

/* --- the log -------------------------------------------------------------- */

/* Reserves @count entries of the log from *@number on. Returns false if more
 * than @room would be in use. Processes of the arena compete. */
static bool reserve_entries(uint64_t count, uint64_t room, uint64_t *number)
{
	struct page_shm *page = g_shim.page;

	do {
		/* relaxed: the swap below detects an old value */
		*number = atom_load_rlx(&page->map_head);
		/* order: acq, MAPTAIL: the entries there have been read */
		if (*number + count - atom_load_acq(&page->map_tail) > room)
			return false;
		/* order: sc, MAPLOG: one writer takes them */
	} while (!atom_cas_sc(&page->map_head, *number, *number + count));
	return true;
}

static struct map_entry_shm *entry_at(uint64_t number)
{
	struct map_entry_shm *log =
		(struct map_entry_shm *)((char *)g_shim.page + ARENA_MAP);

	return &log[number % MAP_ENTRIES];
}

/* Sets g_map.path to the absolute path of @name; "" if unknown. */
static void make_absolute(const char *name)
{
	char *path = g_map.path;
	size_t used = 0, bytes = strlen(name) + 1;

	path[0] = '\0';
	if (name[0] && name[0] != '/') {
		if (!g_shim.no_syscalls)
			sys(SYS_getcwd, path, MAP_PATH_BYTES);
		/* The working directory may be unreachable from the root. */
		used = path[0] == '/' ? strnlen(path, MAP_PATH_BYTES - 1)
				      : MAP_PATH_BYTES - 1;
		path[used++] = '/';
	}
	if (used + bytes <= MAP_PATH_BYTES)
		memcpy(path + used, name, bytes);
	else
		path[0] = '\0';
}

static void append_entry(enum map_entry_kind kind, const struct module *module,
			 uint32_t generation, uint32_t opening)
{
	struct map_entry_shm *entry;
	uint64_t number;

	if (g_map.silent)
		return;
	if (!reserve_entries(1, MAP_ENTRIES, &number)) {
		/* relaxed: a count */
		atom_add_rlx(&g_shim.page->map_lost, 1);
		return;
	}
	make_absolute(module->name);
	entry = entry_at(number);
	entry->kind = kind;
	entry->pid = g_shim.pid;
	entry->generation = generation;
	entry->build_id_bytes = (uint8_t)module->build_id_bytes;
	entry->entry_build = module->entry_build;
	entry->opening = (uint16_t)opening;
	entry->start = module->start;
	entry->end = module->end;
	entry->bias = module->bias;
	memcpy(entry->build_id, module->build_id, module->build_id_bytes);
	memcpy(entry->path, g_map.path, MAP_PATH_BYTES);
	/* order: rel, MAPLOG: the entry is whole */
	atom_store_rel(&entry->sequence, number + 1);
}

/* --- names ---------------------------------------------------------------- */

/* Copies @bytes of @from to the pieces from entry @number on. Returns false if
 * the memory is not readable. */
static bool copy_names(uint64_t number, const struct iovec from[2],
		       uint64_t bytes)
{
	struct iovec rest[2] = { from[0], from[1] };

	while (bytes) {
		uint64_t want = 0, part;
		unsigned int count = 0;

		while (count < PIECES_AT_ONCE && want < bytes) {
			struct map_piece_shm *piece =
				(struct map_piece_shm *)entry_at(number++);

			part = MIN(bytes - want, (uint64_t)MAP_PIECE_BYTES);
			g_map.pieces[count++] =
				(struct iovec){ piece->bytes, part };
			want += part;
		}
		/* The kernel copies up to the end of the shorter side. */
		if (sys(SYS_process_vm_readv, g_shim.pid, g_map.pieces, count,
			rest, 2, 0) != (long)want)
			return false;
		bytes -= want;
		part = MIN(want, rest[0].iov_len);
		rest[0].iov_base = (char *)rest[0].iov_base + part;
		rest[0].iov_len -= part;
		rest[1].iov_base = (char *)rest[1].iov_base + (want - part);
		rest[1].iov_len -= want - part;
	}
	return true;
}

static bool is_saved(const struct module *module)
{
	for (size_t i = 0; i < SAVED; i++)
		if (g_map.saved[i] == module->identity)
			return true;
	return false;
}

/* Reports the names of @module once; it must stay loaded meanwhile. The
 * collector matches them by build-id, so a module without one is skipped. Many
 * names hold the lock for 0.1 ms. */
static void save_names(const struct module *module)
{
	struct map_entry_shm *entry;
	struct iovec from[2];
	uint64_t number, bytes;

	if (g_map.silent || !module->build_id_bytes || is_saved(module) ||
	    g_shim.no_syscalls || !module_names(module, from))
		return;
	bytes = from[0].iov_len + from[1].iov_len;
	if (map_pieces(bytes) > MAP_PIECES_MAX ||
	    !reserve_entries(1 + map_pieces(bytes), MAP_NAMES_ENTRIES, &number))
		return;
	g_map.saved[g_map.saves++ % SAVED] = module->identity;
	entry = entry_at(number);
	entry->kind = MAP_NAMES;
	entry->pid = g_shim.pid;
	entry->names.symbols = (uint32_t)from[0].iov_len;
	entry->names.strings = (uint32_t)from[1].iov_len;
	entry->build_id_bytes = (uint8_t)module->build_id_bytes;
	memcpy(entry->build_id, module->build_id, module->build_id_bytes);
	if (!copy_names(number + 1, from, bytes))
		entry->build_id_bytes = 0; /* belongs to no module */
	/* order: rel, MAPLOG: the entry and its pieces are whole */
	atom_store_rel(&entry->sequence, number + 1);
}

/* --- the table ------------------------------------------------------------ */

/* Makes every thread's next hook take the general path. */
static void spread_news(void)
{
	uint64_t gate;

	do {
		/* relaxed: the swap below detects an old value */
		gate = atom_load_rlx(&g_gate.word);
		if (gate < GATE_EPOCH_STEP)
			return;
		/* order: sc, MAP: the change is visible before the news */
	} while (!atom_cas_sc(&g_gate.word, gate,
			      gate + (1ULL << GATE_NEWS_SHIFT)));
}

static void tell_unload(uint32_t i)
{
	struct known *known = &g_map.known[i];
	uint32_t generation = g_shim.generation + 1;

	append_entry(MAP_UNLOAD,
		     &(struct module){ .start = known->start,
				       .end = known->end,
				       .bias = known->bias,
				       .name = "",
				       .build_id = (const uint8_t *)"" },
		     generation, 0);
	/* order: rel, MAP: the entry first */
	atom_store_rel(&g_shim.generation, generation);
	*known = g_map.known[--g_map.count];
	spread_news();
}

/* Returns the row of the module at @start, or NULL. Tries row @likely first.
 * Without the lock it may miss a row that is being moved. */
static struct known *find_known(uint64_t start, uint32_t likely)
{
	/* relaxed, all: a miss is allowed without the lock */
	uint32_t count = atom_load_rlx(&g_map.count);

	if (likely < count &&
	    atom_load_rlx(&g_map.known[likely].start) == start)
		return &g_map.known[likely];
	for (uint32_t i = 0; i < count; i++)
		if (atom_load_rlx(&g_map.known[i].start) == start)
			return &g_map.known[i];
	return NULL;
}

static bool is_known(const struct module *module)
{
	const struct known *known = find_known(module->start, 0);

	/* relaxed: the row of a running module does not change */
	return known && atom_load_rlx(&known->identity) == module->identity;
}

/* Binds the module of row @i, if modules may be bound past the shim. */
static void bind_known(uint32_t i, const struct module *module)
{
	/* relaxed: a thread that opens a module sees its own store */
	if (atom_load_rlx(&g_map.deep) && !g_map.silent && !g_shim.no_syscalls)
		bind_module(module);
	g_map.known[i].unbound = false;
}

static bool has_text_relocations(const struct module *module)
{
	struct elf_tables tables;

	if (!module->dynamic)
		return false;
	elf_tables_read(&tables, module->dynamic, module->bias);
	return tables.has_text_relocations;
}

/* Adds @module, and removes modules whose range it has taken. Tries row @likely
 * first; returns the row. @arrival returns the number of the dlopen() that runs,
 * whose new modules are not relocated yet; NULL: none runs. */
static uint32_t see_module(const struct module *module, uint32_t likely,
			   uint32_t (*arrival)(void))
{
	struct known *known = find_known(module->start, likely);
	bool can_wait;
	uint32_t i = 0;

	if (known && known->identity == module->identity) {
		known->sweep = g_map.sweep;
		if (known->unbound && !arrival)
			bind_known((uint32_t)(known - g_map.known), module);
		return (uint32_t)(known - g_map.known);
	}
	while (i < g_map.count)
		if (g_map.known[i].start < module->end &&
		    module->start < g_map.known[i].end)
			tell_unload(i);
		else
			i++;
	/* Before the load: the collector may look for the names at once. */
	if (!g_map.silent && module_is_gone(module))
		save_names(module);
	if (!g_map.silent)
		thunk_map_near(module->text_start, module->text_end);
	/* A module without a row may have arrived earlier, and run. */
	can_wait = arrival && i < KNOWN_MAX && !has_text_relocations(module);
	append_entry(MAP_LOAD, module, g_shim.generation,
		     can_wait ? arrival() : 0);
	if (i == KNOWN_MAX)
		return 0;
	g_map.known[i] =
		(struct known){ module->start,	  module->end, module->bias,
				module->identity, g_map.sweep, true };
	g_map.count++;
	if (!arrival)
		bind_known(i, module);
	return i;
}

/* --- all modules ---------------------------------------------------------- */

struct sweep {
	bool at_exit;
	uint32_t (*arrival)(void); /* see_module() */
	bool begun; /* a change was seen; holds the lock */
	bool unripe; /* modules of the list are not relocated yet */
	uint32_t likely; /* probable row of the next module */
};

/* Finds thread_context again after changes, but not during a dlclose(). */
static void follow_context(const struct dl_phdr_info *info)
{
	if (!g_map.context_lost && info->dlpi_adds == g_map.context_adds &&
	    info->dlpi_subs == g_map.context_subs)
		return;
	g_map.context_lost = true;
	/* order: acq, CLOSING: finds no module that is being unloaded */
	if (atom_load_acq(&g_gate.map_closing))
		return;
	g_map.context_lost = false;
	g_map.context_adds = info->dlpi_adds;
	g_map.context_subs = info->dlpi_subs;
	thread_context_find();
}

/* Visits one module only, for follow_context(). */
static int visit_for_context(struct dl_phdr_info *info, size_t size, void *none)
{
	(void)size;
	(void)none;
	if (lock_map()) {
		follow_context(info);
		unlock_map();
	}
	return 1;
}

static int visit_module(struct dl_phdr_info *info, size_t size, void *argument)
{
	struct sweep *sweep = argument;
	struct module module;

	(void)size;
	if (!sweep->begun) {
		if (!lock_map())
			return 1;
		/* relaxed: the lock of the list orders it before the modules */
		sweep->unripe = sweep->arrival || atom_load_rlx(&g_map.adding);
		/* No code of an arriving module may run. */
		if (!sweep->unripe)
			follow_context(info);
		if (!sweep->at_exit && info->dlpi_adds == g_map.adds &&
		    info->dlpi_subs == g_map.subs) {
			unlock_map();
			return 1;
		}
		/* The next sweep binds modules that arrive now. */
		if (!sweep->unripe) {
			g_map.adds = info->dlpi_adds;
			g_map.subs = info->dlpi_subs;
		}
		g_map.sweep++;
		sweep->begun = true;
	}
	if (!module_describe(info->dlpi_addr, info->dlpi_phdr, info->dlpi_phnum,
			     info->dlpi_name, &module))
		return 0;
	/* Only the thread that loads it reports it with the number of its
	 * dlopen(), and waits. */
	if (sweep->unripe && !sweep->arrival && !is_known(&module))
		return 0;
	sweep->likely = see_module(&module, sweep->likely, sweep->arrival) + 1;
	if (sweep->at_exit && module_is_gone(&module))
		save_names(&module);
	return 0;
}

static void publish_sweep(struct sweep sweep)
{
	uint64_t signals;
	uint32_t i = 0;

	if (!enter_map(&signals))
		return;
	libc()->iterate_phdr(visit_module, &sweep);
	if (sweep.begun) {
		while (i < g_map.count)
			if (g_map.known[i].sweep != g_map.sweep)
				tell_unload(i);
			else
				i++;
		unlock_map();
	}
	leave_map(signals);
}

static void publish_changes(void)
{
	publish_sweep((struct sweep){ 0 });
}

void map_begin(void)
{
	g_map.silent = true;
	publish_changes();
	g_map.silent = false;
}

static void start_looking(void)
{
	t_thread.looks = LOOKS;
	t_thread.epoch = (uint32_t)t_thread.epoch;
}

void map_tell_opening(void)
{
	struct page_shm *page = g_shim.page;
	struct doorbell_shm *bell = &page->doorbell[0];
	/* order: sc, ASLEEP: the collector sees it, or we see it asleep */
	uint32_t before = atom_add_sc(&page->dlopens, 1);

	/* order: rel, DLOPENER: the entry has its own number */
	atom_store_rel(&page->dlopeners[before % DLOPENERS],
		       (uint64_t)(before + 1) << 32 | (uint32_t)g_shim.pid);
	/* order: sc, ASLEEP: as above */
	if (!atom_load_sc(&bell->asleep) || g_shim.no_syscalls)
		return;
	/* relaxed: the futex call orders it for the sleeper */
	atom_add_rlx(&bell->rings, 1);
	sys(SYS_futex, &bell->rings, FUTEX_OP_WAKE, 1);
}

void map_open(void)
{
	if (!gate_is_recording())
		return;
	publish_changes();
	map_tell_opening();
	/* relaxed: for this thread and those it creates */
	atom_store_rlx(&g_gate.map_opened, 1);
	if (thread_has_slot(atom_load_rlx(&g_gate.word)))
		start_looking();
}

void map_set_adding(bool adding)
{
	/* relaxed: the lock of the dynamic linker's list orders it */
	atom_store_rlx(&g_map.adding, adding);
}

void map_arrive(uint32_t (*number)(void))
{
	publish_sweep((struct sweep){ .arrival = number });
}

void map_open_deep(void)
{
	/* relaxed: set once, without the lock */
	atom_store_rlx(&g_map.deep, true);
}

void map_look_up(void)
{
	uint64_t signals;

	/* relaxed, both: this thread's own dlopen() came before */
	if (likely(!atom_load_rlx(&g_gate.map_opened)) || !gate_is_recording())
		return;
	if (atom_load_rlx(&g_map.deep)) {
		publish_changes();
		return;
	}
	if (!enter_map(&signals))
		return;
	libc()->iterate_phdr(visit_for_context, NULL);
	leave_map(signals);
}

/* Saves the names of @handle's module before the caller closes it. */
static void save_names_of(const void *handle)
{
	struct module module;
	uint64_t signals;

	if (!enter_map(&signals))
		return;
	if (lock_map()) {
		for (uint32_t i = 0; i < g_map.count; i++)
			if (module_is(g_map.known[i].start, handle) &&
			    module_of(g_map.known[i].start, &module))
				save_names(&module);
		unlock_map();
	}
	leave_map(signals);
}

/* The closed module may have thread_context. Another thread may be
 * searching. */
static void forget_context(void)
{
	uint64_t signals;
	bool entered = enter_map(&signals), locked = entered && lock_map();

	if (thread_context_forget())
		g_map.context_lost = true;
	if (locked)
		unlock_map();
	if (entered)
		leave_map(signals);
}

bool map_close_begin(const void *handle)
{
	if (!gate_is_recording())
		return false;
	publish_changes();
	save_names_of(handle);
	/* order: sc, CLOSING: before any unmapping */
	atom_add_sc(&g_gate.map_closing, 1);
	forget_context();
	spread_news();
	return true;
}

void map_close_end(void)
{
	publish_changes();
	/* relaxed: only 0 in a child forked meanwhile, which is alone */
	if (atom_load_rlx(&g_gate.map_closing))
		/* order: sc, CLOSING: all unloads have been reported */
		atom_add_sc(&g_gate.map_closing, -1U);
	if (g_map.context_lost)
		publish_changes();
}

void map_exit(void)
{
	/* relaxed: a concurrent first dlopen() is rare */
	if (gate_is_recording() && atom_load_rlx(&g_gate.map_opened))
		publish_sweep((struct sweep){ .at_exit = true });
}

/* --- one function --------------------------------------------------------- */

static void look_at_function(uint64_t function)
{
	struct module module;
	uint64_t signals;

	if (!module_of(function, &module) || is_known(&module) ||
	    !enter_map(&signals))
		return;
	if (lock_map()) {
		see_module(&module, 0, NULL);
		unlock_map();
	}
	leave_map(signals);
}

void map_attached(void)
{
	/* relaxed: written by the creator of this thread or process */
	if (atom_load_rlx(&g_gate.map_opened) || g_shim.fork_parent)
		start_looking();
}

bool map_follow(uint64_t function)
{
	/* order: acq, CLOSING: functions of a module that replaced another see
	 * the count */
	bool closing = atom_load_acq(&g_gate.map_closing);

	if (!closing && !t_thread.looks)
		return true;
	t_thread.epoch = (uint32_t)t_thread.epoch;
	t_thread.looks -= t_thread.looks != 0;
	look_at_function(function);
	return false;
}
