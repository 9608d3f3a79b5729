/* SPDX-License-Identifier: Apache-2.0
 *
 * Source lines: symbol_file_sources() and perfrec-symbolize, with programs that
 * the test compiles.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fnmatch.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include "collector/names/symbol_name.h"
#include "collector/names/symbolize.h"
#include "collector/names/symbolize_wire.h"
#include "collector/names/symbols.h"
#include "tests/find_symbolize.h"
#include "shared/environment.h"
#include "tests/suite.h"
#include "tests/unit/scratch.h"

static struct symbol_cache *g_cache;
static char g_program[PATH_MAX + 32];

static void setup(void)
{
	ck_assert_int_eq(symbol_cache_new(&g_cache), 0);
	setenv("PERFREC_SYMBOLIZE", g_program, 1);
}

static void teardown(void)
{
	symbol_cache_put(&g_cache);
}

static struct symbol_file *open_file(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct symbol_file *file;

	ck_assert_int_ge(fd, 0);
	file = symbol_cache_file(g_cache, getuid(), fd, path);
	ck_assert_ptr_nonnull(file);
	close(fd);
	return file;
}

struct by_name {
	const char *name;
	uint64_t vaddr;
};

static int find_by_name(void *context, uint64_t vaddr, const char *name)
{
	struct by_name *wanted = context;

	if (strcmp(name, wanted->name) != 0)
		return 0;
	wanted->vaddr = vaddr;
	return 1;
}

static uint64_t vaddr_of(struct symbol_file *file, const char *name)
{
	struct by_name wanted = { .name = name };

	ck_assert_msg(symbol_file_each(file, find_by_name, &wanted), "no %s",
		      name);
	return wanted.vaddr;
}

#define CODE_BYTES 48 /* code of the function below */

static const char g_inlines[] =
	"namespace ns {\n"
	"volatile int v;\n"
	"struct W {\n"
	"	__attribute__((always_inline)) int in(int x) {\n"
	"		return v + x;\n"
	"	}\n"
	"	__attribute__((always_inline)) int mid(int x) {\n"
	"		return in(x) + v;\n"
	"	}\n"
	"	int out(int x);\n"
	"};\n"
	"int W::out(int x)\n"
	"{\n"
	"	return mid(x) * v;\n"
	"}\n"
	"}\n";

static void check_frame(const struct source_frame *frame, const char *function,
			const char *file, uint32_t line, uint32_t start_line)
{
	char path[2 * PATH_MAX];

	snprintf(path, sizeof(path), "%s/%s", g_scratch, file);
	ck_assert_str_eq(frame->function, function);
	ck_assert_str_eq(frame->file, path);
	ck_assert_uint_eq(frame->line, line);
	ck_assert_uint_eq(frame->start_line, start_line);
}

/* Some of ns::W::out() is the inlined ns::W::in(). Puts @file. */
static void check_inlines_of(struct symbol_file *file, const char *source_file)
{
	uint64_t vaddr[CODE_BYTES];
	struct source sources[CODE_BYTES];
	int deepest = 0;

	vaddr[0] = vaddr_of(file, "ns::W::out(int)");
	for (int i = 1; i < CODE_BYTES; i++)
		vaddr[i] = vaddr[0] + (uint64_t)i;
	symbol_file_sources(file, vaddr, CODE_BYTES, sources);
	ck_assert_uint_ge(sources[0].count, 1);
	for (int i = 0; i < CODE_BYTES; i++)
		if (sources[i].count > sources[deepest].count)
			deepest = i;
	ck_assert_uint_eq(sources[deepest].count, 3);
	check_frame(&sources[deepest].frames[0], "ns::W::in(int)", source_file,
		    5, 4);
	check_frame(&sources[deepest].frames[1], "ns::W::mid(int)", source_file,
		    8, 7);
	check_frame(&sources[deepest].frames[2], "ns::W::out(int)", source_file,
		    14, 12);
	symbol_file_put(&file);
}

static void check_inlines(const char *path, const char *source_file)
{
	check_inlines_of(open_file(path), source_file);
}

FIXTURE(setup, teardown);

