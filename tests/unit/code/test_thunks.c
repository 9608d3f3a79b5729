/* SPDX-License-Identifier: Apache-2.0
 *
 * Runs the thunks in this process, from two mappings.
 */
#include "collector/code/thunks.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <ucontext.h>

#include "tests/suite.h"

#if defined(__x86_64__)

#include "tests/unit/thunk_rig.h"

#define CALLS 7u /* function numbers of both kinds of builds */
#define ENTRY 8u
#define FUNCTION 0x1234567890abu
#define SITE 0xfedcba98u

static int g_fd;
static struct thunk_area *g_area;
static uint8_t *g_map[2];

static void setup(void)
{
	struct thunk_shim shim = rig_shim();

	g_fd = rig_memfd(thunk_area_bytes(FUNCTIONS_USUAL), RIG_SEALS);
	ck_assert_int_ge(g_fd, 0);
	ck_assert_int_eq(thunk_area_map(g_fd, FUNCTIONS_USUAL, &shim, &g_area),
			 0);
	for (int i = 0; i < 2; i++) {
		g_map[i] = rig_map(g_fd, setup, (uint64_t)(i + 1) << 26);
		ck_assert_ptr_ne(g_map[i], MAP_FAILED);
	}
	ck_assert_int_eq(thunk_area_add(g_area, CALLS, FUNCTION, THUNK_CALLS),
			 0);
	ck_assert_int_eq(thunk_area_add(g_area, ENTRY, FUNCTION, THUNK_ENTRY),
			 0);
	rig_reset();
}

static void teardown(void)
{
	for (int i = 0; i < 2; i++)
		munmap(g_map[i], thunk_area_bytes(FUNCTIONS_USUAL));
	thunk_area_unmap(g_area);
	close(g_fd);
}

static void *thunk(int map, uint32_t number, uint32_t offset)
{
	return g_map[map] + THUNK_CODE + number * (uint64_t)THUNK_BYTES +
	       offset;
}

typedef void hook(uint64_t function, uint64_t site);

static void enter(int map)
{
	((hook *)thunk(map, CALLS, 0))(FUNCTION, SITE);
}

static void leave(int map)
{
	((hook *)thunk(map, CALLS, THUNK_EXIT))(FUNCTION, SITE);
}

/* --- files --------------------------------------------------------------- */

FIXTURE(setup, teardown);

TEST(thunks_of_other_files_are_refused)
{
	static const int seals[] = { 0, F_SEAL_SHRINK, F_SEAL_GROW };
	struct thunk_shim shim = rig_shim();
	struct thunk_area *area = NULL;
	int fds[2];
	int fd;

	for (size_t i = 0; i < ARRAY_SIZE(seals); i++) {
		fd = rig_memfd(thunk_area_bytes(FUNCTIONS_USUAL), seals[i]);
		ck_assert_int_eq(
			thunk_area_map(fd, FUNCTIONS_USUAL, &shim, &area),
			-EINVAL);
		close(fd);
	}
	fd = rig_memfd(thunk_area_bytes(FUNCTIONS_USUAL) - 4096, RIG_SEALS);
	ck_assert_int_eq(thunk_area_map(fd, FUNCTIONS_USUAL, &shim, &area),
			 -EINVAL);
	close(fd);
	ck_assert_int_eq(pipe(fds), 0);
	ck_assert_int_eq(thunk_area_map(fds[1], FUNCTIONS_USUAL, &shim, &area),
			 -EINVAL);
	close(fds[0]);
	close(fds[1]);
	ck_assert_int_eq(
		thunk_area_map(g_fd, FUNCTIONS_USUAL + 128, &shim, &area),
		-EINVAL);
	ck_assert_int_eq(thunk_area_map(-1, FUNCTIONS_USUAL, &shim, &area),
			 -EINVAL);
	ck_assert_ptr_null(area);
}

