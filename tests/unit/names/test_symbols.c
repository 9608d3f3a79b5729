/* SPDX-License-Identifier: Apache-2.0
 *
 * symbols, symbol_name and elf_read: names of compiled files, and malformed
 * files.
 */
#include "collector/names/symbols.h"

#include <elf.h>
#include <errno.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "collector/names/symbol_name.h"
#include "tests/suite.h"
#include "tests/unit/scratch.h"

static struct symbol_cache *g_cache;

static void setup(void)
{
	ck_assert_int_eq(symbol_cache_new(&g_cache), 0);
}

static void teardown(void)
{
	symbol_cache_put(&g_cache);
}

static struct symbol_file *open_file(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct symbol_file *file;

	ck_assert_int_ge(fd, 0);
	file = symbol_cache_file(g_cache, getuid(), fd, path);
	ck_assert_ptr_nonnull(file);
	close(fd);
	return file;
}

/* --- names ---------------------------------------------------------------- */

static const char *made(const char *raw)
{
	static char name[SYMBOL_NAME_BYTES];

	ck_assert_uint_eq(symbol_name_make(raw, name), strlen(name));
	return name;
}

FIXTURE(setup, teardown);

TEST(symbol_name_of_c_stays)
{
	ck_assert_str_eq(made("main"), "main");
	ck_assert_str_eq(made("__libc_start_main"), "__libc_start_main");
	ck_assert_str_eq(made("sort.constprop.0"), "sort.constprop.0");
	ck_assert_str_eq(made("sort.part.0.cold"), "sort.part.0.cold");
	ck_assert_str_eq(made("gr\xc3\xbc\xc3\x9f"), "gr\xc3\xbc\xc3\x9f");
}

TEST(symbol_name_mangled_is_demangled)
{
	ck_assert_str_eq(made("_ZN2ns6Widget4drawEi"), "ns::Widget::draw(int)");
	ck_assert_str_eq(made("_ZN3FooC1Ev"), "Foo::Foo()");
	ck_assert_str_eq(made("_Z3foov.cold"), "foo() [clone .cold]");
	ck_assert_str_eq(
		made("_ZN4core3fmt5Write9write_fmt17h1234567890abcdefE"),
		"core::fmt::Write::write_fmt");
	ck_assert_str_eq(made("_RNvC6_123foo3bar"), "123foo::bar");
	ck_assert_str_eq(made("_Znonsense"), "_Znonsense");
}

