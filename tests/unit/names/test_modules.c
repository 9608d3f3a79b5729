/* SPDX-License-Identifier: Apache-2.0
 *
 * modules and maps: addresses that running programs print must resolve to the
 * names in their source.
 *
 * A program under test prints lines "WHAT ADDRESS" and advances one step per
 * byte it reads; see g_program. The test reads its map after the first line:
 * before that, the process may still be this test, about to call exec.
 */
#include "collector/names/modules.h"

#include <errno.h>
#include <grp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/sysmacros.h>

#include "collector/base/log.h"
#include "collector/names/helper.h"
#include "collector/names/map_log.h"
#include "collector/names/maps.h"
#include "collector/names/symbols.h"
#include "tests/suite.h"
#include "tests/unit/scratch.h"
#include "tests/unit/told.h"

static const char g_program[] =
	"#include <dlfcn.h>\n#include <stdio.h>\n#include <stdlib.h>\n"
	"#include <unistd.h>\n#include <sys/auxv.h>\n"
	"int lib_work(int);\n"
	"static int quiet(int x) { return x * 7; }\n"
	"int loud(int x) { return x * 9; }\n"
	"int (*volatile table[])(int) = { quiet, loud, lib_work };\n"
	"static void say(const char *what, void *address)\n"
	"{ printf(\"%s %p\\n\", what, address); fflush(stdout); }\n"
	"static void step(void) { if (getchar() == EOF) exit(0); }\n"
	"int main(int argc, char **argv)\n{\n"
	"	void *plugin;\n"
	"	say(\"quiet\", (void *)table[0]);\n"
	"	say(\"loud\", (void *)table[1]);\n"
	"	say(\"lib_work\", (void *)lib_work);\n"
	"	say(\"vdso\", (void *)getauxval(AT_SYSINFO_EHDR));\n"
	"	step();\n"
	"	if (argc > 1 && argv[1][0] == 'e')\n"
	"		execl(argv[0], argv[0], (char *)0);\n"
	"	if (argc > 1 && argv[1][0] == 'f') {\n"
	"		int pid = fork();\n"
	"		if (pid) say(\"child\", (void *)(long)pid);\n"
	"	}\n"
	"	if (argc > 1 && argv[1][0] == 'd') {\n"
	"		plugin = dlopen(\"./plugin.so\", RTLD_NOW);\n"
	"		say(\"plug\", dlsym(plugin, \"plug\"));\n"
	"		step();\n"
	"		dlclose(plugin);\n"
	"		say(\"closed\", (void *)0x10);\n"
	"	}\n"
	"	step();\n"
	"	return table[argc % 3](argc);\n"
	"}\n";

static struct symbol_cache *g_cache;

int main(void);

struct program {
	pid_t pid;
	FILE *out;
	int in; /* one byte per step */
};

static void setup(void)
{
	ck_assert_int_eq(symbol_cache_new(&g_cache), 0);
}

static void teardown(void)
{
	symbol_cache_put(&g_cache);
}

static void compile_all(void)
{
	scratch_compile("gcc -shared -fPIC", "c",
			"int lib_work(int x) { return x + 1; }\n",
			"libwork.so");
	scratch_compile("gcc -shared -fPIC", "c",
			"int plug(int x) { return x + 2; }\n", "plugin.so");
	scratch_compile("gcc -shared -fPIC", "c",
			"int lib_work(int x) { return x - 1; }\n"
			"int wrong(int x) { return x - 2; }\n",
			"libother.so");
	scratch_write("p.c", g_program, sizeof(g_program) - 1);
	scratch_run("gcc -pie -fPIE -o pie p.c -L. -lwork '-Wl,-rpath,%s'",
		    g_scratch);
	scratch_run("gcc -no-pie -fno-pie -o nopie p.c -L. -lwork"
		    " '-Wl,-rpath,%s'",
		    g_scratch);
	scratch_run("strip -o stripped pie");
	/* one() and two() are at 0x1000 of their files */
	scratch_compile("gcc -shared -fPIC -nostdlib -Wl,-Ttext=0x1000"
			" -Wl,--build-id=0x01010101",
			"c", "int one(int x) { return x; }\n", "one.so");
	scratch_compile("gcc -shared -fPIC -nostdlib -Wl,-Ttext=0x1000"
			" -Wl,--build-id=0x02020202",
			"c", "int two(int x) { return x; }\n", "two.so");
}

static void become_nobody(void)
{
	ck_assert_int_eq(setgroups(0, NULL), 0);
	ck_assert_int_eq(setresgid(65534, 65534, 65534), 0);
	ck_assert_int_eq(setresuid(65534, 65534, 65534), 0);
}

