/* SPDX-License-Identifier: Apache-2.0
 *
 * unwind_cfi - walks the programs of the common entry (CIE) and of the function
 * (FDE). To keep libunwind from asserting or looping:
 *
 *  - instructions are known, complete and of existing registers
 *  - the frame (DW_CFA_def_cfa) is set before the first code
 *  - only remembered states are restored
 *  - expressions have no branches, calls or divisions, and their stack is
 *    never empty or deep
 *
 * Lengths are limited far above the output of compilers.
 */
#include "collector/names/unwind_cfi.h"

#include <dwarf.h>
#include <string.h>

#define PROGRAM_BYTES_MAX 65536u
#define EXPRESSION_BYTES_MAX 256u
#define EXPRESSION_DEPTH_MAX 32
#define REMEMBER_MAX 16
/* The limit of libunwind, with the NUL. */
#define AUGMENTATION_BYTES 5

#if defined(__x86_64__)
#define REGISTERS 17 /* libunwind's numbers: 16 is the return address */
#define RETURN_REGISTER 16
#else
#define REGISTERS 32
#define RETURN_REGISTER 30
#endif

/* After a read beyond the end, failed is set and reads return 0. */
struct bytes {
	const struct cfi_reader *reader;
	uint64_t at, end;
	bool failed;
};

static void get_bytes(struct bytes *bytes, void *out, size_t size)
{
	memset(out, 0, size);
	if (bytes->failed || bytes->end - bytes->at < size ||
	    !bytes->reader->read(bytes->reader->context, bytes->at, out, size))
		bytes->failed = true;
	else
		bytes->at += size;
}

static void skip_cfi_bytes(struct bytes *bytes, uint64_t size)
{
	if (bytes->failed || bytes->end - bytes->at < size)
		bytes->failed = true;
	else
		bytes->at += size;
}

static uint8_t get_u8(struct bytes *bytes)
{
	uint8_t value;

	get_bytes(bytes, &value, sizeof(value));
	return value;
}

static uint32_t get_u32(struct bytes *bytes)
{
	uint32_t value;

	get_bytes(bytes, &value, sizeof(value));
	return value;
}

static uint64_t get_any_leb(struct bytes *bytes, bool is_signed)
{
	uint64_t value = 0;
	unsigned int shift = 0;
	uint8_t byte;

	do {
		byte = get_u8(bytes);
		if (shift < 64)
			value |= (uint64_t)(byte & 0x7f) << shift;
		else
			bytes->failed = true; /* no compiler pads that much */
		shift += 7;
	} while (byte & 0x80 && !bytes->failed);
	if (is_signed && byte & 0x40 && shift < 64)
		value |= ~0ull << shift;
	return value;
}

/* Also skips signed values. */
static uint64_t get_leb(struct bytes *bytes)
{
	return get_any_leb(bytes, false);
}

static void check_register(struct bytes *bytes)
{
	if (get_leb(bytes) >= REGISTERS)
		bytes->failed = true;
}

/* --- expressions --------------------------------------------------------- */

/* Effect on the stack; -1: unknown. */
struct effect {
	int takes, puts;
};

