/* SPDX-License-Identifier: Apache-2.0
 *
 * thread_asm - offsets and constants of C for assembly. Headers of the structs
 * assert them.
 */
#ifndef PERFREC_PRELOAD_CORE_THREAD_ASM_H
#define PERFREC_PRELOAD_CORE_THREAD_ASM_H

#define T_EPOCH 0
#define T_ABORTS 8
#define T_LIMIT_BEGIN 16
#define T_LIMIT_END 24
#define T_SLOT 32
#define T_CELLS 40
#define T_MASK 48
#define T_NO_RSEQ 56
#define T_EXCLUDED 64
#define T_COUNTS 72
#define T_UNTOLD 80

/* A thread without a slot counts hooks of excluded functions in the upper 12
 * bits of a 16-bit word, and reports them when it overflows. */
#define UNTOLD_ONE 16
#define UNTOLD_ALL 4096

/*
 * The gate's word, and a thread's epoch.
 *
 * The lower half of the word is the epoch of the process, a multiple of
 * GATE_EPOCH_STEP that is never 0, and the flags below. The upper half counts
 * changes of the load map (map_log.c). A thread's epoch has the same halves
 * without flags: the epoch of the process that the thread has a slot for, and
 * the changes that the thread has followed. A thread without a slot has
 * EPOCH_NONE.
 *
 * A thread may take the fast path if word ^ epoch is 0, or if it is GATE_FILTER
 * and the function is not in the filter table. So a thread that has not
 * followed a change takes the general path.
 *
 * Words below GATE_OFF are unsettled: GATE_UNBEGUN before recording starts, 0
 * in a forked child.
 */
#define GATE_FILTER 1 /* look the function up in the filter table */
#define GATE_GENERAL 2 /* depth, another clock, no rseq, chained hooks */
#define GATE_OFF 4 /* recording is off, for good */
#define GATE_UNBEGUN GATE_GENERAL
#define EPOCH_NONE 8
#define GATE_EPOCH_STEP 16
#define GATE_NEWS_SHIFT 32

/* struct gate, and struct gate_filter (gate.h) */
#define GATE_COUNT_EPOCH 8
#define FILTER_TABLE 0
#define FILTER_SHIFT 8
#define FILTER_NUMBERS 16
#define FILTER_COUNT 24

/* Thunks of moved functions, and struct thunk_mode (function_shm.h). */
#define MOVED_BYTES_SHIFT 9 /* of THUNK_BYTES */
#define MOVED_RECORD 128 /* THUNK_MOVED_RECORD */
#define MOVED_ENTERED 139 /* THUNK_MOVED_ENTERED */
#define MOVED_WORDS 488 /* THUNK_MOVED_WORDS: of entries; exits at + 8 */
#define MOVED_CODE 0xe10000 /* THUNK_CODE - THUNK_MODES */
#define MODE_BYTES_SHIFT 4
#define MODE_FRAME 4
#define MODE_FUNCTION 8
#define MODE_UNKNOWN 0x80000000 /* THUNK_UNKNOWN */
#define MODE_UNKNOWN_BYTES 128
#define MODE_MANY 0x40000000 /* THUNK_MANY */
#define MODE_MANY_BYTES 1024
/* The smallest page: what lies in one can be read as a whole, or not at all. */
#define HOOK_PAGE_BYTES 4096
/* Bit of a pushed function number: the call is not recorded. */
#define MOVED_UNRECORDED 32

/* struct vector_state (vector.h), feature bits of xsave, and the size of the
 * xsave area with the features up to here. */
#define VECTOR_MASK 0
#define VECTOR_TELLS 4
#define XSAVE_SSE 0x03 /* with the x87 */
#define XSAVE_AVX 0x04
#define XSAVE_OPMASK 0x20
#define XSAVE_ZMM 0xc0
#define VECTOR_BYTES_SSE 576
#define VECTOR_BYTES_AVX 832
#define VECTOR_BYTES_OPMASK 1152
#define VECTOR_BYTES_ZMM 2688

/* struct put_run (put.h), and the word of an EXT_PAD (record_ext.h). */
#define RUN_CELLS 0
#define RUN_COUNT 8
#define RUN_BEHIND 16
#define RUN_BEHIND_CELLS 24
#define RUN_STAMP 32
#define RECORD_KIND_EXT 12
#define EXT_CELLS_SHIFT 22

/* Number of restarts after which a record takes the general path. */
#define ABORTS_MAX 8

/* The signature of glibc's rseq registration (sys/rseq.h). */
#define RSEQ_SIGNATURE 0x53053053

#endif
