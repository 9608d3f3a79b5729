/* SPDX-License-Identifier: Apache-2.0
 *
 * arena - maps the memory that a program offers, and releases it.
 *
 * The collector trusts nothing in the hello. The kernel must confirm that the
 * file is a memfd on ordinary pages with a fixed size. The collector computes
 * the layout itself from two checked numbers. After the mapping, no word in the
 * arena decides where the collector reads or writes.
 *
 * The kernel's reference counts show whether any process still maps the memory.
 * The descriptor in the hello refers to an open file of the program. The kernel
 * closes that open file with its last mapping, in the program and all its
 * forked children. The collector puts a lock on the open file (flock(2): the
 * lock belongs to the open file and goes with it) and closes its descriptor. It
 * maps another open file of the same memory, which can test whether the lock
 * still exists. The test takes one system call, and does not involve the
 * program.
 *
 * The main thread's list, each drain worker's copy of the list, and each
 * process have a reference. The last release frees the arena on the jobs
 * thread, because it may also end a recording, which writes files.
 */
#include "collector/record/arena_inner.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "collector/base/clock.h"
#include "collector/base/lock.h"
#include "collector/base/log.h"
#include "collector/code/patch.h"
#include "collector/code/thunks.h"
#include "collector/names/call_layout.h"
#include "collector/names/map_log.h"
#include "collector/names/maps.h"
#include "collector/names/sites.h"
#include "collector/record/recording.h"
#include "collector/record/task_bases.h"
#include "collector/replay/function_log.h"
#include "shared/atomic.h"
#include "shared/compiler.h"
#include "shared/futex.h"

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

#define SEALS_NEEDED (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL)
/* Limits of arena_warm(): at most 2 MiB per program. */
#define WARM_CELLS 4096 /* 64 KiB */
#define WARM_SLOTS 32

/* Returns the fault of the file behind @fd, or NULL. Reading would kill the
 * collector if the file can shrink, or lies on huge pages that may not exist.
 */
static const char *check_arena_file(int fd, const struct wire_hello *hello,
				    struct stat *status)
{
	struct statfs filesystem;
	int seals = fcntl(fd, F_GET_SEALS);

	if (hello->slot_count < 1 || hello->slot_count > SLOT_COUNT_MAX)
		return "the number of slots is out of range";
	if (!is_power_of_two(hello->ring_cells) ||
	    hello->ring_cells < RING_CELLS_MIN ||
	    hello->ring_cells > RING_CELLS_MAX)
		return "the size of a ring is out of range";
	if (!hello->functions || hello->functions > FUNCTIONS_MAX)
		return "the count of function numbers is out of range";
	if (seals < 0)
		return "the arena is no memfd";
	if ((seals & SEALS_NEEDED) != SEALS_NEEDED)
		return "the arena is not sealed";
	if (fstatfs(fd, &filesystem) < 0 || filesystem.f_type != TMPFS_MAGIC)
		return "the arena is no plain memory";
	if (fstat(fd, status) < 0 ||
	    (uint64_t)status->st_size != hello->arena_bytes ||
	    hello->arena_bytes != arena_bytes(hello->slot_count,
					      hello->ring_cells,
					      hello->functions))
		return "the arena has another size than it should";
	return NULL;
}

static const char *check_arena_page(const struct page_shm *page,
				    const struct wire_hello *hello)
{
	/* relaxed: written before the hello, and checked once here */
	if (atom_load_rlx(&page->magic) != ARENA_MAGIC ||
	    atom_load_rlx(&page->version) != WIRE_VERSION ||
	    atom_load_rlx(&page->slot_count) != hello->slot_count ||
	    atom_load_rlx(&page->ring_cells) != hello->ring_cells ||
	    atom_load_rlx(&page->filter_entries) != FILTER_ENTRIES ||
	    atom_load_rlx(&page->rings_offset) !=
		    arena_rings(hello->slot_count))
		return "the arena's page says another layout than the hello";
	return NULL;
}

/* Locks the open file @fd, and returns a descriptor of another open file of the
 * same memory, or -1. Without O_NONBLOCK, open() blocks on a lease that a
 * program holds on the file (45 s). */
static int open_another_file(int fd)
{
	char path[32];
	int again;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	again = open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK);
	if (again >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0)
		return again;
	if (again >= 0)
		close(again);
	return -1;
}

const struct arena_setup *arena_setup(const struct arena *arena)
{
	return &arena->setup;
}

struct arena_setup *arena_change_setup(struct arena *arena)
{
	return &arena->setup;
}

int arena_is_held(const struct arena *arena)
{
	if (arena->held_fd < 0)
		return -EAGAIN;
	if (flock(arena->held_fd, LOCK_EX | LOCK_NB) == 0) {
		flock(arena->held_fd, LOCK_UN);
		return 0;
	}
	return errno == EWOULDBLOCK ? 1 : -EAGAIN;
}

