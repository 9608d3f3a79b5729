/* SPDX-License-Identifier: Apache-2.0
 *
 * Programs with all forms of hooks run three threads while their text changes.
 * Their results must stay the same (victims/patch_victim.c).
 */
#include "collector/code/patch.h"

#include <elf.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/sysmacros.h>

#include "collector/base/bytes.h"
#include "collector/base/clock.h"
#include "collector/code/changes.h"
#include "collector/code/code_plan.h"
#include "collector/code/forms.h"
#include "collector/code/text_keeper.h"
#include "collector/code/text_map.h"
#include "collector/code/thunks.h"
#include "shared/atomic.h"
#include "shared/ring_shm.h"
#include "tests/suite.h"
#include "tests/unit/scratch.h"
#include "tests/unit/victims/patch_control.h"

#if defined(__x86_64__)

/* A kind is skipped without its compiler or option. */
static const struct kind {
	const char *name, *command;
	bool entry_build;
	uint32_t forms; /* required among its sites */
} g_kinds[] = {
	{ "O2", "gcc -O2 -DMERGED -finstrument-functions", false,
	  1u << CODE_CALL | 1u << CODE_JUMP },
	{ "O0", "gcc -O0 -finstrument-functions", false, 1u << CODE_CALL },
	{ "got", "gcc -O2 -fno-plt -finstrument-functions", false,
	  1u << CODE_CALL_GOT | 1u << CODE_JUMP_GOT },
	{ "fixed", "gcc -O2 -no-pie -fno-pie -finstrument-functions", false,
	  1u << CODE_CALL },
	{ "clang", "clang -O2 -finstrument-functions", false, 1u << CODE_CALL },
	{ "inlined", "clang -O2 -finstrument-functions-after-inlining", false,
	  1u << CODE_CALL },
	{ "entry", "gcc -O2 -specs=" ENTRY_SPECS, true,
	  1u << CODE_ENTRY_CALL_67 | 1u << CODE_EXIT_NOP |
		  1u << CODE_EXIT_RETURN },
	{ "xray",
	  "clang -O2 -Xclang -fxray-instrument -Xclang "
	  "-fxray-instruction-threshold=1 xray_note.s",
	  true,
	  1u << CODE_XRAY_ENTRY | 1u << CODE_XRAY_EXIT | 1u << CODE_XRAY_TAIL },
};

#define KINDS ((int)ARRAY_SIZE(g_kinds))

static char g_victim[64];
static struct control *g_control;
static int g_control_fd, g_thunks_fd;
static struct thunk_area *g_area;
static struct code_plan *g_plan;
static uint64_t g_bias;
static ino_t g_inode;
static pid_t g_pid;
static struct patch_image *g_image;
static int g_module;

/* --- the victim ---------------------------------------------------------- */

static const char xray_note[] = ".section .note.perfrec,\"a\",@note\n"
				".balign 4\n"
				".long 8, 4, 1\n"
				".asciz \"perfrec\"\n"
				".long 2\n"
				".section .note.GNU-stack,\"\",@progbits\n";

static void compile_all(void)
{
	static const char flags[] =
		"-D_GNU_SOURCE -iquote " SOURCES " -pthread";

	scratch_enter();
	scratch_run("cc -O1 -fPIC -fvisibility=hidden -shared %s "
		    "-o libhooks.so " SOURCES
		    "/tests/unit/victims/patch_hooks.c",
		    flags);
	scratch_write("xray_note.s", xray_note, strlen(xray_note));
	for (int i = 0; i < KINDS; i++)
		scratch_run("%s %s -o %s " SOURCES
			    "/tests/unit/victims/patch_victim.c ./libhooks.so "
			    "-Wl,-rpath,%s 2>%s.err || true",
			    g_kinds[i].command, flags, g_kinds[i].name,
			    g_scratch, g_kinds[i].name);
}

/* The file's load address; 0: not mapped yet. */
static uint64_t base_of(const char *path)
{
	char name[64], line[512];
	uint64_t start = 0;
	FILE *maps;

	snprintf(name, sizeof(name), "/proc/%d/maps", (int)g_pid);
	maps = fopen(name, "re");
	while (maps && !start && fgets(line, sizeof(line), maps))
		if (strstr(line, path))
			start = strtoull(line, NULL, 16);
	if (maps)
		fclose(maps);
	return start;
}

static void wait_until(bool (*is_so)(void))
{
	/* The test runner enforces the time limit. */
	while (!is_so())
		usleep(1000);
}

static bool is_ready(void)
{
	int status;

	ck_assert_int_eq(waitpid(g_pid, &status, WNOHANG), 0);
	/* relaxed: looked at again */
	return atom_load_rlx(&g_control->ready) == VICTIM_THREADS;
}

static uint64_t g_worked; /* in rounds */

static bool has_worked(void)
{
	/* relaxed: looked at again */
	return atom_load_rlx(&g_control->rounds) >= g_worked + 100;
}

/* Lets all functions of the victim run. */
static void let_work(void)
{
	/* relaxed: looked at again */
	g_worked = atom_load_rlx(&g_control->rounds);
	wait_until(has_worked);
}

static void start_program(uint64_t limit)
{
	memset(g_control, 0, sizeof(*g_control));
	g_control->limit = limit;
	g_pid = fork();
	ck_assert_int_ge(g_pid, 0);
	if (!g_pid) {
		if (dup2(g_control_fd, CONTROL_FD) < 0 ||
		    dup2(g_thunks_fd, THUNKS_FD) < 0)
			_exit(3);
		execl(g_victim, g_victim, (char *)NULL);
		_exit(4);
	}
	wait_until(is_ready);
}

static int shared_memory(size_t bytes)
{
	int fd = memfd_create("test", MFD_ALLOW_SEALING);

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(ftruncate(fd, (off_t)bytes), 0);
	ck_assert_int_eq(fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW),
			 0);
	return fd;
}

static bool is_compiled(const struct kind *kind)
{
	return access(kind->name, X_OK) == 0;
}

