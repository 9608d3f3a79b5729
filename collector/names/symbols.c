/* SPDX-License-Identifier: Apache-2.0
 *
 * symbols - one table of files serves all processes of a collector. So the
 * hundredth compiler of a parallel make costs an fstat() and a hash lookup.
 *
 * A file is read in two steps on first use: headers (instrumented? build-id?),
 * then symbol tables. It keeps a descriptor until the second step, since it may
 * be deleted. Names are demangled on request.
 *
 * Each recording has a cache with its own limits, so that no recording takes
 * room from another. Names are in the text_store of the cache. File data exists
 * once for all caches (shared_file), but counts fully in each cache that uses
 * it (symbol_file, one per pair). A cache without room for a file is barred
 * from its tables.
 *
 * Unused files wait in a queue. The oldest are dropped when tables take too
 * much memory, which bounds long-running daemons. Users that serve all
 * recordings refer to a file without holding its tables
 * (symbol_file_get_common()).
 *
 * Caches together keep at most half of the descriptors that remain for the
 * collector. A file without one is opened again if it is still there and
 * unchanged. So deleted files may keep descriptors when others lose theirs.
 *
 * Source lines come from a process (symbolize.h) and stay with the file.
 *
 * Locks, in order: file.sources_lock guards source lines and bounds, also while
 * the process runs. file.lock guards reading and demangling; results of a
 * completed step are constant. shared_files.lock guards the hash table, caches,
 * byte counts, and views, fd and so on of each file; it is never held during
 * reads.
 */
#include "collector/names/symbols.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collector/base/clock.h"
#include "collector/base/grow.h"
#include "collector/base/lock.h"
#include "collector/base/log.h"
#include "collector/base/search.h"
#include "collector/names/debug_file.h"
#include "collector/names/elf_bounds.h"
#include "collector/names/elf_read.h"
#include "collector/names/mapped_file.h"
#include "collector/names/nowait.h"
#include "collector/names/reader.h"
#include "collector/names/symbol_name.h"
#include "collector/names/symbol_sources.h"
#include "collector/names/text_store.h"
#include "shared/atomic.h"
#include "shared/compiler.h"

/* Bounds of the kept descriptors. */
#define DESCRIPTORS_LEAST 16
#define DESCRIPTORS_MOST 32768
/* The rest of a collector uses up to 53 for a program with one thread on two
 * CPUs, and starting perfrec-reader briefly takes 24 (helper.c). With the least
 * for caches, 96 suffice (tests/e2e/names/many-modules.sh). */
#define DESCRIPTORS_OF_REST 64
#define IDLE_BYTES_MAX (128ull << 20) /* of unused files */
#define FILE_BUCKETS 1024

/* For source lines of a file. */
#define SOURCE_TEXTS_MAX (128ull << 20)

/* Addresses of all callers that wait for lines of a file, per request. */
#define WISHES_MAX (64u << 10)
/* For source lines of a file; a browser's take ten. */
#define SYMBOLIZE_SECONDS 90
/* For arguments of functions of a file; the program waits meanwhile. */
#define SYMBOLIZE_CALLS_SECONDS 20

enum step { STEP_NONE, STEP_HEADERS, STEP_TABLES };

struct file_key {
	uid_t uid;
	dev_t device;
	ino_t inode;
	off_t size;
	struct timespec mtime;
};

/* A folder other than our root that paths start in. */
struct root {
	struct root *next;
	dev_t device;
	ino_t inode;
	int fd;
	size_t refs;
};

/* Addresses that a thread waits to ask lines for. */
struct source_wish {
	struct source_wish *next;
	const uint64_t *vaddr;
	size_t count;
};

/* A file, shared by all siblings. */
struct shared_file {
	struct shared_files *all;
	struct file_key key;
	char *path;
	bool is_nameless; /* memfd or deleted: later programs cannot find it */

	struct shared_file *next; /* guarded by all->lock from here on */
	TAILQ_ENTRY(shared_file) idle;
	struct source_wish *wishes; /* of threads waiting for sources_lock */
	struct symbol_file *views; /* one per cache */
	unsigned int holders; /* views that count it */
	bool is_idle;
	bool is_forgotten; /* not in the hash table */
	int fd; /* -1: none */
	char *where; /* path below root; NULL: none */
	struct root *root; /* NULL: our own root */
	bool is_wanted; /* tables are unread */
	bool was_read;
	uint64_t bytes;

	struct lock lock; /* guards everything below */
	enum step step;
	uint32_t is_read; /* atomic: step is STEP_TABLES */
	bool error_told;
	bool is_foreign;
	bool is_late;
	bool debug_told; /* a bad debug file was logged */
	bool objects_read;
	char *error;
	struct elf_headers headers;
	struct elf_functions functions;
	char **names; /* by function; NULL: not requested */
	struct elf_functions objects; /* variables */
	char **object_names; /* as names */

	struct lock sources_lock; /* guards everything below */
	bool bounds_read;
	bool no_sources; /* asking again is useless */
	struct elf_bounds bounds;
	struct text_store *texts;
	struct symbol_sources sources;
};

/* A file in one cache. */
struct symbol_file {
	struct symbol_cache *cache; /* NULL: symbol_file_get_common() */
	struct shared_file *file;
	uint32_t is_barred; /* atomic: the cache has no room for the tables */

	struct symbol_file *next; /* all->lock from here on */
	unsigned int refs;
	bool is_holder; /* the file counts in the cache */

	const char *build_id; /* file->lock; NULL: not requested */
};

/* Shared by siblings. */
struct shared_files {
	struct readers *readers;
	struct lock lock; /* guards everything below */
	struct symbol_cache *caches;
	uint64_t file_bytes; /* including idle files */
	uint64_t idle_bytes;
	unsigned int descriptors; /* of files and roots */
	unsigned int descriptors_max;
	struct root *roots;
	bool told_of_missing; /* perfrec-symbolize is missing */
	bool lacks_descriptors; /* ever */
	bool told_of_descriptors;
	TAILQ_HEAD(, shared_file) idle;
	struct shared_file *files[FILE_BUCKETS];
};

struct symbol_cache {
	struct shared_files *all;
	struct text_store *texts; /* all returned names */
	char *what; /* owner, for messages; NULL: the collector */
	struct symbol_cache *next; /* all->lock from here on */
	unsigned int refs;
	uint64_t table_bytes; /* of files and symbol_cache_take() */
	uint64_t unkept_names, unkept_tables;
	uint64_t names_full_ns, tables_full_ns; /* 0: never */
};

static unsigned int descriptors_of_caches(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit))
		return DESCRIPTORS_LEAST;
	limit.rlim_cur -= MIN(limit.rlim_cur, DESCRIPTORS_OF_REST);
	return (unsigned int)MAX(MIN(limit.rlim_cur / 2, DESCRIPTORS_MOST),
				 DESCRIPTORS_LEAST);
}

