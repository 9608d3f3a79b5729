/* SPDX-License-Identifier: Apache-2.0
 *
 * memory_image: reads names of a deleted library from the memory of this
 * process.
 */
#include "collector/names/memory_image.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <sys/mman.h>

#include "collector/names/map_log.h"
#include "collector/names/symbols.h"
#include "tests/suite.h"
#include "tests/unit/scratch.h"

static struct symbol_cache *g_cache;
static int g_proc;

static void setup(void)
{
	ck_assert_int_eq(symbol_cache_new(&g_cache), 0);
	g_proc = open("/proc/self", O_PATH | O_DIRECTORY | O_CLOEXEC);
	ck_assert_int_ge(g_proc, 0);
}

static void teardown(void)
{
	symbol_cache_put(&g_cache);
	close(g_proc);
}

struct extent {
	uint64_t start, end, bias;
};

static void *load(const char *flags, struct extent *out)
{
	struct link_map *map;
	void *handle;
	char path[2 * PATH_MAX];

	scratch_run("echo '__attribute__((noinline)) static int in(int i)"
		    "{ return i * 3; } int first(int i) { return in(i) + 1; }"
		    "int second(int i) { return in(i) + 2; }' >gone.c && "
		    "gcc -O1 -fPIC -shared -Wl,--build-id %s -o gone.so gone.c",
		    flags);
	snprintf(path, sizeof(path), "%s/gone.so", g_scratch);
	handle = dlopen(path, RTLD_NOW);
	ck_assert_ptr_nonnull(handle);
	ck_assert_int_eq(unlink(path), 0);
	ck_assert_int_eq(dlinfo(handle, RTLD_DI_LINKMAP, &map), 0);
	out->bias = out->start = map->l_addr;
	/* The image ends with the dynamic section. */
	out->end = ((uint64_t)(uintptr_t)map->l_ld | 4095) + 1;
	return handle;
}

static struct symbol_file *image_of(const struct extent *at)
{
	int fd = memory_image_open(symbol_cache_readers(g_cache), getuid(),
				   g_proc, at->start, at->end, at->bias);
	struct symbol_file *file;

	ck_assert_int_ge(fd, 0);
	file = symbol_cache_file(g_cache, getuid(), fd, "/gone.so");
	close(fd);
	ck_assert_ptr_nonnull(file);
	return file;
}

SUITE(scratch_enter, scratch_leave);

FIXTURE(setup, teardown);

TEST(memory_image_has_names_build_id_and_bounds, EACH(0, 3))
{
	static const char *const flags[] = { "-Wl,--hash-style=gnu",
					     "-Wl,--hash-style=sysv",
					     "-Wl,-z,noseparate-code" };
	struct symbol_file *file;
	uint64_t first, start;
	struct extent at;
	void *handle = load(flags[_i], &at);

	file = image_of(&at);
	ck_assert_pstr_eq(symbol_file_error(file), NULL);
	ck_assert_uint_eq(strlen(symbol_file_build_id(file)), 40);
	first = (uint64_t)(uintptr_t)dlsym(handle, "first") - at.bias;
	ck_assert_pstr_eq(symbol_file_lookup(file, first + 1, &start), "first");
	ck_assert_uint_eq(start, first);
	ck_assert_pstr_eq(
		symbol_file_lookup(
			file,
			(uint64_t)(uintptr_t)dlsym(handle, "second") - at.bias,
			&start),
		"second");
	ck_assert(symbol_file_bounds(file, first + 1, &start));
	ck_assert_uint_eq(start, first);
	symbol_file_put(&file);
	dlclose(handle);
}

static struct map_names names_of(void *handle, const struct extent *at)
{
	struct map_names names = { 0 };
	struct link_map *map;

	ck_assert_int_eq(dlinfo(handle, RTLD_DI_LINKMAP, &map), 0);
	for (const ElfW(Dyn) *entry = map->l_ld; entry->d_tag; entry++) {
		if (entry->d_tag == DT_SYMTAB)
			names.symbols = (void *)entry->d_un.d_ptr;
		if (entry->d_tag == DT_STRTAB)
			names.strings = (void *)entry->d_un.d_ptr;
		if (entry->d_tag == DT_STRSZ)
			names.string_bytes = entry->d_un.d_val;
	}
	/* bfd places .dynstr behind .dynsym */
	names.symbol_bytes = (size_t)((const char *)names.strings -
				      (const char *)names.symbols);
	ck_assert_uint_lt(names.symbol_bytes, at->end - at->start);
	return names;
}