static void start(const struct kind *kind, uint64_t limit)
{
	const char *why;
	struct stat status;
	Elf64_Ehdr header;
	uint32_t forms = 0;
	int fd;

	snprintf(g_victim, sizeof(g_victim), "./%s", kind->name);
	g_control_fd = shared_memory(sizeof(*g_control));
	g_thunks_fd = shared_memory(thunk_area_bytes(FUNCTIONS_USUAL));
	g_control = mmap(NULL, sizeof(*g_control), PROT_READ | PROT_WRITE,
			 MAP_SHARED, g_control_fd, 0);
	ck_assert_ptr_ne(g_control, MAP_FAILED);
	fd = open(kind->name, O_RDONLY | O_CLOEXEC);
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(fstat(fd, &status), 0);
	g_inode = status.st_ino;
	ck_assert_int_eq(pread(fd, &header, sizeof(header), 0), sizeof(header));
	ck_assert_msg(!code_plan_new(fd, NULL, &g_plan, &why), "%s", why);
	close(fd);
	for (size_t i = 0; i < g_plan->site_count; i++)
		forms |= 1u << g_plan->sites[i].form;
	ck_assert_uint_eq(forms & kind->forms, kind->forms);
	start_program(limit);
	g_bias = header.e_type == ET_EXEC ? 0 : base_of(g_victim + 1);
	ck_assert_int_eq(thunk_area_map(g_thunks_fd, FUNCTIONS_USUAL,
					&g_control->shim, &g_area),
			 0);
	g_image = patch_image_new(g_area, g_pid,
				  patch_mem_open(g_pid, getuid()), true);
	ck_assert_ptr_nonnull(g_image);
	g_module = patch_module_add(g_image, g_plan, g_bias, g_inode);
	ck_assert_int_ge(g_module, 0);
}

static void go(void)
{
	/* relaxed: looked at again */
	atom_store_rlx(&g_control->go, 1);
}

static void stop(void)
{
	int status;

	/* relaxed: looked at again */
	atom_store_rlx(&g_control->stop, 1);
	ck_assert_int_eq(waitpid(g_pid, &status, 0), g_pid);
	ck_assert_int_eq(status, 0);
	ck_assert_uint_eq(g_control->wrong, 0);
	patch_image_free(g_image);
	code_plan_free(&g_plan);
	thunk_area_unmap(g_area);
}

/* --- inspection ---------------------------------------------------------- */

static bool is_plain(pid_t pid)
{
	int mem = patch_mem_open(pid, getuid());
	bool same = true;

	ck_assert_int_ge(mem, 0);
	for (size_t i = 0; i < g_plan->site_count; i++) {
		const struct code_site *site = &g_plan->sites[i];
		uint8_t bytes[CODE_SITE_BYTES];

		ck_assert_int_eq(memory_read(mem, g_bias + site->address, bytes,
					     site->length),
				 0);
		same &= !memcmp(bytes, site->bytes, site->length);
	}
	close(mem);
	return same;
}

static struct patch_function g_list[VICTIM_NUMBERS];
static size_t g_listed;
static uint32_t g_numbers[VICTIM_NUMBERS];

/* Returns the number of connected functions. */
static const uint32_t g_page_flags; /* of a program that waits */
static const struct patch_hold g_hold = { &g_page_flags, PAGE_UNHELD, 0 };

static size_t connect_all(bool held, enum patch_sites on)
{
	size_t count;

	g_listed = g_plan->function_count;
	ck_assert_uint_lt(g_listed, VICTIM_NUMBERS);
	for (uint32_t i = 0; i < g_listed; i++) {
		g_numbers[i] = i + 1;
		g_list[i] = (struct patch_function){
			.module = g_module,
			.function = i,
			.number = i + 1,
			.on = on,
		};
	}
	count = patch_connect(g_image, g_list, g_listed, held ? &g_hold : NULL);
	for (size_t i = 0; i < g_listed; i++)
		ck_assert_msg(g_list[i].reason == PATCH_DONE ||
				      g_plan->functions[i].refused,
			      "%zu: %s", i,
			      patch_reason_text(g_list[i].reason));
	ck_assert_uint_ge(count, 6);
	ck_assert_uint_eq(patch_counts(g_image).foreign, 0);
	return count;
}

static void switch_all(enum patch_sites on)
{
	ck_assert_int_eq(patch_switch(g_image, g_numbers, g_listed, on), 0);
	ck_assert_uint_eq(patch_counts(g_image).foreign, 0);
}

static uint64_t calls_of(uint32_t number)
{
	uint64_t calls = 0;

	for (int i = 0; i < VICTIM_THREADS; i++)
		/* relaxed: a count */
		calls += atom_load_rlx(&g_control->cells[i][number].calls);
	return calls;
}

static uint64_t all_calls(void)
{
	uint64_t calls = 0;

	for (uint32_t i = 1; i < VICTIM_NUMBERS; i++)
		calls += calls_of(i);
	return calls;
}

static uint64_t all_witnessed(void)
{
	uint64_t calls = 0;

	for (size_t i = 0; i < WITNESS_ENTRIES; i++)
		/* relaxed: a count */
		calls += atom_load_rlx(&g_control->witness[i].enters);
	return calls;
}

static const struct witness *witness_of(const struct control *control,
					uint64_t function)
{
	static const struct witness none;

	for (size_t i = 0; i < WITNESS_ENTRIES; i++)
		if (control->witness[i].function == function)
			return &control->witness[i];
	return &none;
}

#define NEEDS(kind)                                 \
	do {                                        \
		if (!is_compiled(kind)) {           \
			puts("not compiled: skip"); \
			return;                     \
		}                                   \
	} while (0)

/* --- tests --------------------------------------------------------------- */

