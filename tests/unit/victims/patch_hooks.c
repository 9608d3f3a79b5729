/* SPDX-License-Identifier: Apache-2.0
 *
 * patch_hooks - a library with the counting hooks of patch_victim.c, and the
 * shim's other functions for thunks.
 */
#include <linux/membarrier.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "shared/atomic.h"
#include "tests/unit/victims/patch_control.h"

#define EXPORT __attribute__((visibility("default")))

EXPORT void __cyg_profile_func_enter(void *function, void *site);
EXPORT void __cyg_profile_func_exit(void *function, void *site);
EXPORT struct control *hooks_attach(int thread);
EXPORT struct control *hooks_begin(const void *text);
void general(void), entry_enter(void), entry_exit(void),
	entry_exit_pushed(void);

static struct control *g_control;
static __thread uint32_t t_epoch __attribute__((tls_model("initial-exec"))) = 1;
static __thread struct count_cell *t_counts
	__attribute__((tls_model("initial-exec")));
static uint32_t g_count_epoch = 0x100;
uint64_t *g_enters, *g_exits;

__asm__(".text\n"
	".hidden general, entry_enter, entry_exit, entry_exit_pushed\n"
	".macro count what\n"
	"	endbr64\n"
	"	movq	\\what(%rip), %r11\n"
	"	lock incq (%r11)\n"
	".endm\n"
	"general: ret\n"
	"entry_enter: count g_enters\n"
	"	ret\n"
	"entry_exit: count g_exits\n"
	"	ret\n"
	"entry_exit_pushed: count g_exits\n"
	"	popq	%r11\n"
	"	ret\n");

static struct witness *witness_of(void *function)
{
	uint64_t at = (uintptr_t)function;

	for (uint64_t i = at * 0x9e3779b97f4a7c15u >> 40;; i++) {
		struct witness *it = &g_control->witness[i % WITNESS_ENTRIES];

		/* relaxed, both: each entry belongs to one function */
		if (atom_load_rlx(&it->function) == at ||
		    atom_cas_sc(&it->function, 0, at) ||
		    atom_load_rlx(&it->function) == at)
			return it;
	}
}

void __cyg_profile_func_enter(void *function, void *site)
{
	(void)site;
	if (g_control)
		/* relaxed: a count */
		atom_add_rlx(&witness_of(function)->enters, 1);
}

void __cyg_profile_func_exit(void *function, void *site)
{
	(void)site;
	if (g_control)
		/* relaxed: a count */
		atom_add_rlx(&witness_of(function)->exits, 1);
}

static int64_t from_fs(const void *of_thread)
{
	uint64_t fs;

	__asm__("movq %%fs:0, %0" : "=r"(fs));
	return (int64_t)((uintptr_t)of_thread - fs);
}

/* Far above a program at the start of the address space. */
static uintptr_t map_thunks(const void *text)
{
	uintptr_t at = (uintptr_t)text & -4096ull;

	at = at > 1ull << 32
		     ? at - (16 << 20) - thunk_area_bytes(FUNCTIONS_USUAL)
		     : at + (1 << 30);
	return mmap((void *)at, thunk_area_bytes(FUNCTIONS_USUAL),
		    PROT_READ | PROT_EXEC, MAP_SHARED | MAP_FIXED_NOREPLACE,
		    THUNKS_FD, 0) == MAP_FAILED
		       ? 0
		       : at;
}

struct control *hooks_begin(const void *text)
{
	uintptr_t at = map_thunks(text);
	struct control *control =
		mmap(NULL, sizeof(*control), PROT_READ | PROT_WRITE, MAP_SHARED,
		     CONTROL_FD, 0);

	if (control == MAP_FAILED || !at)
		return NULL;
	syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED, 0, 0);
	g_enters = &control->thunk_enters;
	g_exits = &control->thunk_exits;
	control->shim = (struct thunk_shim){
		.map = { at },
		.epoch = from_fs(&t_epoch),
		.counts = from_fs(&t_counts),
		.count_epoch = (uintptr_t)&g_count_epoch,
		.page = {
			.enter = (uintptr_t)__cyg_profile_func_enter,
			.exit = (uintptr_t)__cyg_profile_func_exit,
			.enter_general = (uintptr_t)general,
			.entry_enter = (uintptr_t)entry_enter,
			.entry_exit = (uintptr_t)entry_exit,
			.entry_enter_general = (uintptr_t)general,
			.entry_exit_pushed = (uintptr_t)entry_exit_pushed,
		},
	};
	g_control = control;
	return control;
}

struct control *hooks_attach(int thread)
{
	t_counts = g_control->cells[thread];
	t_epoch = g_count_epoch;
	return g_control;
}