TEST(sources_inlined_functions_are_told, EACH(0, 5))
{
	static const char *const compilers[] = {
		"g++ -g -O1",	  "g++ -gdwarf-4 -O2",	   "g++ -g -O2 -gz",
		"clang++ -g -O2", "clang++ -gdwarf-4 -O2",
	};

	if (!strncmp(compilers[_i], "clang", 5) &&
	    system("command -v clang++ >/dev/null"))
		return;
	scratch_write("inlines.cc", g_inlines, strlen(g_inlines));
	scratch_run("%s -shared -fPIC -o inlines.so inlines.cc", compilers[_i]);
	check_inlines("inlines.so", "inlines.cc");
}

/* Only scopes or parameters distinguish these, even with -flto. */
static const char g_scopes[] =
	"#define INLINE __attribute__((always_inline)) inline\n"
	"volatile int v;\n"
	"namespace {\n"
	"struct A { INLINE void step(int x) const { v = x; } };\n"
	"struct B { INLINE void step(const char *x) { v = *x; } };\n"
	"namespace in {\n"
	"INLINE void step(unsigned long x, ...) { v = x; }\n"
	"INLINE void step(A &a, B *const *b) { v = (long)&a + (long)b; }\n"
	"}\n"
	"}\n"
	"extern \"C\" INLINE void step_c(int x) { v = x; }\n"
	"int main(int argc, char **argv)\n"
	"{\n"
	"	A a;\n"
	"	B b, *p = &b;\n"
	"	struct Local { INLINE void step() { v = 1; } } local;\n"
	"	a.step(argc);\n"
	"	b.step(*argv);\n"
	"	in::step(argc);\n"
	"	in::step(a, &p);\n"
	"	local.step();\n"
	"	step_c(argc);\n"
	"	auto one = [](int x) __attribute__((always_inline)) { v = x; "
	"};\n"
	"	auto two = [](int x) __attribute__((always_inline)) { v = x; "
	"};\n"
	"	one(1);\n"
	"	two(2);\n"
	"}\n";

TEST(sources_of_functions_without_linkage_have_scopes, EACH(0, 2))
{
	static const char *const compilers[] = { "g++ -g -O1", "g++ -g -flto" };
	/* Patterns, because compilers report different columns. */
	static const char *const names[] = {
		"(anonymous namespace)::A::step(int) const",
		"(anonymous namespace)::B::step(char const*)",
		"(anonymous namespace)::in::step(unsigned long, ...)",
		"(anonymous namespace)::in::step((anonymous namespace)::A&, "
		"(anonymous namespace)::B* const*)",
		"main::Local::step()",
		"step_c",
		"main::{lambda:23:*}::operator()(int) const",
		"main::{lambda:24:*}::operator()(int) const",
	};
	struct symbol_file *file;
	uint64_t vaddr[512];
	struct source sources[ARRAY_SIZE(vaddr)];

	scratch_compile(compilers[_i], "cc", g_scopes, "scopes");
	file = open_file("scopes");
	vaddr[0] = vaddr_of(file, "main");
	for (size_t i = 1; i < ARRAY_SIZE(vaddr); i++)
		vaddr[i] = vaddr[0] + i;
	symbol_file_sources(file, vaddr, ARRAY_SIZE(vaddr), sources);
	for (size_t n = 0; n < ARRAY_SIZE(names); n++) {
		bool found = false;

		for (size_t i = 0; i < ARRAY_SIZE(vaddr); i++)
			found |= sources[i].count > 1 &&
				 !fnmatch(names[n],
					  sources[i].frames[0].function, 0);
		ck_assert_msg(found, "no %s", names[n]);
	}
	symbol_file_put(&file);
}

TEST(sources_of_split_debug_information_are_told, EACH(0, 2))
{
	scratch_write("split.cc", g_inlines, strlen(g_inlines));
	scratch_run("%s -c -fPIC -o split.o split.cc && g++ -shared -o "
		    "split.so split.o",
		    _i ? "g++ -g -O2 -gsplit-dwarf"
		       : "g++ -gdwarf-4 -O2 -gsplit-dwarf");
	check_inlines("split.so", "split.cc");
}

/* Paths in debug information are relative to the process' root. */
TEST(sources_of_split_debug_information_in_a_root_are_told)
{
	struct symbol_file *file;
	int root;

	scratch_write("apart.cc", g_inlines, strlen(g_inlines));
	scratch_run("g++ -g -O2 -gsplit-dwarf -c -fPIC -o apart.o apart.cc && "
		    "g++ -shared -o apart.so apart.o && "
		    "mkdir -p root/%s && mv apart.dwo root/%s",
		    g_scratch, g_scratch);
	root = open("root", O_PATH | O_DIRECTORY | O_CLOEXEC);
	file = open_file("apart.so");
	symbol_file_set_root(file, root);
	close(root);
	check_inlines_of(file, "apart.cc");
}

