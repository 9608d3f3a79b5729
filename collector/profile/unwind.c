/* SPDX-License-Identifier: Apache-2.0
 *
 * unwind - finds the frames of a copied stack with the remote interface of
 * libunwind. libunwind asks the functions here for three things: the frame
 * description of an instruction, memory, and registers. It gets only what is in
 * the copy of the stack, in the copied registers, and in the files of the
 * process. It gets values, and never a pointer into hostile data.
 *
 * libunwind was not written for hostile input. So four rules protect it:
 *
 *   - It sees the frame description of a function only if unwind_cfi has found
 *     nothing there that makes libunwind fail an assertion or loop.
 *   - The stack pointer of a caller must lie above the stack pointer of the
 *     frame that it called (step_described() has the two exceptions).
 *   - The number of frames is limited.
 *   - The number of reads is limited.
 *
 * Apart from that, false data only makes libunwind compute wrong addresses.
 * These are looked up, and never used as pointers.
 *
 * The frame pointer leads out of a function without a usable description. At
 * the address in the frame pointer lies the caller's frame pointer, and 8 bytes
 * above that the return address. Both must lie in the copy, not below the stack
 * pointer. The result is then "guessed". A stub of the procedure linkage table
 * (PLT) has not pushed anything yet: its return address lies where the stack
 * pointer points. A thunk (shared/function_shm.h) has no frame description
 * either, but thunk_pushed() knows the words on its stack, so nothing is
 * guessed. The thunk of a moved function has one. A stack leaves out its frame,
 * which lies between those of the function and of its caller, and has the
 * function for its body.
 *
 * The function of an interrupted instruction is looked up by the address of
 * that instruction. The function of a return address is looked up by the byte
 * before it. That byte is part of the call; the call may be the last
 * instruction of its function, and then the return address lies in the next
 * function. libunwind itself tells the two apart, but its cache of descriptions
 * does not. So that cache is off; stack_cache.h replaces it.
 *
 * The frames depend on files, and on registers and words of the stack. Each
 * register and each word is noted in the result when it is read (struct
 * unwind_read). A result is not repeatable in three cases: a read lies so far
 * from the stack pointer that it is outside the window (UNWIND_WINDOW) and in
 * no file; an address is in no module that is known so far; or there are more
 * reads than the result has room for.
 *
 * /proc has only the instruction pointer and the stack pointer of a blocked
 * thread. Frames that are described by the stack pointer need no more, and a
 * function that uses another register has saved its caller's on the stack. But
 * the frames of programs with frame pointers are described by the frame
 * pointer, and the function of the C library that they wait in need not have
 * saved it. Then the code of the function determines it, or the return address,
 * which must lie behind a call of that function (recover_frame_pointer()). If
 * neither proves it, or another register is needed, the stack is cut rather
 * than guessed.
 */
#include "collector/profile/unwind.h"

#include <errno.h>
#include <libunwind.h>
#include <stdlib.h>
#include <string.h>

#include "collector/code/thunks.h"
#include "collector/names/modules.h"
#include "collector/options/collect_options.h"
#include "collector/profile/frame_size.h"
#include "collector/profile/unwind_space.h"
#include "shared/compiler.h"
#include "shared/record_ext.h"

/* Words that libunwind may read for one stack. A frame description takes about
 * a hundred. */
#define ACCESSES_MAX 200000
#define WINDOW_WORDS (UNWIND_WINDOW / 8)
#define RED_ZONE 128u /* bytes below the stack pointer, x86-64 psABI 3.2.2 */
/* Where libunwind finds the table of one entry; no program has memory there. */
#define TABLE_ADDRESS (1ULL << 63)
#define CODES 512u /* places in unwind.code */

/* No header declares dwarf_search_unwind_table(). libunwind exports it for
 * programs that implement accessors, as its own ptrace library does. */
#define dwarf_search_unwind_table UNW_OBJ(dwarf_search_unwind_table)
int dwarf_search_unwind_table(unw_addr_space_t space, unw_word_t ip,
			      unw_dyn_info_t *info, unw_proc_info_t *out,
			      int need_unwind_info, void *context);

struct known_code {
	uint64_t ip; /* 0: none */
	uint64_t low, high, bias; /* as in its unwind_module */
	bool is_thunk;
	bool is_moved; /* the thunk of a moved function */
	uint64_t function; /* its address, if this is its body; 0 */
	struct unwind_fde fde;
};