/* From rustc 1.95; llvm-cxxfilt gives the same names. */
TEST(symbol_name_of_rust_is_demangled)
{
	static const char *const names[][2] = {
		{ "_RINvCs6GmmlP4bgsG_1r4flagKb1_Kc78_EB2_",
		  "r::flag::<true, 'x'>" },
		{ "_RINvCs6GmmlP4bgsG_1r5applyNCNvB2_4mains_0EB2_",
		  "r::apply::<r::main::{closure#1}>" },
		{ "_RINvXCs6GmmlP4bgsG_1rNtB3_2SqNtB3_5Shape4nameINtNtCsgEmfK2I"
		  "1SDS_4core6option6OptionReEEB3_",
		  "<r::Sq as r::Shape>::name::<core::option::Option<&str>>" },
		{ "_RNvMNtCs6GmmlP4bgsG_1r1rINtB2_3ArrKj4_E3sum",
		  "<r::r::Arr<4>>::sum" },
		{ "_RNSNvYNCINvNtCsjrHSEGnQ3l9_3std2rt10lang_startuE0INtNtNtCsg"
		  "EmfK2I1SDS_4core3ops8function6FnOnceuE9call_once6vtableCs6Gm"
		  "mlP4bgsG_1r",
		  "<std::rt::lang_start<()>::{closure#0} as "
		  "core::ops::function::FnOnce<()>>::call_once::"
		  "{shim:vtable#0}" },
		{ "_RNqCs4fqI2P2rA04_11utf8_identsu30____7hkackfecea1cbdathfdh9"
		  "hlq6y",
		  "utf8_idents::\u10e1\u10d0\u10ed\u10db\u10d4\u10da\u10d0"
		  "\u10d3_\u10d2\u10d4\u10db\u10e0\u10d8\u10d4\u10da\u10d8_"
		  "\u10e1\u10d0\u10d3\u10d8\u10da\u10d8" },
		{ "_ZN1r4main28_$u7b$$u7b$closure$u7d$$u7d$"
		  "17h0123456789abcdefE",
		  "r::main::{{closure}}" },
		{ "_ZN34_$LT$r..Sq$u20$as$u20$r..Shape$GT$4area17h0123456789abc"
		  "defE",
		  "<r::Sq as r::Shape>::area" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		ck_assert_str_eq(made(names[i][0]), names[i][1]);
}

TEST(symbol_name_with_version_loses_it)
{
	ck_assert_str_eq(made("memcpy@@GLIBC_2.14"), "memcpy");
	ck_assert_str_eq(made("memcpy@GLIBC_2.2.5"), "memcpy");
	ck_assert_str_eq(made("@odd"), "@odd");
	ck_assert_str_eq(made("memcpy@plt"), "memcpy@plt");
	ck_assert_str_eq(made("_ZN3FooC1Ev@plt"), "Foo::Foo()@plt");
	ck_assert_str_eq(made("@plt"), "@plt");
	ck_assert_str_eq(made("_ZN3FooC1Ev\1f.cc"), "Foo::Foo() (f.cc)");
	ck_assert_str_eq(made("f\1a\nb.c #2"), "f (a?b.c #2)");
}

TEST(symbol_name_with_bad_bytes_is_cleaned)
{
	ck_assert_str_eq(made(""), "?");
	ck_assert_str_eq(made("a\nb\033[2Jc\x7f"), "a?b?[2Jc?");
	ck_assert_str_eq(made("\xff\xc3+\xe2\x82"), "??+??");
	ck_assert_str_eq(made("\xc2\x9b"), "??"); /* C1: CSI of a terminal */
	ck_assert_str_eq(made("\xed\xa0\x80"), "???"); /* a surrogate */
	ck_assert_str_eq(made("\xc0\x80\xf4\x90\x80\x80"), "??????");
}

/* @name has the full length and ends in @last, "..." and a hash. A dropped half
 * of a character makes it a byte shorter. */
static void expect_cut(const char *name, const char *last)
{
	char end[64];
	size_t bytes;

	bytes = (size_t)snprintf(end, sizeof(end), "%s... #", last) + 8;
	ck_assert_uint_le(strlen(name), SYMBOL_NAME_BYTES - 1);
	ck_assert_uint_ge(strlen(name), SYMBOL_NAME_BYTES - 2);
	ck_assert_int_eq(strncmp(name + strlen(name) - bytes, end, bytes - 8),
			 0);
}

TEST(symbol_name_of_64k_is_cut)
{
	char *raw = calloc(1, 65537);
	const char *name;

	memset(raw, 'x', 65536);
	name = made(raw);
	expect_cut(name, "xxx");
	for (int i = 0; i < 65536; i += 2) /* never half a character */
		memcpy(raw + i, "\xc3\xa9", 2);
	name = made(raw);
	expect_cut(name, "\xc3\xa9");
	memset(raw, 'x', 65536); /* the longest name is not truncated */
	raw[SYMBOL_NAME_BYTES - 1] = '\0';
	ck_assert_str_eq(made(raw), raw);
	free(raw);
}

TEST(symbol_names_that_differ_late_stay_different)
{
	char *raw = calloc(1, 8193), *one;

	for (int is_mangled = 0; is_mangled < 2; is_mangled++) {
		memset(raw, 'x', 8192);
		if (is_mangled)
			memcpy(raw, "_Z7000", 6);
		one = strdup(made(raw));
		raw[8191] = 'y';
		ck_assert_str_ne(made(raw), one);
		ck_assert_uint_eq(strlen(made(raw)), strlen(one));
		free(one);
	}
	/* Longer names are unreadable. */
	ck_assert_uint_le(strlen(made(raw)), 300);
	free(raw);
}

/* Nested tuples of hundreds of types, followed by the function. */
TEST(symbol_name_of_a_huge_template_is_folded)
{
	char raw[4096] = "_ZN3BigI";
	char *one;

	for (int i = 0; i < 12; i++)
		strcat(raw, "St5tupleIJ");
	strcat(raw, "i");
	for (int i = 0; i < 600; i++)
		strcat(raw, "PPPPi");
	for (int i = 0; i < 12; i++)
		strcat(raw, "EE");
	strcat(raw, "E5firstEv");
	one = strdup(made(raw));
	ck_assert_msg(!strncmp(one, "Big<...>::first() #", 19), "%s", one);
	ck_assert_uint_eq(strlen(one), 27);
	memcpy(strstr(raw, "PPPPi"), "PPPPc", 5);
	ck_assert_int_eq(strncmp(made(raw), one, 19), 0);
	ck_assert_str_ne(made(raw), one);
	free(one);
}

TEST(symbol_name_of_a_coroutine_is_its_own)
{
	ck_assert_str_eq(made("_Z5plainPZ5plainiE15_Z5plaini.Frame.actor"),
			 "plain(int) [clone .actor]");
	ck_assert_str_eq(
		made("_Z5plainPZ5plainiE15_Z5plaini.Frame.destroy.cold"),
		"plain(int) [clone .destroy] [clone .cold]");
	ck_assert_str_eq(made("_ZZ4mainENUliE_clEPZZ4mainENKS_clEiE26_ZZ4mainEN"
			      "KUliE_clEi.Frame.actor"),
			 "main::{lambda(int)#1}::operator()(int) const "
			 "[clone .actor]");
	ck_assert_str_eq(made("_Z5plaini.resume"),
			 "plain(int) [clone .resume]");
	/* The length prefix does not fit the type. */
	ck_assert_str_eq(made("_Z1fP14_Z5plaini.Frame.actor"),
			 "f(_Z5plaini.Fram*, long double) [clone .actor]");
	ck_assert_str_eq(made("9.Frame.actor"), "9.Frame.actor");
}

/* Each of 60 types is a pair of the previous one: 2^60 names in full. */
TEST(symbol_name_that_explodes_is_cut)
{
	static const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
	char raw[2048] = "_Z1fSt4pairIiiE";
	const char *name;

	for (int i = 0; i < 60; i++) {
		char part[8] = { 0 };

		if (i >= 36)
			part[0] = digits[i / 36];
		part[strlen(part)] = digits[i % 36];
		snprintf(raw + strlen(raw), sizeof(raw) - strlen(raw),
			 "S_IS%s_S%s_E", part, part);
	}
	name = made(raw);
	ck_assert_int_eq(strncmp(name, "f(std::pair<...>, ", 18), 0);
	ck_assert_int_eq(strncmp(strrchr(name, '#') - 4, "... #", 5), 0);
}

/* libiberty itself stops at 1,024 bytes. */
TEST(symbol_name_long_template_is_demangled)
{
	char raw[4096] = "_Z1fIJ";
	const char *name;

	for (int i = 0; i < 1200; i++)
		strcat(raw, "i");
	strcat(raw, "EEvv");
	name = made(raw);
	ck_assert_int_eq(strncmp(name, "void f<...>() #", 15), 0);
}

/* --- tables --------------------------------------------------------------- */

struct wanted {
	const char *name;
	uint64_t vaddr;
	int seen;
};

static int find_by_name(void *context, uint64_t vaddr, const char *name)
{
	struct wanted *wanted = context;

	if (!strcmp(name, wanted->name)) {
		wanted->vaddr = vaddr;
		wanted->seen++;
	}
	return 0;
}

static uint64_t vaddr_of(struct symbol_file *file, const char *name)
{
	struct wanted wanted = { .name = name };

	ck_assert_int_eq(symbol_file_each(file, find_by_name, &wanted), 0);
	ck_assert_msg(wanted.seen == 1, "%s: seen %d times", name, wanted.seen);
	return wanted.vaddr;
}

static int count_names(struct symbol_file *file, const char *name)
{
	struct wanted wanted = { .name = name };

	symbol_file_each(file, find_by_name, &wanted);
	return wanted.seen;
}

static const char g_aliases[] =
	".text\n.type _low,@function\n.type mid,@function\n"
	".type loc,@function\n.type __wr,@function\n.type wr,@function\n"
	".type mark,@function\n.type sized,@function\n.type bare,@function\n"
	".type data,@object\n"
	".globl _low, mid, __wr, sized, bare\n.weak wr\n"
	"_low: loc: mid: .skip 32\n"
	".size _low,32\n.size mid,32\n.size loc,32\n"
	"__wr: wr: .skip 16\n.size __wr,16\n.size wr,16\n"
	"mark: sized: data: .skip 8\n.size sized,8\n.size data,8\n.skip 8\n"
	"bare: .skip 64\n.size bare,0\n";

TEST(symbols_same_address_keep_the_best_name)
{
	struct symbol_file *file;
	uint64_t mid, start = 0;

	scratch_compile("gcc -shared -nostdlib", "s", g_aliases, "aliases.so");
	file = open_file("aliases.so");
	mid = vaddr_of(file, "mid");
	ck_assert_str_eq(symbol_file_lookup(file, mid, &start), "mid");
	ck_assert_str_eq(symbol_file_lookup(file, mid + 31, &start), "mid");
	ck_assert_uint_eq(start, mid);
	ck_assert_str_eq(symbol_file_lookup(file, mid + 32, &start), "wr");
	ck_assert_str_eq(symbol_file_lookup(file, mid + 48, &start), "sized");
	ck_assert_ptr_null(symbol_file_lookup(file, mid + 56, &start));
	ck_assert_ptr_null(symbol_file_lookup(file, mid - 1, &start));
	/* without a size: up to the end of the section */
	ck_assert_str_eq(symbol_file_lookup(file, mid + 64, &start), "bare");
	ck_assert_str_eq(symbol_file_lookup(file, mid + 127, &start), "bare");
	ck_assert_ptr_null(symbol_file_lookup(file, mid + 128, &start));
	ck_assert_ptr_null(symbol_file_error(file));
	symbol_file_put(&file);
}

/* "NAME:" starts @bytes of code. CFI adds a frame description. */
#define CODE(name, bytes) name ": .skip " #bytes ", 0x90\n"
#define CFI(code) ".cfi_startproc\n" code ".cfi_endproc\n"

static const char g_labels[] =
	".text\n.type bare,@function\n.type sized,@function\n"
	".globl with_cfi, plain, bare, sized, length, after\n" CFI(
		CODE("with_cfi", 16) CODE(
			"in_cfi", 16)) CODE("plain",
					    16) CODE("own", 16) CODE("bare", 16)
		CODE("in_bare", 16) CFI(CODE("sized", 16) CODE("in_sized", 16)) ".size sized, 32\n" CODE(
			"length", 16) ".size length, 16\n" CODE(".annobin_x",
								16)
			CODE("after", 16) CODE("after.loop", 16)
				CODE("$x", 16) "end:\n"
					       ".data\ndata: .quad 0\n";

TEST(symbols_without_a_type_are_functions)
{
	static const char *const names[] = {
		"with_cfi", "with_cfi", "plain", "own",	   "bare",
		"bare",	    "sized",	"sized", "length", NULL,
		"after",    "after",	"after",
	};
	struct symbol_file *file;
	uint64_t first, start;

	scratch_compile("gcc -shared -nostdlib -Wl,--eh-frame-hdr", "s",
			g_labels, "labels.so");
	file = open_file("labels.so");
	first = vaddr_of(file, "with_cfi");
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		const char *name =
			symbol_file_lookup(file, first + 16 * i + 8, &start);

		ck_assert_msg(names[i] ? name && !strcmp(name, names[i])
				       : !name,
			      "%zu: %s", i, name ? name : "none");
	}
	ck_assert_int_eq(count_names(file, "end"), 0);
	ck_assert_int_eq(count_names(file, "data"), 0);
	symbol_file_put(&file);
}

/* strip keeps global symbols. */
static const char g_sizeless[] =
	".text\n.type sizeless,@function\n.type inside,@function\n"
	".type far,@function\n.globl sizeless, inside, far\n" CODE(
		"sizeless", 16) CFI(CODE("hidden", 64)) CFI(CODE("inside", 64))
		CFI(CODE("more", 64)) CODE("far", 1024) ".skip 1024\n";

TEST(symbols_without_a_size_end_where_frames_do)
{
	static const struct {
		uint64_t at;
		const char *name;
	} places[] = {
		{ 0, "sizeless" }, { 15, "sizeless" }, { 16, NULL },
		{ 79, NULL },	   { 80, "inside" },   { 143, "inside" },
		{ 144, NULL },	   { 207, NULL },      { 208, "far" },
		{ 1231, "far" },   { 1232, NULL },
	};
	struct symbol_file *file;
	uint64_t first, start;

	scratch_compile("gcc -shared -nostdlib -s -Wl,--eh-frame-hdr", "s",
			g_sizeless, "sizeless.so");
	file = open_file("sizeless.so");
	first = vaddr_of(file, "sizeless");
	for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
		const char *name =
			symbol_file_lookup(file, first + places[i].at, &start);

		ck_assert_msg(places[i].name
				      ? name && !strcmp(name, places[i].name)
				      : !name,
			      "%zu: %s", i, name ? name : "none");
	}
	symbol_file_put(&file);
}

