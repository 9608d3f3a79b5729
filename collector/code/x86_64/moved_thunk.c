/* SPDX-License-Identifier: Apache-2.0
 *
 * moved_thunk - the layout of the thunk; all numbers are offsets:
 *
 *	  0	jmp 56			or test $54, %al: counts
 *	  2	push %r11
 *		r11 = the counts of this thread, or jmp 104
 *		incq CALLS(%r11)
 *		pop %r11
 *	 51	test $75, %al		or jmp 128: records
 *	 56	the body
 *	104	mov $NUMBER, %r11d
 *		call *moved_count
 *		pop %r11
 *		jc 56
 *		jmp 128
 *	122	add $8, %rsp
 *		jmp 56
 *	128	push $NUMBER
 *		call *moved_enter
 *		jc 122
 *		lea -PAD(%rsp), %rsp
 *		push ARGUMENT...		or a loop, from ARGUMENTS_LOOP on
 *		call 56
 *		lea PAD+ARGUMENTS(%rsp), %rsp
 *		call *moved_exit
 *		add $8, %rsp
 *		ret
 *
 * The flags are dead where a function starts and where it returns.
 */
#include "collector/code/moved_thunk.h"

#include <dwarf.h>
#include <stddef.h>
#include <string.h>

#include "collector/code/code_moves.h"
#include "shared/compiler.h"

#define GENERAL 104u
#define CODE_END 288u
#define UNDO 122u
/* The parts of the frame descriptions of a number: counting, the body, recording. */
#define FRAME_COUNT 0u
#define FRAME_BODY 24u
#define FRAME_RECORD 96u
/* From this count of words on, a loop pushes them. */
#define ARGUMENTS_LOOP (MOVE_ARGUMENTS_MAX + 1)
#define RECORD_FRAME_BYTES (THUNK_FRAME_BYTES - FRAME_RECORD)

_Static_assert(THUNK_MOVED_BODY + MOVE_BODY_MAX <= GENERAL, "room");
_Static_assert(THUNK_MOVED_ENTERED == THUNK_MOVED_RECORD + 5 + 6,
	       "push, and call");
_Static_assert(17 + 23 + 4 * MOVE_ARGUMENTS_MAX <= RECORD_FRAME_BYTES,
	       "rows of all pushes");
_Static_assert(FRAME_BODY + 17 + MOVE_FRAME_MAX + 3 <= FRAME_RECORD, "room");

/* --- writing -------------------------------------------------------------- */

/* The code of a thunk, and its frame description. */
struct writer {
	uint8_t *slot, *frames;
	uint64_t offset; /* of the slot in the area */
	uint64_t frame, common; /* of its and the common descriptions */
	uint32_t at;
	uint8_t rows[RECORD_FRAME_BYTES];
	uint32_t row_bytes, row_at;
};

static void put_instruction(struct writer *writer, const char *code,
			    size_t bytes)
{
	memcpy(writer->slot + writer->at, code, bytes);
	writer->at += (uint32_t)bytes;
}

static void put_u32(struct writer *writer, uint64_t value)
{
	const uint32_t low = (uint32_t)value;

	memcpy(writer->slot + writer->at, &low, sizeof(low));
	writer->at += sizeof(low);
}

/* call *WORD(%rip), a word of struct thunk_page. */
static void put_hook_call(struct writer *writer, size_t word)
{
	put_instruction(writer, "\xff\x15", 2);
	put_u32(writer, THUNK_PAGE + word - (writer->offset + writer->at + 4));
}

/* The second byte of a short jump to @target. */
static void put_short(struct writer *writer, uint32_t target)
{
	writer->slot[writer->at] = (uint8_t)(target - (writer->at + 1));
	writer->at++;
}

static void put_row_byte(struct writer *writer, uint32_t byte)
{
	writer->rows[writer->row_bytes++] = (uint8_t)byte;
}

