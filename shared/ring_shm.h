/* SPDX-License-Identifier: Apache-2.0
 *
 * ring_shm - the arena: every byte that the program and the collector share.
 *
 *   offset 0           struct page_shm     one per process image
 *   ARENA_MAP          struct map_entry_shm[MAP_ENTRIES]  the load map's log
 *   ARENA_CATEGORIES   struct categories_shm  which annotations are wanted
 *   ARENA_SITES        uint32_t[SITES_MAX], then the sites (site_shm.h)
 *   ARENA_FILTER       uint64_t[]          hash table of excluded functions
 *   ARENA_FILTER_NUMBERS  uint16_t[]       their function numbers
 *   ARENA_SLOTS        struct slot_shm[slot_count]
 *   rings_offset       for each slot arena_slot_bytes(): a ring of ring_cells
 *                      cells, and its count cells (function_shm.h). A process
 *                      of the program may only touch those that its threads
 *                      have claimed (preload/ring/slot_memory.h)
 *
 * The arena is one sealed memfd that the program makes and the collector maps.
 * Neither side trusts what the other may write: it loads a word once, into a
 * local, and checks it. "Program writes" and "collector writes" below say whose
 * word each is. The other side could change it all the same, so nobody reads
 * back a word of its own and relies on it. There is one exception: the program
 * reads its own head, which it masks into its ring in any case.
 *
 * Any change of a size, an offset or a meaning adds one to WIRE_VERSION
 * (wire.h). The ordering of every shared word is in docs/RING.md, the layout in
 * docs/WIRE.md.
 */
#ifndef PERFREC_SHARED_RING_SHM_H
#define PERFREC_SHARED_RING_SHM_H

#include <stddef.h>
#include <stdint.h>

#include "shared/function_shm.h"
#include "shared/record.h"

#define ARENA_MAGIC 0x616e657261637270ULL /* "prcarena" */

/* Words that different sides write lie so many bytes apart: a cache line, and
 * its neighbour, which a prefetcher brings along. */
#define SHM_LINE 128

#define DOORBELLS 8 /* slot i rings doorbell i % DOORBELLS */
#define SLOT_COUNT_MAX 65536
#define SLOT_COUNT_DEFAULT 8192
#define SLOT_NAME_BYTES 16 /* TASK_COMM_LEN, the NUL included */
#define DLOPENERS 16 /* of which the process is known */

#define RING_CELLS_MIN 4096 /*  64 KiB */
#define RING_CELLS_MAX (1u << 24) /* 256 MiB */
#define RING_CELLS_DEFAULT (1u << 18) /* 4 MiB */
/* On its first lap a thread maps its pages this many cells at a time. */
#define TOUCH_CELLS 4096

/* control: what the collector asks of this process (collector writes). */
enum control_shm {
	CONTROL_HOLD = 0, /* wait: filters are being resolved */
	CONTROL_ON = 1,
	CONTROL_OFF = 2, /* for good: go silent at the next boundary */
	CONTROL_PAUSED = 3, /* record no new span until it is ON again */
};

/* flags of the process page (program writes). */
enum page_flags {
	PAGE_GAVE_UP = 1 << 0, /* no reply in time: nothing will come */
	PAGE_NO_SYSCALLS = 1 << 1, /* seccomp: no doorbell will ring; poll */
	PAGE_BLOCKS_LOST = 1 << 2, /* an allocation was not recorded: for lack
				    * of room, in a pause, or by a child of
				    * vfork. Set before its block is handed out
				    */
	/* Why threads found no slot: */
	PAGE_SLOTS_TAKEN = 1 << 3, /* there are more threads than slots */
	PAGE_SLOTS_RETIRED = 1 << 4, /* RLIMIT_AS, mlockall(): few were kept */
	PAGE_SLOTS_REFUSED = 1 << 5, /* the kernel gave no access to them */
	PAGE_GENERAL = 1 << 6, /* hooks do without restartable sequences */
	PAGE_BARRIER = 1 << 7, /* registered for membarrier(2)'s
				* GLOBAL_EXPEDITED, as its children are */
	PAGE_OTHER_HOOKS = 1 << 8, /* another library's hooks hear of calls */
	PAGE_UNHELD = 1 << 9, /* it waits no more while control is HOLD */
	PAGE_BLOCK_OVER = 1 << 10, /* no cell was read for wire_reply.block_ns:
				    * what found no room was dropped */
	PAGE_PREINIT = 1 << 11, /* .preinit_array had run functions of an entry
				 * build before recording started */
};

