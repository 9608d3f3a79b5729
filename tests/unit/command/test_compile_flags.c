/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/command/compile_flags.h"
#include "tests/suite.h"

#include <unistd.h>

#define WORDS_MAX 32

static struct compile_line *read_line(const char *text)
{
	char *words[WORDS_MAX + 1] = { NULL };
	char *copy = strdup(text), *rest = copy;
	struct compile_line *line;
	size_t count = 0;

	while (rest) {
		ck_assert_uint_lt(count, WORDS_MAX);
		words[count++] = strsep(&rest, " ");
	}
	ck_assert_int_eq(compile_line_read(words, &line), 0);
	free(copy);
	return line;
}

/* Expects the sources in order, a blank after each. */
static void expect_sources(const char *text, const char *expected)
{
	struct compile_line *line = read_line(text);
	char got[256] = "";

	for (size_t i = 0; i < line->count; i++) {
		if (line->words[i].kind != COMPILE_SOURCE)
			continue;
		strcat(got, line->words[i].text);
		strcat(got, " ");
	}
	ck_assert_msg(strcmp(got, expected) == 0,
		      "'%s': sources '%s', not '%s'", text, got, expected);
	compile_line_free(&line);
}

TEST(compile_line_read_finds_sources)
{
	expect_sources("cc -c x.c", "x.c ");
	expect_sources("cc x.c y.o -lm z.cpp lib.a w.s v.S -o p", "x.c z.cpp ");
	expect_sources("cc -o x.c -c y.c", "y.c ");
	expect_sources("cc -ox.c -c y.c", "y.c ");
	expect_sources("cc -MF x.c -MT y.c -MQ z.c -include w.c -c v.cc",
		       "v.cc ");
	expect_sources("cc -I x.c -D y.c -Xlinker z.c -c a.C", "a.C ");
	expect_sources("cc -Xlinker -z -Xlinker -x -c a.c", "a.c ");
	expect_sources("cc -x c - -x none b.o", "- ");
	expect_sources("cc -xc++ x.h y", "x.h y ");
	expect_sources("cc -x assembler x.c -x none y.c", "y.c ");
	expect_sources("cc - x.o", "");
	expect_sources("cc -c dir.c/x", "");
	expect_sources("cc -o", "");
}

TEST(compile_line_read_knows_the_languages_of_gcc)
{
	expect_sources("gfortran a.f90 b.F c.for d.f08 e.mod f.o",
		       "a.f90 b.F c.for d.f08 ");
	expect_sources("gfortran -J x.f90 -c y.f90", "y.f90 ");
	expect_sources("gcc -x f95 - -x ada y -x d z", "- y z ");
	expect_sources("gdc a.d b.di -of=c", "a.d ");
	expect_sources("gcc -c a.adb b.ads c.ali", "a.adb b.ads ");
	expect_sources("gnatmake -q hello -o x -largs y.o", "hello ");
	expect_sources("/usr/bin/x86_64-linux-gnu-gnatmake-12 hello", "hello ");
	expect_sources("gnatmake2 hello", "");
	expect_sources("gcc a.go b.rs -x cuda c.c -x none d.c", "d.c ");
}

static void expect_steps(const char *text, bool makes_code, bool links,
			 bool freestanding)
{
	struct compile_line *line = read_line(text);

	ck_assert_msg(line->makes_code == makes_code, "%s: code", text);
	ck_assert_msg(line->links == links, "%s: link", text);
	ck_assert_msg(line->freestanding == freestanding, "%s: freestanding",
		      text);
	ck_assert_uint_eq(
		compile_line_count(line, COMPILE_SOURCE, freestanding), 0);
	compile_line_free(&line);
}

TEST(compile_line_read_knows_where_it_stops)
{
	expect_steps("cc x.c", true, true, false);
	expect_steps("cc x.o", true, true, false);
	expect_steps("cc -c x.c", true, false, false);
	expect_steps("cc -S x.c", true, false, false);
	expect_steps("cc x.c -E", false, false, false);
	expect_steps("cc x.c -MM", false, false, false);
	expect_steps("cc x.c -MMD -MD", true, true, false);
	expect_steps("cc x.h", true, false, false);
	expect_steps("cc --version", true, false, false);
	expect_steps("cc", true, false, false);
	expect_steps("cc -r a.o b.o", true, false, false);
	expect_steps("cc -D -E x.c", true, true, false);
}

