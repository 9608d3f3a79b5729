/* SPDX-License-Identifier: Apache-2.0
 *
 * Samples pass the queue and the sampler's thread into cpu.pb.gz. The totals
 * must be right in all cases. Stacks are frame pointers through addresses
 * without a module.
 */
#include "collector/samples/samples.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

#include "collector/base/budget.h"
#include "collector/base/jobs.h"
#include "collector/base/log.h"
#include "collector/files/recording_finish.h"
#include "collector/names/modules.h"
#include "collector/names/symbols.h"
#include "collector/options/collect_options.h"
#include "collector/profile/stacks.h"
#include "collector/record/collector.h"
#include "collector/record/recording.h"
#include "collector/samples/trace_stacks.h"
#include "tests/suite.h"
#include "tests/unit/profile_back.h"

#define FRAMES 6
#define STACK_TOP 0x7ffd00000000

static struct {
	struct collect_options options;
	struct collector collector;
	struct recording *recording;
	struct modules *modules;
	struct samples *samples;
	struct stacks *stacks;
	char dir[40], output[64];
	pb_profile *read;
} g;

static struct jobs_group g_endings;

static void set_up(void)
{
	g.options = (struct collect_options){ .output = g.output,
					      .cpu_hz = 100,
					      .sched = true,
					      .compress = COMPRESS_OFF,
					      .max_bytes = 64 << 20 };
	g.collector = (struct collector){ .options = &g.options };
	jobs_group_init(&g_endings);
	g.collector.endings = &g_endings;
	strcpy(g.dir, "/tmp/samples.XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(g.dir));
	snprintf(g.output, sizeof(g.output), "%s/data", g.dir);
	ck_assert_int_eq(symbol_cache_new(&g.collector.symbols), 0);
	ck_assert_int_eq(sampler_new(&g.collector.sampler), 0);
	ck_assert_int_eq(
		recording_new(&g.collector, g.output, true, &g.recording), 0);
	ck_assert_int_eq(modules_new(getpid(), getpid(), NULL,
				     g.collector.symbols, &g.modules),
			 0);
	ck_assert_int_eq(samples_new(g.collector.sampler, g.recording,
				     g.modules, 7, "process", &g.samples),
			 0);
}

static void tear_down(void)
{
	static const char *const files[] = { "trace.pftrace", "trace.index",
					     "wall.pb.gz",    "cpu.pb.gz",
					     "offcpu.pb.gz",  "summary.json" };
	char path[96];

	pb_free(&g.read);
	modules_put(&g.modules);
	symbol_cache_put(&g.collector.symbols);
	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		snprintf(path, sizeof(path), "%s/%s", g.output, files[i]);
		unlink(path);
	}
	rmdir(g.output);
	ck_assert_int_eq(rmdir(g.dir), 0);
}

static void finish_and_read(const char *name)
{
	int output_fd = open(g.output, O_RDONLY | O_DIRECTORY);

	samples_put(&g.samples);
	sampler_free(&g.collector.sampler);
	ck_assert_int_eq(recording_finish(g.recording), 0);
	recording_put(&g.recording);
	jobs_group_wait(&g_endings);
	g.read = pb_read(output_fd, name);
	close(output_fd);
}

static void finish(void)
{
	finish_and_read("cpu.pb.gz");
}

/* NULL: all functions */
static int64_t sum(const char *top, size_t value)
{
	int64_t all = 0;

	for (size_t i = 0; i < g.read->n_sample; i++) {
		const Perftools__Profiles__Sample *sample = g.read->sample[i];
		const Perftools__Profiles__Location *at =
			g.read->location[sample->location_id[0] - 1];
		uint64_t function = at->line[0]->function_id;

		if (!top ||
		    !strcmp(pb_string(g.read,
				      g.read->function[function - 1]->name),
			    top))
			all += sample->value[value];
	}
	return all;
}

static struct sample *plain_sample(uint32_t stack_bytes)
{
	struct sample *sample = sample_new(stack_bytes);

	ck_assert_ptr_nonnull(sample);
	sample->kind = SAMPLE_CPU;
	sample->tid = 8;
	strcpy(sample->thread, "thread");
	sample->ns = recording_setup(g.recording)->start_ns;
	sample->count = 1;
	sample->weight_ns = 10;
	return sample;
}

