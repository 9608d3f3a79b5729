/* SPDX-License-Identifier: Apache-2.0
 *
 * test_annotate - the bytes that perfrec.h leaves in the arena. The test reads
 * rings and sites without code of the shim or the collector, and prints them as
 * text, a line per record.
 */
#include <signal.h>
#include <stdarg.h>
#include <sys/wait.h>
#include <unistd.h>

#include "shared/atomic.h"
#include "shared/record_ext.h"
#include "shared/site_shm.h"
#include "tests/shim/mini_collector.h"
#include "tests/suite.h"

static struct mini_collector g_mini;
static char g_out[1 << 16];
static size_t g_length;

__attribute__((format(printf, 1, 2))) static void say(const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	g_length += (size_t)vsnprintf(
		g_out + g_length, sizeof(g_out) - g_length, format, arguments);
	va_end(arguments);
	ck_assert_uint_lt(g_length, sizeof(g_out));
}

/* --- sites --------------------------------------------------------------- */

static const struct site_shm *site(uint32_t id)
{
	const char *base = (const char *)g_mini.page;
	uint32_t offset = ((const uint32_t *)(base + ARENA_SITES))[id];

	ck_assert_msg(offset, "id %u has no entry", id);
	ck_assert_uint_le(offset, SITE_BYTES - sizeof(struct site_shm));
	return (const struct site_shm *)(base + ARENA_SITE_BYTES + offset - 1);
}

/* @which: text 0 to 5, or key 6 and up. */
static const char *site_text(uint32_t id, uint32_t which)
{
	const char *text = (const char *)(site(id) + 1);

	while (which--)
		text += strlen(text) + 1;
	return text;
}

static uint32_t find_site(const char *name)
{
	uint32_t id;

	for (id = 1; id <= g_mini.page->site_count; id++)
		if (!strcmp(site_text(id, 0), name))
			return id;
	ck_abort_msg("no site is called %s", name);
	return 0;
}

static void say_track(uint64_t track)
{
	uint32_t id;

	for (id = 1; id <= g_mini.page->site_count; id++)
		if (site(id)->kind == SITE_TRACK && site(id)->track == track) {
			say("<%s>", site_text(id, 0));
			return;
		}
	if (track >> 62 == 1)
		say("<made %u>", (unsigned int)track);
	else
		say("<%lld>", (long long)track);
}

/* --- records ------------------------------------------------------------- */

static uint32_t cells_of(uint32_t bytes)
{
	return (bytes + 15) / 16;
}

/* The rest of the last cell must be zero. */
static const struct record *say_text(const struct record *cell, uint32_t bytes)
{
	const char *text = (const char *)cell;
	uint32_t i, end = cells_of(bytes) * 16;

	for (i = 0; i < bytes && i < 20; i++)
		say(text[i] >= ' ' ? "%c" : "\\%d", text[i]);
	for (i = bytes; i < end; i++)
		ck_assert_int_eq(text[i], 0);
	return cell + cells_of(bytes);
}

static void say_args(const struct record *cell, uint32_t count,
		     const struct record *end, uint32_t of)
{
	static const char types[] = "-bIUDPS";
	uint32_t i;

	for (i = 0; i < count; i++) {
		struct note_arg arg;

		memcpy(&arg, cell++, sizeof(arg));
		say(" ");
		if (arg.key_bytes)
			cell = say_text(cell, arg.key_bytes);
		else
			say("%s", site_text(of, 6 + i));
		ck_assert_uint_le(arg.type, NOTE_STRING);
		say("=%c", types[arg.type]);
		if (arg.type == NOTE_STRING) {
			say("%u/%llu%s:", arg.text_bytes,
			    (unsigned long long)arg.value,
			    arg.cut ? "cut" : "");
			cell = say_text(cell, arg.text_bytes);
		} else {
			ck_assert_uint_eq(arg.text_bytes + arg.cut, 0);
			say("%llx", (unsigned long long)arg.value);
		}
	}
	ck_assert_ptr_eq(cell, end);
}

/* Returns the record behind the prefix before @cell. */
static uint32_t site_behind(const struct record *cell)
{
	while (record_kind(cell->word) == RECORD_EXT &&
	       record_ext(cell->word) < EXT_INSTANT)
		cell += 1 + record_ext_cells(cell->word);
	return record_kind(cell->word) == RECORD_EXT
		       ? record_ext_value(cell->word)
		       : (uint32_t)record_payload(cell->word);
}

