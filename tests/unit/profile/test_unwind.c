/* SPDX-License-Identifier: Apache-2.0
 *
 * Unwinds stacks of this program, copied like the shim and the kernel do, and
 * tests the cache in front. backtrace() or the functions themselves give the
 * expected frames.
 */
#include "collector/profile/unwind.h"

#include <execinfo.h>
#include <signal.h>
#include <sys/mman.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include "collector/base/budget.h"
#include "collector/base/log.h"
#include "collector/names/modules.h"
#include "collector/names/symbols.h"
#include "collector/profile/stack_cache.h"
#include "collector/profile/stacks.h"
#include "collector/profile/unwind_file.h"
#include "shared/function_shm.h"
#include "shared/record_ext.h"
#include "tests/suite.h"
#if defined(__x86_64__)
#include "collector/code/thunks.h"
#include "tests/unit/thunk_rig.h"
#endif

#define COPY_BYTES (32u << 10)
#define CALLERS_MAX 256

struct copy {
	uint64_t reg[RECORD_REGS];
	uint64_t unknown_reg;
	uint8_t stack[COPY_BYTES];
	uint32_t bytes;
	void *caller[CALLERS_MAX];
	int callers;
};

static struct {
	struct budget budget;
	struct symbol_cache *cache;
	struct modules *modules;
	struct unwind_files *files;
	struct unwind *unwind;
	struct stacks *stacks;
	struct stack_cache stack_cache;
	struct unwind_result result;
	struct copy copy;
	uint32_t bytes_max;
} g;

static void set_up(void)
{
	void *caller;

	/* Its first call loads a library; a signal handler must not. */
	backtrace(&caller, 1);
	g.budget.left = 1ULL << 30;
	g.bytes_max = COPY_BYTES;
	ck_assert_int_eq(symbol_cache_new(&g.cache), 0);
	ck_assert_int_eq(
		modules_new(getpid(), getpid(), NULL, g.cache, &g.modules), 0);
	ck_assert_int_eq(unwind_files_new(&g.files), 0);
	ck_assert_int_eq(unwind_new(g.modules, g.files, &g.unwind), 0);
	ck_assert_int_eq(stacks_new(&g.budget, &g.stacks), 0);
	stack_cache_init(&g.stack_cache, &g.budget);
}

static void tear_down(void)
{
	stack_cache_release(&g.stack_cache);
	unwind_free(&g.unwind);
	unwind_files_free(&g.files);
	stacks_free(&g.stacks);
	ck_assert_uint_eq(g.budget.left, 1ULL << 30);
	modules_put(&g.modules);
	symbol_cache_put(&g.cache);
}

/* --- copies -------------------------------------------------------------- */

#if defined(__x86_64__)
static void take_registers(const ucontext_t *context, uint64_t *reg)
{
	static const int order[RECORD_REGS] = {
		REG_RAX, REG_RDX, REG_RCX, REG_RBX, REG_RSI, REG_RDI,
		REG_RBP, REG_RSP, REG_R8,  REG_R9,  REG_R10, REG_R11,
		REG_R12, REG_R13, REG_R14, REG_R15, REG_RIP
	};

	for (int i = 0; i < RECORD_REGS; i++)
		reg[i] = (uint64_t)context->uc_mcontext.gregs[order[i]];
}
#else
static void take_registers(const ucontext_t *context, uint64_t *reg)
{
	memcpy(reg, context->uc_mcontext.regs, 31 * sizeof(*reg));
	reg[RECORD_REG_SP] = context->uc_mcontext.sp;
	reg[RECORD_REG_IP] = context->uc_mcontext.pc;
}
#endif

/* The end of the main thread's stack, which the C library knows. */
extern void *__libc_stack_end;

__attribute__((noinline, no_sanitize("address"))) static void copy_words(
	uint8_t *out, uintptr_t from, uint32_t bytes)
{
	/* Copies words, because memcpy() would trap on ASan's redzones. */
	for (uint32_t i = 0; i + 8 <= bytes; i += 8)
		*(volatile uint64_t *)(out + i) =
			*(volatile uint64_t *)(from + i);
}

