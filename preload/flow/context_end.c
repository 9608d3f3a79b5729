/* SPDX-License-Identifier: Apache-2.0
 *
 * context_end - records when the function of a context returns.
 *
 * glibc's makecontext() makes the function return to code in libc, which is the
 * same for all contexts. That code finds uc_link by a register that functions
 * preserve: rbx has its address on x86-64 (__start_context.S), x19 is uc_link
 * on arm64 (__startcontext in setcontext.S). The shim's trampoline takes the
 * place of that code: it records the return, then jumps to libc's code with the
 * same stack pointer and register. A context with another layout keeps its
 * return address, and a record says so, because the collector then has to guess
 * the end.
 *
 * A shadow stack holds the return address of makecontext(), so contexts of a
 * program with a shadow stack keep theirs.
 *
 * The address is replaced even while recording is off, because recording may
 * start before the context runs. A preloaded library cannot be unloaded, so the
 * trampoline stays mapped.
 */
#include "preload/flow/context_end.h"

#include <stdbool.h>
#include <stddef.h>

#include "preload/cpu/cpu_timer.h"
#include "preload/flow/interpose_jump.h"

/* The code in libc that such functions return to; 0: unknown, or it must not be
 * replaced. Set before threads exist. */
extern uintptr_t g_context_end;
uintptr_t g_context_end;

/* A word of the program's memory, of whatever type it is there. */
typedef uintptr_t __attribute__((may_alias)) word;

#if defined(__x86_64__)
static bool is_on_stack(const ucontext_t *context, uintptr_t address)
{
	uintptr_t from = (uintptr_t)context->uc_stack.ss_sp;

	return address % sizeof(uintptr_t) == 0 && address >= from &&
	       address - from < context->uc_stack.ss_size;
}

static bool has_shadow_stack(void)
{
	uintptr_t ssp = 0;

	/* Without a shadow stack the instruction is a nop. */
	__asm__ volatile("rdsspq %0" : "+r"(ssp));
	return ssp;
}

/* Returns the location of @context's return address; NULL if the layout is not
 * that of glibc. */
static word *return_address(ucontext_t *context)
{
	const greg_t *registers = context->uc_mcontext.gregs;
	uintptr_t rsp = (uintptr_t)registers[REG_RSP];
	uintptr_t rbx = (uintptr_t)registers[REG_RBX];

	if (!is_on_stack(context, rsp) || !is_on_stack(context, rbx) ||
	    *(word *)rbx != (uintptr_t)context->uc_link)
		return NULL;
	return (word *)rsp;
}
#else
/* Arm calls it a guarded control stack. */
static bool has_shadow_stack(void)
{
	register uint64_t feature __asm__("x16") = 1;

	/* chkfeat x16: clears the bit if the feature is on; a nop on CPUs
	 * without it. */
	__asm__ volatile("hint #40" : "+r"(feature));
	return !feature;
}

static word *return_address(ucontext_t *context)
{
	mcontext_t *registers = &context->uc_mcontext;

	if (registers->regs[19] != (uintptr_t)context->uc_link)
		return NULL;
	return (word *)&registers->regs[30];
}
#endif

/* Makes the function of @context return to the trampoline. Returns false if the
 * layout is unknown. */
static bool redirect_return(ucontext_t *context)
{
	word *address;

	if (!g_context_end)
		return false;
	address = return_address(context);
	if (!address || *address != g_context_end)
		return false;
	*address = (uintptr_t)context_end_trampoline;
	return true;
}

void context_end_made(ucontext_t *context, uintptr_t sp)
{
	bool told = redirect_return(context);

	cpu_timer_spare(context);
	interpose_jump_put(FLOW_CONTEXT_MAKE, (uintptr_t)context, sp);
	if (!told)
		interpose_jump_put(FLOW_CONTEXT_LINK,
				   (uintptr_t)context->uc_link, sp);
}

void context_end_reached(uintptr_t link, uintptr_t sp)
{
	interpose_jump_put(FLOW_CONTEXT_END, link, sp);
	cpu_timer_switch((const ucontext_t *)link);
}

static void never_runs(void)
{
}

/* Learns the return address of libc's contexts from a context that never
 * runs. */
static void learn_return(void)
{
	void (*make)(ucontext_t *, void (*)(void), int, ...) = (void (*)(
		ucontext_t *, void (*)(void), int, ...))g_real_makecontext;
	uint64_t stack[64];
	ucontext_t context;
	word *address;

	if (!make || has_shadow_stack())
		return;
	context.uc_stack.ss_sp = stack;
	context.uc_stack.ss_size = sizeof(stack);
	context.uc_link = &context;
	make(&context, never_runs, 0);
	address = return_address(&context);
	if (address)
		g_context_end = *address;
}

__attribute__((constructor)) static void constructor(void)
{
	interpose_jump_find();
	learn_return();
}