/* From here on the return address ends @offset bytes above rsp. */
static void put_frame_row(struct writer *writer, uint32_t offset)
{
	if (writer->at > writer->row_at)
		put_row_byte(writer, DW_CFA_advance_loc |
					     (writer->at - writer->row_at));
	writer->row_at = writer->at;
	put_row_byte(writer, DW_CFA_def_cfa_offset);
	if (offset > 127)
		put_row_byte(writer, (offset & 127) | 128);
	put_row_byte(writer, offset > 127 ? offset >> 7 : offset);
}

static void begin_rows(struct writer *writer, uint32_t at)
{
	writer->at = writer->row_at = at;
	writer->row_bytes = 0;
}

/* Writes the description (FDE) of [@start, @end) to all bytes from @at to @next:
 * length, distance of the common entry, code, its bytes, no augmentation data,
 * instructions. */
static void put_description(const struct writer *writer, uint32_t at,
			    uint32_t next, uint32_t start, uint32_t end,
			    const uint8_t *rows, uint32_t row_bytes)
{
	uint8_t *to = writer->frames + at;
	const uint32_t fields[] = {
		next - at - 4,
		(uint32_t)(writer->frame + at + 4 - writer->common),
		(uint32_t)(writer->offset + start - (writer->frame + at + 8)),
		end - start,
	};

	memset(to, DW_CFA_nop, next - at);
	memcpy(to, fields, sizeof(fields));
	if (row_bytes)
		memcpy(to + 17, rows, row_bytes);
}

/* --- parts ---------------------------------------------------------------- */

static void put_count_part(struct writer *writer, const struct thunk_shim *shim,
			   uint32_t number)
{
	const uint32_t cell = number * (uint32_t)sizeof(struct count_cell);

	begin_rows(writer, 0);
	put_instruction(writer, "\xeb", 1);
	put_short(writer, THUNK_MOVED_BODY);
	put_instruction(writer, "\x41\x53", 2);
	put_frame_row(writer, 16);
	put_instruction(writer, "\x49\xbb", 2);
	memcpy(writer->slot + writer->at, &shim->count_epoch, 8);
	writer->at += 8;
	put_instruction(writer, "\x45\x8b\x1b", 3); /* mov (%r11), %r11d */
	put_instruction(writer, "\x64\x44\x3b\x1c\x25",
			5); /* cmp %fs:, %r11d */
	put_u32(writer, (uint64_t)shim->epoch);
	put_instruction(writer, "\x75", 1);
	put_short(writer, GENERAL);
	put_instruction(writer, "\x64\x4c\x8b\x1c\x25", 5); /* mov %fs:, %r11 */
	put_u32(writer, (uint64_t)shim->counts);
	put_instruction(writer, "\x4d\x85\xdb\x74",
			4); /* test %r11, %r11; jz */
	put_short(writer, GENERAL);
	put_instruction(writer, "\x49\xff\x83", 3); /* incq (%r11) */
	put_u32(writer, cell + offsetof(struct count_cell, calls));
	put_instruction(writer, "\x41\x5b", 2);
	put_frame_row(writer, 8);
	put_instruction(writer, "\xa8", 1);
	put_short(writer, THUNK_MOVED_RECORD);
	put_instruction(writer, "\x0f\x1f\x00", 3); /* nop */
	put_description(writer, FRAME_COUNT, FRAME_BODY, 0, THUNK_MOVED_BODY,
			writer->rows, writer->row_bytes);
}

/* jmp *(%rip), with the address behind it */
static bool put_called_body(struct writer *writer, uint64_t called)
{
	writer->at = THUNK_MOVED_BODY;
	put_instruction(writer, "\xff\x25\0\0\0\0", 6);
	memcpy(writer->slot + writer->at, &called, sizeof(called));
	put_description(writer, FRAME_BODY, FRAME_RECORD, THUNK_MOVED_BODY,
			GENERAL, NULL, 0);
	return true;
}

