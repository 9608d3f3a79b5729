/* SPDX-License-Identifier: Apache-2.0
 *
 * code_moves decides about functions of crafted code: can each be moved, and what
 * does its thunk need? tests/e2e/patch runs the thunks.
 */
#include <dlfcn.h>
#include <link.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "collector/base/bytes.h"
#include "collector/code/code_pack.h"
#include "collector/code/code_plan.h"
#include "collector/code/patch.h"
#include "collector/code/thunks.h"
#include "shared/ring_shm.h"
#include "tests/random.h"
#include "tests/suite.h"
#include "tests/unit/entry_code.h"
#include "tests/unit/scratch.h"
#include "tests/unit/thunk_rig.h"

#if defined(__x86_64__)

#define FUNCTION(name, body)                                                 \
	".globl " name "; .hidden " name "; .type " name ", @function;" name \
	": .cfi_startproc;" body "; .cfi_endproc; .size " name ", . - " name \
	";"
#define FAR ".skip 40, 0x90;"
#define DOWN(bytes) "sub $" bytes ", %rsp; .cfi_adjust_cfa_offset " bytes ";"
#define UP(bytes) "add $" bytes ", %rsp; .cfi_adjust_cfa_offset -" bytes ";"

static struct code_plan *g_plan;

static void plan_code(const char *code)
{
	struct code_input input = { .moves = true };
	FILE *file = fopen("code.c", "we");
	const char *why;
	int err;

	ck_assert_ptr_nonnull(file);
	fprintf(file, "__asm__(\"%s\");\n", code);
	fclose(file);
	scratch_run("cc -nostdlib -shared -fPIC -o code.so code.c");
	input.fd = open("./code.so", O_RDONLY | O_CLOEXEC);
	ck_assert_int_ge(input.fd, 0);
	ck_assert_msg(!code_plan_begin(&input, NULL, &g_plan, &why), "%s", why);
	do
		err = code_plan_step(g_plan, 1);
	while (err == 1);
	ck_assert_int_eq(err, 0);
	close(input.fd);
}

