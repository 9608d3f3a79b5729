/* SPDX-License-Identifier: Apache-2.0
 *
 * kernel_names - a line of the file is "ADDRESS TYPE NAME", and behind a tab the
 * module in brackets. Symbols of all types end the function before them.
 *
 * A module may be loaded after the file was read. It begins at a page of its own.
 * The end of the last function of each module is unknown, so its name is valid up
 * to the end of the page in which it starts.
 */
#include "collector/names/kernel_names.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collector/base/grow.h"
#include "collector/base/search.h"

#define PATH "/proc/kallsyms"
#define FILE_BYTES_MAX (64u << 20)
#define FIRST_BYTES 4096
#define PAGE_MASK 4095ULL
#define CORE "[kernel.kallsyms]"

struct kernel_function {
	uint64_t address;
	uint32_t name; /* in text; 0: no function */
	uint32_t module; /* in text; 0: of the kernel itself */
};

struct kernel_names {
	char *text; /* names, each with its NUL; the first is empty */
	struct kernel_function *list; /* by address */
	size_t count, room;
};

/* --- reading ------------------------------------------------------------- */

/* Reads the whole file into *@out, with a NUL behind it. */
static int read_whole(int fd, char **out, size_t *bytes)
{
	size_t room = 0;
	ssize_t got = 1;

	*out = NULL;
	for (*bytes = 0; got > 0 && *bytes < FILE_BYTES_MAX;
	     *bytes += (size_t)got) {
		if (grow_array(*out, room, *bytes + (1u << 16)))
			return -ENOMEM;
		got = read(fd, *out + *bytes, room - *bytes - 1);
		if (got < 0)
			return -errno;
	}
	if (!*out)
		return -ENOMEM;
	(*out)[*bytes] = '\0';
	return 0;
}

/* Copies the word at *@at to @to, with a NUL, and moves *@at behind it. Returns
 * its length; an odd byte becomes '?'. */
static size_t copy_word(char *to, const char **at)
{
	const char *from = *at;
	size_t bytes = 0;

	for (; from[bytes] && from[bytes] != ' ' && from[bytes] != '\t';
	     bytes++)
		to[bytes] = from[bytes] > ' ' && from[bytes] < 0x7f
				    ? from[bytes]
				    : '?';
	*at = from + bytes;
	to[bytes] = '\0';
	return bytes;
}

/* Parses the line at @line, and moves its texts to text[*used], which lies before
 * the line: no text is longer than its line. Returns false for another form. */
static bool take_symbol_line(struct kernel_names *names, const char *line,
			     size_t *used, uint32_t *last_module)
{
	struct kernel_function function = { 0 };
	const char *at = line;
	char *end, type;
	size_t name, bytes;

	function.address = strtoull(at, &end, 16);
	if (end == at || end[0] != ' ' || !end[1] || end[2] != ' ')
		return false;
	type = end[1];
	at = end + 3;
	name = *used;
	bytes = copy_word(names->text + name, &at);
	if (!bytes)
		return false;
	if (strchr("tTwW", type)) {
		function.name = (uint32_t)name;
		*used += bytes + 1;
	}
	if (*at == '\t' && at[1] == '[') {
		at++;
		bytes = copy_word(names->text + *used, &at);
		/* The symbols of a module follow each other. */
		if (!*last_module || strcmp(names->text + *last_module,
					    names->text + *used) != 0) {
			*last_module = (uint32_t)*used;
			*used += bytes + 1;
		}
		function.module = *last_module;
	}
	if (grow_array(names->list, names->room, names->count + 1))
		return false;
	names->list[names->count++] = function;
	return true;
}

static int functions_by_address(const void *a, const void *b)
{
	const struct kernel_function *x = a, *y = b;

	if (x->address != y->address)
		return x->address < y->address ? -1 : 1;
	return x->name < y->name ? -1 : x->name > y->name;
}

static size_t underscores(const struct kernel_names *names,
			  const struct kernel_function *function)
{
	return function->name ? strspn(names->text + function->name, "_")
			      : SIZE_MAX;
}

/* Keeps one symbol of each address: the first one with the fewest underscores in
 * front. */