static bool put_body_part(struct writer *writer,
			  const struct moved_thunk *moved)
{
	const struct code_move *move = moved->move;
	const uint8_t *bytes =
		code_move_bytes(moved->moves, move) + move->displaced;
	const uint8_t *frame = bytes + move->body, *fixes = frame + move->frame;
	const uint64_t start = moved->map + writer->offset + THUNK_MOVED_BODY;

	memcpy(writer->slot + THUNK_MOVED_BODY, bytes, move->body);
	for (size_t i = 0; i < move->fixes; i++) {
		struct code_fix fix;
		int64_t distance;
		int32_t operand;

		memcpy(&fix, fixes + i * sizeof(fix), sizeof(fix));
		distance =
			(int64_t)(fix.target + moved->bias - start - fix.next);
		operand = (int32_t)distance;
		if (operand != distance)
			return false;
		memcpy(writer->slot + THUNK_MOVED_BODY + fix.at, &operand,
		       sizeof(operand));
	}
	put_description(writer, FRAME_BODY, FRAME_RECORD, THUNK_MOVED_BODY,
			GENERAL, frame, move->frame);
	return true;
}

/* lea @offset(%rsp), %rsp */
static void put_move_stack(struct writer *writer, int32_t offset)
{
	if (offset >= -128 && offset < 128) {
		put_instruction(writer, "\x48\x8d\x64\x24", 4);
		writer->slot[writer->at++] = (uint8_t)offset;
	} else {
		put_instruction(writer, "\x48\x8d\xa4\x24", 4);
		put_u32(writer, (uint64_t)offset);
	}
}

/* push @distance(%rsp) */
static void put_push(struct writer *writer, uint32_t distance)
{
	if (distance < 128) {
		put_instruction(writer, "\xff\x74\x24", 3);
		writer->slot[writer->at++] = (uint8_t)distance;
	} else {
		put_instruction(writer, "\xff\xb4\x24", 3);
		put_u32(writer, distance);
	}
}

static void put_row_leb(struct writer *writer, uint32_t value)
{
	for (; value > 63; value >>= 7)
		put_row_byte(writer, (value & 127) | 128);
	put_row_byte(writer, value);
}

/* From here on the return address ends @offset - 8 * r11 bytes above rsp. */
static void put_loop_row(struct writer *writer, uint32_t offset)
{
	const uint32_t bytes = offset > 8191 ? 3 : 2; /* of the number */

	put_row_byte(writer,
		     DW_CFA_advance_loc | (writer->at - writer->row_at));
	writer->row_at = writer->at;
	put_row_byte(writer, DW_CFA_def_cfa_expression);
	put_row_byte(writer, 1 + bytes + 2 + 3);
	put_row_byte(writer, DW_OP_breg7);
	put_row_leb(writer, offset);
	put_row_byte(writer, DW_OP_breg11);
	put_row_byte(writer, 0);
	put_row_byte(writer, DW_OP_lit3);
	put_row_byte(writer, DW_OP_shl);
	put_row_byte(writer, DW_OP_minus);
}

/* Pushes @words words. @frame: bytes between rsp and the end of the return
 * address. Uses r11, which is free at a call from another file. */
static void put_push_loop(struct writer *writer, uint32_t distance,
			  uint32_t words, uint32_t frame)
{
	uint32_t again;

	put_instruction(writer, "\x41\xbb", 2); /* mov $, %r11d */
	put_u32(writer, words);
	again = writer->at;
	put_loop_row(writer, frame + 8 * words);
	put_push(writer, distance);
	put_loop_row(writer, frame + 8 * words + 8);
	put_instruction(writer, "\x41\xff\xcb", 3); /* dec %r11d */
	put_loop_row(writer, frame + 8 * words);
	put_instruction(writer, "\x75", 1);
	put_short(writer, again);
	/* r11 is 0, but the body may change it. */
	put_row_byte(writer,
		     DW_CFA_advance_loc | (writer->at - writer->row_at));
	writer->row_at = writer->at;
	put_row_byte(writer, DW_CFA_def_cfa);
	put_row_byte(writer, 7);
	put_row_leb(writer, frame + 8 * words);
}