/* Opening the pipe for reading would block, as it has no writer. */
TEST(sources_of_split_debug_information_never_wait)
{
	struct symbol_file *file;
	uint64_t vaddr;
	struct source source;

	scratch_write("pipe.cc", g_inlines, strlen(g_inlines));
	scratch_run("g++ -g -O2 -gsplit-dwarf -c -fPIC -o pipe.o pipe.cc && "
		    "g++ -shared -o pipe.so pipe.o && rm pipe.dwo && "
		    "mkfifo pipe.dwo");
	file = open_file("pipe.so");
	vaddr = vaddr_of(file, "ns::W::out(int)");
	symbol_file_sources(file, &vaddr, 1, &source);
	ck_assert_uint_eq(source.count, 1); /* the line table is not split */
	ck_assert_uint_gt(source.frames[0].line, 0);
	symbol_file_put(&file);
}

TEST(sources_of_link_time_optimised_code_are_told)
{
	scratch_write("lto.cc", g_inlines, strlen(g_inlines));
	scratch_run("g++ -g -O2 -flto -fPIC -shared -o lto.so lto.cc");
	check_inlines("lto.so", "lto.cc");
}

static struct source source_of(struct symbol_file *file, const char *function)
{
	uint64_t vaddr = vaddr_of(file, function);
	struct source source;

	symbol_file_sources(file, &vaddr, 1, &source);
	return source;
}

TEST(sources_are_asked_for_once)
{
	struct symbol_file *file;
	struct source first, second;

	scratch_compile("gcc -g", "c", "int main(void) { return 0; }\n",
			"once");
	file = open_file("once");
	first = source_of(file, "main");
	ck_assert_uint_eq(first.count, 1);
	setenv("PERFREC_SYMBOLIZE", "/nowhere", 1);
	second = source_of(file, "main");
	ck_assert_ptr_eq(first.frames, second.frames);
	symbol_file_put(&file);
	file = open_file("once"); /* the next process */
	second = source_of(file, "main");
	ck_assert_ptr_eq(first.frames, second.frames);
	symbol_file_put(&file);
}

TEST(sources_of_no_function_are_unknown)
{
	uint64_t vaddr[] = { UINT64_MAX, 0, 0, 1 };
	struct source sources[4];
	struct symbol_file *file;

	scratch_compile("gcc -g", "c", "int main(void) { return 0; }\n",
			"plain");
	file = open_file("plain");
	memset(sources, 0xff, sizeof(sources));
	ck_assert(symbol_file_sources(file, vaddr, ARRAY_SIZE(vaddr), sources));
	for (size_t i = 0; i < ARRAY_SIZE(sources); i++)
		ck_assert_uint_eq(sources[i].count, 0);
	ck_assert(symbol_file_sources(file, NULL, 0, NULL));
	symbol_file_put(&file);
}

/* Debug information has no mangled name for a static C++ function. */
TEST(sources_name_functions_as_symbol_tables_do)
{
	struct symbol_file *file;
	struct source source;

	scratch_compile("g++ -g", "cc",
			"static int twice(int x) { return 2 * x; }\n"
			"int main(int argc, char **) { return twice(argc); }\n",
			"static");
	file = open_file("static");
	source = source_of(file, "twice(int)");
	ck_assert_uint_eq(source.count, 1);
	check_frame(&source.frames[0], "twice(int)", "static.cc", 1, 1);
	symbol_file_put(&file);
}

/* Sequence before() follows that of entry() in the line table, and ends with an
 * empty row at entry()'s address. */
static const char g_sequences[] =
	"	.file \"sequences.c\"\n"
	"	.file 1 \"mine.c\"\n"
	"	.file 2 \"other.h\"\n"
	"	.globl entry\n"
	"	.section .text.entry,\"ax\",@progbits\n"
	"	.type entry, @function\n"
	"entry:	.loc 1 72\n"
	"	.loc 1 73\n"
	"	nop\n"
	"	nop\n"
	"	.loc 1 74\n"
	"	ret\n"
	"	.size entry, . - entry\n"
	"	.section .text.before,\"ax\",@progbits\n"
	"	.globl before\n"
	"	.type before, @function\n"
	"before: .loc 2 10\n"
	"	ret\n"
	"	.loc 2 104 0 view .LVU1\n"
	"	.size before, . - before\n"
	"	.section .note.GNU-stack\n";