/* A file with a path may shrink at any time, and the file system may be full. */
TEST(thunks_of_a_file_with_a_path_are_only_written)
{
	char path[] = "/dev/shm/perfrec-test-XXXXXX";
	const uint64_t bytes = thunk_area_bytes(FUNCTIONS_USUAL);
	const uint64_t slot = THUNK_CODE + CALLS * (uint64_t)THUNK_BYTES;
	struct rlimit limit, small;
	struct thunk_shim shim = rig_shim();
	uint8_t known[THUNK_BYTES], found[THUNK_BYTES];
	struct thunk_area *area;
	struct stat status;
	int fd = mkstemp(path);

	ck_assert_int_ge(fd, 0);
	unlink(path);
	ck_assert_int_eq(ftruncate(fd, (off_t)bytes), 0);
	ck_assert_int_eq(thunk_area_map(fd, FUNCTIONS_USUAL, &shim, &area), 0);
	for (uint32_t number = CALLS; number <= ENTRY; number++)
		ck_assert_int_eq(thunk_area_add(area, number, FUNCTION,
						number == CALLS ? THUNK_CALLS
								: THUNK_ENTRY),
				 0);
	thunk_area_choose(area, CALLS, THUNK_RECORD);
	thunk_area_choose(g_area, CALLS, THUNK_RECORD);
	ck_assert_int_eq(pread(g_fd, known, sizeof(known), (off_t)slot),
			 sizeof(known));
	ck_assert_int_eq(pread(fd, found, sizeof(found), (off_t)slot),
			 sizeof(found));
	ck_assert_mem_eq(found, known, sizeof(known));
	ck_assert_int_eq(fstat(fd, &status), 0);
	memset(found, 0, sizeof(found));
	ck_assert(thunk_area_read(status.st_ino, slot, found, sizeof(found)));
	ck_assert_mem_eq(found, known, sizeof(known));
	ck_assert_int_eq(ftruncate(fd, 4096), 0);
	ck_assert(!thunk_area_read(status.st_ino, slot, found, sizeof(found)));

	/* Writes fail from here on. */
	signal(SIGXFSZ, SIG_IGN);
	ck_assert_int_eq(getrlimit(RLIMIT_FSIZE, &limit), 0);
	small = limit;
	small.rlim_cur = 4096;
	ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &small), 0);
	thunk_area_choose(area, CALLS, THUNK_COUNT);
	for (uint32_t number = 20; number < 22; number++)
		ck_assert_int_eq(
			thunk_area_add(area, number, FUNCTION, THUNK_CALLS),
			-ENOSPC);
	ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
	thunk_area_unmap(area);
	close(fd);
}

TEST(thunks_that_a_program_cannot_have_are_refused)
{
	struct thunk_shim none = { 0 }, far = rig_shim(), wild = rig_shim();
	struct thunk_area *area;

	far.epoch = (int64_t)1 << 31;
	wild.counts = INT64_MIN;
	ck_assert_int_eq(thunk_area_map(g_fd, FUNCTIONS_USUAL, &none, &area),
			 -EINVAL);
	ck_assert_int_eq(thunk_area_map(g_fd, FUNCTIONS_USUAL, &far, &area),
			 -EINVAL);
	ck_assert_int_eq(thunk_area_map(g_fd, FUNCTIONS_USUAL, &wild, &area),
			 -EINVAL);
}

/* Both templates end before these bytes. A hostile program may still claim to
 * run there. */
#define LAST_BYTES 64u

TEST(thunks_fill_their_slots)
{
	static const uint32_t numbers[] = { CALLS, ENTRY };

	for (size_t i = 0; i < ARRAY_SIZE(numbers); i++)
		for (uint32_t at = THUNK_BYTES - LAST_BYTES; at < THUNK_BYTES;
		     at++) {
			const uint8_t *byte = thunk(0, numbers[i], at);

			ck_assert_uint_eq(*byte, 0xcc);
			ck_assert_uint_le(thunk_pushed(THUNK_CODE + at), 8);
		}
}

