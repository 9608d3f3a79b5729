/* SPDX-License-Identifier: Apache-2.0
 *
 * interpose_jump - records where control moves without call or return. FLOW
 * records (shared/record.h) report setjmp and longjmp, the landing pads of
 * unwinding, and saves of and switches to ucontexts (context_end.c reports
 * their creation and end). Without these records replay could only guess which
 * functions are still open.
 *
 * A personality routine calls _Unwind_SetIP() before the unwinder enters a
 * function: in C++ to catch an exception or to destroy objects, in Rust to
 * catch, in a cancelled thread to clean up. A library with its own unwinder
 * hides that call, but its __cxa_begin_catch() is still visible.
 *
 * This code runs wherever the program calls these functions, even in signal
 * handlers. It takes no locks, allocates no memory and keeps errno. It neither
 * starts recording nor attaches a thread.
 */
#include "preload/flow/interpose_jump.h"

#include <setjmp.h>
#include <stdbool.h>

#include "preload/alloc/alloc.h"
#include "preload/core/find_next.h"
#include "preload/core/gate.h"
#include "preload/cpu/cpu_timer.h"
#include "preload/flow/interpose_jump_find.h"
#include "preload/ring/depth.h"
#include "preload/ring/put.h"
#include "shared/atomic.h"
#include "shared/compiler.h"

/* Larger than any stack: a larger distance means another stack. */
#define LANDING_BYTES_MAX (1UL << 32)

void interpose_jump_find(void)
{
#define FIND(function, record) g_real_##function = find_next(#function);
	JUMP_FUNCTIONS(FIND)
#undef FIND
}

/* Returns true if this thread is recording. False in a vfork() child, and in a
 * forked child without a slot. */
static bool is_recording(void)
{
	/* relaxed: the page is private; only fork and this process change it */
	uint64_t gate = atom_load_rlx(&g_gate.word);

	return gate >= GATE_EPOCH_STEP && thread_has_slot(gate);
}

void interpose_jump_put(enum record_flow flow, uintptr_t address, uintptr_t sp)
{
	if (flow == FLOW_LONGJMP || flow == FLOW_CATCH)
		alloc_jumped(sp + JUMP_HOOK_DEPTH);
	if (!is_recording())
		return;
	if (unlikely(g_shim.depth))
		depth_tell();
	put_record(RECORD_FLOW, record_flow_payload(flow, address), sp);
	if (flow == FLOW_LONGJMP || flow == FLOW_CATCH)
		put_jumped(sp);
	if (unlikely(g_shim.depth))
		depth_follow(flow, address, sp);
}

/* Returns the stack pointer that a hook would have where longjmp(@env) arrives.
 * The C library mangles the one in the jmp_buf. */
static uintptr_t jump_target(const void *env)
{
	const uint64_t *saved = env;
#if defined(__x86_64__)
	uint64_t guard, hidden = saved[6]; /* JB_RSP */

	__asm__("movq %%fs:0x30, %0" : "=r"(guard));
	return ((hidden >> 17 | hidden << 47) ^ guard) - JUMP_HOOK_DEPTH;
#else
	return (saved[13] /* JB_SP */ ^ interpose_jump_guard()) -
	       JUMP_HOOK_DEPTH;
#endif
}

void interpose_jump_set(const void *first, const void *second, uintptr_t sp)
{
	(void)second;
	interpose_jump_put(FLOW_SETJMP, (uintptr_t)first, sp);
}

void interpose_jump_long(const void *first, const void *second, uintptr_t sp)
{
	(void)second;
	(void)sp;
	interpose_jump_put(FLOW_LONGJMP, (uintptr_t)first, jump_target(first));
}

void interpose_jump_save_context(const void *first, const void *second,
				 uintptr_t sp)
{
	(void)second;
	interpose_jump_put(FLOW_CONTEXT_SAVE, (uintptr_t)first, sp);
}

void interpose_jump_switch_context(const void *first, const void *second,
				   uintptr_t sp)
{
	(void)second;
	interpose_jump_put(FLOW_CONTEXT_SWITCH, (uintptr_t)first, sp);
	cpu_timer_switch(first);
}

void interpose_jump_swap_context(const void *first, const void *second,
				 uintptr_t sp)
{
	interpose_jump_put(FLOW_CONTEXT_SAVE, (uintptr_t)first, sp);
	interpose_jump_put(FLOW_CONTEXT_SWITCH, (uintptr_t)second, sp);
	cpu_timer_switch(second);
}

/* --- unwinding --------------------------------------------------------------
 * A plugin may have a private C++ runtime, so each caller's own runtime must be
 * found (interpose_jump_find.h).
 */

/* The stack pointer at the landing pad that was recorded last, so that
 * __cxa_begin_catch() does not record the same landing again; 0: none. */
static __thread uintptr_t t_landing;

void *interpose_jump_begin_catch(const void *return_address, uintptr_t sp)
{
	static __thread struct jump_cache t_cache;
	static const struct jump_wanted wanted = {
		.beside = "__gxx_personality_v0",
		.names = { "__cxa_begin_catch" },
	};
	void *functions[JUMP_FIND_MAX];

	if (sp != t_landing)
		interpose_jump_put(FLOW_CATCH, 0, sp);
	t_landing = 0;
	jump_find(&t_cache, &wanted, return_address, functions);
	return functions[0];
}

/* Records a landing at stack pointer @landing. The unwinder runs at @sp, on the
 * stack that it unwinds or on the alternate stack of a signal handler. */
static void put_landing(uintptr_t landing, uintptr_t sp)
{
	uintptr_t bytes = landing - sp;

	interpose_jump_put(FLOW_CATCH, bytes < LANDING_BYTES_MAX ? bytes : 0,
			   landing);
	t_landing = landing;
}

void *interpose_jump_set_ip(const void *return_address, const void *context,
			    uintptr_t sp)
{
	static __thread struct jump_cache t_cache;
	static const struct jump_wanted wanted = {
		.beside = "_Unwind_SetGR",
		.names = { "_Unwind_SetIP", "_Unwind_GetCFA" },
	};
	void *functions[JUMP_FIND_MAX];
	uintptr_t (*get_cfa)(const void *);

	jump_find(&t_cache, &wanted, return_address, functions);
	get_cfa = (uintptr_t(*)(const void *))functions[1];
	if (get_cfa && is_recording())
		put_landing(get_cfa(context) - JUMP_HOOK_DEPTH, sp);
	return functions[0];
}

void interpose_jump_thread_left(void)
{
	interpose_jump_put(FLOW_THREAD_LEFT, 0, 0);
}
