/* SPDX-License-Identifier: Apache-2.0
 *
 * test_jump - jumping programs (jump_victim, jump_plugin) run as always, and
 * their recorded jumps match their own notes.
 */
#include <limits.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/shim/mini_collector.h"
#include "tests/suite.h"

#define JUMPS_MANY 100000
#define NEAR_BYTES 16384

static struct mini_collector g_mini;
static FILE *g_result;
static char g_result_path[] = "/tmp/test_jump-XXXXXX";
/* Position in the first thread's ring, and span -> hint. */
static uint64_t g_at;
static unsigned int g_hints[0x1000];

static void setup(void)
{
	setenv("PERFREC_RING_KB", "65536", 1);
	strcpy(g_result_path + strlen(g_result_path) - 6, "XXXXXX");
	g_result = fdopen(mkstemp(g_result_path), "r");
	g_at = 0;
	mini_collector_start(&g_mini);
}

static void teardown(void)
{
	fclose(g_result);
	unlink(g_result_path);
	mini_collector_stop(&g_mini);
}

/* The path of the result precedes @arguments. @recorded: with a collector. */
static void run(const char *program, char *const arguments[], bool recorded)
{
	struct wire_reply settings = { .on_full = WIRE_ON_FULL_DROP };
	char *argv[20] = { (char *)mini_build_path(program), g_result_path };
	int status, i;
	pid_t pid;

	for (i = 0; arguments[i]; i++)
		argv[i + 2] = arguments[i];
	pid = mini_spawn(&g_mini, mini_build_path("libperfrec_preload.so"),
			 argv);
	if (recorded)
		mini_collector_accept(&g_mini, settings, CONTROL_ON);
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_msg(status == 0, "%s %s ended with status %x", program,
		      arguments[0] ? arguments[0] : "", status);
}

static const struct record *record_at(uint64_t i)
{
	ck_assert_uint_lt(i, mini_slot(&g_mini, 0)->head);
	return &mini_ring(&g_mini, 0)[i];
}

static bool is_flow(uint64_t i, enum record_flow flow)
{
	uint64_t word = mini_ring(&g_mini, 0)[i].word;

	return i < mini_slot(&g_mini, 0)->head &&
	       record_kind(word) == RECORD_FLOW &&
	       record_flow(record_payload(word)) == flow;
}

static void compare_flow(uint64_t word, int flow, unsigned long address,
			 unsigned long span)
{
	ck_assert_int_eq(record_kind(word), RECORD_FLOW);
	ck_assert_int_eq(record_flow(record_payload(word)), flow);
	/* The distance of a landing pad is unknown to the victims. */
	if (flow != FLOW_CATCH)
		ck_assert_uint_eq(record_flow_address(record_payload(word)),
				  address);
	else
		ck_assert_uint_lt(record_flow_address(record_payload(word)),
				  NEAR_BYTES);
	if (span)
		ck_assert_uint_eq(record_sp(word), g_hints[span]);
}

static void compare(char kind, int flow, unsigned long address,
		    unsigned long span)
{
	uint64_t word;

	/* Unloads of plugins and forks leave records as well. */
	do
		word = record_at(g_at++)->word;
	while (record_kind(word) == RECORD_MAP ||
	       record_kind(word) == RECORD_FORKING);
	if (kind == 'F') {
		compare_flow(word, flow, address, span);
		return;
	}
	ck_assert_int_eq(record_kind(word),
			 kind == 'B' ? RECORD_BEGIN : RECORD_END);
	ck_assert_uint_eq(record_payload(word), span);
	if (kind == 'B')
		g_hints[span] = record_sp(word);
}

static unsigned int threads_recorded(void)
{
	unsigned int claims = 0, i;

	for (i = 0; i < g_mini.hello.slot_count; i++)
		claims += mini_slot(&g_mini, i)->claims;
	return claims;
}

static void compare_all(void)
{
	unsigned long address, span;
	unsigned int lines = 0;
	char kind;
	int flow;

	while (fscanf(g_result, " %c %d %lx %lx", &kind, &flow, &address,
		      &span) == 4) {
		compare(kind, flow, address, span);
		lines++;
	}
	ck_assert_uint_gt(lines, 0);
	ck_assert_uint_eq(g_at, mini_slot(&g_mini, 0)->head);
	ck_assert_uint_eq(threads_recorded(), 1);
}

static const char *const g_cases[] = { "jumps", "handler", "contexts", "ends",
				       "silent" };

FIXTURE(setup, teardown);

TEST(jump_recorded_is_told_exactly,
     EACH(0, sizeof(g_cases) / sizeof(g_cases[0])))
{
	char *arguments[] = { (char *)g_cases[_i], NULL };

	run("tests/shim/victims/jump_victim", arguments, true);
	compare_all();
}

