/* SPDX-License-Identifier: Apache-2.0
 *
 * unwind - libunwind's remote interface over a copy of a stack. libunwind
 * asks for the frame description of an instruction, for memory and for
 * registers; it gets what is in the copy and in files, nothing else, and none
 * of it by address: it is never given a pointer into anything hostile.
 *
 * It is not made for hostile input either. So a function's description is
 * only shown to it when unwind_cfi has found nothing in it that libunwind
 * would assert or loop on; each stack pointer must lie above the one before,
 * except behind a signal frame; and steps and reads are limited. What else it
 * may compute from lies are wrong addresses, which are only looked up.
 *
 * Functions without a description are left by the frame pointer: it points to
 * the caller's, and the return address above it. That must lie in the copy,
 * above the stack pointer. Such a stack is said to be guessed. A stub of the
 * procedure linkage table has changed nothing yet: the return address is where
 * the stack pointer points.
 *
 * An instruction that was interrupted is looked up itself, a return address
 * by the byte before it, which is part of the call: that may be the last one
 * of its function. libunwind would know the difference, but its cache of
 * descriptions does not; so that is off, and stack_cache.h in its stead.
 *
 * Everything that the frames depend on besides files is written down as it is
 * read (struct unwind_read). Only where a read misses the copy so far that its
 * place can't be told relative to the stack pointer, or where an address is in
 * no module that is known (yet), the result is not repeatable.
 */
#include "collector/stacks/unwind.h"

#include <errno.h>
#include <libunwind.h>
#include <stdlib.h>
#include <string.h>

#include "collector/options/collect_options.h"
#include "collector/names/modules.h"
#include "collector/stacks/unwind_space.h"
#include "shared/compiler.h"
#include "shared/record_ext.h"

/* Of libunwind, for one stack: a description takes about a hundred. */
#define ACCESSES_MAX 200000
#define WINDOW_WORDS (UNWIND_WINDOW / 8)
#define CODES 512u

/* Declared nowhere, but exported for those who implement accessors; its
 * counterpart is in libunwind's own ptrace library. */
#define dwarf_search_unwind_table UNW_OBJ(dwarf_search_unwind_table)
int dwarf_search_unwind_table(unw_addr_space_t space, unw_word_t ip,
			      unw_dyn_info_t *info, unw_proc_info_t *out,
			      int need_unwind_info, void *context);

/* Of an instruction that was looked up. */
struct known_code {
	uint64_t ip; /* 0: none */
	uint64_t low, high, bias; /* as of its unwind_module */
	struct unwind_fde fde;
};

struct unwind {
	struct unwind_space space;
	struct known_code code[CODES]; /* by hash: the last one of each */
	uint64_t edition, files_edition;
	unw_addr_space_t as;

	/* One stack: */
	const struct unwind_stack *stack;
	struct unwind_result *out;
	unw_cursor_t cursor;
	uint64_t ip, sp; /* of the frame that the cursor is at */
	enum frame_kind kind; /* its */
	uint64_t start; /* sp at first */
	uint64_t reg[RECORD_REGS]; /* as the cursor began */
	uint64_t guessed_reg; /* a bit for each of them that was computed */
	uint64_t asked_reg; /* and that was asked for */
	uint32_t accesses;
	bool missed; /* what was read of the stack last was not copied */
	uint64_t asked[WINDOW_WORDS / 64]; /* words of the stack */
};

/* --- what is read -----------------------------------------------------------
 */

static void note_read(struct unwind *unwind, enum unwind_query query,
		      uint32_t where, uint64_t value, bool failed)
{
	struct unwind_result *out = unwind->out;

	if (out->read_count == UNWIND_READS_MAX) {
		out->repeatable = false;
		return;
	}
	out->read[out->read_count++] =
		(struct unwind_read){ query, where, value, failed };
}

/* True the first time for each word. */
static bool is_first_read_of_word(struct unwind *unwind, uint64_t offset)
{
	uint64_t word = offset / 8, bit = 1ULL << word % 64;
	bool is_new = !(unwind->asked[word / 64] & bit);

	if (offset % 8)
		return true;
	unwind->asked[word / 64] |= bit;
	return is_new;
}