TEST(symbols_of_symtab_and_dynsym_are_merged)
{
	struct symbol_file *file;

	scratch_compile("gcc -shared -fPIC", "c",
			"static int hidden(int x) { return x * 3; }\n"
			"int (*volatile p)(int) = hidden;\n"
			"int shown(int x) { return p(x); }\n",
			"both.so");
	file = open_file("both.so");
	ck_assert_int_eq(count_names(file, "hidden"), 1);
	ck_assert_int_eq(count_names(file, "shown"), 1);
	symbol_file_put(&file);
	scratch_run("strip -o stripped.so both.so");
	file = open_file("stripped.so");
	ck_assert_int_eq(count_names(file, "hidden"), 0);
	ck_assert_int_eq(count_names(file, "shown"), 1);
	ck_assert_ptr_null(symbol_file_error(file));
	symbol_file_put(&file);
}

static uint64_t section_vaddr(const char *path, const char *name)
{
	scratch_run("readelf -SW %s | sed 's/\\[ *//' | "
		    "awk '$2 == \"%s\" { print $4 }' >vaddr",
		    path, name);
	return strtoull(scratch_read("vaddr"), NULL, 16);
}

static const char g_callers[] =
	"struct far { far(); };\n"
	"extern \"C\" void puts_twice(const char *);\n"
	"far *(*volatile make)();\n"
	"extern \"C\" void local() { far it; puts_twice(\"\"); }\n";