static const char g_sequences_order[] =
	"SECTIONS { .text : { *(.text.before) *(.text.entry) } }\n"
	"INSERT BEFORE .fini;\n";

TEST(sources_at_a_start_are_not_of_what_ends_there, EACH(0, 4))
{
	static const char *const flags[] = { "-Wa,-gdwarf-5", "-Wa,-gdwarf-4",
					     "-Wa,-gdwarf-5 -gz",
					     "-Wa,-gdwarf-5 -gz=zlib-gnu" };
	static const uint32_t lines[] = { 73, 73, 74 };
	struct source sources[ARRAY_SIZE(lines)];
	uint64_t vaddr[ARRAY_SIZE(lines)];
	struct symbol_file *file;

	scratch_write("seq.s", g_sequences, strlen(g_sequences));
	scratch_write("order.ld", g_sequences_order, strlen(g_sequences_order));
	scratch_run("gcc -shared -o seq.so -g %s seq.s -Wl,-T,order.ld",
		    flags[_i]);
	file = open_file("seq.so");
	vaddr[0] = vaddr_of(file, "entry");
	ck_assert_uint_eq(vaddr_of(file, "before") + 1, vaddr[0]);
	for (size_t i = 1; i < ARRAY_SIZE(lines); i++)
		vaddr[i] = vaddr[0] + i;
	symbol_file_sources(file, vaddr, ARRAY_SIZE(lines), sources);
	for (size_t i = 0; i < ARRAY_SIZE(lines); i++) {
		ck_assert_uint_eq(sources[i].count, 1);
		ck_assert_ptr_nonnull(
			strstr(sources[i].frames[0].file, "mine.c"));
		ck_assert_uint_eq(sources[i].frames[0].line, lines[i]);
	}
	symbol_file_put(&file);
}

static void *ask_for_main(void *context)
{
	struct symbol_file *file = context;
	uint64_t vaddr = vaddr_of(file, "main"), start;
	struct source source;

	symbol_file_sources(file, &vaddr, 1, &source);
	symbol_file_lookup(file, vaddr, &start);
	return (void *)(source.count ? source.frames : NULL);
}

TEST(sources_are_the_same_for_every_thread)
{
	struct symbol_file *file;
	pthread_t threads[4];
	void *frames, *first;

	scratch_compile("gcc -g", "c", "int main(void) { return 0; }\n",
			"threads");
	file = open_file("threads");
	for (size_t i = 0; i < ARRAY_SIZE(threads); i++)
		ck_assert_int_eq(
			pthread_create(&threads[i], NULL, ask_for_main, file),
			0);
	first = ask_for_main(file);
	ck_assert_ptr_nonnull(first);
	for (size_t i = 0; i < ARRAY_SIZE(threads); i++) {
		pthread_join(threads[i], &frames);
		ck_assert_ptr_eq(frames, first);
	}
	symbol_file_put(&file);
}

/* --- separate debug files ------------------------------------------------- */

static const char g_stripped[] = "int hidden(int x)\n"
				 "{\n"
				 "	return x * 2;\n"
				 "}\n"
				 "int main(int argc, char **argv)\n"
				 "{\n"
				 "	(void)argv;\n"
				 "	return hidden(argc);\n"
				 "}\n";

static void make_stripped(const char *flags)
{
	scratch_run("rm -rf root && mkdir -p root/bin");
	scratch_write("prog.c", g_stripped, strlen(g_stripped));
	scratch_run("gcc -g %s -o prog prog.c && objcopy --only-keep-debug "
		    "prog prog.debug && strip -o root/bin/prog prog",
		    flags);
}

static void put_by_build_id(const char *file)
{
	scratch_run("id=$(readelf -n prog | sed -n 's/.*Build ID: //p'); "
		    "to=root/usr/lib/debug/.build-id/${id%%${id#??}}; "
		    "mkdir -p $to && cp %s $to/${id#??}.debug",
		    file);
}

