/* SPDX-License-Identifier: Apache-2.0
 *
 * wire - the hello: all that a program and the collector send each other
 * (docs/WIRE.md). A SOCK_SEQPACKET connection carries one hello, with the
 * arena's memfd, and one reply, with the liveness page's memfd; then it is
 * closed. A program that cannot make an arena sends a regret in place of the
 * hello, and gets no answer. A child that was forked may send a WIRE_CHILD over
 * a connection of its own, and gets no answer, either. Numbers are in host byte
 * order: both ends are on one machine.
 *
 * WIRE_VERSION covers these messages, ring_shm.h, function_shm.h, site_shm.h,
 * record.def and record_ext.h: any change of a size, an offset or a meaning
 * there adds one to it. There is no negotiation. A collector answers another
 * version with WIRE_REFUSED_VERSION, and the program runs unrecorded. So magic
 * and version stay the first fields of a message.
 */
#ifndef PERFREC_SHARED_WIRE_H
#define PERFREC_SHARED_WIRE_H

#include <stdint.h>

#define WIRE_VERSION 20u
#define WIRE_HELLO_MAGIC 0x6f6c6c6568637270ULL /* "prchello" */
#define WIRE_REGRET_MAGIC 0x7465726765726370ULL /* "pcregret" */
#define WIRE_CHILD_MAGIC 0x646c696863637270ULL /* "prcchild" */
#define WIRE_REPLY_MAGIC 0x796c706572637270ULL /* "prcreply" */

/* A program waits no longer for its start, whatever the collector does.
 * Connecting, hello and reply must take less than this, or the program is not
 * recorded. If control is CONTROL_HOLD by then, it is recorded all the same
 * (PAGE_UNHELD). PERFREC_DEADLINE_MS may grant more, as `perfrec record` does.
 */
#define WIRE_DEADLINE_MS 100
#define WIRE_DEADLINE_MS_MAX 60000

/* What descriptors come with a hello, behind that of the arena, in this order.
 */
enum wire_fds {
	WIRE_FD_THUNKS = 1 << 0, /* memfd of THUNK_AREA_BYTES (function_shm.h),
				  * sealed as the arena; mapped to execute */
	WIRE_FD_MEMORY = 1 << 1, /* /proc/self/mem, to read and write */
};

struct wire_hello {
	uint64_t magic;
	uint32_t version;
	int32_t pid; /* in the program's pid namespace */
	uint32_t slot_count;
	uint32_t ring_cells;
	uint64_t arena_bytes;
	uint32_t tsc_allowed; /* 0: prctl(PR_SET_TSC) forbids rdtsc */
	uint32_t instrumented; /* 1: something here can call a hook */
	uint32_t fds; /* enum wire_fds */
	uint32_t entry_build; /* 1: a module is one (entry_build.h): nothing is
			       * recorded of it before it is connected */
	/* What the thread that sends this has had of the machine so far, by
	 * getrusage(): what it is recorded with is what comes after. */
	uint64_t user_ns, system_ns;
	uint64_t minor_faults, major_faults;
	int32_t tid; /* that thread, in the program's pid namespace */
	uint32_t pad;
};

/*
 * A forked child, whose text is as its parent's: it may be patched
 * (page_shm.patched). One descriptor comes with it: its /proc/self/mem, to read
 * and write. The child does not wait.
 */
struct wire_child {
	uint64_t magic;
	uint32_t version;
	int32_t pid; /* in its own pid namespace */
	uint64_t device, inode; /* of the arena's memfd */
};

/* Why a program has no arena. */
enum wire_regret_why {
	WIRE_REGRET_LIMITS = 1, /* RLIMIT_AS or RLIMIT_FSIZE */
	WIRE_REGRET_MEMFD = 2,
	WIRE_REGRET_MAP = 3,
};

struct wire_regret {
	uint64_t magic;
	uint32_t version;
	uint32_t why; /* enum wire_regret_why */
};

enum wire_status {
	WIRE_ACCEPTED = 0,
	WIRE_REFUSED_VERSION = 1,
	WIRE_REFUSED_ARENA = 2, /* the hello, the peer or the arena's size,
				 * seals or layout are not as they should be */
	WIRE_REFUSED_LIMIT = 3, /* too many programs */
	WIRE_REFUSED_CLOSING = 4,
};

enum wire_clock {
	WIRE_CLOCK_TSC = 0, /* rdtsc, cntvct_el0 */
	WIRE_CLOCK_BOOTTIME = 1, /* clock_gettime, ns */
};

enum wire_on_full {
	WIRE_ON_FULL_BLOCK = 0,
	WIRE_ON_FULL_DROP = 1,
};

enum wire_alloc {
	WIRE_ALLOC_OFF = 0,
	WIRE_ALLOC_EXACT = 1, /* every allocation: ALLOC, FREE, EXT_REALLOC */
	WIRE_ALLOC_SAMPLED = 2, /* some, with stacks: EXT_ALLOC_SAMPLE */
};

/* What the collector asks of the program beside records. */
enum wire_asks {
	WIRE_ASK_END = 1 << 0, /* tell what a thread has used, when it ends:
				* slot_shm.end_told */
	WIRE_ASK_LOOK = 1 << 1, /* permit the collector to look at the program
				 * where Yama does not: PR_SET_PTRACER */
};
#define WIRE_ASKS_ALL (WIRE_ASK_END | WIRE_ASK_LOOK)

/* What a reply may say at most: the shim takes no other one. */
#define WIRE_DEPTH_MAX 65535u
#define WIRE_ALLOC_PERIOD_MAX (1u << 30)
#define WIRE_CPU_HZ_MAX 10000u
#define WIRE_STACK_BYTES_MAX (60u << 10)
#define WIRE_BLOCK_NS_MAX (24 * 3600 * UINT64_C(1000000000))

struct wire_reply {
	uint64_t magic;
	uint32_t version;
	uint32_t status; /* enum wire_status */
	uint32_t clock; /* enum wire_clock */
	uint32_t on_full; /* enum wire_on_full */
	uint32_t depth; /* record spans with fewer around them; 0: all */
	uint32_t alloc; /* enum wire_alloc */
	uint64_t alloc_period; /* mean bytes between samples; EXACT: between
				* those whose stack is told, 0: none */
	uint32_t cpu_hz; /* take so many samples a second of each thread's CPU
			  * time, by signals in the program; 0: none */
	uint32_t stack_bytes; /* the most to copy of a stack for a sample */
	uint64_t block_ns; /* of WIRE_ON_FULL_BLOCK: if no cell of the process
			    * was read for so long, nobody waits for room any
			    * more, until a cell is read */
	uint32_t asks; /* enum wire_asks */
	uint32_t pad;
};

_Static_assert(sizeof(struct wire_hello) == 88, "wire");
_Static_assert(sizeof(struct wire_child) == 32, "wire");
_Static_assert(sizeof(struct wire_regret) == 16, "wire");
_Static_assert(sizeof(struct wire_reply) == 64, "wire");

#endif