static struct effect effect_of_instruction(uint8_t op, struct bytes *bytes)
{
	if (op >= DW_OP_lit0 && op <= DW_OP_lit31)
		return (struct effect){ 0, 1 };
	if (op >= DW_OP_breg0 && op < DW_OP_breg0 + REGISTERS) {
		get_leb(bytes);
		return (struct effect){ 0, 1 };
	}
	switch (op) {
	case DW_OP_const1u:
	case DW_OP_const1s:
		skip_cfi_bytes(bytes, 1);
		return (struct effect){ 0, 1 };
	case DW_OP_const2u:
	case DW_OP_const2s:
		skip_cfi_bytes(bytes, 2);
		return (struct effect){ 0, 1 };
	case DW_OP_const4u:
	case DW_OP_const4s:
		skip_cfi_bytes(bytes, 4);
		return (struct effect){ 0, 1 };
	case DW_OP_const8u:
	case DW_OP_const8s:
		skip_cfi_bytes(bytes, 8);
		return (struct effect){ 0, 1 };
	case DW_OP_constu:
	case DW_OP_consts:
		get_leb(bytes);
		return (struct effect){ 0, 1 };
	case DW_OP_plus_uconst:
		get_leb(bytes);
		return (struct effect){ 1, 1 };
	case DW_OP_dup:
		return (struct effect){ 1, 2 };
	case DW_OP_drop:
		return (struct effect){ 1, 0 };
	case DW_OP_over:
		return (struct effect){ 2, 3 };
	case DW_OP_swap:
		return (struct effect){ 2, 2 };
	case DW_OP_deref:
	case DW_OP_neg:
	case DW_OP_not:
		return (struct effect){ 1, 1 };
	case DW_OP_and:
	case DW_OP_or:
	case DW_OP_xor:
	case DW_OP_plus:
	case DW_OP_minus:
	case DW_OP_mul:
	case DW_OP_shl:
	case DW_OP_shr:
	case DW_OP_shra:
	case DW_OP_eq:
	case DW_OP_ne:
	case DW_OP_lt:
	case DW_OP_le:
	case DW_OP_gt:
	case DW_OP_ge:
		return (struct effect){ 2, 1 };
	case DW_OP_nop:
		return (struct effect){ 0, 0 };
	default:
		return (struct effect){ -1, 0 };
	}
}

static void check_expression(struct bytes *bytes, int depth)
{
	uint64_t size = get_leb(bytes);
	struct bytes expression = *bytes;

	if (size > EXPRESSION_BYTES_MAX)
		bytes->failed = true;
	skip_cfi_bytes(bytes, size);
	if (bytes->failed)
		return;
	expression.end = bytes->at;
	while (expression.at < expression.end && !expression.failed) {
		struct effect effect =
			effect_of_instruction(get_u8(&expression), &expression);

		if (effect.takes < 0 || effect.takes > depth)
			expression.failed = true;
		depth += effect.puts - effect.takes;
		if (depth > EXPRESSION_DEPTH_MAX)
			expression.failed = true;
	}
	if (expression.failed || depth < 1)
		bytes->failed = true;
}

/* --- programs ------------------------------------------------------------ */

struct program {
	struct bytes bytes;
	bool has_cfa;
	int remembered;
};

static void check_extended(struct program *program, uint8_t op)
{
	struct bytes *bytes = &program->bytes;

	switch (op) {
	case DW_CFA_nop:
		break;
	case DW_CFA_advance_loc1:
		skip_cfi_bytes(bytes, 1);
		break;
	case DW_CFA_advance_loc2:
		skip_cfi_bytes(bytes, 2);
		break;
	case DW_CFA_advance_loc4:
		skip_cfi_bytes(bytes, 4);
		break;
	case DW_CFA_offset_extended:
	case DW_CFA_offset_extended_sf:
	case DW_CFA_val_offset:
	case DW_CFA_val_offset_sf:
		check_register(bytes);
		get_leb(bytes);
		break;
	case DW_CFA_restore_extended:
	case DW_CFA_undefined:
	case DW_CFA_same_value:
	case DW_CFA_def_cfa_register:
		check_register(bytes);
		break;
	case DW_CFA_register:
		check_register(bytes);
		check_register(bytes);
		break;
	case DW_CFA_def_cfa_offset:
	case DW_CFA_def_cfa_offset_sf:
	case DW_CFA_GNU_args_size:
		get_leb(bytes);
		break;
	case DW_CFA_expression:
	case DW_CFA_val_expression:
		check_register(bytes);
		check_expression(bytes, 1);
		break;
	case DW_CFA_remember_state:
		if (++program->remembered > REMEMBER_MAX || !program->has_cfa)
			bytes->failed = true;
		break;
	case DW_CFA_restore_state:
		if (--program->remembered < 0)
			bytes->failed = true;
		break;
	case DW_CFA_def_cfa:
	case DW_CFA_def_cfa_sf:
		check_register(bytes);
		get_leb(bytes);
		program->has_cfa = true;
		break;
	case DW_CFA_def_cfa_expression:
		check_expression(bytes, 0);
		program->has_cfa = true;
		break;
#if defined(__aarch64__)
	case DW_CFA_GNU_window_save: /* here: signed return address */
		break;
#endif
	default:
		bytes->failed = true;
	}
}