TEST(patch_counts_each_call_of_connected_functions, EACH(0, KINDS))
{
	const struct kind *kind = &g_kinds[_i];
	static struct control first;
	uint64_t bias = 0, at;

	NEEDS(kind);
	if (!kind->entry_build) {
		start(kind, 50);
		go();
		while (g_control->rounds < 49 * VICTIM_THREADS)
			usleep(1000);
		stop();
		memcpy(&first, g_control, sizeof(first));
		bias = g_bias;
	}
	start(kind, 50);
	connect_all(true, PATCH_BOTH);
	go();
	while (g_control->rounds < 49 * VICTIM_THREADS)
		usleep(1000);
	for (uint32_t i = 0; i < g_listed; i++) {
		uint64_t calls = calls_of(i + 1);

		if (g_list[i].reason != PATCH_DONE)
			continue;
		ck_assert_uint_eq(calls % (50 * VICTIM_THREADS), 0);
		if (kind->entry_build)
			continue;
		at = g_list[i].address;
		ck_assert_uint_eq(witness_of(g_control, at)->enters, 0);
		ck_assert_uint_eq(
			witness_of(&first, at - g_bias + bias)->enters, calls);
	}
	ck_assert_uint_gt(all_calls(), 50 * VICTIM_THREADS * 100);
	ck_assert_int_eq(patch_restore(g_image), 0);
	ck_assert(is_plain(g_pid));
	stop();
}

TEST(patch_passes_calls_on_to_the_hooks, EACH(0, KINDS))
{
	const struct kind *kind = &g_kinds[_i];

	NEEDS(kind);
	start(kind, 50);
	connect_all(true, PATCH_BOTH);
	for (uint32_t i = 0; i < g_listed; i++)
		thunk_area_choose(g_area, g_numbers[i], THUNK_RECORD);
	go();
	while (g_control->rounds < 49 * VICTIM_THREADS)
		usleep(1000);
	for (uint32_t i = 0; !kind->entry_build && i < g_listed; i++)
		if (g_list[i].reason == PATCH_DONE)
			ck_assert_uint_eq(
				witness_of(g_control, g_list[i].address)
					->enters,
				calls_of(i + 1));
	if (kind->entry_build)
		ck_assert_uint_eq(g_control->thunk_enters, all_calls());
	stop();
}

TEST(patch_flips_while_threads_run, EACH(0, KINDS))
{
	const struct kind *kind = &g_kinds[_i];
	int rounds =
		getenv("PATCH_ROUNDS") ? atoi(getenv("PATCH_ROUNDS")) : 200;
	struct patch_counts counts;
	uint64_t calls;

	NEEDS(kind);
	start(kind, 0);
	go();
	let_work();
	connect_all(false, PATCH_BOTH);
	let_work();
	calls = all_calls();
	ck_assert_uint_gt(calls, 0);
	for (int i = 0; i < rounds; i++) {
		switch_all((enum patch_sites)(i % 3));
		thunk_area_choose(g_area, g_numbers[(size_t)i % g_listed],
				  (enum thunk_path)(i / 3 % 3));
	}
	switch_all(PATCH_NEITHER);
	calls = all_calls();
	let_work();
	/* A thread may have been in a thunk. */
	ck_assert_uint_le(all_calls(), calls + VICTIM_THREADS);
	counts = patch_counts(g_image);
	ck_assert_uint_eq(counts.off, counts.sites);
	ck_assert_uint_gt(counts.sites, 10);
	printf("%s: %lu sites written, %.2f us each, %lu barriers\n",
	       kind->name, (unsigned long)counts.sites_written,
	       (double)counts.ns / 1e3 / (double)counts.sites_written,
	       (unsigned long)counts.barriers);
	ck_assert_int_eq(patch_restore(g_image), 0);
	ck_assert(is_plain(g_pid));
	ck_assert_uint_eq(patch_counts(g_image).sites, 0);
	let_work();
	stop();
}

static bool is_connected(uint32_t function)
{
	return g_list[function].reason == PATCH_DONE;
}

static uint64_t connected_exits(void)
{
	uint64_t exits = 0;

	for (size_t i = 0; i < g_plan->site_count; i++) {
		const struct code_site *site = &g_plan->sites[i];

		exits += site->is_exit && site->count &&
			 is_connected(g_plan->site_functions[site->first]);
	}
	return exits;
}

/* A counted function needs no exits. */
TEST(patch_switches_exits_off_alone, EACH(0, KINDS))
{
	const struct kind *kind = &g_kinds[_i];
	uint64_t calls;

	NEEDS(kind);
	start(kind, 0);
	go();
	let_work();
	connect_all(false, PATCH_BOTH);
	for (int i = 0; i < 2; i++) {
		switch_all(PATCH_ENTRIES);
		ck_assert_uint_eq(patch_counts(g_image).off, connected_exits());
		calls = all_calls();
		let_work();
		ck_assert_uint_gt(all_calls(), calls + VICTIM_THREADS);
		switch_all(i ? PATCH_BOTH : PATCH_NEITHER);
	}
	ck_assert_uint_eq(patch_counts(g_image).off, 0);
	ck_assert_int_eq(patch_restore(g_image), 0);
	ck_assert(is_plain(g_pid));
	stop();
}

TEST(patch_restores_while_threads_run, EACH(0, KINDS))
{
	const struct kind *kind = &g_kinds[_i];

	NEEDS(kind);
	start(kind, 0);
	go();
	for (int i = 0; i < 30; i++) {
		uint64_t calls = all_calls();

		connect_all(false, (enum patch_sites)(i % 3));
		switch_all(PATCH_BOTH);
		let_work();
		ck_assert_uint_gt(all_calls(), calls);
		ck_assert_int_eq(patch_restore(g_image), 0);
		ck_assert(is_plain(g_pid));
		ck_assert(!patch_is_connected(g_image, 1));
	}
	stop();
}

