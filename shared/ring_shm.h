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
 *                      of the program may only touch the rings and cells that
 *                      its threads have claimed (preload/ring/slot_memory.h)
 *
 * The arena is one sealed memfd that the program makes and the collector maps.
 * Neither side trusts words that the other can write: it loads a word once,
 * into a local, and checks it. "Program writes" and "collector writes" below
 * name the owner of each word. The other side can change the word all the same,
 * so neither side relies on a word of its own that it reads back. The one
 * exception: the program reads its own head, which it masks into its ring in
 * any case.
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

/* The distance in bytes of words that different sides write: a cache line and
 * its neighbour, which a prefetcher loads with it. */
#define SHM_LINE 128

#define DOORBELLS 8 /* slot i rings doorbell i % DOORBELLS */
#define SLOT_COUNT_MAX 65536
#define SLOT_COUNT_DEFAULT 8192
#define SLOT_NAME_BYTES 16 /* TASK_COMM_LEN, the NUL included */
#define ARGUMENT_BYTES 4096 /* of a command line */
#define AWAITED_BYTES (SHM_LINE - 24)
#define AWAITED_MAX (8 * AWAITED_BYTES) /* descriptors below it have a bit */
#define DLOPENERS 16 /* calls of dlopen() whose process is known */

#define RING_CELLS_MIN 4096 /*  64 KiB */
#define RING_CELLS_MAX (1u << 24) /* 256 MiB */
#define RING_CELLS_DEFAULT (1u << 18) /* 4 MiB */
/* On its first lap a thread maps its pages this many cells at a time. */
#define TOUCH_CELLS 4096

/* control: the collector's orders to this process (collector writes). */
enum control_shm {
	CONTROL_HOLD = 0, /* wait: filters are being resolved */
	CONTROL_ON = 1,
	CONTROL_OFF = 2, /* final: stop recording at the next boundary */
	CONTROL_PAUSED = 3, /* record no new span until it is ON */
};

/* flags of the process page (program writes). */
enum page_flags {
	PAGE_GAVE_UP = 1 << 0, /* no reply in time: records nothing */
	PAGE_NO_SYSCALLS = 1 << 1, /* seccomp: no doorbell will ring; poll */
	PAGE_BLOCKS_LOST = 1 << 2, /* an allocation was not recorded: no room, a
				    * pause, or a vfork() child. Set before the
				    * allocator's caller gets the block */
	/* Reasons why threads found no slot: */
	PAGE_SLOTS_TAKEN = 1 << 3, /* more threads than slots */
	PAGE_SLOTS_RETIRED = 1 << 4, /* RLIMIT_AS, mlockall(): few were kept */
	PAGE_SLOTS_REFUSED = 1 << 5, /* the kernel refused access to them */
	PAGE_GENERAL = 1 << 6, /* hooks run without restartable sequences */
	PAGE_BARRIER = 1 << 7, /* registered for membarrier(2)'s
				* GLOBAL_EXPEDITED; its children inherit that */
	PAGE_OTHER_HOOKS = 1 << 8, /* another library also has hooks of calls */
	PAGE_UNHELD = 1 << 9, /* stopped waiting although control is HOLD */
	PAGE_BLOCK_OVER = 1 << 10, /* no cell was read for wire_reply.block_ns,
				    * so records without room were dropped */
	PAGE_PREINIT = 1 << 11, /* .preinit_array called functions of an entry
				 * build before recording started */
	PAGE_BOUND = 1 << 12, /* all calls that can be bound are, for
			       * WIRE_ASK_BIND */
	PAGE_OPENINGS = 1 << 13, /* loads are reported during dlopen(), for
				  * WIRE_ASK_OPENING */
};

/*
 * The word of a dlopen() that waits until the functions of its modules are moved
 * (--patch): its number, which is not 0, times OPENING_STEP plus a state. The
 * program changes NONE and SEES, and anything to NONE; the collector changes
 * WAITS and WRITES, and WAITS to NONE. The first side that makes it NONE ends the
 * wait. Only one dlopen() of an arena waits at a time.
 */
enum opening_shm {
	OPENING_NONE = 0, /* the whole word is 0 */
	OPENING_SEES = 1, /* the program reports the modules */
	OPENING_WAITS = 2,
	OPENING_WRITES = 3, /* the collector changes text of the modules */
	OPENING_STATE = 3, /* the bits of these */
	OPENING_STEP = 4,
};

/* Use of the thunk area. The side that changes FREE first decides it for
 * good. */
enum thunks_use {
	THUNKS_FREE = 0,
	THUNKS_USED = 1, /* collector: functions may call thunks */
	THUNKS_GONE = 2, /* program: the area is unmapped (mlockall) */
};