/* @root: NULL, or a folder for chroot() as user nobody. */
static struct program start_in(const char *root, const char *path,
			       const char *mode)
{
	struct program program;
	int in[2], out[2];

	ck_assert_int_eq(pipe2(in, O_CLOEXEC), 0);
	ck_assert_int_eq(pipe2(out, O_CLOEXEC), 0);
	program.pid = fork();
	if (!program.pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		dup2(in[0], STDIN_FILENO);
		dup2(out[1], STDOUT_FILENO);
		if (root) {
			ck_assert_int_eq(chroot(root), 0);
			become_nobody();
		}
		execl(path, path, mode, NULL);
		_exit(127);
	}
	close(in[0]);
	close(out[1]);
	program.in = in[1];
	program.out = fdopen(out[0], "r");
	return program;
}

static struct program start(const char *path, const char *mode)
{
	return start_in(NULL, path, mode);
}

static uint64_t heard(struct program *program, const char *what)
{
	char word[32];
	void *address;

	ck_assert_int_eq(fscanf(program->out, "%31s %p", word, &address), 2);
	ck_assert_str_eq(word, what);
	return (uint64_t)(uintptr_t)address;
}

static void skip_lines(struct program *program, int count)
{
	while (count--)
		ck_assert_int_eq(fscanf(program->out, "%*s %*s"), 0);
}

static void step(struct program *program)
{
	ck_assert_int_eq(write(program->in, "x", 1), 1);
}

static void stop(struct program *program)
{
	kill(program->pid, SIGKILL);
	ck_assert_int_eq(waitpid(program->pid, NULL, 0), program->pid);
	fclose(program->out);
	close(program->in);
}

static struct modules *modules_of(pid_t pid)
{
	struct modules *modules = NULL;

	ck_assert_int_eq(modules_new(pid, pid, NULL, g_cache, &modules), 0);
	return modules;
}

static void expect(struct modules *modules, uint64_t address, const char *name,
		   const char *file)
{
	char path[2 * PATH_MAX];
	struct symbol symbol;

	modules_resolve(modules, address, 0, &symbol);
	snprintf(path, sizeof(path), "%s/%s", g_scratch, file);
	ck_assert_str_eq(symbol.name, name);
	ck_assert_str_eq(symbol.module, path);
	ck_assert_uint_eq(strlen(symbol.build_id), 40);
	ck_assert(symbol.found == !strchr(name, '+'));
}

static void expect_text(struct modules *modules, uint64_t address,
			const char *name)
{
	struct symbol symbol;

	modules_resolve(modules, address, 0, &symbol);
	ck_assert_str_eq(symbol.name, name);
}

/* --- the map -------------------------------------------------------------- */

FIXTURE(setup, teardown);

TEST(maps_parse_takes_a_line_apart)
{
	char text[] = "7f00-8000 r-xp 00001000 fe:0a 4711     /a b\\012c\n";
	char bare[] = "ffffffffff600000-ffffffffff601000 --xp 0 00:00 0\n";
	struct maps_line line;

	ck_assert(maps_parse(text, &line));
	ck_assert_uint_eq(line.start, 0x7f00);
	ck_assert_uint_eq(line.end, 0x8000);
	ck_assert_uint_eq(line.offset, 0x1000);
	ck_assert_uint_eq(line.device, makedev(0xfe, 10));
	ck_assert_uint_eq(line.inode, 4711);
	ck_assert(line.is_executable);
	ck_assert(!line.is_writable);
	ck_assert_str_eq(line.path, "/a b\nc");
	ck_assert(maps_parse(bare, &line));
	ck_assert_str_eq(line.path, "");
}

TEST(maps_parse_nonsense_is_refused)
{
	static const char *const bad[] = {
		"",
		"\n",
		"1-",
		"1-2",
		"2-1 r-xp 0 0:0 0 ",
		"1-2 r-x",
		"1-2 r-xp",
		"1-2 r-xp 0",
		"1-2 r-xp 0 0:0",
		"x-2 r-xp 0 0:0 1 ",
		"1-fffffffffffffffff r-xp 0 0:0 0 ",
		"1-2 r-xp 0 0:0 1x /a",
	};

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		char *line = strdup(bad[i]);
		struct maps_line out;

		ck_assert_msg(!maps_parse(line, &out), "%s", bad[i]);
		free(line);
	}
}

/* --- programs ------------------------------------------------------------- */

