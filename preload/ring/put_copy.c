/* SPDX-License-Identifier: Apache-2.0
 *
 * put_copy - copies a run into the ring and commits it, in one restartable
 * sequence (ring_x86_64.S) or, if that does not apply, with signals blocked.
 */
#include <string.h>
#include <sys/uio.h>

#include "preload/core/gate.h"
#include "preload/core/sys.h"
#include "preload/core/trap_flag.h"
#include "preload/ring/put_inner.h"
#include "shared/record_ext.h"

_Static_assert(offsetof(struct put_run, cells) == RUN_CELLS, "asm");
_Static_assert(offsetof(struct put_run, count) == RUN_COUNT, "asm");
_Static_assert(offsetof(struct put_run, behind) == RUN_BEHIND, "asm");
_Static_assert(offsetof(struct put_run, behind_cells) == RUN_BEHIND_CELLS,
	       "asm");
_Static_assert(offsetof(struct put_run, stamp) == RUN_STAMP, "asm");
_Static_assert(RECORD_EXT == RECORD_KIND_EXT && EXT_PAD == 0, "asm");

#if !defined(__x86_64__)
bool put_cell(uint64_t word, uint64_t limit)
{
	(void)word;
	(void)limit;
	return false;
}

bool put_cells(const struct put_run *run, uint64_t limit)
{
	(void)run;
	(void)limit;
	return false;
}

bool put_cells_paused(const struct put_run *run, uint64_t limit)
{
	return put_cells(run, limit);
}
#endif

#define READ_PAGE 4096
#define READ_PAGES (EXT_CELLS_MAX * sizeof(struct record) / READ_PAGE + 2)

/* Lets the kernel copy from memory of this process that may be unmapped, up to
 * its end. Returns the number of whole cells copied. */
static uint64_t read_self(void *to, const void *from, uint64_t cells)
{
	struct iovec local = { to, cells * sizeof(struct record) };
	struct iovec remote[READ_PAGES];
	uintptr_t at = (uintptr_t)from, end = at + local.iov_len;
	unsigned int count = 0;
	long bytes;

	/* The kernel stops before the first unreadable element. */
	while (at < end && count < READ_PAGES) {
		uintptr_t next = MIN(ALIGN_UP(at + 1, READ_PAGE), end);

		remote[count++] = (struct iovec){ (void *)at, next - at };
		at = next;
	}
	bytes = sys(SYS_process_vm_readv, g_shim.pid, &local, 1, remote, count,
		    0);
	return bytes > 0 ? (uint64_t)bytes / sizeof(struct record) : 0;
}

static uint64_t read_behind(const struct put_run *run, struct record *to)
{
	uint64_t cells = g_shim.no_syscalls
				 ? 0
				 : read_self(to + run->count, run->behind,
					     run->behind_cells);

	run->cut(to, cells);
	return cells;
}

/* Put @run by copying it. No handler of this thread may run meanwhile. */
static bool put_copy(const struct put_run *run, enum put_limit which)
{
	struct slot_shm *slot = t_thread.slot;
	/* relaxed: this thread's own */
	uint64_t head = atom_load_rlx(&slot->head);
	uint64_t cells = run_cells(run);
	uint64_t pad = put_cells_at(head, cells) - cells;
	struct record *to = &t_thread.cells[(head + pad) & t_thread.mask];
	uint64_t clock;

	if (head + pad + cells > put_limit_now(which) || !put_same_process())
		return false;
	memcpy(to, run->cells, run->count * sizeof(*to));
	if (run->cut)
		cells = run->count + read_behind(run, to);
	else if (run->behind_cells)
		memcpy(to + run->count, run->behind,
		       run->behind_cells * sizeof(*to));
	clock = g_shim.clock();
	if (pad)
		t_thread.cells[head & t_thread.mask] = (struct record){
			record_ext_word(EXT_PAD, (uint32_t)pad - 1, 0, 0), clock
		};
	to[0].clock = to[run->stamp].clock = clock;
	/* order: rel, HEAD: the cells are whole below the new head */
	atom_store_rel(&slot->head, head + pad + cells);
	return true;
}

bool put_run_now(const struct put_run *run, enum put_limit which)
{
	uint64_t limit = which == LIMIT_BEGIN ? T_LIMIT_BEGIN : T_LIMIT_END;
	uint64_t signals, trap;
	bool put;

	if (!run->cut && !g_shim.general && put_cells_paused(run, limit))
		return true;
	/* relaxed: this thread's own */
	if (atom_load_rlx(&t_thread.slot->head) >= put_limit(which))
		return false;
	signals = sys_block_signals();
	trap = trap_flag_clear();
	put = put_copy(run, which);
	trap_flag_set(trap);
	sys_restore_signals(signals);
	return put;
}