TEST(compile_line_read_of_freestanding_code_chooses_nothing)
{
	expect_steps("cc x.c -nostdlib", true, true, true);
	expect_steps("cc -ffreestanding -c x.c", true, false, true);
	expect_steps("cc -mcmodel=kernel -c x.c", true, false, true);
}

TEST(compile_line_read_with_response_file_reads_it)
{
	char path[] = "/tmp/perfrec-test.XXXXXX", text[64];
	static const char words[] = "-c 'my file.c'\n-o \"x.c\" y\\ z.c";
	int fd = mkstemp(path);
	struct compile_line *line;

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(write(fd, words, sizeof(words) - 1),
			 sizeof(words) - 1);
	close(fd);
	strcpy(text, "cc @");
	strcat(text, path);
	line = read_line(text);
	unlink(path);
	ck_assert_uint_eq(line->count, 5);
	ck_assert_str_eq(line->words[1].text, "my file.c");
	ck_assert_int_eq(line->words[1].kind, COMPILE_SOURCE);
	ck_assert_int_eq(line->words[3].kind, COMPILE_OUTPUT);
	ck_assert_str_eq(line->words[4].text, "y z.c");
	ck_assert(!line->links);
	compile_line_free(&line);
}

TEST(compile_is_input_tells_inputs_from_commands)
{
	static const char *const inputs[] = { "x.c",  "a/b.cpp",     "x.o",
					      "x.so", "libx.so.1.2", "x.S",
					      "l.a",  "x.h" };
	static const char *const commands[] = { "gcc", "/usr/bin/clang++-14",
						"gcc-12.2", "x.c/gcc", "" };

	for (size_t i = 0; i < sizeof(inputs) / sizeof(inputs[0]); i++)
		ck_assert_msg(compile_is_input(inputs[i]), "%s", inputs[i]);
	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++)
		ck_assert_msg(!compile_is_input(commands[i]), "%s",
			      commands[i]);
}

static void expect_flags(const char *text, bool clang,
			 const struct compile_choice *choice,
			 const char *expected)
{
	static const char *const folders[] = { "/usr/include/c++/12",
					       "/opt/a,b/include",
					       "/usr/include" };
	const struct compile_target target = {
		.clang = clang,
		.folders = folders,
		.folder_count = sizeof(folders) / sizeof(folders[0]),
	};
	struct compile_line *line = read_line(text);
	const char *flags[COMPILE_FLAGS_MAX + 1];
	char got[512] = "";
	char *lists;

	ck_assert_int_eq(compile_flags_make(line, &target, choice,
					    clang ? NULL : "-specs=/x", flags,
					    &lists),
			 0);
	for (size_t i = 0; flags[i]; i++) {
		strcat(got, flags[i]);
		strcat(got, " ");
	}
	ck_assert_str_eq(got, expected);
	free(lists);
	compile_line_free(&line);
}

static void expect_strips(const char *text, const char *expected)
{
	struct compile_line *line = read_line(text);

	ck_assert_msg(!line->strips == !expected, "%s", text);
	ck_assert_pstr_eq(line->strips, expected);
	compile_line_free(&line);
}

TEST(compile_line_read_finds_what_strips)
{
	expect_strips("cc x.c -s", "-s");
	expect_strips("cc -Wl,-s x.c", "-Wl,-s");
	expect_strips("cc -Wl,-O1,-s,--as-needed x.c",
		      "-Wl,-O1,-s,--as-needed");
	expect_strips("cc -Wl,--strip-all x.c", "-Wl,--strip-all");
	expect_strips("cc -Xlinker -s x.c", "-s");
	expect_strips("cc x.c -Wl,-soname,-x -Wl,--strip-debug", NULL);
	expect_strips("cc -o -s x.c -std=c11 -shared -static -save-temps",
		      NULL);
	expect_strips("cc -Wl, -Wl,,, -Wl,a-very-long-item-of-the-linker",
		      NULL);
}

static const char *const g_folders[] = { "/usr/include/c++/12", "/include",
					 "/usr/include" };
static const struct compile_target g_target = { .folders = g_folders,
						.folder_count = 3 };

