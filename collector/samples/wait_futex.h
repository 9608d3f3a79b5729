/* SPDX-License-Identifier: Apache-2.0
 *
 * wait_futex - recognises the object of a futex that a thread waits on: a
 * mutex, a condition and so on, from the operation and the memory around its
 * address. wait_futex.c has the tests. Pure: any thread.
 */
#ifndef PERFREC_COLLECTOR_SAMPLES_WAIT_FUTEX_H
#define PERFREC_COLLECTOR_SAMPLES_WAIT_FUTEX_H

#include <stdbool.h>
#include <stdint.h>

/* Bytes read before and behind a futex. */
#define WAIT_FUTEX_BEFORE 48u
#define WAIT_FUTEX_BEHIND 40u

enum wait_futex_kind {
	WAIT_FUTEX_PLAIN, /* unknown */
	WAIT_FUTEX_MUTEX,
	WAIT_FUTEX_CONDITION,
	WAIT_FUTEX_SEMAPHORE,
	WAIT_FUTEX_RWLOCK,
	WAIT_FUTEX_BARRIER,
	WAIT_FUTEX_JOIN, /* the end of a thread */
};

/* The code that called futex(2). */
enum wait_futex_code {
	WAIT_CODE_UNKNOWN,
	WAIT_CODE_LIBRARY, /* the C library, except syscall() */
	WAIT_CODE_RAW, /* syscall(): the futex is not the C library's */
};

struct wait_futex {
	uint64_t address;
	uint32_t op, value; /* arguments of futex(2) */
	enum wait_futex_code code;
	bool is_task; /* value is the id of a thread of the process */
	bool has_before, has_behind; /* readable parts of around */
	/* Memory from address - WAIT_FUTEX_BEFORE up. */
	uint8_t around[WAIT_FUTEX_BEFORE + WAIT_FUTEX_BEHIND];
};

/* Returns the kind of @futex. Sets *@object to the address of the enclosing
 * object, for example the pthread_cond_t. For PLAIN that is the futex itself.
 */
enum wait_futex_kind wait_futex_tell(const struct wait_futex *futex,
				     uint64_t *object);
/* Returns "mutex", "condition" ...; "futex" for PLAIN. */
const char *wait_futex_name(enum wait_futex_kind kind);

#endif
