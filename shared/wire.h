/* SPDX-License-Identifier: Apache-2.0
 *
 * wire - the messages between a program and the collector (docs/WIRE.md). A
 * SOCK_SEQPACKET connection carries one hello, with the arena's memfd, and one
 * reply, with the liveness page's memfd; then both close it. A program that
 * cannot create an arena sends a regret instead, which has no reply. A forked
 * child may send a WIRE_CHILD over a connection of its own, which has no reply
 * either. Numbers are in host byte order, since both ends are on one machine.
 *
 * WIRE_VERSION covers these messages, ring_shm.h, function_shm.h, site_shm.h,
 * record.def and record_ext.h. Add one for each change of a size, an offset or
 * a meaning in these files. There is no negotiation: a collector answers
 * another version with WIRE_REFUSED_VERSION, and the program runs unrecorded.
 * So magic and version stay the first fields of each message.
 */
#ifndef PERFREC_SHARED_WIRE_H
#define PERFREC_SHARED_WIRE_H

#include <stdint.h>

#define WIRE_VERSION 28u
#define WIRE_HELLO_MAGIC 0x6f6c6c6568637270ULL /* "prchello" */
#define WIRE_REGRET_MAGIC 0x7465726765726370ULL /* "pcregret" */
#define WIRE_CHILD_MAGIC 0x646c696863637270ULL /* "prcchild" */
#define WIRE_REPLY_MAGIC 0x796c706572637270ULL /* "prcreply" */

/* The longest delay of a program's start, whatever the collector does. If
 * connecting, hello and reply take longer, the program is not recorded. If
 * control is still CONTROL_HOLD then, the program runs and is recorded
 * (PAGE_UNHELD). PERFREC_DEADLINE_MS sets another delay, as `perfrec record`
 * does. */
#define WIRE_DEADLINE_MS 100
#define WIRE_DEADLINE_MS_MAX 60000

/* The descriptors that follow the arena's in a hello, in this order. */
enum wire_fds {
	WIRE_FD_THUNKS = 1 << 0, /* memfd of thunk_area_bytes()
				  * (function_shm.h), sealed as the arena;
				  * mapped to execute */
	WIRE_FD_MEMORY = 1 << 1, /* /proc/self/mem, read and write */
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
	uint32_t entry_build; /* 1: a module is one (entry_build.h); its calls
			       * are recorded only after the reply */
	/* The sending thread's use of the machine before recording, by
	 * getrusage(). The collector subtracts it. */
	uint64_t user_ns, system_ns;
	uint64_t minor_faults, major_faults;
	int32_t tid; /* of the sender, in the program's pid namespace */
	uint32_t rank; /* the program's rank in a parallel job (ENV_RANKS) plus
			* 1; 0: none */
	uint32_t functions; /* function numbers of the arena */
	uint32_t pad;
};

/*
 * From a forked child whose inherited text may be patched (page_shm.patched).
 * One descriptor comes with it: the child's /proc/self/mem, read and write. The
 * child does not wait.
 */
struct wire_child {
	uint64_t magic;
	uint32_t version;
	int32_t pid; /* in its own pid namespace */
	uint64_t device, inode; /* of the arena's memfd */
};

/* The step that failed when a program created its arena. */
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
	WIRE_REFUSED_ARENA = 2, /* the hello, the peer, or the arena's size,
				 * seals or layout are invalid */
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

/* The collector's requests to the program besides records. */
enum wire_asks {
	WIRE_ASK_END = 1 << 0, /* each thread writes its use of the machine when
				* it ends: slot_shm.end_told */
	WIRE_ASK_LOOK = 1 << 1, /* let the collector read the program where Yama
				 * forbids it: PR_SET_PTRACER */
	WIRE_ASK_BIND = 1 << 2, /* bind all calls now (--calls-to), then set
				 * PAGE_BOUND */
	WIRE_ASK_OPENING = 1 << 3, /* dlopen() waits before it runs code of new
				    * modules: page_shm.opening (--patch) */
	WIRE_ASK_SYNC = 1 << 4, /* record contended calls of locks */
};
#define WIRE_ASKS_ALL                                                      \
	(WIRE_ASK_END | WIRE_ASK_LOOK | WIRE_ASK_BIND | WIRE_ASK_OPENING | \
	 WIRE_ASK_SYNC)

/* Limits of the fields of a reply; the shim rejects a reply beyond them. */
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
	uint32_t depth; /* record spans inside fewer than this; 0: all */
	uint32_t alloc; /* enum wire_alloc */
	uint64_t alloc_period; /* mean bytes between samples; EXACT: between
				* blocks with a stack, 0: no stacks */
	uint32_t cpu_hz; /* samples per second of each thread's CPU time, by
			  * signals in the program; 0: none */
	uint32_t stack_bytes; /* most bytes of a stack to copy for a sample */
	uint64_t block_ns; /* WIRE_ON_FULL_BLOCK: if the collector reads no cell
			    * of the process for this long, threads stop waiting
			    * for room until it reads one */
	uint32_t asks; /* enum wire_asks */
	uint32_t pad;
};

_Static_assert(sizeof(struct wire_hello) == 96, "wire");
_Static_assert(sizeof(struct wire_child) == 32, "wire");
_Static_assert(sizeof(struct wire_regret) == 16, "wire");
_Static_assert(sizeof(struct wire_reply) == 64, "wire");

#endif
