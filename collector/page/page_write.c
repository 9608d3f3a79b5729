/* SPDX-License-Identifier: Apache-2.0
 *
 * The page is written to a temporary file, which replaces the target when it is
 * complete. An existing file that is not a page stays: a typing error must not
 * cost a trace.
 */
#include "collector/page/page.h"

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <libdeflate.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collector/base/base64.h"
#include "collector/base/log.h"
#include "collector/output/own_files.h"
#include "collector/output/whole_file.h"
#include "collector/page/page_code.h"
#include "collector/page/page_columns.h"
#include "collector/page/page_data.h"
#include "collector/page/page_header.h"
#include "collector/page/page_judge.h"
#include "collector/page/page_match.h"
#include "collector/page/page_source.h"
#include "collector/page/page_template.h"
#include "collector/page/page_time.h"
#include "collector/page/page_tree.h"
#include "collector/read/summary_read.h"
#include "collector/read/trace_bounds.h"
#include "collector/read/trace_index.h"
#include "collector/show/progress.h"
#include "shared/compiler.h"

#define MAGIC "PFPAGE1\n"
#define MAGIC_BYTES 8
#define GZIP_LEVEL 7
/* Limit of compressed data; base64 makes it 4/3. */
#ifndef DATA_BYTES_MAX
#define DATA_BYTES_MAX (7u << 20)
#endif
/* Smaller nodes are merged: first those below 0.1 %, then more until the data
 * is small enough. */
#define PER_TEN_THOUSAND 10
#define PER_TEN_THOUSAND_MAX 1000
#define DATA_BEGIN "<script type=\"text/plain\" id=\"perfrec-data\">"
#define DATA_END "</script>"

struct page {
	const struct page_options *options;
	struct summary *summary, *base;
	struct page_data data;
	struct page_columns columns;
	/* May be NULL: not needed, or in options->part. */
	struct trace_index *index;
	uint8_t *packed; /* the data, gzipped */
	size_t packed_bytes;
};

/* --- reading -------------------------------------------------------------- */

/* With more calls, the page comes from the index and reads only a part of the
 * trace, because reading all of it would take more than some seconds. */
#define READ_SPANS_MAX (8u << 20)

/* Reads the calls around waits, and the critical path. Each of them reads the
 * trace again, so a large recording has neither. */
static int read_page_waits(struct page *page, const char *path,
			   const struct calls_choice *choice)
{
	const struct path_wish wish = { .range = choice->range,
					.thread = choice->thread };
	struct lock_list *locks = &page->data.locks;
	struct path_list *list = &page->data.path;
	int err = locks->waits && locks->waits->wait_count
			  ? lock_list_read_stacks(locks, path, &choice->range,
						  choice->thread, NULL)
			  : 0;

	if (!err)
		err = critical_path_read(path, &wish, NULL, &list->path);
	if (!err)
		path_list_sort(list, "total");
	return err;
}

/* Sets *@out to the origin of the page's times, from which --from counts, too:
 * the first call, or without calls the first event. */
static int find_page_origin(const struct page *page, const char *path,
			    const struct trace_index *index,
			    const struct calls *calls, uint64_t *out)
{
	struct trace_bounds bounds = { 0 };
	int err = 0;

	if (page->options->part)
		bounds = page->options->part->bounds;
	else if (calls->tree.totals.begins || calls->by_index)
		err = trace_bounds_read(path, index, NULL, &bounds);
	*out = bounds.first_ns ?: calls->tree.totals.first_ns;
	return err;
}

/* A recording may have no trace or an unreadable one. The page then has no
 * times. */
