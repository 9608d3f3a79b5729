/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/names/elf_assembly.h"

#include <Zydis/Zydis.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collector/base/grow.h"

struct disassembler {
	ZydisDecoder decoder;
	ZydisFormatter formatter;
	size_t list_room, string_room;
};

/* A hook of Zydis: the caller knows better names than the address. */
static ZyanStatus print_target(const ZydisFormatter *formatter,
			       ZydisFormatterBuffer *buffer,
			       ZydisFormatterContext *context)
{
	uint64_t *target = context->user_data;
	ZyanVector *chars; /* with a NUL */
	ZyanString *text;

	(void)formatter;
	ZYAN_CHECK(ZydisCalcAbsoluteAddress(context->instruction,
					    context->operand,
					    context->runtime_address, target));
	ZYAN_CHECK(ZydisFormatterBufferGetString(buffer, &text));
	/* libZydis does not export the functions of its strings. */
	chars = &text->vector;
	if (chars->size >= chars->capacity)
		return ZYAN_STATUS_INSUFFICIENT_BUFFER_SIZE;
	((char *)chars->data)[chars->size - 1] = ELF_ASSEMBLY_TARGET;
	((char *)chars->data)[chars->size++] = '\0';
	return ZYAN_STATUS_SUCCESS;
}

static bool disassembler_init(struct disassembler *out)
{
	const void *hook = (const void *)&print_target;

	*out = (struct disassembler){ .list_room = 0 };
	return ZYAN_SUCCESS(ZydisDecoderInit(&out->decoder,
					     ZYDIS_MACHINE_MODE_LONG_64,
					     ZYDIS_STACK_WIDTH_64)) &&
	       ZYAN_SUCCESS(ZydisFormatterInit(&out->formatter,
					       ZYDIS_FORMATTER_STYLE_INTEL)) &&
	       ZYAN_SUCCESS(ZydisFormatterSetHook(
		       &out->formatter, ZYDIS_FORMATTER_FUNC_PRINT_ADDRESS_ABS,
		       &hook));
}

static void disassemble_one(const struct disassembler *disassembler,
			    const uint8_t *code, size_t bytes, uint64_t vaddr,
			    struct elf_instruction *out,
			    char text[ELF_ASSEMBLY_TEXT])
{
	ZydisDecodedOperand operand[ZYDIS_MAX_OPERAND_COUNT];
	ZydisDecodedInstruction decoded;

	out->bytes = 1;
	snprintf(text, ELF_ASSEMBLY_TEXT, ".byte 0x%02x", *code);
	if (ZYAN_FAILED(ZydisDecoderDecodeFull(&disassembler->decoder, code,
					       bytes, &decoded, operand)))
		return;
	out->bytes = decoded.length;
	if (ZYAN_SUCCESS(ZydisFormatterFormatInstruction(
		    &disassembler->formatter, &decoded, operand,
		    decoded.operand_count_visible, text, ELF_ASSEMBLY_TEXT,
		    vaddr, &out->target)))
		return;
	out->target = 0;
	snprintf(text, ELF_ASSEMBLY_TEXT, "%s",
		 ZydisMnemonicGetString(decoded.mnemonic));
}

int elf_assembly_make(const uint8_t *code, size_t bytes, uint64_t vaddr,
		      struct elf_assembly *out)
{
	struct disassembler disassembler;
	struct elf_assembly made = { 0 };
	char text[ELF_ASSEMBLY_TEXT];
	bool fits = disassembler_init(&disassembler);

	*out = made;
	for (size_t at = 0; at < bytes && fits;) {
		struct elf_instruction one = {
			.at = (uint32_t)at,
			.text = (uint32_t)made.string_bytes,
		};
		size_t length;

		disassemble_one(&disassembler, code + at, bytes - at,
				vaddr + at, &one, text);
		length = strlen(text) + 1;
		fits = !grow_array_zeroed(made.list, disassembler.list_room,
					  made.count + 1) &&
		       !grow_array_zeroed(made.strings,
					  disassembler.string_room,
					  made.string_bytes + length);
		if (!fits)
			break;
		memcpy(made.strings + made.string_bytes, text, length);
		made.string_bytes += length;
		made.list[made.count++] = one;
		at += one.bytes;
	}
	if (fits) {
		*out = made;
		return 0;
	}
	free(made.list);
	free(made.strings);
	return -ENOMEM;
}