static void say_flows(const struct record *cell, uint32_t count)
{
	say("flows");
	for (; count; count--, cell++)
		say(" %llu%s", (unsigned long long)cell->word,
		    cell->clock ? "!" : "");
}

static void say_track_record(const struct record *cell)
{
	struct note_track track;

	memcpy(&track, cell, sizeof(track));
	say_track(track.track);
	say(" in ");
	say_track(track.parent);
	say(" rank %d ", track.rank);
	cell = say_text(cell + 2, track.name_bytes);
	say(": ");
	say_text(cell, track.description_bytes);
}

static const char *async_word(enum record_ext what)
{
	switch (what) {
	case EXT_ASYNC_BEGIN:
		return "begin";
	case EXT_ASYNC_END:
		return "end";
	case EXT_ASYNC_ENTER:
		return "enter";
	case EXT_ASYNC_LEAVE:
		return "leave";
	default:
		return "instant";
	}
}

static void say_ext(const struct record *cell)
{
	uint32_t value = record_ext_value(cell->word);
	uint32_t cells = record_ext_cells(cell->word);
	const struct record *data = cell + 1, *end = data + cells;

	switch ((int)record_ext(cell->word)) {
	case EXT_ARGS:
		say("args");
		say_args(data, value, end, site_behind(end));
		break;
	case EXT_NAME:
		say("name ");
		ck_assert_ptr_eq(say_text(data, value), end);
		break;
	case EXT_FLOWS:
		ck_assert_uint_eq(cells, value);
		say_flows(data, value);
		break;
	case EXT_CORRELATION:
		say("correlation %llu", (unsigned long long)data->word);
		break;
	case EXT_AT:
		say("at %lld", (long long)data->word);
		break;
	case EXT_INSTANT:
		say("instant %s", site_text(value, 0));
		break;
	case EXT_COUNTER:
		say("counter %s %llx", site_text(value, 0),
		    (unsigned long long)data->word);
		break;
	case EXT_ASYNC_BEGIN:
	case EXT_ASYNC_END:
	case EXT_ASYNC_ENTER:
	case EXT_ASYNC_LEAVE:
	case EXT_ASYNC_INSTANT:
		say("async %s %s ", async_word(record_ext(cell->word)),
		    site_text(value, 0));
		say_track(data->word);
		say(" %llx", (unsigned long long)data->clock);
		break;
	case EXT_STATE:
		say("state %s ", site_text(value, 0));
		say_track(data->word);
		say(" %llu", (unsigned long long)data->clock);
		break;
	case EXT_TRACK:
		say("track ");
		say_track_record(data);
		break;
	default:
		ck_abort_msg("ext %u", (unsigned int)record_ext(cell->word));
	}
	say("\n");
}

static void say_ring(uint32_t slot)
{
	const struct record *ring = mini_ring(&g_mini, slot);
	uint64_t head = mini_slot(&g_mini, slot)->head, i;

	for (i = 0; i < head; i++) {
		const struct record *cell = &ring[i];

		if (record_kind(cell->word) <= RECORD_END &&
		    record_payload(cell->word) >= SITES_MAX) {
			say("function\n");
			continue;
		}
		switch ((int)record_kind(cell->word)) {
		case RECORD_BEGIN:
			say("begin %s\n",
			    site_text((uint32_t)record_payload(cell->word), 0));
			break;
		case RECORD_END:
			say("end %s\n",
			    site_text((uint32_t)record_payload(cell->word), 0));
			break;
		case RECORD_EXT:
			say_ext(cell);
			i += record_ext_cells(cell->word);
			break;
		case RECORD_PAUSED:
			say("paused %llu\n",
			    (unsigned long long)record_payload(cell->word));
			break;
		default:
			say("kind %u\n", (unsigned int)record_kind(cell->word));
		}
	}
}

/* --- running ------------------------------------------------------------- */

static pid_t begin_victim(const char *name)
{
	char *argv[] = { (char *)mini_build_path(
				 "tests/shim/victims/annotate_victim"),
			 (char *)name, NULL };
	struct wire_reply settings = { .on_full = WIRE_ON_FULL_BLOCK };
	pid_t pid;

	g_length = 0;
	g_out[0] = '\0';
	setenv("PERFREC_RING_KB", "64", 1);
	setenv("PERFREC_SLOTS", "8", 1);
	mini_collector_start(&g_mini);
	pid = mini_spawn(&g_mini, mini_build_path("libperfrec_preload.so"),
			 argv);
	mini_collector_accept(&g_mini, settings, CONTROL_ON);
	return pid;
}