__attribute__((no_sanitize("address"))) static void copy_context(
	const ucontext_t *context, struct copy *out)
{
	uintptr_t sp;

	take_registers(context, out->reg);
	sp = out->reg[RECORD_REG_SP];
	out->bytes = (uint32_t)MIN(g.bytes_max,
				   ((uintptr_t)__libc_stack_end - sp) & ~7ULL);
	copy_words(out->stack, sp, out->bytes);
}

/* The copy's innermost frame is this function. */
__attribute__((noinline)) static void capture(struct copy *out)
{
	ucontext_t context;

	getcontext(&context);
	copy_context(&context, out);
	out->callers = backtrace(out->caller, CALLERS_MAX);
}

static struct unwind_stack stack_of(const struct copy *copy)
{
	return (struct unwind_stack){ .reg = copy->reg,
				      .unknown_reg = copy->unknown_reg,
				      .stack = copy->stack,
				      .stack_bytes = copy->bytes };
}

static uint32_t number_of(const struct unwind_result *result)
{
	uint32_t stack = STACKS_ROOT;

	for (size_t i = result->count; i > 0; i--)
		stack = stacks_child(g.stacks, stack, &result->frame[i - 1]);
	return stack;
}

static void unwind(const struct copy *copy)
{
	const struct unwind_stack stack = stack_of(copy);

	unwind_edition(g.unwind, 0);
	unwind_run(g.unwind, &stack, &g.result);
	ck_assert_uint_ge(g.result.count, 1);
	ck_assert_uint_le(g.result.count, UNWIND_FRAMES_MAX);
}

/* Frames 1 to @count - 1 must match backtrace(), which has more in front under
 * ASan. Returns the number of all. */
static size_t compare(const struct copy *copy, size_t count)
{
	size_t all = (size_t)copy->callers, own = 0;

	ck_assert_uint_ge(count, 2);
	while (own < all &&
	       g.result.frame[1].address != (uintptr_t)copy->caller[own])
		own++;
	ck_assert_uint_lt(own, all);
	for (size_t i = 1; i < count; i++) {
		ck_assert_uint_lt(own + i - 1, all);
		ck_assert_uint_eq(g.result.frame[i].address,
				  (uintptr_t)copy->caller[own + i - 1]);
	}
	return all - own + 1;
}

static void check_callers(const struct copy *copy)
{
	ck_assert(!g.result.cut);
	ck_assert_uint_eq(compare(copy, g.result.count), g.result.count);
	for (size_t i = 1; i < g.result.count; i++)
		ck_assert_uint_eq(g.result.frame[i].kind, FRAME_RETURN);
	ck_assert_uint_eq(g.result.frame[0].kind, FRAME_PC);
}

static bool find_or_add(const struct copy *copy);

/* --- frames by descriptions ---------------------------------------------- */

static volatile int g_sink;

__attribute__((noinline)) static void recurse(int depth, struct copy *out)
{
	volatile char room[64];

	room[0] = (char)depth;
	if (depth)
		recurse(depth - 1, out);
	else
		capture(out);
	g_sink += room[0];
}

/* An aligned frame of variable size. */
__attribute__((noinline)) static void odd_frame(int size, struct copy *out)
{
	_Alignas(64) volatile char aligned[64];
	volatile char *room = __builtin_alloca((size_t)size);

	aligned[0] = room[0] = 1;
	recurse(3, out);
	g_sink += aligned[0] + room[0];
}

static int by_callback(const void *a, const void *b)
{
	(void)a;
	(void)b;
	if (!g.copy.bytes)
		recurse(2, &g.copy);
	return 0;
}

FIXTURE(set_up, tear_down);

TEST(unwind_own_stack_is_what_backtrace_says)
{
	recurse(20, &g.copy);
	unwind(&g.copy);
	check_callers(&g.copy);
	ck_assert(!g.result.guessed);
	ck_assert(g.result.repeatable);
}

TEST(unwind_frame_of_unknown_size)
{
	odd_frame(1000, &g.copy);
	unwind(&g.copy);
	check_callers(&g.copy);
}

TEST(unwind_callback_of_a_library)
{
	int numbers[8] = { 3, 1, 2 };

	g.copy.bytes = 0;
	qsort(numbers, 8, sizeof(*numbers), by_callback);
	unwind(&g.copy);
	check_callers(&g.copy);
}