static int add_cache(struct shared_files *all, const char *what,
		     struct symbol_cache **out)
{
	struct symbol_cache *cache = calloc(1, sizeof(*cache));

	if (!cache)
		return -ENOMEM;
	cache->what = what ? strdup(what) : NULL;
	if ((what && !cache->what) ||
	    text_store_new(SYMBOL_NAMES_MAX, &cache->texts)) {
		free(cache->what);
		free(cache);
		return -ENOMEM;
	}
	cache->all = all;
	cache->refs = 1;
	lock_acquire(&all->lock);
	cache->next = all->caches;
	all->caches = cache;
	lock_release(&all->lock);
	*out = cache;
	return 0;
}

int symbol_cache_new(struct symbol_cache **out)
{
	struct shared_files *all = calloc(1, sizeof(*all));

	if (!all || readers_new(&all->readers)) {
		free(all);
		return -ENOMEM;
	}
	all->descriptors_max = descriptors_of_caches();
	lock_init(&all->lock, LOCK_SYMBOL_CACHE);
	TAILQ_INIT(&all->idle);
	if (!add_cache(all, NULL, out))
		return 0;
	readers_free(&all->readers);
	lock_destroy(&all->lock);
	free(all);
	return -ENOMEM;
}

int symbol_cache_share(struct symbol_cache *sibling, const char *what,
		       struct symbol_cache **out)
{
	return add_cache(sibling->all, what, out);
}

struct symbol_cache *symbol_cache_get(struct symbol_cache *cache)
{
	lock_acquire(&cache->all->lock);
	cache->refs++;
	lock_release(&cache->all->lock);
	return cache;
}