TEST(compile_path_mark_breaks_the_names_of_system_folders)
{
	static const char *const paths[][2] = {
		{ "/usr/include", NULL },
		{ "/usr/include/boost", NULL },
		{ "usr/include", NULL },
		{ "/opt/include", NULL },
		{ "", NULL },
		{ "/stage/usr/include", "/stage/usr/./include" },
		{ "../usr/include/boost", "../usr/./include/boost" },
		{ "/usr/include2", "/usr/./include2" },
		{ "/a/usr/include/c++/12", "/a/usr/./include/c++/./12" },
		{ "/a/usr/include/b/usr/include/",
		  "/a/usr/./include/b/usr/./include/" },
	};

	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
		char *got = compile_path_mark(&g_target, paths[i][0]);

		ck_assert_pstr_eq(got, paths[i][1]);
		free(got);
	}
}

TEST(compile_line_mark_paths_takes_folders_and_sources)
{
	struct compile_line *line =
		read_line("g++ -I/s/usr/include -isystem /s/usr/include -L "
			  "/s/usr/include -I /a=/usr/include "
			  "/s/usr/include/x.cc /s/usr/include/x.o");
	static const char *const texts[] = {
		"-I/s/usr/./include", "-isystem",
		"/s/usr/./include",   "-L",
		"/s/usr/include",     "-I",
		"/a=/usr/./include",  "/s/usr/./include/x.cc",
		"/s/usr/include/x.o"
	};

	compile_line_mark_paths(line, &g_target);
	ck_assert(line->changed);
	ck_assert_uint_eq(line->count, sizeof(texts) / sizeof(texts[0]));
	for (size_t i = 0; i < line->count; i++)
		ck_assert_str_eq(line->words[i].text, texts[i]);
	ck_assert_str_eq(line->words[0].map,
			 "-ffile-prefix-map=/s/usr/./include=/s/usr/include");
	ck_assert_ptr_null(line->words[6].map);
	compile_line_free(&line);
}

static void expect_left_out(const char *text, const char *expected,
			    size_t expected_more)
{
	struct compile_line *line = read_line(text);
	const char *got;
	size_t more;

	got = compile_line_left_out(line, &g_target, &more);
	ck_assert_pstr_eq(got, expected);
	ck_assert_uint_eq(more, expected_more);
	compile_line_free(&line);
}

TEST(compile_line_left_out_names_folders_of_cplusplus)
{
	expect_left_out("g++ -c x.cc", NULL, 0);
	expect_left_out("g++ -I/usr/include -I/usr/include/c++/12 -c x.cc",
			NULL, 0);
	expect_left_out("g++ -I/usr/include/a -c x.cc", "/usr/include/a", 0);
	expect_left_out("g++ -I/usr/include/a -isystem /usr/include/b -c x.cc",
			"/usr/include/a", 1);
	expect_left_out("gcc -I/usr/include/a -c x.c", NULL, 0);
	expect_left_out("gcc -I/usr/include/a -x c++ -c x.c", "/usr/include/a",
			0);
	expect_left_out("g++ -L/usr/include/a -c x.cc", NULL, 0);
}

TEST(compile_flags_make_for_gcc_leaves_system_headers_out)
{
	static const char *const functions[] = { "get", "pair<int, int>" };
	struct compile_choice choice = { .style = COMPILE_DEFAULT };

	expect_flags("gcc -c x.c", false, &choice,
		     "-g -fno-omit-frame-pointer -finstrument-functions "
		     "-finstrument-functions-exclude-file-list="
		     "/opt/a\\,b/include,/usr/include ");
	choice.functions = functions;
	choice.function_count = 2;
	expect_flags("gcc -c x.c y.s", false, &choice,
		     "-fno-omit-frame-pointer -finstrument-functions "
		     "-finstrument-functions-exclude-file-list="
		     "/opt/a\\,b/include,/usr/include "
		     "-finstrument-functions-exclude-function-list="
		     "get,pair<int\\, int> ");
	choice.function_count = 0;
	choice.headers = COMPILE_HEADERS_IN;
	expect_flags("gcc -c x.c", false, &choice,
		     "-g -fno-omit-frame-pointer -finstrument-functions ");
}