/* The word at @address of the stack, which is within the window. */
static bool read_stack(struct unwind *unwind, uint64_t address, uint64_t *out)
{
	uint64_t offset = address - unwind->start, bytes = sizeof(*out);
	bool failed = offset + bytes > unwind->stack->stack_bytes;

	*out = 0;
	unwind->missed = failed && offset < STACK_BYTES_MAX;
	if (!failed)
		memcpy(out, unwind->stack->stack + offset, bytes);
	if (is_first_read_of_word(unwind, offset))
		note_read(unwind, UNWIND_WORD, (uint32_t)offset, *out, failed);
	return !failed;
}

static bool is_in_window(const struct unwind *unwind, uint64_t address)
{
	return address - unwind->start < UNWIND_WINDOW;
}

/* At the end of a segment a word may be there in part. */
static bool read_word_of_file(struct unwind *unwind, uint64_t address,
			      uint64_t *out)
{
	uint8_t byte[sizeof(*out)] = { 0 };
	size_t i;

	if (unwind_space_read(&unwind->space, address, out, sizeof(*out)))
		return true;
	for (i = 0; i < sizeof(byte); i++)
		if (!unwind_space_read(&unwind->space, address + i, &byte[i],
				       1))
			break;
	memcpy(out, byte, sizeof(byte));
	return i > 0;
}

static int access_mem(unw_addr_space_t as, unw_word_t address, unw_word_t *out,
		      int write, void *context)
{
	struct unwind *unwind = context;

	(void)as;
	if (write || ++unwind->accesses > ACCESSES_MAX)
		return -UNW_EINVAL;
	if (is_in_window(unwind, address))
		return read_stack(unwind, address, out) ? 0 : -UNW_EINVAL;
	if (read_word_of_file(unwind, address, out))
		return 0;
	/* With another stack pointer it might be in the window. */
	unwind->out->repeatable = false;
	return -UNW_EINVAL;
}

static int access_reg(unw_addr_space_t as, unw_regnum_t reg, unw_word_t *out,
		      int write, void *context)
{
	struct unwind *unwind = context;
	uint64_t bit;

	(void)as;
	if (write || reg < 0 || reg >= RECORD_REGS)
		return -UNW_EBADREG;
	bit = 1ULL << reg;
	*out = unwind->reg[reg];
	if (!((unwind->guessed_reg | unwind->asked_reg) & bit))
		note_read(unwind, UNWIND_REGISTER, (uint32_t)reg, *out, false);
	unwind->asked_reg |= bit;
	return 0;
}

/* --- frame descriptions -----------------------------------------------------
 */

/* What is known of the code at @ip; NULL: it is in no module. */
static const struct known_code *find_code(struct unwind *unwind, uint64_t ip)
{
	struct known_code *code =
		&unwind->code[(ip ^ ip / CODES ^ ip / CODES / CODES) % CODES];
	const struct unwind_module *module;

	if (code->ip == ip && ip)
		return code;
	module = unwind_space_find(&unwind->space, ip);
	if (!module) {
		unwind->out->repeatable = false;
		return NULL;
	}
	*code = (struct known_code){ .ip = ip,
				     .low = module->low,
				     .high = module->high,
				     .bias = module->bias };
	if (module->file && ip >= module->low && ip < module->high)
		unwind_file_fde(module->file, ip - module->bias, &code->fde);
	return code;
}

/* Shows libunwind a table of one entry: that of the function of @ip. */
static int find_proc_info(unw_addr_space_t as, unw_word_t ip,
			  unw_proc_info_t *out, int need_unwind_info,
			  void *context)
{
	unw_dyn_info_t info = { .format = UNW_INFO_FORMAT_REMOTE_TABLE };
	const struct known_code *code = find_code(context, ip);

	if (!code || code->fde.verdict == CFI_BAD)
		return -UNW_ENOINFO;
	info.start_ip = code->low;
	info.end_ip = code->high;
	info.u.rti.segbase = code->fde.base + code->bias;
	info.u.rti.table_data = code->fde.table + code->bias;
	info.u.rti.table_len = 1;
	return dwarf_search_unwind_table(as, ip, &info, out, need_unwind_info,
					 context);
}

static void put_unwind_info(unw_addr_space_t as, unw_proc_info_t *info,
			    void *context)
{
	(void)as;
	(void)info;
	(void)context;
}

static int no_dynamic_info(unw_addr_space_t as, unw_word_t *out, void *context)
{
	(void)as;
	(void)out;
	(void)context;
	return -UNW_ENOINFO;
}

static int no_floats(unw_addr_space_t as, unw_regnum_t reg, unw_fpreg_t *value,
		     int write, void *context)
{
	(void)as;
	(void)reg;
	(void)value;
	(void)write;
	(void)context;
	return -UNW_EBADREG;
}