TEST(jump_without_collector_runs_as_always,
     EACH(0, sizeof(g_cases) / sizeof(g_cases[0])))
{
	char *arguments[] = { (char *)g_cases[_i], NULL };

	unlink(g_mini.socket_path);
	run("tests/shim/victims/jump_victim", arguments, false);
}

TEST(jump_often_is_told_each_time)
{
	char *arguments[] = { "many", NULL };
	uint64_t i;

	run("tests/shim/victims/jump_victim", arguments, true);
	ck_assert_uint_eq(mini_slot(&g_mini, 0)->head, 2 * JUMPS_MANY + 2);
	for (i = 0; i < JUMPS_MANY; i++) {
		ck_assert(is_flow(2 * i + 1, FLOW_SETJMP));
		ck_assert(is_flow(2 * i + 2, FLOW_LONGJMP));
		ck_assert_uint_eq(record_sp(record_at(2 * i + 1)->word),
				  record_sp(record_at(2 * i + 2)->word));
	}
}

#if defined(__x86_64__)
TEST(jump_interrupted_anywhere_is_told_once, SLOW)
{
	char *arguments[] = { "steps", NULL };
	uint64_t flows = 0, begins = 0, ends = 0, last = 0, i;
	unsigned long rounds, signals;

	run("tests/shim/victims/jump_victim", arguments, true);
	ck_assert_int_eq(fscanf(g_result, "%lu %lu", &rounds, &signals), 2);
	ck_assert_uint_gt(signals, 500);
	for (i = 0; i < mini_slot(&g_mini, 0)->head; i++) {
		const struct record *record = record_at(i);
		enum record_kind kind = record_kind(record->word);

		ck_assert_uint_ge(record->clock, last);
		last = record->clock;
		flows += kind == RECORD_FLOW;
		begins += kind == RECORD_BEGIN;
		ends += kind == RECORD_END;
	}
	/* SETJMP, LONGJMP, SAVE, MAKE, SAVE, SWITCH, END */
	ck_assert_uint_eq(flows, 7 * rounds);
	ck_assert_uint_eq(begins, ends);
	/* The span around, one per signal, and those of a signal at each
	 * step. */
	ck_assert_uint_gt(begins, 1 + signals + 500);
}
#endif

static const char *const g_plugins[] = {
	"gxx_O0",    "gxx_O2",	 "gxx_static", "gxx_private",
	"gxx_noplt", "clang_O0", "clang_O2",   "clang_static",
};

static bool is_built(const char *name)
{
	return access(name, X_OK) == 0;
}

static char *plugin_path(const char *name)
{
	static char paths[16][512];
	static unsigned int turn;
	char *path = paths[turn++ % 16], file[64];

	snprintf(file, sizeof(file), "tests/shim/victims/jump_plugin_%s.so",
		 name);
	snprintf(path, sizeof(paths[0]), "%s", mini_build_path(file));
	return path;
}

/* Only the plugin has a C++ runtime, which nobody else can see. */
TEST(jump_in_a_plugin_uses_its_own_runtime,
     EACH(0, sizeof(g_plugins) / sizeof(g_plugins[0])))
{
	char *arguments[] = { "plugins", plugin_path(g_plugins[_i]), NULL };

	if (!is_built(arguments[1]))
		return;
	run("tests/shim/victims/jump_victim", arguments, true);
	compare_all();
}

TEST(jump_in_plugins_uses_the_runtime_of_each)
{
	char *arguments[16] = { "plugins" };
	size_t i, count = 1;

	for (i = 0; i < sizeof(g_plugins) / sizeof(g_plugins[0]); i++) {
		arguments[count] = plugin_path(g_plugins[i]);
		count += is_built(arguments[count]);
	}
	arguments[count] = NULL;
	run("tests/shim/victims/jump_victim", arguments, true);
	compare_all();
}

static const char *const g_programs[] = { "pie", "nopie", "nopie_now", "static",
					  "clang" };

TEST(jump_in_a_program_uses_its_runtime,
     EACH(0, sizeof(g_programs) / sizeof(g_programs[0])))
{
	char name[64], path[512];
	char *arguments[] = { NULL };

	snprintf(name, sizeof(name), "tests/shim/victims/jump_program_%s",
		 g_programs[_i]);
	snprintf(path, sizeof(path), "%s", mini_build_path(name));
	if (!is_built(path))
		return;
	run(name, arguments, true);
	/* Catches in a private runtime are invisible but must work. */
	if (strcmp(g_programs[_i], "static"))
		compare_all();
}