TEST(thunks_of_a_number_are_those_of_one_function)
{
	ck_assert_int_eq(thunk_area_add(g_area, CALLS, FUNCTION, THUNK_CALLS),
			 0);
	ck_assert_int_eq(thunk_area_add(g_area, CALLS, FUNCTION, THUNK_ENTRY),
			 -EINVAL);
	ck_assert_int_eq(thunk_area_add(g_area, CALLS, 1, THUNK_CALLS),
			 -EINVAL);
	ck_assert_int_eq(thunk_area_add(g_area, 0, FUNCTION, THUNK_CALLS),
			 -EINVAL);
	ck_assert_int_eq(
		thunk_area_add(g_area, FUNCTIONS_USUAL, FUNCTION, THUNK_CALLS),
		-EINVAL);
	ck_assert_int_eq(thunk_area_add(g_area, FUNCTIONS_USUAL - 1, FUNCTION,
					THUNK_CALLS),
			 0);
}

/* --- calls builds -------------------------------------------------------- */

TEST(thunks_count_each_call_and_record_none_of_it)
{
	for (int i = 0; i < 1000; i++) {
		enter(i % 2);
		leave((i + 1) % 2);
	}
	ck_assert_uint_eq(g_cells[CALLS].calls, 1000);
	ck_assert_uint_eq(g_cells[CALLS].recorded, 0);
	ck_assert_uint_eq(g_rig_seen.enters + g_rig_seen.exits, 0);
	ck_assert_uint_eq(g_cells[CALLS - 1].calls, 0);
	ck_assert_uint_eq(g_cells[CALLS + 1].calls, 0);
}

TEST(thunks_go_to_the_hooks_with_their_arguments)
{
	thunk_area_choose(g_area, CALLS, THUNK_RECORD);
	ck_assert_uint_eq(thunk_area_path(g_area, CALLS), THUNK_RECORD);
	enter(0);
	ck_assert_uint_eq(g_rig_seen.enters, 1);
	ck_assert_uint_eq(g_rig_seen.function, FUNCTION);
	ck_assert_uint_eq(g_rig_seen.site, SITE);
	ck_assert_uint_eq(g_cells[CALLS].recorded, 1);
	memset(&g_rig_seen, 0, sizeof(g_rig_seen));
	leave(1);
	ck_assert_uint_eq(g_rig_seen.exits, 1);
	ck_assert_uint_eq(g_rig_seen.function, FUNCTION);
	ck_assert_uint_eq(g_rig_seen.site, SITE);
	ck_assert_uint_eq(g_cells[CALLS].recorded, 0);
}

/* The collector chooses this path while no recorded call is open. */
TEST(thunks_that_only_count_leave_the_bits_alone)
{
	thunk_area_choose(g_area, CALLS, THUNK_RECORD);
	enter(0);
	leave(0);
	thunk_area_choose(g_area, CALLS, THUNK_COUNT);
	ck_assert_uint_eq(thunk_area_path(g_area, CALLS), THUNK_COUNT);
	for (int i = 0; i < 100; i++)
		enter(i % 2);
	/* Stale bits of other calls. */
	g_cells[CALLS].recorded = 5;
	enter(0);
	ck_assert_uint_eq(g_cells[CALLS].recorded, 5);
	ck_assert_uint_eq(g_cells[CALLS].calls, 102);
	ck_assert_uint_eq(g_rig_seen.enters, 1);
	thunk_area_choose(g_area, CALLS, THUNK_DRAIN);
	enter(1);
	ck_assert_uint_eq(g_cells[CALLS].recorded, 10);
	ck_assert_uint_eq(g_cells[CALLS].calls, 103);
	ck_assert_uint_eq(g_rig_seen.enters, 1);
}

TEST(thunks_end_those_calls_whose_begin_was_recorded)
{
	uint64_t bits = 0x9d3fa6c2715be084u;

	for (int i = 0; i < 64; i++) {
		thunk_area_choose(g_area, CALLS,
				  bits >> i & 1 ? THUNK_RECORD : THUNK_DRAIN);
		enter(0);
		ck_assert_uint_eq(g_cells[CALLS].recorded & 1, bits >> i & 1);
	}
	for (int i = 63; i >= 0; i--) {
		uint64_t exits = g_rig_seen.exits;

		thunk_area_choose(g_area, CALLS,
				  i % 3 ? THUNK_RECORD : THUNK_DRAIN);
		leave(1);
		ck_assert_uint_eq(g_rig_seen.exits - exits, bits >> i & 1);
	}
}

