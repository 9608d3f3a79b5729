/* SPDX-License-Identifier: Apache-2.0
 *
 * symbolize FILE COUNT ADDRESSES - looks up the source lines of COUNT
 * addresses in functions of FILE, spread over it, as a collector does for its
 * first recording of a program and for the next. Writes the addresses to file
 * ADDRESSES, for other tools, and "FIRST_NS CACHED_NS KNOWN" to stdout.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "collector/names/symbols.h"
#include "tests/find_symbolize.h"

struct list {
	uint64_t *vaddr;
	size_t count;
};

static int add(void *context, uint64_t vaddr, const char *name)
{
	struct list *list = context;

	(void)name;
	list->vaddr = reallocarray(list->vaddr, list->count + 1,
				   sizeof(*list->vaddr));
	if (!list->vaddr)
		return 1;
	list->vaddr[list->count++] = vaddr;
	return 0;
}

static int64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000000ll + now.tv_nsec;
}

/* One recording: ns that it took to look all of @list up, and how many had an
 * answer. */
static int64_t record(struct symbol_cache *cache, const char *path,
		      const struct list *list, size_t *known)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct symbol_file *file = symbol_cache_file(cache, getuid(), fd, path);
	struct source *sources = calloc(list->count, sizeof(*sources));
	int64_t start = now_ns();

	if (!file || !sources)
		exit(1);
	close(fd);
	symbol_file_sources(file, list->vaddr, list->count, sources);
	start = now_ns() - start;
	*known = 0;
	for (size_t i = 0; i < list->count; i++)
		*known += sources[i].count > 0;
	symbol_file_put(&file);
	free(sources);
	return start;
}

/* @count addresses in the middle of functions. */
static struct list choose(const char *path, size_t count)
{
	struct symbol_cache *cache = NULL;
	struct symbol_file *file;
	struct list all = { 0 }, some = { 0 };
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0 || symbol_cache_new(&cache)) {
		perror(path);
		exit(1);
	}
	file = symbol_cache_file(cache, getuid(), fd, path);
	close(fd);
	if (!file || symbol_file_each(file, add, &all) || !all.count)
		exit(1);
	for (size_t i = 0; i < count; i++)
		add(&some, all.vaddr[i * all.count / count] + i % 8, NULL);
	symbol_file_put(&file);
	symbol_cache_put(&cache);
	free(all.vaddr);
	return some;
}

int main(int argc, char **argv)
{
	char program[PATH_MAX + 32];
	struct symbol_cache *cache = NULL;
	size_t known, still_known;
	int64_t first, cached;
	struct list list;
	FILE *file;

	if (argc != 4)
		return 2;
	find_symbolize(program);
	setenv("PERFREC_SYMBOLIZE", program, 0);
	strcpy(strrchr(program, '/'), "/perfrec-reader");
	setenv("PERFREC_READER", program, 0);
	list = choose(argv[1], strtoul(argv[2], NULL, 10));
	file = fopen(argv[3], "w");
	for (size_t i = 0; file && i < list.count; i++)
		fprintf(file, "0x%" PRIx64 "\n", list.vaddr[i]);
	if (!file || fclose(file) || symbol_cache_new(&cache)) {
		perror(argv[3]);
		return 1;
	}
	first = record(cache, argv[1], &list, &known);
	cached = record(cache, argv[1], &list, &still_known);
	printf("%" PRId64 " %" PRId64 " %zu\n", first, cached, known);
	symbol_cache_put(&cache);
	free(list.vaddr);
	return known != still_known;
}
