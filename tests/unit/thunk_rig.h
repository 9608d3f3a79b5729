/* SPDX-License-Identifier: Apache-2.0
 *
 * thunk_rig - a thunk area that this process maps like a program, to run its
 * thunks. It includes the thread's counts and the targets of thunks, which note
 * their callers.
 */
#ifndef PERFREC_TESTS_UNIT_THUNK_RIG_H
#define PERFREC_TESTS_UNIT_THUNK_RIG_H

#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "shared/function_shm.h"

#define RIG_SEALS (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL)
#define RIG_EPOCH 0x700u

static __thread uint32_t t_epoch;
static __thread struct count_cell *t_counts;
static uint32_t g_count_epoch = RIG_EPOCH;
static struct count_cell g_cells[FUNCTIONS_USUAL];

/* Calls seen by the routines, and the last r11 and rsp. */
struct rig_seen {
	uint64_t enters, exits, generals;
	uint64_t entry_enters, entry_exits, entry_generals;
	uint64_t r11, rsp, function, site;
};

static struct rig_seen g_rig_seen __attribute__((used));

void rig_enter(void), rig_exit(void), rig_general(void);
void rig_entry_enter(void), rig_entry_exit(void), rig_entry_general(void);
void rig_entry_exit_pushed(void);
void rig_end(void); /* behind all routines */

/* The routines keep all registers, like those of the shim. */
__asm__(".text\n"
	".macro rig_note count, returns=0\n"
	"	.cfi_startproc\n"
	".if \\returns\n"
	"	.cfi_adjust_cfa_offset 8\n"
	".endif\n"
	"	endbr64\n"
	"	movq	%r11, g_rig_seen+48(%rip)\n"
	"	movq	%rsp, g_rig_seen+56(%rip)\n"
	"	incq	g_rig_seen+8*\\count(%rip)\n"
	".if \\returns\n"
	"	popq	%r11\n"
	"	.cfi_adjust_cfa_offset -8\n"
	".endif\n"
	".endm\n"
	".macro rig_return\n"
	"	ret\n"
	"	.cfi_endproc\n"
	".endm\n"
	"rig_enter: rig_note 0\n"
	"	movq	%rdi, g_rig_seen+64(%rip)\n"
	"	movq	%rsi, g_rig_seen+72(%rip)\n"
	"	rig_return\n"
	"rig_exit: rig_note 1\n"
	"	movq	%rdi, g_rig_seen+64(%rip)\n"
	"	movq	%rsi, g_rig_seen+72(%rip)\n"
	"	rig_return\n"
	"rig_general: rig_note 2\n	rig_return\n"
	"rig_entry_enter: rig_note 3\n	rig_return\n"
	"rig_entry_exit: rig_note 4\n	rig_return\n"
	"rig_entry_exit_pushed: rig_note 4, 1\n	rig_return\n"
	"rig_entry_general: rig_note 5\n	rig_return\n"
	"rig_end:\n"
	".previous\n");

static inline int64_t rig_from_fs(const void *of_thread)
{
	uint64_t fs;

	__asm__("movq %%fs:0, %0" : "=r"(fs));
	return (int64_t)((uintptr_t)of_thread - fs);
}

static inline struct thunk_shim rig_shim(void)
{
	return (struct thunk_shim){
		.epoch = rig_from_fs(&t_epoch),
		.counts = rig_from_fs(&t_counts),
		.count_epoch = (uintptr_t)&g_count_epoch,
		.page = {
			.enter = (uintptr_t)rig_enter,
			.exit = (uintptr_t)rig_exit,
			.enter_general = (uintptr_t)rig_general,
			.entry_enter = (uintptr_t)rig_entry_enter,
			.entry_exit = (uintptr_t)rig_entry_exit,
			.entry_enter_general = (uintptr_t)rig_entry_general,
			.entry_exit_pushed = (uintptr_t)rig_entry_exit_pushed,
		},
	};
}

static inline void rig_reset(void)
{
	memset(g_cells, 0, sizeof(g_cells));
	memset(&g_rig_seen, 0, sizeof(g_rig_seen));
	g_count_epoch = t_epoch = RIG_EPOCH;
	t_counts = g_cells;
}

static inline int rig_memfd(uint64_t bytes, int seals)
{
	int fd = memfd_create(THUNK_AREA_NAME, MFD_CLOEXEC | MFD_ALLOW_SEALING);

	if (fd >= 0 && (ftruncate(fd, (off_t)bytes) < 0 ||
			fcntl(fd, F_ADD_SEALS, seals) < 0)) {
		close(fd);
		return -1;
	}
	return fd;
}

static inline uint8_t *rig_map(int fd, const void *near, uint64_t gap)
{
	uintptr_t at =
		((uintptr_t)near - gap - thunk_area_bytes(FUNCTIONS_USUAL)) &
		-4096ull;

	return mmap((void *)at, thunk_area_bytes(FUNCTIONS_USUAL),
		    PROT_READ | PROT_EXEC, MAP_SHARED | MAP_FIXED_NOREPLACE, fd,
		    0);
}

#endif