static void close_descriptor(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

/* all->lock held, or no other user of the cache. */
static void put_root_of_file(struct shared_file *file)
{
	struct root **link = &file->all->roots, *root = file->root;

	file->root = NULL;
	if (!root || --root->refs)
		return;
	while (*link != root)
		link = &(*link)->next;
	*link = root->next;
	close(root->fd);
	file->all->descriptors--;
	free(root);
}

/* all->lock held, or the only user. Frees objects that only a holder may
 * use. */
static void free_tables(struct shared_file *file)
{
	symbol_sources_release(&file->sources);
	text_store_free(&file->texts);
	for (size_t i = 0; file->names && i < file->functions.count; i++)
		free(file->names[i]);
	for (size_t i = 0; file->object_names && i < file->objects.count; i++)
		free(file->object_names[i]);
	free(file->names);
	free(file->object_names);
	free(file->functions.list);
	free(file->functions.strings);
	free(file->bounds.list);
	free(file->objects.list);
	free(file->objects.strings);
	file->names = file->object_names = NULL;
	file->objects = (struct elf_functions){ 0 };
	file->functions = (struct elf_functions){ 0 };
	file->bounds = (struct elf_bounds){ 0 };
}

static void shared_file_free(struct shared_file *file)
{
	close_descriptor(&file->fd);
	put_root_of_file(file);
	lock_destroy(&file->lock);
	lock_destroy(&file->sources_lock);
	free_tables(file);
	free(file->headers.segments);
	free(file->error);
	free(file->path);
	free(file->where);
	free(file);
}

static void shared_files_free(struct shared_files *all)
{
	for (size_t i = 0; i < FILE_BUCKETS; i++)
		while (all->files[i]) {
			struct shared_file *file = all->files[i];

			all->files[i] = file->next;
			while (file->views) {
				struct symbol_file *view = file->views;

				file->views = view->next;
				free(view);
			}
			shared_file_free(file);
		}
	readers_free(&all->readers);
	lock_destroy(&all->lock);
	free(all);
}

void symbol_cache_put(struct symbol_cache **cache_ptr)
{
	struct symbol_cache *cache = *cache_ptr, **link;
	struct shared_files *all;
	bool is_last;

	*cache_ptr = NULL;
	if (!cache)
		return;
	all = cache->all;
	lock_acquire(&all->lock);
	if (--cache->refs) {
		lock_release(&all->lock);
		return;
	}
	for (link = &all->caches; *link != cache;)
		link = &(*link)->next;
	*link = cache->next;
	is_last = !all->caches;
	lock_release(&all->lock);
	text_store_free(&cache->texts);
	free(cache->what);
	free(cache);
	if (is_last)
		shared_files_free(all);
}

struct readers *symbol_cache_readers(struct symbol_cache *cache)
{
	return cache->all->readers;
}

/* all->lock held; no holders. Other users lose access to the tables. */
static void forget_file(struct shared_file *file)
{
	struct shared_files *all = file->all;
	struct shared_file **link = &all->files[file->key.inode % FILE_BUCKETS];

	while (*link != file)
		link = &(*link)->next;
	*link = file->next;
	all->file_bytes -= file->bytes;
	file->is_forgotten = true;
	if (file->views)
		free_tables(file);
	else
		shared_file_free(file);
}

/* all->lock held. */
static void end_idleness(struct shared_files *all, struct shared_file *file)
{
	TAILQ_REMOVE(&all->idle, file, idle);
	all->idle_bytes -= file->bytes;
	file->is_idle = false;
}

/* --- use of a cache ------------------------------------------------------- */

/* Counts a failure for lack of room; the first one is timed and logged. */
static void note_full(struct symbol_cache *cache, uint64_t *count,
		      uint64_t *full_ns, const char *what, uint64_t most)
{
	bool is_news;

	lock_acquire(&cache->all->lock);
	++*count;
	is_news = !*full_ns;
	if (is_news)
		*full_ns = clock_boottime_ns();
	lock_release(&cache->all->lock);
	if (is_news)
		log_warn("%s%s%s take %llu MiB, the limit of a recording: new "
			 "functions and annotations have no names from now on "
			 "(record fewer functions: --filter)",
			 cache->what ? cache->what : "",
			 cache->what ? ": " : "", what,
			 (unsigned long long)most >> 20);
}

static void note_names_full(struct symbol_cache *cache, const char *what,
			    uint64_t most)
{
	static struct log_limit limit;

	if (errno == ENOMEM) {
		lock_acquire(&cache->all->lock);
		cache->unkept_names++;
		lock_release(&cache->all->lock);
		log_limited(&limit, LOG_ERR,
			    "out of memory: some functions or annotations "
			    "have no names");
		return;
	}
	note_full(cache, &cache->unkept_names, &cache->names_full_ns, what,
		  most);
}

static void note_tables_full(struct symbol_cache *cache)
{
	note_full(cache, &cache->unkept_tables, &cache->tables_full_ns,
		  "symbol tables", SYMBOL_TABLES_MAX);
}

const char *symbol_cache_string(struct symbol_cache *cache, const char *text)
{
	const char *kept = text_store_text(cache->texts, text);

	if (!kept)
		note_names_full(cache, "names", SYMBOL_NAMES_MAX);
	return kept;
}

const char *symbol_cache_told_string(struct symbol_cache *cache,
				     const char *text)
{
	const char *kept = text_store_told(cache->texts, text);

	if (!kept)
		note_names_full(cache,
				"names that the program sent (annotations, "
				"compiled code)",
				SYMBOL_NAMES_MAX / 2);
	return kept;
}

bool symbol_cache_take(struct symbol_cache *cache, uint64_t bytes)
{
	bool fits;

	lock_acquire(&cache->all->lock);
	fits = bytes <= SYMBOL_TABLES_MAX &&
	       cache->table_bytes <= SYMBOL_TABLES_MAX - bytes;
	if (fits)
		cache->table_bytes += bytes;
	lock_release(&cache->all->lock);
	if (!fits)
		note_tables_full(cache);
	return fits;
}

void symbol_cache_give_back(struct symbol_cache *cache, uint64_t bytes)
{
	lock_acquire(&cache->all->lock);
	cache->table_bytes -= bytes;
	lock_release(&cache->all->lock);
}

/* all->lock held. @file has @bytes more data. */
static void count_file_bytes(struct shared_file *file, uint64_t bytes)
{
	for (struct symbol_file *view = file->views; view; view = view->next)
		if (view->is_holder)
			view->cache->table_bytes += bytes;
	file->bytes += bytes;
	file->all->file_bytes += bytes;
	if (file->is_idle)
		file->all->idle_bytes += bytes;
}

/* Returns false without room: the cache is then barred from the tables. */
static bool charge_file(struct symbol_file *view, uint64_t bytes)
{
	struct symbol_cache *cache = view->cache;
	bool fits;

	lock_acquire(&view->file->all->lock);
	fits = !cache || (bytes <= SYMBOL_TABLES_MAX &&
			  cache->table_bytes <= SYMBOL_TABLES_MAX - bytes);
	if (fits)
		count_file_bytes(view->file, bytes);
	lock_release(&view->file->all->lock);
	if (fits)
		return true;
	/* order: rel, TABLES: there is nothing left to read for the cache */
	atom_store_rel(&view->is_barred, 1);
	note_tables_full(cache);
	return false;
}

static bool is_barred(const struct symbol_file *view)
{
	/* order: acq, TABLES: as it is for is_read */
	return atom_load_acq(&view->is_barred);
}

struct symbol_cache_use symbol_cache_use(struct symbol_cache *cache)
{
	struct symbol_cache_use use = { .names = text_store_bytes(
						cache->texts) };

	lock_acquire(&cache->all->lock);
	use.tables = cache->table_bytes;
	use.unkept_names = cache->unkept_names;
	use.unkept_tables = cache->unkept_tables;
	use.names_full_ns = cache->names_full_ns;
	use.tables_full_ns = cache->tables_full_ns;
	lock_release(&cache->all->lock);
	return use;
}

struct symbol_cache_use symbol_cache_use_all(struct symbol_cache *cache)
{
	struct shared_files *all = cache->all;
	struct symbol_cache_use use = { 0 };

	lock_acquire(&all->lock);
	for (cache = all->caches; cache; cache = cache->next) {
		use.names += text_store_bytes(cache->texts);
		use.unkept_names += cache->unkept_names;
		use.unkept_tables += cache->unkept_tables;
	}
	use.tables = all->file_bytes;
	lock_release(&all->lock);
	return use;
}

/* --- descriptors --------------------------------------------------------- */

static void note_descriptor_lack(struct shared_files *all)
{
	lock_acquire(&all->lock);
	all->lacks_descriptors = true;
	lock_release(&all->lock);
}

void symbol_cache_note_lack(struct symbol_cache *cache)
{
	note_descriptor_lack(cache->all);
}

static bool tell_lack(struct shared_files *all)
{
	bool lacks, is_news;

	lock_acquire(&all->lock);
	lacks = all->lacks_descriptors;
	is_news = lacks && !all->told_of_descriptors;
	all->told_of_descriptors |= lacks;
	lock_release(&all->lock);
	if (is_news)
		log_warn("too many files are open: functions of some libraries "
			 "have no names or lines (raise the hard limit: ulimit "
			 "-Hn)");
	return lacks;
}

bool symbol_cache_tell_lack(struct symbol_cache *cache)
{
	return tell_lack(cache->all);
}

/* file.lock held, or @file is new. The first error stays. */
static void set_file_error(struct shared_file *file, const char *what)
{
	if (!file->error &&
	    asprintf(&file->error, "cannot read the symbols of %s: %s",
		     file->path, what) < 0)
		file->error = NULL;
}

/* all->lock held. Accepts only regular files: opening others may block or have
 * effects. Keeps an O_PATH descriptor as O_PATH. */
static void keep_descriptor(struct shared_file *file, int fd,
			    const struct stat *status)
{
	const char *why = S_ISDIR(status->st_mode) ? strerror(EISDIR)
						   : "not a regular file";
	int copy;

	if (!S_ISREG(status->st_mode)) {
		if (!file->was_read)
			set_file_error(file, why);
		file->is_wanted = false;
		return;
	}
	copy = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	if (copy < 0) {
		file->all->lacks_descriptors = true;
		return;
	}
	file->fd = copy;
	file->all->descriptors++;
}

static bool is_same_file(const struct file_key *key, uid_t uid,
			 const struct stat *status)
{
	return key->uid == uid && key->inode == status->st_ino &&
	       key->device == status->st_dev && key->size == status->st_size &&
	       key->mtime.tv_sec == status->st_mtim.tv_sec &&
	       key->mtime.tv_nsec == status->st_mtim.tv_nsec;
}

/* Returns -1 for our own root. */
static int copy_root_descriptor(struct shared_file *file)
{
	int fd = -1;

	lock_acquire(&file->all->lock);
	if (file->root)
		fd = fcntl(file->root->fd, F_DUPFD_CLOEXEC, 0);
	lock_release(&file->all->lock);
	return fd;
}

/* Returns -1 if the path has another file now. */
static int find_file_below(const struct shared_file *file, int root_fd)
{
	int fd = mapped_file_at(readers_openers(file->all->readers), root_fd,
				file->where, 0);
	struct stat status;

	if (fd < 0)
		return -1;
	if (!nowait_stat(fd, &status) &&
	    is_same_file(&file->key, file->key.uid, &status))
		return fd;
	close(fd);
	return -1;
}

/* Tries its own root, then ours: after chroot(), maps have paths of our
 * root. */
static int find_file_again(struct shared_file *file)
{
	int root_fd, fd = -1;

	if (!file->where)
		return -1;
	root_fd = copy_root_descriptor(file);
	if (root_fd >= 0)
		fd = find_file_below(file, root_fd);
	close_descriptor(&root_fd);
	if (fd >= 0)
		return fd;
	root_fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (root_fd >= 0)
		fd = find_file_below(file, root_fd);
	close_descriptor(&root_fd);
	return fd;
}

static struct shared_file *shared_file_new(struct shared_files *all, uid_t uid,
					   const struct stat *status,
					   const char *path)
{
	struct shared_file *file = calloc(1, sizeof(*file));
	char *copy = strdup(path);

	if (!file || !copy) {
		free(file);
		free(copy);
		return NULL;
	}
	symbol_name_clean(copy);
	file->all = all;
	file->path = copy;
	file->key = (struct file_key){ uid, status->st_dev, status->st_ino,
				       status->st_size, status->st_mtim };
	file->is_nameless = !status->st_nlink;
	file->fd = -1;
	file->is_wanted = true;
	file->bytes = sizeof(*file) + strlen(path);
	lock_init(&file->lock, LOCK_SYMBOL_FILE);
	lock_init(&file->sources_lock, LOCK_SYMBOL_SOURCES);
	return file;
}

/* all->lock held. Files with a name can be opened again. */
static bool is_worth_descriptor(const struct shared_file *file,
				const struct stat *status)
{
	const struct shared_files *all = file->all;

	if (all->descriptors < all->descriptors_max)
		return true;
	return file->is_wanted && !status->st_nlink &&
	       all->descriptors < all->descriptors_max / 2 * 3;
}

/* all->lock held. */
static struct shared_file *find_or_add_file(struct shared_files *all, uid_t uid,
					    int fd, const struct stat *status,
					    const char *path)
{
	struct shared_file **bucket =
		&all->files[status->st_ino % FILE_BUCKETS];
	struct shared_file *file;

	for (file = *bucket; file; file = file->next)
		if (is_same_file(&file->key, uid, status))
			break;
	if (!file) {
		file = shared_file_new(all, uid, status, path);
		if (!file)
			return NULL;
		file->next = *bucket;
		*bucket = file;
		all->file_bytes += file->bytes;
	}
	if (!file->views) {
		free(file->where);
		file->where = path[0] == '/' ? strdup(path) : NULL;
		if (file->fd < 0 && is_worth_descriptor(file, status))
			keep_descriptor(file, fd, status);
	}
	return file;
}

/* all->lock held. Returns true if the cache lacks room and is barred. */
static bool hold_file(struct symbol_file *view)
{
	struct symbol_cache *cache = view->cache;
	struct shared_file *file = view->file;

	if (cache->table_bytes + file->bytes > SYMBOL_TABLES_MAX) {
		/* relaxed: @view is still private */
		atom_store_rlx(&view->is_barred, 1);
		return true;
	}
	cache->table_bytes += file->bytes;
	view->is_holder = true;
	if (!file->holders++ && file->is_idle)
		end_idleness(file->all, file);
	return false;
}

/* all->lock held. Adds a reference. *@is_full: the cache has no room. */
static struct symbol_file *get_view(struct shared_file *file,
				    struct symbol_cache *cache, bool *is_full)
{
	struct symbol_file *view = file->views;

	while (view && view->cache != cache)
		view = view->next;
	if (!view) {
		view = calloc(1, sizeof(*view));
		if (!view)
			return NULL;
		view->cache = cache;
		view->file = file;
		view->next = file->views;
		file->views = view;
		if (cache) {
			cache->refs++;
			*is_full = hold_file(view);
		}
	}
	view->refs++;
	return view;
}

/* all->lock held. The data of @file has no user now. */
static void retire_file(struct shared_file *file)
{
	struct shared_files *all = file->all;
	struct shared_file *next;

	if (!file->views) {
		if (file->fd >= 0)
			all->descriptors--;
		close_descriptor(&file->fd);
		put_root_of_file(file);
	}
	if (file->is_forgotten) {
		if (!file->views)
			shared_file_free(file);
		return;
	}
	if (!file->views && (!file->was_read || file->is_nameless)) {
		if (file->is_idle)
			end_idleness(all, file);
		forget_file(file);
		return;
	}
	if (!file->is_idle) {
		file->is_idle = true;
		TAILQ_INSERT_TAIL(&all->idle, file, idle);
		all->idle_bytes += file->bytes;
	}
	for (file = TAILQ_FIRST(&all->idle);
	     file && all->idle_bytes > IDLE_BYTES_MAX; file = next) {
		next = TAILQ_NEXT(file, idle);
		end_idleness(all, file);
		forget_file(file);
	}
}

struct symbol_file *symbol_cache_file(struct symbol_cache *cache, uid_t uid,
				      int fd, const char *path)
{
	struct shared_files *all = cache->all;
	struct symbol_file *view = NULL;
	struct shared_file *file;
	bool is_full = false;
	struct stat status;

	(void)nowait_stat(fd, &status);
	lock_acquire(&all->lock);
	file = find_or_add_file(all, uid, fd, &status, path);
	if (file) {
		view = get_view(file, cache, &is_full);
		if (!file->holders)
			retire_file(file);
	}
	lock_release(&all->lock);
	if (is_full)
		note_tables_full(cache);
	return view;
}

/* all->lock held. Returns NULL without memory or descriptor. */
static struct root *find_or_add_root(struct shared_files *all, int root_fd,
				     const struct stat *status)
{
	struct root *root;

	for (root = all->roots; root; root = root->next)
		if (root->inode == status->st_ino &&
		    root->device == status->st_dev)
			return root;
	root = calloc(1, sizeof(*root));
	if (!root)
		return NULL;
	root->fd = fcntl(root_fd, F_DUPFD_CLOEXEC, 0);
	if (root->fd < 0) {
		free(root);
		return NULL;
	}
	root->device = status->st_dev;
	root->inode = status->st_ino;
	root->next = all->roots;
	all->roots = root;
	all->descriptors++;
	return root;
}

void symbol_file_set_root(struct symbol_file *view, int root_fd)
{
	struct shared_file *file = view->file;
	struct stat status, ours;

	/* Paths in our own root, or in an unknown one, need no folder. */
	if (nowait_stat(root_fd, &status) || stat("/", &ours) ||
	    (status.st_dev == ours.st_dev && status.st_ino == ours.st_ino))
		return;
	lock_acquire(&file->all->lock);
	if (!file->root) {
		file->root = find_or_add_root(file->all, root_fd, &status);
		if (file->root)
			file->root->refs++;
	}
	lock_release(&file->all->lock);
}

bool symbol_file_is_same(const struct symbol_file *one,
			 const struct symbol_file *other)
{
	return one->file == other->file;
}

struct symbol_file *symbol_file_get(struct symbol_file *view)
{
	if (!view)
		return NULL;
	lock_acquire(&view->file->all->lock);
	view->refs++;
	lock_release(&view->file->all->lock);
	return view;
}

struct symbol_file *symbol_file_get_common(struct symbol_file *view)
{
	bool ignored;

	return LOCKED(&view->file->all->lock,
		      get_view(view->file, NULL, &ignored));
}

void symbol_file_put(struct symbol_file **view_ptr)
{
	struct symbol_file *view = *view_ptr, **link;
	struct symbol_cache *cache = NULL;
	struct shared_files *all;
	struct shared_file *file;

	*view_ptr = NULL;
	if (!view)
		return;
	file = view->file;
	all = file->all;
	lock_acquire(&all->lock);
	if (!--view->refs) {
		cache = view->cache;
		for (link = &file->views; *link != view;)
			link = &(*link)->next;
		*link = view->next;
		if (view->is_holder) {
			cache->table_bytes -= file->bytes;
			file->holders--;
		}
		if (!file->holders)
			retire_file(file);
		free(view);
	}
	lock_release(&all->lock);
	symbol_cache_put(&cache);
}

static int find_to_read(struct shared_file *file)
{
	int fd = -1;

	lock_acquire(&file->all->lock);
	if (file->fd >= 0)
		fd = fcntl(file->fd, F_DUPFD_CLOEXEC, 0);
	lock_release(&file->all->lock);
	if (fd < 0)
		fd = find_file_again(file);
	return fd < 0 ? -ENOENT : fd;
}

/* After a step, keeps the descriptor for the next one (@is_wanted), debug
 * information and unwinding, unless there are too many. */
static void settle_descriptor(struct shared_file *file, bool is_wanted)
{
	struct shared_files *all = file->all;
	unsigned int max = all->descriptors_max;
	bool is_kept;
	int found;

	lock_acquire(&all->lock);
	file->is_wanted = is_wanted;
	is_kept = file->fd < 0 ||
		  all->descriptors <= (is_wanted ? max : max / 4 * 3);
	lock_release(&all->lock);
	if (is_kept)
		return;
	found = find_file_again(file);
	is_kept = found < 0;
	close_descriptor(&found);
	lock_acquire(&all->lock);
	is_kept &= all->descriptors <= (is_wanted ? max / 2 * 3 : max);
	if (!is_kept && file->fd >= 0) {
		all->descriptors--;
		close_descriptor(&file->fd);
	}
	lock_release(&all->lock);
}

/* file.lock held. Logs a lack of descriptors once for all files. */
static void note_failure(struct shared_file *file, int err, const char *why)
{
	if (err == -EMFILE || err == -ENFILE) {
		note_descriptor_lack(file->all);
		why = "too many files are open";
	}
	file->is_late |= err == -ETIMEDOUT;
	set_file_error(file, why);
	file->error_told |= tell_lack(file->all);
}

static bool read_file_headers(struct symbol_file *view, int fd)
{
	struct shared_file *file = view->file;
	char why[READER_WHY_BYTES];
	int err = reader_headers(file->all->readers, file->key.uid, fd,
				 &file->headers, why);

	file->step = STEP_HEADERS;
	if (err) {
		file->is_foreign = err == -ENOEXEC;
		note_failure(file, err, why);
		return false;
	}
	/* Too little to matter: later charges will fail. */
	(void)charge_file(view, file->headers.segment_count *
					sizeof(*file->headers.segments));
	return true;
}

/* file.lock held. Asks @read for names of the file, or of its debug file. */
static int read_file_names(struct shared_file *file, int fd,
			   __typeof__(reader_functions) *read,
			   struct elf_functions *out,
			   char why[READER_WHY_BYTES])
{
	struct debug_search search = {
		.readers = file->all->readers,
		.uid = file->key.uid,
		.fd = fd,
		.path = file->path,
		.root_fd = copy_root_descriptor(file),
		.was_told = file->debug_told,
	};
	struct reader_symtab symtab = { .fd = -1 };
	int err;

	(void)debug_file_symbols(&search, &symtab);
	file->debug_told = search.was_told;
	err = read(search.readers, search.uid, fd, &symtab, out, why);
	close_descriptor(&symtab.fd);
	close_descriptor(&search.root_fd);
	return err;
}

/* file.lock held. Returns false if this cache has no room; others may have. */
static bool read_symbol_tables(struct symbol_file *view, int fd)
{
	struct shared_file *file = view->file;
	struct elf_functions functions = { 0 };
	char reason[READER_WHY_BYTES];
	const char *why = NULL;
	int err =
		read_file_names(file, fd, reader_functions, &functions, reason);
	bool fits = true;

	if (err) {
		note_failure(file, err, reason);
		return true;
	}
	if (!functions.count) {
		why = "it has none; build it without strip or -s";
	} else if (!charge_file(view, functions.string_bytes +
					      functions.count *
						      (sizeof(*functions.list) +
						       sizeof(*file->names)))) {
		fits = false;
	} else {
		file->names = calloc(functions.count, sizeof(*file->names));
		why = file->names ? NULL : "not enough memory";
	}
	if (why)
		set_file_error(file, why);
	if (why || !fits) {
		free(functions.list);
		free(functions.strings);
		return fits;
	}
	file->functions = functions;
	return true;
}

/* file.lock held. */
static void read_next_steps(struct symbol_file *view, enum step step)
{
	struct shared_file *file = view->file;
	bool is_wanted, is_done = true;
	int fd;

	lock_acquire(&file->all->lock);
	is_wanted = file->is_wanted;
	file->was_read = true;
	lock_release(&file->all->lock);
	fd = is_wanted ? find_to_read(file) : -ENOENT;
	if (fd < 0) { /* keep_descriptor() may have set the error */
		note_failure(file, fd, strerror(-fd));
		file->step = STEP_TABLES;
		return;
	}
	if (file->step < STEP_HEADERS)
		is_wanted = read_file_headers(view, fd);
	if (is_wanted && step == STEP_TABLES && !is_barred(view)) {
		is_done = read_symbol_tables(view, fd);
		is_wanted = !is_done;
	}
	if (!is_wanted && is_done)
		file->step = STEP_TABLES;
	close(fd);
	settle_descriptor(file, is_wanted);
}

/* file.lock held. */
static void read_file_to_locked(struct symbol_file *view, enum step step)
{
	struct shared_file *file = view->file;

	if (file->step >= step)
		return;
	read_next_steps(view, step);
	if (file->step == STEP_TABLES)
		/* order: rel, TABLES: they are there */
		atom_store_rel(&file->is_read, 1);
}

static void read_file_to(struct symbol_file *view, enum step step)
{
	lock_acquire(&view->file->lock);
	read_file_to_locked(view, step);
	lock_release(&view->file->lock);
}

static bool has_tables(const struct symbol_file *view)
{
	return view->cache && !is_barred(view);
}

void symbol_file_read_tables(struct symbol_file *view)
{
	if (has_tables(view))
		read_file_to(view, STEP_TABLES);
}

bool symbol_file_is_read(const struct symbol_file *view)
{
	/* order: acq, TABLES: they are there; lookups hold the lock only
	 * briefly */
	return !has_tables(view) || atom_load_acq(&view->file->is_read);
}

const char *symbol_file_error(struct symbol_file *view)
{
	struct shared_file *file = view->file;
	const char *error;

	lock_acquire(&file->lock);
	read_file_to_locked(view, STEP_HEADERS);
	error = file->error;
	lock_release(&file->lock);
	return error;
}

const char *symbol_file_new_error(struct symbol_file *view)
{
	struct shared_file *file = view->file;
	const char *error;

	lock_acquire(&file->lock);
	read_file_to_locked(view, STEP_HEADERS);
	error = file->error_told ? NULL : file->error;
	file->error_told = file->error;
	lock_release(&file->lock);
	return error;
}

bool symbol_file_is_late(struct symbol_file *view)
{
	return LOCKED(&view->file->lock, view->file->is_late);
}

bool symbol_file_is_foreign(struct symbol_file *view)
{
	read_file_to(view, STEP_HEADERS);
	return view->file->is_foreign;
}

const char *symbol_file_build_id(struct symbol_file *view)
{
	struct shared_file *file = view->file;

	lock_acquire(&file->lock);
	read_file_to_locked(view, STEP_HEADERS);
	if (!view->build_id)
		view->build_id =
			view->cache && file->headers.build_id[0]
				? symbol_cache_string(view->cache,
						      file->headers.build_id)
				: file->headers.build_id;
	if (!view->build_id)
		view->build_id = "";
	lock_release(&file->lock);
	return view->build_id;
}

bool symbol_file_instrumented(struct symbol_file *view)
{
	read_file_to(view, STEP_HEADERS);
	return view->file->headers.is_instrumented;
}

/* A mapping starts at a page, and its segment anywhere inside. */
static bool segment_vaddr(const struct elf_segment *segment,
			  uint64_t file_offset, uint64_t *vaddr)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	uint64_t slack = segment->offset % page;
	uint64_t into = file_offset - (segment->offset - slack);

	if (file_offset < segment->offset - slack ||
	    (into >= slack && into - slack >= segment->bytes))
		return false;
	*vaddr = segment->vaddr - slack + into;
	return true;
}

