/* SPDX-License-Identifier: Apache-2.0
 *
 * count_names - prints the counts of progs/count_preload.c with names. Names
 * come from nm(1), independently of perfrec's own symbol reader. One line a
 * function: calls<TAB>name; if several names share the address,
 * calls<TAB>name|name|... With --paths one line for each path of calls:
 * calls<TAB>;name;name;...
 */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/tools/checker/table.h"
#include "tests/tools/count_file.h"

#define NAME_BYTES (64 * 1024)

/* A file that is mapped executable, and its names by address in the file. */
struct module {
	char *path;
	Elf64_Phdr *segments;
	size_t segment_count;
	struct table names; /* address in the file -> text number + 1 */
};

struct names {
	struct strings texts;
	struct module *modules;
	size_t module_count;
};

static void die(const char *what, const char *name)
{
	fprintf(stderr, "count_names: %s %s: %s\n", what, name,
		strerror(errno));
	exit(1);
}

/* --- names from nm ------------------------------------------------------- */

static void read_segments(struct module *module)
{
	FILE *file = fopen(module->path, "re");
	Elf64_Ehdr header;

	if (!file || fread(&header, sizeof(header), 1, file) != 1 ||
	    memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
	    fseek(file, (long)header.e_phoff, SEEK_SET) != 0)
		die("cannot read", module->path);
	module->segment_count = header.e_phnum;
	module->segments =
		table_grow(NULL, header.e_phnum, sizeof(*module->segments));
	if (fread(module->segments, sizeof(*module->segments), header.e_phnum,
		  file) != header.e_phnum)
		die("cannot read", module->path);
	fclose(file);
}

static void add_name(struct names *names, struct module *module,
		     uint64_t address, const char *name)
{
	uint64_t *known = table_at(&module->names, address);
	char joined[NAME_BYTES];
	int length;

	length = snprintf(joined, sizeof(joined), "%s%s%s",
			  *known ? names->texts.texts[*known - 1] : "",
			  *known ? "|" : "", name);
	if (length < (int)sizeof(joined))
		*known = strings_add(&names->texts, joined, (size_t)length) + 1;
}

/* Lines of nm: "0000000000001139 T main". */
static bool read_nm(struct names *names, struct module *module,
		    const char *options)
{
	char command[PATH_MAX + 64], line[NAME_BYTES], type;
	unsigned long long address;
	bool any = false;
	int name_at;
	FILE *nm;

	snprintf(command, sizeof(command), "nm -C --defined-only %s '%s'",
		 options, module->path);
	nm = popen(command, "re");
	if (!nm)
		die("cannot run", command);
	while (fgets(line, sizeof(line), nm)) {
		line[strcspn(line, "\n")] = '\0';
		if (sscanf(line, "%llx %c %n", &address, &type, &name_at) != 2)
			continue;
		if (!strchr("tTwWiu", type))
			continue;
		add_name(names, module, address, line + name_at);
		any = true;
	}
	pclose(nm);
	return any;
}

static struct module *find_module(struct names *names, const char *path)
{
	struct module *module;

	for (size_t i = 0; i < names->module_count; i++)
		if (!strcmp(names->modules[i].path, path))
			return &names->modules[i];
	names->modules = table_grow(names->modules, names->module_count + 1,
				    sizeof(*names->modules));
	module = &names->modules[names->module_count++];
	*module = (struct module){ .path = strdup(path) };
	read_segments(module);
	if (!read_nm(names, module, ""))
		read_nm(names, module, "-D 2>/dev/null");
	return module;
}

/* The name of the function at @offset of the file, or NULL. */
static const char *module_name(const struct names *names, struct module *module,
			       uint64_t offset)
{
	for (size_t i = 0; i < module->segment_count; i++) {
		const Elf64_Phdr *segment = &module->segments[i];
		uint64_t number;

		if (segment->p_type != PT_LOAD || offset < segment->p_offset ||
		    offset >= segment->p_offset + segment->p_filesz)
			continue;
		number = *table_at(&module->names, offset - segment->p_offset +
							   segment->p_vaddr);
		return number ? names->texts.texts[number - 1] : NULL;
	}
	return NULL;
}

/* --- the load map -------------------------------------------------------- */

struct mapping {
	uint64_t start, end, offset;
	char *path;
};

struct mappings {
	struct mapping *at;
	size_t count;
};

static struct mappings read_maps(const char *count_path)
{
	struct mappings maps = { 0 };
	char path[PATH_MAX], line[PATH_MAX + 128];
	struct mapping mapping;
	FILE *file;

	snprintf(path, sizeof(path), "%s.maps", count_path);
	file = fopen(path, "re");
	if (!file)
		die("cannot read", path);
	while (fgets(line, sizeof(line), file)) {
		int path_at = 0;

		line[strcspn(line, "\n")] = '\0';
		if (sscanf(line,
			   "%" SCNx64 "-%" SCNx64 " %*2cx%*c %" SCNx64
			   " %*s %*s %n",
			   &mapping.start, &mapping.end, &mapping.offset,
			   &path_at) != 3 ||
		    line[path_at] != '/')
			continue;
		mapping.path = strdup(line + path_at);
		maps.at = table_grow(maps.at, maps.count + 1, sizeof(*maps.at));
		maps.at[maps.count++] = mapping;
	}
	fclose(file);
	return maps;
}

/* Returns the name of the function at @address; the newest mapping wins. */
static uint32_t address_name(struct names *names, const struct mappings *maps,
			     uint64_t address)
{
	char unknown[32];
	int length;

	for (size_t i = maps->count; i-- > 0;) {
		const struct mapping *map = &maps->at[i];
		const char *name;

		if (address < map->start || address >= map->end)
			continue;
		name = module_name(names, find_module(names, map->path),
				   address - map->start + map->offset);
		if (name)
			return strings_add(&names->texts, name, strlen(name));
		break;
	}
	length = snprintf(unknown, sizeof(unknown), "0x%" PRIx64, address);
	return strings_add(&names->texts, unknown, (size_t)length);
}