TEST(unwind_stack_that_was_cut_says_so)
{
	g.bytes_max = 4096;
	recurse(200, &g.copy);
	unwind(&g.copy);
	ck_assert(g.result.cut);
	ck_assert_uint_gt(g.result.count, 5);
	compare(&g.copy, g.result.count - 1);
	ck_assert_uint_eq(g.result.frame[g.result.count - 1].address,
			  FRAME_CUT);
	ck_assert_uint_eq(g.result.frame[g.result.count - 1].kind, FRAME_NAMED);
}

#if defined(__x86_64__)
TEST(unwind_stack_with_a_uretprobe_says_so)
{
	struct stack_frame frame;
	uint64_t *word = (void *)g.copy.stack;

	recurse(20, &g.copy);
	unwind(&g.copy);
	frame = g.result.frame[2];
	while (*word != frame.address)
		word++;
	*word = 0x7fffffffe000;
	unwind(&g.copy);
	ck_assert(!g.result.cut);
	ck_assert_uint_eq(g.result.frame[2].kind, FRAME_NAMED);
	ck_assert_uint_eq(g.result.frame[2].address, FRAME_PROBED);
}
#endif

TEST(unwind_stack_of_too_many_frames_is_cut)
{
	g.copy.callers = 0;
	recurse(300, &g.copy);
	unwind(&g.copy);
	ck_assert(g.result.cut);
	if (g.copy.bytes == COPY_BYTES)
		return; /* larger frames here exceed the copy first */
	ck_assert_uint_eq(g.result.count, UNWIND_FRAMES_MAX);
}

/* --- signals ------------------------------------------------------------- */

static void handle(int number)
{
	(void)number;
	recurse(1, &g.copy);
	g_sink++; /* no tail call */
}

__attribute__((noinline)) static void be_interrupted(void)
{
	raise(SIGUSR1); /* delivered inside raise() */
	g_sink++;
}

static bool is_in(size_t frame, const char *name)
{
	const struct stack_frame *at = &g.result.frame[frame];
	struct symbol symbol;

	modules_resolve(g.modules, at->address - (at->kind == FRAME_RETURN), 0,
			&symbol);
	return !strcmp(symbol.name, name);
}

static size_t find_frame(const char *name)
{
	for (size_t i = 0; i < g.result.count; i++)
		if (is_in(i, name))
			return i;
	ck_abort_msg("no frame of %s", name);
	return 0;
}

TEST(unwind_through_a_signal_handler, UNLESS(HAS_TSAN))
{
	size_t handler, interrupted;

	signal(SIGUSR1, handle);
	be_interrupted();
	unwind(&g.copy);
	ck_assert(!g.result.cut);
	handler = find_frame("handle");
	interrupted = find_frame("be_interrupted");
	ck_assert_uint_gt(interrupted, handler + 2);
	/* The trampoline and the interrupted code were not called. */
	ck_assert_uint_eq(g.result.frame[handler + 1].kind, FRAME_PC);
	ck_assert_uint_eq(g.result.frame[handler + 2].kind, FRAME_PC);
	ck_assert_uint_eq(g.result.frame[interrupted].kind, FRAME_RETURN);
	compare(&g.copy, g.result.count);
}

#if defined(__x86_64__)
/* Interrupted at every instruction of a prologue and an epilogue. */
__attribute__((noinline, no_sanitize("address"))) static int leaf(int a)
{
	return a * 3;
}

/* As gcc emits with frame pointers: the epilogue's description places restored
 * registers below the stack pointer. */
