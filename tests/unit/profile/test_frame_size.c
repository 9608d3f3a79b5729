/* SPDX-License-Identifier: Apache-2.0
 *
 * The stack pointer in functions with a frame pointer, for code of gcc and
 * clang.
 */
#include "collector/profile/frame_size.h"

#include "tests/suite.h"

#if defined(__x86_64__)
#define START 0x401000u

#define PUSH_RBP 0x55
#define MOV_RSP_RBP 0x48, 0x89, 0xe5
#define PUSH_RBX 0x53
#define PUSH_R12 0x41, 0x54
#define SUB_RSP(bytes) 0x48, 0x83, 0xec, bytes
#define ADD_RSP(bytes) 0x48, 0x83, 0xc4, bytes
#define CALL 0xe8, 0, 0, 0, 0
#define RET 0xc3

static int64_t size_of(const uint8_t *code, size_t bytes)
{
	uint64_t size;

	return frame_size(code, bytes, START, &size) ? (int64_t)size : -1;
}

/* SIZE_OF(BYTES...): the size after these bytes, or -1 if unknown. */
#define SIZE_OF(...)                                       \
	({                                                 \
		static const uint8_t code[] = __VA_ARGS__; \
		size_of(code, sizeof(code));               \
	})

TEST(size_is_that_of_pushes_and_sums)
{
	ck_assert_int_eq(SIZE_OF({ PUSH_RBP, MOV_RSP_RBP, CALL }), 0);
	ck_assert_int_eq(
		SIZE_OF({ 0xf3, 0x0f, 0x1e, 0xfa, PUSH_RBP, MOV_RSP_RBP,
			  PUSH_R12, PUSH_RBX, SUB_RSP(0x20), CALL }),
		0x30);
	/* mov %rdi, %rax in between, as compilers schedule instructions */
	ck_assert_int_eq(
		SIZE_OF({ PUSH_RBP, 0x48, 0x89, 0xf8, MOV_RSP_RBP, 0x48, 0x89,
			  0xf8, PUSH_RBX, 0x48, 0x89, 0xf8, SUB_RSP(8), CALL }),
		0x10);
	/* Arguments on the stack, before and after the call. */
	ck_assert_int_eq(SIZE_OF({ PUSH_RBP, MOV_RSP_RBP, PUSH_RBX, PUSH_RBX,
				   0x6a, 1, CALL }),
			 0x18);
	ck_assert_int_eq(SIZE_OF({ PUSH_RBP, MOV_RSP_RBP, 0x6a, 1, CALL,
				   ADD_RSP(8), CALL }),
			 0);
}

TEST(size_follows_branches)
{
	/* Early exit: je +7, over two pushes and a call, to a call. */
	ck_assert_int_eq(SIZE_OF({ PUSH_RBP, MOV_RSP_RBP, 0x74, 9, PUSH_RBX,
				   PUSH_RBX, CALL, 0xc9, RET, CALL }),
			 0);
	/* A landing pad has the size of the body. */
	ck_assert_int_eq(SIZE_OF({ PUSH_RBP, MOV_RSP_RBP, PUSH_RBX, CALL, 0xc9,
				   RET, CALL }),
			 8);
	/* A loop that starts with its condition: jmp +5 */
	ck_assert_int_eq(
		SIZE_OF({ PUSH_RBP, MOV_RSP_RBP, PUSH_RBX, 0xeb, 5, CALL }), 8);
}

TEST(size_is_not_guessed)
{
	/* No frame pointer: push %rbp, xor %ebp, %ebp */
	ck_assert_int_eq(SIZE_OF({ PUSH_RBP, 0x31, 0xed, CALL }), -1);
	ck_assert_int_eq(SIZE_OF({ SUB_RSP(8), CALL }), -1);
	/* alloca(): sub %rax, %rsp; and an aligned stack: and $-64, %rsp */
	ck_assert_int_eq(
		SIZE_OF({ PUSH_RBP, MOV_RSP_RBP, 0x48, 0x29, 0xc4, CALL }), -1);
	ck_assert_int_eq(SIZE_OF({ PUSH_RBP, MOV_RSP_RBP, 0x48, 0x83, 0xe4,
				   0xc0, CALL }),
			 -1);
	/* After pop %rbp the register belongs to the caller. */
	ck_assert_int_eq(SIZE_OF({ PUSH_RBP, MOV_RSP_RBP, 0x5d, CALL }), -1);
	/* Invalid bytes, and no bytes. */
	ck_assert_int_eq(SIZE_OF({ PUSH_RBP, MOV_RSP_RBP, 0x06 }), -1);
	ck_assert_int_eq(size_of(NULL, 0), -1);
}

#endif
