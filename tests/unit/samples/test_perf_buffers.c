/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads buffers that the test fills like the kernel, correctly or not. No
 * kernel buffer is opened.
 */
#include "collector/samples/perf_buffers.h"

#include <linux/perf_event.h>
#include <sys/mman.h>
#include <unistd.h>

#include "collector/samples/perf_record.h"
#include "tests/suite.h"

#define BUFFERS 5
#define DATA_BYTES 8192u
#define ID 0x1122334455667788u

/* --- the kernel's side --------------------------------------------------- */

static struct perf_buffers g_buffers;
static struct perf_buffer g_buffer[BUFFERS];
static struct perf_cursor g_cursor[BUFFERS];
static uint8_t g_scratch[65536];

static size_t page_bytes(void)
{
	return (size_t)sysconf(_SC_PAGESIZE);
}

static void setup(void)
{
	g_buffers = (struct perf_buffers){ .buffer = g_buffer,
					   .count = BUFFERS,
					   .bytes = DATA_BYTES,
					   .epoll = -1,
					   .cursor = g_cursor,
					   .scratch = g_scratch };
	for (int i = 0; i < BUFFERS; i++) {
		void *page = mmap(NULL, page_bytes() + DATA_BYTES,
				  PROT_READ | PROT_WRITE,
				  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		ck_assert_ptr_ne(page, MAP_FAILED);
		g_buffer[i] =
			(struct perf_buffer){ .cpu = i,
					      .fd = -1,
					      .page = page,
					      .data = (const uint8_t *)page +
						      page_bytes() };
	}
}

static void teardown(void)
{
	for (int i = 0; i < BUFFERS; i++)
		munmap(g_buffer[i].page, page_bytes() + DATA_BYTES);
}

struct made {
	uint8_t bytes[4096];
	size_t count;
};

static struct made begin(uint32_t type, uint16_t misc)
{
	struct perf_event_header header = { .type = type, .misc = misc };
	struct made made = { .count = sizeof(header) };

	memcpy(made.bytes, &header, sizeof(header));
	return made;
}

static void add(struct made *made, const void *bytes, size_t count)
{
	memcpy(made->bytes + made->count, bytes, count);
	made->count += count;
}

static void add_u64(struct made *made, uint64_t value)
{
	add(made, &value, sizeof(value));
}

static void add_ids(struct made *made, int32_t first, int32_t second)
{
	add(made, &first, sizeof(first));
	add(made, &second, sizeof(second));
}

/* sample_id_all puts this behind all records except samples. */
static void add_trailer_at(struct made *made, uint64_t ns)
{
	add_ids(made, 70, 71);
	add_u64(made, ns);
	add_u64(made, ID);
}

static void add_trailer(struct made *made)
{
	add_trailer_at(made, 5000);
}

static void set_size(struct made *made, size_t size)
{
	struct perf_event_header header;

	memcpy(&header, made->bytes, sizeof(header));
	header.size = (uint16_t)size;
	memcpy(made->bytes, &header, sizeof(header));
}

static void write_bytes(int i, const uint8_t *bytes, size_t count)
{
	struct perf_event_mmap_page *page = g_buffer[i].page;
	uint8_t *data = (uint8_t *)page + page_bytes();

	for (size_t n = 0; n < count; n++)
		data[(page->data_head + n) & (g_buffers.bytes - 1)] = bytes[n];
	page->data_head += count;
}

static void write_record(int i, struct made *made)
{
	set_size(made, made->count);
	write_bytes(i, made->bytes, made->count);
}

static void write_exit_at(int i, int32_t pid, uint64_t ns)
{
	struct made made = begin(PERF_RECORD_EXIT, 0);

	add_ids(&made, pid, 1);
	add_ids(&made, pid + 1, 2);
	add_u64(&made, ns);
	add_trailer_at(&made, ns);
	write_record(i, &made);
}

static void write_exit(int i, int32_t pid)
{
	write_exit_at(i, pid, 5000);
}

/* The first part of a sample with @count addresses of the kernel's stack at
 * @chain; the rest depends on @abi. */
static struct made begin_chain_sample(uint16_t misc, uint64_t abi,
				      const uint64_t *chain, uint64_t count)
{
	struct made made = begin(PERF_RECORD_SAMPLE, misc);

	add_u64(&made, ID);
	add_u64(&made, 0xdead); /* ip */
	add_ids(&made, 80, 81);
	add_u64(&made, 6000);
	add_u64(&made, count);
	add(&made, chain, count * sizeof(*chain));
	add_u64(&made, abi);
	return made;
}

static struct made begin_sample(uint16_t misc, uint64_t abi)
{
	return begin_chain_sample(misc, abi, (const uint64_t[]){ 0 }, 0);
}

static void add_regs(struct made *made)
{
	for (uint64_t i = 0; i < RECORD_REGS; i++)
		add_u64(made, 100 + i);
}

/* Adds @asked bytes of stack and claims that @used were copied. */
static void add_stack(struct made *made, size_t asked, uint64_t used)
{
	uint8_t stack[1024];

	for (size_t i = 0; i < asked; i++)
		stack[i] = (uint8_t)(i * 7 + 3);
	add_u64(made, asked);
	add(made, stack, asked);
	add_u64(made, used);
}

static bool is_stack(const uint8_t *stack, size_t bytes)
{
	for (size_t i = 0; i < bytes; i++)
		if (stack[i] != (uint8_t)(i * 7 + 3))
			return false;
	return true;
}

/* --- results ------------------------------------------------------------- */

#define SEEN_MAX 64

static struct seen {
	struct perf_record record[SEEN_MAX];
	bool stack_is_right[SEEN_MAX];
	char name[SEEN_MAX][32];
	size_t count;
} g_seen;

static void see(void *context, const struct perf_record *record)
{
	struct seen *seen = context;
	size_t i = seen->count++;

	ck_assert_uint_lt(i, SEEN_MAX);
	seen->record[i] = *record;
	seen->stack_is_right[i] = is_stack(record->stack, record->stack_bytes);
	if (record->name)
		snprintf(seen->name[i], sizeof(seen->name[i]), "%s",
			 record->name);
}

static size_t read_until(uint64_t until_ns)
{
	g_seen = (struct seen){ 0 };
	perf_buffers_read(&g_buffers, until_ns, see, &g_seen);
	return g_seen.count;
}

static size_t read_all(void)
{
	read_until(UINT64_MAX);
	for (int i = 0; i < BUFFERS; i++)
		ck_assert_uint_eq(g_buffer[i].page->data_tail,
				  g_buffer[i].page->data_head);
	return g_seen.count;
}

/* --- records ------------------------------------------------------------- */

FIXTURE(setup, teardown);

TEST(sample_of_a_program_has_registers_and_stack)
{
	struct made made =
		begin_sample(PERF_RECORD_MISC_USER, PERF_SAMPLE_REGS_ABI_64);
	const struct perf_record *record = &g_seen.record[0];

	add_regs(&made);
	add_stack(&made, 1024, 1000);
	write_record(0, &made);
	ck_assert_uint_eq(read_all(), 1);
	ck_assert_uint_eq(record->type, PERF_RECORD_SAMPLE);
	ck_assert_uint_eq(record->id, ID);
	ck_assert_int_eq(record->pid, 80);
	ck_assert_int_eq(record->tid, 81);
	ck_assert_uint_eq(record->ns, 6000);
	ck_assert(!record->in_kernel);
	ck_assert(record->has_user);
	ck_assert_uint_eq(record->stack_asked, 1024);
	ck_assert_uint_eq(record->stack_bytes, 1000);
	ck_assert(g_seen.stack_is_right[0]);
#if defined(__x86_64__)
	/* The kernel writes ax bx cx dx si di bp sp ip, then r8 to r15. */
	ck_assert_uint_eq(record->reg[0], 100); /* DWARF: ax dx cx bx */
	ck_assert_uint_eq(record->reg[1], 103);
	ck_assert_uint_eq(record->reg[2], 102);
	ck_assert_uint_eq(record->reg[3], 101);
	ck_assert_uint_eq(record->reg[4], 104); /* si di bp sp */
	ck_assert_uint_eq(record->reg[5], 105);
	ck_assert_uint_eq(record->reg[6], 106);
	ck_assert_uint_eq(record->reg[7], 107);
	ck_assert_uint_eq(record->reg[8], 109); /* r8 */
	ck_assert_uint_eq(record->reg[15], 116);
	ck_assert_uint_eq(record->reg[16], 108); /* ip */
#endif
}

TEST(sample_in_the_kernel_says_so)
{
	struct made made =
		begin_sample(PERF_RECORD_MISC_KERNEL, PERF_SAMPLE_REGS_ABI_64);

	add_regs(&made);
	add_stack(&made, 64, 64);
	write_record(0, &made);
	/* a kernel thread has no user registers */
	made = begin_sample(PERF_RECORD_MISC_KERNEL, PERF_SAMPLE_REGS_ABI_NONE);
	add_u64(&made, 0);
	write_record(0, &made);
	ck_assert_uint_eq(read_all(), 2);
	ck_assert(g_seen.record[0].in_kernel);
	ck_assert(g_seen.record[0].has_user);
	ck_assert_uint_eq(g_seen.record[0].stack_bytes, 64);
	ck_assert(g_seen.record[1].in_kernel);
	ck_assert(!g_seen.record[1].has_user);
	ck_assert_uint_eq(g_seen.record[1].stack_bytes, 0);
}

TEST(sample_in_the_kernel_has_its_stack)
{
	static const uint64_t chain[] = {
		PERF_CONTEXT_KERNEL, 0xffffffff81000010, 0xffffffff81000200,
		0xffffffff81000f00,  PERF_CONTEXT_USER,	 0x401000
	};
	struct made made = begin_chain_sample(PERF_RECORD_MISC_KERNEL,
					      PERF_SAMPLE_REGS_ABI_64, chain,
					      ARRAY_SIZE(chain));

	add_regs(&made);
	add_stack(&made, 64, 64);
	write_record(0, &made);
	/* A stack of the host's guest only. */
	made = begin_chain_sample(
		PERF_RECORD_MISC_KERNEL, PERF_SAMPLE_REGS_ABI_NONE,
		(const uint64_t[]){ PERF_CONTEXT_GUEST_KERNEL, 7 }, 2);
	add_u64(&made, 0);
	write_record(0, &made);
	ck_assert_uint_eq(read_all(), 2);
	ck_assert_uint_eq(g_seen.record[0].kernel_count, 3);
	ck_assert_mem_eq(g_seen.record[0].kernel, chain + 1,
			 3 * sizeof(*chain));
	ck_assert_uint_eq(g_seen.record[0].stack_bytes, 64);
	ck_assert(g_seen.stack_is_right[0]);
	ck_assert_uint_eq(g_seen.record[1].kernel_count, 0);
}

TEST(sample_of_32_bits_has_no_stack)
{
	struct made made =
		begin_sample(PERF_RECORD_MISC_USER, PERF_SAMPLE_REGS_ABI_32);

	add_regs(&made);
	add_stack(&made, 64, 64);
	write_record(0, &made);
	ck_assert_uint_eq(read_all(), 1);
	ck_assert_int_eq(g_seen.record[0].tid, 81);
	ck_assert(!g_seen.record[0].has_user);
	ck_assert_uint_eq(g_seen.record[0].stack_bytes, 0);
}

TEST(stack_that_claims_more_than_was_asked_is_cut)
{
	struct made made =
		begin_sample(PERF_RECORD_MISC_USER, PERF_SAMPLE_REGS_ABI_64);

	add_regs(&made);
	add_stack(&made, 64, UINT64_MAX);
	write_record(0, &made);
	ck_assert_uint_eq(read_all(), 1);
	ck_assert_uint_eq(g_seen.record[0].stack_bytes, 64);
	ck_assert(g_seen.stack_is_right[0]);
}

TEST(lost_records_are_counted)
{
	struct made made = begin(PERF_RECORD_LOST, 0);

	add_u64(&made, ID + 1);
	add_u64(&made, 1234);
	add_trailer(&made);
	write_record(0, &made);
	ck_assert_uint_eq(read_all(), 1);
	ck_assert_uint_eq(g_seen.record[0].type, PERF_RECORD_LOST);
	ck_assert_uint_eq(g_seen.record[0].value, 1234);
	ck_assert_uint_eq(g_seen.record[0].ns, 5000);
	ck_assert_int_eq(g_seen.record[0].tid, 71);
}

TEST(names_are_told_with_whether_exec_gave_them)
{
	struct made made = begin(PERF_RECORD_COMM, 0);

	add_ids(&made, 80, 81);
	add(&made, "worker\0\0", 8);
	add_trailer(&made);
	write_record(0, &made);
	made = begin(PERF_RECORD_COMM, PERF_RECORD_MISC_COMM_EXEC);
	add_ids(&made, 82, 82);
	add(&made, "program", 8);
	add_trailer(&made);
	write_record(0, &made);
	ck_assert_uint_eq(read_all(), 2);
	ck_assert_str_eq(g_seen.name[0], "worker");
	ck_assert(!g_seen.record[0].exec);
	ck_assert_int_eq(g_seen.record[0].pid, 80);
	ck_assert_int_eq(g_seen.record[0].tid, 81);
	ck_assert_str_eq(g_seen.name[1], "program");
	ck_assert(g_seen.record[1].exec);
}

TEST(fork_and_exit_tell_both_threads)
{
	struct made made = begin(PERF_RECORD_FORK, 0);

	add_ids(&made, 90, 80);
	add_ids(&made, 91, 81);
	add_u64(&made, 5000);
	add_trailer(&made);
	write_record(0, &made);
	write_exit(0, 90);
	ck_assert_uint_eq(read_all(), 2);
	ck_assert_uint_eq(g_seen.record[0].type, PERF_RECORD_FORK);
	ck_assert_int_eq(g_seen.record[0].pid, 90);
	ck_assert_int_eq(g_seen.record[0].parent_pid, 80);
	ck_assert_int_eq(g_seen.record[0].tid, 91);
	ck_assert_int_eq(g_seen.record[0].parent_tid, 81);
	ck_assert_uint_eq(g_seen.record[1].type, PERF_RECORD_EXIT);
	ck_assert_int_eq(g_seen.record[1].pid, 90);
	ck_assert_int_eq(g_seen.record[1].tid, 91);
}

TEST(counts_are_told_with_their_event)
{
	struct made made = begin(PERF_RECORD_READ, 0);

	add_ids(&made, 80, 81);
	add_u64(&made, 777);
	add_u64(&made, 99); /* differs from the trailer's */
	add_trailer(&made);
	write_record(0, &made);
	ck_assert_uint_eq(read_all(), 1);
	ck_assert_int_eq(g_seen.record[0].tid, 81);
	ck_assert_uint_eq(g_seen.record[0].value, 777);
	ck_assert_uint_eq(g_seen.record[0].id, 99);
}

TEST(other_records_are_passed_over)
{
	struct made made = begin(PERF_RECORD_MMAP2, 0);

	add_stack(&made, 200, 0);
	add_trailer(&made);
	write_record(0, &made);
	made = begin(12345, 0);
	write_record(0, &made);
	write_exit(0, 90);
	ck_assert_uint_eq(read_all(), 1);
	ck_assert_uint_eq(g_seen.record[0].type, PERF_RECORD_EXIT);
}

/* --- the ring ------------------------------------------------------------ */

TEST(records_go_round_the_end_of_the_buffer)
{
	uint32_t wrapped = 0;

	/* 1,000 and 8,192 share the factor 8, so each position occurs */
	for (int i = 0; i < 2000; i++) {
		struct made made = begin_sample(PERF_RECORD_MISC_USER,
						PERF_SAMPLE_REGS_ABI_64);
		uint64_t at = g_buffer[0].page->data_head & (DATA_BYTES - 1);

		add_regs(&made);
		add_stack(&made, 1000 - 208, 1000 - 208);
		ck_assert_uint_eq(made.count, 1000);
		write_record(0, &made);
		wrapped += at + made.count > DATA_BYTES;
		ck_assert_uint_eq(read_all(), 1);
		ck_assert_uint_eq(g_seen.record[0].stack_bytes, 792);
		ck_assert(g_seen.stack_is_right[0]);
		ck_assert_uint_eq(g_seen.record[0].reg[0], 100);
	}
	ck_assert_uint_gt(wrapped, 200);
}

static void write_name(int i, int32_t pid)
{
	struct made made = begin(PERF_RECORD_COMM, 0);

	add_ids(&made, pid, pid);
	add(&made, "a name of 24 bytes.....", 24);
	add_trailer(&made);
	write_record(i, &made);
}

TEST(full_buffer_is_read_to_its_last_record)
{
	g_buffers.bytes = 32 * 64;
	/* wraps around from the second position */
	write_name(0, 1);
	ck_assert_uint_eq(read_all(), 1);
	for (int i = 0; i < 32; i++)
		write_name(0, 1000 + i);
	ck_assert_uint_eq(g_buffer[0].page->data_head -
				  g_buffer[0].page->data_tail,
			  g_buffers.bytes);
	ck_assert_uint_eq(read_all(), 33);
	for (int i = 0; i < 32; i++)
		ck_assert_int_eq(g_seen.record[i].pid, 1000 + i);
	/* a full buffer may have lost records that the kernel cannot report */
	ck_assert_uint_eq(g_seen.record[32].type, PERF_RECORD_LOST);
	ck_assert_uint_eq(g_seen.record[32].before_ns, 5000);
	ck_assert_uint_eq(g_seen.record[32].value, 0);
	write_name(0, 1);
	ck_assert_uint_eq(read_all(), 1);
}

/* Fills the buffer during the first record, as the kernel may. */
static void fill_and_see(void *context, const struct perf_record *record)
{
	for (int i = 0; record->pid == 1 && i < 30; i++)
		write_name(0, 1000 + i);
	see(context, record);
}

TEST(buffer_that_fills_while_it_is_read_has_lost_something)
{
	g_buffers.bytes = 32 * 64;
	write_name(0, 1);
	write_name(0, 2);
	g_seen.count = 0;
	perf_buffers_read(&g_buffers, UINT64_MAX, fill_and_see, &g_seen);
	ck_assert_uint_eq(g_seen.count, 2);
	/* The buffer was full meanwhile. */
	ck_assert_uint_eq(read_all(), 31);
	ck_assert_int_eq(g_seen.record[29].pid, 1029);
	ck_assert_uint_eq(g_seen.record[30].type, PERF_RECORD_LOST);
	ck_assert_uint_eq(read_all(), 0);
}

TEST(all_buffers_are_read)
{
	ck_assert(!perf_buffers_ready(&g_buffers));
	write_exit(1, 20);
	ck_assert(perf_buffers_ready(&g_buffers));
	write_exit(0, 10);
	write_exit(1, 21);
	ck_assert_uint_eq(read_all(), 3);
	ck_assert_int_eq(g_seen.record[0].pid, 10);
	ck_assert_int_eq(g_seen.record[1].pid, 20);
	ck_assert_int_eq(g_seen.record[2].pid, 21);
	ck_assert(!perf_buffers_ready(&g_buffers));
	ck_assert_uint_eq(read_all(), 0);
}

/* A sample has its time at another place than other records. */
static void write_sample_at(int i, uint64_t ns)
{
	struct made made = begin(PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER);

	add_u64(&made, ID);
	add_u64(&made, 0x401000);
	add_ids(&made, (int32_t)ns, 1);
	add_u64(&made, ns);
	add_u64(&made, 0); /* no stack of the kernel */
	add_u64(&made, PERF_SAMPLE_REGS_ABI_NONE);
	add_u64(&made, 0);
	write_record(i, &made);
}

TEST(records_of_all_cpus_come_in_the_order_of_their_times)
{
	static const struct {
		int cpu;
		uint64_t ns;
		bool is_sample;
	} written[] = {
		{ 0, 100, false }, { 0, 900, true },  { 1, 50, true },
		{ 1, 200, false }, { 1, 201, false }, { 1, 1000, true },
		{ 3, 10, false },  { 3, 20, true },   { 3, 30, false },
		{ 3, 40, false },  { 4, 150, true },  { 4, 899, false },
		{ 4, 901, true },
	};
	uint64_t before[BUFFERS] = { 0 };

	for (size_t i = 0; i < ARRAY_SIZE(written); i++)
		if (written[i].is_sample)
			write_sample_at(written[i].cpu, written[i].ns);
		else
			write_exit_at(written[i].cpu, (int32_t)written[i].ns,
				      written[i].ns);
	ck_assert_uint_eq(read_all(), ARRAY_SIZE(written));
	for (size_t i = 0; i < ARRAY_SIZE(written); i++) {
		const struct perf_record *record = &g_seen.record[i];

		ck_assert_uint_eq(record->ns, (uint64_t)record->pid);
		if (i)
			ck_assert_uint_ge(record->ns, record[-1].ns);
		ck_assert_uint_eq(record->before_ns, before[record->cpu]);
		before[record->cpu] = record->ns;
	}
}

/* A nested record may lie behind a record with a later time. */
TEST(records_of_a_cpu_stay_in_their_order)
{
	write_exit_at(0, 1, 100);
	write_exit_at(0, 2, 300);
	write_exit_at(0, 3, 250);
	write_exit_at(1, 4, 260);
	write_exit_at(1, 5, 310);
	ck_assert_uint_eq(read_all(), 5);
	ck_assert_int_eq(g_seen.record[0].pid, 1);
	ck_assert_int_eq(g_seen.record[1].pid, 4);
	ck_assert_int_eq(g_seen.record[2].pid, 2);
	ck_assert_int_eq(g_seen.record[3].pid, 3);
	ck_assert_int_eq(g_seen.record[4].pid, 5);
	/* The record before it had the latest time so far. */
	ck_assert_uint_eq(g_seen.record[3].before_ns, 300);
}

TEST(records_later_than_asked_for_stay)
{
	write_exit_at(0, 1, 100);
	write_exit_at(0, 2, 200);
	write_exit_at(1, 3, 150);
	write_exit_at(1, 4, 151);
	ck_assert_uint_eq(read_until(99), 0);
	ck_assert_uint_eq(read_until(150), 2);
	ck_assert_int_eq(g_seen.record[1].pid, 3);
	ck_assert(perf_buffers_ready(&g_buffers));
	ck_assert_uint_eq(read_until(199), 1);
	ck_assert_uint_eq(read_until(200), 1);
	ck_assert_int_eq(g_seen.record[0].pid, 2);
	ck_assert_uint_eq(g_seen.record[0].before_ns, 100);
	ck_assert(!perf_buffers_ready(&g_buffers));
}

/* --- kernel bugs --------------------------------------------------------- */

/* The next valid record must be read after any damage. */
static void expect_next_is_read(void)
{
	write_exit(0, 42);
	ck_assert_uint_eq(read_all(), 1);
	ck_assert_int_eq(g_seen.record[0].pid, 42);
}

TEST(size_of_nonsense_ends_the_reading)
{
	static const size_t sizes[] = { 0, 4, 7, 4096, 65535 };

	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		struct made made = begin_sample(PERF_RECORD_MISC_USER,
						PERF_SAMPLE_REGS_ABI_64);

		write_exit(0, 41);
		add_regs(&made);
		add_stack(&made, 64, 64);
		set_size(&made, sizes[i]);
		write_bytes(0, made.bytes, made.count);
		write_exit(0, 43);
		/* the size hides the start of the third */
		ck_assert_uint_eq(read_all(), 1);
		ck_assert_int_eq(g_seen.record[0].pid, 41);
		expect_next_is_read();
	}
}