static struct symbol_file *open_stripped(void)
{
	struct symbol_file *file;
	int root = open("root", O_PATH | O_DIRECTORY | O_CLOEXEC);
	int fd = open("root/bin/prog", O_RDONLY | O_CLOEXEC);

	ck_assert(root >= 0 && fd >= 0);
	file = symbol_cache_file(g_cache, getuid(), fd, "/bin/prog");
	symbol_file_set_root(file, root);
	close(root);
	close(fd);
	return file;
}

static void check_stripped(void)
{
	struct symbol_file *file = open_stripped();
	struct source source = source_of(file, "hidden");

	ck_assert_uint_eq(source.count, 1);
	check_frame(&source.frames[0], "hidden", "prog.c", 2, 1);
	symbol_file_put(&file);
}

TEST(debug_file_of_a_build_id_is_found)
{
	make_stripped("-Wl,--build-id");
	put_by_build_id("prog.debug");
	check_stripped();
}

TEST(debug_file_of_a_debug_link_is_found, EACH(0, 3))
{
	static const char *const folders[] = { "bin", "bin/.debug",
					       "usr/lib/debug/bin" };

	make_stripped("-Wl,--build-id=none");
	scratch_run("objcopy --add-gnu-debuglink=prog.debug root/bin/prog && "
		    "mkdir -p root/%s && mv prog.debug root/%s",
		    folders[_i], folders[_i]);
	check_stripped();
}

static int g_stderr;