struct unwind {
	struct unwind_space space;
	struct known_code code[CODES]; /* by a hash of ip: the last instruction
					* with that hash */
	uint64_t edition, files_edition;
	unw_addr_space_t as;

	/* The rest is about the stack that is being unwound. */
	const struct unwind_stack *stack; /* the caller's */
	struct unwind_result *out; /* the caller's */
	unw_cursor_t cursor;
	uint64_t ip, sp; /* of the frame that the cursor is at */
	enum frame_kind kind; /* of that frame */
	uint64_t start; /* sp of the innermost frame */
	uint64_t reg[RECORD_REGS]; /* of the frame where the cursor started */
	uint64_t guessed_reg; /* one bit for each register whose reads need not
			       * be noted */
	uint64_t asked_reg; /* one bit for each register that was read */
	uint64_t unknown_reg; /* one bit for each register without value */
	uint32_t accesses; /* calls of access_mem() */
	uint64_t table; /* what libunwind reads at TABLE_ADDRESS */
	bool missed; /* the last read of the stack was beyond the copy */
	uint64_t asked[WINDOW_WORDS / 64]; /* one bit for each word of the
					    * window that was read */
};

/* --- what is read -------------------------------------------------------- */

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

/* Reads the word at @address, which is within the window. Returns false if the
 * copy of the stack ends before; *@out is then 0. */
static bool read_copied_stack(struct unwind *unwind, uint64_t address,
			      uint64_t *out)
{
	uint64_t offset = address - unwind->start, bytes = sizeof(*out);
	uint64_t word = offset / 8, bit = 1ULL << word % 64;
	bool failed = offset + bytes > unwind->stack->stack_bytes;

	*out = 0;
	unwind->missed = failed && offset < STACK_BYTES_MAX;
	if (!failed)
		memcpy(out, unwind->stack->stack + offset, bytes);
	/* A read between two words is always noted. */
	if (offset % 8 || !(unwind->asked[word / 64] & bit))
		note_read(unwind, UNWIND_WORD, (uint32_t)offset, *out, failed);
	if (offset % 8 == 0)
		unwind->asked[word / 64] |= bit;
	return !failed;
}

static bool is_in_copied_stack(const struct unwind *unwind, uint64_t address)
{
	return address - unwind->start < UNWIND_WINDOW;
}

/* Reads the word at @address from the file that is mapped there. At the end of
 * a segment only a part of the word may be there: the other bytes are then 0.
 * False: no file has even the first byte. */
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

/* For libunwind, which may not write. */
static int access_mem(unw_addr_space_t as, unw_word_t address, unw_word_t *out,
		      int write, void *context)
{
	struct unwind *unwind = context;

	(void)as;
	if (write || ++unwind->accesses > ACCESSES_MAX)
		return -UNW_EINVAL;
	if (address == TABLE_ADDRESS) {
		*out = unwind->table;
		return 0;
	}
	if (is_in_copied_stack(unwind, address))
		return read_copied_stack(unwind, address, out) ? 0
							       : -UNW_EINVAL;
	if (read_word_of_file(unwind, address, out))
		return 0;
	/* An equal stack with another stack pointer might have this address in
	 * its window. */
	unwind->out->repeatable = false;
	return -UNW_EINVAL;
}

static int access_reg(unw_addr_space_t as, unw_regnum_t reg, unw_word_t *out,
		      int write, void *context)
{
	struct unwind *unwind = context;
	uint64_t bit;
	bool failed;

	(void)as;
	if (write || reg < 0 || reg >= RECORD_REGS)
		return -UNW_EBADREG;
	bit = 1ULL << reg;
	failed = unwind->unknown_reg & bit;
	*out = failed ? 0 : unwind->reg[reg];
	if (!((unwind->guessed_reg | unwind->asked_reg) & bit))
		note_read(unwind, UNWIND_REGISTER, (uint32_t)reg, *out, failed);
	unwind->asked_reg |= bit;
	return failed ? -UNW_EBADREG : 0;
}

/* --- frame descriptions -------------------------------------------------- */

static bool read_thunks(void *inode, uint64_t vaddr, void *out, size_t bytes)
{
	return thunk_area_read(*(const ino_t *)inode, vaddr, out, bytes);
}

static void describe_thunk(const struct unwind_module *module,
			   struct known_code *code)
{
	ino_t inode = module->inode;
	const struct cfi_reader reader = { read_thunks, &inode };
	struct thunk_place place;
	struct cfi_range range;