TEST(modules_pie_names_its_functions)
{
	struct program program = start("./pie", NULL);
	uint64_t quiet = heard(&program, "quiet");
	uint64_t loud = heard(&program, "loud");
	uint64_t work = heard(&program, "lib_work");
	struct modules *modules = modules_of(program.pid);

	expect(modules, quiet, "quiet", "pie");
	expect(modules, loud, "loud", "pie");
	expect(modules, work, "lib_work", "libwork.so");
	stop(&program);
	modules_put(&modules);
}

/* The program took the address of lib_work's PLT entry. */
TEST(modules_non_pie_names_its_plt_entries)
{
	struct program program = start("./nopie", NULL);
	uint64_t quiet = heard(&program, "quiet");
	uint64_t loud = heard(&program, "loud");
	uint64_t work = heard(&program, "lib_work");
	struct modules *modules = modules_of(program.pid);

	ck_assert_uint_lt(work, 0x10000000);
	expect(modules, quiet, "quiet", "nopie");
	expect(modules, loud, "loud", "nopie");
	expect(modules, work, "lib_work", "nopie");
	stop(&program);
	modules_put(&modules);
}

TEST(modules_stripped_program_gives_offsets)
{
	struct program whole = start("./pie", NULL);
	struct program program = start("./stripped", NULL);
	/* A printed line implies mapped modules. */
	uint64_t quiet = heard(&program, "quiet");
	uint64_t quiet_there = heard(&whole, "quiet");
	struct modules *modules = modules_of(program.pid);
	struct modules *other = modules_of(whole.pid);
	struct symbol symbol, real;
	char name[64];

	modules_resolve(other, quiet_there, 0, &real);
	ck_assert_str_eq(real.name, "quiet");
	modules_resolve(modules, quiet, 0, &symbol);
	snprintf(name, sizeof(name), "stripped+0x%llx",
		 (unsigned long long)real.offset);
	ck_assert_str_eq(symbol.name, name);
	ck_assert_uint_eq(symbol.offset, real.offset);
	ck_assert(!symbol.found);
	stop(&program);
	stop(&whole);
	modules_put(&modules);
	modules_put(&other);
}

TEST(modules_unknown_address_is_a_number)
{
	struct modules *modules = modules_of(getpid());
	struct symbol symbol;

	modules_resolve(modules, 0x1234, 0, &symbol);
	ck_assert_str_eq(symbol.name, "0x1234");
	ck_assert_str_eq(symbol.module, "[unknown]");
	ck_assert_str_eq(symbol.build_id, "");
	ck_assert(!symbol.found);
	modules_put(&modules);
}

TEST(modules_vdso_has_a_name)
{
	struct program program = start("./pie", NULL);
	struct modules *modules;
	struct symbol symbol;

	heard(&program, "quiet");
	heard(&program, "loud");
	heard(&program, "lib_work");
	modules = modules_of(program.pid);
	modules_resolve(modules, heard(&program, "vdso") + 0x20, 0, &symbol);
	ck_assert_str_eq(symbol.name, "[vdso]+0x20");
	ck_assert_str_eq(symbol.module, "[vdso]");
	stop(&program);
	modules_put(&modules);
}

TEST(modules_dlopened_library_is_found_and_remembered)
{
	struct program program = start("./pie", "d");
	struct modules *modules;
	uint64_t plug;

	skip_lines(&program, 4);
	modules = modules_of(program.pid);
	step(&program);
	plug = heard(&program, "plug");
	expect(modules, plug, "plug", "plugin.so");
	step(&program);
	heard(&program, "closed");
	ck_assert_int_eq(modules_refresh(modules), 0);
	expect(modules, plug, "plug", "plugin.so");
	stop(&program);
	ck_assert_int_eq(modules_refresh(modules), -ESRCH);
	expect(modules, plug, "plug", "plugin.so");
	modules_put(&modules);
}

TEST(modules_dead_process_and_deleted_files_keep_names)
{
	struct program program;
	struct modules *modules;
	uint64_t quiet;

	scratch_run("cp pie brief");
	program = start("./brief", NULL);
	quiet = heard(&program, "quiet");
	modules = modules_of(program.pid);
	stop(&program);
	ck_assert_int_eq(unlink("brief"), 0);
	expect(modules, quiet, "quiet", "brief");
	modules_put(&modules);
}