static const struct row {
	const char *what, *body; /* of function f */
	const char *more; /* other code */
	enum code_refusal refused;
	uint8_t arguments; /* words */
	bool is_wide;
	uint8_t displaced, before;
} rows[] = {
	{ "a constant", "mov $1, %eax; ret", "", 0, 0, 0, 5, 0 },
	{ "three bytes and padding", "xor %eax, %eax; ret", ".p2align 4;", 0, 0,
	  0, 3, 0 },
	{ "three bytes", "xor %eax, %eax; ret", "", CODE_TOO_SHORT, 0, 0, 0,
	  0 },
	{ "endbr64", "endbr64; mov $1, %eax; ret", "", 0, 0, 0, 5, 4 },
	{ "a loop among the first bytes",
	  "xor %eax, %eax; 1: inc %eax; cmp $9, %eax; jb 1b; ret", "",
	  CODE_ENTERED_WITHIN, 0, 0, 0, 0 },
	{ "a loop to the start", "mov $1, %eax; dec %edi; jnz f; ret", "",
	  CODE_ENTERED_WITHIN, 0, 0, 0, 0 },
	{ "a loop to the start behind endbr64",
	  "endbr64; 1: mov $1, %eax; dec %edi; jnz 1b; ret", "",
	  CODE_ENTERED_WITHIN, 0, 0, 0, 0 },
	{ "a loop behind the first bytes",
	  "mov $1, %eax; 1: dec %edi; jnz 1b; ret", "", 0, 0, 0, 5, 0 },
	{ "another function that jumps into it",
	  "xor %eax, %eax; inc %eax; ret",
	  FUNCTION("h", "mov $1, %eax; jmp f + 2"), CODE_ENTERED_WITHIN, 0, 0,
	  0, 0 },
	{ "a pointer into it", "xor %eax, %eax; inc %eax; inc %eax; ret",
	  ".pushsection .data; .quad f + 2; .popsection;", CODE_ENTERED_WITHIN,
	  0, 0, 0, 0 },
	{ "a jump table into it",
	  "xor %ecx, %ecx; 1: nop; nop; nop; lea t(%rip), %rdx;"
	  "movslq (%rdx, %rdi, 4), %rax; add %rdx, %rax; jmp *%rax;"
	  ".pushsection .rodata; t: .long 1b - t, 2f - t; .popsection; 2: ret",
	  "", CODE_ENTERED_WITHIN, 0, 0, 0, 0 },
	{ "a branch", "test %edi, %edi; js 1f; mov $1, %eax; " FAR " 1: ret",
	  "", 0, 0, 0, 9, 0 },
	{ "jrcxz", "jrcxz 1f; mov $1, %eax; " FAR " 1: ret", "",
	  CODE_NOT_RELOCATABLE, 0, 0, 0, 0 },
	{ "data", "mov v(%rip), %eax; ret",
	  ".pushsection .data; v: .long 7; .popsection;", 0, 0, 0, 6, 0 },
	{ "an early call", "call g; ret", "", 0, 0, true, 5, 0 },
	{ "an early call of a function that returns at once", "call h; ret",
	  FUNCTION("h", "ret"), 0, 0, true, 5, 0 },
	{ "an early call that is a retpoline",
	  "call 2f; 1: pause; jmp 1b; 2: mov %rax, (%rsp); ret", "",
	  CODE_UNDECODED, 0, 0, 0, 0 },
	{ "a symbol within", "xor %eax, %eax; inner: inc %eax; inc %eax; ret",
	  ".globl inner; .hidden inner; .type inner, @function;",
	  CODE_ENTERED_WITHIN, 0, 0, 0, 0 },
	{ "a table relative to a label",
	  "xor %ecx, %ecx; 1: nop; nop; nop; lea 1b(%rip), %rdx;"
	  "lea t(%rip), %rcx;"
	  "movslq (%rcx, %rdi, 4), %rax; add %rdx, %rax; jmp *%rax;"
	  ".pushsection .rodata; t: .long 2f - 1b, 0; .popsection; 2: ret",
	  "", CODE_ENTERED_WITHIN, 0, 0, 0, 0 },
	{ "so many tables and labels that not all are read",
	  "mov $1, %eax;" FAR "1: .rept 16; lea 1b(%rip), %rdx; .endr;"
	  ".rept 1000; lea t(%rip), %rcx; .endr; jmp *%rax",
	  FUNCTION("h", "ret; t: .skip 16000; .long 0x7fffffff"),
	  CODE_UNDECODED, 0, 0, 0, 0 },
	{ "a label at its start",
	  "mov $1, %eax; lea t(%rip), %rcx; jmp *(%rcx, %rdi, 8); ret",
	  ".pushsection .data; t: .quad f; .popsection;", CODE_ENTERED_WITHIN,
	  0, 0, 0, 0 },
	{ "an early call of an import", "call puts@PLT; ret", "",
	  CODE_CALLS_EARLY, 0, 0, 0, 0 },
	{ "an early call through a pointer", "call *8(%rdi); nop; nop; ret", "",
	  CODE_CALLS_EARLY, 0, 0, 0, 0 },
	{ "an argument on the stack", "mov 8(%rsp), %rax; ret", "", 0, 1, 0, 5,
	  0 },
	{ "the most arguments", "mov 128(%rsp), %rax; ret", "", 0, 16, 0, 8,
	  0 },
	{ "too many", "mov 136(%rsp), %rax; ret", "", CODE_ARGUMENTS, 0, 0, 0,
	  0 },
	{ "arguments in its frame",
	  DOWN("40") "mov 40(%rsp), %eax;" UP("40") "ret", "",
	  CODE_READS_RETURN, 0, 0, 0, 0 },
	{ "locals in its frame",
	  DOWN("40") "mov 32(%rsp), %eax;" UP("40") "ret", "", 0, 0, 0, 8, 0 },
	{ "the address of arguments", "lea 8(%rsp), %rax; ret", "",
	  CODE_ARGUMENTS, 0, 0, 0, 0 },
	{ "an index into arguments", "mov 8(%rsp, %rdi, 8), %rax; ret", "",
	  CODE_ARGUMENTS, 0, 0, 0, 0 },
	{ "an index with a negative distance",
	  "mov -8(%rsp, %rdi, 8), %rax; ret", "", CODE_ARGUMENTS, 0, 0, 0, 0 },
	{ "the address of its return address",
	  "lea (%rsp), %rax; inc %eax; ret", "", CODE_ARGUMENTS, 0, 0, 0, 0 },
	{ "a copy of its stack pointer", "mov %rsp, %rax; nop; nop; ret", "",
	  CODE_ARGUMENTS, 0, 0, 0, 0 },
	{ "a return that removes arguments", "mov $1, %eax; ret $8", "",
	  CODE_READS_RETURN, 0, 0, 0, 0 },
	{ "code that continues in the next function",
	  "mov $1, %eax; test %edi, %edi",
	  FUNCTION("h", "lea 8(%rsp), %rax; ret"), CODE_ARGUMENTS, 0, 0, 0, 0 },
	{ "va_start()",
	  "test %al, %al; je 1f; " FAR " 1: lea 8(%rsp), %rax; ret", "",
	  CODE_VARIABLE_ARGUMENTS, 0, 0, 0, 0 },
	{ "its return address", "mov (%rsp), %rax; mov $1, %ecx; ret", "",
	  CODE_READS_RETURN, 0, 0, 0, 0 },
	{ "popping it", "pop %rcx; mov $1, %eax; jmp *%rcx", "",
	  CODE_READS_RETURN, 0, 0, 0, 0 },
	{ "a barrier", "lock orq $0, (%rsp); ret", "", 0, 0, 0, 6, 0 },
	{ "another stack", "mov %rdi, %rsp; mov $1, %eax; jmp *%rsi", "",
	  CODE_SWITCHES_STACK, 0, 0, 0, 0 },
	{ "another stack by xchg",
	  "mov %rdi, %rax; xchg %rax, %rsp; xchg %rax, %rsp; ret", "",
	  CODE_SWITCHES_STACK, 0, 0, 0, 0 },
	{ "the end of a frame",
	  "push %rbp; .cfi_def_cfa_offset 16; .cfi_offset %rbp, -16;"
	  "mov %rsp, %rbp; .cfi_def_cfa_register %rbp; sub %rdi, %rsp;"
	  "mov %rbp, %rsp; pop %rbp; .cfi_def_cfa %rsp, 8; ret",
	  "", 0, 0, 0, 7, 0 },
	{ "a jump to anything", "mov $1, %eax; jmp *%rdi", "", 0, 16, true, 5,
	  0 },
	{ "a jump to an import", "mov $1, %eax; jmp puts@PLT", "", 0, 16, true,
	  5, 0 },
	{ "a jump to dlsym()", "mov $1, %eax; jmp dlsym@PLT", "",
	  CODE_READS_RETURN, 0, 0, 0, 0 },
	{ "a jump to a function with arguments", "mov $1, %eax; jmp h",
	  FUNCTION("h", "mov $1, %eax; jmp i")
		  FUNCTION("i", "mov 16(%rsp), %rax; ret"),
	  0, 2, 0, 5, 0 },
	{ "a jump to va_start()", "mov $1, %eax; jmp h",
	  FUNCTION("h", "lea 8(%rsp), %rax; ret"), CODE_ARGUMENTS, 0, 0, 0, 0 },
	{ "a stack that may be aligned to 32",
	  DOWN("24") "call g;" UP("24") "ret", "", 0, 0, true, 9, 0 },
	{ "a stack that is aligned to 16",
	  DOWN("8") "mov $1, %edi; call g;" UP("8") "ret", "", 0, 0, false, 9,
	  0 },
	{ "wide vectors", "vmovdqa %ymm0, %ymm1; nop; ret", "", 0, 0, true, 5,
	  0 },
	{ "no code", "mov $1, %eax; .byte 6; ret", "", CODE_UNDECODED, 0, 0, 0,
	  0 },
	{ "an unusual frame",
	  "nop; .cfi_escape 0x0f, 3, 0x77, 8, 6; mov $1, %eax; ret", "",
	  CODE_ODD_FRAME, 0, 0, 0, 0 },
};

