/* SPDX-License-Identifier: Apache-2.0
 *
 * test_host - programs do not notice the shim (host_victim), and their spans
 * are recorded. A case makes 1,000 spans unless the table says otherwise. Every
 * case also runs without a collector.
 */
#include <sys/wait.h>
#include <unistd.h>

#include "tests/shim/mini_collector.h"
#include "tests/suite.h"

struct host_case {
	const char *name;
	uint64_t begins; /* over all slots; 0: at least one */
	enum wire_on_full on_full;
	const char *limit; /* shell command that sets a limit first */
};

static const struct host_case g_cases[] = {
	{ "plain", 1000, WIRE_ON_FULL_BLOCK, "" },
	{ "closefrom", 1000, WIRE_ON_FULL_BLOCK, "" },
	{ "descriptors", 1000, WIRE_ON_FULL_BLOCK, "" },
	{ "errno", 1000, WIRE_ON_FULL_BLOCK, "" },
	{ "vfork", 1000, WIRE_ON_FULL_BLOCK, "" },
	{ "vfork_fails", 1000, WIRE_ON_FULL_BLOCK, "" },
	{ "spawn", 1000, WIRE_ON_FULL_BLOCK, "" },
	{ "fork", 1500, WIRE_ON_FULL_BLOCK, "" },
	{ "seccomp_strict", 500, WIRE_ON_FULL_BLOCK, "" },
	{ "no_clock", 1000, WIRE_ON_FULL_BLOCK, "" },
	{ "seccomp_filter", 0, WIRE_ON_FULL_BLOCK, "" },
	{ "seccomp_filter", 0, WIRE_ON_FULL_DROP, "" },
	{ "seccomp_dlopen", 1000, WIRE_ON_FULL_BLOCK, "" },
	{ "no_files", 1000, WIRE_ON_FULL_BLOCK, "" },
	{ "mlockall", 1000, WIRE_ON_FULL_BLOCK, "" },
	{ "address_space", 1000, WIRE_ON_FULL_BLOCK, "" },
	{ "names", 1000, WIRE_ON_FULL_BLOCK, "" },
	{ "threads", 1000, WIRE_ON_FULL_BLOCK, "" },
	{ "tiny_stack", 1000, WIRE_ON_FULL_BLOCK, "" },
	{ "cancel", 1000, WIRE_ON_FULL_BLOCK, "" },
	{ "plain", 1000, WIRE_ON_FULL_BLOCK, "ulimit -v 1000000;" },
};

static const struct host_case g_declined[] = {
	{ "plain", 0, WIRE_ON_FULL_BLOCK, "ulimit -f 0;" },
	{ "plain", 0, WIRE_ON_FULL_BLOCK, "ulimit -v 30000;" },
	{ "plain", 0, WIRE_ON_FULL_BLOCK, "ulimit -n 4;" },
};

static struct mini_collector g_mini;

static pid_t start(const struct host_case *host)
{
	static char shim[512], command[1024];
	const char *out = getenv("O") ? getenv("O") : "build";
	char *argv[] = { "/bin/sh", "-c", command, NULL };

	setenv("PERFREC_RING_KB", "64", 1);
	setenv("PERFREC_SLOTS", "512", 1);
	snprintf(shim, sizeof(shim), "%s/libperfrec_preload.so", out);
	/* Preloads only the victim, not the shell that limits it. */
	snprintf(command, sizeof(command),
		 "%s LD_PRELOAD=%s exec %s/tests/shim/victims/host_victim %s",
		 host->limit, shim, out, host->name);
	return mini_spawn(&g_mini, "", argv);
}

static uint64_t count_begins(void)
{
	uint64_t begins = 0, i;
	uint32_t slot;

	for (slot = 0; slot < g_mini.hello.slot_count; slot++) {
		const struct slot_shm *shm = mini_slot(&g_mini, slot);
		const struct record *ring = mini_ring(&g_mini, slot);

		if (shm->state == SLOT_RETIRED)
			continue;
		for (i = 0; i < shm->head; i++)
			begins += record_kind(ring[i].word) == RECORD_BEGIN;
	}
	return begins;
}

