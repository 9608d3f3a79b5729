/* SPDX-License-Identifier: Apache-2.0 */
#include "preload/start/environment.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <unistd.h>

#include "preload/core/gate.h"
#include "preload/core/libc.h"
#include "preload/core/linker.h"
#include "preload/core/settings.h"
#include "preload/core/sys.h"
#include "preload/core/thread.h"
#include "preload/start/hello.h"
#include "shared/compiler.h"
#include "shared/environment.h"

#define PRELOAD "LD_PRELOAD="
#define ASAN "ASAN_OPTIONS="
#define SOCKET "PERFREC_SOCKET="
#define DISABLE "PERFREC_DISABLE="
/* ASan ends a program if it is not the first library. */
#define ASAN_LATER "verify_asan_link_order=0"

#define KEPT_MAX 16
#define KEPT_BYTES 4096

/* Copies: programs overwrite their first environment to set a title. */
static struct {
	const char *shim; /* its path; NULL: environments stay unchanged */
	uint32_t count; /* number of perfrec's variables */
	/* perfrec's variables, then the socket's, then NULL. */
	char *variables[KEPT_MAX + 1];
	char text[KEPT_BYTES];
	size_t used;
} g_kept;

/* The environment of this thread's vfork() child. */
static __thread struct {
	void *block;
	size_t bytes;
} t_vforked;

/* --- strings ------------------------------------------------------------- */

static bool starts(const char *text, const char *with)
{
	return !strncmp(text, with, strlen(with));
}

static char *append(char *to, const char *text)
{
	size_t length = strlen(text);

	memcpy(to, text, length + 1);
	return to + length;
}

/* Returns the last part of the first @length bytes of @path. */
static const char *file_name(const char *path, size_t length)
{
	while (length && path[length - 1] != '/')
		length--;
	return path + length;
}

/* Returns true if @list (LD_PRELOAD) has a library named like @path. */
static bool has_library(const char *list, const char *path)
{
	const char *name = file_name(path, strlen(path));
	size_t bytes = strlen(name), length;

	for (;; list += length + 1) {
		const char *last;

		for (length = 0; list[length] && list[length] != ':' &&
				 list[length] != ' ';)
			length++;
		last = file_name(list, length);
		if ((size_t)(list + length - last) == bytes &&
		    !memcmp(last, name, bytes))
			return true;
		if (!list[length])
			return false;
	}
}

static bool has_text(const char *text, const char *part)
{
	for (; *text; text++)
		if (starts(text, part))
			return true;
	return false;
}

/* Returns true if both have the same name. */
static bool is_same_variable(const char *variable, const char *other)
{
	while (*variable == *other && *variable && *variable != '=')
		variable++, other++;
	return *variable == *other;
}

/* --- kept variables ------------------------------------------------------- */

static bool keep_variable(const char *variable, uint32_t count)
{
	size_t bytes = strlen(variable) + 1;

	if (count >= KEPT_MAX || bytes > sizeof(g_kept.text) - g_kept.used)
		return false;
	g_kept.variables[count] = g_kept.text + g_kept.used;
	memcpy(g_kept.variables[count], variable, bytes);
	g_kept.used += bytes;
	return true;
}

void environment_keep(char **variables)
{
	const struct link_map *shim = linker_shim();
	struct settings settings;
	bool preloaded = false;
	uint32_t count = 0;

	if (!shim || !variables || libc()->getauxval(AT_SECURE))
		return;
	settings_read(variables, &settings);
	if (settings.disabled || settings.no_inherit)
		return;
	for (char **variable = variables; *variable; variable++) {
		if (starts(*variable, PRELOAD))
			preloaded = has_library(*variable + strlen(PRELOAD),
						shim->l_name);
		if (starts(*variable, "PERFREC_") &&
		    !keep_variable(*variable, count++))
			return;
	}
	g_kept.count = count;
	for (char **variable = variables; *variable; variable++)
		if ((starts(*variable, "XDG_RUNTIME_DIR=") ||
		     starts(*variable, "TMPDIR=")) &&
		    !keep_variable(*variable, count++))
			return;
	if (preloaded)
		g_kept.shim = shim->l_name;
}

/* --- the environment of a call -------------------------------------------- */

#define NONE SIZE_MAX

struct look {
	size_t count;
	size_t preload, asan; /* index of the last such variable, or NONE */
	uint32_t seen; /* a bit for each kept variable */
	bool has_socket;
	bool disabled;
};

static void look_at_ours(struct look *look, const char *variable)
{
	look->has_socket |= starts(variable, SOCKET);
	if (starts(variable, DISABLE)) {
		const char *value = variable + strlen(DISABLE);

		look->disabled = value[0] && strcmp(value, "0") != 0;
	}
	for (uint32_t i = 0; i < g_kept.count; i++)
		if (is_same_variable(variable, g_kept.variables[i]))
			look->seen |= 1u << i;
}