static uint32_t padding_of(const struct code_move *move)
{
	/* The number and the return address of the body. */
	const uint32_t shift = 16 + 8u * move->arguments;
	const uint32_t align = move->is_wide ? 64 : 16;

	return ALIGN_UP(shift, align) - shift;
}

static void put_general(struct writer *writer, uint32_t number)
{
	begin_rows(writer, GENERAL);
	put_frame_row(writer, 16);
	put_instruction(writer, "\x41\xbb", 2); /* mov $, %r11d */
	put_u32(writer, number);
	put_hook_call(writer, offsetof(struct thunk_page, moved_count));
	put_instruction(writer, "\x41\x5b", 2);
	put_frame_row(writer, 8);
	put_instruction(writer, "\x72", 1);
	put_short(writer, THUNK_MOVED_BODY);
	put_instruction(writer, "\xeb", 1);
	put_short(writer, THUNK_MOVED_RECORD);
	writer->at = UNDO;
	put_frame_row(writer, 16);
	put_instruction(writer, "\x48\x83\xc4\x08", 4);
	put_frame_row(writer, 8);
	put_instruction(writer, "\xeb", 1);
	put_short(writer, THUNK_MOVED_BODY);
}

/* Returns the offset of the entry hook in struct thunk_page. */
static size_t entry_hook_of(const struct thunk_words *words)
{
	if (!words->entry)
		return offsetof(struct thunk_page, moved_enter);
	if (words->texts >> 8)
		return offsetof(struct thunk_page, moved_enter_any);
	switch (thunk_words_count(words->texts)) {
	case 2:
		return offsetof(struct thunk_page, moved_enter_2);
	case THUNK_WORDS_REGISTERS:
		return offsetof(struct thunk_page, moved_enter_6);
	case THUNK_WORDS_ALL:
		return offsetof(struct thunk_page, moved_enter_14);
	default:
		return offsetof(struct thunk_page, moved_enter_any);
	}
}

static size_t exit_hook_of(const struct thunk_words *words)
{
	if (!words->exit)
		return offsetof(struct thunk_page, moved_exit);
	return thunk_words_result(words->texts) != THUNK_TEXT_NONE
		       ? offsetof(struct thunk_page, moved_exit_any)
		       : offsetof(struct thunk_page, moved_exit_words);
}

static void put_record_part(struct writer *writer, const struct code_move *move,
			    const struct thunk_words *wanted, uint32_t number)
{
	const uint32_t pad = padding_of(move), words = move->arguments;
	const uint32_t frame = pad + 8 * words;
	/* From an argument of the function to its copy. */
	const uint32_t distance = 16 + pad + 8 * (words - 1);

	put_general(writer, number);
	put_instruction(writer, "\x68", 1);
	put_u32(writer, number);
	put_frame_row(writer, 16);
	put_hook_call(writer, entry_hook_of(wanted));
	put_instruction(writer, "\x72", 1);
	put_short(writer, UNDO);
	if (pad) {
		put_move_stack(writer, -(int32_t)pad);
		put_frame_row(writer, 16 + pad);
	}
	if (words < ARGUMENTS_LOOP)
		for (uint32_t i = 0; i < words; i++) {
			put_push(writer, distance);
			put_frame_row(writer, 16 + pad + 8 * (i + 1));
		}
	else
		put_push_loop(writer, distance, words, 16 + pad);
	put_instruction(writer, "\xe8", 1);
	put_u32(writer, (uint64_t)THUNK_MOVED_BODY - (writer->at + 4));
	if (frame) {
		put_move_stack(writer, (int32_t)frame);
		put_frame_row(writer, 16);
	}
	put_hook_call(writer, exit_hook_of(wanted));
	put_instruction(writer, "\x48\x83\xc4\x08", 4);
	put_frame_row(writer, 8);
	put_instruction(writer, "\xc3", 1);
	put_description(writer, FRAME_RECORD, THUNK_FRAME_BYTES, GENERAL,
			CODE_END, writer->rows, writer->row_bytes);
}

