/* SPDX-License-Identifier: Apache-2.0
 *
 * trace_check - reads a .pftrace of any size from front to back and prints the
 * rules (checker/rules.def) that it breaks; can also count and print its
 * events. It uses no code of the collector, so that it cannot repeat a mistake
 * of the collector. README.md in this folder is the manual.
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/tools/checker/schema.h"
#include "tests/tools/checker/text.h"
#include "tests/tools/checker/trace.h"

struct options {
	enum trace_end_flags flags;
	bool counts, by_thread, json, dump, text, sched, by_name;
	bool waits, importer;
	const char *file;
};

static const char g_usage[] =
	"usage: trace_check [options] FILE\n"
	"  --allow-open        slices may be open at the end\n"
	"  --allow-cut         the last packet may be cut, and what a file\n"
	"                      ends with may be missing\n"
	"  --counts            print calls<TAB>name, over all threads\n"
	"  --counts-by-thread  print pid<TAB>tid<TAB>calls<TAB>name; the tid\n"
	"                      of a thread's context N is tid/N\n"
	"  --json              print totals\n"
	"  --dump              print kind pid tid ns depth name, each event\n"
	"  --text              print what is in it, by tracks, without times\n"
	"  --sched             print tid<TAB>on-CPU<TAB>preempted<TAB>blocked\n"
	"                      <TAB>unknown<TAB>stretches, in ns, of threads\n"
	"  --waits             print tid<TAB>begin<TAB>length<TAB>object\n"
	"  --sched-by-name     print on-CPU<TAB>preempted<TAB>blocked<TAB>\n"
	"                      unknown<TAB>name: of slices, without those in\n"
	"                      them\n"
	"  --importer          print what Perfetto's importer makes of it\n"
	"  --list-rules        print the rules and exit\n";

/* One line of --counts or --counts-by-thread. */
struct line {
	int64_t pid, tid;
	uint32_t context;
	uint64_t calls;
	const char *name;
};

struct lines {
	bool by_thread; /* else pid and tid are 0, and all threads one */
	struct line *at;
	size_t count, room;
};

static void lines_add(struct lines *lines, const struct trace *trace,
		      const struct sequence *sequence, uint64_t calls,
		      const char *name)
{
	const struct sequence *thread = trace_thread(trace, sequence);
	struct line line = { .calls = calls, .name = name };

	if (!calls)
		return;
	if (lines->count == lines->room) {
		lines->room = lines->room * 2 + 256;
		lines->at =
			table_grow(lines->at, lines->room, sizeof(*lines->at));
	}
	if (lines->by_thread && thread) {
		line.pid = thread->pid;
		line.tid = thread->tid;
		line.context = sequence->context;
	}
	lines->at[lines->count++] = line;
}

static int line_compare(const void *left, const void *right)
{
	const struct line *a = left, *b = right;

	if (a->pid != b->pid)
		return a->pid < b->pid ? -1 : 1;
	if (a->tid != b->tid)
		return a->tid < b->tid ? -1 : 1;
	if (a->context != b->context)
		return a->context < b->context ? -1 : 1;
	return strcmp(a->name, b->name);
}

/* Every name of every sequence with its calls. */
static void collect_lines(const struct trace *trace, struct lines *lines)
{
	const struct table *inlined = &trace->inline_calls;
	char **names = trace->names.texts;

	for (uint32_t i = 0; i < trace->sequence_count; i++) {
		const struct sequence *sequence = &trace->sequences[i];

		for (uint32_t iid = 0; iid < sequence->iid_room; iid++)
			if (sequence->names[iid])
				lines_add(lines, trace, sequence,
					  sequence->calls[iid],
					  names[sequence->names[iid] - 1]);
	}
	for (size_t i = 0; i < inlined->room; i++) {
		const struct table_entry *entry = &inlined->entries[i];

		if (entry->used)
			lines_add(lines, trace,
				  &trace->sequences[entry->key >> 32],
				  entry->value, names[(uint32_t)entry->key]);
	}
}

