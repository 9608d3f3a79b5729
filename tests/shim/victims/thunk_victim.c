/* SPDX-License-Identifier: Apache-2.0
 *
 * thunk_victim - calls thunks like patched text, and counts the calls.
 *
 *   thunk_victim WHAT RESULT [LIBRARY]
 *
 * WHAT:
 *   registers  each kind of thunk, first in a thread without a slot, then until
 *              a chunk of the ring is full: registers must survive, including
 *              the vector registers
 *   record, jump, fork
 *              each thunk under the trap flag; for every k a SIGTRAP handler
 *              acts at the k-th instruction: it calls the same function and
 *              another one, or leaves by siglongjmp, or forks
 *   threads    short threads and children call all thunks
 *   load       loads LIBRARY far from all others: the area must be mapped near
 *              it, and existing mappings must stay
 *
 * RESULT gets the certain and the possible entries of each function number. A
 * call that a jump leaves inside its thunk is a possible entry.
 */
#include "tests/shim/victims/thunk_victim.h"

#include <cpuid.h>
#include <dlfcn.h>
#include <err.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "shared/atomic.h"
#include "shared/function_shm.h"
#include "tests/shim/victims/steps.h"

#define STATE_BYTES 4096
#define STATE_MASK 0xe7u
#define CALLS 4000

/* Declared, so that recording starts. */
void __cyg_profile_func_enter(void *function, void *call_site);
void __cyg_profile_func_exit(void *function, void *call_site);

static uint64_t g_area;
static struct witness {
	uint64_t sure[THUNK_NUMBERS], perhaps[THUNK_NUMBERS];
} * g_witness; /* shared with children */

/* --- calling a thunk ----------------------------------------------------- */

struct registers {
	uint64_t rax, rcx, rdx, rbx, rbp, rsi, rdi;
	uint64_t r8, r9, r10, r11, r12, r13, r14, r15;
};

/* call_thunk(@thunk, @in, @out, @vectors_in, @vectors_out, @mask, @how): loads
 * all registers, calls the thunk like a function, and stores them. @how 0:
 * called at the start of a function, whose return address is at 8(%rsp); 1:
 * jumped to as its ret. */
void call_thunk(uint64_t thunk, const struct registers *in,
		struct registers *out, const void *vectors_in,
		void *vectors_out, uint64_t mask, uint64_t how);
__asm__(".text\n"
	"call_thunk:\n\t"
	"endbr64\n\t"
	"pushq %rbx\n\tpushq %rbp\n\tpushq %r12\n\tpushq %r13\n\t"
	"pushq %r14\n\tpushq %r15\n\t"
	"pushq %rdx\n\t" /* out */
	"pushq %r8\n\t" /* vectors_out */
	"pushq %r9\n\t" /* mask */
	"pushq %rdi\n\t" /* thunk */
	"movq 88(%rsp), %r10\n\t" /* how */
	"movq %r9, %rax\n\txorl %edx, %edx\n\t"
	"xrstor64 (%rcx)\n\t"
	"movq %rsi, %r11\n\t"
	"movq 0(%r11), %rax\n\tmovq 8(%r11), %rcx\n\t"
	"movq 16(%r11), %rdx\n\tmovq 24(%r11), %rbx\n\t"
	"movq 32(%r11), %rbp\n\tmovq 40(%r11), %rsi\n\t"
	"movq 48(%r11), %rdi\n\tmovq 56(%r11), %r8\n\t"
	"movq 64(%r11), %r9\n\t"
	"movq 88(%r11), %r12\n\tmovq 96(%r11), %r13\n\t"
	"movq 104(%r11), %r14\n\tmovq 112(%r11), %r15\n\t"
	"testq %r10, %r10\n\t"
	"movq 72(%r11), %r10\n\t"
	"movq 80(%r11), %r11\n\t"
	"jnz 1f\n\t"
	"call 3f\n\t"
	"jmp 2f\n"
	"1:\tcall 4f\n"
	"2:\tpushq %r11\n\t"
	"movq 32(%rsp), %r11\n\t" /* out */
	"movq %rax, 0(%r11)\n\tmovq %rcx, 8(%r11)\n\t"
	"movq %rdx, 16(%r11)\n\tmovq %rbx, 24(%r11)\n\t"
	"movq %rbp, 32(%r11)\n\tmovq %rsi, 40(%r11)\n\t"
	"movq %rdi, 48(%r11)\n\tmovq %r8, 56(%r11)\n\t"
	"movq %r9, 64(%r11)\n\tmovq %r10, 72(%r11)\n\t"
	"popq 80(%r11)\n\t"
	"movq %r12, 88(%r11)\n\tmovq %r13, 96(%r11)\n\t"
	"movq %r14, 104(%r11)\n\tmovq %r15, 112(%r11)\n\t"
	"movq 8(%rsp), %rax\n\txorl %edx, %edx\n\t"
	"movq 16(%rsp), %rcx\n\t"
	"xsave64 (%rcx)\n\t"
	"fninit\n\t"
	"addq $32, %rsp\n\t"
	"popq %r15\n\tpopq %r14\n\tpopq %r13\n\tpopq %r12\n\t"
	"popq %rbp\n\tpopq %rbx\n\tret\n"
	/* The return of the second function is its thunk. */
	"3:\tcall *8(%rsp)\n\tret\n"
	"4:\tjmp *8(%rsp)\n");