bool moved_thunk_make(const struct moved_thunk *moved, uint8_t out[THUNK_BYTES],
		      uint8_t frames[THUNK_FRAME_BYTES], uint32_t *frame)
{
	struct writer writer = {
		.slot = out,
		.frames = frames,
		.offset = THUNK_CODE + moved->number * (uint64_t)THUNK_BYTES,
		.frame = thunk_frame(moved->functions, moved->number),
		.common = thunk_frame(moved->functions, 0),
	};

	memset(out, 0xcc, THUNK_BYTES);
	memcpy(out + THUNK_MOVED_WORDS, &moved->words, sizeof(moved->words));
	put_count_part(&writer, moved->shim, moved->number);
	put_record_part(&writer, moved->move, &moved->words, moved->number);
	*frame = padding_of(moved->move) + 8u * moved->move->arguments;
	if (moved->move->is_unknown)
		*frame |= THUNK_UNKNOWN;
	if (moved->move->arguments == THUNK_MANY_BYTES / 8)
		*frame |= THUNK_MANY;
	return moved->called ? put_called_body(&writer, moved->called)
			     : put_body_part(&writer, moved);
}

/* --- for unwinders -------------------------------------------------------- */

void moved_thunk_common(uint8_t out[THUNK_FRAME_BYTES])
{
	/* Common entry (CIE): version 1, "zR", factors 1 and -8, return address
	 * in 16; addresses relative, of 4 bytes; the return address is on top
	 * of the stack. It ends with the bytes. */
	static const uint8_t common[] = {
		THUNK_FRAME_BYTES - 4,
		0,
		0,
		0,
		0,
		0,
		0,
		0,
		1,
		'z',
		'R',
		0,
		1,
		0x78,
		16,
		1,
		DW_EH_PE_pcrel | DW_EH_PE_sdata4,
		DW_CFA_def_cfa,
		7,
		8,
		DW_CFA_offset | 16,
		1,
	};

	memset(out, DW_CFA_nop, THUNK_FRAME_BYTES);
	memcpy(out, common, sizeof(common));
}

void moved_thunk_nothing(uint32_t functions, uint32_t number,
			 uint8_t out[THUNK_FRAME_BYTES])
{
	const struct writer writer = {
		.frames = out,
		.frame = thunk_frame(functions, number),
		.common = thunk_frame(functions, 0),
		.offset = THUNK_CODE + number * (uint64_t)THUNK_BYTES,
	};

	put_description(&writer, 0, THUNK_FRAME_BYTES, 0, 0, NULL, 0);
}

void moved_thunk_table(uint32_t functions, uint8_t out[THUNK_FRAMES_HEAD])
{
	static const uint8_t header[] = {
		1,
		DW_EH_PE_pcrel | DW_EH_PE_sdata4,
		DW_EH_PE_udata4,
		DW_EH_PE_datarel | DW_EH_PE_sdata4,
	};
	const int32_t to =
		(int32_t)(thunk_frame(functions, 0) - (THUNK_FRAMES + 4));

	memset(out, 0, THUNK_FRAMES_HEAD);
	memcpy(out, header, sizeof(header));
	memcpy(out + sizeof(header), &to, sizeof(to));
}

void moved_thunk_frames(uint32_t functions, uint32_t number, bool moved,
			struct moved_frame out[THUNK_FRAMES_OF])
{
	static const uint32_t code[] = { 0, THUNK_MOVED_BODY, GENERAL };
	static const uint32_t description[] = { FRAME_COUNT, FRAME_BODY,
						FRAME_RECORD };
	const int32_t slot = (int32_t)(THUNK_CODE - THUNK_FRAMES +
				       number * (uint64_t)THUNK_BYTES);
	const int32_t frame =
		(int32_t)(thunk_frame(functions, number) - THUNK_FRAMES);

	_Static_assert(ARRAY_SIZE(code) == THUNK_FRAMES_OF, "layout");
	for (uint32_t i = 0; i < THUNK_FRAMES_OF; i++)
		out[i] = (struct moved_frame){
			.code = slot + (int32_t)code[i],
			.description =
				frame + (moved ? (int32_t)description[i] : 0),
		};
}
