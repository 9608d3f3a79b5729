/* SPDX-License-Identifier: Apache-2.0
 *
 * context_end - tells the collector when the function of a context returns.
 *
 * glibc's makecontext() makes the function return to a piece of code in libc,
 * which is the same for all contexts. This code finds uc_link by a register
 * that functions preserve: on x86-64 (__start_context.S) rbx has its address,
 * on arm64
 * (__startcontext in setcontext.S) x19 has it. The shim's trampoline comes
 * first. It records that it was reached, and goes on to libc's code with the
 * stack pointer and that register as they were. A context that looks otherwise
 * is left alone, and a record says so: then the collector has to guess.
 *
 * With a shadow stack the function must return to where makecontext() has said
 * there: such a context is left alone, too.
 *
 * The address is replaced even if nothing is being recorded, as something may
 * be when the context runs. So the shim's code must stay mapped. It does, as
 * nobody can unload a preloaded library.
 */
#include "preload/flow/context_end.h"

#include <stdbool.h>
#include <stddef.h>

#include "preload/cpu/cpu_timer.h"
#include "preload/flow/interpose_jump.h"

/* The code in libc to which such functions return; 0: it is not known, or must
 * not be replaced. Set before there are threads. */
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

	/* Where there is none, the instruction does nothing. */
	__asm__ volatile("rdsspq %0" : "+r"(ssp));
	return ssp;
}

/* Where @context has its return address; NULL if the context is not as it
 * should be.
 */
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

	/* chkfeat x16: clears the bit if it is on; once a hint without use. */
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

/* Make the function of @context return to our trampoline. False if that cannot
 * be. */
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

/* Find out where libc makes a context's function return to, by a context that
 * never runs. The real functions have been found. */
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