static void drop_aliases(struct kernel_names *names)
{
	size_t kept = 0;

	for (size_t i = 0; i < names->count; i++) {
		struct kernel_function *last =
			&names->list[kept ? kept - 1 : 0];

		if (!kept || names->list[i].address != last->address)
			names->list[kept++] = names->list[i];
		else if (underscores(names, &names->list[i]) <
			 underscores(names, last))
			*last = names->list[i];
	}
	names->count = kept;
}

static int parse_symbols(struct kernel_names *names, size_t bytes)
{
	char *text = names->text, *line = text, *next;
	uint32_t last_module = 0;
	/* The first line is longer than the empty name in front of all. */
	size_t used = 1;

	for (; line < text + bytes; line = next) {
		/* ASan's strchr() looks for the end of all lines. */
		next = memchr(line, '\n', (size_t)(text + bytes - line));
		if (!next)
			break; /* cut short */
		*next++ = '\0';
		if (!take_symbol_line(names, line, &used, &last_module))
			return -EBADMSG;
	}
	text[0] = '\0';
	if (!names->count)
		return -EBADMSG;
	/* The file usually is sorted, and has 100,000 lines. */
	for (size_t i = 1; i < names->count; i++)
		if (names->list[i].address < names->list[i - 1].address) {
			qsort(names->list, names->count, sizeof(*names->list),
			      functions_by_address);
			break;
		}
	if (!names->list[names->count - 1].address)
		return -EPERM;
	drop_aliases(names);
	text = realloc(names->text, used);
	names->text = text ? text : names->text;
	return 0;
}

int kernel_names_read(int fd, struct kernel_names **out)
{
	struct kernel_names *names = calloc(1, sizeof(*names));
	size_t bytes;
	int err;

	if (!names)
		return -ENOMEM;
	err = read_whole(fd, &names->text, &bytes);
	if (!err)
		err = parse_symbols(names, bytes);
	if (err)
		kernel_names_free(&names);
	else
		*out = names;
	return err;
}

void kernel_names_free(struct kernel_names **names)
{
	struct kernel_names *old = *names;

	*names = NULL;
	if (!old)
		return;
	free(old->text);
	free(old->list);
	free(old);
}

/* --- the kernel ---------------------------------------------------------- */

bool kernel_names_has_addresses(int fd)
{
	char text[FIRST_BYTES];
	ssize_t bytes = read(fd, text, sizeof(text) - 1);

	text[bytes < 0 ? 0 : bytes] = '\0';
	/* The first symbols may have the address 0: variables of each CPU. */
	for (const char *line = text; line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (strtoull(line, NULL, 16))
			return true;
	}
	return false;
}

bool kernel_names_are_shown(void)
{
	int fd = open(PATH, O_RDONLY | O_CLOEXEC);
	bool shown = fd >= 0 && kernel_names_has_addresses(fd);

	if (fd >= 0)
		close(fd);
	return shown;
}

static struct kernel_names *shared;

static void read_shared(void)
{
	int fd = open(PATH, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return;
	if (kernel_names_read(fd, &shared) < 0)
		shared = NULL;
	close(fd);
}

const struct kernel_names *kernel_names_shared(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, read_shared);
	return shared;
}

/* --- names --------------------------------------------------------------- */

uint32_t kernel_names_find(const struct kernel_names *names, uint64_t address)
{
	const struct kernel_function *list = names->list;
	size_t at = search_first(i, names->count, list[i].address > address);
	uint64_t end;

	if (!at || !list[at - 1].name)
		return 0;
	at--;
	end = (list[at].address | PAGE_MASK) + 1;
	if (at + 1 < names->count && list[at + 1].module == list[at].module)
		end = list[at + 1].address;
	return address < end || !end ? (uint32_t)at + 1 : 0;
}

const char *kernel_names_name(const struct kernel_names *names, uint32_t number)
{
	if (!number || number > names->count)
		return "[unknown]";
	return names->text + names->list[number - 1].name;
}

const char *kernel_names_module(const struct kernel_names *names,
				uint32_t number)
{
	if (!number || number > names->count || !names->list[number - 1].module)
		return CORE;
	return names->text + names->list[number - 1].module;
}