static struct sample *chain(uint64_t number)
{
	struct sample *sample = plain_sample(FRAMES * 16);
	uint64_t *word = (uint64_t *)(void *)sample->stack;

	for (int i = 0; i < FRAMES; i++, number /= 16) {
		bool last = i == FRAMES - 1;

		word[2 * i] = last ? 0 : STACK_TOP + 16 * (i + 1U);
		word[2 * i + 1] = 0x1000000 + number % 16 * 4096;
	}
	sample->reg[RECORD_REG_IP] = 0x2000000;
	sample->reg[RECORD_REG_SP] = STACK_TOP;
	sample->reg[RECORD_REG_FP] = STACK_TOP;
	return sample;
}

FIXTURE(set_up, tear_down);

TEST(samples_are_counted_by_thread_and_stack)
{
	for (uint64_t i = 0; i < 100; i++) {
		struct sample *sample = chain(i % 2);

		if (i % 4 == 0)
			strcpy(sample->thread, "other");
		ck_assert(samples_post(g.samples, sample));
	}
	finish();
	/* "other" has only even numbers */
	ck_assert_uint_eq(g.read->n_sample, 3);
	ck_assert_int_eq(sum(NULL, 0), 100);
	ck_assert_int_eq(sum(NULL, 1), 1000);
	ck_assert_uint_eq(g.read->sample[0]->n_location_id, FRAMES + 1);
	ck_assert_int_eq(g.read->period, 10000000);
	ck_assert(pb_has_comment(g.read,
				 "go through code without unwind tables"));
}

TEST(samples_without_stack_are_unknown)
{
	struct sample *sample = plain_sample(0);

	sample->kind = SAMPLE_KERNEL;
	samples_post(g.samples, sample);
	sample = plain_sample(0);
	sample->reg[RECORD_REG_IP] = (uintptr_t)plain_sample + 1;
	samples_post(g.samples, sample);
	samples_post(g.samples, plain_sample(0));
	finish();
	ck_assert_int_eq(sum("[kernel]", 0), 1);
	ck_assert_int_eq(sum("[unknown]", 0), 1);
	ck_assert_int_eq(sum("plain_sample", 0), 1);
	ck_assert(pb_has_comment(g.read, "2 samples had no stack"));
}

/* The address of function @name of this kernel; 0: not shown. */
static uint64_t kernel_address(const char *name)
{
	FILE *file = fopen("/proc/kallsyms", "re");
	unsigned long long address, found = 0;
	char line[512], word[512];

	while (file && fgets(line, sizeof(line), file))
		if (sscanf(line, "%llx %*c %511s", &address, word) == 2 &&
		    !strcmp(word, name))
			found = address;
	if (file)
		fclose(file);
	return found;
}

/* Below [kernel], the outermost first; [kernel] alone where there are no names.
 * The addresses of the kernel are in no file. */
TEST(samples_of_the_kernel_have_its_functions)
{
	const uint64_t inner = kernel_address("schedule");
	const uint64_t outer = kernel_address("do_syscall_64");
	const uint64_t stack[] = { inner + 5, outer + 9, 4 };
	const bool shown = inner && outer;

	for (int i = 0; i < 2; i++) {
		struct sample *sample = sample_new_kernel(0, stack, 3),
			      *usual = plain_sample(0);

		ck_assert_ptr_nonnull(sample);
		ck_assert_int_eq(sample->kind, SAMPLE_KERNEL);
		memcpy(sample, usual, offsetof(struct sample, stack_bytes));
		free(usual);
		sample->kind = SAMPLE_KERNEL;
		samples_post(g.samples, sample);
	}
	finish();
	ck_assert_uint_eq(g.read->n_sample, 1);
	ck_assert_uint_eq(g.read->sample[0]->n_location_id, shown ? 4 : 1);
	ck_assert_int_eq(sum(shown ? "schedule" : "[kernel]", 1), 20);
	for (size_t i = 0; shown && i < g.read->n_location; i++) {
		const Perftools__Profiles__Location *at = g.read->location[i];
		const char *name = pb_function_name(g.read, at->id);

		ck_assert_uint_eq(at->address, 0);
		ck_assert_int_eq(!at->mapping_id,
				 !strcmp(name, "[kernel]") ||
					 !strcmp(name, "[other stacks]"));
	}
	if (shown)
		ck_assert_str_eq(
			pb_string(g.read, g.read->mapping[0]->filename),
			"[kernel.kallsyms]");
}