TEST(modules_fork_has_its_parents_map)
{
	struct program program = start("./pie", "f");
	uint64_t quiet = heard(&program, "quiet");
	struct modules *parent = modules_of(program.pid), *child = NULL;
	struct symbol symbol;
	pid_t pid;

	skip_lines(&program, 3);
	step(&program);
	pid = (pid_t)heard(&program, "child");
	modules_read_tables(parent);
	ck_assert_int_eq(modules_fork(parent, pid, pid, 0, &child), 0);
	modules_put(&parent);
	/* Drain workers call this; it reads no file. */
	ck_assert(modules_resolve_read(child, quiet, 0, &symbol));
	ck_assert_str_eq(symbol.name, "quiet");
	ck_assert(!modules_resolve_read(child, 1, 0, &symbol));
	expect(child, quiet, "quiet", "pie");
	ck_assert_int_eq(modules_refresh(child), 0);
	expect(child, quiet, "quiet", "pie");
	kill(pid, SIGKILL);
	stop(&program);
	expect(child, quiet, "quiet", "pie");
	modules_put(&child);
	/* the child has ended already */
	parent = modules_of(getpid());
	ck_assert_int_eq(modules_fork(parent, INT_MAX, 2, 0, &child), 0);
	ck_assert_int_eq(modules_refresh(child), -ENOENT);
	expect_text(child, (uintptr_t)main, "main");
	modules_put(&child);
	modules_put(&parent);
}

TEST(modules_after_exec_the_old_names_stay)
{
	struct program program = start("./pie", "e");
	uint64_t quiet = heard(&program, "quiet");
	struct modules *modules = modules_of(program.pid);

	skip_lines(&program, 3);
	step(&program);
	heard(&program, "quiet"); /* of the new image */
	/* setarch -R disables randomisation, so both images look alike */
	if (!(personality(0xffffffff) & ADDR_NO_RANDOMIZE))
		ck_assert_int_eq(modules_refresh(modules), -ESRCH);
	expect(modules, quiet, "quiet", "pie");
	stop(&program);
	modules_put(&modules);
}

TEST(modules_of_no_process_fail)
{
	struct modules *modules = NULL;

	ck_assert_int_eq(modules_new(INT_MAX, 1, NULL, g_cache, &modules),
			 -ENOENT);
	ck_assert_ptr_null(modules);
}

/* --- which file ----------------------------------------------------------- */

/* As in a package update. @exact: the test may read map_files. */
static void check_replaced(bool exact)
{
	struct program program = start("live/pie", NULL);
	uint64_t quiet = heard(&program, "quiet"), work;
	struct modules *modules;
	struct symbol symbol;

	heard(&program, "loud");
	work = heard(&program, "lib_work");
	ck_assert_int_eq(rename("live/new", "live/pie"), 0);
	ck_assert_int_eq(rename("live/libother.so", "live/libwork.so"), 0);
	modules = modules_of(program.pid);
	expect(modules, quiet, "quiet", "live/pie");
	modules_resolve(modules, work, 0, &symbol);
	if (exact) {
		ck_assert_str_eq(symbol.name, "lib_work");
	} else { /* no name is better than one of the new file */
		ck_assert(!symbol.found);
		ck_assert_int_eq(strncmp(symbol.name, "libwork.so+0x", 13), 0);
	}
	stop(&program);
	modules_put(&modules);
}

static void make_live(void)
{
	scratch_run("rm -rf live && mkdir -m 777 live && cp libwork.so "
		    "libother.so live && cp nopie live/new && gcc -o live/pie "
		    "p.c -Llive -lwork '-Wl,-rpath,%s/live'",
		    g_scratch);
}

TEST(modules_replaced_files_keep_their_names)
{
	make_live();
	check_replaced(!geteuid());
}

TEST(modules_replaced_files_without_privileges)
{
	if (geteuid())
		return; /* the privileged case ran like this one */
	make_live();
	become_nobody();
	check_replaced(false);
}

static void map_file(uint64_t at, const char *path, size_t bytes)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	void *place = (void *)(uintptr_t)at;

	ck_assert_ptr_eq(mmap(place, bytes, PROT_READ | PROT_EXEC,
			      MAP_PRIVATE | MAP_FIXED, fd, 0),
			 place);
	close(fd);
}

/* The file is outside of the program's root, and not its executable. */
TEST(modules_file_outside_of_the_root_is_found)
{
	const uint64_t at = 0x10000000;
	struct modules *modules;
	int ready[2];
	pid_t pid;
	char byte;

	if (geteuid())
		return;
	ck_assert_int_eq(pipe2(ready, O_CLOEXEC), 0);
	ck_assert_int_eq(mkdir("empty", 0755), 0);
	pid = fork();
	if (!pid) {
		map_file(at, "libwork.so", 4096);
		ck_assert_int_eq(chroot("empty"), 0);
		become_nobody();
		prctl(PR_SET_DUMPABLE, 1);
		ck_assert_int_eq(write(ready[1], "x", 1), 1);
		pause();
	}
	ck_assert_int_eq(read(ready[0], &byte, 1), 1);
	become_nobody();
	modules = modules_of(pid);
	expect(modules, at, "libwork.so+0x0", "libwork.so");
	kill(pid, SIGKILL);
	modules_put(&modules);
}