static void forget(void)
{
	code_plan_free(&g_plan);
}

FIXTURE(NULL, forget);

TEST(moves_are_decided_by_what_the_code_does, EACH(0, ARRAY_SIZE(rows)))
{
	const struct row *row = &rows[_i];
	const struct code_function *function;
	const struct code_move *move;
	char code[2048];

	/* f is the first function of the file. */
	snprintf(code, sizeof(code),
		 FUNCTION("f", "%s") "%s" FUNCTION("g", "mov $2, %%eax; ret"),
		 row->body, row->more);
	plan_code(code);
	ck_assert_uint_gt(g_plan->function_count, 1);
	function = &g_plan->functions[0];
	ck_assert_msg(function->refused == row->refused, "%s: %s", row->what,
		      code_refusal_text(function->refused));
	move = code_moves_find(&g_plan->moves, function->address);
	ck_assert_msg(!move == (row->refused != 0), "%s", row->what);
	if (!move)
		return;
	ck_assert_msg(move->arguments == row->arguments &&
			      move->is_wide == row->is_wide &&
			      move->displaced == row->displaced &&
			      move->before == row->before,
		      "%s: %u words, wide %u, %u bytes behind %u", row->what,
		      move->arguments, move->is_wide, move->displaced,
		      move->before);
	ck_assert_uint_eq(function->count, 1);
	ck_assert_uint_eq(
		g_plan->sites[g_plan->function_sites[function->first]].address,
		function->address + move->before);
}