TEST(patch_off_is_off_and_on_is_on)
{
	const struct kind *kind = &g_kinds[0];
	uint64_t witnessed, calls;

	NEEDS(kind);
	start(kind, 0);
	go();
	let_work();
	connect_all(false, PATCH_NEITHER);
	let_work();
	witnessed = all_witnessed();
	ck_assert_uint_gt(witnessed, 0);
	ck_assert_uint_eq(all_calls(), 0);
	let_work();
	/* Except for functions that could not be connected. */
	for (uint32_t i = 0; i < g_listed; i++)
		if (g_list[i].reason == PATCH_DONE)
			ck_assert(patch_is_connected(g_image, g_numbers[i]));
	switch_all(PATCH_BOTH);
	let_work();
	calls = all_calls();
	ck_assert_uint_gt(calls, 0);
	stop();
}

static uint8_t byte_at(uint64_t address)
{
	int mem = patch_mem_open(g_pid, getuid());
	uint8_t byte;

	ck_assert_int_eq(memory_read(mem, g_bias + address, &byte, 1), 0);
	close(mem);
	return byte;
}

/* Two functions share an exit hook's call, as loud as the louder one. */
TEST(patch_site_of_two_functions_serves_both)
{
	const struct code_site *site;
	struct patch_function both[2];
	uint64_t at[2], enters[2], calls;
	size_t i = 0;

	NEEDS(&g_kinds[0]);
	start(&g_kinds[0], 0);
	while (g_plan->sites[i].count != 2)
		ck_assert_uint_lt(++i, g_plan->site_count);
	site = &g_plan->sites[i];
	for (uint32_t k = 0; k < 2; k++) {
		uint32_t function = g_plan->site_functions[site->first + k];

		at[k] = g_bias + g_plan->functions[function].address;
		both[k] = (struct patch_function){ .module = g_module,
						   .function = function,
						   .number = k + 1,
						   .on = PATCH_BOTH };
	}
	go();
	ck_assert_uint_eq(patch_connect(g_image, &both[0], 1, NULL), 1);
	let_work();
	enters[0] = witness_of(g_control, at[0])->enters;
	enters[1] = witness_of(g_control, at[1])->enters;
	let_work();
	ck_assert_uint_gt(calls_of(1), 0);
	/* A thread may have been on its way to the hook for long. */
	ck_assert_uint_le(witness_of(g_control, at[0])->enters,
			  enters[0] + VICTIM_THREADS);
	ck_assert_uint_gt(witness_of(g_control, at[1])->enters, enters[1]);
	ck_assert_uint_eq(patch_connect(g_image, &both[1], 1, NULL), 1);
	let_work();
	enters[1] = witness_of(g_control, at[1])->exits;
	let_work();
	ck_assert_uint_gt(calls_of(2), 0);
	ck_assert_uint_le(witness_of(g_control, at[1])->exits,
			  enters[1] + VICTIM_THREADS);
	/* Exits were switched off first. */
	ck_assert_uint_le(enters[1], witness_of(g_control, at[1])->enters);
	for (uint32_t k = 1; k <= 2; k++) {
		enters[0] = witness_of(g_control, at[k - 1])->exits;
		thunk_area_choose(g_area, k, THUNK_RECORD);
		let_work();
		thunk_area_choose(g_area, k, THUNK_DRAIN);
		let_work();
		ck_assert_uint_gt(witness_of(g_control, at[k - 1])->exits,
				  enters[0]);
	}
	for (uint32_t k = 1; k <= 2; k++) {
		ck_assert_uint_eq(byte_at(site->address), 0xe8);
		ck_assert_int_eq(patch_switch(g_image, &k, 1, PATCH_NEITHER),
				 0);
	}
	ck_assert_uint_eq(byte_at(site->address), 0xa9);
	calls = calls_of(1) + calls_of(2);
	let_work();
	ck_assert_uint_le(calls_of(1) + calls_of(2), calls + VICTIM_THREADS);
	g_numbers[0] = 1;
	g_numbers[1] = 2;
	ck_assert_int_eq(patch_switch(g_image, g_numbers, 2, PATCH_BOTH), 0);
	ck_assert_uint_eq(byte_at(site->address), 0xe8);
	ck_assert_uint_eq(patch_counts(g_image).foreign, 0);
	ck_assert_int_eq(patch_restore(g_image), 0);
	ck_assert(is_plain(g_pid));
	stop();
}

static bool has_child(void)
{
	/* relaxed: looked at again */
	return atom_load_rlx(&g_control->child) != 0;
}

TEST(patch_follows_a_forked_child, EACH(0, KINDS))
{
	const struct kind *kind = &g_kinds[_i];
	struct patch_image *child;
	pid_t pid;

	NEEDS(kind);
	start(kind, 0);
	go();
	for (int i = 0; i < 5; i++) {
		connect_all(false, PATCH_BOTH);
		g_control->child = 0;
		/* relaxed: looked at again */
		atom_store_rlx(&g_control->fork, 1);
		while (!has_child()) {
			ck_assert_int_eq(patch_restore(g_image), 0);
			connect_all(false, i & 1 ? PATCH_NEITHER : PATCH_BOTH);
		}
		pid = g_control->child;
		child = patch_image_fork(g_image, pid,
					 patch_mem_open(pid, getuid()));
		ck_assert_ptr_nonnull(child);
		ck_assert_int_eq(patch_restore(g_image), 0);
		ck_assert(is_plain(g_pid));
		ck_assert_int_eq(
			patch_switch(child, g_numbers, g_listed, PATCH_BOTH),
			0);
		let_work();
		ck_assert_int_eq(
			patch_switch(child, g_numbers, g_listed, PATCH_NEITHER),
			0);
		let_work();
		ck_assert_uint_eq(patch_counts(child).foreign, 0);
		ck_assert_int_eq(patch_restore(child), 0);
		ck_assert(is_plain(pid));
		ck_assert_uint_eq(patch_counts(child).sites, 0);
		ck_assert_uint_eq(patch_counts(child).off, 0);
		ck_assert_int_eq(kill(pid, SIGKILL), 0);
		patch_image_free(child);
	}
	stop();
}

static struct bytes g_told;