/* The map has the chroot's paths as seen from outside. */
TEST(modules_other_root_is_looked_into)
{
	struct program program;
	struct modules *modules;
	uint64_t quiet;

	if (geteuid())
		return;
	scratch_run("mkdir -p root && gcc -static -o root/pie p.c libwork.so.c "
		    "2>&1 | grep -v warning >/dev/null");
	program = start_in("root", "/pie", NULL);
	become_nobody();
	quiet = heard(&program, "quiet");
	modules = modules_of(program.pid);
	expect(modules, quiet, "quiet", "root/pie");
	stop(&program);
	modules_put(&modules);
}

/* --- variables ------------------------------------------------------------ */

/* Says where things are: one that is no variable, and so on. */
static const char g_variables[] =
	"#include <stdio.h>\n#include <stdlib.h>\n"
	"extern int shared[4];\n"
	"int queue[4] = { 1 };\nstatic int hidden[4];\n"
	"struct { long one, lock[4]; } server;\n"
	"extern int also_queue[4] __attribute__((weak, alias(\"queue\")));\n"
	"__thread int mine[4];\nconst int constant[4] = { 7 };\n"
	"__asm__(\".data\\nbare: .quad 1\\n.type bare,@object\\n.text\");\n"
	"extern long bare __attribute__((visibility(\"hidden\")));\n"
	"static void say(const char *what, const void *address)\n"
	"{ printf(\"%s %p\\n\", what, address); fflush(stdout); }\n"
	"int main(void)\n{\n"
	"	int local;\n"
	"	say(\"queue\", queue);\n	say(\"hidden\", hidden);\n"
	"	say(\"server+0x8\", server.lock);\n"
	"	say(\"shared\", shared);\n"
	"	say(\"\", constant);\n	say(\"\", &bare);\n"
	"	say(\"none\", mine);\n	say(\"none\", &local);\n"
	"	say(\"none\", malloc(64));\n"
	"	return getchar();\n"
	"}\n";

static void expect_object(struct modules *modules, uint64_t address,
			  const char *name, const char *file)
{
	struct symbol symbol = { .name = "unset" };
	char path[2 * PATH_MAX];

	snprintf(path, sizeof(path), "%s/%s", g_scratch, file);
	ck_assert(modules_object(modules, address, 0, &symbol));
	ck_assert_str_eq(symbol.name, name);
	ck_assert_str_eq(symbol.module, path);
	ck_assert_int_eq(symbol.found, name[0] != 0);
}

/* In the second program the library's variable is a copy in its own .bss. The
 * third has no symbols, except the exported one. */
TEST(modules_variables_have_their_symbols, EACH(0, 3))
{
	static const char *const names[] = { "queue",  "hidden", "server+0x8",
					     "shared", "",	 "" };
	static const char *const compilers[] = { "gcc -pie -fPIC",
						 "gcc -no-pie -fno-pie",
						 "gcc -s -pie -fPIC" };
	struct program program;
	struct modules *modules;
	uint64_t address[9];

	scratch_compile("gcc -shared -fPIC", "c", "int shared[4] = { 2 };\n",
			"libshared.so");
	scratch_write("v.c", g_variables, sizeof(g_variables) - 1);
	scratch_run("%s -o variables v.c -L. -lshared '-Wl,-rpath,%s'",
		    compilers[_i], g_scratch);
	program = start("./variables", NULL);
	for (size_t i = 0; i < ARRAY_SIZE(address); i++) {
		char line[64];
		void *value;

		ck_assert_ptr_nonnull(fgets(line, sizeof(line), program.out));
		ck_assert_int_eq(sscanf(strrchr(line, ' '), "%p", &value), 1);
		address[i] = (uint64_t)(uintptr_t)value;
	}
	modules = modules_of(program.pid);
	stop(&program);
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		bool is_shared = !strcmp(names[i], "shared");

		expect_object(modules, address[i],
			      _i == 2 && !is_shared ? "" : names[i],
			      is_shared && _i != 1 ? "libshared.so"
						   : "variables");
	}
	for (size_t i = ARRAY_SIZE(names); i < ARRAY_SIZE(address); i++) {
		struct symbol symbol;

		ck_assert(!modules_object(modules, address[i], 0, &symbol));
	}
	modules_put(&modules);
}

/* --- history -------------------------------------------------------------- */

#define SELF 7 /* in the log */
#define CHILD 8
#define AT 0x10000000u /* unused addresses of this process */
#define FAR (AT + 0x100000u)

