/* SPDX-License-Identifier: Apache-2.0
 *
 * count_preload - counts the calls of each instrumented function and of each
 * path of calls, so that tests can compare perfrec's counts and trees with an
 * independent count of the same run. (Paths are right in programs in which
 * every call returns: longjmp() and the like make others.) LD_PRELOAD lists it
 * after perfrec's shim, which calls its hooks.
 *
 * The counts lie in a file that is mapped shared, $COUNT_OUT.PID. So they are
 * complete at every moment, also after kill -9, without work at exit. An image
 * that exec() puts into the same process gets $COUNT_OUT.PID.2 and so on. The
 * load map lies beside it, in ... .maps, for tools/count_names to find the
 * names. It is written again when a function lies outside the known mappings.
 *
 * Each thread has a table of its own, found through a thread-local pointer.
 * A signal handler may interrupt a count in its own thread and count as well:
 * compare and swap claims entries, and one instruction adds a call. Slow paths
 * (the first call of a process, of a thread, of a function in a thread) run
 * with all signals blocked. They use no function of the C library that could
 * lock, allocate or be cancelled.
 *
 * A fork's child starts from zero: the flag that the process is ready lies in a
 * page that the kernel wipes on fork.
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "shared/atomic.h"
#include "shared/compiler.h"
#include "tests/tools/count_file.h"

#define PATH_BYTES 4096
#define RANGES_MAX 512

enum state { STATE_NONE, STATE_STARTING, STATE_READY, STATE_OFF };

/* The state of this process. The kernel clears it in a child after fork. */
struct home {
	uint32_t state; /* enum state */
	uint32_t maps_lock;
	uint64_t generation; /* the process id, once it is ready */
	struct count_file *file;
};

struct range {
	uint64_t start, end;
};

static struct home *g_home;
static char g_maps_path[PATH_BYTES + 32];
static struct range g_ranges[RANGES_MAX]; /* executable, of the last map */
static size_t g_range_count;

static __thread struct {
	struct count_table *table;
	uint64_t generation;
	uint64_t path; /* that is open: its place + 1; 0: none */
} t_own __attribute__((tls_model("initial-exec")));

/* --- files --------------------------------------------------------------- */

/* No cancellation points, no locks. */
static int sys_open(const char *path, int flags)
{
	return (int)syscall(SYS_openat, AT_FDCWD, path, flags | O_CLOEXEC,
			    0600);
}

static ssize_t sys_read(int fd, void *buffer, size_t size)
{
	return syscall(SYS_read, fd, buffer, size);
}

static void sys_close(int fd)
{
	syscall(SYS_close, fd);
}

/* Appends @value in decimal to @out. Returns the new end. */
static char *put_number(char *out, uint64_t value)
{
	char digits[20];
	int count = 0;

	do
		digits[count++] = (char)('0' + value % 10);
	while (value /= 10);
	while (count)
		*out++ = digits[--count];
	*out = '\0';
	return out;
}

/* COUNT_OUT from the environment the process was started with: the C library
 * may not have set environ up yet. False when it is not there. */
static bool read_prefix(char out[PATH_BYTES])
{
	static const char key[] = "COUNT_OUT=";
	size_t matched = 0, length = 0;
	char buffer[512];
	bool found = false;
	ssize_t got;
	int fd = sys_open("/proc/self/environ", O_RDONLY);

	if (fd < 0)
		return false;
	while (!found && (got = sys_read(fd, buffer, sizeof(buffer))) > 0) {
		for (ssize_t i = 0; i < got && !found; i++) {
			char c = buffer[i];

			if (matched == sizeof(key) - 1) {
				found = !c;
				if (!found && length < PATH_BYTES - 1)
					out[length++] = c;
			} else if (!c) {
				matched = 0;
			} else if (matched != SIZE_MAX) {
				matched = c == key[matched] ? matched + 1
							    : SIZE_MAX;
			}
		}
	}
	sys_close(fd);
	out[length] = '\0';
	return length != 0;
}

/* Makes the count file of this image and sets g_maps_path. */
static int create_file(void)
{
	char path[PATH_BYTES + 32];
	char *end;
	int fd = -1;

	if (!read_prefix(path))
		return -1;
	end = path + strlen(path);
	*end++ = '.';
	end = put_number(end, (uint64_t)getpid());
	for (uint64_t image = 2; image < 1000; image++) {
		fd = sys_open(path, O_RDWR | O_CREAT | O_EXCL);
		if (fd >= 0 || errno != EEXIST)
			break;
		*end = '.';
		put_number(end + 1, image);
	}
	memcpy(g_maps_path, path, sizeof(path));
	memcpy(g_maps_path + strlen(path), ".maps", sizeof(".maps"));
	return fd;
}