/* Who has the last word on the thunk area: whoever changes FREE. */
enum thunks_use {
	THUNKS_FREE = 0,
	THUNKS_USED = 1, /* collector: functions may call thunks */
	THUNKS_GONE = 2, /* program: it has unmapped the area (mlockall) */
};

struct doorbell_shm {
	uint32_t rings; /* futex; program adds one and wakes */
	uint32_t asleep; /* collector writes: it is about to wait */
	uint8_t pad[SHM_LINE - 8];
};

struct page_shm {
	/* Written once by the program, before hello. */
	uint64_t magic;
	uint32_t version; /* WIRE_VERSION */
	uint32_t slot_count;
	uint32_t ring_cells; /* a power of two */
	uint32_t filter_entries; /* a power of two: room, not use */
	uint64_t rings_offset;
	uint8_t pad0[SHM_LINE - 32];

	/* Program writes; the last words change (function_shm.h). */
	struct thunk_shim thunks;
	uint8_t pad_thunks[2 * SHM_LINE - sizeof(struct thunk_shim)];

	/* Program writes. */
	uint32_t flags; /* enum page_flags */
	uint32_t unslotted_threads; /* threads that found no free slot */
	uint64_t unslotted_spans; /* their spans: lost, counted here */
	uint64_t map_head; /* entries of the map log ever reserved */
	uint64_t map_lost; /* entries that found no room */
	uint32_t site_count; /* site ids ever given out: 1 to site_count */
	uint32_t site_bytes; /* of SITE_BYTES, ever taken */
	uint32_t sites_lost; /* sites that found no id or no room */
	uint32_t dlopens; /* calls of dlopen() that have begun, ever */
	uint64_t unslotted_allocs; /* in threads without a slot: lost */
	uint64_t unslotted_frees;
	uint32_t unsampled_threads; /* that got no timer: cpu_timer.h */
	uint32_t pad_cpu;
	uint64_t vfork_spans; /* of vfork children: never recorded */
	uint64_t muted_spans; /* of threads that may not read the clock */
	uint64_t unslotted_excluded_hooks; /* of threads without a slot, but for
					    * fewer than 4,096 of each */
	uint64_t start_ns; /* CPU time that it took to begin recording */
	uint64_t uncounted_calls; /* through thunks, of threads without a slot:
				   * they are in no count cell */
	uint32_t thunks_use; /* enum thunks_use: both sides, by one swap */
	uint8_t pad1[SHM_LINE - 116];

	/* Program writes: who made the last calls of dlopen(). Number n, the
	 * first is 1, is in word (n - 1) % DLOPENERS: n in the upper half, the
	 * process id in the lower. */
	uint64_t dlopeners[DLOPENERS];

	/* Collector writes. */
	uint32_t control; /* futex; enum control_shm */
	uint32_t filter_shift; /* 64 - log2(entries in use); 0: none */
	uint64_t map_tail; /* entries of the map log ever read */
	uint32_t patched; /* 1: text differs from its file, or did when a child
			   * was forked: a forked child says WIRE_CHILD */
	uint32_t writing_text; /* 1: it writes text as if the program stood
				* still, which is held: row UNHELD of RING.md */
	uint8_t pad2[SHM_LINE - 24];

	struct doorbell_shm doorbell[DOORBELLS];
};

/*
 * The state of a slot. The program moves it from FREE to CLAIMED, LIVE and
 * DEAD. Once the ring is drained, the collector moves DEAD to FREE; LIVE, too,
 * when it knows that the owner is gone. RETIRED is for good: the program has
 * unmapped the ring.
 */