/* A piece without a name, to which only f() jumps. */
#define NAMELESS(align)                                    \
	FUNCTION("f", "mov $1, %eax; jmp .Lh")             \
	".p2align 4;" align ".Lh: .cfi_startproc; mov $1," \
	"%eax; ret; .cfi_endproc;"

TEST(moves_refuse_what_may_be_a_function_or_a_part)
{
	plan_code(NAMELESS(""));
	ck_assert_uint_eq(g_plan->function_count, 2);
	ck_assert_uint_eq(g_plan->functions[1].refused, CODE_ONLY_JUMPED_TO);
	ck_assert_uint_eq(g_plan->moves.count, 1);
}

TEST(moves_take_what_is_not_aligned_for_a_part)
{
	plan_code(NAMELESS("nop;"));
	ck_assert_uint_eq(g_plan->function_count, 1);
}

TEST(moves_are_of_functions_only)
{
	plan_code(FUNCTION("f", "mov $1, %eax; jmp f.cold")
			  FUNCTION("f.cold", "mov $1, %eax; ret") FUNCTION(
				  "outermost",
				  ".cfi_undefined %rip;"
				  "mov $1, %eax; hlt") ".globl bare; bare: mov "
						       "$1, %eax; ret;");
	ck_assert_uint_eq(g_plan->function_count, 1);
	ck_assert_uint_eq(g_plan->moves.count, 1);
}