/* --- counts -------------------------------------------------------------- */

static const struct count_file *map_counts(const char *path)
{
	const struct count_file *file;
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		die("cannot read", path);
	file = mmap(NULL, sizeof(*file), PROT_READ, MAP_SHARED, fd, 0);
	if (file == MAP_FAILED)
		die("cannot map", path);
	close(fd);
	if (file->header.magic != COUNT_MAGIC || file->header.overflows ||
	    file->header.tables > COUNT_TABLES) {
		fprintf(stderr,
			"count_names: %s is no count file, or it had "
			"no room for all calls\n",
			path);
		exit(1);
	}
	return file;
}

/* One line of the result. */
struct line {
	uint64_t pid, tid, calls;
	uint32_t name;
};

struct lines {
	bool by_thread; /* else pid and tid are 0, and all threads one */
	bool paths; /* not functions */
	struct line *at;
	size_t count, room;
};

static void lines_add(struct lines *lines, struct line line)
{
	if (!lines->by_thread)
		line.pid = line.tid = 0;
	if (lines->count == lines->room) {
		lines->room = lines->room * 2 + 1024;
		lines->at =
			table_grow(lines->at, lines->room, sizeof(*lines->at));
	}
	lines->at[lines->count++] = line;
}

/* The path at place @at of the table, from its outermost function on. */
static uint32_t path_name(struct names *names, const struct mappings *maps,
			  const struct count_table *table, uint64_t at)
{
	char text[NAME_BYTES];
	size_t begin = sizeof(text) - 1;

	text[begin] = '\0';
	for (uint64_t path = at + 1; path && path <= COUNT_PATHS;) {
		uint64_t key = table->paths[path - 1].key;
		uint32_t number =
			address_name(names, maps, key & COUNT_ADDRESS_MASK);
		const char *name = names->texts.texts[number];
		size_t length = strlen(name);

		if (length + 1 > begin) {
			fputs("count_names: a path is too long\n", stderr);
			exit(1);
		}
		begin -= length;
		memcpy(text + begin, name, length);
		text[--begin] = ';';
		path = key >> COUNT_CALLER_SHIFT;
	}
	return strings_add(&names->texts, text + begin,
			   sizeof(text) - 1 - begin);
}

static void add_paths(struct lines *lines, struct names *names,
		      const struct mappings *maps, uint64_t pid,
		      const struct count_table *table)
{
	if (table->paths_overflow) {
		fputs("count_names: there were more paths than have room\n",
		      stderr);
		exit(1);
	}
	for (size_t i = 0; i < COUNT_PATHS; i++)
		if (table->paths[i].key)
			lines_add(lines, (struct line){ pid, table->tid,
							table->paths[i].calls,
							path_name(names, maps,
								  table, i) });
}

static void add_functions(struct lines *lines, struct names *names,
			  const struct mappings *maps, uint64_t pid,
			  const struct count_table *table)
{
	for (size_t i = 0; i < COUNT_ENTRIES; i++) {
		const struct count_entry *entry = &table->entries[i];

		if (entry->key)
			lines_add(lines,
				  (struct line){ pid, table->tid, entry->calls,
						 address_name(names, maps,
							      entry->key) });
	}
}

/* Everything that was counted of the process in @path. */
static void add_file(struct lines *lines, struct names *names, const char *path)
{
	const struct count_file *file = map_counts(path);
	struct mappings maps = read_maps(path);

	for (uint64_t i = 0; i < file->header.tables; i++)
		(lines->paths ? add_paths : add_functions)(lines, names, &maps,
							   file->header.pid,
							   &file->tables[i]);
	munmap((void *)(uintptr_t)file, sizeof(*file));
	for (size_t i = 0; i < maps.count; i++)
		free(maps.at[i].path);
	free(maps.at);
}

static const struct strings *g_texts; /* for line_compare() */

static int line_compare(const void *left, const void *right)
{
	const struct line *a = left, *b = right;

	if (a->pid != b->pid)
		return a->pid < b->pid ? -1 : 1;
	if (a->tid != b->tid)
		return a->tid < b->tid ? -1 : 1;
	return strcmp(g_texts->texts[a->name], g_texts->texts[b->name]);
}

static void print_lines(struct lines *lines, const struct names *names)
{
	struct line *line = lines->at, *end = lines->at + lines->count;

	g_texts = &names->texts;
	if (lines->count)
		qsort(lines->at, lines->count, sizeof(*lines->at),
		      line_compare);
	while (line < end) {
		struct line *first = line;
		uint64_t calls = 0;

		for (; line < end && !line_compare(first, line); line++)
			calls += line->calls;
		if (lines->by_thread)
			printf("%" PRIu64 "\t%" PRIu64 "\t", first->pid,
			       first->tid);
		printf("%" PRIu64 "\t%s\n", calls,
		       names->texts.texts[first->name]);
	}
}

int main(int argc, char **argv)
{
	struct lines lines = { 0 };
	struct names names = { 0 };
	int first;

	lines.by_thread = argc > 1 && !strcmp(argv[1], "--by-thread");
	lines.paths = argc > 1 && !strcmp(argv[1], "--paths");
	first = lines.by_thread || lines.paths ? 2 : 1;

	if (argc <= first) {
		fputs("usage: count_names [--by-thread|--paths] COUNTFILE...\n",
		      stderr);
		return 2;
	}
	for (int i = first; i < argc; i++)
		add_file(&lines, &names, argv[i]);
	print_lines(&lines, &names);
	return fflush(stdout) != 0;
}