static int read_page_trace(struct page *page)
{
	char path[PATH_MAX];
	struct progress progress;
	const struct read_progress tell = { progress_tell, &progress };
	const struct trace_index *index = NULL;
	struct calls *calls = NULL;
	struct lock_list *locks = &page->data.locks;
	const struct page_part *part = page->options->part;
	struct calls_choice choice = {
		.range = part ? part->range : TIME_RANGE_ALL,
		.thread = part ? part->thread : NULL,
		.few_calls = READ_SPANS_MAX,
		.folds = !part,
	};
	uint64_t origin_ns = 0;
	bool met;
	int err;

	if (choice.range.from_ns)
		choice.range.to_ns =
			MIN(choice.range.to_ns, part->bounds.last_ns + 1);
	if (snprintf(path, sizeof(path), "%s/" TRACE_NAME,
		     page->options->dir) >= (int)sizeof(path))
		return -ENAMETOOLONG;
	if (part && part->index)
		index = part->index;
	else if (!trace_index_read_beside(path, &page->index))
		index = page->index;
	if (page->summary->totals.spans > READ_SPANS_MAX)
		choice.index = index;
	progress_begin(&progress, "reading the trace", !page->options->quiet);
	err = calls_read(path, &choice, &tell, &calls);
	if (calls && !err)
		err = find_page_origin(page, path, index, calls, &origin_ns);
	if (calls && !part && !calls->tree.totals.begins && !calls->cells.begun)
		calls_free(&calls);
	/* Only a page with calls shows switches. */
	if (calls)
		err = trace_sched_read(path, index, NULL, &page->data.sched);
	if (calls && !err)
		err = trace_waits_read(path, NULL, NULL, &locks->waits);
	if (locks->waits && !err)
		err = lock_sums_make(locks->waits, &choice.range, choice.thread,
				     LOCK_SUMS_BY_LOCK, &met, &locks->sums)
			      ?: lock_list_sort(locks, "blocked");
	if (calls && !err && !choice.index)
		err = read_page_waits(page, path, &choice);
	progress_end(&progress);
	if (err && err != -ENOENT) {
		calls_free(&calls);
		log_err("cannot read '%s': %s", path, strerror(-err));
		return err;
	}
	page_data_set_calls(&page->data, calls, origin_ns);
	return 0;
}

/* Sets *@out to the CPU time of one sample; 0: unknown. */
static int find_sample_ns(const struct page *page, uint64_t *out)
{
	uint64_t samples = page->summary->totals.cpu_samples, sum = 0;
	struct pprof *pprof;
	uint32_t value;
	int err;

	*out = 0;
	/* The index has no samples. */
	if (page->data.calls->by_index)
		return 0;
	err = pprof_read(page->options->dir, CPU_PROFILE_NAME, &pprof);
	if (err)
		return err == -ENOENT ? 0 : err;
	value = pprof_find_type(pprof, "cpu");
	for (size_t i = 0; value != PPROF_NONE && i < pprof->sample_count; i++)
		sum += (uint64_t)pprof->samples[i].value[value];
	pprof_free(&pprof);
	*out = samples ? sum / samples : 0;
	return 0;
}

static int take_side(struct page *page, const char *dir,
		     struct summary *summary, enum page_side side)
{
	int err = page_data_take_profiles(&page->data, dir, side,
					  summary->estimates);

	if (!err && side == PAGE_SELF && !page->data.value[PAGE_WALL].known &&
	    page->data.calls)
		page_data_take_calls(&page->data);
	if (!err)
		page_data_take_summary(&page->data, summary, side);
	return err;
}

static int read_recordings(struct page *page)
{
	const struct page_options *options = page->options;
	int err = summary_read(options->dir, &page->summary);

	if (!err && options->base)
		err = summary_read(options->base, &page->base);
	if (!err && !options->base)
		err = read_page_trace(page);
	if (!err && options->part) {
		uint64_t sample_ns;

		/* Profiles and sums cover the whole recording. */
		if (!page->data.calls)
			return 0;
		err = find_sample_ns(page, &sample_ns);
		if (!err)
			page_data_take_part(&page->data, sample_ns);
		return err;
	}
	if (!err)
		err = take_side(page, options->dir, page->summary, PAGE_SELF);
	if (!err && options->base)
		err = take_side(page, options->base, page->base, PAGE_BASE);
	if (!err && options->base)
		page->data.by_name_alone = page_match_names(&page->data);
	if (!err)
		page_data_drop_empty(&page->data);
	return err;
}