static void listen_to_log(void)
{
	int log = open("said", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	g_stderr = dup(STDERR_FILENO);
	ck_assert_int_eq(dup2(log, STDERR_FILENO), STDERR_FILENO);
	close(log);
}

/* Restores stderr. At most one line was logged; it contains @said. */
static void check_log(const char *said)
{
	char text[1024] = "";
	int log = open("said", O_RDONLY | O_CLOEXEC);

	dup2(g_stderr, STDERR_FILENO);
	close(g_stderr);
	ck_assert_int_ge(read(log, text, sizeof(text) - 1), 0);
	close(log);
	ck_assert_msg(!said || strstr(text, said), "'%s'", text);
	ck_assert_ptr_eq(strchr(text, '\n'), strrchr(text, '\n'));
}

static void check_unknown(const char *said)
{
	struct symbol_file *file;
	uint64_t vaddr = 0x1139;
	struct source source;

	listen_to_log();
	file = open_stripped();
	ck_assert_ptr_null(symbol_file_lookup(file, vaddr, &vaddr));
	ck_assert(symbol_file_sources(file, &vaddr, 1, &source));
	ck_assert_uint_eq(source.count, 0);
	ck_assert(symbol_file_sources(file, &vaddr, 1, &source));
	ck_assert_uint_eq(source.count, 0);
	symbol_file_put(&file);
	check_log(said);
}

TEST(debug_file_of_another_build_is_refused)
{
	make_stripped("-Wl,--build-id=0x0123456789abcdef");
	scratch_run("gcc -g -Wl,--build-id=0x0123456789abcdee -o other "
		    "prog.c");
	put_by_build_id("other");
	check_unknown("debug file /usr/lib/debug/.build-id/01/"
		      "23456789abcdef.debug has build-id 0123456789abcdee, "
		      "but /bin/prog has 0123456789abcdef: ");
	make_stripped("-Wl,--build-id=none");
	scratch_run("objcopy --add-gnu-debuglink=prog.debug root/bin/prog && "
		    "cp prog.debug root/bin && echo >>root/bin/prog.debug");
	check_unknown("debug file /bin/prog.debug has not the checksum ");
}

/* Links to other roots, pipes without a writer, folders. */
TEST(debug_file_that_is_none_is_passed_over, EACH(0, 6))
{
	static const char *const made[] = {
		"ln -s ../../../../../../../../../..$PWD/prog.debug ",
		"mkfifo ",
		"mkdir ",
		"echo nonsense >",
		"ln -s prog.debug ",
		"cp root/bin/prog ",
	};

	make_stripped("-Wl,--build-id=none");
	scratch_run("objcopy --add-gnu-debuglink=prog.debug root/bin/prog");
	scratch_run("%sroot/bin/prog.debug", made[_i]);
	check_unknown(NULL);
}

TEST(debug_file_that_dwz_split_is_read_with_the_rest)
{
	struct symbol_file *file;
	struct source source;

	if (system("command -v dwz >/dev/null"))
		return;
	make_stripped("-Wl,--build-id");
	/* dwz needs two files with common parts */
	scratch_run("mkdir -p root/usr/lib/debug/.dwz && cp prog.debug twin && "
		    "objcopy -R .note.gnu.build-id twin && "
		    "dwz -m root/usr/lib/debug/.dwz/common "
		    "-M /usr/lib/debug/.dwz/common prog.debug twin");
	put_by_build_id("prog.debug");
	file = open_stripped();
	source = source_of(file, "hidden");
	ck_assert_uint_eq(source.count, 1);
	check_frame(&source.frames[0], "hidden", "prog.c", 2, 1);
	symbol_file_put(&file);
}

/* A folder plays debuginfod; it has the stripped program's file. */
static void make_server(const char *file)
{
	char urls[2 * PATH_MAX];

	make_stripped("-Wl,--build-id");
	scratch_run("id=$(readelf -n prog | sed -n 's/.*Build ID: //p'); "
		    "rm -rf server cache && mkdir -p server/buildid/$id && "
		    "cp %s server/buildid/$id/debuginfo",
		    file);
	snprintf(urls, sizeof(urls), "file://%s/server", g_scratch);
	setenv("DEBUGINFOD_URLS", urls, 1);
	snprintf(urls, sizeof(urls), "%s/cache", g_scratch);
	setenv("DEBUGINFOD_CACHE_PATH", urls, 1);
}

static bool has_debuginfod(void)
{
	void *library = dlopen("libdebuginfod.so.1", RTLD_LAZY);

	if (library)
		dlclose(library);
	return library;
}

TEST(debug_file_comes_from_debuginfod_when_asked_for)
{
	struct symbol_file *file, *unstripped;
	uint64_t vaddr;
	struct source source;

	if (!has_debuginfod())
		return;
	make_server("prog.debug");
	unstripped = open_file("prog");
	vaddr = vaddr_of(unstripped, "hidden");
	symbol_file_put(&unstripped);
	file = open_stripped();
	symbol_file_sources(file, &vaddr, 1, &source);
	ck_assert_uint_eq(source.count, 1);
	check_frame(&source.frames[0], "hidden", "prog.c", 2, 1);
	symbol_file_put(&file);
}

TEST(debug_file_of_debuginfod_must_fit)
{
	if (!has_debuginfod())
		return;
	scratch_compile("gcc -g -Wl,--build-id=0x0123456789abcdee", "c",
			g_stripped, "other");
	make_server("other");
	check_unknown("debug file from debuginfod has build-id ");
	setenv("DEBUGINFOD_URLS", "", 1);
	check_unknown(NULL);
}

/* --- a misbehaving process ------------------------------------------------ */

static void put_program(const char *script)
{
	char path[2 * PATH_MAX];

	scratch_write("stub", script, strlen(script));
	snprintf(path, sizeof(path), "%s/stub", g_scratch);
	setenv("PERFREC_SYMBOLIZE", path, 1);
}

static void count_frame(void *context, uint64_t vaddr,
			const struct symbolize_frame *frame)
{
	int *frames = context;

	ck_assert_uint_eq(vaddr, 16);
	ck_assert_uint_le(strlen(frame->function), SYMBOLIZE_TEXT_MAX);
	++*frames;
}

/* Returns the number of frames. */
static int ask(unsigned int seconds, int *error, char *why)
{
	uint64_t vaddr = 16;
	struct symbolize_request request = {
		.elf_fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC),
		.alt_fd = -1,
		.root_fd = -1,
		.vaddr = &vaddr,
		.count = 1,
		.seconds = seconds,
	};
	int frames = 0;

	*error = symbolize_lines(&request, count_frame, &frames, why);
	close(request.elf_fd);
	return frames;
}

