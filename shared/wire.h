/* SPDX-License-Identifier: Apache-2.0
 *
 * wire - the hello: all that ever crosses the collector's socket from a
 * traced program. A SOCK_SEQPACKET connection carries exactly one hello
 * (with the arena's memfd) and one reply (with the liveness memfd), and is
 * closed. A program that cannot make an arena sends a regret instead, which has
 * no answer. Host byte order: both ends are one machine.
 *
 * WIRE_VERSION covers these messages, ring_shm.h and record.def. There is no
 * negotiation: a collector answers another version with WIRE_REFUSED_VERSION
 * and the program runs unrecorded.
 */
#ifndef PERFREC_SHARED_WIRE_H
#define PERFREC_SHARED_WIRE_H

#include <stdint.h>

#define WIRE_VERSION 8u
#define WIRE_HELLO_MAGIC 0x6f6c6c6568637270ULL /* "prchello" */
#define WIRE_REGRET_MAGIC 0x7465726765726370ULL /* "pcregret" */
#define WIRE_REPLY_MAGIC 0x796c706572637270ULL /* "prcreply" */

/* The whole of the hello must take less than this, or recording is off; unless
 * PERFREC_DEADLINE_MS grants more, as `perfrec record` does. */
#define WIRE_DEADLINE_MS 100
#define WIRE_DEADLINE_MS_MAX 60000
/* While control is CONTROL_HOLD (filters), it may take this. */
#define WIRE_HOLD_DEADLINE_MS 5000

struct wire_hello {
	uint64_t magic;
	uint32_t version;
	int32_t pid; /* as the program sees itself */
	uint32_t slot_count;
	uint32_t ring_cells;
	uint64_t arena_bytes;
	uint32_t tsc_allowed; /* 0: prctl(PR_SET_TSC) forbids rdtsc */
	uint32_t instrumented; /* 1: something here can call a hook */
};

/* Why there is no hello. */
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
	WIRE_REFUSED_ARENA = 2, /* size, seals or layout are not as told */
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

struct wire_reply {
	uint64_t magic;
	uint32_t version;
	uint32_t status; /* enum wire_status */
	uint32_t clock; /* enum wire_clock */
	uint32_t on_full; /* enum wire_on_full */
	uint32_t depth; /* record spans nested less deep; 0: all */
	uint32_t alloc; /* enum wire_alloc */
	uint64_t alloc_period; /* mean bytes between samples; EXACT: between
				* those whose stack is told, 0: none */
	uint32_t cpu_hz; /* sample CPU time by signals, in the program, so many
			  * times a second of each thread; 0: do not */
	uint32_t stack_bytes; /* the most to copy of a stack for a sample */
};

_Static_assert(sizeof(struct wire_hello) == 40, "wire");
_Static_assert(sizeof(struct wire_regret) == 16, "wire");
_Static_assert(sizeof(struct wire_reply) == 48, "wire");

#endif