enum slot_state {
	SLOT_FREE = 0,
	SLOT_CLAIMED = 1,
	SLOT_LIVE = 2,
	SLOT_DEAD = 3,
	SLOT_RETIRED = 4,
};

/* What slot_shm.end_... says. 0: nothing; the thread did not come to its end,
 * or was not asked (WIRE_ASK_END). */
enum end_told {
	END_TOLD = 1 << 0,
	END_HAS_DELAY = 1 << 1, /* end_delay_ns, too: /proc was there */
};

struct slot_shm {
	/* The owning thread writes; head on every record. */
	uint64_t head; /* cells ever written; index = head & mask */
	uint64_t excluded_hooks; /* found their function excluded, since claim;
				  * those of a forked child without a slot, too
				  */
	uint64_t left_out_hooks; /* too deep, since claim */
	/* What the thread had had of the machine when it ended, since it began:
	 * with end_told. */
	uint64_t end_ns; /* BOOTTIME: when it told this */
	uint64_t end_cpu_ns; /* on a CPU, by its own clock */
	uint64_t end_delay_ns; /* runnable without a CPU; END_HAS_DELAY */
	uint64_t end_user_ns, end_system_ns; /* of getrusage() */
	uint64_t end_minor_faults, end_major_faults;
	uint32_t end_told; /* enum end_told; row ENDTOLD of RING.md */
	uint32_t pad_end;
	uint8_t pad0[SHM_LINE - 88];

	/* Collector writes. */
	uint64_t tail; /* cells that may be written over: read, and their memory
			* is not being given back */
	uint64_t read; /* cells ever read: tail, or a little more */
	uint32_t room; /* futex; changes whenever tail may */
	uint32_t pad_room;
	uint8_t pad1[SHM_LINE - 24];

	/* The owning thread writes; cold. */
	uint32_t state; /* enum slot_state */
	int32_t pid; /* in the program's pid namespace */
	int32_t tid;
	uint32_t claims; /* times this slot was claimed */
	uint64_t claim_clock; /* raw ticks when it was */
	uint64_t pthread; /* pthread_self(), to find it by name */
	char name[SLOT_NAME_BYTES];
	uint32_t name_changes; /* odd while name is being written */
	uint32_t waiting; /* futex waiters on room: 0 or 1 */
	uint64_t dropped_spans; /* begins not recorded, since claim */
	uint64_t truncated_spans; /* ends not recorded, since claim */
	uint64_t wait_ticks; /* time blocked on a full ring, since claim */
	uint64_t paused_spans; /* not recorded while paused, since claim */
	uint32_t claim_map; /* generation of the load map at the claim */
	uint32_t paused_allocs; /* as paused_spans; the rest of 2^32 */
	uint64_t dropped_allocs; /* ALLOC and the like, since claim */
	uint64_t dropped_frees; /* FREE and the like, since claim */
	uint64_t dropped_notes; /* instants, counter values ... since claim */
	uint64_t dropped_samples; /* of the stack, since claim */
};

_Static_assert(sizeof(struct doorbell_shm) == SHM_LINE, "one line");
_Static_assert(sizeof(struct page_shm) == (6 + DOORBELLS) * SHM_LINE, "layout");
_Static_assert(sizeof(struct slot_shm) == 3 * SHM_LINE, "layout");
_Static_assert(offsetof(struct slot_shm, head) == 0, "the hooks rely on it");

/*
 * The map log: what was loaded and unloaded after the hello. Whoever notices it
 * writes it, in the program or in a child that it forked. A load is told before
 * anything of it can be unloaded; an unload, after it has happened. A process'
 * generation counts its unloads (a forked child goes on from its parent's):
 * each thread puts a MAP record before its first record that a newer generation
 * applies to. What was mapped at the hello is not told: the collector reads it
 * in /proc.
 *
 * The log is a ring of MAP_ENTRIES entries: the n-th of all lies at n %
 * MAP_ENTRIES. The writer takes n by adding one to map_head while n - map_tail
 * < MAP_ENTRIES, fills the entry in, and stores n + 1 to sequence: then the
 * entry is whole. A writer may be killed in between; after a while the reader
 * steps over such an entry.
 *
 * An entry NAMES saves the dynamic symbols of a module whose file the collector
 * might not find any more: the bytes of .dynsym, then those of .dynstr. They
 * lie in pieces, the entries behind it, with MAP_PIECE_BYTES in each. The
 * writer reserves all of them at once, and writes no sequence into pieces: that
 * of the NAMES itself says that all is whole. NAMES goes by the build-id, so it
 * holds for every place and process that has the module. NAMES and pieces may
 * fill a quarter of the log at most; the rest is for loads and unloads.
 */