/* The linker orders the two stubs at @first of @section. */
static void expect_stubs(const char *compiler, const char *section,
			 uint64_t first)
{
	static const char *const names[] = { "far::far()@plt",
					     "puts_twice@plt" };
	struct symbol_file *file;
	uint64_t stub, start;
	const char *name;
	int is_other;

	scratch_compile(compiler, "cc", g_callers, "stubs.so");
	file = open_file("stubs.so");
	stub = section_vaddr("stubs.so", section) + first;
	name = symbol_file_lookup(file, stub, &start);
	ck_assert_ptr_nonnull(name);
	ck_assert_uint_eq(start, stub);
	is_other = strcmp(name, names[0]) != 0;
	ck_assert_str_eq(name, names[is_other]);
	ck_assert_ptr_eq(symbol_file_lookup(file, stub + 15, &start), name);
	ck_assert_str_eq(symbol_file_lookup(file, stub + 16, &start),
			 names[!is_other]);
	/* Stubs are no functions of the file. */
	ck_assert_int_eq(count_names(file, names[0]), 0);
	symbol_file_put(&file);
}

TEST(symbols_of_stubs_are_those_of_their_functions)
{
	/* The first entry of .plt calls the dynamic linker. */
	expect_stubs("g++ -shared -fPIC -O1 -fcf-protection=none", ".plt", 16);
	expect_stubs("g++ -shared -fPIC -O1 -Wl,-z,now -fcf-protection=none",
		     ".plt", 16);
	expect_stubs("g++ -shared -fPIC -O1 -fcf-protection -Wl,-z,ibtplt",
		     ".plt.sec", 0);
}

/* A global function, and a static one with a static resolver. */
static const char g_resolved[] =
	"static int one(void) { return 1; }\n"
	"static void *choose(void) { return one; }\n"
	"static void *pick(void) { return one; }\n"
	"int shown(void) __attribute__((ifunc(\"choose\")));\n"
	"static int hidden(void) __attribute__((ifunc(\"pick\")));\n"
	"int main(void) { return shown() - hidden(); }\n";

TEST(symbols_of_stubs_of_resolved_functions_are_theirs)
{
	uint64_t plt, start, seen = 0;
	struct symbol_file *file;

	scratch_compile("gcc -O0 -pie -fPIE -Wl,-z,lazy", "c", g_resolved,
			"resolved");
	file = open_file("resolved");
	plt = section_vaddr("resolved", ".plt");
	for (uint64_t at = 0; at < 64; at += 16) {
		const char *name = symbol_file_lookup(file, plt + at, &start);

		seen |= name && !strcmp(name, "shown") ? 1 : 0;
		seen |= name && !strcmp(name, "hidden") ? 2 : 0;
	}
	ck_assert_uint_eq(seen, 3);
	/* Filters find the stub; the resolver keeps its own name. */
	ck_assert_int_ge(count_names(file, "hidden"), 1);
	ck_assert_int_eq(count_names(file, "pick"), 1);
	symbol_file_put(&file);
}

/* Three files with static functions of one name, and one of a header. */
TEST(symbols_of_one_name_are_told_apart_by_file, EACH(0, 5))
{
	static const char *const compilers[] = {
		"gcc -g", "gcc -gdwarf-4", "gcc -g -gz", "clang -g", "gcc",
	};
	static const char *const sources[] = { "a.c", "b.c", "sub/a.c" };
	static const char header[] = "static int shared(int x) { return x; }\n";
	static const char text[] =
		"#include \"twins.h\"\n"
		"static int helper(int x) { return x + shared(x); }\n"
		"int (*volatile p%d)(int) = helper;\n";
	char source[sizeof(text) + 8];
	struct symbol_file *file;
	int all = 0;

	if (!strncmp(compilers[_i], "clang", 5) &&
	    system("command -v clang >/dev/null"))
		return;
	scratch_run("mkdir -p sub");
	scratch_write("twins.h", header, strlen(header));
	for (size_t i = 0; i < ARRAY_SIZE(sources); i++) {
		snprintf(source, sizeof(source), text, (int)i);
		scratch_write(sources[i], source, strlen(source));
	}
	scratch_run("%s -I. -shared -fPIC -o twins.so a.c b.c sub/a.c",
		    compilers[_i]);
	file = open_file("twins.so");
	ck_assert_int_eq(count_names(file, "helper (a.c)"), 1);
	ck_assert_int_eq(count_names(file, "helper (a.c #2)"), 1);
	ck_assert_int_eq(count_names(file, "helper (b.c)"), 1);
	all = count_names(file, "shared");
	ck_assert_int_eq(all, strstr(compilers[_i], "-g") ? 3 : 0);
	symbol_file_put(&file);
}

TEST(symbols_of_cpp_are_demangled)
{
	struct symbol_file *file;
	uint64_t start, vaddr;

	scratch_compile("g++ -shared -fPIC", "cc",
			"namespace ns { struct Widget { int draw(int); }; }\n"
			"int ns::Widget::draw(int x) { return x; }\n",
			"cpp.so");
	file = open_file("cpp.so");
	vaddr = vaddr_of(file, "ns::Widget::draw(int)");
	ck_assert_str_eq(symbol_file_lookup(file, vaddr, &start),
			 "ns::Widget::draw(int)");
	symbol_file_put(&file);
}

static int stop_at_once(void *context, uint64_t vaddr, const char *name)
{
	(void)vaddr;
	(void)name;
	++*(int *)context;
	return 42;
}

TEST(symbols_each_stops_when_told)
{
	struct symbol_file *file = open_file("/proc/self/exe");
	int calls = 0;

	ck_assert_int_eq(symbol_file_each(file, stop_at_once, &calls), 42);
	ck_assert_int_eq(calls, 1);
	symbol_file_put(&file);
}