static struct count_file *map_file(void)
{
	struct count_file *file;
	int fd = create_file();

	if (fd < 0)
		return NULL;
	if (ftruncate(fd, sizeof(*file)) < 0) {
		sys_close(fd);
		return NULL;
	}
	file = mmap(NULL, sizeof(*file), PROT_READ | PROT_WRITE,
		    MAP_SHARED | MAP_NORESERVE, fd, 0);
	sys_close(fd);
	if (file == MAP_FAILED)
		return NULL;
	madvise(file, sizeof(*file), MADV_DONTDUMP);
	file->header.pid = (uint64_t)getpid();
	file->header.magic = COUNT_MAGIC;
	return file;
}

/* --- the load map -------------------------------------------------------- */

/* A line of /proc/self/maps, character by character: "start-end perms ...". */
struct maps_parser {
	struct range range;
	unsigned int word; /* 0 start, 1 end, 2 permissions, 3 the rest */
	unsigned int permission;
	bool executable;
};

static void maps_line_end(struct maps_parser *parser)
{
	if (parser->executable && g_range_count < RANGES_MAX)
		g_ranges[g_range_count++] = parser->range;
	*parser = (struct maps_parser){ 0 };
}

static void maps_permission(struct maps_parser *parser, char c)
{
	parser->executable = c == 'x';
	parser->word = 3;
}

static void maps_character(struct maps_parser *parser, char c)
{
	uint64_t *number =
		parser->word ? &parser->range.end : &parser->range.start;

	if (c == '\n')
		maps_line_end(parser);
	else if (parser->word < 2 && (c == '-' || c == ' '))
		parser->word++;
	else if (parser->word < 2)
		*number = *number << 4 |
			  (uint64_t)(c <= '9' ? c - '0' : c - 'a' + 10);
	else if (parser->word == 2 && ++parser->permission == 3)
		maps_permission(parser, c);
}

/* Appends the load map as it is now to the .maps file. */
static void save_maps(void)
{
	struct maps_parser parser = { 0 };
	char buffer[4096];
	ssize_t got;
	int from = sys_open("/proc/self/maps", O_RDONLY);
	int to = sys_open(g_maps_path, O_WRONLY | O_CREAT | O_APPEND);

	g_range_count = 0;
	while (from >= 0 && to >= 0 &&
	       (got = sys_read(from, buffer, sizeof(buffer))) > 0) {
		for (ssize_t i = 0; i < got; i++)
			maps_character(&parser, buffer[i]);
		if (syscall(SYS_write, to, buffer, got) != got)
			break;
	}
	if (from >= 0)
		sys_close(from);
	if (to >= 0)
		sys_close(to);
}

static bool is_known(uint64_t address)
{
	for (size_t i = 0; i < g_range_count; i++)
		if (address >= g_ranges[i].start && address < g_ranges[i].end)
			return true;
	return false;
}

/* A function that a thread calls for the first time. */
static void ATTR_NOINLINE new_function(struct home *home, uint64_t address)
{
	int saved_errno = errno;
	sigset_t all, old;

	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, &old);
	/* order: sc, pairs itself: g_ranges has one user */
	while (!atom_cas_sc(&home->maps_lock, 0u, 1u))
		sched_yield();
	if (!is_known(address))
		save_maps();
	/* order: rel, pairs the swap above: g_ranges is as we left it */
	atom_store_rel(&home->maps_lock, 0u);
	sigprocmask(SIG_SETMASK, &old, NULL);
	errno = saved_errno;
}

/* --- the first call of a process and of a thread ------------------------- */

/* The page that says whether this process is ready. */
static struct home *find_home(void)
{
	/* order: acq, pairs the swap below: its page is wiped on fork */
	struct home *home = atom_load_acq(&g_home);

	if (home)
		return home;
	home = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (home == MAP_FAILED)
		return NULL;
	madvise(home, 4096, MADV_WIPEONFORK);
	/* order: sc, pairs the load above: one page for all threads */
	if (atom_cas_sc(&g_home, (struct home *)NULL, home))
		return home;
	munmap(home, 4096);
	return atom_load_acq(&g_home);
}

static void start_process(struct home *home)
{
	home->file = map_file();
	g_range_count = 0;
	if (home->file)
		save_maps();
	home->generation = (uint64_t)getpid();
	/* order: rel, pairs claim_table: the file is mapped */
	atom_store_rel(&home->state, home->file ? STATE_READY : STATE_OFF);
}