enum map_entry_kind {
	MAP_LOAD = 1,
	MAP_UNLOAD = 2,
	MAP_NAMES = 3,
};

#define MAP_ENTRY_BYTES 512
#define MAP_ENTRIES 8192
#define MAP_BUILD_ID_MAX 32
#define MAP_PATH_BYTES (MAP_ENTRY_BYTES - 80)
#define MAP_PIECE_BYTES (MAP_ENTRY_BYTES - 8)
#define MAP_PIECES_MAX 1024
#define MAP_NAMES_ENTRIES (MAP_ENTRIES / 4)

struct map_entry_shm {
	uint64_t sequence; /* n + 1 once whole */
	uint32_t kind; /* enum map_entry_kind */
	int32_t pid; /* of the process, in its own pid namespace */
	uint32_t generation; /* LOAD: current; UNLOAD: first without it */
	uint16_t build_id_bytes; /* 0: it has none */
	uint16_t entry_build; /* of LOAD, 1: it has the note of one */
	uint64_t start, end; /* of its loaded segments, whole pages */
	union {
		uint64_t bias; /* added to its virtual addresses */
		struct { /* of NAMES, in bytes */
			uint32_t symbols, strings;
		} names;
	};
	uint8_t build_id[MAP_BUILD_ID_MAX];
	char path[MAP_PATH_BYTES]; /* absolute, NUL-terminated; "": unknown
				    * or too long */
};

_Static_assert(sizeof(struct map_entry_shm) == MAP_ENTRY_BYTES, "layout");

/* An entry that holds a part of the bytes of a NAMES before it. */
struct map_piece_shm {
	uint64_t sequence; /* nobody writes it */
	uint8_t bytes[MAP_PIECE_BYTES];
};

_Static_assert(sizeof(struct map_piece_shm) == MAP_ENTRY_BYTES, "layout");

/* How many pieces @bytes take. */
static inline uint64_t map_pieces(uint64_t bytes)
{
	return (bytes + MAP_PIECE_BYTES - 1) / MAP_PIECE_BYTES;
}

/*
 * Which categories of annotations are recorded: globs, as in --categories. The
 * collector writes them, and may change them at any time. The program decides
 * for each site once, and again when changes has changed.
 */
#define CATEGORIES_BYTES 4096

struct categories_shm {
	uint32_t changes; /* odd while text is being written */
	char text[CATEGORIES_BYTES - 4]; /* NUL-terminated; "": all but
					  * debug and slow */
};

_Static_assert(sizeof(struct categories_shm) == CATEGORIES_BYTES, "layout");

/* Sites of annotations, written by the program, once each: site_shm.h. */
#define SITES_MAX 65536 /* ids 1 to SITES_MAX - 1 */
/* Not more: the fixed part of the arena must fit where "ulimit -v" leaves 200
 * MB (fit_limits() in hello.c). */
#define SITE_BYTES (8u << 20)

#define ARENA_MAP 65536
#define ARENA_CATEGORIES (ARENA_MAP + MAP_ENTRIES * (uint64_t)MAP_ENTRY_BYTES)
#define ARENA_SITES (ARENA_CATEGORIES + CATEGORIES_BYTES)
#define ARENA_SITE_BYTES (ARENA_SITES + SITES_MAX * (uint64_t)4)
#define ARENA_FILTER (ARENA_SITE_BYTES + SITE_BYTES)
#define FILTER_ENTRIES (1u << 20)
/*
 * The filter table may change while hooks look into it. A function is added by
 * storing its number first, and then its address, in the first entry of its
 * search that is 0 or FILTER_REMOVED. It is removed by FILTER_REMOVED in its
 * place: searches go on behind it. At most a quarter of the entries is ever
 * other than 0, so that each search comes to an end. No function lies
 * FILTER_PROBES_MAX or more entries behind the first one of its search: there
 * the hooks look for it no more, whatever the table says.
 */
