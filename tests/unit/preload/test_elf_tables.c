/* SPDX-License-Identifier: Apache-2.0
 *
 * test_elf_tables - the shim's lookup of symbols in loaded modules finds the
 * same symbols as dlsym().
 */
/* The shim has no library to link with. */
#include "preload/core/elf_tables.c" /* NOLINT(bugprone-suspicious-include) */

#include <dlfcn.h>
#include <gnu/libc-version.h>
#include <sys/auxv.h>

#include "tests/suite.h"

static void *g_libc;

static void libc_tables(struct elf_tables *tables)
{
	g_libc = dlopen("libc.so.6", RTLD_NOLOAD | RTLD_LAZY);
	ck_assert_ptr_nonnull(g_libc);
#if defined(__aarch64__)
	elf_tables_set_cpu(getauxval(AT_HWCAP), getauxval(AT_HWCAP2));
#endif
	/* glibc's handle is the link_map. */
	elf_tables_of(tables, g_libc);
}

TEST(finds_what_dlsym_finds)
{
	static const char *const names[] = {
		"malloc",  "getenv",   "pthread_cond_wait",
		"memcpy",  "realpath", "strlen",
		"environ", "stdout",   "pthread_self"
	};
	struct elf_tables tables;

	libc_tables(&tables);
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		ck_assert_msg(elf_tables_find(&tables, names[i]) ==
				      dlsym(g_libc, names[i]),
			      "%s", names[i]);
}

/* dlsym() finds the default version only. */
TEST(finds_a_version_by_its_name)
{
	static const char name[] = "pthread_create";
	struct elf_tables tables;
	const char *version;

	libc_tables(&tables);
	version = elf_tables_version(&tables, name);
	ck_assert_ptr_nonnull(version);
	ck_assert_ptr_eq(dlvsym(g_libc, name, version), dlsym(g_libc, name));
	ck_assert_ptr_eq(elf_tables_find_version(&tables, name, version),
			 dlsym(g_libc, name));
	ck_assert_ptr_eq(elf_tables_find_version(&tables, name, "GLIBC_1"),
			 dlsym(g_libc, name));
	ck_assert_ptr_null(elf_tables_version(&tables, "no_such_function"));
#if defined(__x86_64__)
	/* A hidden version for old programs. */
	ck_assert_ptr_null(elf_tables_find(&tables, "xdr_bool"));
	ck_assert_ptr_nonnull(dlvsym(g_libc, "xdr_bool", "GLIBC_2.2.5"));
	ck_assert_ptr_eq(
		elf_tables_find_version(&tables, "xdr_bool", "GLIBC_2.2.5"),
		dlvsym(g_libc, "xdr_bool", "GLIBC_2.2.5"));
	ck_assert_ptr_null(
		elf_tables_find_version(&tables, "xdr_bool", "GLIBC_2.3"));
#endif
}

TEST(finds_nothing_that_is_not_there)
{
	struct elf_tables tables;

	libc_tables(&tables);
	ck_assert_ptr_null(elf_tables_find(&tables, "no_such_function"));
	ck_assert_ptr_null(elf_tables_find(&tables, ""));
	/* Thread-local: its value is no address. */
	ck_assert_ptr_null(elf_tables_find(&tables, "errno"));
	ck_assert_ptr_null(elf_tables_slot(&tables, "no_such_function"));
	tables.gnu_hash = tables.sysv_hash = NULL;
	ck_assert_ptr_null(elf_tables_find(&tables, "malloc"));
	elf_tables_read(&tables, &(ElfW(Dyn)){ .d_tag = DT_NULL }, 0);
	ck_assert_ptr_null(elf_tables_find(&tables, "malloc"));
	ck_assert_uint_eq(elf_tables_symbol_bytes(&tables), 0);
}

TEST(reads_the_name_and_the_size)
{
	struct elf_tables tables;
	size_t bytes;

	libc_tables(&tables);
	ck_assert_str_eq(tables.soname, "libc.so.6");
	bytes = elf_tables_symbol_bytes(&tables);
	ck_assert_uint_gt(bytes / sizeof(ElfW(Sym)), 1000);
	ck_assert_uint_lt(bytes, 1 << 20);
}

/* The SysV hash table; some kernels' vDSO has no other. */
TEST(finds_by_the_old_hash)
{
	uintptr_t base = getauxval(AT_SYSINFO_EHDR);
	const ElfW(Ehdr) *header = (const void *)base;
	const ElfW(Phdr) * segment;
	struct elf_tables tables = { .base = 0 };
	uint32_t found = 0;

	if (!base)
		return;
	segment = (const void *)(base + header->e_phoff);
	for (size_t i = 0; i < header->e_phnum; i++)
		if (segment[i].p_type == PT_DYNAMIC)
			elf_tables_read(
				&tables,
				(const void *)(base + segment[i].p_offset),
				base);
	ck_assert_ptr_nonnull(tables.symbols);
	if (!tables.sysv_hash)
		return;
	tables.gnu_hash = NULL;
	for (uint32_t i = 1; i < tables.sysv_hash[1]; i++) {
		const ElfW(Sym) *symbol = &tables.symbols[i];
		const char *name = tables.names + symbol->st_name;

		if (!symbol->st_value || symbol->st_shndx == SHN_ABS)
			continue;
		ck_assert_msg(elf_tables_find(&tables, name) ==
				      (void *)(base + symbol->st_value),
			      "%s", name);
		found++;
	}
	ck_assert_uint_gt(found, 0);
	ck_assert_ptr_null(elf_tables_find(&tables, "no_such_function"));
}

TEST(finds_where_a_reference_was_resolved)
{
	struct elf_tables tables;
	void *const *slot;

	/* The call binds the symbol. */
	ck_assert_ptr_nonnull(gnu_get_libc_version());
	elf_tables_of(&tables, dlopen(NULL, RTLD_LAZY));
	slot = elf_tables_slot(&tables, "gnu_get_libc_version");
	ck_assert_ptr_nonnull(slot);
	ck_assert_ptr_eq(*slot, dlsym(RTLD_DEFAULT, "gnu_get_libc_version"));
}