static void end_victim(pid_t pid)
{
	int status;

	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, 0);
}

static void expect(const char *name, const char *expected)
{
	end_victim(begin_victim(name));
	say_ring(0);
	ck_assert_str_eq(g_out, expected);
}

static void stop_collector(void)
{
	mini_collector_stop(&g_mini);
}

FIXTURE(NULL, stop_collector);

TEST(annotate_spans)
{
	expect("spans", "begin scope\n"
			"begin begun\n"
			"end begun\n"
			"instant instant\n"
			"end scope\n");
	ck_assert_str_eq(site_text(find_site("scope"), 3), "spans");
	ck_assert_ptr_nonnull(
		strstr(site_text(find_site("scope"), 2), "annotate_victim.c"));
	ck_assert_uint_gt(site(find_site("begun"))->line,
			  site(find_site("scope"))->line);
	ck_assert_uint_eq(g_mini.hello.instrumented, 1);
}

TEST(annotate_scalars)
{
	expect("scalars",
	       "args bool=b1 int=I8000000000000000 uint=Uffffffffffffffff "
	       "double=D8000000000000000 pointer=P1234\n"
	       "begin scalars\n"
	       "args small=Iffffffffffffffff\n"
	       "instant one\n"
	       "end scalars\n");
}

TEST(annotate_texts)
{
	expect("texts",
	       "args empty=S0/0: null=S0/0: 15=S15/15:123456789012345 "
	       "16=S16/16:1234567890123456 17=S17/17:12345678901234567 "
	       "nul=S3/3:a\\0b no bytes=S0/0: last=I7\n"
	       "instant texts\n"
	       /* the longest run that a ring of 64 KiB takes */
	       "args cut=S2048/5000cut:xxxxxxxxxxxxxxxxxxxx\n"
	       "instant long\n");
}

TEST(annotate_extras)
{
	expect("extras", "name dynamic\n"
			 "flows 5 6!\n"
			 "correlation 7\n"
			 "args own=I2 key=I1 ?=S1/1:v\n"
			 "begin static\n"
			 "args result=Iffffffffffffffff\n"
			 "end static\n"
			 "at -1\n"
			 "instant at\n");
}

TEST(annotate_counters)
{
	const struct site_shm *entry;

	expect("counters", "counter ints 1\n"
			   "counter ints 7fffffffffffffff\n"
			   "counter ints 7fffffffffffffff\n"
			   "counter ints 8000000000000000\n"
			   "counter ints 0\n"
			   "counter doubles 4000000000000000\n"
			   "at -9\n"
			   "counter doubles 3fe0000000000000\n");
	entry = site(find_site("ints"));
	ck_assert_uint_eq(entry->kind, SITE_COUNTER);
	ck_assert_uint_eq(entry->unit, UNIT_BYTES);
	ck_assert_uint_eq(entry->flags, SITE_INCREMENTAL);
	entry = site(find_site("doubles"));
	ck_assert_uint_eq(entry->unit, UNIT_CUSTOM);
	ck_assert_str_eq(site_text(find_site("doubles"), 4), "widgets");
	ck_assert_uint_eq(entry->flags, SITE_DOUBLE | SITE_OF_THREAD);
	ck_assert_int_eq(entry->multiplier, 10);
}

/* Copies of a site share an id in all processes. Two ids are possible if parent
 * and child reach it at the same instant. */
TEST(annotate_equal_sites_are_one)
{
	uint32_t twins = 0, id;

	end_victim(begin_victim("equals"));
	say_ring(0);
	ck_assert_str_eq(g_out, "counter twin 1\ncounter twin 2\nkind 8\n"
				"instant in both\ninstant last\n");
	for (id = 1; id <= g_mini.page->site_count; id++)
		twins += !strcmp(site_text(id, 0), "twin");
	ck_assert_uint_eq(twins, 1);
	ck_assert_uint_le(g_mini.page->site_count, 4);
}