static int wait_for(pid_t pid)
{
	int status;

	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	return status;
}

TEST(host_recorded_runs_as_always,
     EACH(0, sizeof(g_cases) / sizeof(g_cases[0])))
{
	const struct host_case *host = &g_cases[_i];
	bool opens = !strcmp(host->name, "seccomp_dlopen");
	struct wire_reply settings = { .on_full = host->on_full,
				       .asks = opens ? WIRE_ASK_OPENING : 0 };
	pid_t pid;

	mini_collector_start(&g_mini);
	pid = start(host);
	mini_collector_accept(&g_mini, settings, CONTROL_ON);
	ck_assert_msg(wait_for(pid) == 0, "%s failed", host->name);
	if (host->begins)
		ck_assert_msg(count_begins() == host->begins, "%s: %lu begins",
			      host->name, (unsigned long)count_begins());
	else
		ck_assert_uint_gt(count_begins(), 500);
	if (!strcmp(host->name, "seccomp_strict"))
		ck_assert_uint_eq(g_mini.page->muted_spans, 100000);
#if defined(__x86_64__)
	if (opens)
		ck_assert(g_mini.page->flags & PAGE_OPENINGS);
#endif
	if (!strcmp(host->name, "no_clock"))
		ck_assert_uint_eq(g_mini.page->muted_spans, 200);
	if (!strcmp(host->name, "names")) {
		ck_assert_str_eq(mini_slot(&g_mini, 0)->name, "main by prctl");
		ck_assert_str_eq(mini_slot(&g_mini, 1)->name, "named by main");
	}
	mini_collector_stop(&g_mini);
}

TEST(host_without_collector_runs_as_always,
     EACH(0, sizeof(g_cases) / sizeof(g_cases[0])))
{
	mini_collector_start(&g_mini);
	unlink(g_mini.socket_path);
	ck_assert_int_eq(wait_for(start(&g_cases[_i])), 0);
	mini_collector_stop(&g_mini);
}

TEST(host_without_room_runs_unrecorded,
     EACH(0, sizeof(g_declined) / sizeof(g_declined[0])))
{
	mini_collector_start(&g_mini);
	ck_assert_int_eq(wait_for(start(&g_declined[_i])), 0);
	mini_collector_stop(&g_mini);
}

TEST(host_whose_vfork_child_calls_first_starts_itself)
{
	struct wire_reply settings = { .on_full = WIRE_ON_FULL_BLOCK };
	char shim[512], victim[512];
	char *argv[] = { victim, NULL };
	const char *out = getenv("O") ? getenv("O") : "build";
	pid_t pid;

	snprintf(shim, sizeof(shim), "%s/libperfrec_preload.so", out);
	snprintf(victim, sizeof(victim), "%s/tests/shim/victims/late_victim",
		 out);
	mini_collector_start(&g_mini);
	pid = mini_spawn(&g_mini, shim, argv);
	mini_collector_accept(&g_mini, settings, CONTROL_ON);
	ck_assert_int_eq(wait_for(pid), 0);
	ck_assert_int_eq(g_mini.hello.pid, pid);
	ck_assert_uint_eq(count_begins(), 10);
	mini_collector_stop(&g_mini);
}

/* The deadline of the hello applies. */
TEST(host_with_silent_collector_runs_unrecorded)
{
	setenv("PERFREC_DEADLINE_MS", "50", 1);
	mini_collector_start(&g_mini);
	ck_assert_int_eq(wait_for(start(&g_cases[0])), 0);
	mini_collector_stop(&g_mini);
}

static void begin_suite(void)
{
	setenv("PERFREC_QUIET", "1", 1);
}

SUITE(begin_suite, NULL);