static int no_resume(unw_addr_space_t as, unw_cursor_t *cursor, void *context)
{
	(void)as;
	(void)cursor;
	(void)context;
	return -UNW_EINVAL;
}

static unw_accessors_t g_accessors = {
	.find_proc_info = find_proc_info,
	.put_unwind_info = put_unwind_info,
	.get_dyn_info_list_addr = no_dynamic_info,
	.access_mem = access_mem,
	.access_reg = access_reg,
	.access_fpreg = no_floats,
	.resume = no_resume,
};

/* --- life -------------------------------------------------------------------
 */

int unwind_new(struct modules *modules, struct unwind_files *files,
	       struct unwind **out)
{
	struct unwind *unwind = calloc(1, sizeof(*unwind));

	if (!unwind)
		return -ENOMEM;
	unwind->as = unw_create_addr_space(&g_accessors, 0);
	if (!unwind->as) {
		free(unwind);
		return -ENOMEM;
	}
	unw_set_caching_policy(unwind->as, UNW_CACHE_NONE);
	unwind->space.modules = modules_get(modules);
	unwind->space.files = files;
	unwind->files_edition = unwind_files_edition(files);
	*out = unwind;
	return 0;
}

void unwind_free(struct unwind **unwind)
{
	struct unwind *old = *unwind;

	*unwind = NULL;
	if (!old)
		return;
	unw_destroy_addr_space(old->as);
	unwind_space_release(&old->space);
	modules_put(&old->space.modules);
	free(old);
}

uint64_t unwind_edition(struct unwind *unwind, uint32_t generation)
{
	uint64_t files_edition = unwind_files_edition(unwind->space.files);

	if (files_edition == unwind->files_edition &&
	    generation == unwind->space.generation)
		return unwind->edition;
	unwind->files_edition = files_edition;
	memset(unwind->code, 0, sizeof(unwind->code));
	unwind_space_reset(&unwind->space, generation);
	return ++unwind->edition;
}

/* --- stepping ---------------------------------------------------------------
 */

enum step {
	STEP_NEXT, /* there is another frame */
	STEP_END, /* that was the outermost */
	STEP_CUT, /* it can't be told */
};

/* The cursor is at a frame whose registers are unwind->reg. */
static bool start_cursor(struct unwind *unwind)
{
	return unw_init_remote(&unwind->cursor, unwind->as, unwind) >= 0;
}

static enum step step_described(struct unwind *unwind, bool is_signal)
{
	uint64_t sp = unwind->sp;
	int more = unw_step(&unwind->cursor);
	unw_word_t ip = 0, new_sp = 0;

	if (more == 0)
		return STEP_END;
	if (more < 0 || unw_get_reg(&unwind->cursor, UNW_REG_IP, &ip) < 0 ||
	    unw_get_reg(&unwind->cursor, UNW_REG_SP, &new_sp) < 0)
		return STEP_CUT;
	if (!ip)
		return STEP_END;
	/* A handler may run on a stack of its own. Where the return address
	 * is in a register a frame may be empty, but only the innermost. */
	if (!is_signal &&
	    (new_sp < sp || (new_sp == sp && unwind->kind != FRAME_PC)))
		return STEP_CUT;
	unwind->ip = ip;
	unwind->sp = new_sp;
	unwind->kind = is_signal ? FRAME_PC : FRAME_RETURN;
	return STEP_NEXT;
}

/* Goes on at the call before @ip with that stack and frame pointer. */
static enum step step_to_frame(struct unwind *unwind, uint64_t ip, uint64_t sp,
			       uint64_t fp)
{
	/* Zero marks the outermost frame (x86-64 psABI 3.4.1). */
	if (!ip)
		return STEP_END;
	unwind->ip = ip;
	unwind->sp = sp;
	unwind->kind = FRAME_RETURN;
	unwind->reg[RECORD_REG_IP] = ip - 1;
	unwind->reg[RECORD_REG_SP] = sp;
	unwind->reg[RECORD_REG_FP] = fp;
	unwind->guessed_reg |= 1ULL << RECORD_REG_IP | 1ULL << RECORD_REG_SP |
			       1ULL << RECORD_REG_FP;
	return start_cursor(unwind) ? STEP_NEXT : STEP_CUT;
}