TEST(annotate_tracks)
{
	const struct site_shm *parent, *child;

	expect("tracks", "args n=I1\n"
			 "async begin job <child> 8000000000000001\n"
			 "track <made 1> in <parent> rank 9 made: run time\n"
			 "args n=I2\n"
			 "async enter work <child> 8000000000000001\n"
			 "async enter inside <child> 8000000000000001\n"
			 "async leave inside <child> 8000000000000001\n"
			 "name w\n"
			 "async leave work <child> 8000000000000001\n"
			 "async instant step <made 1> 0\n"
			 "async end job <child> 8000000000000001\n"
			 "state red <light> 0\n"
			 "state end <light> 1\n"
			 "async instant in a cycle <a> 0\n");
	parent = site(find_site("parent"));
	child = site(find_site("child"));
	ck_assert_uint_eq(parent->parent, TRACK_PROCESS);
	ck_assert_uint_eq(parent->order, ORDER_EXPLICIT);
	ck_assert_str_eq(site_text(find_site("parent"), 5), "all of it");
	ck_assert_uint_eq(child->parent, parent->track);
	ck_assert_uint_eq(child->merge, MERGE_NONE);
	ck_assert_int_eq(child->rank, -3);
	ck_assert_uint_eq(site(find_site("light"))->track_kind, TRACK_STATES);
}

TEST(annotate_bad_input)
{
	const char *args = g_out;
	int values = 0;

	end_victim(begin_victim("bad_input"));
	say_ring(0);
	ck_assert_int_eq(strncmp(g_out,
				 "begin bad_input\nend bad_input\n"
				 "end bad_input\nargs k=U0 k=U1 ",
				 strlen("begin bad_input\nend bad_input\n"
					"end bad_input\nargs k=U0 k=U1 ")),
			 0);
	while ((args = strstr(args, " k=U"))) {
		values++;
		args++;
	}
	ck_assert_int_eq(values, NOTE_ARGS_MAX);
	ck_assert_uint_eq(mini_slot(&g_mini, 0)->dropped_notes,
			  1000 - NOTE_ARGS_MAX);
	ck_assert_ptr_nonnull(strstr(g_out, "instant none\n"));
}

TEST(annotate_pause_is_of_whole_spans)
{
	expect("paused", "async begin over the pause <child> 4\n"
			 "begin over the pause\n"
			 "async enter over the pause <child> 4\n"
			 "async leave over the pause <child> 4\n"
			 "async end over the pause <child> 4\n"
			 "end over the pause\n"
			 "paused 1\n"
			 "begin after\n"
			 "end after\n");
	ck_assert_uint_eq(mini_slot(&g_mini, 0)->paused_spans, 1);
}

TEST(annotate_pause_ends_what_nobody_ended)
{
	expect("paused_unended", "paused 2\nbegin after\nend after\n");
}

TEST(annotate_pause_ends_in_callees)
{
	expect("paused_callee", "paused 3\nbegin after\nend after\n");
}

static void stopped_once_more(pid_t pid, uint32_t control)
{
	int status;

	ck_assert_int_eq(waitpid(pid, &status, WUNTRACED), pid);
	ck_assert_msg(WIFSTOPPED(status), "status %x", (unsigned int)status);
	g_mini.page->control = control;
	kill(pid, SIGCONT);
}

#define WORK                               \
	"begin span\n"                     \
	"instant instant\n"                \
	"async enter scope <child> 4\n"    \
	"async begin left out <child> 5\n" \
	"async leave scope <child> 4\n"    \
	"end span\n"

TEST(annotate_sites_are_off_in_a_pause)
{
	expect("paused_sites",
	       "async begin over the pauses <child> 4\n" WORK WORK
	       "async end over the pauses <child> 4\n"
	       "async end over the pauses <child> 4\n");
	ck_assert_uint_eq(mini_slot(&g_mini, 0)->paused_spans, 0);
}

static void pause_sites(pid_t pid, uint32_t control)
{
	struct categories_shm *categories =
		(struct categories_shm *)((char *)g_mini.page +
					  ARENA_CATEGORIES);
	int status;

	ck_assert_int_eq(waitpid(pid, &status, WUNTRACED), pid);
	ck_assert_msg(WIFSTOPPED(status), "status %x", (unsigned int)status);
	g_mini.page->control = control;
	categories->changes += 2;
	kill(pid, SIGCONT);
}