struct doorbell_shm {
	uint32_t rings; /* futex; program adds one and wakes */
	uint32_t asleep; /* collector writes, before it waits */
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
	uint32_t argument_bytes; /* of arguments; 0: unknown */
	uint8_t pad0[SHM_LINE - 36];

	/* Program writes; the last words change (function_shm.h). */
	struct thunk_shim thunks;
	uint8_t pad_thunks[2 * SHM_LINE - sizeof(struct thunk_shim)];

	/* Program writes. */
	uint32_t flags; /* enum page_flags */
	uint32_t unslotted_threads; /* threads without a free slot */
	uint64_t unslotted_spans; /* lost spans of such threads */
	uint64_t map_head; /* entries of the map log ever reserved */
	uint64_t map_lost; /* entries without room in the log */
	uint32_t site_count; /* the highest site id in use; the first is 1 */
	uint32_t site_bytes; /* bytes in use of SITE_BYTES */
	uint32_t sites_lost; /* sites without an id or without room */
	uint32_t dlopens; /* calls of dlopen() ever begun; a call that waits
			   * counts twice */
	uint64_t unslotted_allocs; /* lost allocations of such threads */
	uint64_t unslotted_frees;
	uint32_t unsampled_threads; /* threads without a timer: cpu_timer.h */
	uint32_t openings; /* numbers ever given to a dlopen() that waits */
	uint64_t vfork_spans; /* spans of vfork() children, never recorded */
	uint64_t muted_spans; /* spans of threads that may not read the clock */
	uint64_t unslotted_excluded_hooks; /* of threads without slot; up to
					    * 4,095 of each are missing */
	uint64_t start_ns; /* CPU time of the start of recording */
	uint64_t uncounted_calls; /* of functions that are not recorded, by
				   * threads without count cells */
	uint64_t edge_spans; /* of moved functions at the end of a stack, whose
			      * arguments could not be copied */
	uint32_t thunks_use; /* enum thunks_use: both sides, by one swap */
	uint32_t opening; /* futex; enum opening_shm: both sides, by swaps */

	/* Program writes: the processes of the last calls of dlopen(). Call n
	 * (the first is 1) has word (n - 1) % DLOPENERS: n in the upper half,
	 * the process id in the lower. */
	uint64_t dlopeners[DLOPENERS];

	/* Collector writes. */
	uint32_t control; /* futex; enum control_shm */
	uint32_t filter_shift; /* 64 - log2(entries in use); 0: none */
	uint64_t map_tail; /* entries of the map log ever read */
	uint32_t patched; /* 1: text differs from its file, or did when a child
			   * was forked: a forked child sends WIRE_CHILD */
	uint32_t writing_text; /* 1: the collector changes text while control
				* holds the program: row UNHELD of RING.md */
	uint8_t awaited[AWAITED_BYTES]; /* bits by descriptor: a thread has
					 * waited for data from it */

	struct doorbell_shm doorbell[DOORBELLS];

	/* Program writes once, before hello: its command line, cut at
	 * ARGUMENT_BYTES; a NUL ends each word. */
	char arguments[ARGUMENT_BYTES];
};

/*
 * The state of a slot. The program moves it from FREE to CLAIMED, LIVE and
 * DEAD. Once the ring is drained, the collector moves DEAD to FREE, and also
 * LIVE if the owner is gone. RETIRED is final: the program has unmapped the
 * ring.
 */
enum slot_state {
	SLOT_FREE = 0,
	SLOT_CLAIMED = 1,
	SLOT_LIVE = 2,
	SLOT_DEAD = 3,
	SLOT_RETIRED = 4,
};

/* The fields slot_shm.end_... that are set. 0: none, because the thread has not
 * ended or the collector did not ask for them (WIRE_ASK_END). */
enum end_told {
	END_TOLD = 1 << 0, /* all but end_delay_ns */
	END_HAS_DELAY = 1 << 1, /* end_delay_ns; /proc was readable */
};

struct slot_shm {
	/* The owning thread writes; head on every record. */
	uint64_t head; /* cells ever written; index = head & mask */
	uint64_t excluded_hooks; /* hooks of excluded functions since claim,
				  * with those of a forked child without slot */
	uint64_t left_out_hooks; /* hooks beyond --depth since claim */
	/* The thread's whole use of the machine, written when it ends (enum
	 * end_told). */
	uint64_t end_ns; /* BOOTTIME of the writing */
	uint64_t end_cpu_ns; /* on a CPU, by the thread's own clock */
	uint64_t end_delay_ns; /* runnable without a CPU; END_HAS_DELAY */
	uint64_t end_user_ns, end_system_ns; /* of getrusage() */
	uint64_t end_minor_faults, end_major_faults;
	uint32_t end_told; /* enum end_told; row ENDTOLD of RING.md */
	uint32_t pad_end;
	uint8_t pad0[SHM_LINE - 88];