/* A body of six bytes, without a target in the file, ends in a jump back. */
TEST(moves_have_their_bodies_and_frames)
{
	const struct code_move *move;
	const uint8_t *bytes;
	struct code_fix fix;

	plan_code(FUNCTION("f", "push %rbx; .cfi_adjust_cfa_offset 8;"
				".cfi_offset %rbx, -16; mov $7, %ebx;"
				"mov %ebx, %eax; pop %rbx;"
				".cfi_adjust_cfa_offset -8; ret"));
	ck_assert_uint_eq(g_plan->moves.count, 1);
	move = &g_plan->moves.list[0];
	bytes = code_move_bytes(&g_plan->moves, move);
	ck_assert_mem_eq(bytes, "\x53\xbb\x07\x00\x00\x00", 6);
	ck_assert_uint_eq(move->body, 11);
	ck_assert_mem_eq(bytes + 6, "\x53\xbb\x07\x00\x00\x00\xe9", 7);
	/* advance 1; def_cfa_offset 16; offset 3 (rbx), 2 */
	ck_assert_uint_eq(move->frame, 5);
	ck_assert_mem_eq(bytes + 17, "\x41\x0e\x10\x83\x02", 5);
	ck_assert_uint_eq(move->fixes, 1);
	memcpy(&fix, bytes + 22, sizeof(fix));
	ck_assert_uint_eq(fix.target, move->address + 6);
	ck_assert_uint_eq(fix.at, 7);
	ck_assert_uint_eq(fix.next, 11);
}

TEST(moves_survive_packing_and_nothing_else_is_unpacked)
{
	struct code_plan *other;
	struct bytes bytes = { 0 };
	uint64_t state = 1;

	plan_code(FUNCTION("f", "mov v(%rip), %eax; ret") FUNCTION(
		"g", "push %rbx; .cfi_adjust_cfa_offset 8; mov $2, %eax;"
		     "pop %rbx; .cfi_adjust_cfa_offset -8; ret") ".data; v: "
								 ".long 1;");
	code_pack(g_plan, &bytes);
	ck_assert_int_eq(code_unpack(bytes.at, bytes.count, &other), 0);
	ck_assert_uint_eq(other->moves.count, 2);
	ck_assert_mem_eq(other->moves.bytes, g_plan->moves.bytes,
			 g_plan->moves.byte_count);
	ck_assert_ptr_nonnull(
		code_moves_find(&other->moves, g_plan->moves.list[1].address));
	ck_assert_ptr_null(code_moves_find(&other->moves,
					   g_plan->moves.list[1].address + 1));
	code_plan_free(&other);
	/* Whatever is unpacked can be used. */
	for (int i = 0; i < 20000; i++) {
		uint8_t *at =
			(uint8_t *)bytes.at + next_random(&state) % bytes.count;
		uint8_t before = *at;

		*at = (uint8_t)next_random(&state);
		if (!code_unpack(bytes.at, bytes.count, &other))
			ck_assert(code_moves_hold(&other->moves));
		code_plan_free(&other);
		*at = before;
	}
	bytes_release(&bytes);
}

/* The library that plan_code() has made, in this process, with a thunk area. */
struct loaded {
	void *library;
	uint64_t bias;
	uint8_t *map;
	struct thunk_area *area;
	struct patch_image *image;
	ino_t area_inode;
};

static void load(struct loaded *out)
{
	struct thunk_shim shim = rig_shim();
	int fd = rig_memfd(thunk_area_bytes(FUNCTIONS_USUAL), RIG_SEALS);
	struct link_map *link;
	struct stat status;

	out->library = dlopen("./code.so", RTLD_NOW | RTLD_LOCAL);
	ck_assert_ptr_nonnull(out->library);
	ck_assert_int_eq(dlinfo(out->library, RTLD_DI_LINKMAP, &link), 0);
	out->bias = link->l_addr;
	ck_assert_int_eq(fstat(fd, &status), 0);
	out->area_inode = status.st_ino;
	ck_assert_int_eq(thunk_area_map(fd, FUNCTIONS_USUAL, &shim, &out->area),
			 0);
	/* Below the library there may be others, and memory of a sanitizer. */
	out->map = MAP_FAILED;
	for (uint64_t gap = 64u << 20;
	     out->map == MAP_FAILED && gap < 1800u << 20; gap += 64u << 20)
		out->map = rig_map(fd, (void *)(uintptr_t)out->bias, gap);
	ck_assert_ptr_ne(out->map, MAP_FAILED);
	close(fd);
	out->image = patch_image_new(out->area, getpid(),
				     patch_mem_open(getpid(), getuid()), false);
	ck_assert_int_eq(patch_module_add(out->image, g_plan, out->bias, 0), 0);
}