#define FILTER_PROBES_MAX 4096
#define FILTER_REMOVED 1 /* no function is there */
/* The function number of the function in the same entry; 0: it has none, and
 * only slot.excluded_hooks counts it. Else its calls are counted in its cell,
 * too, by threads that have a slot. */
#define ARENA_FILTER_NUMBERS (ARENA_FILTER + FILTER_ENTRIES * (uint64_t)8)
/* The largest size that a page has on any machine. */
#define PAGE_BYTES_MAX ((uint64_t)65536)
#define ARENA_SLOTS                                             \
	((ARENA_FILTER_NUMBERS + FILTER_ENTRIES * (uint64_t)2 + \
	  PAGE_BYTES_MAX - 1) &                                 \
	 ~(PAGE_BYTES_MAX - 1))

_Static_assert(sizeof(struct page_shm) <= ARENA_MAP, "layout");
_Static_assert(ARENA_FILTER % 4096 == 0 && ARENA_SLOTS % PAGE_BYTES_MAX == 0,
	       "slots start on a page of any size");

_Static_assert(FUNCTIONS_MAX <= 1 << 16, "a number fits into the filter");

/* Where the rings start: on a page of any size. */
static inline uint64_t arena_rings(uint32_t slot_count)
{
	uint64_t end =
		ARENA_SLOTS + slot_count * (uint64_t)sizeof(struct slot_shm);

	return (end + PAGE_BYTES_MAX - 1) & ~(PAGE_BYTES_MAX - 1);
}

/* The bytes of a ring of @ring_cells cells. The count cells are behind it. */
static inline uint64_t arena_ring_bytes(uint32_t ring_cells)
{
	return (uint64_t)ring_cells * sizeof(struct record);
}

/* The bytes from one slot's ring to the next one's: of the ring and of
 * function_numbers() count cells, in whole pages of any size. */
static inline uint64_t arena_slot_bytes(uint32_t ring_cells)
{
	uint64_t counts = function_numbers(ring_cells) *
			  (uint64_t)sizeof(struct count_cell);

	return (arena_ring_bytes(ring_cells) + counts + PAGE_BYTES_MAX - 1) &
	       ~(PAGE_BYTES_MAX - 1);
}

static inline uint64_t arena_bytes(uint32_t slot_count, uint32_t ring_cells)
{
	return arena_rings(slot_count) +
	       slot_count * arena_slot_bytes(ring_cells);
}

/*
 * Where a search for @function in the filter table begins: it goes on to the
 * next entries. The multiplier is 2^64 / golden ratio (Knuth, TAOCP vol.
 * 3, 6.4).
 */
#define FILTER_MULTIPLIER 0x9e3779b97f4a7c15ULL

static inline uint64_t filter_index(uint64_t function, uint32_t shift)
{
	return function * FILTER_MULTIPLIER >> shift;
}

/*
 * The liveness page: a memfd of one page, which the collector makes and seals.
 * Every program maps it, to read.
 */
struct liveness_shm {
	uint32_t owner; /* futex; robust mutex word of the collector */
	uint8_t pad[60]; /* the rest of its pthread_mutex_t */
	uint32_t heartbeat; /* changes every 25 ms or faster while it runs */
	uint32_t closed; /* the collector ended in good order */
	uint32_t parked; /* futex: a thread of the collector always waits on
			  * it, except when the kernel has stopped that thread:
			  * see collector_stopped() in preload/ring/wait.c */
};

#define LIVENESS_BYTES 4096
/* linux/futex.h FUTEX_OWNER_DIED: the kernel sets it when the owner dies. */
#define LIVENESS_OWNER_DIED 0x40000000u

#endif
