/* SPDX-License-Identifier: Apache-2.0
 *
 * elf_assembly, and symbols: the machine code of functions as text.
 */
#include "collector/names/elf_assembly.h"

#include <errno.h>

#include "collector/names/symbols.h"
#include "tests/suite.h"
#include "tests/unit/scratch.h"

#define VADDR 0x401000

static const char *text_at(const struct elf_assembly *assembly, size_t i)
{
	ck_assert_uint_lt(i, assembly->count);
	return assembly->strings + assembly->list[i].text;
}

static void assembly_free(struct elf_assembly *assembly)
{
	free(assembly->list);
	free(assembly->strings);
}

static const struct {
	const char *text;
	uint8_t code[16];
	size_t bytes;
	uint64_t target;
} g_known[] = {
	{ "nop", { 0x90 }, 1, 0 },
	{ "ret", { 0xc3 }, 1, 0 },
	{ "add rax, [rdi+rcx*8+0x10]", { 0x48, 0x03, 0x44, 0xcf, 0x10 }, 5, 0 },
	{ "call @", { 0xe8, 0xfb, 0, 0, 0 }, 5, VADDR + 0x100 },
	{ "jnz @", { 0x75, 0xfe }, 2, VADDR },
	{ "mov eax, [@]", { 0x8b, 0x05, 0xfa, 0x0f, 0, 0 }, 6, VADDR + 0x1000 },
	{ "mov rax, fs:[@]",
	  { 0x64, 0x48, 0x8b, 0x04, 0x25, 0x28, 0, 0, 0 },
	  9,
	  0x28 },
	{ "vaddpd zmm1 {k1}, zmm2, zmm3",
	  { 0x62, 0xf1, 0xed, 0x49, 0x58, 0xcb },
	  6,
	  0 },
	{ ".byte 0x06", { 0x06 }, 1, 0 },
	/* Cut short. */
	{ ".byte 0xe8", { 0xe8 }, 1, 0 },
};

TEST(elf_assembly_of_known_bytes, EACH(0, (int)ARRAY_SIZE(g_known)))
{
	struct elf_assembly assembly;

	ck_assert_int_eq(elf_assembly_make(g_known[_i].code, g_known[_i].bytes,
					   VADDR, &assembly),
			 0);
	ck_assert_uint_eq(assembly.count, 1);
	ck_assert_str_eq(text_at(&assembly, 0), g_known[_i].text);
	ck_assert_uint_eq(assembly.list[0].bytes, g_known[_i].bytes);
	ck_assert_uint_eq(assembly.list[0].target, g_known[_i].target);
	assembly_free(&assembly);
}

TEST(elf_assembly_of_any_bytes_covers_them)
{
	static uint8_t code[4096];
	uint32_t random = 1;

	for (int round = 0; round < 50; round++) {
		struct elf_assembly assembly;
		uint32_t at = 0;

		for (size_t i = 0; i < sizeof(code); i++)
			code[i] =
				(uint8_t)((random = random * 69069 + 1) >> 24);
		ck_assert_int_eq(elf_assembly_make(code, sizeof(code),
						   UINT64_MAX - 64, &assembly),
				 0);
		for (size_t i = 0; i < assembly.count; i++) {
			ck_assert_uint_eq(assembly.list[i].at, at);
			at += assembly.list[i].bytes;
			ck_assert_uint_lt(strlen(text_at(&assembly, i)),
					  ELF_ASSEMBLY_TEXT);
		}
		ck_assert_uint_eq(at, sizeof(code));
		assembly_free(&assembly);
	}
}

/* --- of a file ------------------------------------------------------------ */

static const char g_source[] =
	"	.text\n"
	"	.globl known, huge\n"
	"	.type known, @function\n"
	"known:	.cfi_startproc\n"
	"	add %rdi, %rax\n"
	"	jmp known\n"
	"	.byte 6\n"
	"	.cfi_endproc\n"
	"	.size known, .-known\n"
	/* It claims more code than there is. */
	"	.type huge, @function\n"
	"huge:	ret\n"
	"	.size huge, 0x900000\n"
	"	.section .note.GNU-stack,\"\",@progbits\n";

static struct symbol_file *open_made(struct symbol_cache *cache,
				     const char *flags)
{
	struct symbol_file *file;
	int fd;

	scratch_write("known.s", g_source, sizeof(g_source) - 1);
	scratch_run("gcc -shared -nostdlib %s -o known.so known.s", flags);
	fd = open("known.so", O_RDONLY | O_CLOEXEC);
	ck_assert_int_ge(fd, 0);
	file = symbol_cache_file(cache, getuid(), fd, "known.so");
	ck_assert_ptr_nonnull(file);
	close(fd);
	return file;
}

/* Stripped, the function has its bounds from the unwind tables. */
TEST(symbols_assembly_is_that_of_the_file, EACH(0, 2))
{
	struct symbol_cache *cache;
	struct elf_assembly assembly;
	uint64_t vaddr = 0, start, end;
	char why[SYMBOLIZE_WHY_BYTES];
	struct symbol_file *file;

	ck_assert_int_eq(symbol_cache_new(&cache), 0);
	file = open_made(cache, _i ? "-Wl,-s" : "");
	ck_assert(symbol_file_vaddr(file, 0x1000, &vaddr));
	ck_assert(symbol_file_range(file, vaddr + 3, &start, &end));
	ck_assert_uint_eq(start, vaddr);
	ck_assert_uint_eq(end, vaddr + 6);
	ck_assert_int_eq(symbol_file_assembly(file, start, end, &assembly, why),
			 0);
	ck_assert_uint_eq(assembly.count, 3);
	ck_assert_str_eq(text_at(&assembly, 0), "add rax, rdi");
	ck_assert_str_eq(text_at(&assembly, 1), "jmp @");
	ck_assert_uint_eq(assembly.list[1].target, start);
	ck_assert_str_eq(text_at(&assembly, 2), ".byte 0x06");
	assembly_free(&assembly);
	symbol_file_put(&file);
	symbol_cache_put(&cache);
}

TEST(symbols_assembly_ends_with_the_code_of_the_file)
{
	struct symbol_cache *cache;
	struct elf_assembly assembly;
	uint64_t vaddr = 0, start, end;
	char why[SYMBOLIZE_WHY_BYTES];
	struct symbol_file *file;

	ck_assert_int_eq(symbol_cache_new(&cache), 0);
	file = open_made(cache, "");
	ck_assert(symbol_file_vaddr(file, 0x1006, &vaddr));
	ck_assert(symbol_file_range(file, vaddr, &start, &end));
	ck_assert_uint_ge(end - start, 0x1000);
	ck_assert_int_eq(symbol_file_assembly(file, start, end, &assembly, why),
			 0);
	ck_assert_uint_ge(assembly.count, 1);
	ck_assert_str_eq(text_at(&assembly, 0), "ret");
	ck_assert_uint_le(assembly.count, 0x1000);
	assembly_free(&assembly);
	ck_assert_int_eq(symbol_file_assembly(file, 1ull << 40, 1ull << 41,
					      &assembly, why),
			 -ENODATA);
	ck_assert_str_eq(why, "the file has no code at address 0x10000000000");
	ck_assert_int_eq(
		symbol_file_assembly(file, start, start, &assembly, why),
		-ENODATA);
	symbol_file_put(&file);
	symbol_cache_put(&cache);
}

SUITE(scratch_enter, scratch_leave);