TEST(symbols_headers_tell_hooks_and_build_id)
{
	static const char source[] = "int main(void) { return 0; }\n";
	struct symbol_file *file;

	scratch_compile("gcc -Wl,--build-id=0x00c0ffee1234abcd", "c", source,
			"plain");
	file = open_file("plain");
	ck_assert_str_eq(symbol_file_build_id(file), "00c0ffee1234abcd");
	ck_assert(!symbol_file_instrumented(file));
	symbol_file_put(&file);
	scratch_compile("gcc -finstrument-functions -Wl,--build-id=none", "c",
			source, "hooked");
	file = open_file("hooked");
	ck_assert_str_eq(symbol_file_build_id(file), "");
	ck_assert(symbol_file_instrumented(file));
	symbol_file_put(&file);
}

TEST(symbols_vaddr_follows_the_program_headers)
{
	struct symbol_file *file;
	uint64_t vaddr = 0;

	/* text at an odd offset in its page, as lld places it */
	scratch_compile("gcc -static -no-pie -Wl,-z,noseparate-code"
			" -Wl,-Ttext-segment=0x7000000",
			"c", "int main(void) { return 0; }\n", "fixed");
	file = open_file("fixed");
	ck_assert(symbol_file_vaddr(file, 0, &vaddr));
	ck_assert_uint_eq(vaddr, 0x7000000);
	ck_assert(!symbol_file_vaddr(file, UINT64_MAX, &vaddr));
	ck_assert(!symbol_file_vaddr(file, 1ull << 40, &vaddr));
	symbol_file_put(&file);
}

/* --- the cache ------------------------------------------------------------ */

TEST(symbol_cache_same_file_is_one)
{
	struct symbol_file *one, *two, *other;

	scratch_write("a.bin", "one", 3);
	scratch_write("b.bin", "one", 3);
	ck_assert_int_eq(link("a.bin", "c.bin"), 0);
	one = open_file("a.bin");
	two = open_file("c.bin");
	other = open_file("b.bin");
	ck_assert_ptr_eq(one, two);
	ck_assert_ptr_ne(one, other);
	symbol_file_put(&other);
	symbol_file_put(&two);
	scratch_write("a.bin", "another", 7); /* the same inode, rewritten */
	two = open_file("a.bin");
	ck_assert_ptr_ne(one, two);
	symbol_file_put(&one);
	symbol_file_put(&two);
}

TEST(symbol_cache_o_path_descriptor_will_do)
{
	int fd = open("/proc/self/exe", O_PATH | O_CLOEXEC);
	struct symbol_file *file =
		symbol_cache_file(g_cache, getuid(), fd, "self");
	uint64_t start;

	close(fd);
	ck_assert_ptr_nonnull(
		symbol_file_lookup(file, vaddr_of(file, "main"), &start));
	symbol_file_put(&file);
}

TEST(symbol_cache_deleted_file_is_read_later)
{
	struct symbol_file *file;

	scratch_run("cp /proc/%d/exe gone", getpid());
	file = open_file("gone");
	ck_assert_int_eq(unlink("gone"), 0);
	ck_assert_int_eq(count_names(file, "main"), 1);
	symbol_file_put(&file);
}

TEST(symbol_cache_names_outlive_the_file)
{
	struct symbol_file *file = open_file("/proc/self/exe");
	uint64_t start;
	const char *name =
		symbol_file_lookup(file, vaddr_of(file, "main"), &start);
	const char *build_id = symbol_file_build_id(file);

	symbol_file_put(&file);
	ck_assert_str_eq(name, "main");
	file = open_file("/proc/self/exe"); /* known and parsed */
	ck_assert_ptr_eq(symbol_file_lookup(file, start, &start), name);
	ck_assert_ptr_eq(symbol_file_build_id(file), build_id);
	symbol_file_put(&file);
}

/* Files without a name are never found again, so nothing is kept. */
TEST(symbol_cache_forgets_files_of_memory)
{
	uint64_t before = symbol_cache_use_all(g_cache).tables;

	for (int i = 0; i < 3; i++) {
		int fd = memfd_create("thunks", MFD_CLOEXEC);
		struct symbol_file *file;

		ck_assert_int_eq(ftruncate(fd, 4096), 0);
		file = symbol_cache_file(g_cache, getuid(), fd,
					 "/memfd:thunks");
		close(fd);
		ck_assert_int_eq(count_names(file, "main"), 0);
		ck_assert(symbol_file_is_read(file));
		symbol_file_put(&file);
		ck_assert_uint_eq(symbol_cache_use_all(g_cache).tables, before);
	}
}

static struct symbol_cache *small_cache(void)
{
	const struct rlimit limit = { 400, 400 };
	struct symbol_cache *cache;

	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
	ck_assert_int_eq(symbol_cache_new(&cache), 0);
	return cache;
}

static void open_many(struct symbol_cache *cache, struct symbol_file **files)
{
	char path[2 * PATH_MAX];
	int fd;

	scratch_run("for i in $(seq 0 299); do echo $i > many.$i; done");
	for (int i = 0; i < 300; i++) {
		snprintf(path, sizeof(path), "%s/many.%d", g_scratch, i);
		fd = open(path, O_PATH | O_CLOEXEC);
		files[i] = symbol_cache_file(cache, getuid(), fd, path);
		ck_assert_ptr_nonnull(files[i]);
		close(fd);
	}
}

TEST(symbol_cache_descriptors_are_few_and_given_back)
{
	struct symbol_cache *cache = small_cache();
	int before = scratch_descriptors();
	struct symbol_file *files[300];

	open_many(cache, files);
	ck_assert_int_gt(scratch_descriptors(), before + 100);
	ck_assert_int_le(scratch_descriptors(), before + 200);
	for (int i = 0; i < 300; i++)
		symbol_file_put(&files[i]);
	ck_assert_int_eq(scratch_descriptors(), before);
	symbol_cache_put(&cache);
}

/* Unless another file has its name. */
TEST(symbol_cache_files_are_opened_again)
{
	struct symbol_cache *cache = small_cache();
	struct symbol_file *files[300];
	struct stat status;
	int fd;

	open_many(cache, files);
	for (int i = 0; i < 300; i++) {
		fd = symbol_file_descriptor(files[i]);
		ck_assert_int_ge(fd, 0);
		ck_assert_int_eq(fstat(fd, &status), 0);
		ck_assert_int_eq(status.st_size, i < 10 ? 2 : i < 100 ? 3 : 4);
		close(fd);
	}
	scratch_run("rm many.298; cp many.299 other; mv other many.299");
	ck_assert_int_eq(symbol_file_descriptor(files[298]), -1);
	ck_assert_int_eq(symbol_file_descriptor(files[299]), -1);
	ck_assert(!symbol_cache_tell_lack(cache));
	for (int i = 0; i < 300; i++)
		symbol_file_put(&files[i]);
	symbol_cache_put(&cache);
}