TEST(memory_image_of_names_has_these_and_build_id)
{
	static const char build_id[] = "00ff1c0b";
	struct symbol_file *file;
	struct map_names names;
	uint64_t first, start;
	struct extent at;
	void *handle = load("", &at);
	int fd;

	names = names_of(handle, &at);
	fd = memory_image_of_names(&names, build_id, at.end - at.start);
	ck_assert_int_ge(fd, 0);
	file = symbol_cache_file(g_cache, getuid(), fd, "/gone.so");
	close(fd);
	ck_assert_pstr_eq(symbol_file_error(file), NULL);
	ck_assert_pstr_eq(symbol_file_build_id(file), build_id);
	first = (uint64_t)(uintptr_t)dlsym(handle, "first") - at.bias;
	ck_assert_pstr_eq(symbol_file_lookup(file, first + 1, &start), "first");
	ck_assert_uint_eq(start, first);
	ck_assert(!symbol_file_bounds(file, first + 1, &start));
	symbol_file_put(&file);
	dlclose(handle);
}

TEST(memory_image_of_names_that_lie_is_survived, EACH(0, 3))
{
	static uint8_t bytes[1000];
	struct symbol_file *file;

	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (uint8_t)(_i == 1 ? i * i : (size_t)_i);
	for (size_t i = 0; i < sizeof(bytes); i += 7) {
		const struct map_names names = {
			.symbols = bytes,
			.symbol_bytes = i,
			.strings = bytes + i,
			.string_bytes = sizeof(bytes) - i,
		};
		int fd = memory_image_of_names(&names, "", UINT64_MAX);

		ck_assert_int_ge(fd, 0);
		file = symbol_cache_file(g_cache, getuid(), fd, "/gone.so");
		close(fd);
		symbol_file_error(file);
		symbol_file_lookup(file, 0x1000, &(uint64_t){ 0 });
		symbol_file_put(&file);
	}
}

TEST(memory_image_of_what_is_no_module_is_refused)
{
	static uint8_t zeros[4096];
	uint64_t at = (uint64_t)(uintptr_t)zeros;

	ck_assert_int_eq(memory_image_open(symbol_cache_readers(g_cache),
					   getuid(), g_proc, at, at + 4096, at),
			 -ENOEXEC);
	ck_assert_int_lt(memory_image_open(symbol_cache_readers(g_cache),
					   getuid(), g_proc, 4096, 8192, 4096),
			 0);
	ck_assert_int_lt(memory_image_open(symbol_cache_readers(g_cache),
					   getuid(), g_proc, at, at, at),
			 0);
	ck_assert_int_lt(memory_image_open(symbol_cache_readers(g_cache),
					   getuid(), g_proc, UINT64_MAX - 4096,
					   UINT64_MAX, 0),
			 0);
	ck_assert_int_lt(memory_image_open(symbol_cache_readers(g_cache),
					   getuid(), -1, at, at + 4096, at),
			 0);
}

TEST(memory_image_that_lies_is_survived)
{
	static const uint64_t worst[] = { UINT64_MAX, 1ull << 63, 0x10000, 0 };
	struct symbol_file *file;
	struct extent at;
	void *handle = load("", &at);
	size_t bytes = at.end - at.start;
	uint8_t *copy = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct extent lying = { (uint64_t)(uintptr_t)copy, 0,
				(uint64_t)(uintptr_t)copy };

	for (size_t i = 0; i < 4 * 0x400 / 8; i++) {
		size_t place = i / 4 * 8;
		int fd;

		memcpy(copy, (void *)(uintptr_t)at.start, 0x1000);
		memcpy(copy + 0x1000, (void *)(uintptr_t)(at.start + 0x1000),
		       0x1000);
		memcpy(copy + place, &worst[i % 4], 8);
		lying.end = lying.start + (place & 8 ? bytes : place);
		fd = memory_image_open(symbol_cache_readers(g_cache), getuid(),
				       g_proc, lying.start, lying.end,
				       lying.bias);
		if (fd < 0)
			continue;
		close(fd);
		file = image_of(&lying);
		symbol_file_error(file);
		symbol_file_lookup(file, 0x1000, &(uint64_t){ 0 });
		symbol_file_put(&file);
	}
	munmap(copy, bytes);
	dlclose(handle);
}
