/* SPDX-License-Identifier: Apache-2.0
 *
 * wait_futex - what a futex is that a thread waits on: a mutex, a condition and
 * so on, told by the operation and by what lies around its address. See
 * wait_futex.c for how sure that is. Pure: any thread.
 */
#ifndef PERFREC_COLLECTOR_WAITS_WAIT_FUTEX_H
#define PERFREC_COLLECTOR_WAITS_WAIT_FUTEX_H

#include <stdbool.h>
#include <stdint.h>

/* Bytes that are looked at before and behind a futex. */
#define WAIT_FUTEX_BEFORE 48u
#define WAIT_FUTEX_BEHIND 40u

enum wait_futex_kind {
	WAIT_FUTEX_PLAIN, /* nobody knows */
	WAIT_FUTEX_MUTEX,
	WAIT_FUTEX_CONDITION,
	WAIT_FUTEX_SEMAPHORE,
	WAIT_FUTEX_RWLOCK,
	WAIT_FUTEX_BARRIER,
	WAIT_FUTEX_JOIN, /* the end of a thread */
};

/* Whose code has called futex(2). */
enum wait_futex_code {
	WAIT_CODE_UNKNOWN,
	WAIT_CODE_LIBRARY, /* the C library, but for the next */
	WAIT_CODE_RAW, /* syscall(): the futex is not the C library's */
};

struct wait_futex {
	uint64_t address;
	uint32_t op, value; /* as futex(2) was called */
	enum wait_futex_code code;
	bool is_task; /* value is the id of a thread of the process */
	bool has_before, has_behind; /* what could be read of around */
	/* What lies at address - WAIT_FUTEX_BEFORE and up. */
	uint8_t around[WAIT_FUTEX_BEFORE + WAIT_FUTEX_BEHIND];
};

/* What @futex is. *@object becomes the address of the object that it is a part
 * of: of the pthread_cond_t, say. Of a futex that is PLAIN it is the futex's
 * own. */
enum wait_futex_kind wait_futex_tell(const struct wait_futex *futex,
				     uint64_t *object);
/* "mutex", "condition" ...; "futex" for PLAIN. */
const char *wait_futex_name(enum wait_futex_kind kind);

#endif
