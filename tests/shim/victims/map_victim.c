/* SPDX-License-Identifier: Apache-2.0
 *
 * map_victim - loads and unloads plugins in every way and notes each call of
 * their functions. The program itself has no visible hooks, so recording starts
 * with the first call.
 *
 *   map_victim CASE FOLDER RESULT
 *
 * FOLDER has the plugins; RESULT receives the notes. Exits with 0 if all
 * results were as usual.
 */
#include "tests/shim/victims/map_victim.h"

#include <dlfcn.h>
#include <err.h>
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "shared/atomic.h"

static struct map_notes *g_notes; /* shared with forked children */
static const char *g_folder;

void map_note(void *function, int id)
{
	uint32_t i = atom_add_sc(&g_notes->count, 1);

	if (i < MAP_NOTES_MAX)
		g_notes->call[i] =
			(struct map_call){ (int32_t)syscall(SYS_gettid), id,
					   (uintptr_t)function };
}

static void *open_library(const char *name)
{
	char path[4096];
	void *handle;

	snprintf(path, sizeof(path), "%s/%s", g_folder, name);
	handle = dlopen(path, RTLD_NOW);
	if (!handle)
		errx(1, "%s", dlerror());
	return handle;
}

static void *open_plugin(int id)
{
	char name[64];

	snprintf(name, sizeof(name), "libmap_plugin_%d.so", id);
	return open_library(name);
}

static int (*function_of(void *handle))(int)
{
	return (int (*)(int))dlsym(handle, "map_call");
}

static void close_plugin(void *handle)
{
	if (dlclose(handle))
		errx(1, "%s", dlerror());
}

static bool call_is_right(int (*call)(int), int id)
{
	return call(7) == 8 + id;
}

static void idle(long times)
{
	typedef void hook(void *function, void *call_site);
	hook *enter = (hook *)dlsym(RTLD_DEFAULT, "__cyg_profile_func_enter");
	hook *leave = (hook *)dlsym(RTLD_DEFAULT, "__cyg_profile_func_exit");

	while (times--) {
		enter((void *)MAP_IDLE, NULL);
		leave((void *)MAP_IDLE, NULL);
	}
}

/* --- two threads load and unload, two others call the plugins ------------ */

struct pair {
	int first; /* of its two plugins */
	sem_t wanted, done;
	int (*call)(int);
	int id;
	bool bad;
};

static void *caller(void *argument)
{
	struct pair *pair = argument;

	for (;;) {
		sem_wait(&pair->wanted);
		if (!pair->call)
			return NULL;
		pair->bad |= !call_is_right(pair->call, pair->id);
		sem_post(&pair->done);
	}
}

static void *reloader(void *argument)
{
	struct pair *pair = argument;
	pthread_t partner;
	int i;

	sem_init(&pair->wanted, 0, 0);
	sem_init(&pair->done, 0, 0);
	if (pthread_create(&partner, NULL, caller, pair))
		errx(1, "pthread_create");
	for (i = 0; i < MAP_RELOADS; i++) {
		void *handle;

		pair->id = pair->first + i % 2;
		handle = open_plugin(pair->id);
		pair->call = function_of(handle);
		if (i % 3 == 0)
			pair->bad |= !call_is_right(pair->call, pair->id);
		sem_post(&pair->wanted);
		sem_wait(&pair->done);
		close_plugin(handle);
	}
	pair->call = NULL;
	sem_post(&pair->wanted);
	pthread_join(partner, NULL);
	return NULL;
}