TEST(thunks_deeper_than_64_calls_repeat_the_oldest)
{
	thunk_area_choose(g_area, CALLS, THUNK_RECORD);
	for (int i = 0; i < 1000; i++)
		enter(0);
	for (int i = 0; i < 1000; i++)
		leave(0);
	ck_assert_uint_eq(g_rig_seen.enters, 1000);
	ck_assert_uint_eq(g_rig_seen.exits, 1000);
}

/* A thread without counts of its own process must not count. */
TEST(thunks_without_counts_take_the_general_path)
{
	thunk_area_choose(g_area, CALLS, THUNK_RECORD);
	g_cells[CALLS].recorded = 1;
	g_count_epoch = 0;
	enter(0);
	leave(0);
	ck_assert_uint_eq(g_rig_seen.generals, 1);
	ck_assert_uint_eq(g_rig_seen.r11, CALLS);
	g_count_epoch = RIG_EPOCH;
	t_counts = NULL;
	enter(1);
	leave(1);
	ck_assert_uint_eq(g_rig_seen.generals, 2);
	ck_assert_uint_eq(g_rig_seen.enters + g_rig_seen.exits, 0);
	ck_assert_uint_eq(g_cells[CALLS].calls, 0);
	ck_assert_uint_eq(g_cells[CALLS].recorded, 1);
}

/* --- reaching them ------------------------------------------------------- */

TEST(thunks_are_reached_by_operand_and_by_pointer)
{
	for (int i = 0; i < 2; i++) {
		uint64_t map = (uintptr_t)g_map[i];
		uint64_t next = (uintptr_t)setup;
		int32_t operand;

		ck_assert(thunk_area_operand(g_area, map, CALLS,
					     THUNK_SIDE_EXIT, false, next,
					     &operand));
		ck_assert_ptr_eq((void *)(next + (uint64_t)(int64_t)operand),
				 thunk(i, CALLS, THUNK_EXIT));
		for (int exit = 0; exit < 2; exit++) {
			ck_assert(thunk_area_operand(g_area, map, CALLS,
						     exit ? THUNK_SIDE_EXIT
							  : THUNK_SIDE_ENTRY,
						     true, next, &operand));
			ck_assert_ptr_eq(
				*(void **)(next + (uint64_t)(int64_t)operand),
				thunk(i, CALLS, exit ? THUNK_EXIT : 0));
		}
	}
}

TEST(thunks_out_of_reach_are_not_reached)
{
	uint64_t map = (uintptr_t)g_map[0];
	uint64_t far[] = { map + (1ull << 31) +
				   thunk_area_bytes(FUNCTIONS_USUAL),
			   map - (1ull << 31), 0 };
	int32_t operand;

	for (size_t i = 0; i < ARRAY_SIZE(far); i++)
		for (int memory = 0; memory < 2; memory++)
			ck_assert(!thunk_area_operand(g_area, map, CALLS,
						      THUNK_SIDE_ENTRY, memory,
						      far[i], &operand));
	ck_assert(!thunk_area_operand(g_area, map, CALLS + 10, THUNK_SIDE_ENTRY,
				      false, map, &operand));
	ck_assert(!thunk_area_operand(g_area, 0, CALLS, THUNK_SIDE_ENTRY, false,
				      4096, &operand));
}

TEST(thunks_of_large_programs_have_more_numbers_without_pointers)
{
	struct thunk_shim shim = rig_shim();
	int fd = rig_memfd(thunk_area_bytes(FUNCTIONS_MAX), RIG_SEALS);
	const uint64_t map = 1ull << 40;
	struct thunk_area *area;
	int32_t operand;

	ck_assert_int_eq(thunk_area_map(fd, FUNCTIONS_MAX, &shim, &area), 0);
	ck_assert_int_eq(
		thunk_area_add(area, FUNCTIONS_MAX - 1, FUNCTION, THUNK_CALLS),
		0);
	ck_assert(thunk_area_operand(area, map, FUNCTIONS_MAX - 1,
				     THUNK_SIDE_ENTRY, false, map, &operand));
	ck_assert_int_eq(operand,
			 THUNK_CODE + (FUNCTIONS_MAX - 1) * THUNK_BYTES);
	ck_assert(!thunk_area_operand(area, map, FUNCTIONS_MAX - 1,
				      THUNK_SIDE_ENTRY, true, map, &operand));
	ck_assert_int_eq(
		thunk_area_add(area, FUNCTIONS_MAX, FUNCTION, THUNK_CALLS),
		-EINVAL);
	thunk_area_unmap(area);
	close(fd);
}