int framed(int a);
int framed_leaf(int a);
__asm__(".text\n"
	".balign 64\n"
	".type framed_leaf, @function\n"
	"framed_leaf:\n"
	"	.cfi_startproc\n"
	"	pushq %rbp\n"
	"	.cfi_def_cfa_offset 16\n"
	"	.cfi_offset 6, -16\n"
	"	movq %rsp, %rbp\n"
	"	.cfi_def_cfa_register 6\n"
	"	pushq %rbx\n"
	"	subq $8, %rsp\n"
	"	.cfi_offset 3, -24\n"
	"	leal (%rdi, %rdi, 2), %ebx\n"
	"	movl %ebx, %eax\n"
	"	movq -8(%rbp), %rbx\n"
	"	leave\n"
	"	.cfi_def_cfa 7, 8\n"
	"	ret\n"
	"	.cfi_endproc\n"
	".size framed_leaf, . - framed_leaf\n"
	".balign 64\n"
	".type framed, @function\n"
	"framed:\n"
	"	.cfi_startproc\n"
	"	pushq %rbp\n"
	"	.cfi_def_cfa_offset 16\n"
	"	.cfi_offset 6, -16\n"
	"	movq %rsp, %rbp\n"
	"	.cfi_def_cfa_register 6\n"
	"	subq $16, %rsp\n"
	"	call framed_leaf\n"
	"	leave\n"
	"	.cfi_def_cfa 7, 8\n"
	"	ret\n"
	"	.cfi_endproc\n"
	".size framed, . - framed\n");

static uintptr_t g_stepped;
static uintptr_t g_stepped_bytes = 64;
static int g_steps;
static struct copy g_step[64];

static void handle_trap(int number, siginfo_t *info, void *context)
{
	uint64_t ip =
		(uint64_t)((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP];

	(void)number;
	(void)info;
	if ((ip - g_stepped < g_stepped_bytes ||
	     (ip >= (uintptr_t)rig_enter && ip < (uintptr_t)rig_end)) &&
	    g_steps < 64)
		copy_context(context, &g_step[g_steps++]);
}

__attribute__((always_inline)) static inline void step_through(
	int (*function)(int), int (*stepped)(int))
{
	struct sigaction action = { .sa_sigaction = handle_trap,
				    .sa_flags = SA_SIGINFO };

	g_stepped = (uintptr_t)stepped;
	sigaction(SIGTRAP, &action, NULL);
	__asm__ volatile("pushfq; orq $0x100, (%%rsp); popfq" ::: "memory");
	g_sink = function(4);
	__asm__ volatile("pushfq; andq $~0x100, (%%rsp); popfq" ::: "memory");
}

TEST(unwind_at_every_instruction_of_a_leaf)
{
	step_through(leaf, leaf);
	ck_assert_int_ge(g_steps, 2);
	for (int i = 0; i < g_steps; i++) {
		unwind(&g_step[i]);
		ck_assert(!g.result.cut);
		ck_assert(is_in(0, "leaf"));
		ck_assert(
			is_in(1, "unwind_at_every_instruction_of_a_leaf_fn") ||
			is_in(1, "unwind_at_every_instruction_of_a_leaf"));
	}
}

TEST(unwind_at_every_instruction_with_a_frame_pointer)
{
	step_through(framed, framed_leaf);
	ck_assert_int_eq(g_steps, 9);
	for (int i = 0; i < g_steps; i++) {
		unwind(&g_step[i]);
		ck_assert(!g.result.cut && !g.result.guessed);
		ck_assert(is_in(0, "framed_leaf") && is_in(1, "framed"));
		ck_assert_int_gt((int)g.result.count, 3);
	}
}

/* Only two registers are known, as in a blocked thread. The frames must be a
 * part of the full result, or *@cut. Returns their number without the cut. */
static size_t unwind_unknown(const struct copy *copy, bool *cut)
{
	static struct unwind_result whole;
	static struct copy less;
	size_t count;

	unwind(copy);
	whole = g.result;
	less = *copy;
	less.unknown_reg = ~(1ULL << RECORD_REG_IP | 1ULL << RECORD_REG_SP);
	/* Unknown registers must not be read. */
	for (size_t i = 0; i < RECORD_REGS; i++)
		if (less.unknown_reg >> i & 1)
			less.reg[i] = copy->reg[RECORD_REG_SP] + 64;
	unwind(&less);
	*cut = g.result.cut;
	count = g.result.count - *cut;
	ck_assert(!g.result.is_short);
	ck_assert(!g.result.guessed || whole.guessed);
	ck_assert_uint_le(count, whole.count);
	for (size_t i = 0; i < count; i++)
		ck_assert_uint_eq(g.result.frame[i].address,
				  whole.frame[i].address);
	return count;
}

/* The innermost function needs the frame pointer from its third instruction to
 * the last but one. Its caller needs it as well, but it can be found. */
TEST(unwind_stops_where_a_register_is_unknown)
{
	size_t count;
	bool cut;

	step_through(framed, framed_leaf);
	ck_assert_int_eq(g_steps, 9);
	for (int i = 0; i < g_steps; i++) {
		count = unwind_unknown(&g_step[i], &cut);
		if (i > 1 && i < 8) {
			ck_assert(cut);
			ck_assert_uint_eq(count, 1);
		} else {
			ck_assert_uint_gt(count, 3);
		}
	}
}

/* The caller's return address is invalid, or follows no call. */
TEST(unwind_stops_where_nothing_proves_the_frame_pointer)
{
	const uint64_t wrong[] = { 0, 1, (uintptr_t)framed + 1 };
	bool cut;

	step_through(framed, framed_leaf);
	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
		uint64_t *word = (uint64_t *)(void *)g_step[0].stack;

		word[4] = wrong[i];
		ck_assert_uint_eq(unwind_unknown(&g_step[0], &cut), 2);
		ck_assert(cut);
	}
}