static bool is_advance(uint8_t op)
{
	return (op & 0xc0) == DW_CFA_advance_loc || op == DW_CFA_advance_loc1 ||
	       op == DW_CFA_advance_loc2 || op == DW_CFA_advance_loc4;
}

static void check_instruction(struct program *program)
{
	struct bytes *bytes = &program->bytes;
	uint8_t op = get_u8(bytes);

	/* The frame must be known from here on. */
	if (is_advance(op) && !program->has_cfa)
		bytes->failed = true;
	switch (op & 0xc0) {
	case DW_CFA_advance_loc:
		break;
	case DW_CFA_offset:
		get_leb(bytes);
		/* fall through */
	case DW_CFA_restore:
		if ((op & 0x3f) >= REGISTERS)
			bytes->failed = true;
		break;
	default:
		check_extended(program, op);
	}
}

/* Continues with the state of the last program. */
static bool check_program(struct program *program, const struct bytes *bytes)
{
	program->bytes = *bytes;
	program->remembered = 0;
	if (bytes->failed || bytes->end - bytes->at > PROGRAM_BYTES_MAX)
		return false;
	while (program->bytes.at < program->bytes.end && !program->bytes.failed)
		check_instruction(program);
	return !program->bytes.failed;
}

/* --- entries ------------------------------------------------------------- */

struct cie {
	struct bytes program;
	uint8_t fde_encoding, lsda_encoding;
	bool is_sized;
	bool is_signal;
	uint64_t code_factor;
	int64_t data_factor;
};

/* Limits @bytes to the entry after its length. */
static void enter_entry(struct bytes *bytes)
{
	uint32_t length;

	bytes->end = UINT64_MAX;
	length = get_u32(bytes);
	/* 0: end of the section; larger values: 64-bit DWARF. */
	if (!length || length >= 0xfffffff0 || bytes->at > UINT64_MAX - length)
		bytes->failed = true;
	else
		bytes->end = bytes->at + length;
}

/* libunwind checks the value, and reads indirect ones through our accessors. */
static void skip_pointer(struct bytes *bytes, uint8_t encoding)
{
	if (encoding == DW_EH_PE_omit)
		return;
	switch (encoding & 0x0f) {
	case DW_EH_PE_absptr:
	case DW_EH_PE_udata8:
	case DW_EH_PE_sdata8:
		skip_cfi_bytes(bytes, 8);
		break;
	case DW_EH_PE_udata4:
	case DW_EH_PE_sdata4:
		skip_cfi_bytes(bytes, 4);
		break;
	case DW_EH_PE_udata2:
	case DW_EH_PE_sdata2:
		skip_cfi_bytes(bytes, 2);
		break;
	default:
		bytes->failed = true;
	}
	if ((encoding & 0x70) > DW_EH_PE_datarel)
		bytes->failed = true;
}

static void read_augmentation(struct bytes *bytes, const char *text,
			      struct cie *cie)
{
	if (*text == 'z') {
		cie->is_sized = true;
		get_leb(bytes);
		text++;
	}
	for (; *text && !bytes->failed; text++) {
		if (*text == 'R')
			cie->fde_encoding = get_u8(bytes);
		else if (*text == 'L')
			cie->lsda_encoding = get_u8(bytes);
		else if (*text == 'P')
			skip_pointer(bytes, get_u8(bytes));
		else if (*text == 'S')
			cie->is_signal = true;
#if defined(__aarch64__)
		else if (*text == 'B') /* addresses are signed by key B */
			continue;
#endif
		else
			bytes->failed = true;
	}
	if (cie->is_signal && !cie->is_sized)
		bytes->failed = true;
}

static bool read_cie(const struct cfi_reader *reader, uint64_t at,
		     struct cie *cie)
{
	struct bytes bytes = { .reader = reader, .at = at };
	char augmentation[AUGMENTATION_BYTES] = "";
	uint8_t version;
	size_t i = 0;