bool symbol_file_vaddr(struct symbol_file *view, uint64_t file_offset,
		       uint64_t *vaddr)
{
	const struct elf_headers *headers = &view->file->headers;

	read_file_to(view, STEP_HEADERS);
	for (int executable = 1; executable >= 0; executable--)
		for (size_t i = 0; i < headers->segment_count; i++)
			if (headers->segments[i].is_executable == executable &&
			    segment_vaddr(&headers->segments[i], file_offset,
					  vaddr))
				return true;
	return false;
}

bool symbol_file_covers(struct symbol_file *view, uint64_t vaddr)
{
	const struct elf_headers *headers = &view->file->headers;
	size_t i = 0;

	read_file_to(view, STEP_HEADERS);
	while (i < headers->segment_count &&
	       vaddr - headers->segments[i].vaddr >=
		       headers->segments[i].memory_bytes)
		i++;
	return i < headers->segment_count;
}

static const struct elf_function *find_covering_function(
	const struct elf_functions *functions, uint64_t vaddr)
{
	size_t low = search_first(i, functions->count,
				  functions->list[i].start > vaddr);
	const struct elf_function *found;

	if (!low)
		return NULL;
	found = &functions->list[low - 1];
	return vaddr - found->start < found->size ? found : NULL;
}

/* file.lock held. Makes the name of a symbol of @table, and keeps it in *@slot.
 * @room is for names that cannot be kept. */