static struct sample *new_wait(const char *object, uint64_t ns)
{
	struct sample *sample = sample_new_blocked(0, object);

	ck_assert_ptr_nonnull(sample);
	ck_assert_int_eq(sample->kind, SAMPLE_BLOCKED);
	ck_assert_str_eq(sample_object(sample), object);
	sample->tid = 8;
	strcpy(sample->thread, "thread");
	sample->reg[RECORD_REG_IP] = (uintptr_t)plain_sample + 1;
	sample->count = 1;
	sample->weight_ns = ns;
	return sample;
}

TEST(samples_of_waits_are_below_what_they_wait_on)
{
	char object[32];

	samples_post(g.samples, plain_sample(0));
	for (int i = 0; i < 100; i++) {
		snprintf(object, sizeof(object), "[pipe %d]", i % 2);
		ck_assert(samples_post(g.samples, new_wait(object, 1000)));
	}
	samples_count_unread(g.samples, SAMPLES_LEFT);
	samples_count_unread(g.samples, SAMPLES_REFUSED);
	finish_and_read("offcpu.pb.gz");
	/* Without the CPU sample. */
	ck_assert_int_eq(sum(NULL, 0), 100);
	ck_assert_int_eq(sum("[pipe 0]", 0), 50);
	ck_assert_int_eq(sum("[pipe 0]", 1), 50000);
	ck_assert_int_eq(sum("[pipe 1]", 1), 50000);
	/* There is no stack: object, function, "[unknown]". */
	ck_assert_uint_eq(g.read->sample[0]->n_location_id, 3);
	ck_assert(pb_has_comment(g.read, "1 wait was too short"));
	ck_assert(pb_has_comment(g.read,
				 "1 wait of processes that perfrec may not"));
}

TEST(samples_of_too_many_objects_are_of_others)
{
	char object[32];

	for (int i = 0; i < 10000; i++) {
		snprintf(object, sizeof(object), "[pipe %d]", i);
		samples_post(g.samples, new_wait(object, 1000));
		if (i % 1000 == 0)
			sampler_flush(g.collector.sampler, g.recording);
	}
	finish_and_read("offcpu.pb.gz");
	ck_assert_int_eq(sum(NULL, 0), 10000);
	ck_assert_int_eq(sum("[pipe 0]", 0), 1);
	ck_assert_int_eq(sum("[other objects]", 0), 10000 - 4096);
}

/* Holds the sampler's thread up until the test has posted enough. */
static pthread_mutex_t g_hold = PTHREAD_MUTEX_INITIALIZER;
static int g_taken;

static void take(void *context, const struct sample *sample, uint32_t stack)
{
	(void)context;
	(void)stack;
	ck_assert_int_eq(sample->kind,
			 g_taken % 2 ? SAMPLE_FREE : SAMPLE_ALLOC);
	g_taken++;
	pthread_mutex_lock(&g_hold);
	pthread_mutex_unlock(&g_hold);
}

TEST(samples_that_find_no_room_keep_the_total)
{
	enum { ALL = 3000, BLOCKS = 100 };
	int lost = 0;

	samples_take_blocks(g.samples, take, NULL);
	pthread_mutex_lock(&g_hold);
	for (int i = 0; i < BLOCKS; i++) {
		struct sample *sample = plain_sample(i % 2 ? 0 : 4096);

		sample->kind = i % 2 ? SAMPLE_FREE : SAMPLE_ALLOC;
		ck_assert(samples_post(g.samples, sample));
		if (i)
			continue;
		for (int j = 0; j < ALL; j++)
			lost += !samples_post(g.samples, plain_sample(16384));
	}
	/* A few of the blocks may get the remaining room. */
	ck_assert_uint_ge(samples_lost_stacks(g.samples), BLOCKS / 2 - 6);
	ck_assert_uint_lt(samples_lost_stacks(g.samples), BLOCKS / 2);
	pthread_mutex_unlock(&g_hold);
	/* The recording ends while samples wait. */
	finish();
	ck_assert_int_gt(lost, 0);
	ck_assert_int_eq(g_taken, BLOCKS);
	ck_assert_int_eq(sum(NULL, 0), ALL);
	ck_assert_int_eq(sum(NULL, 1), ALL * 10);
	ck_assert(pb_has_comment(g.read,
				 "came faster than perfrec could unwind"));
}