TEST(thunks_are_reached_from_an_area_s_size_before_the_end_of_reach)
{
	/* A program at a fixed address has its area here. */
	uint64_t map = (uintptr_t)g_map[0];
	uint64_t next = map + thunk_area_bytes(FUNCTIONS_USUAL) - INT32_MAX;
	int32_t operand;

	for (int memory = 0; memory < 2; memory++)
		ck_assert(thunk_area_operand(g_area, map, CALLS,
					     THUNK_SIDE_ENTRY, memory, next,
					     &operand));
	ck_assert(!thunk_area_operand(g_area, map, CALLS, THUNK_SIDE_ENTRY,
				      true, map + THUNK_CODE - INT32_MAX - 1,
				      &operand));
}

TEST(thunks_have_pointers_for_as_many_mappings_as_there_are_rows)
{
	int32_t operand;

	for (uint64_t i = 1; i <= THUNK_MAPS + 2; i++)
		ck_assert_int_eq(thunk_area_operand(g_area, i << 32, CALLS,
						    THUNK_SIDE_ENTRY, true,
						    i << 32, &operand),
				 i <= THUNK_MAPS);
	/* Existing pointers stay, and calls without pointers still work. */
	ck_assert(thunk_area_operand(g_area, 1ull << 32, CALLS, THUNK_SIDE_EXIT,
				     true, 1ull << 32, &operand));
	ck_assert(thunk_area_operand(g_area, 99ull << 32, CALLS,
				     THUNK_SIDE_EXIT, false, 99ull << 32,
				     &operand));
}

/* --- entry builds -------------------------------------------------------- */

/* All registers that may be live at a function's entry or exit. */
struct registers {
	uint64_t rax, rbx, rcx, rdx, rsi, rdi, rbp, r8, r9, r10, r11, r12, r13,
		r14, r15;
	uint64_t rsp; /* set: address of the call's return address */
	uint8_t vector[16][32];
	long double st0;
};

_Static_assert(offsetof(struct registers, vector) == 128 &&
		       offsetof(struct registers, st0) == 640,
	       "the code below relies on it");

void call_thunk(void *code, struct registers *registers, uint64_t has_avx);

#define EACH_GPR(op)                                                           \
	op(rbx, 8) op(rcx, 16) op(rdx, 24) op(rsi, 32) op(rdi, 40) op(rbp, 48) \
		op(r8, 56) op(r9, 64) op(r10, 72) op(r11, 80) op(r12, 88)      \
			op(r13, 96) op(r14, 104) op(r15, 112)
#define LOAD(name, at) "	movq	" #at "(%rax), %" #name "\n"
#define STORE(name, at) "	movq	%" #name ", " #at "(%rax)\n"