static const char *name_of_symbol(struct symbol_file *view,
				  const struct elf_functions *table,
				  const struct elf_function *symbol,
				  char **slot, char room[SYMBOL_NAME_BYTES])
{
	const char *kept = *slot;

	if (kept)
		return kept;
	symbol_name_make(table->strings + symbol->name, room);
	if (charge_file(view, strlen(room) + 1 + sizeof(max_align_t)))
		*slot = strdup(room);
	/* Without memory, the name is returned once. */
	kept = *slot;
	return kept ? kept : room;
}

/* file.lock held. */
static const char *name_of_function(struct symbol_file *view,
				    const struct elf_function *function,
				    char room[SYMBOL_NAME_BYTES])
{
	struct shared_file *file = view->file;

	return name_of_symbol(view, &file->functions, function,
			      &file->names[function - file->functions.list],
			      room);
}

const char *symbol_file_lookup(struct symbol_file *view, uint64_t vaddr,
			       uint64_t *start)
{
	struct shared_file *file = view->file;
	const struct elf_function *function;
	char room[SYMBOL_NAME_BYTES];
	const char *name = NULL;

	if (!has_tables(view))
		return NULL;
	lock_acquire(&file->lock);
	read_file_to_locked(view, STEP_TABLES);
	function = find_covering_function(&file->functions, vaddr);
	if (function)
		name = name_of_function(view, function, room);
	if (name)
		name = symbol_cache_string(view->cache, name);
	lock_release(&file->lock);
	if (name)
		*start = function->start;
	return name;
}