static const struct {
	const char *script;
	int frames;
	const char *why; /* NULL: success */
} g_stubs[] = {
	{ "printf 'a 10 1\\nf 3 2 1 0\\nx\\n\\nend\\n'", 1, NULL },
	{ "printf 'a 10 0\\nend\\n'; exec sleep 1000", 0, NULL },
	{ "cat >/dev/null", 0, "gave no whole answer" },
	{ "printf 'a 10 1\\nf 3 2 1 0\\nx\\n\\n'", 1, "gave no whole answer" },
	{ "printf 'a 10 1\\nf 3 2 9 9\\nx\\n'", 0, "gave no whole answer" },
	{ "printf 'a 11 0\\nend\\n'", 0, "gave no whole answer" },
	{ "printf 'a 10 257\\n'", 0, "gave no whole answer" },
	{ "printf 'a 10 1\\nf 3 2 4097 0\\n'; yes", 0, "gave no whole answer" },
	{ "printf 'a 10 1\\nf 3 2 18446744073709551615 0\\n'", 0,
	  "gave no whole answer" },
	{ "printf 'a 10 1\\nf 99999999999999999999 -2 1 0\\nx\\n\\nend\\n'", 1,
	  NULL },
	{ "exec yes", 0, "gave no whole answer" },
	{ "exec cat /dev/zero", 0, "gave no whole answer" },
	{ "kill -SEGV $$", 0, "perfrec-symbolize crashed (signal 11)" },
	{ "kill -XCPU $$", 0, "limit of CPU time" },
	{ "printf 'odd\\033[2J trouble\\nmore\\n' >&2; exit 1", 0,
	  "odd?[2J trouble" },
	{ "yes >&2", 0, "took too long" },
	{ "exec sleep 1000", 0, "took too long" },
	{ "exec 1>&-; exec sleep 1000", 0, "took too long" },
};

TEST(symbolize_of_a_bad_process_says_why, EACH(0, ARRAY_SIZE(g_stubs)))
{
	int before = scratch_descriptors();
	char script[256], why[SYMBOLIZE_WHY_BYTES];
	bool is_late = g_stubs[_i].why && strstr(g_stubs[_i].why, "too long");
	int error;

	snprintf(script, sizeof(script), "#!/bin/sh\n%s\n", g_stubs[_i].script);
	put_program(script);
	ck_assert_int_eq(ask(is_late ? 1 : 60, &error, why),
			 g_stubs[_i].frames);
	if (g_stubs[_i].why) {
		ck_assert_int_lt(error, 0);
		ck_assert_msg(strstr(why, g_stubs[_i].why), "'%s'", why);
		ck_assert_ptr_null(strchr(why, '\n'));
	} else {
		ck_assert_int_eq(error, 0);
	}
	ck_assert_int_eq(scratch_descriptors(), before);
	/* Reaps the process whose end took more than 100 ms. */
	while (waitpid(-1, NULL, 0) > 0)
		;
	ck_assert_int_eq(errno, ECHILD);
}

TEST(symbolize_missing_process_leaves_names)
{
	struct symbol_file *file;
	uint64_t vaddr, start;
	char why[SYMBOLIZE_WHY_BYTES];
	int error;

	setenv("PERFREC_SYMBOLIZE", "/nowhere/perfrec-symbolize", 1);
	ck_assert_int_eq(ask(60, &error, why), 0);
	ck_assert_int_eq(error, -ENOENT);
	scratch_compile("gcc -g", "c", "int main(void) { return 0; }\n",
			"named");
	scratch_run("cp named again");
	listen_to_log();
	for (int i = 0; i < 2; i++) {
		file = open_file(i ? "again" : "named");
		ck_assert_uint_eq(source_of(file, "main").count, 0);
		vaddr = vaddr_of(file, "main");
		ck_assert_str_eq(symbol_file_lookup(file, vaddr, &start),
				 "main");
		symbol_file_put(&file);
	}
	check_log("no source lines for named: cannot start "
		  "'/nowhere/perfrec-symbolize': "
		  "No such file or directory; see PERFREC_SYMBOLIZE\n");
}

/* The message must not suggest another installation. */
TEST(symbolize_that_a_limit_keeps_from_starting_names_it)
{
	char why[SYMBOLIZE_WHY_BYTES] = "";
	struct rlimit limit, less;
	int error = 0, next = dup(STDIN_FILENO);

	close(next);
	ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &limit), 0);
	less = limit;
	/* Its two channels need four. */
	less.rlim_cur = (rlim_t)next + 3;
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &less), 0);
	(void)ask(60, &error, why);
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
	ck_assert_int_eq(error, -EMFILE);
	ck_assert_str_eq(why, "cannot start perfrec-symbolize: Too many open "
			      "files (raise ulimit -n)");
}