TEST(compile_flags_make_for_clang_puts_hooks_in_after_inlining)
{
	struct compile_choice choice = { .style = COMPILE_DEFAULT };

	expect_flags("clang -c x.c", true, &choice,
		     "-g -fno-omit-frame-pointer "
		     "-finstrument-functions-after-inlining ");
	choice.style = COMPILE_BEFORE;
	expect_flags("clang -c x.c", true, &choice,
		     "-g -fno-omit-frame-pointer -finstrument-functions ");
}

TEST(compile_flags_make_for_entry_adds_nothing_that_links)
{
	struct compile_choice choice = { .hooks = COMPILE_ENTRY };

	expect_flags("gcc -c x.c", false, &choice, "-g -specs=/x ");
	expect_flags("gcc x.c y.S", false, &choice, "-specs=/x ");
	expect_flags("clang x.c", true, &choice,
		     "-g -Xclang -fxray-instrument "
		     "-Xclang -fxray-instruction-threshold=1 ");
}

static bool entry_refused(const char *text, bool clang, bool x86_64)
{
	const struct compile_target target = { .clang = clang,
					       .x86_64 = x86_64 };
	struct compile_line *line = read_line(text);
	bool refused = compile_entry_refuse(line, &target) != NULL;

	compile_line_free(&line);
	return refused;
}

TEST(compile_entry_refuse_knows_what_does_not_go_together)
{
	ck_assert(!entry_refused("gcc -c x.c -mcmodel=medium", false, true));
	ck_assert(entry_refused("gcc -c x.c", false, false));
	ck_assert(entry_refused("clang -c x.c", true, false));
	ck_assert(entry_refused("gcc -pg -c x.c", false, true));
	ck_assert(entry_refused("gcc -c x.c -p", false, true));
	ck_assert(!entry_refused("gcc -c x.c -D -p", false, true));
	ck_assert(entry_refused("gcc -c x.c -mcmodel=large", false, true));
	ck_assert(entry_refused("gcc -c x.c -masm=intel", false, true));
	ck_assert(!entry_refused("clang -c x.c -masm=intel", true, true));
}

TEST(compile_flags_refuse_for_entry_what_it_is_not)
{
	static const char *const functions[] = { "x" };
	struct compile_target gcc = { .version = 10, .x86_64 = true };
	struct compile_target old = { .version = 9, .x86_64 = true };
	struct compile_target clang = { .clang = true, .version = 4 };
	struct compile_choice entry = { .hooks = COMPILE_ENTRY };
	struct compile_choice before = { .hooks = COMPILE_ENTRY,
					 .style = COMPILE_BEFORE };
	struct compile_choice after = { .hooks = COMPILE_ENTRY,
					.style = COMPILE_AFTER };
	struct compile_choice some = { .hooks = COMPILE_ENTRY,
				       .functions = functions,
				       .function_count = 1 };

	ck_assert_ptr_null(compile_flags_refuse(&gcc, &entry));
	ck_assert_ptr_null(compile_flags_refuse(&clang, &entry));
	ck_assert_ptr_nonnull(compile_flags_refuse(&old, &entry));
	ck_assert_ptr_nonnull(compile_flags_refuse(&gcc, &before));
	ck_assert_ptr_nonnull(compile_flags_refuse(&clang, &before));
	ck_assert_ptr_null(compile_flags_refuse(&gcc, &after));
	ck_assert_ptr_nonnull(compile_flags_refuse(&gcc, &some));
	ck_assert_ptr_nonnull(compile_flags_refuse(&clang, &some));
}

TEST(compile_flags_refuse_what_the_compiler_cannot)
{
	static const char *const functions[] = { "x" };
	struct compile_target gcc = { .clang = false };
	struct compile_target clang = { .clang = true };
	struct compile_choice after = { .style = COMPILE_AFTER };
	struct compile_choice before = { .style = COMPILE_BEFORE };
	struct compile_choice some = { .functions = functions,
				       .function_count = 1 };

	ck_assert_ptr_nonnull(compile_flags_refuse(&gcc, &after));
	ck_assert_ptr_null(compile_flags_refuse(&gcc, &before));
	ck_assert_ptr_null(compile_flags_refuse(&gcc, &some));
	ck_assert_ptr_nonnull(compile_flags_refuse(&clang, &some));
	ck_assert_ptr_null(compile_flags_refuse(&clang, &after));
	ck_assert_ptr_null(compile_flags_refuse(&clang, &before));
}