/* file.lock held. */
static void read_objects(struct symbol_file *view)
{
	struct shared_file *file = view->file;
	struct elf_functions objects = { 0 };
	char ignored[READER_WHY_BYTES];
	int fd = find_to_read(file);

	file->objects_read = true;
	if (fd < 0)
		return;
	if (!read_file_names(file, fd, reader_objects, &objects, ignored)) {
		file->objects_read = charge_file(
			view,
			objects.string_bytes +
				objects.count * (sizeof(*objects.list) +
						 sizeof(*file->object_names)));
		if (file->objects_read)
			file->object_names =
				calloc(objects.count + 1, sizeof(char *));
		if (file->object_names) {
			file->objects = objects;
		} else {
			free(objects.list);
			free(objects.strings);
		}
	}
	close(fd);
}

const char *symbol_file_object(struct symbol_file *view, uint64_t vaddr,
			       uint64_t *start)
{
	struct shared_file *file = view->file;
	const struct elf_function *object;
	char room[SYMBOL_NAME_BYTES];
	const char *name = NULL;

	if (!has_tables(view))
		return NULL;
	lock_acquire(&file->lock);
	if (!file->objects_read)
		read_objects(view);
	object = find_covering_function(&file->objects, vaddr);
	if (object) {
		name = name_of_symbol(
			view, &file->objects, object,
			&file->object_names[object - file->objects.list], room);
		name = symbol_cache_string(view->cache, name);
		*start = object->start;
	}
	lock_release(&file->lock);
	return name;
}