TEST(symbol_cache_without_any_descriptor_waits_for_one)
{
	int self = open("/proc/self/exe", O_PATH | O_CLOEXEC);
	struct rlimit limit = { 0, 0 };
	struct symbol_file *file;
	char path[PATH_MAX] = "";

	ck_assert_int_gt(readlink("/proc/self/exe", path, PATH_MAX - 1), 0);
	ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &limit), 0);
	limit.rlim_cur = (rlim_t)self + 1;
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
	file = symbol_cache_file(g_cache, getuid(), self, path);
	ck_assert(symbol_cache_tell_lack(g_cache));
	limit.rlim_cur = limit.rlim_max;
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
	ck_assert_int_eq(count_names(file, "main"), 1);
	symbol_file_put(&file);
	close(self);
}

static void *look_up(void *context)
{
	uint64_t *vaddr = context, start;
	struct symbol_file *file = open_file("/proc/self/exe");
	const char *name = NULL;

	for (int i = 0; i < 200; i++) {
		struct symbol_file *again = open_file("/proc/self/exe");

		name = symbol_file_lookup(again, *vaddr, &start);
		symbol_file_put(&again);
	}
	symbol_file_put(&file);
	return (void *)name;
}

TEST(symbol_cache_threads_get_the_same_names)
{
	struct symbol_file *file = open_file("/proc/self/exe");
	uint64_t vaddr = vaddr_of(file, "main");
	pthread_t threads[4];

	symbol_file_put(&file);
	symbol_cache_put(&g_cache);
	ck_assert_int_eq(symbol_cache_new(&g_cache), 0);
	for (int i = 0; i < 4; i++)
		pthread_create(&threads[i], NULL, look_up, &vaddr);
	for (int i = 0; i < 4; i++) {
		void *name;

		pthread_join(threads[i], &name);
		ck_assert_str_eq(name, "main");
	}
}

/* --- one cache for each recording ---------------------------------------- */

static void fill_with_names(struct symbol_cache *cache)
{
	char *text = malloc(1 << 20);
	uint32_t number = 0;

	for (size_t length = (1 << 20) - 1; length > 16; length /= 2) {
		memset(text, 'x', length);
		text[length] = '\0';
		do
			memcpy(text, &(uint32_t){ ++number | 0x01010101 }, 4);
		while (symbol_cache_string(cache, text));
	}
	free(text);
}

TEST(symbol_cache_that_is_full_costs_no_sibling_its_names)
{
	struct symbol_cache *sibling;
	struct symbol_file *file, *again;
	uint64_t vaddr, start, unkept;
	int self;

	ck_assert_int_eq(symbol_cache_share(g_cache, "greedy", &sibling), 0);
	fill_with_names(sibling);
	unkept = symbol_cache_use(sibling).unkept_names;
	ck_assert_uint_gt(unkept, 0);
	ck_assert_uint_gt(symbol_cache_use(sibling).names_full_ns, 0);
	ck_assert_uint_le(symbol_cache_use(sibling).names, SYMBOL_NAMES_MAX);

	file = open_file("/proc/self/exe");
	vaddr = vaddr_of(file, "main");
	ck_assert_str_eq(symbol_file_lookup(file, vaddr, &start), "main");
	self = open("/proc/self/exe", O_PATH | O_CLOEXEC);
	again = symbol_cache_file(sibling, getuid(), self, "self");
	close(self);
	ck_assert(symbol_file_is_same(file, again));
	ck_assert_ptr_null(symbol_file_lookup(again, vaddr, &start));
	ck_assert_uint_eq(symbol_cache_use(sibling).unkept_names, unkept + 1);
	ck_assert_uint_eq(symbol_cache_use(g_cache).unkept_names, 0);
	ck_assert_uint_gt(symbol_cache_use_all(g_cache).names,
			  SYMBOL_NAMES_MAX / 2);

	symbol_file_put(&again);
	symbol_cache_put(&sibling);
	ck_assert_uint_lt(symbol_cache_use_all(g_cache).names, 1 << 20);
	ck_assert_str_eq(symbol_file_lookup(file, vaddr, &start), "main");
	symbol_file_put(&file);
}

TEST(symbol_cache_without_room_for_tables_is_the_only_one)
{
	struct symbol_cache *sibling;
	struct symbol_file *file, *again;
	int self = open("/proc/self/exe", O_PATH | O_CLOEXEC);
	uint64_t vaddr, start;

	ck_assert_int_eq(symbol_cache_share(g_cache, "greedy", &sibling), 0);
	ck_assert(symbol_cache_take(sibling, SYMBOL_TABLES_MAX - 4096));
	ck_assert(!symbol_cache_take(sibling, 8192));
	/* A cache without room gets the file first. */
	again = symbol_cache_file(sibling, getuid(), self, "self");
	ck_assert_int_eq(count_names(again, "main"), 0);
	ck_assert(symbol_file_is_read(again));
	ck_assert_uint_eq(symbol_cache_use(sibling).unkept_tables, 2);
	file = open_file("/proc/self/exe");
	ck_assert(!symbol_file_is_read(file));
	vaddr = vaddr_of(file, "main");
	ck_assert_str_eq(symbol_file_lookup(file, vaddr, &start), "main");
	ck_assert_uint_eq(symbol_cache_use(g_cache).unkept_tables, 0);
	ck_assert_uint_gt(symbol_cache_use(g_cache).tables, 0);
	symbol_file_put(&again);
	symbol_cache_give_back(sibling, SYMBOL_TABLES_MAX - 4096);
	ck_assert_uint_eq(symbol_cache_use(sibling).tables, 0);
	again = symbol_cache_file(sibling, getuid(), self, "self");
	ck_assert_int_eq(count_names(again, "main"), 1);
	ck_assert_uint_eq(symbol_cache_use(sibling).tables,
			  symbol_cache_use(g_cache).tables);
	symbol_file_put(&again);
	symbol_file_put(&file);
	ck_assert_uint_eq(symbol_cache_use(g_cache).tables, 0);
	ck_assert_uint_gt(symbol_cache_use_all(g_cache).tables, 0);
	symbol_cache_put(&sibling);
	close(self);
}

