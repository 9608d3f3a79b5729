/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/show/summary_losses.h"

#include "tests/suite.h"

static void print_both(const struct summary *summary, char **losses, char **odd)
{
	size_t size;
	FILE *out = open_memstream(losses, &size);

	summary_losses_print(summary, "lost ", out);
	fclose(out);
	out = open_memstream(odd, &size);
	summary_losses_print_odd(summary, out);
	fclose(out);
}

static size_t count_lines(const char *text)
{
	size_t lines = 0;

	for (; *text; text++)
		lines += *text == '\n';
	return lines;
}

static void check_one(const struct summary *summary, const char *name,
		      bool is_loss, bool is_odd)
{
	char *losses, *odd;

	print_both(summary, &losses, &odd);
	ck_assert_msg(summary_losses_none(summary) == !is_loss, "%s", name);
	ck_assert_msg(count_lines(losses) == is_loss, "%s: %s", name, losses);
	ck_assert_msg(count_lines(odd) == is_odd, "%s: %s", name, odd);
	ck_assert_msg(!is_loss || strncmp(losses, "lost ", 5) == 0, "%s",
		      losses);
	ck_assert_msg(!strpbrk(losses, "{|}") && !strpbrk(odd, "{|}"), "%s%s",
		      losses, odd);
	free(losses);
	free(odd);
}

/* Values for all kinds; 1 marks a loss, 2 an oddity. */
#define SET_COUNT 1
#define SET_COUNT_OR_NULL 1
#define SET_BYTES 1
#define SET_NS 1
#define SET_ID 1
#define SET_TEXT "why"
#define SET_FLAG true
#define SET_SHARE 1
#define NOTHING 0
#define LOSS(...) 1
#define NO_SLOT(...) 1
#define REFUSED 1
#define STOPPED 1
#define ODD(...) 2

TEST(summary_losses_print_has_one_line_for_each_loss){
#define TOTAL(section, kind, name, value, said, text)                   \
	{                                                               \
		struct summary summary = { .totals.name = SET_##kind }; \
                                                                        \
		check_one(&summary, #name, (said) == 1,                 \
			  (said) == 2 || summary.totals.waits ||        \
				  summary.totals.skipped_maps);         \
	}
#include "collector/output/counters.def"
}

TEST(summary_losses_of_nothing_prints_nothing)
{
	struct summary summary = { .totals = { .spans = 5, .threads = 2 } };

	check_one(&summary, "nothing", false, false);
}

TEST(summary_losses_print_keeps_the_order_of_the_sections)
{
	struct summary summary = { .totals = { .dropped_spans = 2,
					       .dropped_allocs = 1,
					       .lost_cpu_samples = 1,
					       .broken_rings = 1,
					       .trace_stopped = "full" } };
	char *losses, *odd;

	print_both(&summary, &losses, &odd);
	ck_assert_str_eq(
		losses,
		"lost 2 calls: the ring was full (record with --on-full block, "
		"or a larger --ring-size)\n"
		"lost 1 allocation: the ring was full (record with --on-full "
		"block, or a larger --ring-size)\n"
		"lost 1 sample of CPU time: there was no room for it\n"
		"lost 1 ring: the program overwrote it, or there was no memory "
		"for it; what came before is kept\n"
		"lost the rest of the trace: full (calls and times are of the "
		"whole run)\n");
	free(losses);
	free(odd);
	/* Omits advice that was followed already. */
	summary.settings.on_full = "block";
	print_both(&summary, &losses, &odd);
	ck_assert_ptr_nonnull(
		strstr(losses, "lost 2 calls: the ring was full, and the "
			       "collector did not read it in time (record with "
			       "a larger --ring-size)\n"));
	ck_assert_ptr_null(strstr(losses, "--on-full"));
	free(losses);
	free(odd);
}

TEST(summary_losses_print_of_no_slot_says_every_reason)
{
	struct summary summary = { .totals = { .unslotted_frees = 3,
					       .slots_taken = 1,
					       .slots_refused = 1 } };
	char *losses, *odd;

	print_both(&summary, &losses, &odd);
	ck_assert_ptr_nonnull(strstr(
		losses, "lost 3 frees of threads that have no slot: there were "
			"more threads than slots (set PERFREC_SLOTS"));
	ck_assert_ptr_nonnull(strstr(losses, "; the kernel refused access"));
	ck_assert_ptr_null(strstr(losses, "RLIMIT_AS"));
	free(losses);
	free(odd);
}