static void tell(void *arg, const void *entries, size_t bytes)
{
	bytes_put(arg, entries, bytes);
}

/* From the told list and from an export. */
TEST(patch_is_restored_from_a_list, EACH(0, KINDS))
{
	const struct kind *kind = &g_kinds[_i];
	struct patch_restored restored;
	struct bytes list = { 0 };
	uint64_t sites;
	int mem;

	NEEDS(kind);
	start(kind, 0);
	go();
	bytes_clear(&g_told);
	patch_tell_to(g_image, tell, &g_told);
	connect_all(false, PATCH_BOTH);
	sites = patch_counts(g_image).sites;
	switch_all(PATCH_NEITHER);
	patch_export(g_image, &list);
	ck_assert_uint_eq(list.count, g_told.count);
	mem = patch_mem_open(g_pid, getuid());
	/* From unaligned memory. */
	bytes_put(&g_told, "x", 1);
	memmove(g_told.at + 1, g_told.at, g_told.count - 1);
	ck_assert_int_eq(patch_restore_from(mem, g_told.at + 1,
					    g_told.count - 1, false, NULL,
					    &restored),
			 0);
	ck_assert(is_plain(g_pid));
	ck_assert_uint_eq(restored.restored, sites);
	ck_assert_uint_eq(restored.unchanged + restored.foreign, 0);
	ck_assert_int_eq(patch_restore_from(mem, list.at, list.count, false,
					    NULL, &restored),
			 0);
	ck_assert_uint_eq(restored.unchanged, sites);
	ck_assert_uint_eq(restored.restored + restored.foreign, 0);
	let_work();
	close(mem);
	bytes_release(&list);
	stop();
}

static void tell_file(void *arg, const void *entries, size_t bytes)
{
	(void)!write(*(int *)arg, entries, bytes);
}

static _Noreturn void write_for_ever(void)
{
	for (;;) {
		patch_connect(g_image, g_list, g_listed, NULL);
		for (int i = 0; i < 4; i++)
			patch_switch(g_image, g_numbers, g_listed,
				     (enum patch_sites)(i % 3));
		patch_restore(g_image);
	}
}

TEST(patch_is_restored_when_its_writer_was_killed, EACH(0, KINDS))
{
	const struct kind *kind = &g_kinds[_i];
	int list = memfd_create("list", MFD_CLOEXEC), mem;
	pid_t writer;

	NEEDS(kind);
	start(kind, 0);
	go();
	/* Fills g_list. */
	connect_all(false, PATCH_BOTH);
	ck_assert_int_eq(patch_restore(g_image), 0);
	mem = patch_mem_open(g_pid, getuid());
	patch_tell_to(g_image, tell_file, &list);
	for (int i = 0; i < 6; i++) {
		writer = fork();
		ck_assert_int_ge(writer, 0);
		if (!writer)
			write_for_ever();
		if (i % 3)
			let_work();
		usleep((useconds_t)(1 + i * 437));
		ck_assert_int_eq(kill(writer, SIGKILL), 0);
		ck_assert_int_eq(waitpid(writer, NULL, 0), writer);
		ck_assert_int_eq(text_restore(mem, list, true, NULL), 0);
		ck_assert(is_plain(g_pid));
		ck_assert_int_eq(ftruncate(list, 0), 0);
		ck_assert_int_eq(lseek(list, 0, SEEK_SET), 0);
	}
	let_work();
	close(mem);
	close(list);
	stop();
}

/* Half of a body across two pages may be missing. */
TEST(patch_half_a_body_is_restored)
{
	const struct code_site *site;
	struct patch_restored restored;
	struct bytes list = { 0 };
	uint8_t bytes[CODE_SITE_BYTES];
	int mem;

	NEEDS(&g_kinds[0]);
	start(&g_kinds[0], 0);
	/* Without go() no thread runs the code written here. */
	connect_all(true, PATCH_NEITHER);
	patch_export(g_image, &list);
	mem = patch_mem_open(g_pid, getuid());
	site = &g_plan->sites[0];
	ck_assert_uint_eq(site->form, CODE_CALL);
	ck_assert_int_eq(memory_read(mem, g_bias + site->address, bytes, 5), 0);
	bytes[3] = site->bytes[3];
	bytes[4] = site->bytes[4];
	ck_assert_int_eq(memory_write(mem, g_bias + site->address, bytes, 5),
			 0);
	ck_assert_int_eq(patch_restore_from(mem, list.at, list.count, true,
					    NULL, &restored),
			 0);
	ck_assert_uint_eq(restored.foreign, 0);
	ck_assert(is_plain(g_pid));
	go();
	let_work();
	close(mem);
	bytes_release(&list);
	stop();
}

TEST(patch_lists_that_are_not_whole_write_nothing)
{
	struct text_map map = { 0 };
	struct patch_restored restored;
	struct bytes list = { 0 };
	uint8_t *copy;
	int mem;

	NEEDS(&g_kinds[0]);
	start(&g_kinds[0], 0);
	go();
	connect_all(false, PATCH_BOTH);
	patch_export(g_image, &list);
	mem = patch_mem_open(g_pid, getuid());
	ck_assert_int_eq(patch_restore_from(mem, list.at, list.count - 1, false,
					    NULL, &restored),
			 -EINVAL);
	ck_assert_int_eq(
		patch_restore_from(mem, list.at, 0, false, NULL, &restored), 0);
	copy = malloc(list.count);
	memcpy(copy, list.at, list.count);
	copy[12] = 200; /* an invalid form */
	ck_assert_int_eq(
		patch_restore_from(mem, copy, list.count, false, NULL, NULL),
		-EINVAL);
	ck_assert(!is_plain(g_pid));
	/* Other addresses: all entries are foreign. */
	for (size_t i = 0; i < list.count; i += 32)
		copy[i] ^= 8;
	copy[12] = list.at[12];
	ck_assert_int_eq(patch_restore_from(mem, copy, list.count, false, NULL,
					    &restored),
			 0);
	ck_assert_uint_eq(restored.restored + restored.unchanged, 0);
	ck_assert_uint_eq(restored.foreign, list.count / 32);
	/* The map shows another file. */
	memcpy(copy, list.at, list.count);
	for (size_t i = 0; i < list.count; i += 32)
		copy[i + 28] ^= 1;
	ck_assert_int_eq(text_map_read(&map, g_pid), 0);
	ck_assert_int_eq(patch_restore_from(mem, copy, list.count, false, &map,
					    &restored),
			 0);
	ck_assert_uint_eq(restored.foreign, list.count / 32);
	ck_assert(!is_plain(g_pid));
	/* The list twice, with wrong operands in one half. */
	memcpy(copy, list.at, list.count);
	for (size_t i = 0; i < list.count; i += 32)
		copy[i + 8] ^= 1;
	bytes_put(&list, copy, list.count);
	ck_assert_int_eq(patch_restore_from(mem, list.at, list.count, false,
					    &map, &restored),
			 0);
	ck_assert_uint_eq(restored.restored, list.count / 64);
	ck_assert_uint_eq(restored.foreign, 0);
	ck_assert(is_plain(g_pid));
	close(mem);
	text_map_release(&map);
	free(copy);
	bytes_release(&list);
	stop();
}