/* No module is known at the other words. If they were looked up, the result
 * would not be repeatable. */
TEST(unwind_looks_up_only_words_that_may_be_return_addresses)
{
	uint64_t *word = (uint64_t *)(void *)g_step[0].stack;
	bool cut;

	step_through(framed, framed_leaf);
	word[4] = 0;
	for (size_t i = 5; i < 80; i++)
		word[i] = i % 4 < 2 ? 1ULL << 62
				    : g_step[0].reg[RECORD_REG_SP] + 8 * i;
	ck_assert_uint_eq(unwind_unknown(&g_step[0], &cut), 2);
	ck_assert(cut);
	ck_assert(g.result.repeatable);
}

TEST(unwind_without_registers_finds_a_part_of_the_stack)
{
	static struct copy unknown;
	bool cut;

	recurse(5, &g.copy);
	/* The number depends on the compiler. */
	ck_assert_uint_ge(unwind_unknown(&g.copy, &cut), 1);
	/* The cache distinguishes stacks with and without registers. */
	find_or_add(&g.copy);
	ck_assert(find_or_add(&g.copy));
	unknown = g.copy;
	unknown.unknown_reg = ~(1ULL << RECORD_REG_IP | 1ULL << RECORD_REG_SP);
	find_or_add(&unknown);
	ck_assert(find_or_add(&unknown));
	ck_assert(find_or_add(&g.copy));
	for (int i = 0; i < 9; i++) {
		step_through(framed, framed_leaf);
		find_or_add(&g_step[i]);
		g_step[i].unknown_reg = unknown.unknown_reg;
		/* Step 1 needs no register. */
		ck_assert_int_eq(find_or_add(&g_step[i]), i == 1);
		ck_assert(find_or_add(&g_step[i]));
		g_steps = 0;
	}
}

/* --- frames without descriptions ----------------------------------------- */

/* Without .cfi directives .eh_frame does not cover them. */
__asm__(".text\n"
	".type bare, @function\n"
	"bare:\n"
	"	pushq %rbp\n"
	"	movq %rsp, %rbp\n"
	"	pushq %rbx\n"
	"	pushq %rbx\n"
	"	call *%rsi\n"
	"	popq %rbx\n"
	"	popq %rbx\n"
	"	popq %rbp\n"
	"	ret\n"
	".size bare, . - bare\n"
	".type stub, @function\n"
	"stub:\n"
	"	jmp *stub_target(%rip)\n"
	"	pushq $0\n"
	"	jmp bare\n"
	".size stub, . - stub\n"
	/* As emitted by mold. */
	".type mold_stub, @function\n"
	"mold_stub:\n"
	"	endbr64\n"
	"	movl $1, %r11d\n"
	"	jmp *stub_target(%rip)\n"
	".size mold_stub, . - mold_stub\n"
	".data\n"
	"stub_target: .quad 0\n"
	".text\n");
void bare(struct copy *out, void (*call)(struct copy *));
void stub(void), mold_stub(void);

static void recurse_few(struct copy *out)
{
	recurse(2, out);
	g_sink++;
}