	code->is_moved =
		thunk_area_place(inode, code->ip - module->bias, &place);
	if (!code->is_moved)
		return;
	code->function = place.function;
	code->fde = (struct unwind_fde){
		.verdict = unwind_cfi_check(&reader, place.frame, &range),
		.vaddr = place.frame,
		.start = place.code,
	};
}

/* Returns the code at @ip, valid until the next call. NULL: no known module;
 * the result is then not repeatable. */
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
				     .bias = module->bias,
				     .is_thunk = module->is_thunks };
	if (module->is_thunks)
		describe_thunk(module, code);
	else if (module->file && ip >= module->low && ip < module->high)
		unwind_file_fde(module->file, ip - module->bias, &code->fde);
	return code;
}

/* Finds the frame description of the code at @ip for libunwind, which gets to
 * see a table with one entry: that of the function of @ip. */
static int find_proc_info(unw_addr_space_t as, unw_word_t ip,
			  unw_proc_info_t *out, int need_unwind_info,
			  void *context)
{
	unw_dyn_info_t info = { .format = UNW_INFO_FORMAT_REMOTE_TABLE };
	struct unwind *unwind = context;
	const struct known_code *code = find_code(unwind, ip);
	int64_t distance;

	if (!code || code->fde.verdict == CFI_BAD)
		return -UNW_ENOINFO;
	distance = (int64_t)(code->fde.vaddr - code->fde.start);
	if (distance != (int32_t)distance)
		return -UNW_ENOINFO;
	info.start_ip = code->low;
	info.end_ip = code->high;
	info.u.rti.segbase = code->fde.start + code->bias;
	info.u.rti.table_data = TABLE_ADDRESS;
	info.u.rti.table_len = 1;
	/* Relative to segbase: where the function begins (0), and where its
	 * description lies. */
	unwind->table = (uint64_t)(uint32_t)distance << 32;
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

/* --- life ---------------------------------------------------------------- */

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

/* --- stepping ------------------------------------------------------------ */

enum step {
	STEP_NEXT, /* there is a caller, and the cursor is at it */
	STEP_END, /* there is none: the frame was the outermost one */
	STEP_CUT, /* the caller cannot be found */
};

/* Starts the cursor anew, at the frame whose registers are unwind->reg. False
 * if libunwind fails. */
static bool start_cursor(struct unwind *unwind)
{
	return unw_init_remote(&unwind->cursor, unwind->as, unwind) >= 0;
}

/* Steps to the caller by the frame description. @is_signal: the frame is the
 * code that a signal handler returns to. */
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
	/* A signal handler may run on a stack of its own. A frame may be empty
	 * if its return address is in a register, but only a frame that has
	 * called nothing yet can be like that. */
	if (!is_signal &&
	    (new_sp < sp || (new_sp == sp && unwind->kind != FRAME_PC)))
		return STEP_CUT;
	unwind->ip = ip;
	unwind->sp = new_sp;
	unwind->kind = is_signal ? FRAME_PC : FRAME_RETURN;
	return STEP_NEXT;
}

/* Goes on at the frame with the return address @ip and the stack pointer @sp;
 * its frame pointer is in unwind->reg. */
static enum step step_to_frame(struct unwind *unwind, uint64_t ip, uint64_t sp)
{
	/* A return address of zero marks the outermost frame (x86-64 psABI
	 * 3.4.1). */
	if (!ip)
		return STEP_END;
	unwind->ip = ip;
	unwind->sp = sp;
	unwind->kind = FRAME_RETURN;
	unwind->reg[RECORD_REG_IP] = ip - 1;
	unwind->reg[RECORD_REG_SP] = sp;
	unwind->guessed_reg |= 1ULL << RECORD_REG_IP | 1ULL << RECORD_REG_SP |
			       1ULL << RECORD_REG_FP;
	return start_cursor(unwind) ? STEP_NEXT : STEP_CUT;
}

/* For a step out of an interrupted epilogue: gcc's description still names
 * where the prologue saved a register, although it is restored and the stack
 * pointer is above. Then the register itself has the value, so the cursor
 * restarts at the caller with these registers. */
#if defined(__x86_64__)
/* The registers that a function restores before it returns. */
static const uint8_t restored_regs[] = {
	UNW_X86_64_RBX, UNW_X86_64_RBP, UNW_X86_64_R12,
	UNW_X86_64_R13, UNW_X86_64_R14, UNW_X86_64_R15,
};