__asm__(".text\n"
	"call_thunk:\n"
	"	pushq	%rbx\n	pushq	%rbp\n	pushq	%r12\n"
	"	pushq	%r13\n	pushq	%r14\n	pushq	%r15\n"
	"	pushq	%rdx\n	pushq	%rsi\n	pushq	%rdi\n"
	"	movq	%rsi, %rax\n"
	"	leaq	-8(%rsp), %rcx\n"
	"	movq	%rcx, 120(%rax)\n"
	"	fldt	640(%rax)\n"
	"	testq	%rdx, %rdx\n"
	"	jz	1f\n"
	".irp	i, 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15\n"
	"	vmovdqu	128+32*\\i(%rax), %ymm\\i\n"
	".endr\n"
	"	jmp	2f\n"
	"1:\n"
	".irp	i, 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15\n"
	"	movdqu	128+32*\\i(%rax), %xmm\\i\n"
	".endr\n"
	"2:\n" EACH_GPR(
		LOAD) "	movq	0(%rax), %rax\n"
		      "	call	*(%rsp)\n"
		      "	pushq	%rax\n"
		      "	movq	16(%rsp), %rax\n" EACH_GPR(
			      STORE) "	popq	0(%rax)\n"
				     "	fstpt	640(%rax)\n"
				     "	cmpq	$0, 16(%rsp)\n"
				     "	je	1f\n"
				     ".irp	i, "
				     "0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15\n"
				     "	vmovdqu	%ymm\\i, 128+32*\\i(%rax)\n"
				     ".endr\n"
				     "	vzeroupper\n"
				     "	jmp	2f\n"
				     "1:\n"
				     ".irp	i, "
				     "0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15\n"
				     "	movdqu	%xmm\\i, 128+32*\\i(%rax)\n"
				     ".endr\n"
				     "2:	addq	$24, %rsp\n"
				     "	popq	%r15\n	popq	%r14\n	"
				     "popq	%r13\n"
				     "	popq	%r12\n	popq	%rbp\n	"
				     "popq	%rbx\n"
				     "	ret\n"
				     ".previous\n");

/* All registers have distinct values. Only r11 may change, unless @keeps_r11.
 * Returns the address of the return address. */
static uint64_t call_and_compare(void *code, bool keeps_r11)
{
	struct registers before, after;
	uint8_t *bytes = (uint8_t *)&before;

	for (size_t i = 0; i < sizeof(before); i++)
		bytes[i] = (uint8_t)(i * 37 + 11);
	before.st0 = 1.0L / 3;
	after = before;
	call_thunk(code, &after, (uint64_t)__builtin_cpu_supports("avx"));
	if (!keeps_r11)
		after.r11 = before.r11;
	before.rsp = after.rsp;
	ck_assert_mem_eq(&after, &before, offsetof(struct registers, st0) + 10);
	return after.rsp;
}

static const struct exit_thunk {
	uint32_t offset;
	bool keeps_r11;
	int deeper; /* bytes above the reported stack pointer */
} g_exit_thunks[] = {
	{ THUNK_EXIT, false, 0 },
	{ THUNK_EXIT_JUMP, false, 8 },
	{ THUNK_EXIT_R11, true, 8 },
};

TEST(thunks_of_entry_builds_keep_all_registers, EACH(0, 18))
{
	const struct exit_thunk *it = &g_exit_thunks[_i % 3];
	int map = _i / 3 % 2;
	bool records = _i / 6 == THUNK_RECORD;
	uint64_t rsp;

	thunk_area_choose(g_area, ENTRY, (enum thunk_path)(_i / 6));
	rsp = call_and_compare(thunk(map, ENTRY, 0), false);
	ck_assert_uint_eq(g_cells[ENTRY].calls, 1);
	ck_assert_uint_eq(g_cells[ENTRY].recorded, records);
	ck_assert_uint_eq(g_rig_seen.entry_enters, records);
	if (records) {
		ck_assert_uint_eq(g_rig_seen.r11, FUNCTION);
		ck_assert_uint_eq(g_rig_seen.rsp, rsp);
	}
	rsp = call_and_compare(thunk(1 - map, ENTRY, it->offset),
			       it->keeps_r11);
	ck_assert_uint_eq(g_cells[ENTRY].recorded, 0);
	ck_assert_uint_eq(g_rig_seen.entry_exits, records);
	if (records) {
		ck_assert_uint_eq(g_rig_seen.r11, FUNCTION);
		ck_assert_uint_eq(g_rig_seen.rsp, rsp - (uint64_t)it->deeper);
	}
	ck_assert_uint_eq(g_rig_seen.entry_generals, 0);
}