TEST(patch_leaves_breakpoints_alone)
{
	const uint8_t trap = 0xcc;
	const struct code_function *function;
	const struct code_site *site;
	struct patch_counts counts;
	uint32_t victim = 0;
	uint8_t byte;
	uint64_t at;
	int mem;

	NEEDS(&g_kinds[0]);
	start(&g_kinds[0], 0);
	mem = patch_mem_open(g_pid, getuid());
	connect_all(true, PATCH_BOTH);
	while (g_list[victim].reason != PATCH_DONE ||
	       g_plan->functions[victim].count < 2)
		victim++;
	function = &g_plan->functions[victim];
	site = &g_plan->sites[g_plan->function_sites[function->first]];
	at = g_bias + site->address;
	ck_assert_int_eq(patch_restore(g_image), 0);
	ck_assert_int_eq(memory_write(mem, at, &trap, 1), 0);
	patch_connect(g_image, g_list, g_listed, NULL);
	ck_assert_int_eq(g_list[victim].reason, PATCH_DIFFERS);
	ck_assert(!patch_is_connected(g_image, g_numbers[victim]));
	for (uint32_t i = 1; i < function->count; i++) {
		const struct code_site *other =
			&g_plan->sites[g_plan->function_sites[function->first +
							      i]];
		uint8_t bytes[CODE_SITE_BYTES];

		ck_assert_int_eq(memory_read(mem, g_bias + other->address,
					     bytes, other->length),
				 0);
		ck_assert_mem_eq(bytes, other->bytes, other->length);
	}
	/* Removed, connected, set again. */
	ck_assert_int_eq(memory_write(mem, at, site->bytes, 1), 0);
	patch_connect(g_image, g_list, g_listed, &g_hold);
	ck_assert_int_eq(g_list[victim].reason, PATCH_DONE);
	ck_assert_int_eq(memory_write(mem, at, &trap, 1), 0);
	ck_assert_int_eq(
		patch_switch(g_image, g_numbers, g_listed, PATCH_NEITHER), 0);
	counts = patch_counts(g_image);
	ck_assert_uint_eq(counts.foreign, 1);
	ck_assert_uint_eq(counts.off, counts.sites - 1);
	ck_assert_int_eq(memory_read(mem, at, &byte, 1), 0);
	ck_assert_uint_eq(byte, trap);
	ck_assert_int_eq(patch_switch(g_image, g_numbers, g_listed, PATCH_BOTH),
			 0);
	ck_assert_int_eq(patch_restore(g_image), 0);
	ck_assert_uint_eq(patch_counts(g_image).sites, 1);
	ck_assert_int_eq(memory_read(mem, at, &byte, 1), 0);
	ck_assert_uint_eq(byte, trap);
	/* The debugger restores the byte it saw; the next restore repairs
	 * it. */
	byte = site_form(site->form)->on;
	ck_assert_int_eq(memory_write(mem, at, &byte, 1), 0);
	ck_assert_int_eq(patch_restore(g_image), 0);
	ck_assert(is_plain(g_pid));
	close(mem);
	go();
	let_work();
	stop();
}

static bool is_alone(uint32_t victim)
{
	const struct code_function *function = &g_plan->functions[victim];

	for (uint32_t i = 0; i < function->count; i++)
		if (g_plan->sites[g_plan->function_sites[function->first + i]]
			    .count > 1)
			return false;
	return function->count > 1 && g_list[victim].reason == PATCH_DONE;
}

static uint32_t sites_on(uint32_t victim, int mem)
{
	const struct code_function *function = &g_plan->functions[victim];
	uint32_t count = 0;

	for (uint32_t i = 0; i < function->count; i++) {
		const struct code_site *site =
			&g_plan->sites[g_plan->function_sites[function->first +
							      i]];
		const struct site_form *form = site_form(site->form);
		uint8_t flip;

		ck_assert_int_eq(
			memory_read(mem, g_bias + site->address + form->flip,
				    &flip, 1),
			0);
		count += flip == form->on;
	}
	return count;
}