static uint64_t thunk(int number, unsigned int at)
{
	return g_area + THUNK_CODE + (uint64_t)number * THUNK_BYTES + at;
}

typedef void hook(void *function, void *call_site);
typedef void entry(void);

static void count(uint64_t *counter)
{
	/* relaxed: a count */
	atom_add_rlx(counter, 1);
}

static void call(int number, bool exit)
{
	uint64_t at = thunk(number, exit ? THUNK_EXIT : 0);

	if (!thunk_is_entry(number))
		((hook *)at)((void *)THUNK_FUNCTION(number), NULL);
	else /* at the function's start; the return address lies below */
		__asm__ volatile("subq $128, %%rsp\n\t"
				 "call 1f\n\t"
				 "addq $128, %%rsp\n\t"
				 "jmp 2f\n"
				 "1:\tcall *%0\n\tret\n2:"
				 :
				 : "a"(at)
				 : "r11", "cc", "memory");
}

static void pair(int number)
{
	count(&g_witness->sure[number]);
	call(number, false);
	call(number, true);
}

/* --- registers ----------------------------------------------------------- */

static uint64_t g_mask;
static _Alignas(64) char g_before[STATE_BYTES], g_loaded[STATE_BYTES],
	g_after[STATE_BYTES];

static void fill(char *at, size_t bytes)
{
	for (size_t i = 0; i < bytes; i++)
		at[i] = (char)(0x10 + i % 223);
}

/* In the area of xsave. */
static void component(unsigned int i, uint32_t *offset, uint32_t *bytes)
{
	uint32_t c, d;

	if (i == 1) {
		*offset = 160;
		*bytes = 256;
		return;
	}
	__cpuid_count(0xd, i, *bytes, *offset, c, d);
}

/* All components, or only those of SSE and the x87. */
static void fill_vectors(bool wide)
{
	uint32_t low, high, offset, bytes;
	uint64_t in_use;

	memset(g_before, 0, sizeof(g_before));
	memset(g_loaded, 0, sizeof(g_loaded));
	__asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
	g_mask = low & STATE_MASK;
	__asm__ volatile("xsave64 %0"
			 : "=m"(g_before)
			 : "a"((uint32_t)g_mask), "d"(0));
	for (unsigned int i = 1; i < 8; i++)
		if (g_mask >> i & 1) {
			component(i, &offset, &bytes);
			fill(g_before + offset, bytes);
		}
	/* Two long doubles on the x87 stack: TOP is 6, two in use. */
	g_before[3] = 0x30;
	g_before[4] = (char)0xc0;
	for (int i = 0; i < 2; i++) {
		long double value = 1.5L + i;

		memcpy(g_before + 32 + 16 * i, &value, 10);
	}
	in_use = g_mask & (wide ? ~0ul : 3);
	memcpy(g_before + 512, &in_use, 8);
	/* In the form that xrstor and xsave leave. */
	__asm__ volatile("xrstor64 %1\n\txsave64 %0\n\tfninit"
			 : "=m"(g_loaded)
			 : "m"(g_before), "a"((uint32_t)g_mask), "d"(0));
}

