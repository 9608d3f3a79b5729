/* SPDX-License-Identifier: Apache-2.0
 *
 * perf_record - the kernel is trusted, but every length is checked against the
 * available bytes all the same.
 */
#include "collector/samples/perf_record.h"

#include <linux/perf_event.h>
#include <string.h>

#include "collector/base/perf_open.h"
#include "collector/base/perf_wakings.h"
#include "shared/compiler.h"

struct reader {
	const uint8_t *at, *end;
	bool bad; /* the record was too short: the rest reads as 0 */
};

static const void *take_bytes(struct reader *reader, size_t bytes)
{
	const uint8_t *at = reader->at;

	if ((size_t)(reader->end - at) < bytes) {
		reader->bad = true;
		return NULL;
	}
	reader->at += bytes;
	return at;
}

static uint64_t take_u64(struct reader *reader)
{
	const void *at = take_bytes(reader, 8);
	uint64_t value = 0;

	if (at)
		memcpy(&value, at, sizeof(value));
	return value;
}

static pid_t take_task_id(struct reader *reader)
{
	const void *at = take_bytes(reader, 4);
	pid_t value = 0;

	if (at)
		memcpy(&value, at, sizeof(value));
	return value;
}

/* Converts linux asm/perf_regs.h to DWARF numbers. */
static void take_regs(struct reader *reader, uint64_t reg[RECORD_REGS])
{
#if defined(__x86_64__)
	/* ax bx cx dx si di bp sp ip, then r8 to r15 */
	static const uint8_t dwarf[RECORD_REGS] = { 0,	3,  2,	1,  4, 5,
						    6,	7,  16, 8,  9, 10,
						    11, 12, 13, 14, 15 };
#endif

	for (int i = 0; i < RECORD_REGS; i++)
#if defined(__x86_64__)
		reg[dwarf[i]] = take_u64(reader);
#else
		reg[i] = take_u64(reader);
#endif
}

static void take_sample_head(struct reader *reader, struct perf_record *record)
{
	uint64_t ip;

	record->id = take_u64(reader);
	ip = take_u64(reader);
	(void)ip; /* the user's is in the registers */
	record->pid = take_task_id(reader);
	record->tid = take_task_id(reader);
	record->ns = take_u64(reader);
}

/* Takes the call chain, which has the kernel's part only. The kernel aligns all
 * records to 8 bytes. */
static void take_kernel_stack(struct reader *reader, struct perf_record *record)
{
	uint64_t count = take_u64(reader);
	const uint64_t *chain;

	if (count > UINT16_MAX)
		reader->bad = true;
	if (!count || reader->bad)
		return;
	chain = take_bytes(reader, count * sizeof(*chain));
	if (!chain || *chain != PERF_CONTEXT_KERNEL)
		return;
	record->kernel = chain + 1;
	while (record->kernel_count + 1 < count &&
	       record->kernel[record->kernel_count] < PERF_CONTEXT_MAX)
		record->kernel_count++;
}

static void take_perf_sample(struct reader *reader, uint16_t misc,
			     struct perf_record *record)
{
	uint64_t asked;
	uint64_t used;

	take_sample_head(reader, record);
	record->in_kernel = (misc & PERF_RECORD_MISC_CPUMODE_MASK) ==
			    PERF_RECORD_MISC_KERNEL;
	take_kernel_stack(reader, record);
	if (take_u64(reader) == PERF_SAMPLE_REGS_ABI_64) {
		take_regs(reader, record->reg);
		record->has_user = true;
	} else if (!record->in_kernel) {
		/* 32 bits: not ours; the stack is useless without registers. */
		return;
	}
	asked = take_u64(reader);
	if (!asked || asked > UINT16_MAX)
		return;
	record->stack = take_bytes(reader, asked);
	used = take_u64(reader);
	record->stack_asked = (uint32_t)asked;
	record->stack_bytes = (uint32_t)MIN(used, asked);
}