static void unload(struct loaded *loaded)
{
	patch_image_free(loaded->image);
	munmap(loaded->map, thunk_area_bytes(FUNCTIONS_USUAL));
	thunk_area_unmap(loaded->area);
	dlclose(loaded->library);
}

/* f() returns 7, as g() does. */
#define TWO_FUNCTIONS                           \
	FUNCTION("f", "mov $7, %eax; nop; ret") \
	FUNCTION("g", "mov $7, %eax; nop; ret")

static uint8_t *code_of(const struct loaded *loaded, int function)
{
	return (uint8_t *)(loaded->bias + g_plan->functions[function].address);
}

TEST(moves_are_written_while_the_program_waits_and_not_later, EACH(0, 3))
{
	const uint32_t waits = 0, left = PAGE_UNHELD;
	const struct patch_hold holds[] = { { &waits, PAGE_UNHELD, 0 },
					    { &left, PAGE_UNHELD, 0 } };
	const struct patch_hold *held[] = { &holds[0], &holds[1], NULL };
	struct patch_function list[] = { { .function = 0, .number = 1 },
					 { .function = 1, .number = 2 } };
	struct loaded loaded;
	uint8_t plain[7];

	plan_code(TWO_FUNCTIONS);
	ck_assert_uint_eq(g_plan->function_count, 2);
	load(&loaded);
	memcpy(plain, code_of(&loaded, 0), sizeof(plain));
	ck_assert_uint_eq(
		patch_connect(loaded.image, list, ARRAY_SIZE(list), held[_i]),
		_i ? 0 : ARRAY_SIZE(list));
	for (int i = 0; i < 2; i++) {
		const uint8_t *code = code_of(&loaded, i);

		ck_assert_int_eq(list[i].reason, _i ? PATCH_RUNS : PATCH_DONE);
		ck_assert(patch_is_connected(loaded.image, list[i].number) ==
			  !_i);
		ck_assert_uint_eq(code[0], _i ? plain[0] : 0xe9);
		ck_assert(!memcmp(code, plain, sizeof(plain)) == (_i > 0));
		/* Its thunk is muted, or it has none. */
		ck_assert_int_eq(((int (*)(void))(uintptr_t)code)(), 7);
	}
	ck_assert_int_eq(patch_restore(loaded.image), 0);
	unload(&loaded);
}

TEST(moves_show_unwinders_what_was_written)
{
	struct patch_function function = { .number = 1 };
	const uint32_t waits = 0;
	const struct patch_hold hold = { &waits, PAGE_UNHELD, 0 };
	const uint64_t thunk = THUNK_CODE + THUNK_BYTES;
	const uint64_t frames = thunk_frame(FUNCTIONS_USUAL, 1);
	uint8_t before[THUNK_FRAME_BYTES], after[sizeof(before)];
	struct thunk_place place, again;
	struct loaded loaded;
	uint8_t *area;

	plan_code(TWO_FUNCTIONS);
	load(&loaded);
	patch_connect(loaded.image, &function, 1, &hold);
	ck_assert_int_eq(function.reason, PATCH_DONE);
	memcpy(before, loaded.map + frames, sizeof(before));
	ck_assert(thunk_area_place(loaded.area_inode, thunk + THUNK_MOVED_BODY,
				   &place));
	ck_assert_uint_eq(place.function, (uintptr_t)code_of(&loaded, 0));
	/* The program overwrites all. */
	area = mremap(loaded.map, 0, thunk_area_bytes(FUNCTIONS_USUAL),
		      MREMAP_MAYMOVE);
	ck_assert_ptr_ne(area, MAP_FAILED);
	ck_assert_int_eq(mprotect(area, thunk_area_bytes(FUNCTIONS_USUAL),
				  PROT_READ | PROT_WRITE),
			 0);
	memset(area + THUNK_MODES, 0x5a, 4096);
	memset(area + THUNK_FRAMES, 0x5a, 4096);
	memset(area + thunk, 0x5a, THUNK_BYTES);
	memset(area + thunk_frame(FUNCTIONS_USUAL, 0), 0x5a,
	       2 * THUNK_FRAME_BYTES);
	ck_assert(thunk_area_read(loaded.area_inode, frames, after,
				  sizeof(after)));
	ck_assert_mem_eq(before, after, sizeof(before));
	ck_assert(thunk_area_place(loaded.area_inode, thunk + THUNK_MOVED_BODY,
				   &again));
	ck_assert_uint_eq(again.function, place.function);
	ck_assert_uint_eq(again.frame, place.frame);
	ck_assert_uint_eq(again.code, place.code);
	ck_assert(thunk_area_read(loaded.area_inode,
				  thunk_frame(FUNCTIONS_USUAL, 0), after, 12));
	ck_assert_mem_eq(after + 8, "\1zR", 4);
	ck_assert(!thunk_area_place(loaded.area_inode, thunk + THUNK_BYTES,
				    &again));
	munmap(area, thunk_area_bytes(FUNCTIONS_USUAL));
	unload(&loaded);
}