TEST(head_of_nonsense_is_believed_for_nothing)
{
	struct perf_event_mmap_page *page = g_buffer[0].page;

	write_exit(0, 41);
	page->data_head = page->data_tail + DATA_BYTES + 8;
	ck_assert_uint_eq(read_all(), 0);
	expect_next_is_read();
	page->data_head -= 64; /* moves backwards */
	ck_assert_uint_eq(read_all(), 0);
	expect_next_is_read();
	page->data_head += 4; /* less than a header */
	ck_assert_uint_eq(read_all(), 0);
	page->data_head += 4; /* records are aligned to 8 bytes */
	ck_assert_uint_eq(read_all(), 0);
	expect_next_is_read();
	page->data_head = UINT64_MAX - 7;
	ck_assert_uint_eq(read_all(), 0);
	/* the head wraps through 0 */
	expect_next_is_read();
	ck_assert_uint_lt(page->data_head, DATA_BYTES);
}

TEST(record_that_is_too_short_is_passed_over)
{
	struct made made =
		begin_sample(PERF_RECORD_MISC_USER, PERF_SAMPLE_REGS_ABI_64);

	/* no stack */
	add_regs(&made);
	write_record(0, &made);
	/* half of the registers */
	made = begin_sample(PERF_RECORD_MISC_USER, PERF_SAMPLE_REGS_ABI_64);
	add_u64(&made, 1);
	write_record(0, &made);
	/* more stack than present */
	made = begin_sample(PERF_RECORD_MISC_USER, PERF_SAMPLE_REGS_ABI_64);
	add_regs(&made);
	add_u64(&made, 1024);
	write_record(0, &made);
	/* more of the kernel's stack than present */
	for (uint64_t count = 1; count; count *= 8) {
		made = begin_sample(PERF_RECORD_MISC_KERNEL, 0);
		memcpy(made.bytes + made.count - 16, &count, sizeof(count));
		write_record(0, &made);
	}
	/* no trailer */
	made = begin(PERF_RECORD_EXIT, 0);
	add_ids(&made, 1, 1);
	write_record(0, &made);
	/* only a trailer */
	made = begin(PERF_RECORD_FORK, 0);
	add_trailer(&made);
	write_record(0, &made);
	/* an unterminated name */
	made = begin(PERF_RECORD_COMM, 0);
	add_ids(&made, 80, 81);
	add(&made, "endless!", 8);
	add_trailer(&made);
	write_record(0, &made);
	write_exit(0, 42);
	ck_assert_uint_eq(read_all(), 1);
	ck_assert_int_eq(g_seen.record[0].pid, 42);
}

