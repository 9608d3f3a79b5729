/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/record/liveness.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "shared/atomic.h"
#include "shared/futex.h"
#include "shared/ring_shm.h"

#ifndef F_SEAL_FUTURE_WRITE
#define F_SEAL_FUTURE_WRITE 0x0010
#endif

/* The start waits this long, at most, for the parked thread. */
#define PARK_LOOKS 10000
#define PARK_LOOK_US 100

struct liveness {
	int fd;
	struct liveness_shm *shm;
	pthread_t parked;
	bool has_parked;
};

_Static_assert(sizeof(pthread_mutex_t) <=
		       offsetof(struct liveness_shm, heartbeat),
	       "the mutex fits in front of the heartbeat");

/* The C library puts the lock word first, and the mutex on the thread's list of
 * robust futexes, which the kernel walks when the thread dies. */
static int hold_owner(struct liveness_shm *shm)
{
	pthread_mutex_t *mutex = (pthread_mutex_t *)shm;
	pthread_mutexattr_t attributes;
	int err;

	pthread_mutexattr_init(&attributes);
	pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
	pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
	err = pthread_mutex_init(mutex, &attributes);
	pthread_mutexattr_destroy(&attributes);
	if (!err)
		err = pthread_mutex_lock(mutex);
	if (err)
		return -err;
	/* Without this bit the kernel would not wake waiters. Because of the
	 * bit the mutex is never unlocked: that would need a waiter to take it.
	 * order: sc, OWNER: set before any program maps the page */
	atom_or_sc(&shm->owner, FUTEX_WAITERS);
	return 0;
}

/* Waits until the collector ends: programs check that it waits. A wake, a
 * signal or SIGCONT must not end the wait. */
static void *park(void *shm)
{
	struct liveness_shm *page = shm;

	pthread_setname_np(pthread_self(), "perfrec-parked");
	/* order: acq, CLOSED: set before the wake that ends this */
	while (!atom_load_acq(&page->closed))
		syscall(SYS_futex, &page->parked, FUTEX_OP_WAIT, 0, NULL, NULL,
			0);
	return NULL;
}

static int map_and_seal(struct liveness *liveness)
{
	void *address;

	if (ftruncate(liveness->fd, LIVENESS_BYTES) < 0)
		return -errno;
	address = mmap(NULL, LIVENESS_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED,
		       liveness->fd, 0);
	if (address == MAP_FAILED)
		return -errno;
	liveness->shm = address;
	if (fcntl(liveness->fd, F_ADD_SEALS,
		  F_SEAL_FUTURE_WRITE | F_SEAL_SHRINK | F_SEAL_GROW |
			  F_SEAL_SEAL) < 0)
		return -errno;
	return hold_owner(liveness->shm);
}

/* Returns true if a thread waits on the futex @word: asks as programs do. */
static bool is_parked(const uint32_t *word)
{
	return syscall(SYS_futex, word, FUTEX_OP_REQUEUE, 0, 1, word) > 0;
}

/* Starts the parked thread, and waits until it is parked: on a busy machine a
 * program would fill a ring before, and take the collector for stopped. */
static int start_parked(struct liveness *liveness)
{
	sigset_t all, before;
	int err;

	/* Only the main thread gets signals. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	err = pthread_create(&liveness->parked, NULL, park, liveness->shm);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	liveness->has_parked = !err;
	for (int i = 0;
	     !err && i < PARK_LOOKS && !is_parked(&liveness->shm->parked); i++)
		usleep(PARK_LOOK_US);
	return -err;
}

int liveness_new(struct liveness **out)
{
	struct liveness *liveness = calloc(1, sizeof(*liveness));
	int err;

	if (!liveness)
		return -ENOMEM;
	liveness->fd = memfd_create("perfrec-liveness",
				    MFD_CLOEXEC | MFD_ALLOW_SEALING);
	err = liveness->fd < 0 ? -errno : map_and_seal(liveness);
	if (!err)
		err = start_parked(liveness);
	if (err) {
		liveness_free(&liveness);
		return err;
	}
	*out = liveness;
	return 0;
}

void liveness_free(struct liveness **liveness)
{
	struct liveness *old = *liveness;

	*liveness = NULL;
	if (!old)
		return;
	if (old->shm) {
		/* order: sc, CLOSED: set before waiters wake and look at it */
		atom_store_sc(&old->shm->closed, 1);
		syscall(SYS_futex, &old->shm->owner, FUTEX_OP_WAKE, INT_MAX,
			NULL, NULL, 0);
		/* The page stays mapped: the robust list leads into it. */
	}
	if (old->has_parked) {
		/* order: sc, CLOSED: changed so that the wait returns */
		atom_store_sc(&old->shm->parked, 1);
		syscall(SYS_futex, &old->shm->parked, FUTEX_OP_WAKE, INT_MAX,
			NULL, NULL, 0);
		pthread_join(old->parked, NULL);
	}
	if (old->fd >= 0)
		close(old->fd);
	free(old);
}

int liveness_fd(const struct liveness *liveness)
{
	return liveness->fd;
}

void liveness_beat(struct liveness *liveness)
{
	/* relaxed: a counter that guards nothing */
	atom_add_rlx(&liveness->shm->heartbeat, 1);
}
