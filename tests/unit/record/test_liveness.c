/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/record/liveness.h"

#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "shared/futex.h"
#include "shared/ring_shm.h"
#include "tests/suite.h"

#define COLLECTORS 50 /* TSan takes up to 64 mutexes at once */

/* Programs take a collector without a parked thread for stopped, and drop
 * records (preload/ring/wait.c). On a busy machine the thread may start late. */
TEST(liveness_has_a_parked_thread_from_the_start)
{
	for (int i = 0; i < COLLECTORS; i++) {
		struct liveness *liveness;
		struct liveness_shm *page;
		long parked;

		ck_assert_int_eq(liveness_new(&liveness), 0);
		page = mmap(NULL, LIVENESS_BYTES, PROT_READ, MAP_SHARED,
			    liveness_fd(liveness), 0);
		ck_assert(page != MAP_FAILED);
		parked = syscall(SYS_futex, &page->parked, FUTEX_OP_REQUEUE, 0,
				 1, &page->parked);
		munmap(page, LIVENESS_BYTES);
		liveness_free(&liveness);
		ck_assert_int_eq(parked, 1);
	}
}