bool arena_is_file(const struct arena *arena, uint64_t device, uint64_t inode)
{
	return arena->device == device && arena->inode == inode;
}

/* Like arena_is_mapped_soon(), for the first @lines of the map. */
static int find_mapping(const struct arena *arena, pid_t pid, size_t lines)
{
	struct maps_line map;
	char path[64], *line = NULL;
	size_t size = 0;
	int found = 0;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
	file = fopen(path, "re");
	while (file && !found && getline(&line, &size, file) > 0) {
		if (!lines--)
			found = -EAGAIN;
		else if (maps_parse(line, &map) && map.inode == arena->inode &&
			 map.device == arena->device)
			found = 1;
	}
	free(line);
	if (file)
		fclose(file);
	return found;
}

bool arena_is_mapped_by(const struct arena *arena, pid_t pid)
{
	return find_mapping(arena, pid, SIZE_MAX) > 0;
}

int arena_is_mapped_soon(const struct arena *arena, pid_t pid)
{
	return find_mapping(arena, pid, MAPS_LINES_SOON);
}

int arena_map(int fd, const struct wire_hello *hello, struct arena **out,
	      const char **why)
{
	struct stat status;
	struct arena *arena;
	void *address;

	*why = check_arena_file(fd, hello, &status);
	if (*why)
		return -EPROTO;
	*why = "out of memory";
	arena = calloc(1, sizeof(*arena));
	if (!arena)
		return -ENOMEM;
	arena->refs = 1;
	arena->setup.thunk_fd = arena->setup.mem_fd = -1;
	arena->device = status.st_dev;
	arena->inode = status.st_ino;
	arena->setup.bytes = hello->arena_bytes;
	arena->setup.slot_count = hello->slot_count;
	arena->setup.ring_cells = hello->ring_cells;
	arena->setup.functions_max = hello->functions;
	lock_init(&arena->lock, LOCK_ARENA);
	orders_init(&arena->orders);
	arena->setup.orders = &arena->orders;
	arena->setup.pauses = &arena->pauses;
	arena->setup.slots =
		calloc(arena->setup.slot_count, sizeof(*arena->setup.slots));
	arena->held_fd = open_another_file(fd);
	address = mmap(NULL, arena->setup.bytes, PROT_READ | PROT_WRITE,
		       MAP_SHARED | MAP_NORESERVE,
		       arena->held_fd >= 0 ? arena->held_fd : fd, 0);
	if (address != MAP_FAILED)
		arena->setup.page = address;
	if (!arena->setup.slots || !arena->setup.page ||
	    map_log_new(arena->setup.page, &arena->setup.map_log) < 0 ||
	    function_log_new(&arena->setup.functions) < 0 ||
	    call_layouts_new(&arena->setup.layouts) < 0) {
		arena_put(&arena);
		return -ENOMEM;
	}
	madvise(address, arena->setup.bytes, MADV_DONTDUMP);
	*why = check_arena_page(arena->setup.page, hello);
	if (*why) {
		arena_put(&arena);
		return -EPROTO;
	}
	*out = arena;
	return 0;
}

void arena_adopt_fds(struct arena *arena, const struct wire_hello *hello,
		     const int *fds)
{
	struct arena_setup *setup = &arena->setup;

	if (hello->fds & WIRE_FD_THUNKS) {
		if (thunk_area_is_good(*fds, hello->functions))
			setup->thunk_fd = fcntl(*fds, F_DUPFD_CLOEXEC, 0);
		fds++;
	}
	if (hello->fds & WIRE_FD_MEMORY && patch_mem_is_good(*fds))
		setup->mem_fd = fcntl(*fds, F_DUPFD_CLOEXEC, 0);
}

struct arena *arena_get(struct arena *arena)
{
	/* relaxed: the caller already has a reference */
	atom_add_rlx(&arena->refs, 1);
	return arena;
}