TEST(annotate_sites_are_off_while_the_collector_pauses)
{
	pid_t pid = begin_victim("paused_by_collector");

	pause_sites(pid, CONTROL_PAUSED);
	pause_sites(pid, CONTROL_ON);
	end_victim(pid);
	say_ring(0);
	ck_assert_str_eq(g_out, WORK WORK);
	ck_assert_uint_eq(mini_slot(&g_mini, 0)->paused_spans, 0);
}

TEST(annotate_pauses_of_both_sides)
{
	pid_t pid = begin_victim("paused_by_two");

	stopped_once_more(pid, CONTROL_PAUSED);
	stopped_once_more(pid, CONTROL_ON);
	end_victim(pid);
	say_ring(0);
	ck_assert_ptr_eq(strstr(g_out, "instant after both\n"), g_out);
	ck_assert_ptr_null(strstr(g_out, "left out"));
	ck_assert_uint_eq(mini_slot(&g_mini, 0)->paused_spans, 1);
	g_length = 0;
	say_ring(1);
	ck_assert_str_eq(g_out, "kind 7\ninstant child\n");
}

/* Runs use the restartable sequence, or are dropped and counted. */
TEST(annotate_without_system_calls)
{
	const char *rseq = getenv("PERFREC_RSEQ");

	end_victim(begin_victim("no_syscalls"));
	say_ring(0);
	if (rseq)
		ck_assert_str_eq(g_out, "instant before\ninstant long\n");
	else
		ck_assert_str_eq(g_out,
				 "instant before\n"
				 "args n=I1\ninstant one\n"
				 "args text=S16/16:16 bytes or less\n"
				 "instant short\n"
				 "instant long\n"
				 "track <made 1> in <0> rank 0 made: \n");
	ck_assert_uint_eq(mini_slot(&g_mini, 0)->dropped_notes, rseq ? 4 : 1);
}

TEST(annotate_by_many_threads)
{
	static uint32_t id_of[64];
	uint32_t slot, members = 0, i;

	memset(id_of, 0, sizeof(id_of));
	end_victim(begin_victim("crowd"));
	for (slot = 0; slot < g_mini.hello.slot_count; slot++) {
		const struct record *ring = mini_ring(&g_mini, slot);
		uint64_t head = mini_slot(&g_mini, slot)->head, at;

		for (at = 0; at + 63 < head; at += 64, members++)
			for (i = 0; i < 64; i++) {
				uint64_t word = ring[at + i].word;

				ck_assert_int_eq(record_kind(word), RECORD_EXT);
				if (!members)
					id_of[i] = record_ext_value(word);
				ck_assert_uint_eq(record_ext_value(word),
						  id_of[i]);
			}
	}
	ck_assert_uint_eq(members, 6);
	ck_assert_str_eq(site_text(id_of[0], 0), "a/0/0");
	ck_assert_str_eq(site_text(id_of[63], 0), "d/3/3");
}

/* No record comes between an annotation and its arguments. */
TEST(annotate_in_a_signal_handler)
{
	const char *at = g_out;
	const char *one = "args text=S14/14:of some length\n"
			  "begin interrupted\n"
			  "args signal=Ia\n"
			  "begin in the handler\n"
			  "end in the handler\n"
			  "end interrupted\n";
	int i;

	end_victim(begin_victim("handler"));
	say_ring(0);
	for (i = 0; i < 100; i++) {
		ck_assert_int_eq(strncmp(at, one, strlen(one)), 0);
		at += strlen(one);
	}
	ck_assert_str_eq(at, "");
}

TEST(annotate_in_children)
{
	end_victim(begin_victim("forks"));
	say_ring(0);
	/* Kind 8: FORKING. */
	ck_assert_str_eq(g_out, "begin across fork\nkind 8\n"
				"end across fork\n");
	g_length = 0;
	say_ring(1);
	/* Kind 7: FORK. The child's end has no begin; replay withholds it. */
	ck_assert_str_eq(g_out, "kind 7\ninstant child\nend across fork\n");
}

TEST(annotate_before_main_and_after_exit)
{
	setenv("EARLY", "1", 1);
	end_victim(begin_victim("lives"));
	unsetenv("EARLY");
	say_ring(0);
	ck_assert_str_eq(g_out, "instant before main\ninstant at exit\n");
	g_length = 0;
	say_ring(1);
	/* The thread's own end may come before or after. */
	ck_assert_ptr_nonnull(strstr(g_out, "args used=I1\n"
					    "instant destructor\n"));
}

