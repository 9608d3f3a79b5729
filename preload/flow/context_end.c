/* SPDX-License-Identifier: Apache-2.0
 *
 * context_end - tells the collector when the function of a context returns.
 *
 * glibc's makecontext() lets the function return to a piece of code in libc,
 * the same for all contexts, which finds uc_link in a register that functions
 * preserve: x86-64 (__start_context.S) has its address in rbx, arm64
 * (__startcontext in setcontext.S) has it in x19. Ours comes first, records
 * that it was reached, and goes on there with the stack pointer and that
 * register as they were. What looks otherwise is left alone, and the record
 * of what was made says so: then the collector has to guess.
 *
 * With a shadow stack the function must return to where makecontext() has
 * arranged for it there; that is left alone, too.
 *
 * The address is replaced whether or not anything is being recorded: it may be
 * when the context runs. So our code must stay mapped, and it does, as nobody
 * can unload what was preloaded.
 */
#include "preload/flow/context_end.h"

#include <stdbool.h>
#include <stddef.h>

#include "preload/cpu/cpu_timer.h"
#include "preload/flow/interpose_jump.h"

/* Where libc lets such functions return to; 0: not known, or it must stay. Set
 * before there are threads. */
extern uintptr_t g_context_end;
uintptr_t g_context_end;

/* Memory of the program, whatever it takes it for. */
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

	/* Does nothing where there is none. */
	__asm__ volatile("rdsspq %0" : "+r"(ssp));
	return ssp;
}

/* Where the return address of @context is; NULL: not as it should be. */
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

/* True when the end of @context will come to our trampoline. */
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

/* Finds out where libc lets a context's function return to, by a context that
 * never runs. When the real functions are found. */
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