	*cie = (struct cie){ .lsda_encoding = DW_EH_PE_omit };
	enter_entry(&bytes);
	if (get_u32(&bytes) != 0)
		return false;
	version = get_u8(&bytes);
	if (version != 1 && version != 3)
		return false;
	do {
		if (i == sizeof(augmentation))
			return false;
		augmentation[i] = (char)get_u8(&bytes);
	} while (augmentation[i++] && !bytes.failed);
	cie->code_factor = get_leb(&bytes);
	cie->data_factor = (int64_t)get_any_leb(&bytes, true);
	if ((version == 1 ? get_u8(&bytes) : get_leb(&bytes)) !=
	    RETURN_REGISTER)
		return false;
	read_augmentation(&bytes, augmentation, cie);
	cie->program = bytes;
	return !bytes.failed;
}

static uint64_t get_encoded_number(struct bytes *bytes, uint8_t encoding)
{
	int32_t half;
	uint64_t whole;

	switch (encoding & 0x0f) {
	case DW_EH_PE_absptr:
	case DW_EH_PE_udata8:
	case DW_EH_PE_sdata8:
		get_bytes(bytes, &whole, sizeof(whole));
		return whole;
	case DW_EH_PE_udata4:
		return get_u32(bytes);
	case DW_EH_PE_sdata4:
		get_bytes(bytes, &half, sizeof(half));
		return (uint64_t)(int64_t)half;
	default:
		bytes->failed = true;
		return 0;
	}
}

static bool read_fde_entry(struct bytes *bytes, struct cie *cie,
			   struct cfi_range *range)
{
	uint64_t cie_at, base;
	uint8_t relative;
	uint32_t back;

	enter_entry(bytes);
	cie_at = bytes->at;
	back = get_u32(bytes);
	if (bytes->failed || !back || back > INT32_MAX || back > cie_at ||
	    !read_cie(bytes->reader, cie_at - back, cie))
		return false;
	relative = cie->fde_encoding & 0xf0;
	if (relative != DW_EH_PE_pcrel && relative != DW_EH_PE_absptr)
		return false;
	base = relative == DW_EH_PE_pcrel ? bytes->at : 0;
	range->start = base + get_encoded_number(bytes, cie->fde_encoding);
	range->end =
		range->start + get_encoded_number(bytes, cie->fde_encoding);
	return !bytes->failed && range->end >= range->start;
}

bool unwind_cfi_range(const struct cfi_reader *reader, uint64_t fde,
		      struct cfi_range *range)
{
	struct bytes bytes = { .reader = reader, .at = fde };
	struct cie cie;

	return read_fde_entry(&bytes, &cie, range);
}

bool unwind_cfi_next(const struct cfi_reader *reader, uint64_t end,
		     uint64_t *at, uint64_t *fde, struct cfi_range *range)
{
	while (*at < end) {
		struct bytes bytes = { .reader = reader, .at = *at };

		enter_entry(&bytes);
		if (bytes.failed || bytes.end > end)
			return false;
		*fde = *at;
		*at = bytes.end;
		/* False for a common entry. */
		if (unwind_cfi_range(reader, *fde, range))
			return true;
	}
	return false;
}

enum cfi_verdict unwind_cfi_check(const struct cfi_reader *reader, uint64_t fde,
				  struct cfi_range *range)
{
	struct bytes bytes = { .reader = reader, .at = fde };
	struct program program = { .has_cfa = false };
	struct cie cie;

	if (!read_fde_entry(&bytes, &cie, range))
		return CFI_BAD;
	if (cie.is_sized)
		skip_cfi_bytes(&bytes, get_leb(&bytes));
	if (!check_program(&program, &cie.program) ||
	    !check_program(&program, &bytes) || !program.has_cfa)
		return CFI_BAD;
	return cie.is_signal ? CFI_SIGNAL : CFI_GOOD;
}

/* --- steps ---------------------------------------------------------------- */

#define DATA_FACTOR (-8)

/* Returns @value, perhaps of a negative number, times DATA_FACTOR. */
static uint64_t factored(uint64_t value)
{
	return 0 - value * -DATA_FACTOR;
}

/* Reads the operands of the good instruction @step->op. Returns how far it
 * advances. */