static struct page_shm *g_page;
static struct map_log *g_log;

static struct modules *told_modules(void)
{
	struct modules *modules = NULL;

	g_page = told_new();
	ck_assert_int_eq(map_log_new(g_page, &g_log), 0);
	ck_assert_int_eq(modules_new(getpid(), SELF, g_log, g_cache, &modules),
			 0);
	return modules;
}

static void told_release(struct modules **modules)
{
	modules_put(modules);
	map_log_put(&g_log);
	told_free(g_page);
}

static void load_as(int32_t pid, uint32_t generation, uint64_t at,
		    const char *name, const char *path)
{
	uint8_t id = !strcmp(name, "one") ? 1 : 2;

	ck_assert(told(g_page,
		       (struct map_entry_shm){ .kind = MAP_LOAD,
					       .pid = pid,
					       .generation = generation,
					       .build_id_bytes = 4,
					       .build_id = { id, id, id, id },
					       .start = at,
					       .end = at + 0x4000,
					       .bias = at },
		       path));
}

static void load(int32_t pid, uint32_t generation, uint64_t at,
		 const char *name)
{
	char path[2 * PATH_MAX];

	snprintf(path, sizeof(path), "%s/%s.so", g_scratch, name);
	load_as(pid, generation, at, name, path);
}

static void unload(int32_t pid, uint32_t generation, uint64_t at)
{
	ck_assert(told(g_page,
		       (struct map_entry_shm){ .kind = MAP_UNLOAD,
					       .pid = pid,
					       .generation = generation,
					       .start = at,
					       .end = at + 0x4000 },
		       ""));
}

/* @name "": no function. */
static void expect_in(struct modules *modules, uint64_t at, uint32_t generation,
		      const char *name)
{
	struct symbol symbol;
	char number[32];

	modules_resolve(modules, at + 0x1000, generation, &symbol);
	snprintf(number, sizeof(number), "0x%llx",
		 (unsigned long long)at + 0x1000);
	ck_assert_str_eq(symbol.name, name[0] ? name : number);
	ck_assert_int_eq(symbol.found, name[0] != 0);
	if (name[0])
		ck_assert_uint_eq(symbol.offset, 0x1000);
}

TEST(modules_same_address_means_what_it_meant_then)
{
	struct modules *modules = told_modules();

	for (uint32_t i = 0; i < 200; i += 2) {
		load(SELF, i, AT, "one");
		unload(SELF, i + 1, AT);
		load(SELF, i + 1, AT, "two");
		unload(SELF, i + 2, AT);
	}
	for (uint32_t i = 0; i < 200; i++)
		expect_in(modules, AT, i, i % 2 ? "two" : "one");
	expect_in(modules, AT, 200, "");
	told_release(&modules);
}

/* The third page of each file has its variable. */
TEST(modules_variable_of_an_unloaded_file_keeps_its_name)
{
	struct modules *modules;
	struct symbol symbol;
	char path[2 * PATH_MAX];

	for (int i = 0; i < 2; i++) {
		static const char *const names[] = { "first", "second" };
		char source[64];

		snprintf(source, sizeof(source), "int %s[4] = { 1 };\n",
			 names[i]);
		scratch_write("data.c", source, strlen(source));
		scratch_run("gcc -shared -fPIC -nostdlib -Wl,-Tdata=0x3000 "
			    "-Wl,--build-id=0x0%d0%d0%d0%d -o %s.so data.c",
			    i + 1, i + 1, i + 1, i + 1, names[i]);
	}
	modules = told_modules();
	snprintf(path, sizeof(path), "%s/first.so", g_scratch);
	load_as(SELF, 0, AT, "one", path);
	unload(SELF, 1, AT);
	snprintf(path, sizeof(path), "%s/second.so", g_scratch);
	load_as(SELF, 1, AT, "two", path);
	unload(SELF, 2, AT);
	ck_assert(modules_object(modules, AT + 0x3000, 0, &symbol));
	ck_assert_str_eq(symbol.name, "first");
	ck_assert_uint_eq(symbol.offset, 0x3000);
	ck_assert(modules_object(modules, AT + 0x300c, 1, &symbol));
	ck_assert_str_eq(symbol.name, "second+0xc");
	ck_assert(!modules_object(modules, AT + 0x3000, 2, &symbol));
	told_release(&modules);
}