/* The common cache keeps no tables, and its files may outlive it. */
TEST(symbol_file_of_all_outlives_its_cache)
{
	struct symbol_cache *sibling;
	struct symbol_file *file, *common, *other;
	int self = open("/proc/self/exe", O_PATH | O_CLOEXEC);
	uint64_t vaddr, start;
	char bytes[4];
	size_t got;

	ck_assert_int_eq(symbol_cache_share(g_cache, "one", &sibling), 0);
	file = symbol_cache_file(sibling, getuid(), self, "self");
	vaddr = vaddr_of(file, "main");
	common = symbol_file_get_common(file);
	ck_assert_ptr_ne(common, file);
	symbol_file_put(&file);
	symbol_cache_put(&sibling);

	ck_assert_int_eq(symbol_file_read(common, 0, 4, bytes, &got), 0);
	ck_assert_int_eq(memcmp(bytes, ELFMAG, SELFMAG), 0);
	ck_assert_ptr_null(symbol_file_lookup(common, vaddr, &start));
	ck_assert_uint_gt(strlen(symbol_file_build_id(common)), 0);
	file = symbol_cache_file(g_cache, getuid(), self, "self");
	other = symbol_file_get_common(file);
	ck_assert_ptr_eq(other, common);
	ck_assert_str_eq(symbol_file_lookup(file, vaddr, &start), "main");
	symbol_file_put(&other);
	symbol_file_put(&common);
	symbol_file_put(&file);
	close(self);
}

TEST(symbol_cache_equal_strings_are_one)
{
	char text[] = "text";

	ck_assert_ptr_eq(symbol_cache_string(g_cache, text),
			 symbol_cache_string(g_cache, "text"));
	ck_assert_ptr_ne(symbol_cache_string(g_cache, text),
			 symbol_cache_string(g_cache, "texts"));
}

/* --- malformed files ------------------------------------------------------ */

static void expect_error(const char *path, const char *error)
{
	struct symbol_file *file = open_file(path);
	uint64_t start;

	ck_assert_ptr_null(symbol_file_lookup(file, 0x1000, &start));
	ck_assert_ptr_nonnull(symbol_file_error(file));
	ck_assert_str_eq(symbol_file_error(file), error);
	ck_assert_ptr_nonnull(symbol_file_new_error(file));
	ck_assert_ptr_null(symbol_file_new_error(file));
	symbol_file_put(&file);
}

TEST(symbols_of_no_elf_file_say_what_it_is)
{
	scratch_write("text", "#!/bin/sh\n", 10);
	scratch_write("empty", "", 0);
	scratch_write("ve\nry", "x", 1);
	scratch_write("head", "\177ELF", 4);
	ck_assert_int_eq(mkfifo("fifo", 0600), 0);
	expect_error("text",
		     "cannot read the symbols of text: not an ELF file");
	expect_error("empty",
		     "cannot read the symbols of empty: not an ELF file");
	expect_error("ve\nry",
		     "cannot read the symbols of ve?ry: not an ELF file");
	expect_error("head", "cannot read the symbols of head: it ends within "
			     "its ELF header");
	expect_error("fifo",
		     "cannot read the symbols of fifo: not a regular file");
	expect_error(".", "cannot read the symbols of .: Is a directory");
	expect_error("/dev/null", "cannot read the symbols of /dev/null: "
				  "not a regular file");
}

TEST(symbols_of_a_stripped_program_say_so)
{
	scratch_compile("gcc -s", "c", "int main(void) { return 0; }\n",
			"bare");
	expect_error("bare", "cannot read the symbols of bare: it has none; "
			     "build it without strip or -s");
}

/* Uses all functions on @path, which must not crash. */
static void use_up(const char *path)
{
	struct symbol_file *file = open_file(path);
	uint64_t start, vaddr = 0;

	symbol_file_instrumented(file);
	symbol_file_build_id(file);
	symbol_file_vaddr(file, 0x1000, &vaddr);
	symbol_file_lookup(file, vaddr, &start);
	count_names(file, "main");
	symbol_file_error(file);
	symbol_file_put(&file);
}

static size_t read_whole(const char *path, uint8_t *out, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t got = read(fd, out, size);

	close(fd);
	ck_assert_int_gt(got, 0);
	return (size_t)got;
}

TEST(symbols_of_cut_files_are_survived)
{
	static uint8_t bytes[1 << 20];
	size_t size;

	scratch_compile("gcc -g", "c", "int main(void) { return 0; }\n",
			"whole");
	size = read_whole("whole", bytes, sizeof(bytes));
	for (size_t cut = 0; cut < size; cut += 61) {
		scratch_write("cut", bytes, cut);
		use_up("cut");
	}
}

/* --- stripped files ------------------------------------------------------ */

static void make_stripped(void)
{
	scratch_compile("gcc -g -O1 -fPIC -shared", "c",
			"__attribute__((noinline)) static int twice(int i) {\n"
			"	for (volatile int k = 0; k < i; k++) ;\n"
			"	return 2 * i;\n"
			"}\n"
			"int shown(int i) { return twice(i) + 1; }\n",
			"whole.so");
	scratch_run("strip -o lib.so whole.so");
}

/* Adds symbols, packed by @xz, to a copy of lib.so. */
static void make_mini(const char *xz, const char *to)
{
	scratch_run(
		"objcopy --strip-debug whole.so mini && %s mini -c >mini.xz "
		"&& objcopy --add-section .gnu_debugdata=mini.xz lib.so %s",
		xz, to);
}

static uint64_t place_of_twice(void)
{
	struct symbol_file *whole = open_file("whole.so");
	uint64_t vaddr = vaddr_of(whole, "twice");

	ck_assert_uint_ne(vaddr, 0);
	symbol_file_put(&whole);
	return vaddr;
}