/* --- the data --- */

static int put_page_columns(struct page *page)
{
	int err = page_time_put_threads(&page->data, &page->columns);

	if (!err && page->data.calls)
		err = page_time_put(&page->data, &page->columns);
	if (!err && !page->options->no_source)
		err = page_source_put(&page->data, &page->columns);
	/* Sums of a part of a recording are not those of instructions. */
	if (!err && !page->options->no_source && !page->options->part &&
	    !page->base)
		err = page_code_put(&page->data, page->options->dir,
				    &page->columns);
	if (!err && page->options->diff)
		err = page_judge_put(&page->data, page->options->diff,
				     &page->columns);
	if (!err)
		err = page_tree_put_functions(&page->data, &page->columns);
	if (!err) {
		page_columns_begin(&page->columns, "text", "text");
		for (uint32_t i = 0; i <= page->data.texts.pool.count; i++)
			page_columns_put_text(
				&page->columns,
				trace_texts_get(&page->data.texts, i));
	}
	return err;
}

static int make_stream(const struct page *page, struct bytes *out)
{
	char *header =
		page_header_make(&page->data, &page->columns, page->options,
				 page->summary, page->base);
	uint32_t bytes;

	if (!header)
		return -ENOMEM;
	bytes = htole32((uint32_t)strlen(header));
	bytes_put(out, MAGIC, MAGIC_BYTES);
	bytes_put(out, &bytes, sizeof(bytes));
	bytes_put(out, header, strlen(header));
	bytes_put(out, page->columns.bytes.at, page->columns.bytes.count);
	free(header);
	return out->failed || page->columns.bytes.failed ? -ENOMEM : 0;
}

static int pack_bytes(struct page *page, const struct bytes *bytes)
{
	struct libdeflate_compressor *compressor =
		libdeflate_alloc_compressor(GZIP_LEVEL);
	size_t room;

	if (!compressor)
		return -ENOMEM;
	room = libdeflate_gzip_compress_bound(compressor, bytes->count);
	free(page->packed);
	page->packed = malloc(room);
	if (page->packed)
		page->packed_bytes = libdeflate_gzip_compress(
			compressor, bytes->at, bytes->count, page->packed,
			room);
	libdeflate_free_compressor(compressor);
	return page->packed && page->packed_bytes ? 0 : -ENOMEM;
}

/* Makes the data, with ever fewer nodes until it is small enough. */
static int make_data(struct page *page)
{
	int err = put_page_columns(page);
	size_t count = page->columns.count;

	for (uint32_t share = PER_TEN_THOUSAND; !err; share *= 3) {
		err = page_tree_put(&page->data, share, &page->columns);
		if (!err) {
			struct bytes bytes = { 0 };

			err = make_stream(page, &bytes);
			if (!err)
				err = pack_bytes(page, &bytes);
			bytes_release(&bytes);
		}
		if (page->packed_bytes <= DATA_BYTES_MAX ||
		    share > PER_TEN_THOUSAND_MAX)
			break;
		page_columns_cut(&page->columns, count);
	}
	return err;
}

/* --- the file --- */

static void write_base64(const uint8_t *bytes, size_t count, FILE *out)
{
	char text[4096];
	/* A multiple of 3, so '=' only occurs at the end. */
	const size_t most = sizeof(text) / 4 * 3;

	for (size_t at = 0; at < count; at += most) {
		const size_t some = MIN(count - at, most);

		base64_write(bytes + at, some, text);
		fwrite(text, 1, BASE64_LENGTH(some), out);
	}
}