static void count_unslotted_threads(struct arena *arena)
{
	struct recording *recording = arena->setup.recording;
	struct page_shm *page = arena->setup.page;
	/* relaxed: the program is gone */
	uint32_t flags = atom_load_rlx(&page->flags);
	struct totals *totals = recording_lock(recording);

	/* relaxed: the program is gone; its counts are its word */
	totals->unslotted_threads += atom_load_rlx(&page->unslotted_threads);
	totals->unslotted_spans += atom_load_rlx(&page->unslotted_spans);
	totals->excluded_hooks +=
		atom_load_rlx(&page->unslotted_excluded_hooks);
	totals->start_ns += atom_load_rlx(&page->start_ns);
	totals->slots_taken += !!(flags & PAGE_SLOTS_TAKEN);
	totals->slots_retired += !!(flags & PAGE_SLOTS_RETIRED);
	totals->slots_refused += !!(flags & PAGE_SLOTS_REFUSED);
	totals->early_starts +=
		flags & PAGE_UNHELD && arena->session.waits_for_names;
	totals->unconnected_starts += flags & PAGE_UNHELD &&
				      arena->session.waits_for_text &&
				      arena->setup.entry_build;
	totals->preinit_starts += !!(flags & PAGE_PREINIT);
	totals->block_timeouts += !!(flags & PAGE_BLOCK_OVER);
	totals->vfork_spans += atom_load_rlx(&page->vfork_spans);
	totals->muted_spans += atom_load_rlx(&page->muted_spans);
	totals->edge_spans += atom_load_rlx(&page->edge_spans);
	totals->uncounted_calls += atom_load_rlx(&page->uncounted_calls);
	totals->heap.unslotted_allocs += atom_load_rlx(&page->unslotted_allocs);
	totals->heap.unslotted_frees += atom_load_rlx(&page->unslotted_frees);
	recording_unlock(recording);
}

static void arena_free(struct arena *arena)
{
	family_release(&arena->family);
	if (arena->setup.map_log) {
		static struct log_limit limit;
		uint64_t lost;

		/* Modules may keep references after its pages are unmapped. */
		map_log_close(arena->setup.map_log);
		lost = map_log_lost(arena->setup.map_log);
		if (lost && arena->setup.recording)
			log_limited(
				&limit, LOG_WARN,
				"recording '%s' missed %llu loads and unloads "
				"of libraries: functions of unloaded libraries "
				"may have no names",
				recording_setup(arena->setup.recording)->path,
				(unsigned long long)lost);
		map_log_put(&arena->setup.map_log);
	}
	if (arena->setup.sites)
		sites_close(arena->setup.sites);
	sites_put(&arena->setup.sites);
	if (arena->setup.recording) {
		count_unslotted_threads(arena);
		recording_put(&arena->setup.recording);
	}
	if (arena->setup.page)
		munmap(arena->setup.page, arena->setup.bytes);
	if (arena->held_fd >= 0)
		close(arena->held_fd);
	if (arena->setup.thunk_fd >= 0)
		close(arena->setup.thunk_fd);
	if (arena->setup.mem_fd >= 0)
		close(arena->setup.mem_fd);
	orders_destroy(&arena->orders);
	lock_destroy(&arena->lock);
	function_log_free(&arena->setup.functions);
	call_layouts_free(&arena->setup.layouts);
	free(arena->setup.slots);
	task_bases_free(&arena->setup.bases);
	free(arena);
}

static void arena_free_job(struct job *job)
{
	arena_free((struct arena *)((char *)job -
				    offsetof(struct arena, free_job)));
}

void arena_put(struct arena **arena)
{
	struct arena *old = *arena;

	*arena = NULL;
	/* order: sc, REFS: all uses of the arena come before its end */
	if (!old || atom_add_sc(&old->refs, -1u) != 1)
		return;
	old->free_job.run = arena_free_job;
	if (old->setup.jobs)
		jobs_post(old->setup.jobs, &old->free_job);
	else
		arena_free(old);
}

struct slot_shm *arena_slot_shm(const struct arena *arena, uint32_t index)
{
	return (struct slot_shm *)((char *)arena->setup.page + ARENA_SLOTS) +
	       index;
}

void arena_control(struct arena *arena, enum control_shm control)
{
	if (control == CONTROL_OFF)
		/* order: sc, OFF: before the check below in a call with ON */
		atom_store_sc(&arena->off, 1);
	/* order: rel, CONTROL: the filter table is whole when it is on. The sc
	 * is OFF's: otherwise an ON in a store buffer could be the last word */
	atom_store_sc(&arena->setup.page->control, control);
	/* order: sc, OFF: an OFF set meanwhile wins */
	if (atom_load_sc(&arena->off))
		atom_store_sc(&arena->setup.page->control, CONTROL_OFF);
	syscall(SYS_futex, &arena->setup.page->control, FUTEX_OP_WAKE, INT_MAX,
		NULL, NULL, 0);
}

bool arena_is_off(const struct arena *arena)
{
	/* relaxed: a late reader only does needless work */
	return atom_load_rlx(&arena->off);
}

bool arena_break(struct arena *arena)
{
	/* order: sc, BROKEN: exactly one thread is the first */
	return atom_xchg_sc(&arena->broken, 1) == 0;
}

bool arena_is_broken(const struct arena *arena)
{
	/* relaxed: a late reader only reads more data, and all data is checked
	 */
	return atom_load_rlx(&arena->broken);
}