int symbol_file_each(struct symbol_file *view, symbol_visit *visit,
		     void *context)
{
	const struct elf_functions *functions = &view->file->functions;
	char name[SYMBOL_NAME_BYTES];
	int stop = 0;

	if (!has_tables(view))
		return 0;
	read_file_to(view, STEP_TABLES);
	for (size_t i = 0; i < functions->count && !stop; i++) {
		if (functions->list[i].rank == ELF_RANK_STUB)
			continue;
		symbol_name_make(functions->strings + functions->list[i].name,
				 name);
		stop = visit(context, functions->list[i].start, name);
	}
	return stop;
}

int symbol_file_descriptor(struct symbol_file *view)
{
	int fd = find_to_read(view->file);

	return fd < 0 ? -1 : fd;
}

int symbol_file_read(struct symbol_file *view, uint64_t offset, size_t bytes,
		     void *out, size_t *got)
{
	char ignored[READER_WHY_BYTES];
	int fd = find_to_read(view->file), err;

	if (fd < 0)
		return fd;
	err = reader_bytes(view->file->all->readers, view->file->key.uid, fd,
			   offset, bytes, out, got, ignored);
	close(fd);
	return err;
}

uint64_t symbol_file_size(const struct symbol_file *view)
{
	return (uint64_t)view->file->key.size;
}

int symbol_file_functions(struct symbol_file *view, int fd,
			  struct elf_functions *out)
{
	const struct reader_symtab own = { .fd = -1 };
	char ignored[READER_WHY_BYTES];

	return reader_functions(view->file->all->readers, view->file->key.uid,
				fd, &own, out, ignored);
}

/* sources_lock held, not file.lock, which name lookups need meanwhile. */
static void read_function_bounds(struct symbol_file *view)
{
	struct shared_file *file = view->file;
	struct elf_bounds bounds = { 0 };
	char ignored[READER_WHY_BYTES];
	int fd = find_to_read(file);

	file->bounds_read = true;
	if (fd < 0)
		return;
	if (!reader_bounds(file->all->readers, file->key.uid, fd, &bounds,
			   ignored)) {
		file->bounds_read =
			charge_file(view, bounds.count * sizeof(*bounds.list));
		if (file->bounds_read)
			file->bounds = bounds;
		else
			free(bounds.list);
	}
	close(fd);
}

bool symbol_file_bounds(struct symbol_file *view, uint64_t vaddr,
			uint64_t *start)
{
	struct shared_file *file = view->file;
	bool found;

	if (!has_tables(view))
		return false;
	lock_acquire(&file->sources_lock);
	if (!file->bounds_read)
		read_function_bounds(view);
	found = elf_bounds_find(&file->bounds, vaddr, start);
	lock_release(&file->sources_lock);
	return found;
}

bool symbol_file_range(struct symbol_file *view, uint64_t vaddr,
		       uint64_t *start, uint64_t *end)
{
	struct shared_file *file = view->file;
	const struct elf_function *function;

	symbol_file_read_tables(view);
	lock_acquire(&file->lock);
	function = find_covering_function(&file->functions, vaddr);
	if (function) {
		*start = function->start;
		*end = function->start + function->size;
	}
	lock_release(&file->lock);
	if (function)
		return true;
	if (!symbol_file_bounds(view, vaddr, start))
		return false;
	lock_acquire(&file->sources_lock);
	*end = *start + elf_bounds_last(&file->bounds, vaddr)->bytes;
	lock_release(&file->sources_lock);
	return true;
}

int symbol_file_assembly(struct symbol_file *view, uint64_t start, uint64_t end,
			 struct elf_assembly *out,
			 char why[SYMBOLIZE_WHY_BYTES])
{
	struct shared_file *file = view->file;
	const struct elf_segment *segment;
	uint64_t into = 0, bytes;
	size_t left;
	int fd, err;

	read_file_to(view, STEP_HEADERS);
	segment = file->headers.segments;
	for (left = file->headers.segment_count; left; left--, segment++) {
		into = start - segment->vaddr;
		if (segment->is_executable && into < segment->bytes)
			break;
	}
	if (!left || end <= start) {
		snprintf(why, SYMBOLIZE_WHY_BYTES,
			 "the file has no code at address 0x%llx",
			 (unsigned long long)start);
		return -ENODATA;
	}
	bytes = MIN(MIN(end - start, segment->bytes - into),
		    (uint64_t)ELF_ASSEMBLY_BYTES_MAX);
	fd = find_to_read(file);
	if (fd < 0) {
		snprintf(why, SYMBOLIZE_WHY_BYTES, "%s", strerror(-fd));
		return fd;
	}
	err = reader_assembly(file->all->readers, file->key.uid, fd,
			      segment->offset + into, bytes, start, out, why);
	close(fd);
	return err;
}

static const char *symbol_name_at(void *context, uint64_t vaddr)
{
	struct symbol_file *view = context;
	struct shared_file *file = view->file;
	const struct elf_function *function;
	char room[SYMBOL_NAME_BYTES];
	const char *name = NULL;

	lock_acquire(&file->lock);
	read_file_to_locked(view, STEP_TABLES);
	function = find_covering_function(&file->functions, vaddr);
	if (function)
		name = text_store_text(file->texts,
				       name_of_function(view, function, room));
	lock_release(&file->lock);
	return name;
}

/* sources_lock held. Counts the result even above the limit. */
static int ask_for_lines(struct symbol_file *view,
			 const struct symbolize_request *request,
			 char why[SYMBOLIZE_WHY_BYTES])
{
	struct shared_file *file = view->file;
	struct symbol_sources_asker asker = {
		.name_at = symbol_name_at,
		.context = view,
	};
	uint64_t before;
	int err;

	if (!file->texts && text_store_new(SOURCE_TEXTS_MAX, &file->texts))
		return -ENOMEM;
	asker.texts = file->texts;
	before = text_store_bytes(file->texts);
	err = symbol_sources_ask(&file->sources, &asker, request, why);
	lock_acquire(&file->all->lock);
	count_file_bytes(file, text_store_bytes(file->texts) - before);
	lock_release(&file->all->lock);
	return err;
}

/* Debug information of a file, and where its paths begin. */
struct debug_source {
	struct debug_search search;
	struct debug_lines lines;
};

/* sources_lock held. Returns 0, or -errno with @why. The caller ends *@out with
 * close_debug_source() in any case. */