static void print_counts(const struct trace *trace, bool by_thread)
{
	struct lines lines = { .by_thread = by_thread };
	struct line *line, *end;

	collect_lines(trace, &lines);
	if (lines.count)
		qsort(lines.at, lines.count, sizeof(*lines.at), line_compare);
	line = lines.at;
	end = lines.at + lines.count;
	while (line < end) {
		struct line *first = line;
		uint64_t calls = 0;

		for (; line < end && !line_compare(first, line); line++)
			calls += line->calls;
		if (by_thread)
			printf("%" PRId64 "\t%" PRId64, first->pid, first->tid);
		if (first->context)
			printf("/%u", first->context);
		printf("%s%" PRIu64 "\t%s\n", by_thread ? "\t" : "", calls,
		       first->name);
	}
	free(lines.at);
}

static void print_json(const struct trace *trace, uint64_t bytes)
{
	const struct totals *totals = &trace->totals;
	const struct {
		const char *name;
		uint64_t value;
	} members[] = {
		{ "bytes", bytes },
		{ "packets", totals->packets },
		{ "bundles", totals->bundles },
		{ "begins", totals->begins },
		{ "ends", totals->ends },
		{ "instants", totals->instants },
		{ "processes", totals->processes },
		{ "threads", totals->threads },
		{ "max_depth", totals->max_depth },
		{ "losses", totals->losses },
		{ "first_ns", totals->first_ns },
		{ "last_ns", totals->last_ns },
		{ "waits", trace->wait_count },
		{ "switches", trace->sched.switches },
		{ "sched_losses", trace->sched.loss_count },
	};

	for (size_t i = 0; i < ARRAY_SIZE(members); i++)
		printf("%s\"%s\": %" PRIu64, i ? ", " : "{", members[i].name,
		       members[i].value);
	puts("}");
}

/* The whole of @path, to be unmapped; NULL and a message when it cannot be
 * read. An empty file is one byte of nothing with *@size 0. */
static void *map_file(const char *path, size_t *size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat status;
	void *map = MAP_FAILED;

	if (fd >= 0 && !fstat(fd, &status)) {
		*size = (size_t)status.st_size;
		map = mmap(NULL, *size ? *size : 1, PROT_READ, MAP_PRIVATE, fd,
			   0);
	}
	if (map == MAP_FAILED)
		fprintf(stderr, "cannot read %s: %s\n", path, strerror(errno));
	else
		madvise(map, *size, MADV_SEQUENTIAL);
	if (fd >= 0)
		close(fd);
	return map == MAP_FAILED ? NULL : map;
}

static int compare_names(const void *left, const void *right, void *names)
{
	const uint32_t *a = left, *b = right;
	char **texts = names;

	return strcmp(texts[*a], texts[*b]);
}

static void print_times(const struct trace *trace)
{
	uint32_t count = MIN(trace->times_room, trace->names.count);
	uint32_t *order = table_grow(NULL, count + 1, sizeof(*order));

	for (uint32_t i = 0; i < count; i++)
		order[i] = i;
	qsort_r(order, count, sizeof(*order), compare_names,
		trace->names.texts);
	for (uint32_t i = 0; i < count; i++) {
		const struct sched_sums *sums = &trace->times[order[i]];

		if (sums->on_cpu || sums->preempted || sums->blocked ||
		    sums->unknown)
			printf("%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64
			       "\t%s\n",
			       sums->on_cpu, sums->preempted, sums->blocked,
			       sums->unknown, trace->names.texts[order[i]]);
	}
	free(order);
}

/* Switches may lie in the file behind the slices that they are in: it is read
 * once more. */
static void print_sched_by_name(const struct trace *read, const void *map,
				size_t size)
{
	struct trace again = { .known = &read->sched };

	trace_read(&again, map, size);
	print_times(&again);
	trace_release(&again);
}

