/* SPDX-License-Identifier: Apache-2.0
 *
 * A file plays the memory of a process. A limit of its size plays a kernel that
 * refuses writes beyond it.
 */
#include "collector/code/changes.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "collector/code/forms.h"
#include "tests/suite.h"
#include "tests/unit/scratch.h"

#define BYTES 65536
#define REFUSED_FROM 32768
#define OPERAND 0x11223344

static const uint8_t g_plain[CODE_SITE_BYTES] = { 0xe8, 1, 2, 3, 4 };
static int g_mem;

static void setup(void)
{
	struct rlimit limit = { REFUSED_FROM, REFUSED_FROM };

	scratch_enter();
	g_mem = open("memory", O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	ck_assert_int_ge(g_mem, 0);
	ck_assert_int_eq(ftruncate(g_mem, BYTES), 0);
	/* Writes beyond the limit raise this signal. */
	signal(SIGXFSZ, SIG_IGN);
	ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

static struct change connect_at(uint64_t address, uint32_t group, bool is_exit)
{
	struct change change = {
		.address = address,
		.form = CODE_CALL,
		.is_exit = is_exit,
		.group = group,
	};

	memcpy(change.before, g_plain, sizeof(g_plain));
	site_bytes(CODE_CALL, g_plain, SITE_ON, OPERAND, change.after);
	return change;
}

static void put_plain(const struct change *list, size_t count)
{
	uint8_t *memory =
		mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, g_mem, 0);

	ck_assert_ptr_ne(memory, MAP_FAILED);
	for (size_t i = 0; i < count; i++)
		memcpy(memory + list[i].address, g_plain, 5);
	munmap(memory, BYTES);
}

static enum site_state state_at(uint64_t address)
{
	uint8_t now[CODE_SITE_BYTES] = { 0 };
	bool plain;

	ck_assert_int_eq(memory_read(g_mem, address, now, 5), 0);
	return site_state_of(CODE_CALL, g_plain, OPERAND, now, &plain);
}

FIXTURE(setup, NULL);

/* Group 0 has a site beyond the limit, so it is restored. Group 1 is connected.
 * _i: the program is held. */
TEST(changes_of_a_group_are_made_or_undone, EACH(0, 2))
{
	struct change list[] = {
		connect_at(100, 0, false),
		connect_at(200, 1, false),
		connect_at(9000, 1, true),
		connect_at(20000, 0, true),
		connect_at(REFUSED_FROM + 100, 0, true),
	};
	struct change_rules rules = {
		.mem = g_mem,
		.held = _i,
		.whole_groups = true,
	};
	struct change_costs costs = { 0 };

	put_plain(list, ARRAY_SIZE(list));
	ck_assert_int_eq(changes_write(&rules, list, ARRAY_SIZE(list), &costs),
			 0);
	ck_assert_int_eq(list[0].result, CHANGE_ABANDONED);
	ck_assert_int_eq(list[1].result, CHANGE_WRITTEN);
	ck_assert_int_eq(list[2].result, CHANGE_WRITTEN);
	ck_assert_int_eq(list[3].result, CHANGE_ABANDONED);
	ck_assert_int_eq(list[4].result, CHANGE_REFUSED);
	ck_assert_int_eq(state_at(100), SITE_PLAIN);
	ck_assert_int_eq(state_at(200), SITE_ON);
	ck_assert_int_eq(state_at(9000), SITE_ON);
	ck_assert_int_eq(state_at(20000), SITE_PLAIN);
	ck_assert_int_eq(state_at(REFUSED_FROM + 100), SITE_PLAIN);
}