/* A breakpoint at one site keeps the entire function off until it is gone. */
TEST(patch_switches_nothing_on_by_half)
{
	const uint8_t trap = 0xcc;
	const struct code_function *function;
	uint32_t victim = 0;
	uint8_t byte;
	uint64_t at;
	int mem;

	NEEDS(&g_kinds[0]);
	start(&g_kinds[0], 0);
	mem = patch_mem_open(g_pid, getuid());
	connect_all(true, PATCH_NEITHER);
	while (!is_alone(victim))
		victim++;
	function = &g_plan->functions[victim];
	at = g_bias +
	     g_plan->sites[g_plan->function_sites[function->first]].address;
	ck_assert_int_eq(memory_read(mem, at, &byte, 1), 0);
	ck_assert_int_eq(memory_write(mem, at, &trap, 1), 0);
	/* The first switch finds the breakpoint only in the middle. */
	for (int i = 0; i < 2; i++) {
		ck_assert_int_eq(
			patch_switch(g_image, g_numbers, g_listed, PATCH_BOTH),
			0);
		ck_assert(patch_is_stuck(g_image, g_numbers[victim]));
		ck_assert_uint_eq(sites_on(victim, mem), 0);
	}
	ck_assert_int_eq(memory_write(mem, at, &byte, 1), 0);
	ck_assert_int_eq(patch_switch(g_image, g_numbers, g_listed, PATCH_BOTH),
			 0);
	ck_assert(!patch_is_stuck(g_image, g_numbers[victim]));
	ck_assert_uint_eq(sites_on(victim, mem), function->count);
	ck_assert_uint_eq(patch_counts(g_image).off, 0);
	ck_assert_int_eq(patch_restore(g_image), 0);
	ck_assert(is_plain(g_pid));
	close(mem);
	go();
	let_work();
	stop();
}

TEST(patch_writes_nothing_into_a_process_that_is_gone, EACH(0, 2))
{
	bool by_exec = _i;
	int status;

	NEEDS(&g_kinds[0]);
	start(&g_kinds[0], 0);
	go();
	connect_all(false, PATCH_BOTH);
	if (by_exec)
		/* relaxed: looked at again */
		atom_store_rlx(&g_control->exec, 1);
	else
		kill(g_pid, SIGKILL);
	while (!patch_switch(g_image, g_numbers, g_listed, PATCH_NEITHER))
		ck_assert_int_eq(
			patch_switch(g_image, g_numbers, g_listed, PATCH_BOTH) &
				~-ESRCH,
			0);
	ck_assert(patch_is_gone(g_image));
	ck_assert_int_eq(patch_switch(g_image, g_numbers, 1, PATCH_BOTH),
			 -ESRCH);
	ck_assert_int_eq(patch_restore(g_image), -ESRCH);
	patch_connect(g_image, g_list, g_listed, NULL);
	for (size_t i = 0; i < g_listed; i++)
		if (!patch_is_connected(g_image, g_numbers[i]))
			ck_assert_int_eq(g_list[i].reason, PATCH_GONE);
	kill(g_pid, SIGKILL);
	ck_assert_int_eq(waitpid(g_pid, &status, 0), g_pid);
}

/* --- refusals ------------------------------------------------------------ */

/* A plan of one function with one site, CODE_CALL, at address 16. */
static struct code_plan one_site(void)
{
	static struct code_function function = { .address = 16, .count = 1 };
	static struct code_site site = {
		.address = 16,
		.form = CODE_CALL,
		.length = 5,
		.bytes = { 0xe8, 1, 2, 3, 4 },
		.count = 1,
	};
	static uint32_t zero;

	return (struct code_plan){
		.functions = &function,
		.function_count = 1,
		.sites = &site,
		.site_count = 1,
		.site_functions = &zero,
		.function_sites = &zero,
	};
}

/* Maps @fd in this process, next to the area if @near, and connects a site. */
static enum patch_reason reason_for(int fd, int protection, int flags,
				    ino_t inode, bool near)
{
	struct patch_function function = { .number = 1 };
	int thunks = shared_memory(thunk_area_bytes(FUNCTIONS_USUAL));
	struct thunk_shim shim = { .count_epoch = 1,
				   .page = { .enter = 1, .entry_enter = 1 } };
	struct code_plan plan = one_site();
	struct patch_image *image;
	struct thunk_area *area;
	uint8_t plain[5], *at, *map;

	ck_assert_int_eq(thunk_area_map(thunks, FUNCTIONS_USUAL, &shim, &area),
			 0);
	map = mmap(NULL, thunk_area_bytes(FUNCTIONS_USUAL),
		   PROT_READ | PROT_EXEC, MAP_SHARED, thunks, 0);
	ck_assert_ptr_ne(map, MAP_FAILED);
	at = mmap(map - (near ? 1ull << 20 : 3ull << 31), 4096, protection,
		  flags | MAP_FIXED_NOREPLACE, fd, 0);
	ck_assert_ptr_ne(at, MAP_FAILED);
	image = patch_image_new(area, getpid(),
				patch_mem_open(getpid(), getuid()), false);
	patch_module_add(image, &plan, (uintptr_t)at, inode);
	patch_connect(image, &function, 1, NULL);
	if (protection & PROT_READ && function.reason != PATCH_DONE) {
		memcpy(plain, at + 16, 5);
		ck_assert_mem_eq(plain, plan.sites[0].bytes, 5);
	}
	if (function.reason == PATCH_DONE) {
		ck_assert_int_eq(patch_restore(image), 0);
		ck_assert_mem_eq(at + 16, plan.sites[0].bytes, 5);
	}
	patch_image_free(image);
	munmap(at, 4096);
	munmap(map, thunk_area_bytes(FUNCTIONS_USUAL));
	thunk_area_unmap(area);
	close(thunks);
	return function.reason;
}

TEST(patch_refuses_what_is_not_its_own_text)
{
	int fd = open("text", O_RDWR | O_CREAT | O_TRUNC, 0700);
	const uint8_t site[] = { 0xe8, 1, 2, 3, 4 };
	int text = PROT_READ | PROT_EXEC;
	struct stat status;

	ck_assert_int_eq(ftruncate(fd, 4096), 0);
	ck_assert_int_eq(pwrite(fd, site, sizeof(site), 16), sizeof(site));
	ck_assert_int_eq(fstat(fd, &status), 0);
	ck_assert_int_eq(reason_for(fd, text, MAP_PRIVATE, status.st_ino, true),
			 PATCH_DONE);
	ck_assert_int_eq(reason_for(fd, text, MAP_PRIVATE, 0, true),
			 PATCH_DONE);
	ck_assert_int_eq(reason_for(fd, text, MAP_SHARED, status.st_ino, true),
			 PATCH_SHARED);
	ck_assert_int_eq(
		reason_for(fd, PROT_READ, MAP_PRIVATE, status.st_ino, true),
		PATCH_NOT_EXECUTABLE);
	ck_assert_int_eq(
		reason_for(fd, text, MAP_PRIVATE, status.st_ino + 1, true),
		PATCH_NOT_MAPPED);
	ck_assert_int_eq(
		reason_for(fd, text, MAP_PRIVATE, status.st_ino, false),
		PATCH_OUT_OF_REACH);
	close(fd);
}