TEST(moves_leave_a_file_with_hooks_alone)
{
	plan_code(FUNCTION("f", "lea f(%rip), %rdi;"
				"call __cyg_profile_func_enter@PLT;"
				"lea f(%rip), %rdi;"
				"jmp __cyg_profile_func_exit@PLT")
			  FUNCTION("g", "mov $2, %eax; ret"));
	ck_assert_uint_eq(g_plan->moves.count, 0);
	ck_assert_uint_eq(g_plan->function_count, 1);
}

/* g() has the address of its arguments, so it keeps its sites. */
TEST(moves_take_an_entry_build_and_leave_its_other_functions_their_sites)
{
	const struct code_move *move;
	const uint8_t *bytes;
	struct code_plan *again;
	struct bytes packed = { 0 };

	plan_code(STUB FUNCTION("f", "endbr64; 1: .byte 0x67; call stub;"
				     "mov $1, %eax;" NOP "ret")
			  FUNCTION("g",
				   "2: call stub; lea 8(%rsp), %rax;" NOP "ret")
				  ENTRIES(".long 1b - .; .long 2b - ."));
	ck_assert(!g_plan->is_moved);
	ck_assert_uint_eq(g_plan->function_count, 2);
	ck_assert(!g_plan->functions[0].refused);
	ck_assert(!g_plan->functions[1].refused);
	ck_assert(code_plan_moves(g_plan, &g_plan->functions[0]));
	ck_assert(!code_plan_moves(g_plan, &g_plan->functions[1]));
	ck_assert_uint_eq(g_plan->moves.count, 1);
	move = &g_plan->moves.list[0];
	ck_assert_uint_eq(move->before, 4);
	ck_assert_uint_eq(move->displaced, 6);
	ck_assert_uint_eq(move->is_wide, 0);
	/* Only the jump back. */
	bytes = code_move_bytes(&g_plan->moves, move) + move->displaced;
	ck_assert_uint_eq(move->body, 5);
	ck_assert_uint_eq(bytes[0], 0xe9);
	ck_assert_uint_eq(g_plan->site_count, 3);
	ck_assert_uint_eq(g_plan->sites[0].form, CODE_MOVED);
	ck_assert_uint_eq(g_plan->sites[1].form, CODE_ENTRY_CALL);
	ck_assert_uint_eq(g_plan->sites[2].form, CODE_EXIT_RETURN);

	code_pack(g_plan, &packed);
	ck_assert_int_eq(code_unpack(packed.at, packed.count, &again), 0);
	ck_assert_uint_eq(again->moves.count, 1);
	code_plan_free(&again);
	bytes_release(&packed);
}

#endif

SUITE(scratch_enter, scratch_leave);