static struct categories_shm *categories(void)
{
	return (struct categories_shm *)((char *)g_mini.page +
					 ARENA_CATEGORIES);
}

/* @list is set before the answer to the hello, so before any site. */
static void expect_categories(const char *list, const char *expected)
{
	char *argv[] = { (char *)mini_build_path(
				 "tests/shim/victims/annotate_victim"),
			 "categories", NULL };
	struct wire_reply settings = { .on_full = WIRE_ON_FULL_BLOCK };
	pid_t pid;

	g_length = 0;
	g_out[0] = '\0';
	mini_collector_start(&g_mini);
	pid = mini_spawn(&g_mini, mini_build_path("libperfrec_preload.so"),
			 argv);
	mini_collector_accept(&g_mini, settings, CONTROL_HOLD);
	strcpy(categories()->text, list);
	categories()->changes = 2;
	atom_store_rel(&g_mini.page->control, CONTROL_ON);
	end_victim(pid);
	say_ring(0);
	ck_assert_str_eq(g_out, expected);
	mini_collector_stop(&g_mini);
}

FIXTURE(NULL, NULL);

TEST(annotate_categories_are_chosen)
{
#define TWICE(text) text text
#define DEBUG_LIVES "args lives=I0\ninstant net.debug\n"
	setenv("PERFREC_RING_KB", "64", 1);
	expect_categories("", TWICE("instant net\n" DEBUG_LIVES
				    "instant db\ninstant none\n"));
	setenv("OFF", "1", 1);
	/* Evaluating its value would abort. */
	expect_categories("net*,-net.debug", TWICE("instant net\n"));
	expect_categories("-net.*", TWICE("instant net\ninstant db\n"
					  "instant none\n"));
	/* An exact name beats a glob in any order. */
	expect_categories("-net.debug, *",
			  TWICE("instant net\ninstant db\ninstant none\n"));
	unsetenv("OFF");
	expect_categories("net.debug,-*", TWICE(DEBUG_LIVES));
	/* The last glob wins. */
	expect_categories("-n?t,n*", TWICE("instant net\n" DEBUG_LIVES));
	expect_categories("debug.*", TWICE("instant debug.net\n"));
	expect_categories(",,", TWICE("instant net\n" DEBUG_LIVES
				      "instant db\ninstant none\n"));
	expect_categories("nothing", "");
}

FIXTURE(NULL, stop_collector);

TEST(annotate_categories_change)
{
	pid_t pid;
	int status;

	setenv("CHANGES", "1", 1);
	pid = begin_victim("categories");
	ck_assert_int_eq(waitpid(pid, &status, WUNTRACED), pid);
	ck_assert(WIFSTOPPED(status));
	strcpy(categories()->text, "db");
	categories()->changes = 2;
	kill(pid, SIGCONT);
	end_victim(pid);
	unsetenv("CHANGES");
	say_ring(0);
	ck_assert_str_eq(g_out, "instant net\n" DEBUG_LIVES
				"instant db\ninstant none\ninstant db\n");
}

/* Sites without an id share "more sites", and are counted. */
TEST(annotate_without_ids)
{
	char *argv[] = { (char *)mini_build_path(
				 "tests/shim/victims/annotate_victim"),
			 "spans", NULL };
	struct wire_reply settings = { .on_full = WIRE_ON_FULL_BLOCK };
	pid_t pid;

	g_length = 0;
	mini_collector_start(&g_mini);
	pid = mini_spawn(&g_mini, mini_build_path("libperfrec_preload.so"),
			 argv);
	mini_collector_accept(&g_mini, settings, CONTROL_HOLD);
	g_mini.page->site_count = SITES_MAX - 3; /* one is left */
	atom_store_rel(&g_mini.page->control, CONTROL_ON);
	end_victim(pid);
	say_ring(0);
	ck_assert_str_eq(g_out, "begin scope\nbegin more sites\n"
				"end more sites\ninstant more sites\n"
				"end scope\n");
	ck_assert_uint_eq(g_mini.page->sites_lost, 2);
	ck_assert_uint_eq(g_mini.page->site_count, SITES_MAX - 2);
}

static void begin_suite(void)
{
	setenv("PERFREC_QUIET", "1", 1);
#ifdef WITHOUT_RSEQ
	setenv("PERFREC_RSEQ", "off", 1);
#else
	unsetenv("PERFREC_RSEQ");
#endif
}

SUITE(begin_suite, NULL);