TEST(patch_refuses_functions_that_it_does_not_know)
{
	struct thunk_shim shim = { .count_epoch = 1,
				   .page = { .enter = 1, .entry_enter = 1 } };
	struct patch_function list[] = {
		{ .module = 7, .number = 1 },	 { .module = -1, .number = 1 },
		{ .function = 99, .number = 1 }, { .number = 0 },
		{ .number = FUNCTIONS_USUAL },
	};
	struct code_plan plan = one_site();
	struct patch_image *image;
	struct thunk_area *area;

	ck_assert_int_eq(
		thunk_area_map(shared_memory(thunk_area_bytes(FUNCTIONS_USUAL)),
			       FUNCTIONS_USUAL, &shim, &area),
		0);
	image = patch_image_new(area, getpid(),
				patch_mem_open(getpid(), getuid()), false);
	patch_module_add(image, &plan, 0, 0);
	ck_assert_uint_eq(patch_connect(image, list, ARRAY_SIZE(list), NULL),
			  0);
	for (size_t i = 0; i < ARRAY_SIZE(list); i++)
		ck_assert_int_eq(list[i].reason,
				 i < 3 ? PATCH_NO_SITES : PATCH_NUMBER);
	patch_module_forget(image, 0);
	patch_module_forget(image, 0);
	ck_assert_int_eq(patch_restore(image), 0);
	patch_image_free(image);
	thunk_area_unmap(area);
}

TEST(patch_memory_is_known_by_its_file)
{
	int good = patch_mem_open(getpid(), getuid());
	int readable = open("/proc/self/mem", O_RDONLY);
	int maps = open("/proc/self/maps", O_RDONLY);
	int mem;

	ck_assert(patch_mem_is_good(good));
	ck_assert(!patch_mem_is_good(readable));
	ck_assert(!patch_mem_is_good(maps));
	ck_assert(!patch_mem_is_good(-1));
	scratch_run("mkdir -p 12");
	mem = open("12/mem", O_RDWR | O_CREAT, 0600);
	ck_assert(!patch_mem_is_good(mem));
	close(mem);
	close(good);
	close(readable);
	close(maps);
}

/* --- forms --------------------------------------------------------------- */

/* CODE_MOVED, the last form, is never switched. */
TEST(patch_forms_are_told_apart_in_each_state, EACH(0, CODE_MOVED))
{
	static const enum site_state states[] = { SITE_PLAIN, SITE_OFF,
						  SITE_ON };
	static const uint8_t plain[CODE_MOVED][CODE_SITE_BYTES] = {
		[CODE_CALL] = { 0xe8, 1, 2, 3, 4 },
		[CODE_CALL_67] = { 0x67, 0xe8, 1, 2, 3, 4 },
		[CODE_CALL_GOT] = { 0xff, 0x15, 1, 2, 3, 4 },
		[CODE_JUMP] = { 0xe9, 1, 2, 3, 4 },
		[CODE_JUMP_GOT] = { 0xff, 0x25, 1, 2, 3, 4 },
		[CODE_ENTRY_CALL] = { 0xe8, 1, 2, 3, 4 },
		[CODE_ENTRY_CALL_67] = { 0x67, 0xe8, 1, 2, 3, 4 },
		[CODE_EXIT_NOP] = { 0x0f, 0x1f, 0x44 },
		[CODE_EXIT_RETURN] = { 0x0f, 0x1f, 0x44 },
		[CODE_XRAY_ENTRY] = { 0xeb, 9, 0x66, 0x0f, 0x1f, 0x84, 0, 0,
				      2 },
		[CODE_XRAY_EXIT] = { 0xc3, 0x2e, 0x66, 0x0f, 0x1f, 0x84, 0, 0,
				     2 },
		[CODE_XRAY_TAIL] = { 0xeb, 9, 0x66, 0x0f, 0x1f, 0x84, 0, 0, 2 },
	};
	uint8_t form = (uint8_t)_i;
	const struct site_form *f = site_form(form);
	uint8_t bytes[CODE_SITE_BYTES], on[CODE_SITE_BYTES];
	bool half;

	for (size_t i = 0; i < ARRAY_SIZE(states); i++) {
		site_bytes(form, plain[form], states[i], 0x55667788, bytes);
		ck_assert_int_eq(site_state_of(form, plain[form], 0x55667788,
					       bytes, &half),
				 states[i]);
		ck_assert(!half);
		if (i)
			ck_assert_int_eq(site_state_of(form, plain[form],
						       0x55667789, bytes,
						       &half),
					 SITE_FOREIGN);
		bytes[f->flip] = 0xcc;
		ck_assert_int_eq(site_state_of(form, plain[form], 0x55667788,
					       bytes, &half),
				 SITE_FOREIGN);
	}
	/* On and off differ in one byte outside of the body. */
	site_bytes(form, plain[form], SITE_ON, 0x55667788, on);
	site_bytes(form, plain[form], SITE_OFF, 0x55667788, bytes);
	for (unsigned int i = 0; i < f->length; i++)
		ck_assert_int_eq(on[i] != bytes[i], i == f->flip);
	ck_assert(f->flip < f->body && f->body < f->body_end);
	ck_assert_uint_le(f->body_end, f->length);
	ck_assert_uint_eq(site_form(CODE_FORMS)->length, 0);
}

#endif

SUITE(compile_all, scratch_leave);