static int check_file(const struct options *options)
{
	struct trace trace = { .dump = options->dump ? stdout : NULL,
			       .wants_text = options->text };
	size_t size, whole;
	void *map = map_file(options->file, &size);
	int broken;

	if (!map)
		return 1;
	schema_init();
	whole = trace_read(&trace, map, size);
	if (whole < size && !(options->flags & TRACE_IS_CUT))
		verdict_break(&trace.verdict, RULE_FRAMING,
			      "the last packet is cut");
	text_print(&trace, stdout);
	trace_end(&trace, options->flags);
	if (options->sched)
		sched_print(&trace.sched);
	if (options->waits)
		waits_print(&trace);
	if (options->importer)
		importer_print(&trace);
	if (options->by_name)
		print_sched_by_name(&trace, map, size);
	munmap(map, size ? size : 1);
	if (options->counts || options->by_thread)
		print_counts(&trace, options->by_thread);
	if (options->json)
		print_json(&trace, size);
	broken = verdict_print(&trace.verdict, options->file);
	trace_release(&trace);
	if (fflush(stdout) || ferror(stdout)) {
		fprintf(stderr, "cannot write the result: %s\n",
			strerror(errno));
		return 1;
	}
	return broken != 0;
}

enum {
	OPT_OPEN = 1,
	OPT_CUT,
	OPT_COUNTS,
	OPT_THREADS,
	OPT_JSON,
	OPT_DUMP,
	OPT_TEXT,
	OPT_SCHED,
	OPT_SCHED_NAMES,
	OPT_WAITS,
	OPT_IMPORTER,
	OPT_RULES
};

static const struct option g_options[] = {
	{ "allow-open", no_argument, NULL, OPT_OPEN },
	{ "allow-cut", no_argument, NULL, OPT_CUT },
	{ "counts", no_argument, NULL, OPT_COUNTS },
	{ "counts-by-thread", no_argument, NULL, OPT_THREADS },
	{ "json", no_argument, NULL, OPT_JSON },
	{ "dump", no_argument, NULL, OPT_DUMP },
	{ "text", no_argument, NULL, OPT_TEXT },
	{ "sched", no_argument, NULL, OPT_SCHED },
	{ "waits", no_argument, NULL, OPT_WAITS },
	{ "importer", no_argument, NULL, OPT_IMPORTER },
	{ "sched-by-name", no_argument, NULL, OPT_SCHED_NAMES },
	{ "list-rules", no_argument, NULL, OPT_RULES },
	{ 0 },
};

int main(int argc, char **argv)
{
	struct options options = { 0 };
	int option;

	while ((option = getopt_long(argc, argv, "", g_options, NULL)) != -1) {
		switch (option) {
		case OPT_OPEN:
			options.flags |= TRACE_MAY_BE_OPEN;
			break;
		case OPT_CUT:
			options.flags |= TRACE_IS_CUT;
			break;
		case OPT_COUNTS:
			options.counts = true;
			break;
		case OPT_THREADS:
			options.by_thread = true;
			break;
		case OPT_JSON:
			options.json = true;
			break;
		case OPT_DUMP:
			options.dump = true;
			break;
		case OPT_TEXT:
			options.text = true;
			break;
		case OPT_SCHED:
			options.sched = true;
			break;
		case OPT_WAITS:
			options.waits = true;
			break;
		case OPT_IMPORTER:
			options.importer = true;
			break;
		case OPT_SCHED_NAMES:
			options.by_name = true;
			break;
		case OPT_RULES:
			verdict_list_rules();
			return 0;
		default:
			fputs(g_usage, stderr);
			return 2;
		}
	}
	if (optind + 1 != argc) {
		fputs(g_usage, stderr);
		return 2;
	}
	options.file = argv[optind];
	return check_file(&options);
}