TEST(thunks_of_entry_builds_without_counts_take_the_general_path)
{
	thunk_area_choose(g_area, ENTRY, THUNK_RECORD);
	for (int i = 0; i < 2; i++) {
		rig_reset();
		g_cells[ENTRY].recorded = 1;
		if (i)
			t_counts = NULL;
		else
			t_epoch++;
		call_and_compare(thunk(0, ENTRY, 0), false);
		ck_assert_uint_eq(g_rig_seen.entry_generals, 1);
		ck_assert_uint_eq(g_rig_seen.r11, ENTRY);
		for (size_t k = 0; k < ARRAY_SIZE(g_exit_thunks); k++)
			call_and_compare(
				thunk(0, ENTRY, g_exit_thunks[k].offset),
				g_exit_thunks[k].keeps_r11);
		ck_assert_uint_eq(g_rig_seen.entry_exits, 0);
		ck_assert_uint_eq(g_cells[ENTRY].calls, 0);
		ck_assert_uint_eq(g_cells[ENTRY].recorded, 1);
	}
}

/* --- signals ------------------------------------------------------------- */

static volatile uint64_t g_nested;
static uint32_t g_stepped;
static bool g_takes_counts;

/* Calls the interrupted function inside its thunks. */
static void on_step(int signal, siginfo_t *info, void *context)
{
	ucontext_t *at = context;
	uint64_t rip = (uint64_t)at->uc_mcontext.gregs[REG_RIP];

	(void)signal, (void)info;
	if (rip - (uintptr_t)g_map[0] >= thunk_area_bytes(FUNCTIONS_USUAL))
		return;
	g_nested++;
	if (g_takes_counts) {
		t_counts = NULL;
		t_epoch = 1;
		return;
	}
	((hook *)thunk(0, g_stepped, 0))(FUNCTION, SITE);
	((hook *)thunk(0, g_stepped, THUNK_EXIT))(FUNCTION, SITE);
}

static void step_through(uint32_t offset)
{
	hook *code = (hook *)thunk(0, g_stepped, offset);

	/* clang-format off */
	__asm__ volatile("	subq	$128, %%rsp\n" /* the red zone */
			 "	pushfq\n"
			 "	orq	$0x100, (%%rsp)\n" /* the trap flag */
			 "	popfq\n"
			 "	call	*%0\n"
			 "	pushfq\n"
			 "	andq	$~0x100, (%%rsp)\n"
			 "	popfq\n"
			 "	addq	$128, %%rsp\n"
			 :
			 : "b"(code), "D"(FUNCTION), "S"((uint64_t)SITE)
			 : "rax", "rcx", "rdx", "r8", "r9", "r10", "r11",
			   "memory", "cc");
	/* clang-format on */
}

static void trap_steps(void)
{
	struct sigaction action = { .sa_sigaction = on_step,
				    .sa_flags = SA_SIGINFO };

	ck_assert_int_eq(sigaction(SIGTRAP, &action, NULL), 0);
}

TEST(thunks_count_exactly_with_a_signal_at_each_instruction, EACH(0, 6))
{
	g_stepped = _i % 2 ? ENTRY : CALLS;
	thunk_area_choose(g_area, g_stepped, (enum thunk_path)(_i / 2));
	trap_steps();
	g_nested = 0;
	for (int i = 0; i < 10; i++) {
		step_through(0);
		step_through(THUNK_EXIT);
	}
	ck_assert_uint_gt(g_nested, 10 * 10);
	ck_assert_uint_eq(g_cells[g_stepped].calls, 10 + g_nested);
	ck_assert_uint_eq(g_cells[g_stepped].recorded, 0);
	ck_assert_uint_eq(g_rig_seen.enters + g_rig_seen.entry_enters,
			  _i / 2 == THUNK_RECORD ? 10 + g_nested : 0);
	ck_assert_uint_eq(g_rig_seen.exits + g_rig_seen.entry_exits,
			  _i / 2 == THUNK_RECORD ? 10 + g_nested : 0);
}

/* The handler has returned the thread's slot. */
TEST(thunks_live_through_a_signal_that_takes_the_counts, EACH(0, 2))
{
	g_stepped = _i % 2 ? ENTRY : CALLS;
	thunk_area_choose(g_area, g_stepped, THUNK_RECORD);
	trap_steps();
	g_takes_counts = true;
	g_nested = 0;
	step_through(0);
	step_through(THUNK_EXIT);
	g_takes_counts = false;
	ck_assert_uint_gt(g_nested, 5);
}

#endif