TEST(unwind_without_description_goes_by_the_frame_pointer)
{
	size_t at;

	bare(&g.copy, recurse_few);
	unwind(&g.copy);
	ck_assert(g.result.guessed);
	at = find_frame("bare");
	/* The callers up to main are found. */
	ck_assert_uint_gt(g.result.count, at + 3);
	ck_assert(g.result.repeatable);
	find_frame("main");
}

TEST(unwind_stub_returns_where_the_stack_pointer_points)
{
	uint64_t ra = (uintptr_t)recurse + 4, *top = (void *)g.copy.stack;
	/* All instructions up to the jump. */
	const uintptr_t ips[] = {
		(uintptr_t)stub,
		(uintptr_t)mold_stub,
		(uintptr_t)mold_stub + 4,
		(uintptr_t)mold_stub + 10,
	};

	recurse(2, &g.copy);
	*top = ra;
	for (size_t i = 0; i < ARRAY_SIZE(ips); i++) {
		g.copy.reg[RECORD_REG_IP] = ips[i];
		unwind(&g.copy);
		ck_assert_uint_eq(g.result.frame[1].address, ra);
		ck_assert_uint_eq(g.result.frame[1].kind, FRAME_RETURN);
	}
}

/* The area was mapped after set_up(), so the load map is read again. */
TEST(unwind_thunk_returns_where_the_stack_pointer_points)
{
	uint64_t ra, *top = (void *)g.copy.stack;
	int fd = memfd_create(THUNK_AREA_NAME, MFD_CLOEXEC);
	struct symbol symbol;
	char *area;

	ck_assert_int_eq(ftruncate(fd, 8192), 0);
	area = mmap(NULL, 8192, PROT_READ | PROT_EXEC, MAP_SHARED, fd, 0);
	ck_assert_ptr_ne(area, MAP_FAILED);
	recurse(2, &g.copy);
	/* Pretends that the innermost frame called the thunk. */
	ra = g.copy.reg[RECORD_REG_IP];
	g.copy.bytes = MIN(g.copy.bytes, COPY_BYTES - 8);
	memmove(top + 1, top, g.copy.bytes);
	g.copy.bytes += 8;
	*top = ra;
	g.copy.reg[RECORD_REG_SP] -= 8;
	g.copy.reg[RECORD_REG_IP] = (uintptr_t)area + 4100;
	unwind(&g.copy);
	ck_assert_uint_eq(g.result.frame[1].address, ra);
	ck_assert_uint_eq(g.result.frame[1].kind, FRAME_RETURN);
	ck_assert(!g.result.guessed);
	find_frame("main");
	modules_resolve(g.modules, (uintptr_t)area + 4100, 0, &symbol);
	ck_assert_str_eq(symbol.name, "[perfrec]");
	munmap(area, 8192);
	close(fd);
}

/* Sites of entry builds reach thunks like this. */
int call_thunk(int n), leave_by_thunk(int n);

extern const void *g_thunk;
const void *g_thunk;

__asm__(".text\n"
	".type call_thunk, @function\n"
	"call_thunk:\n"
	"	.cfi_startproc\n"
	"	subq $8, %rsp\n"
	"	.cfi_adjust_cfa_offset 8\n"
	"	call *g_thunk(%rip)\n"
	"	addq $8, %rsp\n"
	"	.cfi_adjust_cfa_offset -8\n"
	"	ret\n"
	"	.cfi_endproc\n"
	".size call_thunk, . - call_thunk\n"
	".type leave_by_thunk, @function\n"
	"leave_by_thunk:\n"
	"	.cfi_startproc\n"
	"	jmp *g_thunk(%rip)\n"
	"	.cfi_endproc\n"
	".size leave_by_thunk, . - leave_by_thunk\n");

#define THUNK_NUMBER 5u

static const struct thunk_way {
	enum thunk_kind kind;
	uint32_t offset;
	int (*from)(int n);
	const char *caller; /* of the thunk */
} g_ways[] = {
	{ THUNK_ENTRY, 0, call_thunk, "call_thunk" },
	{ THUNK_ENTRY, THUNK_EXIT, call_thunk, "call_thunk" },
	{ THUNK_ENTRY, THUNK_EXIT_R11, call_thunk, "call_thunk" },
	{ THUNK_ENTRY, THUNK_EXIT_JUMP, leave_by_thunk, "step_thunk" },
	{ THUNK_CALLS, 0, call_thunk, "call_thunk" },
	{ THUNK_CALLS, THUNK_EXIT, call_thunk, "call_thunk" },
};

