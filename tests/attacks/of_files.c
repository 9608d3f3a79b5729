/* SPDX-License-Identifier: Apache-2.0
 *
 * of_files - attacks by what the collector reads of a program for names: its
 * files, and its memory.
 */
#include <elf.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tests/attacks/client.h"

#define SLOTS 4
#define CELLS (1u << 16)
#define FILES_MAX 1000
#define CODE_BYTES (16ULL << 20) /* that a file says it has */
#define MAPPED_BYTES 65536
#define FUNCTION_BYTES 16
#define CANNOT 77

/* --- ELF files ----------------------------------------------------------- */

struct elf_head {
	Elf64_Ehdr file;
	Elf64_Phdr code;
	Elf64_Shdr section[4]; /* none, .symtab, .strtab, .text */
};

/* Makes a file at @path with @count symbols; symbol i is @symbol[i % real] with
 * a value of its own. Symbols from @real on are a hole, so that the file is
 * sparse. Returns a descriptor. */
static int make_elf(const char *path, const Elf64_Sym *symbol, size_t real,
		    size_t count, const char *strings, size_t string_bytes)
{
	const uint64_t symbols_at = 4096;
	const uint64_t symbol_bytes = count * sizeof(*symbol);
	struct elf_head head = {
		.file = {
			.e_ident = { 0x7f, 'E', 'L', 'F', ELFCLASS64,
				     ELFDATA2LSB, EV_CURRENT },
			.e_type = ET_DYN,
			.e_machine = EM_X86_64,
			.e_version = EV_CURRENT,
			.e_phoff = offsetof(struct elf_head, code),
			.e_shoff = offsetof(struct elf_head, section),
			.e_ehsize = sizeof(Elf64_Ehdr),
			.e_phentsize = sizeof(Elf64_Phdr),
			.e_phnum = 1,
			.e_shentsize = sizeof(Elf64_Shdr),
			.e_shnum = 4,
		},
		.code = { .p_type = PT_LOAD, .p_flags = PF_R | PF_X,
			  .p_filesz = CODE_BYTES, .p_memsz = CODE_BYTES,
			  .p_align = 4096 },
		.section = {
			[1] = { .sh_type = SHT_SYMTAB, .sh_link = 2,
				.sh_offset = symbols_at,
				.sh_size = symbol_bytes, .sh_addralign = 8,
				.sh_entsize = sizeof(*symbol) },
			[2] = { .sh_type = SHT_STRTAB, .sh_addralign = 1,
				.sh_offset = symbols_at + symbol_bytes,
				.sh_size = string_bytes },
			[3] = { .sh_type = SHT_PROGBITS, .sh_addralign = 16,
				.sh_flags = SHF_ALLOC | SHF_EXECINSTR,
				.sh_size = CODE_BYTES },
		},
	};
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	if (fd < 0)
		die(path);
	if (ftruncate(fd, (off_t)(symbols_at + symbol_bytes + string_bytes +
				  MAPPED_BYTES)) < 0 ||
	    pwrite(fd, &head, sizeof(head), 0) != sizeof(head) ||
	    pwrite(fd, symbol, real * sizeof(*symbol), (off_t)symbols_at) !=
		    (ssize_t)(real * sizeof(*symbol)) ||
	    pwrite(fd, strings, string_bytes,
		   (off_t)(symbols_at + symbol_bytes)) != (ssize_t)string_bytes)
		die(path);
	return fd;
}

/* As a loader would map the code of @fd. */
static uint64_t map_code(int fd)
{
	void *code = mmap(NULL, MAPPED_BYTES, PROT_READ | PROT_EXEC,
			  MAP_PRIVATE, fd, 0);

	if (code == MAP_FAILED)
		die("mmap");
	close(fd);
	return (uint64_t)code;
}

static Elf64_Sym function_symbol(size_t index, uint32_t name)
{
	return (Elf64_Sym){ .st_name = name,
			    .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC),
			    .st_shndx = 3,
			    .st_value = index * FUNCTION_BYTES,
			    .st_size = FUNCTION_BYTES };
}

/* Calls, again and again, each of @functions functions of each file, whose code
 * lies at @code. Nobody hears of the end but by client_is_over(). */
static int call_all(const uint64_t *code, int files, int functions)
{
	struct client client;
	bool ready = false;

	if (!client_hello(&client, SLOTS, CELLS))
		return 1;
	client_claim(&client, 0, getpid(), getpid());
	while (!client_is_over()) {
		for (int i = 0; i < files * functions; i++) {
			uint64_t function =
				code[i % files] +
				(uint64_t)(i / files) * FUNCTION_BYTES;
			uint64_t now = client_clock();
			const struct record cell[] = {
				{ record_word(RECORD_BEGIN, function, 0x200),
				  now },
				{ record_word(RECORD_END, function, 0x200),
				  now + 1 },
			};

			if (!client_put(&client, 0, cell, 2))
				return 0;
		}
		if (!ready)
			client_say_ready();
		ready = true;
		usleep(10000);
	}
	return 0;
}

/* --- tables -------------------------------------------------------------- */

#define TABLE_SYMBOLS (4u << 20)
#define TABLE_FUNCTIONS 100000
#define TABLE_STRINGS 4000