TEST(symbols_of_a_stripped_library_have_bounds)
{
	struct symbol_file *file;
	uint64_t twice, start = 0;

	make_stripped();
	twice = place_of_twice();
	file = open_file("lib.so");
	ck_assert_ptr_null(symbol_file_lookup(file, twice, &start));
	for (uint64_t into = 0; into < 9; into++) {
		start = 0;
		ck_assert(symbol_file_bounds(file, twice + into, &start));
		ck_assert_uint_eq(start, twice);
	}
	ck_assert(!symbol_file_bounds(file, 0, &start));
	ck_assert(!symbol_file_bounds(file, UINT64_MAX, &start));
	ck_assert_str_eq(
		symbol_file_lookup(file, vaddr_of(file, "shown"), &start),
		"shown");
	symbol_file_put(&file);
}

TEST(symbols_of_mini_debug_information_are_told)
{
	struct symbol_file *file;
	uint64_t twice, start = 0;

	make_stripped();
	make_mini("xz", "lib.mini.so");
	twice = place_of_twice();
	file = open_file("lib.mini.so");
	ck_assert_str_eq(symbol_file_lookup(file, twice + 4, &start), "twice");
	ck_assert_uint_eq(start, twice);
	ck_assert_str_eq(
		symbol_file_lookup(file, vaddr_of(file, "shown"), &start),
		"shown");
	symbol_file_put(&file);
}

TEST(symbols_of_bad_mini_debug_information_are_none, EACH(0, 8))
{
	static const char *const packers[] = {
		"head -c 60 mini | xz", /* a truncated ELF file */
		"head -c 100000 /dev/urandom",
		"echo",
		"xz <mini | head -c 100",
		"xz <mini | head -c 100; head -c 100 /dev/zero",
		"head -c 200000000 /dev/zero | xz -0", /* a bomb */
		"xz --lzma2=dict=256MiB <mini",
		"xz --format=lzma <mini",
	};
	struct symbol_file *file;
	uint64_t twice, start;

	make_stripped();
	twice = place_of_twice();
	scratch_run("objcopy --strip-debug whole.so mini; "
		    "(%s) >mini.xz; objcopy --add-section "
		    ".gnu_debugdata=mini.xz lib.so lib.bad.so",
		    packers[_i]);
	file = open_file("lib.bad.so");
	ck_assert_ptr_null(symbol_file_lookup(file, twice, &start));
	ck_assert(symbol_file_bounds(file, twice + 1, &start));
	ck_assert_uint_eq(start, twice);
	symbol_file_put(&file);
}

/* Sets each 4 bytes of the unwind tables to the worst value. */
TEST(symbols_bounds_of_lying_tables_are_survived, EACH(0, 2))
{
	static uint8_t bytes[1 << 20];
	struct symbol_file *file;
	uint64_t start;
	size_t size;

	make_stripped();
	size = read_whole("lib.so", bytes, sizeof(bytes));
	for (size_t at = 0x2000; at < MIN(size, 0x2200u); at += 4) {
		uint32_t honest;

		memcpy(&honest, bytes + at, 4);
		memset(bytes + at, _i ? 0xff : 0x7f, 4);
		scratch_write("lying.so", bytes, size);
		memcpy(bytes + at, &honest, 4);
		file = open_file("lying.so");
		for (uint64_t vaddr = 0x1000; vaddr < 0x1200; vaddr += 16)
			if (symbol_file_bounds(file, vaddr, &start))
				ck_assert_uint_le(start, vaddr);
		symbol_file_put(&file);
	}
}

TEST(symbols_of_lying_headers_are_survived, SLOW)
{
	static const uint64_t worst[] = { UINT64_MAX, 1ull << 63,
					  1ull << 32, 0x7fffffffffffffff,
					  0,	      1,
					  4096 };
	static uint8_t bytes[1 << 20];
	const Elf64_Ehdr *header = (const Elf64_Ehdr *)bytes;
	size_t size, places[512], count = 0;

	scratch_compile("gcc -finstrument-functions", "c",
			"int main(void) { return 0; }\n", "honest");
	size = read_whole("honest", bytes, sizeof(bytes));
	for (size_t at = 16; at < sizeof(*header); at += 4)
		places[count++] = at;
	for (size_t at = 0; at < header->e_phnum * sizeof(Elf64_Phdr); at += 8)
		places[count++] = header->e_phoff + at;
	for (size_t at = 0; at < header->e_shnum * sizeof(Elf64_Shdr); at += 8)
		if (count < ARRAY_SIZE(places))
			places[count++] = header->e_shoff + at;
	for (size_t i = 0; i < count; i++)
		for (size_t k = 0; k < ARRAY_SIZE(worst); k++) {
			uint64_t kept;

			memcpy(&kept, bytes + places[i], sizeof(kept));
			memcpy(bytes + places[i], &worst[k], sizeof(kept));
			scratch_write("liar", bytes, size);
			memcpy(bytes + places[i], &kept, sizeof(kept));
			use_up("liar");
		}
}

/* A sparse file costs its author nothing and must not cost us memory. */
TEST(symbols_of_huge_sections_are_refused)
{
	static uint8_t bytes[1 << 20];
	Elf64_Ehdr *header = (Elf64_Ehdr *)bytes;
	Elf64_Shdr *section;
	size_t size;
	struct symbol_file *file;

	scratch_compile("gcc", "c", "int main(void) { return 0; }\n", "small");
	size = read_whole("small", bytes, sizeof(bytes));
	section = (Elf64_Shdr *)(bytes + header->e_shoff);
	for (int i = 0; i < header->e_shnum; i++)
		if (section[i].sh_type == SHT_SYMTAB ||
		    section[i].sh_type == SHT_DYNSYM)
			section[i].sh_size = 3ull << 30;
	scratch_write("huge", bytes, size);
	ck_assert_int_eq(truncate("huge", 8ll << 30), 0);
	file = open_file("huge");
	ck_assert_int_eq(count_names(file, "main"), 0);
	ck_assert_ptr_nonnull(symbol_file_error(file));
	symbol_file_put(&file);
	header->e_shnum = 0; /* "the real number is in the first section" */
	section[0].sh_size = 100000000;
	scratch_write("huge", bytes, size);
	ck_assert_int_eq(truncate("huge", 8ll << 30), 0);
	expect_error("huge", "cannot read the symbols of huge: too many "
			     "sections");
}

SUITE(scratch_enter, scratch_leave);