TEST(modules_load_holds_since_the_unload_before)
{
	struct modules *modules = told_modules();

	load(SELF, 0, AT, "one");
	unload(SELF, 1, AT);
	load(SELF, 1, FAR, "one");
	unload(SELF, 2, FAR);
	expect_in(modules, AT, 1, "");
	load(SELF, 2, AT, "two");
	expect_in(modules, AT, 0, "one");
	expect_in(modules, AT, 1, "two");
	expect_in(modules, AT, 2, "two");
	told_release(&modules);
}

TEST(modules_lost_entries_leave_no_name_behind)
{
	struct modules *modules = told_modules();

	load(SELF, 0, AT, "one");
	expect_in(modules, AT, 0, "one");
	unload(SELF, 3, FAR);
	expect_in(modules, AT, 0, "one");
	for (uint32_t i = 1; i < 4; i++)
		expect_in(modules, AT, i, "");
	load(SELF, 3, AT, "two");
	expect_in(modules, AT, 2, "");
	expect_in(modules, AT, 3, "two");
	expect_in(modules, AT, 9, ""); /* no entry has this generation */
	expect_in(modules, AT, 3, "two");
	told_release(&modules);
}

/* A waiter may know a new generation before its entry was read. */
TEST(modules_name_that_is_asked_for_early_ends_nothing)
{
	struct modules *modules = told_modules();
	struct symbol symbol;

	load(SELF, 0, AT, "one");
	expect_in(modules, AT, 0, "one");
	unload(SELF, 1, FAR);
	(void)modules_resolve_read(modules, AT + 0x1000, 1, &symbol);
	expect_in(modules, AT, 1, "one");
	told_release(&modules);
}

TEST(modules_child_has_what_its_parent_had_when_it_forked)
{
	struct modules *modules = told_modules(), *early, *late;

	load(SELF, 0, AT, "one");
	unload(SELF, 1, AT);
	load(SELF, 1, AT, "two");
	ck_assert_int_eq(modules_fork(modules, INT_MAX, 9, 0, &early), 0);
	/* Unloaded before the child claimed a slot, so mapped at the fork. */
	unload(CHILD, 1, AT);
	load(CHILD, 1, AT, "two");
	load(CHILD, 1, FAR, "two");
	ck_assert_int_eq(modules_fork(modules, INT_MAX, CHILD, 1, &late), 0);
	load(SELF, 1, FAR, "one");
	expect_in(early, AT, 0, "one");
	expect_in(late, AT, 0, "one");
	expect_in(late, AT, 1, "two");
	expect_in(late, FAR, 1, "two");
	expect_in(modules, FAR, 1, "one");
	unload(CHILD, 2, FAR);
	expect_in(late, FAR, 2, "");
	expect_in(modules, FAR, 1, "one");
	modules_put(&early);
	modules_put(&late);
	told_release(&modules);
}

TEST(modules_replaced_library_has_no_names)
{
	struct modules *modules = told_modules();
	struct symbol symbol;

	scratch_run("cp two.so replaced.so");
	load(SELF, 0, AT, "replaced");
	load_as(SELF, 0, FAR, "one", "/no/such/file.so");
	expect_in(modules, AT, 0, "two"); /* the same file */
	scratch_run("cp one.so replaced.so");
	unload(SELF, 1, AT);
	load(SELF, 1, AT + 0x8000, "replaced");
	modules_resolve(modules, AT + 0x9000, 1, &symbol);
	ck_assert_str_eq(symbol.name, "replaced.so+0x1000");
	ck_assert(!symbol.found);
	ck_assert_str_eq(symbol.build_id, "02020202");
	modules_resolve(modules, FAR + 0x1000, 1, &symbol);
	ck_assert_str_eq(symbol.name, "file.so+0x1000");
	told_release(&modules);
}

TEST(modules_without_permission_go_by_the_log)
{
	struct program program;
	struct modules *modules = NULL;
	uint64_t quiet;

	if (geteuid())
		return;
	program = start("./pie", NULL);
	quiet = heard(&program, "quiet");
	become_nobody();
	g_page = told_new();
	ck_assert_int_eq(map_log_new(g_page, &g_log), 0);
	ck_assert_int_eq(
		modules_new(program.pid, SELF, g_log, g_cache, &modules), 0);
	expect_in(modules, quiet - 0x1000, 0, "");
	load(SELF, 0, AT, "one");
	expect_in(modules, AT, 0, "one");
	told_release(&modules);
	/* the program exits on EOF */
	close(program.in);
	ck_assert_int_eq(waitpid(program.pid, NULL, 0), program.pid);
	fclose(program.out);
}