__attribute__((noinline, noclone)) static void step_thunk(
	const struct thunk_way *way, const uint8_t *thunk)
{
	g_steps = 0;
	g_thunk = thunk + way->offset;
	step_through(way->from, (int (*)(int))(uintptr_t)thunk);
	g_sink++;
}

/* In the thunk area at @map, and in the routine behind the thunk. */
static size_t own_frames(const uint8_t *map)
{
	size_t count = 0;

	while (count < g.result.count) {
		uint64_t at = g.result.frame[count].address;

		if (at - (uintptr_t)map >= thunk_area_bytes(FUNCTIONS_USUAL) &&
		    (at < (uintptr_t)rig_enter || at >= (uintptr_t)rig_end))
			break;
		count++;
	}
	return count;
}

/* Unrecorded call, recorded call, thread without counts. */
TEST(unwind_at_every_instruction_of_thunks, EACH(0, 3 * ARRAY_SIZE(g_ways)))
{
	const struct thunk_way *way = &g_ways[_i / 3];
	int fd = rig_memfd(thunk_area_bytes(FUNCTIONS_USUAL), RIG_SEALS);
	struct thunk_shim shim = rig_shim();
	struct thunk_area *area;
	uint8_t *map;

	ck_assert_int_eq(thunk_area_map(fd, FUNCTIONS_USUAL, &shim, &area), 0);
	map = rig_map(fd, capture, 1u << 26);
	ck_assert_ptr_ne(map, MAP_FAILED);
	ck_assert_int_eq(thunk_area_add(area, THUNK_NUMBER, 0x1234, way->kind),
			 0);
	rig_reset();
	if (_i % 3 == 1) {
		thunk_area_choose(area, THUNK_NUMBER, THUNK_RECORD);
		g_cells[THUNK_NUMBER].recorded = way->offset ? 1 : 0;
	}
	if (_i % 3 == 2)
		t_counts = NULL;
	g_stepped_bytes = THUNK_BYTES;
	step_thunk(way, map + THUNK_CODE + THUNK_NUMBER * THUNK_BYTES);
	ck_assert_int_ge(g_steps, _i % 3 == 1 ? 12 : 7);
	ck_assert_int_lt(g_steps, 64);
	for (int i = 0; i < g_steps; i++) {
		size_t own;

		unwind(&g_step[i]);
		own = own_frames(map);
		ck_assert_uint_ge(own, 1);
		ck_assert_msg(is_in(own, way->caller),
			      "step %d of %d, frame %zu", i, g_steps, own);
		ck_assert(!g.result.cut && !g.result.guessed);
		find_frame("main");
	}
	munmap(map, thunk_area_bytes(FUNCTIONS_USUAL));
	thunk_area_unmap(area);
	close(fd);
}
#endif

TEST(unwind_of_nonsense_ends)
{
	static const uint64_t odd[] = { 0, 1, UINT64_MAX, 1ULL << 47 };
	unsigned int seed = 1;

	recurse(20, &g.copy);
	for (size_t i = 0; i < ARRAY_SIZE(odd); i++) {
		struct copy copy = g.copy;

		copy.reg[RECORD_REG_IP] = odd[i];
		unwind(&copy);
		copy = g.copy;
		copy.reg[RECORD_REG_SP] = odd[i];
		unwind(&copy);
		copy = g.copy;
		copy.reg[RECORD_REG_FP] = odd[i];
		unwind(&copy);
	}
	for (int i = 0; i < 2000; i++) {
		struct copy copy = g.copy;

		for (int j = 0; j < 8; j++)
			copy.stack[(unsigned int)rand_r(&seed) % copy.bytes] =
				(uint8_t)rand_r(&seed);
		copy.bytes = (unsigned int)rand_r(&seed) % (copy.bytes + 1);
		unwind(&copy);
	}
}