TEST(samples_of_a_million_stacks_keep_the_total, SLOW)
{
	enum { ALL = 1000000 };

	/* A small budget shows the effect on any machine. */
	recording_setup(g.recording)->budget->left = 24 << 20;
	for (uint64_t i = 0; i < ALL; i++) {
		samples_post(g.samples, chain(i));
		if (i % 50000 == 0)
			sampler_flush(g.collector.sampler, g.recording);
	}
	finish();
	ck_assert_int_eq(sum(NULL, 0), ALL);
	ck_assert_int_eq(sum(NULL, 1), ALL * 10LL);
	ck_assert_int_gt(sum("[other stacks]", 0), 0);
	ck_assert(pb_has_comment(g.read, "in [other stacks]: out of memory"));
}

/* Threads with more time than samples, without a total, without a sample. */
TEST(samples_are_scaled_to_what_their_thread_had)
{
	for (uint64_t i = 0; i < 100; i++) {
		struct sample *sample = chain(i % 4 == 0);

		if (i >= 80) {
			sample->tid = 9;
			strcpy(sample->thread, "other");
		}
		ck_assert(samples_post(g.samples, sample));
	}
	samples_total(g.samples, 8, 400);
	samples_total(g.samples, 8, 240);
	samples_total(g.samples, 10, 5000);
	samples_short(g.samples, 77, 0);
	finish();
	ck_assert_int_eq(sum(NULL, 0), 100);
	ck_assert_int_eq(sum("[short threads]", 1), 77);
	ck_assert_int_eq(sum(NULL, 1), 640 + 200 + 77);
	for (size_t i = 0; i < g.read->n_sample; i++)
		if (g.read->sample[i]->value[0] == 60)
			ck_assert_int_eq(g.read->sample[i]->value[1], 480);
}

/* Threads without samples used 90 ns, one with samples by shots 30 ns. A shot
 * hits one of them by chance. */
TEST(samples_by_shots_stand_for_threads_without_a_sample)
{
	for (uint64_t i = 0; i < 10; i++)
		ck_assert(samples_post(g.samples, chain(0)));
	samples_by_shots(g.samples, 8, 30);
	samples_short(g.samples, 50, 40);
	finish();
	ck_assert_int_eq(sum(NULL, 0), 10);
	ck_assert_int_eq(sum(NULL, 1), 120);
	ck_assert_int_eq(sum("[short threads]", 1), 0);
}

/* Ten samples of 10 ns stand for 200 ns at most. */
TEST(samples_by_shots_stand_for_twice_their_weight_at_most)
{
	for (uint64_t i = 0; i < 10; i++)
		ck_assert(samples_post(g.samples, chain(0)));
	samples_by_shots(g.samples, 8, 30);
	samples_short(g.samples, 500, 40);
	finish();
	ck_assert_int_eq(sum(NULL, 1), 570);
	ck_assert_int_eq(sum("[short threads]", 1), 370);
}

TEST(thread_with_usual_samples_stands_for_no_other)
{
	for (uint64_t i = 0; i < 10; i++)
		ck_assert(samples_post(g.samples, chain(0)));
	samples_total(g.samples, 8, 80);
	samples_by_shots(g.samples, 8, 30);
	samples_short(g.samples, 5, 0);
	finish();
	ck_assert_int_eq(sum(NULL, 1), 115);
	ck_assert_int_eq(sum("[short threads]", 1), 5);
}