static void check_vectors(const char *what)
{
	uint32_t offset, bytes;

	for (unsigned int i = 1; i < 8; i++) {
		if (!(g_mask >> i & 1))
			continue;
		component(i, &offset, &bytes);
		if (memcmp(g_loaded + offset, g_after + offset, bytes))
			errx(1, "%s: component %u of xsave differs", what, i);
	}
	if (memcmp(g_loaded, g_after, 6) ||
	    memcmp(g_loaded + 24, g_after + 24, 4) ||
	    memcmp(g_loaded + 32, g_after + 32, 128))
		errx(1, "%s: the x87 or mxcsr differs", what);
}

static void check_call(int number, unsigned int at, uint64_t how, bool r11)
{
	struct registers in, out;
	char what[64];

	snprintf(what, sizeof(what), "function %d, thunk at %u", number, at);
	fill((char *)&in, sizeof(in));
	memset(g_after, 0, sizeof(g_after));
	call_thunk(thunk(number, at), &in, &out, g_before, g_after, g_mask,
		   how);
	if (!r11)
		out.r11 = in.r11;
	if (memcmp(&in, &out, sizeof(in)))
		for (size_t i = 0; i < sizeof(in) / 8; i++)
			if (((uint64_t *)&in)[i] != ((uint64_t *)&out)[i])
				errx(1, "%s: register %zu differs", what, i);
	check_vectors(what);
}

static void *check_registers(void *unused)
{
	static const int numbers[] = { THUNK_ENTRY_DRAINED, THUNK_ENTRY_COUNTED,
				       THUNK_ENTRY_SPAN };
	static const struct {
		unsigned int at;
		uint64_t how;
		bool r11;
	} exits[] = {
		{ THUNK_EXIT, 0, false },
		{ THUNK_EXIT_JUMP, 1, false },
		{ THUNK_EXIT_R11, 0, true },
	};

	for (int i = 0; i < 3 * CALLS; i++) {
		int number = numbers[i % 3], exit = i / 3 % 3;

		count(&g_witness->sure[number]);
		check_call(number, 0, 0, false);
		check_call(number, exits[exit].at, exits[exit].how,
			   exits[exit].r11);
	}
	return unused;
}

static void in_thread(void *(*run)(void *))
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, run, NULL) ||
	    pthread_join(thread, NULL))
		errx(1, "pthread_create");
}

/* --- steps --------------------------------------------------------------- */

static enum { RECORD, JUMP, FORK } g_action;
static volatile int g_number;
static volatile bool g_is_child;
static sigjmp_buf g_out;

static void act(void)
{
	pid_t child;

	switch (g_action) {
	case RECORD:
		pair(g_number);
		pair(thunk_is_entry(g_number) ? THUNK_ENTRY_INNER
					      : THUNK_CALLS_INNER);
		break;
	case JUMP:
		siglongjmp(g_out, 1);
	case FORK:
		child = fork();
		if (!child)
			g_is_child = true;
		else if (child < 0 || waitpid(child, NULL, 0) != child)
			err(1, "fork");
		break;
	}
}

static __attribute__((noinline)) void call_stepped(int number, bool exit)
{
	STEPS_ON;
	call(number, exit);
	STEPS_OFF;
}

static void step_through(int number, bool exit)
{
	g_number = number;
	if (!sigsetjmp(g_out, 1))
		call_stepped(number, exit);
}

static void step_side(int number, bool exit)
{
	g_steps.by_step = g_action == FORK;
	steps_begin(act);
	do {
		/* Alternates the recorded calls of a share. */
		if (steps_target() % 2)
			pair(number);
		count(&g_witness->sure[number]);
		call(number, false);
		if (exit) {
			count(&g_witness->sure[number]);
			call(number, false);
			step_through(number, true);
		} else {
			step_through(number, false);
			if (g_action == JUMP && steps_fired())
				count(&g_witness->perhaps[number]);
			else if (!g_is_child)
				count(&g_witness->sure[number]);
			call(number, true);
		}
		if (g_is_child)
			_exit(0);
		call(number, true);
	} while (steps_go_on());
}