static void look_at_variable(struct look *look, const char *variable)
{
	if (starts(variable, PRELOAD))
		look->preload = look->count;
	else if (starts(variable, ASAN))
		look->asan = look->count;
	else if (starts(variable, "PERFREC_"))
		look_at_ours(look, variable);
}

static void look_at(struct look *look, char *const *given)
{
	*look = (struct look){ .preload = NONE, .asan = NONE };
	for (; given && given[look->count]; look->count++)
		look_at_variable(look, given[look->count]);
}

/* Returns true if a program that starts now can load the shim and reach a
 * collector. Sets @socket to the path of its socket. */
static bool can_record(char socket[HELLO_SOCKET_BYTES])
{
	struct settings settings;

	if (g_shim.no_syscalls ||
	    sys(SYS_faccessat, AT_FDCWD, g_kept.shim, R_OK))
		return false;
	settings_read(g_kept.variables, &settings);
	return hello_find_socket(&settings, "", socket);
}

static void *map_block(size_t bytes)
{
	long block = sys(SYS_mmap, 0, bytes, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return sys_failed(block) ? NULL : (void *)block;
}

/* Writes "@name@first@second" at *@text, with @between if needed. */
static char *join(char **text, const char *name, const char *first,
		  const char *between, const char *second)
{
	char *begin = *text, *end = append(append(begin, name), first);

	if (first[0] && second[0])
		end = append(end, between);
	*text = append(end, second) + 1;
	return begin;
}

/* Replaces the variable at @at, or appends @variable if that is NONE. */
static void put(char **list, size_t *end, size_t at, char *variable)
{
	list[at == NONE ? (*end)++ : at] = variable;
}

static const char *value_at(char *const *given, size_t at, const char *name)
{
	return at == NONE ? "" : given[at] + strlen(name);
}

/* Appends unseen kept variables. Returns true if the list has a socket. */
static bool put_missing(char **list, size_t *end, const struct look *look)
{
	bool has_socket = look->has_socket;

	for (uint32_t i = 0; i < g_kept.count; i++)
		if (!(look->seen >> i & 1)) {
			put(list, end, NONE, g_kept.variables[i]);
			has_socket |= starts(g_kept.variables[i], SOCKET);
		}
	return has_socket;
}

/* Makes the list of @environment; @look describes its given one. */
static void extend(struct environment *environment, const struct look *look,
		   const char *preload, const char *socket)
{
	const char *asan = value_at(environment->given, look->asan, ASAN);
	size_t end = look->count, room = end + g_kept.count + 4;
	size_t bytes = room * sizeof(char *) + strlen(preload) + strlen(asan) +
		       strlen(g_kept.shim) + strlen(socket) +
		       sizeof(PRELOAD ":" ASAN ":" ASAN_LATER SOCKET) + 2;
	char **list = map_block(bytes), *text;
	bool has_socket;

	if (!list)
		return;
	text = (char *)(list + room);
	if (end)
		memcpy(list, environment->given, end * sizeof(*list));
	has_socket = put_missing(list, &end, look);
	if (!has_library(preload, g_kept.shim)) {
		put(list, &end, look->preload,
		    join(&text, PRELOAD, g_kept.shim, ":", preload));
		if (!has_text(asan, ASAN_LATER))
			put(list, &end, look->asan,
			    join(&text, ASAN, asan, ":", ASAN_LATER));
		if (!has_socket)
			put(list, &end, NONE,
			    join(&text, SOCKET, socket, "", ""));
	}
	list[end] = NULL;
	environment->list = list;
	environment->block = list;
	environment->bytes = bytes;
}

void environment_begin(struct environment *environment, char *const *given)
{
	char socket[HELLO_SOCKET_BYTES];
	const char *preload;
	struct look look;

	*environment = (struct environment){ .given = given, .list = given };
	if (!g_kept.shim)
		return;
	look_at(&look, given);
	preload = value_at(given, look.preload, PRELOAD);
	if (look.disabled || (has_library(preload, g_kept.shim) &&
			      look.seen == (1u << g_kept.count) - 1))
		return;
	if (!can_record(socket))
		return;
	extend(environment, &look, preload, socket);
	if (t_thread.in_vfork) {
		t_vforked.block = environment->block;
		t_vforked.bytes = environment->bytes;
	}
}

bool environment_again(struct environment *environment, int err)
{
	if (!environment->block)
		return false;
	sys(SYS_munmap, environment->block, environment->bytes);
	if (t_vforked.block == environment->block)
		t_vforked.block = NULL;
	environment->block = NULL;
	environment->list = environment->given;
	return err == E2BIG;
}

void environment_vfork_end(void)
{
	if (likely(!t_vforked.block))
		return;
	sys(SYS_munmap, t_vforked.block, t_vforked.bytes);
	t_vforked.block = NULL;
}