/* --- parts --------------------------------------------------------------- */

struct arena_session *arena_session(struct arena *arena)
{
	return &arena->session;
}

struct arena_drain *arena_drain(struct arena *arena)
{
	return &arena->drain;
}

/* --- lists --------------------------------------------------------------- */

void arena_link(struct arena *arena, struct arena **list)
{
	arena->next = *list;
	*list = arena;
}

void arena_unlink(struct arena *arena, struct arena **list)
{
	struct arena **link = list;

	while (*link != arena)
		link = &(*link)->next;
	*link = arena->next;
}

struct arena *arena_next(const struct arena *arena)
{
	return arena->next;
}

void arena_lock(struct arena *arena)
{
	lock_acquire(&arena->lock);
}

void arena_unlock(struct arena *arena)
{
	lock_release(&arena->lock);
}

struct process *arena_first_process(const struct arena *arena)
{
	return arena->processes;
}

struct process **arena_processes(struct arena *arena)
{
	return &arena->processes;
}

uint32_t *arena_watched(struct arena *arena)
{
	return &arena->watched;
}

struct family *arena_family(struct arena *arena)
{
	return &arena->family;
}

void arena_cut(struct arena *arena)
{
	arena->cut = true;
}

bool arena_is_cut(const struct arena *arena)
{
	return arena->cut;
}

void arena_note_idle(struct arena *arena)
{
	arena->idle_since_ns = clock_boottime_ns();
}

uint64_t arena_idle_since(const struct arena *arena)
{
	return arena->idle_since_ns;
}

/* --- counts -------------------------------------------------------------- */

void arena_note_fork(struct arena *arena)
{
	/* relaxed: a hint for is_arena_unused() */
	atom_store_rlx(&arena->forked, 1);
}

bool arena_has_forked(const struct arena *arena)
{
	/* relaxed: a hint, set long before the last process ended */
	return atom_load_rlx(&arena->forked);
}

void arena_add_late_slots(struct arena *arena, int change)
{
	/* relaxed: PASS orders additions, for knows_all_blocks(). Before a
	 * subtraction, the events of the slot are under the order's lock */
	atom_add_rlx(&arena->late_slots, (uint32_t)change);
}

uint32_t arena_late_slots(const struct arena *arena)
{
	/* relaxed: the record of the free was read after HEAD */
	return atom_load_rlx(&arena->late_slots);
}

void arena_add_live(struct arena *arena, uint64_t spans, uint64_t lost)
{
	/* relaxed: figures for display */
	atom_add_rlx(&arena->live.spans, spans);
	atom_add_rlx(&arena->live.lost, lost);
}

void arena_add_live_threads(struct arena *arena, int change)
{
	/* relaxed: as in arena_add_live() */
	atom_add_rlx(&arena->live.threads, (uint32_t)change);
}

struct arena_live arena_live(const struct arena *arena)
{
	/* relaxed: figures for display */
	return (struct arena_live){
		.spans = atom_load_rlx(&arena->live.spans),
		.lost = atom_load_rlx(&arena->live.lost),
		.threads = atom_load_rlx(&arena->live.threads),
	};
}

/* --- rings --------------------------------------------------------------- */

static char *slot_memory(const struct arena *arena, uint32_t index)
{
	return (char *)arena->setup.page +
	       arena_rings(arena->setup.slot_count) +
	       index * arena_slot_bytes(arena->setup.ring_cells,
					arena->setup.functions_max);
}

static struct record *ring_cells(const struct arena *arena, uint32_t index)
{
	return (struct record *)slot_memory(arena, index);
}

struct count_cell *arena_counts(const struct arena *arena, uint32_t index)
{
	return (struct count_cell *)(slot_memory(arena, index) +
				     arena_ring_bytes(arena->setup.ring_cells));
}

struct ring_get *arena_ring(struct arena *arena, uint32_t index)
{
	struct ring_get *ring = &arena->setup.slots[index].ring;

	if (!ring->cells)
		ring_get_init(ring, arena_slot_shm(arena, index),
			      ring_cells(arena, index), arena->setup.ring_cells,
			      &arena->setup.give_after_ns);
	return ring;
}

void arena_warm(struct arena *arena, uint32_t index)
{
	uint64_t cells = MIN(arena->setup.ring_cells, WARM_CELLS);

	if (index >= MIN(arena->setup.slot_count, WARM_SLOTS))
		return;
	/* relaxed: two workers may both warm it, which is harmless */
	if (atom_load_rlx(&arena->setup.slots[index].warm))
		return;
	atom_store_rlx(&arena->setup.slots[index].warm, 1);
	madvise(ring_cells(arena, index), cells * sizeof(struct record),
		MADV_POPULATE_WRITE);
}