/* 100 addresses with 256 different long names each: 100 MB. */
TEST(symbolize_flood_of_names_is_stopped)
{
	struct symbol_file *file;
	uint64_t vaddr[100];
	struct source sources[100];
	size_t known = 0;

	put_program("#!/bin/sh\n"
		    "awk 'BEGIN { for (i = 0; i < 4080; i++) x = x \"x\" }\n"
		    "{ printf \"a %s 256\\n\", $1\n"
		    "  for (i = 0; i < 256; i++)\n"
		    "    printf \"f 1 1 4090 4090\\n%010d%s\\n%010d%s\\n\",\n"
		    "	   n, x, n++, x }\n"
		    "END { print \"end\" }'\n");
	scratch_compile("gcc -g", "c", "int main(void) { return 0; }\n",
			"flood");
	for (uint64_t i = 0; i < ARRAY_SIZE(vaddr); i++)
		vaddr[i] = 16 + i;
	listen_to_log();
	file = open_file("flood");
	symbol_file_sources(file, vaddr, ARRAY_SIZE(vaddr), sources);
	check_log("no source lines for flood: its debug information has too "
		  "many names\n");
	for (size_t i = 0; i < ARRAY_SIZE(vaddr); i++)
		known += sources[i].count == 256;
	ck_assert_uint_ge(known, 60);
	ck_assert_uint_le(known, 64);
	ck_assert_uint_lt(symbol_cache_use(g_cache).tables, 80 << 20);
	symbol_file_put(&file);
}

TEST(symbolize_process_gets_little)
{
	int leaked = open("/dev/null", O_RDWR); /* not O_CLOEXEC */
	char why[SYMBOLIZE_WHY_BYTES];
	int error;

	setenv("LD_PRELOAD", "", 1);
	put_program("#!/bin/sh\n"
		    "ls /proc/$$/fd | tr '\\n' ' ' | tr -d '[:alpha:]' >&2\n"
		    "tr '\\0' ' ' </proc/$$/environ >&2\n");
	ck_assert_int_eq(ask(60, &error, why), 0);
	/* 10 is the shell's script */
	ck_assert_msg(!strncmp(why, "0 1 10 2 3 4 5 ", 15), "'%s'", why);
	ck_assert_msg(strstr(why, ENV_NOT_RECORDED " ") ==
			      strchr(why, '=') - strlen("PERFREC_DISABLE"),
		      "'%s'", why);
	ck_assert_ptr_null(strchr(strchr(why, '=') + 1, '='));
	close(leaked);
}

/* --- hostile files ------------------------------------------------------- */

TEST(sources_with_absurd_names_are_cut_and_cleaned)
{
	static char source[200 << 10];
	char name[SYMBOL_NAME_BYTES];
	struct symbol_file *file;
	struct source found;
	char *at = source;

	at += sprintf(at, "# 1 \"od\\nd.c\"\nint main(void) { return 0; }\n"
			  "int ");
	memset(at, 'y', 65536);
	at += 65536;
	at += sprintf(at, "(void)\n{ return 1; }\n");
	scratch_write("absurd.c", source, (size_t)(at - source));
	scratch_run("gcc -g -o absurd absurd.c");
	file = open_file("absurd");
	found = source_of(file, "main");
	ck_assert_uint_eq(found.count, 1);
	ck_assert_ptr_nonnull(strstr(found.frames[0].file, "/od?d.c"));
	memset(source, 'y', 65536);
	source[65536] = '\0';
	ck_assert_uint_eq(symbol_name_make(source, name),
			  SYMBOL_NAME_BYTES - 1);
	found = source_of(file, name);
	ck_assert_uint_eq(found.count, 1);
	ck_assert_str_eq(found.frames[0].function, name);
	symbol_file_put(&file);
}

/* A sparse file of 4 GB. */
TEST(debug_file_of_4_gb_is_read_or_refused, EACH(0, 2))
{
	static const char *const ids[] = { "-Wl,--build-id",
					   "-Wl,--build-id=none" };

	make_stripped(ids[_i]);
	scratch_run("truncate -s 4G prog.debug");
	if (_i == 0) {
		scratch_run("cp prog.debug big");
		put_by_build_id("big");
		check_stripped();
	} else {
		scratch_run("cp prog twin && objcopy "
			    "--add-gnu-debuglink=twin root/bin/prog && "
			    "mv prog.debug root/bin/twin");
		check_unknown(NULL);
	}
}

static void begin_suite(void)
{
	find_symbolize(g_program);
	scratch_enter();
}

SUITE(begin_suite, scratch_leave);