	/* Collector writes. */
	uint64_t tail; /* cells that the program may overwrite: they are read,
			* and the collector is not freeing their memory */
	uint64_t read; /* cells ever read: tail, or a little more */
	uint32_t room; /* futex; changes when tail may have changed */
	uint32_t pad_room;
	uint8_t pad1[SHM_LINE - 24];

	/* The owning thread writes; cold. */
	uint32_t state; /* enum slot_state */
	int32_t pid; /* in the program's pid namespace */
	int32_t tid;
	uint32_t claims; /* times this slot was claimed */
	uint64_t claim_clock; /* raw ticks of the last claim */
	uint64_t pthread; /* pthread_self(), for pthread_setname_np() */
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
_Static_assert(sizeof(struct page_shm) ==
		       (6 + DOORBELLS) * SHM_LINE + ARGUMENT_BYTES,
	       "layout");
_Static_assert(sizeof(struct slot_shm) == 3 * SHM_LINE, "layout");
_Static_assert(offsetof(struct slot_shm, head) == 0, "the hooks rely on it");

/*
 * The map log has the modules that the program, or a child that it forked,
 * loaded or unloaded after the hello. The thread that notices a change appends
 * it: a load before the module can be unloaded, an unload after it has
 * happened. The collector reads earlier mappings in /proc. A process'
 * generation counts its unloads; a forked child continues its parent's count.
 * Each thread puts a MAP record in front of its first record of a newer
 * generation.
 *
 * The log is a ring of MAP_ENTRIES entries: entry n is at n % MAP_ENTRIES. The
 * writer reserves n by adding one to map_head while n - map_tail < MAP_ENTRIES,
 * fills the entry in, and stores n + 1 to sequence, which completes it. If a
 * writer is killed before that, the reader skips the entry after a while.
 *
 * A NAMES entry saves the dynamic symbols of a module, because the collector
 * may not find its file later: the bytes of .dynsym, then those of .dynstr.
 * They are in the entries behind NAMES, the pieces, with MAP_PIECE_BYTES in
 * each. The writer reserves all of them at once. Pieces have no sequence; the
 * sequence of NAMES completes them. NAMES identifies the module by its
 * build-id, so it holds for each process and address. NAMES and pieces fill at
 * most a quarter of the log; the rest is for loads and unloads.
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
	uint8_t build_id_bytes; /* 0: it has none */
	uint8_t entry_build; /* LOAD: 1 if it has the note of entry_build.h */
	uint16_t opening; /* LOAD: number of the dlopen() that waits before any
			   * code of it runs (enum opening_shm); 0: none */
	uint64_t start, end; /* of its loaded segments, whole pages */
	union {
		uint64_t bias; /* added to its virtual addresses */
		struct { /* NAMES: bytes */
			uint32_t symbols, strings;
		} names;
	};
	uint8_t build_id[MAP_BUILD_ID_MAX];
	char path[MAP_PATH_BYTES]; /* absolute, NUL-terminated; "": unknown
				    * or too long */
};

_Static_assert(sizeof(struct map_entry_shm) == MAP_ENTRY_BYTES, "layout");

/* An entry with a part of the symbols of the NAMES entry before it. */
struct map_piece_shm {
	uint64_t sequence; /* never written */
	uint8_t bytes[MAP_PIECE_BYTES];
};

_Static_assert(sizeof(struct map_piece_shm) == MAP_ENTRY_BYTES, "layout");

/* Returns the number of pieces for @bytes. */
static inline uint64_t map_pieces(uint64_t bytes)
{
	return (bytes + MAP_PIECE_BYTES - 1) / MAP_PIECE_BYTES;
}

/*
 * The categories of annotations to record: globs, as in --categories. The
 * collector may change them at any time. The program decides once for each
 * site, and again when changes has changed.
 */
#define CATEGORIES_BYTES 4096

struct categories_shm {
	uint32_t changes; /* odd while text is being written */
	char text[CATEGORIES_BYTES - 4]; /* NUL-terminated; "": all except
					  * debug and slow */
};

_Static_assert(sizeof(struct categories_shm) == CATEGORIES_BYTES, "layout");

/* Sites of annotations; the program writes each once (site_shm.h). */
#define SITES_MAX 65536 /* ids 1 to SITES_MAX - 1 */
/* Limited so that the fixed part of the arena fits where "ulimit -v" leaves
 * 200 MB (fit_limits() in hello.c). */
#define SITE_BYTES (8u << 20)