static void write_counted(int i, uint64_t ns, uint64_t value)
{
	struct made made = begin(PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER);

	add_u64(&made, ID);
	add_u64(&made, 0x4000); /* its address */
	add_ids(&made, 80, 81);
	add_u64(&made, ns);
	add_u64(&made, value);
	write_record(i, &made);
}

TEST(counted_tells_how_many_and_in_which_thread)
{
	write_counted(0, 20, 1000003);
	write_exit_at(1, 42, 10);
	write_exit_at(1, 43, 30);
	ck_assert_uint_eq(read_all(), 3);
	ck_assert(!g_seen.record[0].counted);
	ck_assert(g_seen.record[1].counted);
	ck_assert_uint_eq(g_seen.record[1].type, PERF_RECORD_SAMPLE);
	ck_assert_uint_eq(g_seen.record[1].id, ID);
	ck_assert_int_eq(g_seen.record[1].pid, 80);
	ck_assert_int_eq(g_seen.record[1].tid, 81);
	ck_assert_uint_eq(g_seen.record[1].ns, 20);
	ck_assert_uint_eq(g_seen.record[1].value, 1000003);
	ck_assert_int_eq(g_seen.record[2].pid, 43);
}

/* A thread that ends has no user registers, and records as short as a waking. */
TEST(short_stack_of_the_kernel_is_no_waking)
{
	const uint64_t chain[] = { PERF_CONTEXT_KERNEL, 0xffffffff81000010,
				   0xffffffff81000020,	0xffffffff81000030,
				   0xffffffff81000040,	0xffffffff81000050 };

	for (uint64_t count = 1; count <= ARRAY_SIZE(chain); count++) {
		struct made made = begin_chain_sample(PERF_RECORD_MISC_KERNEL,
						      0, chain, count);

		add_u64(&made, 0); /* no stack of the program */
		write_record(0, &made);
		ck_assert_uint_eq(read_all(), 1);
		ck_assert(g_seen.record[0].in_kernel);
		ck_assert_int_eq(g_seen.record[0].woken_tid, 0);
		ck_assert_uint_eq(g_seen.record[0].kernel_count, count - 1);
	}
}