/* The kernel moved their samples to other threads. */
TEST(samples_of_other_threads_stand_for_what_was_displaced)
{
	for (uint64_t i = 0; i < 10; i++)
		ck_assert(samples_post(g.samples, chain(0)));
	samples_total(g.samples, 8, 80);
	samples_short(g.samples, 5, 40);
	finish();
	ck_assert_int_eq(sum(NULL, 1), 125);
	ck_assert_int_eq(sum("[short threads]", 1), 5);
}

TEST(sampler_flush_waits_for_what_was_posted)
{
	for (uint64_t i = 0; i < 1000; i++)
		samples_post(g.samples, chain(i));
	sampler_flush(g.collector.sampler, g.recording);
	ck_assert_uint_gt(stacks_count(samples_stacks(g.samples)), 1000);
	finish();
	ck_assert_int_eq(sum(NULL, 0), 1000);
}

TEST(samples_of_another_recording_wait_for_their_own_files_only)
{
	struct recording *other;
	struct samples *samples;
	char path[96];

	snprintf(path, sizeof(path), "%s/other", g.dir);
	ck_assert_int_eq(recording_new(&g.collector, path, true, &other), 0);
	ck_assert_int_eq(samples_new(g.collector.sampler, other, g.modules, 9,
				     "other", &samples),
			 0);
	samples_take_blocks(g.samples, take, NULL);
	pthread_mutex_lock(&g_hold);
	for (int i = 0; i < 2; i++) {
		struct sample *sample = plain_sample(i ? 0 : 4096);

		sample->kind = i ? SAMPLE_FREE : SAMPLE_ALLOC;
		ck_assert(samples_post(g.samples, sample));
	}
	for (uint64_t i = 0; i < 100; i++)
		ck_assert(samples_post(samples, chain(i)));
	sampler_flush(g.collector.sampler, other);
	ck_assert_uint_gt(stacks_count(samples_stacks(samples)), 100);
	samples_put(&samples);
	sampler_rest(g.collector.sampler, other);
	pthread_mutex_unlock(&g_hold);
	recording_discard(other);
	recording_put(&other);
	finish();
	ck_assert_int_eq(g_taken, 2);
}

static void keep_stack(void *context, const struct sample *sample,
		       uint32_t stack)
{
	(void)sample;
	*(uint32_t *)context = stack;
}

/* Returns true if the trace has a function without a name at @address. */
static bool trace_has_address(uint64_t address)
{
	static char trace[1 << 20];
	char path[96], name[32];
	ssize_t bytes;
	int fd;

	snprintf(path, sizeof(path), "%s/trace.pftrace", g.output);
	snprintf(name, sizeof(name), "0x%llx", (unsigned long long)address);
	fd = open(path, O_RDONLY);
	bytes = read(fd, trace, sizeof(trace));
	close(fd);
	ck_assert_int_gt(bytes, 0);
	return memmem(trace, (size_t)bytes, name, strlen(name));
}

/* The frames with its ids are for profiles: their addresses are texts. */
TEST(trace_of_a_stack_has_no_frame_for_its_request)
{
	const uint64_t ip = 0x123456789;
	struct stacks *stacks = samples_stacks(g.samples);
	struct sample *sample = plain_sample(0);
	uint32_t stack = STACKS_ROOT, root;
	struct trace_stacks *trace;
	struct stack_frame label;

	samples_take_blocks(g.samples, keep_stack, &stack);
	sample->kind = SAMPLE_ALLOC;
	sample->reg[RECORD_REG_IP] = ip;
	sample->request.trace[0] = 1;
	ck_assert(samples_post(g.samples, sample));
	sampler_flush(g.collector.sampler, g.recording);
	for (root = stack; stacks_parent(stacks, root) != STACKS_ROOT;)
		root = stacks_parent(stacks, root);
	label = stacks_frame(stacks, root);
	ck_assert_uint_eq(label.kind, FRAME_LABEL);
	ck_assert_int_eq(
		trace_stacks_new(g.recording, g.modules, stacks, 7, &trace), 0);
	ck_assert_uint_eq(trace_stacks_iid(trace, stack), stack);
	trace_stacks_free(&trace);
	finish();
	ck_assert(trace_has_address(ip));
	ck_assert(!trace_has_address(label.address));
}

static void begin_suite(void)
{
	log_init("test_samples", LOG_ERR);
}

SUITE(begin_suite, NULL);