/* Checks the file at @path. Returns 0 if it may be replaced: a page, empty or
 * missing. Returns 1 if it is no plain file and must be written through, or
 * -errno. */
static int check_written_file(const char *path)
{
	char begin[2] = "";
	struct stat stat;
	int fd = own_files_open(path);
	ssize_t got;

	if (fd == -ENOENT)
		return 0;
	if (fd == -EBADMSG)
		return 1;
	if (fd < 0)
		return fd;
	got = read(fd, begin, sizeof(begin));
	if (fstat(fd, &stat) || got < 0)
		got = -1;
	close(fd);
	if (got < 0)
		return -EIO;
	return !got || !memcmp(begin, "<!", 2) ? 0 : -EEXIST;
}

/* Closes @fd. */
static int write_to(const struct page *page, int fd)
{
	FILE *out = fdopen(fd, "w");
	int err;
	const char *mark;

	if (!out) {
		close(fd);
		return -ENOMEM;
	}
	mark = strstr(page_template, PAGE_TEMPLATE_MARK);
	if (!mark) {
		err = -EINVAL;
	} else {
		fwrite(page_template, 1, (size_t)(mark - page_template), out);
		fputs(DATA_BEGIN, out);
		write_base64(page->packed, page->packed_bytes, out);
		fputs(DATA_END, out);
		fputs(mark + strlen(PAGE_TEMPLATE_MARK), out);
		err = fflush(out) || ferror(out) ? -errno : 0;
	}
	return fclose(out) && !err ? -errno : err;
}

static int write_through(const struct page *page, const char *path)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY);

	return fd < 0 ? -errno : write_to(page, fd);
}

static int write_new(const struct page *page, const char *path)
{
	char *name;
	int fd = whole_file_draft(path, &name), err;

	if (fd < 0)
		return fd;
	err = write_to(page, fd);
	if (!err && rename(name, path))
		err = -errno;
	if (err)
		unlink(name);
	free(name);
	return err;
}

static int write_own(const struct page *page)
{
	int dir_fd =
		open(page->options->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int fd = dir_fd < 0 ? -errno : own_files_create(dir_fd, PAGE_NAME, 0);
	int err = fd < 0 ? fd : write_to(page, fd);

	if (fd >= 0 && err)
		own_files_discard(dir_fd, PAGE_NAME);
	if (!err)
		err = own_files_keep(dir_fd, PAGE_NAME);
	if (dir_fd >= 0)
		close(dir_fd);
	if (err)
		log_err("cannot write '%s/" PAGE_NAME "': %s",
			page->options->dir, strerror(-err));
	return err;
}

static int write_page_file(const struct page *page)
{
	const char *file = page->options->file;
	/* Target of a link. */
	char *path = file ? realpath(file, NULL) : NULL;
	int err;

	if (!file)
		return write_own(page);
	err = check_written_file(file);
	if (err == -EEXIST)
		log_err("'%s' exists and was not written by perfrec; choose "
			"another name",
			file);
	else if (err >= 0)
		err = err ? write_through(page, file)
			  : write_new(page, path ? path : file);
	if (err && err != -EEXIST)
		log_err("cannot write the page '%s': %s", file, strerror(-err));
	free(path);
	return err;
}

int page_write(const struct page_options *options)
{
	struct page page = { .options = options };
	bool said = true;
	int err = page_data_init(&page.data, options->base);

	if (!err) {
		err = read_recordings(&page);
		said = err != -ENOMEM;
	}
	if (!err) {
		err = make_data(&page);
		said = false;
	}
	if (err && (!said || err == -ENOMEM))
		log_err("cannot make the page: %s", strerror(-err));
	if (!err)
		err = write_page_file(&page);
	free(page.packed);
	page_columns_release(&page.columns);
	page_data_release(&page.data);
	trace_index_free(&page.index);
	summary_free(&page.summary);
	summary_free(&page.base);
	return err;
}
