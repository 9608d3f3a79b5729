/* SPDX-License-Identifier: Apache-2.0
 *
 * elf_twins - a static function in a header is compiled into each file that
 * includes it, but is one function for people. So the line table decides which
 * file it is from. Without it, the compiled file counts (STT_FILE).
 */
#include "collector/names/elf_twins.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collector/base/grow.h"
#include "collector/base/path.h"
#include "collector/names/elf_functions.h"
#include "collector/names/line_starts.h"
#include "shared/hash.h"

/* Limits for hostile files. */
#define TWINS_MAX (256u << 10)
#define NAME_BYTES_MAX (16u << 20)

struct twin {
	uint64_t address;
	char *path;
	uint32_t function;
	uint32_t hash;
	struct elf_file file;
};

struct twins {
	struct elf_functions *functions;
	struct twin *list;
	size_t count, room;
};

static const char *name_of_twin(const struct elf_functions *functions,
				uint32_t function)
{
	return functions->strings + functions->list[function].name;
}

static int add_twin(struct twins *twins, uint32_t function, uint32_t hash,
		    const struct elf_file *file)
{
	if (grow_array(twins->list, twins->room, twins->count + 1))
		return -ENOMEM;
	twins->list[twins->count++] = (struct twin){
		.address = twins->functions->list[function].start,
		.function = function,
		.hash = hash,
		.file = *file,
	};
	return 0;
}

/* Adds local functions whose hash occurs twice. */
static int find_candidates(struct twins *twins, size_t first,
			   const struct elf_file *files)
{
	const struct elf_functions *functions = twins->functions;
	size_t count = functions->count - first, slots = 256;
	uint8_t *seen;
	int err = 0;

	while (slots < 4 * count)
		slots *= 2;
	seen = calloc(slots, sizeof(*seen));
	if (!seen)
		return -ENOMEM;
	for (int pass = 0; pass < 2; pass++)
		for (size_t i = first; i < functions->count && !err; i++) {
			uint32_t hash;

			if (!(functions->list[i].rank & ELF_RANK_LOCAL))
				continue;
			hash = (uint32_t)hash_text(
				HASH_START,
				name_of_twin(functions, (uint32_t)i));
			if (!pass)
				seen[hash % slots] += seen[hash % slots] < 2;
			else if (seen[hash % slots] > 1 &&
				 twins->count < TWINS_MAX)
				err = add_twin(twins, (uint32_t)i, hash,
					       &files[i - first]);
		}
	free(seen);
	return err;
}

static int compare_twin_addresses(const void *left, const void *right)
{
	const struct twin *a = left, *b = right;

	return (a->address > b->address) - (a->address < b->address);
}

static int compare_twins(const void *left, const void *right, void *context)
{
	const struct elf_functions *functions = context;
	const struct twin *a = left, *b = right;
	int order;

	if (a->hash != b->hash)
		return a->hash < b->hash ? -1 : 1;
	order = strcmp(name_of_twin(functions, a->function),
		       name_of_twin(functions, b->function));
	if (!order)
		order = strcmp(path_name(a->path), path_name(b->path));
	if (!order)
		order = strcmp(a->path, b->path);
	return order ? order : compare_twin_addresses(a, b);
}

/* Appends @part, or replaces @path with an absolute @part. Resolves ".", ".."
 * of search paths for headers. Cuts long paths. */
static void add_path_part(char *path, size_t room, const char *part)
{
	size_t used = *part == '/' ? 0 : strlen(path);

	path[used] = '\0';
	while (*part) {
		size_t length = strcspn(part, "/");
		char *slash = strrchr(path, '/');

		if (length == 2 && !memcmp(part, "..", 2) && slash &&
		    strcmp(slash, "/..") != 0) {
			*slash = '\0';
		} else if (length && !(length == 1 && *part == '.') &&
			   length + 2 < room - strlen(path)) {
			used = strlen(path);
			path[used] = '/';
			memcpy(path + used + 1, part, length);
			path[used + 1 + length] = '\0';
		}
		part += length;
		part += *part == '/';
	}
}