/* Returns true if the caller's @reg was saved below the stack pointer of the
 * innermost frame, where the copy has no bytes. */
static bool is_below_stack(struct unwind *unwind, unw_regnum_t reg)
{
	unw_save_loc_t place;

	return unw_get_save_loc(&unwind->cursor, reg, &place) >= 0 &&
	       place.type == UNW_SLT_MEMORY && place.u.addr < unwind->start &&
	       unwind->start - place.u.addr <= RED_ZONE;
}

static bool has_restored(struct unwind *unwind)
{
	for (size_t i = 0; i < ARRAY_SIZE(restored_regs); i++)
		if (is_below_stack(unwind, restored_regs[i]))
			return true;
	return false;
}

static int get_restored(struct unwind *unwind, unw_regnum_t reg,
			unw_word_t *out)
{
	int err;

	if (is_below_stack(unwind, reg))
		return access_reg(unwind->as, reg, out, 0, unwind);
	err = unw_get_reg(&unwind->cursor, reg, out);
	if (err < 0)
		*out = 0;
	return err;
}

static enum step keep_restored(struct unwind *unwind)
{
	unw_word_t value[ARRAY_SIZE(restored_regs)] = { 0 };
	uint64_t unknown = unwind->unknown_reg;

	if (!has_restored(unwind))
		return STEP_NEXT;
	for (size_t i = 0; i < ARRAY_SIZE(restored_regs); i++)
		if (get_restored(unwind, restored_regs[i], &value[i]))
			unknown |= 1ULL << restored_regs[i];
		else
			unknown &= ~(1ULL << restored_regs[i]);
	for (size_t i = 0; i < ARRAY_SIZE(restored_regs); i++) {
		unwind->reg[restored_regs[i]] = value[i];
		unwind->guessed_reg |= 1ULL << restored_regs[i];
	}
	unwind->unknown_reg = unknown;
	return step_to_frame(unwind, unwind->ip, unwind->sp);
}
#else
static enum step keep_restored(struct unwind *unwind)
{
	(void)unwind;
	return STEP_NEXT;
}
#endif

#if defined(__x86_64__)
/* Returns true if the frame is at an interrupted instruction of a PLT stub that
 * has only a jump before it: "jmp *offset(%rip)", perhaps with a bnd prefix.
 * endbr64 may come before it; mold puts the number of the function into %r11d
 * as well. */
