/* SPDX-License-Identifier: Apache-2.0
 *
 * Names of addresses in processes that wait in turn. A process that has ended
 * shows whether its map was kept: its map cannot be read again.
 */
#include "collector/samples/wait_places.h"

#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "collector/base/clock.h"
#include "tests/suite.h"

#define CHILDREN 100
#define MAPPINGS 20000
#define PAGE 4096u

static int g_object;
static struct wait_places *g_places;
static pid_t g_child[CHILDREN];

static bool has_name(pid_t pid)
{
	char out[WAIT_PLACE_BYTES];

	wait_places_name(g_places, pid, (uintptr_t)&g_object, out);
	return strncmp(out, "0x", 2) != 0;
}

/* Names an object of each of @count processes, which end then. */
static void name_and_end(size_t count)
{
	ck_assert_int_eq(wait_places_new(&g_places), 0);
	for (size_t i = 0; i < count; i++) {
		g_child[i] = fork();
		ck_assert_int_ge(g_child[i], 0);
		if (!g_child[i]) {
			pause();
			_exit(0);
		}
		ck_assert(has_name(g_child[i]));
	}
	for (size_t i = 0; i < count; i++) {
		kill(g_child[i], SIGKILL);
		waitpid(g_child[i], NULL, 0);
	}
}

TEST(wait_places_keeps_maps_of_processes_in_turn)
{
	name_and_end(CHILDREN);
	for (size_t i = 0; i < CHILDREN; i++)
		ck_assert_msg(has_name(g_child[i]), "no map of child %zu", i);
	wait_places_free(&g_places);
}

/* Addresses that the map lacks make it be read again, but not more than ten times
 * a second. */
TEST(wait_places_keeps_the_map_of_a_process_that_is_gone)
{
	char out[WAIT_PLACE_BYTES];
	uint64_t ended_ns, ns;

	name_and_end(1);
	ended_ns = clock_monotonic_ns();
	do {
		ns = clock_monotonic_ns();
		wait_places_name(g_places, g_child[0], 8, out);
	} while (ns < ended_ns + 100000000u);
	ck_assert_str_eq(out, "0x8");
	ck_assert(has_name(g_child[0]));
	wait_places_free(&g_places);
}

/* A sanitizer takes half a minute for each of the maps. */
TEST(wait_places_drops_the_oldest_of_many_large_maps,
     UNLESS(HAS_ASAN || HAS_TSAN))
{
	char *pages = mmap(NULL, MAPPINGS * (size_t)PAGE, PROT_NONE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	ck_assert_ptr_ne(pages, MAP_FAILED);
	for (size_t i = 0; i < MAPPINGS; i += 2)
		ck_assert_int_eq(mprotect(pages + i * PAGE, PAGE, PROT_READ),
				 0);
	name_and_end(30);
	ck_assert(has_name(g_child[29]));
	ck_assert(!has_name(g_child[0]));
	wait_places_free(&g_places);
}