static int find_twin_files(Elf *elf, struct twins *twins)
{
	struct line_file *lines = calloc(twins->count + 1, sizeof(*lines));
	int err = lines ? 0 : -ENOMEM;

	qsort(twins->list, twins->count, sizeof(*twins->list),
	      compare_twin_addresses);
	for (size_t i = 0; i < twins->count && !err; i++)
		lines[i].address = twins->list[i].address;
	if (!err)
		line_files_find(elf, lines, twins->count);
	for (size_t i = 0; i < twins->count && !err; i++) {
		struct twin *twin = &twins->list[i];
		const char *file = twins->functions->strings + twin->file.name;
		char path[PATH_MAX] = "";

		if (lines[i].path) {
			add_path_part(path, sizeof(path), lines[i].root);
			add_path_part(path, sizeof(path), lines[i].folder);
			add_path_part(path, sizeof(path), lines[i].path);
		} else if (*file) {
			/* Without lines, files of equal names are distinct. */
			snprintf(path, sizeof(path), "%u", twin->file.number);
			add_path_part(path, sizeof(path), file);
		}
		twin->path = strdup(path);
		err = twin->path ? 0 : -ENOMEM;
	}
	free(lines);
	return err;
}

/* Goes to the end of functions->strings at last. */
struct marked {
	char *strings;
	size_t bytes, room;
};

static int mark_file(const struct twins *twins, const struct twin *twin,
		     unsigned int number, struct marked *marked,
		     size_t base_bytes)
{
	struct elf_function *function = &twins->functions->list[twin->function];
	const char *name = name_of_twin(twins->functions, twin->function);
	const char *file = path_name(twin->path);
	size_t wanted = strlen(name) + strlen(file) + 16;
	int written;

	if (!*file || wanted > NAME_BYTES_MAX - marked->bytes)
		return 0;
	if (grow_array(marked->strings, marked->room, marked->bytes + wanted))
		return -ENOMEM;
	written = number > 1 ? snprintf(marked->strings + marked->bytes, wanted,
					"%s%c%s #%u", name, ELF_FILE_MARK, file,
					number)
			     : snprintf(marked->strings + marked->bytes, wanted,
					"%s%c%s", name, ELF_FILE_MARK, file);
	function->name = (uint32_t)(base_bytes + marked->bytes);
	marked->bytes += (size_t)written + 1;
	return 0;
}

static int mark_group(const struct twins *twins, const struct twin *twin,
		      size_t count, struct marked *marked)
{
	const size_t base_bytes = twins->functions->string_bytes;
	unsigned int number = 1;
	int err = 0;

	if (!strcmp(twin[0].path, twin[count - 1].path))
		return 0;
	for (size_t i = 0; i < count && !err; i++) {
		if (i && strcmp(twin[i].path, twin[i - 1].path) != 0) {
			const char *before = path_name(twin[i - 1].path);
			const char *now = path_name(twin[i].path);

			number = strcmp(before, now) ? 1 : number + 1;
		}
		err = mark_file(twins, &twin[i], number, marked, base_bytes);
	}
	return err;
}

static int mark_files(struct twins *twins)
{
	struct elf_functions *functions = twins->functions;
	struct marked marked = { 0 };
	size_t end;
	char *grown;
	int err = 0;

	for (size_t i = 0; i < twins->count && !err; i = end) {
		const char *name =
			name_of_twin(functions, twins->list[i].function);

		for (end = i + 1; end < twins->count; end++)
			if (twins->list[end].hash != twins->list[i].hash ||
			    strcmp(name,
				   name_of_twin(functions,
						twins->list[end].function)))
				break;
		err = mark_group(twins, &twins->list[i], end - i, &marked);
	}
	grown = realloc(functions->strings,
			functions->string_bytes + marked.bytes + 1);
	if (grown) {
		functions->strings = grown;
		if (marked.strings)
			memcpy(grown + functions->string_bytes, marked.strings,
			       marked.bytes);
		functions->string_bytes += marked.bytes;
	}
	free(marked.strings);
	return grown ? err : -ENOMEM;
}

int elf_twins_name(Elf *elf, struct elf_functions *functions, size_t first,
		   const struct elf_file *files)
{
	struct twins twins = { .functions = functions };
	int err = find_candidates(&twins, first, files);

	if (!err && twins.count) {
		err = find_twin_files(elf, &twins);
		if (!err) {
			qsort_r(twins.list, twins.count, sizeof(*twins.list),
				compare_twins, functions);
			err = mark_files(&twins);
		}
	}
	for (size_t i = 0; i < twins.count; i++)
		free(twins.list[i].path);
	free(twins.list);
	return err;
}