static void step(void)
{
	for (int number = 1; number < THUNK_NUMBERS; number++)
		for (int exit = 0; exit < 2; exit++)
			if (number != THUNK_CALLS_INNER &&
			    number != THUNK_ENTRY_INNER)
				step_side(number, exit);
}

/* --- threads and children ------------------------------------------------ */

#define ROUNDS 20000

static void nest(int depth)
{
	int number = 1 + depth % (THUNK_NUMBERS - 1);

	count(&g_witness->sure[number]);
	call(number, false);
	if (depth)
		nest(depth - 1);
	call(number, true);
}

static void *call_all(void *unused)
{
	for (int i = 0; i < ROUNDS / 20; i++)
		nest(20);
	return unused;
}

static void *fork_and_call(void *unused)
{
	pid_t child = fork();

	call_all(NULL);
	if (!child) {
		in_thread(call_all);
		_exit(0);
	}
	if (child < 0 || waitpid(child, NULL, 0) != child)
		err(1, "fork");
	return unused;
}

static void threads(void)
{
	pthread_t thread[8];

	for (int round = 0; round < 3; round++) {
		for (int i = 0; i < 8; i++)
			if (pthread_create(&thread[i], NULL,
					   i % 2 ? call_all : fork_and_call,
					   NULL))
				errx(1, "pthread_create");
		for (int i = 0; i < 8; i++)
			pthread_join(thread[i], NULL);
	}
}

/* --- place of the area --------------------------------------------------- */

static uint64_t area_near(uint64_t from)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	uint64_t found = 0, at;
	char line[512];

	while (maps && !found && fgets(line, sizeof(line), maps)) {
		at = strtoull(line, NULL, 16);
		if (strstr(line, THUNK_AREA_NAME) && at + (1u << 31) > from &&
		    at + thunk_area_bytes(FUNCTIONS_USUAL) < from + (1u << 31))
			found = at;
	}
	if (maps)
		fclose(maps);
	return found;
}

/* Loads @path below the arena, beyond a call's reach. The next dlopen() then
 * reports the load. */
static void load(const char *path)
{
	void *library = dlopen(path, RTLD_NOW), *function;

	if (!library)
		errx(1, "%s", dlerror());
	function = dlsym(library, "map_call");
	if (!function || !dlopen(NULL, RTLD_NOW))
		errx(1, "%s", dlerror());
	g_area = area_near((uintptr_t)function);
	if (!g_area)
		errx(1, "no mapping is near %p", function);
	pair(THUNK_CALLS_SPAN);
	g_area = area_near((uintptr_t)call);
	pair(THUNK_CALLS_SPAN);
	g_area = area_near((uintptr_t)strlen);
	pair(THUNK_CALLS_SPAN);
}

int main(int argc, char **argv)
{
	FILE *result;

	if (argc != 3 && argc != 4)
		errx(2, "usage: thunk_victim WHAT RESULT [LIBRARY]");
	g_witness = mmap(NULL, sizeof(*g_witness), PROT_READ | PROT_WRITE,
			 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	/* Waits for the thunks. */
	__cyg_profile_func_enter((void *)0x10, NULL);
	__cyg_profile_func_exit((void *)0x10, NULL);
	g_area = area_near((uintptr_t)call);
	if (!g_area)
		errx(1, "there is no thunk area near");
	if (argc == 4) {
		load(argv[3]);
	} else if (!strcmp(argv[1], "registers")) {
		fill_vectors(true);
		in_thread(check_registers);
		fill_vectors(false);
		in_thread(check_registers);
	} else if (!strcmp(argv[1], "threads")) {
		threads();
	} else {
		g_action = !strcmp(argv[1], "record") ? RECORD
			   : !strcmp(argv[1], "jump") ? JUMP
						      : FORK;
		step();
	}
	result = fopen(argv[2], "w");
	if (!result || fwrite(g_witness, sizeof(*g_witness), 1, result) != 1 ||
	    fclose(result))
		err(1, "%s", argv[2]);
	return 0;
}