/* Returns true if the length of raw data reaches to the end of the record. A
 * PERF_SAMPLE has a number of addresses in its place, which take 8 bytes each. */
static bool is_waking_sample(const uint8_t *bytes, uint32_t size)
{
	uint32_t raw_bytes;

	if (size < PERF_WAKING_RAW)
		return false;
	memcpy(&raw_bytes, bytes + PERF_WAKING_RAW - sizeof(raw_bytes),
	       sizeof(raw_bytes));
	return raw_bytes == size - PERF_WAKING_RAW;
}

static void take_waking_sample(struct reader *reader,
			       struct perf_record *record)
{
	const uint8_t *raw;

	take_sample_head(reader, record);
	(void)take_task_id(reader); /* the length */
	raw = take_bytes(reader, PERF_WAKING_RAW_BYTES);
	if (!raw)
		return;
	record->in_interrupt = raw[PERF_WAKING_FLAGS] & PERF_WAKING_INTERRUPT;
	memcpy(&record->woken_tid, raw + PERF_WAKING_TID,
	       sizeof(record->woken_tid));
}

/* Parses the trailer of records other than samples, by sample_id_all: pid, tid,
 * time, id. */
static void take_trailer(struct reader *reader, struct perf_record *record)
{
	struct reader trailer = { reader->end - 24, reader->end, false };

	if (reader->end - reader->at < 24) {
		reader->bad = true;
		return;
	}
	reader->end -= 24;
	record->pid = take_task_id(&trailer);
	record->tid = take_task_id(&trailer);
	record->ns = take_u64(&trailer);
	record->id = take_u64(&trailer);
}

static bool take_other_perf_record(struct reader *reader, uint16_t misc,
				   struct perf_record *record)
{
	take_trailer(reader, record);
	switch (record->type) {
	case PERF_RECORD_LOST:
		take_u64(reader);
		record->value = take_u64(reader);
		return true;
	case PERF_RECORD_COMM:
		record->pid = take_task_id(reader);
		record->tid = take_task_id(reader);
		record->exec = misc & PERF_RECORD_MISC_COMM_EXEC;
		record->name = (const char *)reader->at;
		return memchr(reader->at, 0,
			      (size_t)(reader->end - reader->at));
	case PERF_RECORD_FORK:
	case PERF_RECORD_EXIT:
		record->pid = take_task_id(reader);
		record->parent_pid = take_task_id(reader);
		record->tid = take_task_id(reader);
		record->parent_tid = take_task_id(reader);
		return true;
	case PERF_RECORD_READ:
		record->pid = take_task_id(reader);
		record->tid = take_task_id(reader);
		record->value = take_u64(reader);
		record->id = take_u64(reader);
		return true;
	case PERF_RECORD_SWITCH:
		record->out = misc & PERF_RECORD_MISC_SWITCH_OUT;
		record->preempted = misc & PERF_RECORD_MISC_SWITCH_OUT_PREEMPT;
		return true;
	case PERF_RECORD_THROTTLE:
		return true;
	default:
		return false;
	}
}

bool perf_record_parse(const uint8_t *bytes, struct perf_record *out)
{
	struct perf_event_header header;
	struct reader reader;
	bool known = true;

	memcpy(&header, bytes, sizeof(header));
	*out = (struct perf_record){ .type = header.type };
	reader = (struct reader){ bytes + sizeof(header), bytes + header.size,
				  false };
	if (header.type == PERF_RECORD_SAMPLE &&
	    header.size == PERF_COUNTED_BYTES) {
		take_sample_head(&reader, out);
		out->counted = true;
		out->value = take_u64(&reader);
	} else if (header.type == PERF_RECORD_SAMPLE &&
		   is_waking_sample(bytes, header.size))
		take_waking_sample(&reader, out);
	else if (header.type == PERF_RECORD_SAMPLE)
		take_perf_sample(&reader, header.misc, out);
	else
		known = take_other_perf_record(&reader, header.misc, out);
	return known && !reader.bad;
}