TEST(waking_tells_who_woke_whom)
{
	struct made made = begin(PERF_RECORD_SAMPLE, PERF_RECORD_MISC_KERNEL);
	uint8_t raw[36] = { 0 };
	const uint32_t bytes = sizeof(raw);
	const int32_t woken = 90;

	add_u64(&made, ID);
	add_u64(&made, 0x4000);
	add_ids(&made, 80, 81);
	add_u64(&made, 20);
	add(&made, &bytes, sizeof(bytes));
	memcpy(raw + 24, &woken, sizeof(woken));
	raw[2] = 1; /* interrupts are off, and it is not one */
	add(&made, raw, sizeof(raw));
	write_record(0, &made);
	made.bytes[44 + 2] = 0x10; /* in a soft interrupt */
	write_record(0, &made);
	ck_assert_uint_eq(read_all(), 2);
	for (int i = 0; i < 2; i++) {
		ck_assert_int_eq(g_seen.record[i].woken_tid, 90);
		ck_assert_int_eq(g_seen.record[i].pid, 80);
		ck_assert_int_eq(g_seen.record[i].tid, 81);
		ck_assert_uint_eq(g_seen.record[i].ns, 20);
		ck_assert_int_eq(g_seen.record[i].in_interrupt, i);
	}
}

static void write_switch(int i, uint16_t misc, uint64_t ns)
{
	struct made made = begin(PERF_RECORD_SWITCH, misc);

	add_trailer_at(&made, ns);
	write_record(i, &made);
}

TEST(switches_tell_who_left_or_came_and_why)
{
	write_switch(0, PERF_RECORD_MISC_SWITCH_OUT, 1);
	write_switch(0,
		     PERF_RECORD_MISC_SWITCH_OUT |
			     PERF_RECORD_MISC_SWITCH_OUT_PREEMPT,
		     2);
	write_switch(0, 0, 3);
	ck_assert_uint_eq(read_all(), 3);
	ck_assert(g_seen.record[0].out && !g_seen.record[0].preempted);
	ck_assert(g_seen.record[1].out && g_seen.record[1].preempted);
	ck_assert(!g_seen.record[2].out);
	ck_assert_int_eq(g_seen.record[2].tid, 71);
	ck_assert_uint_eq(g_seen.record[2].ns, 3);
}

/* Switches are the shortest records. */
TEST(switches_of_all_cpus_come_in_the_order_of_their_times)
{
	write_switch(0, 0, 10);
	write_switch(0, 0, 40);
	write_switch(1, 0, 20);
	write_switch(1, 0, 30);
	ck_assert_uint_eq(read_all(), 4);
	for (int i = 0; i < 4; i++)
		ck_assert_uint_eq(g_seen.record[i].ns, 10 * (unsigned)(i + 1));
}