#if defined(__x86_64__)
/* jmp *offset(%rip), perhaps behind endbr64 and with a bnd prefix: the first
 * thing that a stub of the procedure linkage table does. */
static bool is_plt_stub(struct unwind *unwind)
{
	static const uint8_t endbr[] = { 0xf3, 0x0f, 0x1e, 0xfa };
	uint8_t code[8], *at = code;
	uint64_t word;

	if (unwind->kind != FRAME_PC ||
	    !read_word_of_file(unwind, unwind->ip, &word))
		return false;
	memcpy(code, &word, sizeof(code));
	if (!memcmp(at, endbr, sizeof(endbr)))
		at += sizeof(endbr);
	if (*at == 0xf2)
		at++;
	return at[0] == 0xff && at[1] == 0x25;
}
#else
static bool is_plt_stub(struct unwind *unwind)
{
	(void)unwind;
	return false;
}
#endif

static enum step step_guessed(struct unwind *unwind)
{
	unw_word_t fp;
	uint64_t next_fp, ip;

	unwind->out->guessed = true;
	if (unw_get_reg(&unwind->cursor, RECORD_REG_FP, &fp) < 0)
		return STEP_CUT;
	if (is_plt_stub(unwind)) {
		if (!is_in_window(unwind, unwind->sp) ||
		    !read_stack(unwind, unwind->sp, &ip))
			return STEP_CUT;
		return step_to_frame(unwind, ip, unwind->sp + 8, fp);
	}
	if (!fp)
		return STEP_END;
	/* Both decide the same for equal reads: see stack_cache.c. */
	if (fp < unwind->sp || fp % 8 || !is_in_window(unwind, fp))
		return STEP_CUT;
	if (!read_stack(unwind, fp, &next_fp) ||
	    !read_stack(unwind, fp + 8, &ip))
		return STEP_CUT;
	return step_to_frame(unwind, ip, fp + 16, next_fp);
}

static enum step step_to_caller(struct unwind *unwind)
{
	uint64_t ip = unwind->ip - (unwind->kind == FRAME_RETURN);
	const struct known_code *code = find_code(unwind, ip);
	bool is_signal;

	if (!code || code->fde.verdict == CFI_BAD)
		return step_guessed(unwind);
	is_signal = code->fde.verdict == CFI_SIGNAL;
	/* What a handler returns to was never called: it is where it is. */
	if (is_signal)
		unwind->out->frame[unwind->out->count - 1].kind = FRAME_PC;
	return step_described(unwind, is_signal);
}

static void add_cursor_frame(struct unwind *unwind)
{
	unwind->out->frame[unwind->out->count++] = (struct stack_frame){
		.address = unwind->ip,
		.generation = unwind->stack->generation,
		.kind = unwind->kind,
	};
}

static void begin_stack(struct unwind *unwind, const struct unwind_stack *stack,
			struct unwind_result *out)
{
	unwind->stack = stack;
	unwind->out = out;
	memcpy(unwind->reg, stack->reg, sizeof(unwind->reg));
	unwind->ip = stack->reg[RECORD_REG_IP];
	unwind->sp = unwind->start = stack->reg[RECORD_REG_SP];
	unwind->kind = FRAME_PC;
	/* They are known to be the same: they are what is looked up by. */
	unwind->guessed_reg = 1ULL << RECORD_REG_IP | 1ULL << RECORD_REG_SP;
	unwind->asked_reg = 0;
	unwind->accesses = 0;
	unwind->missed = false;
	memset(unwind->asked, 0, sizeof(unwind->asked));
	out->count = out->read_count = 0;
	out->cut = out->is_short = out->guessed = false;
	out->repeatable = true;
}

void unwind_run(struct unwind *unwind, const struct unwind_stack *stack,
		struct unwind_result *out)
{
	enum step what;

	begin_stack(unwind, stack, out);
	what = start_cursor(unwind) ? STEP_NEXT : STEP_CUT;
	add_cursor_frame(unwind);
	while (what == STEP_NEXT) {
		what = step_to_caller(unwind);
		if (what == STEP_NEXT && out->count == UNWIND_FRAMES_MAX - 1)
			what = STEP_CUT;
		if (what == STEP_NEXT)
			add_cursor_frame(unwind);
	}
	out->cut = what == STEP_CUT;
	out->is_short = out->cut && unwind->missed;
	if (out->cut)
		out->frame[out->count++] =
			(struct stack_frame){ .address = FRAME_CUT,
					      .kind = FRAME_NAMED };
}