static uint64_t get_operands(struct bytes *bytes, struct cfi_step *step)
{
	switch (step->op) {
	case DW_CFA_advance_loc1:
		return get_u8(bytes);
	case DW_CFA_advance_loc2:
		return get_u8(bytes) | (uint64_t)get_u8(bytes) << 8;
	case DW_CFA_advance_loc4:
		return get_u32(bytes);
	case DW_CFA_offset:
		step->operand[1] = factored(get_leb(bytes));
		return 0;
	case DW_CFA_def_cfa:
	case DW_CFA_register:
		step->operand[0] = get_leb(bytes);
		step->operand[1] = get_leb(bytes);
		return 0;
	case DW_CFA_offset_extended:
	case DW_CFA_val_offset:
		step->operand[0] = get_leb(bytes);
		step->operand[1] = factored(get_leb(bytes));
		return 0;
	case DW_CFA_def_cfa_sf:
	case DW_CFA_offset_extended_sf:
	case DW_CFA_val_offset_sf:
		step->operand[0] = get_leb(bytes);
		step->operand[1] = factored(get_any_leb(bytes, true));
		return 0;
	case DW_CFA_def_cfa_offset_sf:
		step->operand[0] = factored(get_any_leb(bytes, true));
		return 0;
	case DW_CFA_expression:
	case DW_CFA_val_expression:
		step->operand[0] = get_leb(bytes);
		/* fall through */
	case DW_CFA_def_cfa_expression:
		skip_cfi_bytes(bytes, get_leb(bytes));
		return 0;
	case DW_CFA_restore_extended:
	case DW_CFA_undefined:
	case DW_CFA_same_value:
	case DW_CFA_def_cfa_register:
	case DW_CFA_def_cfa_offset:
	case DW_CFA_GNU_args_size:
		step->operand[0] = get_leb(bytes);
		return 0;
	default:
		return 0;
	}
}

/* Returns false if @take has ended it. */
static bool take_steps(struct bytes *bytes, uint64_t *at,
		       bool (*take)(void *context, const struct cfi_step *step),
		       void *context)
{
	while (bytes->at < bytes->end && !bytes->failed) {
		struct cfi_step step = { .at = *at, .op = get_u8(bytes) };

		if (step.op & 0xc0) {
			step.operand[0] = step.op & 0x3f;
			step.op &= 0xc0;
		}
		if (step.op == DW_CFA_advance_loc)
			*at += step.operand[0];
		else
			*at += get_operands(bytes, &step);
		if (!is_advance(step.op) && step.op != DW_CFA_nop &&
		    !take(context, &step))
			return false;
	}
	return true;
}

bool unwind_cfi_steps(const struct cfi_reader *reader, uint64_t fde,
		      bool (*take)(void *context, const struct cfi_step *step),
		      void *context)
{
	struct bytes bytes = { .reader = reader, .at = fde };
	struct cfi_range range;
	struct cie cie;
	uint64_t at;

	if (unwind_cfi_check(reader, fde, &range) != CFI_GOOD ||
	    !read_fde_entry(&bytes, &cie, &range) || cie.code_factor != 1 ||
	    cie.data_factor != DATA_FACTOR)
		return false;
	if (cie.is_sized)
		skip_cfi_bytes(&bytes, get_leb(&bytes));
	at = range.start;
	if (take_steps(&cie.program, &at, take, context)) {
		at = range.start;
		take_steps(&bytes, &at, take, context);
	}
	return !bytes.failed;
}

bool unwind_cfi_table(const struct cfi_reader *reader, uint64_t header,
		      struct cfi_table *table)
{
	struct bytes bytes = { .reader = reader,
			       .at = header,
			       .end = UINT64_MAX };
	uint8_t version = get_u8(&bytes), pointer = get_u8(&bytes);
	uint8_t count = get_u8(&bytes), entries = get_u8(&bytes);

	if (version != 1 || count != DW_EH_PE_udata4 ||
	    entries != (DW_EH_PE_datarel | DW_EH_PE_sdata4))
		return false;
	skip_pointer(&bytes, pointer);
	table->count = get_u32(&bytes);
	table->vaddr = bytes.at;
	return !bytes.failed;
}