static int open_debug_source(struct symbol_file *view, struct debug_source *out,
			     char why[SYMBOLIZE_WHY_BYTES])
{
	struct shared_file *file = view->file;

	out->search = (struct debug_search){
		.readers = file->all->readers,
		.uid = file->key.uid,
		.fd = find_to_read(file),
		.path = file->path,
		.root_fd = copy_root_descriptor(file),
	};
	lock_acquire(&file->lock);
	out->search.was_told = file->debug_told;
	lock_release(&file->lock);
	out->lines = (struct debug_lines){ -1, -1 };
	if (out->search.fd >= 0)
		return debug_file_lines(&out->search, &out->lines, why);
	snprintf(why, SYMBOLIZE_WHY_BYTES, "it was deleted or replaced since");
	return -ESTALE;
}

/* sources_lock held. */
static void close_debug_source(struct symbol_file *view,
			       struct debug_source *source)
{
	close_descriptor(&source->lines.fd);
	close_descriptor(&source->lines.alt_fd);
	close_descriptor(&source->search.fd);
	close_descriptor(&source->search.root_fd);
	lock_acquire(&view->file->lock);
	view->file->debug_told = source->search.was_told;
	lock_release(&view->file->lock);
}

static struct symbolize_request symbolize_request_of(
	const struct debug_source *source, const uint64_t *vaddr, size_t count,
	unsigned int seconds)
{
	return (struct symbolize_request){
		.elf_fd = source->lines.fd,
		.alt_fd = source->lines.alt_fd,
		.root_fd = source->search.root_fd,
		.vaddr = vaddr,
		.count = count,
		.seconds = seconds,
	};
}

/* sources_lock held. */
static int ask_sources(struct symbol_file *view, const uint64_t *vaddr,
		       size_t count, char why[SYMBOLIZE_WHY_BYTES])
{
	struct debug_source source;
	int err = open_debug_source(view, &source, why);

	if (!err) {
		const struct symbolize_request request = symbolize_request_of(
			&source, vaddr, count, SYMBOLIZE_SECONDS);

		err = ask_for_lines(view, &request, why);
	}
	close_debug_source(view, &source);
	return err;
}

int symbol_file_calls(struct symbol_file *view, const uint64_t *vaddr,
		      size_t count, symbolize_visit_call *visit, void *context,
		      char why[SYMBOLIZE_WHY_BYTES])
{
	struct debug_source source;
	int err;

	lock_acquire(&view->file->sources_lock);
	err = open_debug_source(view, &source, why);
	if (!err) {
		const struct symbolize_request request = symbolize_request_of(
			&source, vaddr, count, SYMBOLIZE_CALLS_SECONDS);

		err = symbolize_calls(&request, visit, context, why);
	}
	close_debug_source(view, &source);
	lock_release(&view->file->sources_lock);
	return err;
}

/* Files without -g or without C code (Lisp images) are too common to log. A
 * missing perfrec-symbolize or descriptor is logged once. */
static enum log_level level_of_failure(struct symbol_file *view, int err)
{
	struct shared_files *all = view->file->all;
	bool was_told;

	if (err == -ENODATA || symbol_file_is_foreign(view))
		return LOG_DBG;
	if (err == -ENOENT) {
		lock_acquire(&all->lock);
		was_told = all->told_of_missing;
		all->told_of_missing = true;
		lock_release(&all->lock);
		return was_told ? LOG_DBG : LOG_WARN;
	}
	if (err == -ESTALE && tell_lack(all))
		return LOG_DBG;
	return LOG_WARN;
}

/* sources_lock held. */
static void find_unknown_sources(struct symbol_file *view,
				 const uint64_t *vaddr, size_t count)
{
	struct shared_file *file = view->file;
	char why[SYMBOLIZE_WHY_BYTES];
	int err;

	/* A full cache says nothing about others. */
	if (!charge_file(view, count * sizeof(*file->sources.list)))
		return;
	snprintf(why, sizeof(why), "not enough memory");
	err = ask_sources(view, vaddr, count, why);
	if (!err)
		return;
	file->no_sources = true;
	log_at(level_of_failure(view, err), "no source lines for %s: %s",
	       file->path, *why ? why : strerror(-err));
}

/* sources_lock held. Appends the addresses that waiting threads wish to *@list,
 * which has @count addresses. Returns the new number. */
static size_t add_wishes(struct shared_file *file, uint64_t **list,
			 size_t count)
{
	size_t room = count;

	lock_acquire(&file->all->lock);
	for (const struct source_wish *wish = file->wishes; wish;
	     wish = wish->next) {
		if (wish->count > WISHES_MAX - MIN(count, WISHES_MAX) ||
		    grow_array(*list, room, count + wish->count))
			continue;
		memcpy(*list + count, wish->vaddr,
		       wish->count * sizeof(**list));
		count += wish->count;
	}
	lock_release(&file->all->lock);
	return count;
}

/* sources_lock held. Sets *@out to the addresses in @vaddr without known lines.
 * If there are any, adds the addresses that waiting threads wish: then one
 * process answers for the windows of many recordings. Returns the number of
 * addresses, or -ENOMEM. The caller frees *@out. */
static ssize_t unknown_of_all(struct shared_file *file, const uint64_t *vaddr,
			      size_t count, uint64_t **out)
{
	uint64_t *all = NULL;
	ssize_t unknown =
		symbol_sources_unknown(&file->sources, vaddr, count, &all);

	*out = all;
	if (unknown <= 0 || file->no_sources)
		return unknown;
	count = add_wishes(file, &all, (size_t)unknown);
	*out = NULL;
	unknown = symbol_sources_unknown(&file->sources, all, count, out);
	free(all);
	return unknown;
}

bool symbol_file_sources(struct symbol_file *view, const uint64_t *vaddr,
			 size_t count, struct source *out)
{
	struct source_wish wish = { .vaddr = vaddr, .count = count };
	struct source_wish **at;
	struct shared_file *file = view->file;
	uint64_t *unknown = NULL;
	ssize_t unknown_count;
	bool final = true;

	if (count == 0)
		return true;
	memset(out, 0, count * sizeof(*out));
	if (!has_tables(view))
		return false;
	/* While this thread waits, the holder of the lock also looks for these
	 * addresses (add_wishes()). */
	lock_acquire(&file->all->lock);
	wish.next = file->wishes;
	file->wishes = &wish;
	lock_release(&file->all->lock);
	lock_acquire(&file->sources_lock);
	lock_acquire(&file->all->lock);
	for (at = &file->wishes; *at != &wish;)
		at = &(*at)->next;
	*at = wish.next;
	lock_release(&file->all->lock);
	unknown_count = unknown_of_all(file, vaddr, count, &unknown);
	if (unknown_count > 0 && !file->no_sources)
		find_unknown_sources(view, unknown, (size_t)unknown_count);
	for (size_t i = 0; i < count; i++) {
		const struct source *known =
			symbol_sources_find(&file->sources, vaddr[i]);

		if (known)
			out[i] = *known;
		else
			final &= file->no_sources;
	}
	lock_release(&file->sources_lock);
	free(unknown);
	return final;
}