static struct count_table *claim_table(struct home *home)
{
	struct count_header *header;
	uint64_t index;
	uint32_t state;

	if (atom_cas_sc(&home->state, STATE_NONE, STATE_STARTING))
		start_process(home);
	/* order: acq, pairs start_process: the file is mapped */
	while ((state = atom_load_acq(&home->state)) == STATE_STARTING)
		sched_yield();
	if (state == STATE_OFF)
		return NULL;
	header = &home->file->header;
	index = atom_add_rlx(&header->tables, 1);
	if (index >= COUNT_TABLES)
		return NULL;
	home->file->tables[index].tid = (uint64_t)syscall(SYS_gettid);
	return &home->file->tables[index];
}

/* Sets t_own.table; it stays NULL when there is nothing to count in. */
static void ATTR_NOINLINE start_thread(void)
{
	int saved_errno = errno;
	sigset_t all, old;
	struct home *home;

	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, &old);
	home = find_home();
	if (home) {
		t_own.table = claim_table(home);
		t_own.path = 0;
		t_own.generation = home->generation;
	}
	sigprocmask(SIG_SETMASK, &old, NULL);
	errno = saved_errno;
}

/* --- the hooks ----------------------------------------------------------- */

/* The entry of @key among the @count at @entries, or NULL if there is no room;
 * *@is_new: it was free. */
static struct count_entry *find_entry(struct count_entry *entries,
				      uint64_t count, uint64_t key,
				      bool *is_new)
{
	uint64_t at = (key >> 4) * 0x9e3779b97f4a7c15ULL >> 32;

	*is_new = false;
	for (uint64_t i = 0; i < count; i++) {
		struct count_entry *entry = &entries[(at + i) % count];
		/* relaxed: only this thread and its handlers write here */
		uint64_t known = atom_load_rlx(&entry->key);

		if (!known && atom_cas_sc(&entry->key, 0ULL, key)) {
			*is_new = true;
			return entry;
		}
		if (!known)
			known = atom_load_rlx(&entry->key);
		if (known == key)
			return entry;
	}
	return NULL;
}

static void count_call(struct home *home, uint64_t address)
{
	bool is_new;
	struct count_entry *entry = find_entry(t_own.table->entries,
					       COUNT_ENTRIES, address, &is_new);

	if (is_new)
		new_function(home, address);
	if (entry)
		atom_add_rlx(&entry->calls, 1);
	else
		atom_add_rlx(&home->file->header.overflows, 1);
}

/* A handler that interrupts this leaves the open path as it found it. */
static void path_enter(struct count_table *table, uint64_t address)
{
	struct count_entry *entry;
	bool is_new;

	if (table->paths_overflow)
		return;
	entry = find_entry(table->paths, COUNT_PATHS,
			   t_own.path << COUNT_CALLER_SHIFT | address, &is_new);
	if (!entry || (is_new && ++table->path_count > COUNT_PATHS_MAX)) {
		table->paths_overflow = 1;
		return;
	}
	atom_add_rlx(&entry->calls, 1);
	t_own.path = (uint64_t)(entry - table->paths) + 1;
}

/* Also ends callees that never returned. Ignores the exit of a function that is
 * not open: the parent of a forked child entered it. */
static void path_exit(const struct count_table *table, uint64_t address)
{
	uint64_t path = t_own.path, key;

	while (path) {
		key = table->paths[path - 1].key;
		path = key >> COUNT_CALLER_SHIFT;
		if ((key & COUNT_ADDRESS_MASK) == address) {
			t_own.path = path;
			return;
		}
	}
}

ATTR_EXPORT void __cyg_profile_func_enter(void *function, void *call_site);
ATTR_EXPORT void __cyg_profile_func_exit(void *function, void *call_site);

void __cyg_profile_func_enter(void *function, void *call_site)
{
	struct home *home = atom_load_rlx(&g_home);

	(void)call_site;
	if (unlikely(!home || !home->generation ||
		     t_own.generation != home->generation)) {
		start_thread();
		/* relaxed: start_thread has set it up in this thread */
		home = atom_load_rlx(&g_home);
	}
	if (!home || !t_own.table)
		return;
	count_call(home, (uint64_t)(uintptr_t)function);
	path_enter(t_own.table, (uint64_t)(uintptr_t)function);
}

void __cyg_profile_func_exit(void *function, void *call_site)
{
	struct home *home = atom_load_rlx(&g_home);

	(void)call_site;
	if (home && t_own.table && t_own.generation == home->generation)
		path_exit(t_own.table, (uint64_t)(uintptr_t)function);
}