static uint64_t reserve_place(void)
{
	void *place = mmap(NULL, 0x10000, PROT_NONE,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	ck_assert_ptr_ne(place, MAP_FAILED);
	return (uintptr_t)place;
}

/* Privileged collectors read the mapped file itself. */
TEST(modules_library_without_a_path_is_found_by_the_map)
{
	struct modules *modules = told_modules();
	uint64_t at = reserve_place();

	map_file(at, "one.so", 0x2000);
	load_as(SELF, 0, at, "one", "");
	expect_in(modules, at, 0, "one");
	told_release(&modules);
}

TEST(modules_map_tells_what_came_after_the_last_unload)
{
	struct modules *modules = told_modules();
	uint64_t at = reserve_place();

	unload(SELF, 1, at);
	unload(SELF, 2, at);
	map_file(at, "one.so", 0x2000);
	expect_in(modules, at, 2, "one");
	expect_in(modules, at, 1, "");
	told_release(&modules);
}

TEST(modules_map_is_not_believed_before_the_unload_is_told)
{
	struct modules *modules = told_modules();
	uint64_t at = reserve_place();

	load(SELF, 0, at, "one");
	map_file(at, "two.so", 0x2000);
	map_file(at + 0x8000, "two.so", 0x2000);
	expect_in(modules, at + 0x8000, 0, "two"); /* reads the map */
	expect_in(modules, at, 0, "one");
	unload(SELF, 1, at);
	expect_in(modules, at, 0, "one");
	expect_in(modules, at, 1, "two");
	told_release(&modules);
}

/* --- all functions -------------------------------------------------------- */

struct found {
	const char *name;
	uint64_t address;
	const char *module;
};

static int find_function(void *context, uint64_t address, const char *name,
			 const char *module)
{
	struct found *found = context;

	if (strcmp(name, found->name))
		return 0;
	found->address = address;
	found->module = module;
	return 7;
}

TEST(modules_each_function_gives_entry_addresses)
{
	struct program program = start("./pie", NULL);
	uint64_t quiet = heard(&program, "quiet");
	struct modules *modules = modules_of(program.pid);
	struct found found = { .name = "quiet" };

	ck_assert_int_eq(modules_each_function(modules, find_function, &found),
			 7);
	ck_assert_uint_eq(found.address, quiet);
	ck_assert_str_eq(strrchr(found.module, '/'), "/pie");
	found.name = "no such function";
	ck_assert_int_eq(modules_each_function(modules, find_function, &found),
			 0);
	stop(&program);
	modules_put(&modules);
}

TEST(modules_instrumented_looks_at_every_file)
{
	struct program program = start("./pie", NULL);
	struct modules *modules;

	heard(&program, "quiet");
	modules = modules_of(program.pid);
	ck_assert(!modules_instrumented(modules));
	stop(&program);
	modules_put(&modules);
	scratch_run("mkdir -p hooked && gcc -shared -fPIC "
		    "-finstrument-functions -o hooked/libwork.so libwork.so.c");
	setenv("LD_LIBRARY_PATH", "hooked", 1);
	scratch_run("gcc -o plainmain p.c -L. -lwork");
	program = start("./plainmain", NULL);
	heard(&program, "quiet");
	modules = modules_of(program.pid);
	ck_assert(modules_instrumented(modules));
	stop(&program);
	modules_put(&modules);
}

static void have_a_long_map(void)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE),
	       count = 2 * MAPS_LINES_SOON;
	char *memory = mmap(NULL, count * page, PROT_NONE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	ck_assert_ptr_ne(memory, MAP_FAILED);
	for (size_t i = 0; i < count; i += 2)
		ck_assert_int_eq(mprotect(memory + i * page, page, PROT_READ),
				 0);
}

/* The end of the daemon must not wait for a hostile program's map. */
TEST(modules_long_map_is_left_when_the_time_is_over)
{
	struct modules *modules;

	have_a_long_map();
	modules = modules_of(getpid());
	helper_hurry(1);
	ck_assert_int_eq(modules_refresh(modules), -ECANCELED);
	helper_hurry(0);
	ck_assert_int_eq(modules_refresh(modules), 0);
	modules_put(&modules);
}

/* Reading the map at the hello would delay all other programs. */
TEST(modules_long_map_is_read_later)
{
	struct modules *modules = modules_of(getpid());

	ck_assert(!modules_are_behind(modules));
	modules_put(&modules);
	have_a_long_map();
	modules = modules_of(getpid());
	ck_assert(modules_are_behind(modules));
	ck_assert_int_eq(modules_refresh(modules), 0);
	ck_assert(!modules_are_behind(modules));
	modules_put(&modules);
}

static void begin_suite(void)
{
	log_init("test_modules", LOG_ERR);
	scratch_enter();
	compile_all();
}

SUITE(begin_suite, scratch_leave);