static bool is_plt_stub(struct unwind *unwind)
{
	static const uint8_t endbr[] = { 0xf3, 0x0f, 0x1e, 0xfa };
	static const uint8_t mov_r11d[] = { 0x41, 0xbb };
	uint64_t words[2];
	uint8_t code[sizeof(words)], *at = code;

	if (unwind->kind != FRAME_PC ||
	    !read_word_of_file(unwind, unwind->ip, &words[0]))
		return false;
	if (!read_word_of_file(unwind, unwind->ip + sizeof(words[0]),
			       &words[1]))
		words[1] = 0;
	memcpy(code, words, sizeof(code));
	if (!memcmp(at, endbr, sizeof(endbr)))
		at += sizeof(endbr);
	if (!memcmp(at, mov_r11d, sizeof(mov_r11d)))
		at += sizeof(mov_r11d) + sizeof(uint32_t);
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

static void set_frame_pointer(struct unwind *unwind, uint64_t fp, bool known)
{
	const uint64_t bit = 1ULL << RECORD_REG_FP;

	unwind->reg[RECORD_REG_FP] = fp;
	unwind->unknown_reg =
		known ? unwind->unknown_reg & ~bit : unwind->unknown_reg | bit;
}

/* Steps out of code that has @pushed bytes below its return address, and has
 * changed no register that a function must save. */
static enum step step_simple(struct unwind *unwind, uint32_t pushed)
{
	unw_word_t fp = 0;
	uint64_t ip;
	int err = unw_get_reg(&unwind->cursor, RECORD_REG_FP, &fp);

	if (!is_in_copied_stack(unwind, unwind->sp + pushed) ||
	    !read_copied_stack(unwind, unwind->sp + pushed, &ip))
		return STEP_CUT;
	set_frame_pointer(unwind, fp, err >= 0);
	return step_to_frame(unwind, ip, unwind->sp + pushed + 8);
}

/* Steps to the caller by the frame pointer, or out of a PLT stub. The result is
 * then guessed. */
static enum step step_guessed(struct unwind *unwind)
{
	unw_word_t fp;
	uint64_t next_fp, ip;

	unwind->out->guessed = true;
	if (is_plt_stub(unwind))
		return step_simple(unwind, 0);
	if (unw_get_reg(&unwind->cursor, RECORD_REG_FP, &fp) < 0)
		return STEP_CUT;
	if (!fp)
		return STEP_END;
	/* These checks say the same whenever the same values were read, also on
	 * a stack at other addresses: stack_cache.c relies on that. */
	if (fp < unwind->sp || fp % 8 || !is_in_copied_stack(unwind, fp))
		return STEP_CUT;
	if (!read_copied_stack(unwind, fp, &next_fp) ||
	    !read_copied_stack(unwind, fp + 8, &ip))
		return STEP_CUT;
	set_frame_pointer(unwind, next_fp, true);
	return step_to_frame(unwind, ip, fp + 16);
}

/* --- a frame pointer that is not known ----------------------------------- */

#if defined(__x86_64__)
#define SCAN_BYTES 512u /* of a frame that are looked through */

/* Returns true if "call *operand" is the last instruction of the 8 bytes. */
static bool is_indirect_call(const uint8_t code[8])
{
	for (size_t length = 2; length <= 7; length++) {
		const uint8_t *at = code + 8 - length;
		unsigned int mod = at[1] >> 6, rm = at[1] & 7;
		size_t size = 2 + (mod != 3 && rm == 4);

		size += mod == 1 ? 1 : mod == 2 || (!mod && rm == 5) ? 4 : 0;
		if (at[0] == 0xff && (at[1] >> 3 & 7) == 2 && size == length)
			return true;
	}
	return false;
}

enum call_kind { CALL_NONE, CALL_OTHER, CALL_DIRECT };

/* Returns the kind of the call before @ret. CALL_DIRECT calls the function at
 * @start; CALL_OTHER may reach it (indirect, or to a PLT stub). */
static enum call_kind call_before(struct unwind *unwind, uint64_t ret,
				  uint64_t start)
{
	uint8_t code[8];
	int32_t offset;

	if (!find_code(unwind, ret - 1) ||
	    !unwind_space_read(&unwind->space, ret - 8, code, sizeof(code)))
		return CALL_NONE;
	memcpy(&offset, code + 4, sizeof(offset));
	if (code[3] == 0xe8)
		return ret + (uint64_t)(int64_t)offset == start ? CALL_DIRECT
								: CALL_OTHER;
	return is_indirect_call(code) ? CALL_OTHER : CALL_NONE;
}

/* Sets *@ret to the return address of the frame with frame pointer @fp. Returns
 * false if there can be no such frame. */
static bool read_return_address(struct unwind *unwind, uint64_t fp,
				uint64_t *ret)
{
	return fp % 16 == 0 && is_in_copied_stack(unwind, fp + 8) &&
	       read_copied_stack(unwind, fp + 8, ret) && *ret;
}

/* Returns true if @fp is the frame pointer of a frame that a direct call of the
 * function at @start created. Such a call reaches 2 GiB, and is not on the
 * stack. Other words are not looked up: for an unknown address the load map is
 * read again, and the result is not repeatable. */
static bool is_directly_called(struct unwind *unwind, uint64_t fp,
			       uint64_t start)
{
	uint64_t ret;
	int64_t distance;

	if (!read_return_address(unwind, fp, &ret) ||
	    is_in_copied_stack(unwind, ret))
		return false;
	distance = (int64_t)(start - ret);
	return distance == (int32_t)distance &&
	       call_before(unwind, ret, start) == CALL_DIRECT;
}

/* Returns the frame pointer of the frame at the cursor, whose function starts
 * at @start. The code of the function determines it, if a call precedes the
 * return address there. Otherwise it is the first place with a return address
 * behind a direct call of this function. 0: there is none. */
static uint64_t find_frame_pointer(struct unwind *unwind, uint64_t start)
{
	uint64_t bytes = unwind->ip - start;
	uint64_t size, ret, fp = unwind->sp;
	uint8_t code[FRAME_SIZE_CODE_MAX];

	if (bytes <= sizeof(code) &&
	    unwind_space_read(&unwind->space, start, code, bytes) &&
	    frame_size(code, bytes, start, &size) &&
	    read_return_address(unwind, fp + size, &ret) &&
	    call_before(unwind, ret, start) != CALL_NONE)
		return fp + size;
	for (; fp < unwind->sp + SCAN_BYTES; fp += 8)
		if (is_directly_called(unwind, fp, start))
			return fp;
	return 0;
}

/* Finds the frame pointer and restarts the cursor at the frame, after a step by
 * the description has failed, perhaps because the frame pointer is unknown.
 * Only a function that has made a call has surely completed its prologue. */
static bool recover_frame_pointer(struct unwind *unwind, uint64_t ip)
{
	const struct known_code *code = find_code(unwind, ip);
	uint64_t fp;

	if (!(unwind->unknown_reg & 1ULL << RECORD_REG_FP) || !code ||
	    unwind->kind != FRAME_RETURN)
		return false;
	fp = find_frame_pointer(unwind, code->fde.start + code->bias);
	if (!fp)
		return false;
	set_frame_pointer(unwind, fp, true);
	unwind->reg[RECORD_REG_IP] = ip;
	unwind->reg[RECORD_REG_SP] = unwind->sp;
	unwind->guessed_reg |= 1ULL << RECORD_REG_IP | 1ULL << RECORD_REG_SP |
			       1ULL << RECORD_REG_FP;
	return start_cursor(unwind);
}
#else
static bool recover_frame_pointer(struct unwind *unwind, uint64_t ip)
{
	(void)unwind;
	(void)ip;
	return false;
}
#endif

static enum step step_to_caller(struct unwind *unwind)
{
	uint64_t ip = unwind->ip - (unwind->kind == FRAME_RETURN);
	const struct known_code *code = find_code(unwind, ip);
	const bool is_innermost = unwind->out->count == 1;
	enum step what;
	bool is_signal;

	/* A thunk that stands for the exit of a function has called the hook,
	 * and returns to the function's caller. */
	if (code && code->is_thunk && !code->is_moved)
		return step_simple(unwind,
				   thunk_pushed(unwind->ip - code->bias));
	if (!code || code->fde.verdict == CFI_BAD)
		return step_guessed(unwind);
	is_signal = code->fde.verdict == CFI_SIGNAL;
	/* The frame that was added last is the code that a signal handler
	 * returns to: its address is the instruction itself. */
	if (is_signal)
		unwind->out->frame[unwind->out->count - 1].kind = FRAME_PC;
	what = step_described(unwind, is_signal);
	if (what == STEP_CUT && recover_frame_pointer(unwind, ip))
		what = step_described(unwind, is_signal);
	if (what == STEP_NEXT && is_innermost && !is_signal)
		what = keep_restored(unwind);
	return what;
}

/* A function with a uretprobe returns to the first byte of [uprobes], the
 * highest mapping that a process can have. */
static bool is_probed(const struct unwind *unwind)
{
#if defined(__x86_64__)
	return unwind->kind == FRAME_RETURN && unwind->ip == 0x7fffffffe000;
#else
	(void)unwind;
	return false;
#endif
}

static void add_cursor_frame(struct unwind *unwind)
{
	struct stack_frame *frame = &unwind->out->frame[unwind->out->count];
	const struct known_code *code =
		find_code(unwind, unwind->ip - (unwind->kind == FRAME_RETURN));

	if (code && code->is_moved && !code->function &&
	    unwind->kind == FRAME_RETURN)
		return;
	unwind->out->count++;
	if (code && code->function)
		*frame = (struct stack_frame){
			.address = code->function,
			.generation = unwind->stack->generation,
			.kind = FRAME_PC,
		};
	else if (is_probed(unwind))
		*frame = (struct stack_frame){ .address = FRAME_PROBED,
					       .kind = FRAME_NAMED };
	else
		*frame = (struct stack_frame){
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
	/* Reads of these two need not be noted: stack_cache.h looks stacks up
	 * by them in any case. */
	unwind->guessed_reg = 1ULL << RECORD_REG_IP | 1ULL << RECORD_REG_SP;
	unwind->asked_reg = 0;
	unwind->unknown_reg = stack->unknown_reg;
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
	/* The stack does not contain the caller of a function with a
	 * uretprobe. */
	out->cut = what == STEP_CUT &&
		   out->frame[out->count - 1].kind != FRAME_NAMED;
	out->is_short = out->cut && unwind->missed;
	if (out->cut)
		out->frame[out->count++] =
			(struct stack_frame){ .address = FRAME_CUT,
					      .kind = FRAME_NAMED };
}