/* --- the cache ----------------------------------------------------------- */

/* A hit must equal the unwound stack. */
static bool find_or_add(const struct copy *copy)
{
	const struct unwind_stack stack = stack_of(copy);
	uint64_t edition = unwind_edition(g.unwind, 0);
	uint32_t found, number;
	bool is_there =
		stack_cache_find(&g.stack_cache, edition, &stack, &found);

	unwind(copy);
	number = number_of(&g.result);
	if (is_there)
		ck_assert_uint_eq(found, number);
	else
		stack_cache_add(&g.stack_cache, &stack, &g.result, number);
	return is_there;
}

static void random_calls(unsigned int *seed, int depth, struct copy *out);

__attribute__((noinline)) static void call_one(unsigned int *seed, int depth,
					       struct copy *out)
{
	random_calls(seed, depth, out);
	g_sink++;
}

__attribute__((noinline)) static void call_two(unsigned int *seed, int depth,
					       struct copy *out)
{
	volatile char *room = __builtin_alloca((size_t)depth * 8 + 8);

	room[0] = 1;
	random_calls(seed, depth, out);
	g_sink += room[0];
}

__attribute__((noinline)) static void random_calls(unsigned int *seed,
						   int depth, struct copy *out)
{
	if (!depth)
		capture(out);
	else if (rand_r(seed) % 2)
		call_one(seed, depth - 1, out);
	else
		call_two(seed, depth - 1, out);
	g_sink++;
}

__attribute__((noinline)) static void at_offset(size_t bytes,
						unsigned int *seed, int depth,
						struct copy *out)
{
	volatile char *room = __builtin_alloca(bytes + 1);

	room[0] = 1;
	random_calls(seed, depth, out);
	g_sink += room[0];
}

TEST(stack_cache_finds_what_unwinding_says)
{
	int hits = 0, all = 2000;

	for (int i = 0; i < all; i++) {
		unsigned int seed = (unsigned int)(i * 7919) % 40;

		at_offset((size_t)(i % 5) * 176, &seed, 6, &g.copy);
		hits += find_or_add(&g.copy);
	}
	/* 40 seeds, at most 4 alignments */
	ck_assert_int_ge(hits, all - 40 * 4);
	ck_assert_uint_eq(g.stack_cache.hits, hits);
}

TEST(stack_cache_of_changed_stacks_finds_what_unwinding_says)
{
	unsigned int seed = 5;
	int hits = 0;

	random_calls(&seed, 12, &g.copy);
	find_or_add(&g.copy);
	for (int i = 0; i < 3000; i++) {
		struct copy copy = g.copy;
		uint64_t *word = (uint64_t *)(void *)copy.stack;
		size_t words = MIN(copy.bytes / 8, 200u);

		word[(size_t)rand_r(&seed) % words] +=
			(uint64_t)rand_r(&seed) % 64;
		if (i % 3 == 0)
			copy.reg[rand_r(&seed) % RECORD_REGS] += 8;
		if (i % 5 == 0)
			copy.bytes = (uint32_t)rand_r(&seed) % copy.bytes;
		hits += find_or_add(&copy);
	}
	ck_assert_int_gt(hits, 500);
}

TEST(stack_cache_of_another_edition_is_empty)
{
	uint32_t number;

	recurse(3, &g.copy);
	ck_assert(!find_or_add(&g.copy));
	ck_assert(find_or_add(&g.copy));
	ck_assert(!stack_cache_find(
		&g.stack_cache, unwind_edition(g.unwind, 1),
		&(struct unwind_stack){ .reg = g.copy.reg,
					.stack = g.copy.stack,
					.stack_bytes = g.copy.bytes,
					.generation = 1 },
		&number));
}

TEST(stack_cache_without_memory_still_works)
{
	unsigned int seed = 5;
	uint64_t left = g.budget.left;

	g.budget.left = 40000;
	for (int i = 0; i < 200; i++) {
		random_calls(&seed, 12, &g.copy);
		find_or_add(&g.copy);
	}
	stack_cache_release(&g.stack_cache);
	g.budget.left += left - 40000;
}

static void begin_suite(void)
{
	log_init("test_unwind", LOG_ERR);
}

SUITE(begin_suite, NULL);