static int case_reload(void)
{
	struct pair pairs[2] = { { .first = 0 }, { .first = 2 } };
	pthread_t threads[2];
	int i;

	for (i = 0; i < 2; i++)
		if (pthread_create(&threads[i], NULL, reloader, &pairs[i]))
			errx(1, "pthread_create");
	for (i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	return pairs[0].bad || pairs[1].bad;
}

/* --- one thread ---------------------------------------------------------- */

/* The first call of a plugin is late, in a thread that opens nothing. */
static int case_late(void)
{
	struct pair pair = { .first = 0 };
	pthread_t partner;
	void *handle;
	int i;

	sem_init(&pair.wanted, 0, 0);
	sem_init(&pair.done, 0, 0);
	pthread_create(&partner, NULL, caller, &pair);
	for (i = 0; i < 10; i++) {
		void *other = open_plugin(2);

		pair.id = i % 2;
		handle = open_plugin(pair.id);
		idle(1000);
		close_plugin(other);
		idle(1000);
		pair.call = function_of(handle);
		sem_post(&pair.wanted);
		sem_wait(&pair.done);
		close_plugin(handle);
	}
	pair.call = NULL;
	sem_post(&pair.wanted);
	pthread_join(partner, NULL);
	return pair.bad;
}

/* The child maps another plugin at the address of the parent's. */
static int case_fork(void)
{
	void *handle = open_plugin(0);
	int status, i;

	for (i = 0; i < 20; i++) {
		pid_t pid;

		if (!call_is_right(function_of(handle), 0))
			return 1;
		pid = fork();
		if (!pid) {
			if (i % 2)
				idle(1);
			close_plugin(handle);
			handle = open_plugin(1);
			exit(!call_is_right(function_of(handle), 1));
		}
		if (waitpid(pid, &status, 0) != pid || status)
			return 1;
	}
	close_plugin(handle);
	return 0;
}

static int case_killed(void)
{
	call_is_right(function_of(open_plugin(0)), 0);
	return raise(SIGKILL);
}

/* The copy's path is in @path. */
static void *open_copy(char path[64])
{
	static char bytes[1 << 20];
	char from[4096];
	FILE *file;
	void *handle;
	size_t size;
	int fd;

	snprintf(from, sizeof(from), "%s/libmap_bare.so", g_folder);
	file = fopen(from, "r");
	if (!file)
		err(1, "%s", from);
	size = fread(bytes, 1, sizeof(bytes), file);
	fclose(file);
	strcpy(path, "/tmp/libmap_bare-XXXXXX");
	fd = mkstemp(path);
	if (fd < 0 || write(fd, bytes, size) != (ssize_t)size)
		err(1, "%s", path);
	close(fd);
	handle = dlopen(path, RTLD_NOW);
	if (!handle)
		errx(1, "%s", dlerror());
	return handle;
}

/* Deleted before the first call, and unloaded silently. */
static int case_deleted(void)
{
	char path[64];
	void *handle = open_copy(path);

	unlink(path);
	if (!call_is_right(function_of(handle), 0))
		return 1;
	return raise(SIGKILL);
}

static int case_deleted_late(void)
{
	char path[64];
	void *handle = open_copy(path);
	bool is_right = call_is_right(function_of(handle), 0);

	unlink(path);
	return !is_right;
}

/* The file is cut while mapped: reading behind its first page kills. */
static int case_cut(void)
{
	char path[64];
	void *handle = open_copy(path);

	if (truncate(path, 4096))
		return 1;
	close_plugin(handle);
	unlink(path);
	return 0;
}

/* Never called, so the end must report it. */
static int case_exit(void)
{
	open_library("libmap_opener.so");
	idle(1000);
	return 0;
}

static int case_quiet(void)
{
	void *handle = open_library("libmap_opener.so");

	idle(1000);
	close_plugin(handle);
	idle(1000);
	return 0;
}

/* Recording starts in the plugin's constructor. */
static int case_first(void)
{
	void *handle = open_plugin(0);

	close_plugin(handle);
	handle = open_plugin(1);
	return !call_is_right(function_of(handle), 1);
}

static int case_runpath(void)
{
	void *opener = open_library("libmap_opener.so");
	void *(*beside)(const char *) = dlsym(opener, "map_open_beside");
	void *(*apart)(const char *) = dlsym(opener, "map_open_apart");

	if (dlopen("libmap_plugin_0.so", RTLD_NOW))
		return 1; /* not in the program's path */
	return !call_is_right(function_of(beside("libmap_plugin_0.so")), 0) ||
	       !call_is_right(function_of(apart("libmap_plugin_1.so")), 1);
}

/* As without the shim. */
static int case_errors(void)
{
	static char no_handle[4096];
	void *handle = open_plugin(0);
	const char *error;

	errno = 0;
	if (dlopen("/no/such/library", RTLD_NOW))
		return 1;
	error = dlerror();
	if (!error || !strstr(error, "/no/such/library") || dlerror())
		return 1;
	if (dlsym(handle, "no_such_function"))
		return 1;
	error = dlerror();
	if (!error || !strstr(error, "no_such_function"))
		return 1;
	errno = 1234;
	close_plugin(handle);
	return errno != 1234 || dlerror() || !dlclose(no_handle) || !dlerror();
}

/* In another namespace a plugin gets the C library's hooks. */
static int case_dlmopen(void)
{
	char path[4096];
	void *handle;
	int bad;

	snprintf(path, sizeof(path), "%s/libmap_plugin_0.so", g_folder);
	handle = dlmopen(LM_ID_NEWLM, path, RTLD_NOW);
	if (!handle)
		errx(1, "%s", dlerror());
	bad = !call_is_right(function_of(handle), 0);
	idle(10);
	close_plugin(handle);
	idle(10);
	return bad;
}

static const struct {
	const char *name;
	int (*run)(void);
} g_cases[] = {
	{ "reload", case_reload },   { "late", case_late },
	{ "fork", case_fork },	     { "killed", case_killed },
	{ "exit", case_exit },	     { "quiet", case_quiet },
	{ "first", case_first },     { "runpath", case_runpath },
	{ "deleted", case_deleted }, { "deleted-late", case_deleted_late },
	{ "cut", case_cut },	     { "errors", case_errors },
	{ "dlmopen", case_dlmopen },
};

int main(int argc, char **argv)
{
	size_t i;
	FILE *result;

	if (argc != 4)
		errx(2, "usage: map_victim CASE FOLDER RESULT");
	g_folder = argv[2];
	result = fopen(argv[3], "r+");
	if (!result || ftruncate(fileno(result), sizeof(*g_notes)))
		err(2, "%s", argv[3]);
	g_notes = mmap(NULL, sizeof(*g_notes), PROT_READ | PROT_WRITE,
		       MAP_SHARED, fileno(result), 0);
	if (g_notes == MAP_FAILED)
		err(2, "mmap");
	if (strcmp(argv[1], "first"))
		idle(10);
	for (i = 0; i < sizeof(g_cases) / sizeof(g_cases[0]); i++)
		if (!strcmp(argv[1], g_cases[i].name))
			return g_cases[i].run();
	errx(2, "no case %s", argv[1]);
}