int attack_tables(int argc, char **argv)
{
	int files = argc > 1 ? atoi(argv[1]) : 0;
	Elf64_Sym *symbol = calloc(TABLE_FUNCTIONS, sizeof(*symbol));
	static uint64_t code[FILES_MAX];
	char strings[TABLE_STRINGS], path[4096];

	if (files < 1 || files > FILES_MAX || !symbol)
		return 2;
	/* All names end where the first one does: each is a few KiB, which
	 * makes 200 MB of the names of a file of 2.4 MB. */
	memset(strings, 'n', sizeof(strings));
	strings[0] = strings[TABLE_STRINGS - 1] = '\0';
	for (uint32_t i = 0; i < TABLE_FUNCTIONS; i++)
		symbol[i] = function_symbol(i, 1 + i % (TABLE_STRINGS / 2));
	for (int i = 0; i < files; i++) {
		snprintf(path, sizeof(path), "%s/table%d.so", argv[0], i);
		code[i] = map_code(make_elf(path, symbol, TABLE_FUNCTIONS,
					    TABLE_SYMBOLS, strings,
					    sizeof(strings)));
	}
	free(symbol);
	return call_all(code, files, 10);
}

/* --- mangled ------------------------------------------------------------- */

#define MANGLED_BYTES 4000
#define MANGLED_VARIANTS 32

static const struct {
	const char *begin, *again, *end;
} g_mangled[] = {
	{ "_Z1f", "P", "i" }, /* pointers to pointers */
	{ "_Z1f", "K", "i" },
	{ "_Z1f", "F", "i" }, /* functions that return functions */
	{ "_Z1f", "A_", "i" },
	{ "_Z1f", "M1A", "i" },
	{ "_Z1fI", "I", "i" },
	{ "_ZN", "1A", "E" },
	{ "_Z1f", "St4pairI", "ii" },
	{ "_Z1fSt4pairIiiE", "S_IS0_S0_E", "" }, /* each has the last twice */
	{ "_Z1fIXnt", "nt", "T_EEvT_" },
	{ "_Z1fIXcv", "cv", "i" },
	{ "_Z1fIL", "Z1fIL", "i1" },
	{ "_Z1f", "DpT_", "" },
	{ "_Z1fUl", "Ul", "vE_" },
	{ "_RNvC", "1a", "" },
	{ "_R", "N", "C1a" },
	{ "_RY", "Y", "" },
	{ "_RNv", "M", "C1a" },
	{ "_RNvXINtC1a1b", "TB2_B2_E", "EC1c1d" },
};

#define MANGLED (sizeof(g_mangled) / sizeof(g_mangled[0]))

static size_t write_mangled(char *to, size_t which, size_t variant)
{
	size_t room = MANGLED_BYTES * (variant + 1) / MANGLED_VARIANTS, length;

	strcpy(to, g_mangled[which].begin);
	length = strlen(to);
	while (length + strlen(g_mangled[which].again) < room) {
		strcpy(to + length, g_mangled[which].again);
		length += strlen(g_mangled[which].again);
	}
	strcpy(to + length, g_mangled[which].end);
	return length + strlen(g_mangled[which].end) + 1;
}

int attack_mangled(int argc, char **argv)
{
	const size_t count = MANGLED * MANGLED_VARIANTS;
	char *strings = calloc(count + 1, MANGLED_BYTES + 64), path[4096];
	Elf64_Sym *symbol = calloc(count, sizeof(*symbol));
	size_t bytes = 1;
	uint64_t code;

	if (argc < 1 || !strings || !symbol)
		return 2;
	for (size_t i = 0; i < count; i++) {
		symbol[i] = function_symbol(i, (uint32_t)bytes);
		bytes += write_mangled(strings + bytes, i % MANGLED,
				       i / MANGLED);
	}
	snprintf(path, sizeof(path), "%s/mangled.so", argv[0]);
	code = map_code(make_elf(path, symbol, count, count, strings, bytes));
	free(strings);
	free(symbol);
	return call_all(&code, 1, (int)count);
}

/* --- fault --------------------------------------------------------------- */

/* From here on a page of it that is not there is waited for. */
static void never_answer(int fault_fd, void *start, size_t bytes)
{
	struct uffdio_register range = {
		.range = { (uint64_t)start, bytes },
		.mode = UFFDIO_REGISTER_MODE_MISSING,
	};

	if (ioctl(fault_fd, UFFDIO_REGISTER, &range) < 0)
		die("UFFDIO_REGISTER");
}

/* A page where /proc/PID/cmdline looks for our arguments. */
static void *move_arguments(size_t page)
{
	char *to = mmap(NULL, page, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (to == MAP_FAILED ||
	    prctl(PR_SET_MM, PR_SET_MM_ARG_START, to, 0, 0) < 0 ||
	    prctl(PR_SET_MM, PR_SET_MM_ARG_END, to + page, 0, 0) < 0)
		return NULL;
	return to;
}

/* Code that is in no file which could be opened, and never there. */
static void *missing_code(size_t bytes)
{
	int fd = memfd_create("code", MFD_CLOEXEC);
	void *code;

	if (fd < 0 || ftruncate(fd, (off_t)bytes) < 0)
		die("memfd");
	code = mmap(NULL, bytes, PROT_READ | PROT_EXEC, MAP_SHARED, fd, 0);
	if (code == MAP_FAILED)
		die("mmap");
	close(fd);
	return code;
}

int attack_fault(int argc, char **argv)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	struct uffdio_api api = { .api = UFFD_API };
	int fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC);
	void *arguments;
	uint64_t code;

	(void)argc;
	(void)argv;
	if (fd < 0 || ioctl(fd, UFFDIO_API, &api) < 0) {
		perror("userfaultfd");
		return CANNOT;
	}
	arguments = move_arguments(page);
	if (arguments)
		never_answer(fd, arguments, page);
	code = (uint64_t)missing_code(MAPPED_BYTES);
	never_answer(fd, (void *)code, MAPPED_BYTES);
	return call_all(&code, 1, 10);
}