#define ARENA_MAP 65536
#define ARENA_CATEGORIES (ARENA_MAP + MAP_ENTRIES * (uint64_t)MAP_ENTRY_BYTES)
#define ARENA_SITES (ARENA_CATEGORIES + CATEGORIES_BYTES)
#define ARENA_SITE_BYTES (ARENA_SITES + SITES_MAX * (uint64_t)4)
#define ARENA_FILTER (ARENA_SITE_BYTES + SITE_BYTES)
#define FILTER_ENTRIES (1u << 20)
/*
 * The filter table may change while hooks search it. To add a function, the
 * collector stores its number and then its address in the first entry of its
 * search that is 0 or FILTER_REMOVED. To remove it, the collector stores
 * FILTER_REMOVED, and searches continue behind such an entry. At least three
 * quarters of the entries are always 0, so each search ends. No function lies
 * FILTER_PROBES_MAX or more entries behind the start of its search: hooks stop
 * there, even in a corrupt table.
 */
#define FILTER_PROBES_MAX 4096
#define FILTER_REMOVED 1 /* no function has this address */
/* The function number for the same entry of the table. 0: the function has no
 * number, and only slot.excluded_hooks counts its calls. With a number, threads
 * with a slot also count them in its cell. */
#define ARENA_FILTER_NUMBERS (ARENA_FILTER + FILTER_ENTRIES * (uint64_t)8)
/* The largest page size of any machine. */
#define PAGE_BYTES_MAX ((uint64_t)65536)
#define ARENA_SLOTS                                             \
	((ARENA_FILTER_NUMBERS + FILTER_ENTRIES * (uint64_t)2 + \
	  PAGE_BYTES_MAX - 1) &                                 \
	 ~(PAGE_BYTES_MAX - 1))

_Static_assert(sizeof(struct page_shm) <= ARENA_MAP, "layout");
_Static_assert(ARENA_FILTER % 4096 == 0 && ARENA_SLOTS % PAGE_BYTES_MAX == 0,
	       "slots start on a page of any size");

_Static_assert(FUNCTIONS_USUAL <= 1 << 16, "a number fits into the filter");

/* Returns the offset of the rings, aligned to pages of any size. */
static inline uint64_t arena_rings(uint32_t slot_count)
{
	uint64_t end =
		ARENA_SLOTS + slot_count * (uint64_t)sizeof(struct slot_shm);

	return (end + PAGE_BYTES_MAX - 1) & ~(PAGE_BYTES_MAX - 1);
}

/* Returns the bytes of a ring of @ring_cells cells, without its count cells. */
static inline uint64_t arena_ring_bytes(uint32_t ring_cells)
{
	return (uint64_t)ring_cells * sizeof(struct record);
}

/* Returns the bytes from one slot's ring to the next: the ring and the count
 * cells of @functions numbers, in whole pages of any size. */
static inline uint64_t arena_slot_bytes(uint32_t ring_cells, uint32_t functions)
{
	uint64_t counts = functions * (uint64_t)sizeof(struct count_cell);

	return (arena_ring_bytes(ring_cells) + counts + PAGE_BYTES_MAX - 1) &
	       ~(PAGE_BYTES_MAX - 1);
}

static inline uint64_t arena_bytes(uint32_t slot_count, uint32_t ring_cells,
				   uint32_t functions)
{
	return arena_rings(slot_count) +
	       slot_count * arena_slot_bytes(ring_cells, functions);
}

/*
 * Returns the entry of the filter table where a search for @function starts; it
 * continues with the next entries. The multiplier is 2^64 / golden ratio
 * (Knuth, TAOCP vol. 3, 6.4).
 */
#define FILTER_MULTIPLIER 0x9e3779b97f4a7c15ULL

static inline uint64_t filter_index(uint64_t function, uint32_t shift)
{
	return function * FILTER_MULTIPLIER >> shift;
}

/*
 * The liveness page: a memfd of one page, which the collector creates and
 * seals. Every program maps it read-only.
 */
struct liveness_shm {
	uint32_t owner; /* futex; robust mutex word of the collector */
	uint8_t pad[60]; /* the rest of its pthread_mutex_t */
	uint32_t heartbeat; /* changes every 25 ms or faster while it runs */
	uint32_t closed; /* 1: the collector has ended normally */
	uint32_t parked; /* futex: a thread of the collector always waits here,
			  * unless the collector is stopped: see
			  * collector_stopped() in preload/ring/wait.c */
};

#define LIVENESS_BYTES 4096
/* linux/futex.h FUTEX_OWNER_DIED: the kernel sets it when the owner dies. */
#define LIVENESS_OWNER_DIED 0x40000000u

#endif
