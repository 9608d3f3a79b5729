/* SPDX-License-Identifier: Apache-2.0
 *
 * symbols - one cache serves all processes of a collector. So the hundredth
 * compiler of a parallel make costs an fstat() and a look into a hash table.
 *
 * A file is read in two steps, each when it is first needed: the headers (is
 * the file instrumented? what is its build-id?), and the symbol tables. Until
 * the second step the file keeps a descriptor, since it may be deleted or out
 * of reach later. A name is demangled when somebody asks for it.
 *
 * Names live as long as the cache: they are copied into its text_store. Files
 * do not live as long. Files that no process uses any more wait in a queue, and
 * the oldest are dropped when their tables take too much memory. That, and a
 * limit on each kind of memory, bounds a daemon that runs for months. What does
 * not fit has no name.
 *
 * The cache has at most half of the descriptors that the system allows. A file
 * beyond that is opened again where it was found when it is needed, if it is
 * still there and still the same. So a deleted file may have a descriptor where
 * others have none any more.
 *
 * Source lines come from a process that reads debug information (symbolize.h).
 * They are kept with the file.
 *
 * Locks: cache.lock guards the hash table of files, the counts of bytes, and
 * refs, fd and the fields beside them of each file; nobody holds it while a
 * file is read. file.lock guards reading and demangling; when a step is done
 * its results are constant. file.sources_lock guards source lines, and the
 * bounds of functions without names. It is held while the process runs; names
 * can be had meanwhile. A thread takes them in the order file.sources_lock,
 * file.lock, cache.lock.
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

#include "collector/base/lock.h"
#include "collector/names/debug_file.h"
#include "collector/names/elf_bounds.h"
#include "collector/names/elf_read.h"
#include "collector/base/log.h"
#include "collector/names/mapped_file.h"
#include "collector/names/nowait.h"
#include "collector/names/reader.h"
#include "collector/names/symbol_name.h"
#include "collector/names/symbol_sources.h"
#include "collector/names/text_store.h"
#include "shared/atomic.h"
#include "shared/compiler.h"

/* Descriptors kept: half of what the system allows, within these bounds. */
#define DESCRIPTORS_LEAST 32
#define DESCRIPTORS_MOST 32768
/* What perfrec-reader takes, at its start above all (helper.c). */
#define DESCRIPTORS_OF_START 24
#define TABLE_BYTES_MAX (1024ull << 20) /* of all files */
#define IDLE_BYTES_MAX (128ull << 20) /* of those that nobody uses */
#define FILE_BUCKETS 1024

/* For the lines of one file: a browser's take ten. */
#define SYMBOLIZE_SECONDS 90

enum step { STEP_NONE, STEP_HEADERS, STEP_TABLES };

struct file_key {
	uid_t uid; /* of its programs: reader.h */
	dev_t device;
	ino_t inode;
	off_t size;
	struct timespec mtime;
};

/* A folder that paths begin in, which is not our own root. */
struct root {
	struct root *next;
	dev_t device;
	ino_t inode;
	int fd;
	size_t refs; /* files */
};

struct symbol_file {
	struct symbol_cache *cache;
	struct file_key key;
	char *path; /* for messages */

	struct symbol_file *next; /* cache.lock from here on */
	TAILQ_ENTRY(symbol_file) idle; /* while refs is 0 */
	unsigned int refs;
	int fd; /* -1: none now */
	char *where; /* its path below root; NULL: it has none */
	struct root *root; /* NULL: paths begin in our own root */
	bool is_wanted; /* the tables were not read yet */
	bool was_read;
	uint64_t bytes; /* what was read takes */

	struct lock lock; /* from here on */
	enum step step;
	uint32_t is_read; /* atomic: step is STEP_TABLES */
	bool error_told;
	bool is_foreign;
	bool is_late; /* a read took too long */
	bool debug_told; /* that a debug file does not fit */
	char *error;
	struct elf_headers headers;
	const char *build_id;
	struct elf_functions functions;
	const char **names; /* by function; NULL: not asked for yet */

	struct lock sources_lock; /* from here on */
	bool bounds_read;
	bool no_sources; /* it is of no use to ask (again) */
	struct elf_bounds bounds; /* of functions without names */
	struct symbol_sources sources;
};

struct symbol_cache {
	struct text_store *texts; /* every name that was given out */
	struct readers *readers;
	struct lock lock; /* from here on */
	uint64_t table_bytes; /* idle files' included */
	uint64_t idle_bytes;
	unsigned int descriptors; /* of files, and of roots */
	unsigned int descriptors_max;
	struct root *roots;
	bool told_of_missing; /* that there is no perfrec-symbolize */
	bool lacks_descriptors; /* once it did */
	bool told_of_descriptors;
	bool told_of_room; /* that a text was not kept */
	TAILQ_HEAD(, symbol_file) idle; /* the longest idle first */
	struct symbol_file *files[FILE_BUCKETS];
};

static unsigned int half_of_all_descriptors(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit))
		return DESCRIPTORS_LEAST;
	limit.rlim_cur -= MIN(limit.rlim_cur, DESCRIPTORS_OF_START);
	return (unsigned int)MAX(MIN(limit.rlim_cur / 2, DESCRIPTORS_MOST),
				 DESCRIPTORS_LEAST);
}

int symbol_cache_new(struct symbol_cache **out)
{
	struct symbol_cache *cache = calloc(1, sizeof(*cache));

	if (!cache || text_store_new(&cache->texts)) {
		free(cache);
		return -ENOMEM;
	}
	if (readers_new(&cache->readers)) {
		text_store_free(&cache->texts);
		free(cache);
		return -ENOMEM;
	}
	cache->descriptors_max = half_of_all_descriptors();
	lock_init(&cache->lock, LOCK_SYMBOL_CACHE);
	TAILQ_INIT(&cache->idle);
	*out = cache;
	return 0;
}

static void close_descriptor(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

/* cache.lock held, or nobody else uses the cache. */
static void put_root_of_file(struct symbol_file *file)
{
	struct root **link = &file->cache->roots, *root = file->root;

	file->root = NULL;
	if (!root || --root->refs)
		return;
	while (*link != root)
		link = &(*link)->next;
	*link = root->next;
	close(root->fd);
	file->cache->descriptors--;
	free(root);
}

static void symbol_file_free(struct symbol_file *file)
{
	close_descriptor(&file->fd);
	put_root_of_file(file);
	lock_destroy(&file->lock);
	lock_destroy(&file->sources_lock);
	symbol_sources_release(&file->sources);
	free(file->headers.segments);
	free(file->functions.list);
	free(file->functions.strings);
	free(file->bounds.list);
	free(file->names);
	free(file->error);
	free(file->path);
	free(file->where);
	free(file);
}

void symbol_cache_free(struct symbol_cache **cache_ptr)
{
	struct symbol_cache *cache = *cache_ptr;

	*cache_ptr = NULL;
	if (!cache)
		return;
	for (size_t i = 0; i < FILE_BUCKETS; i++)
		while (cache->files[i]) {
			struct symbol_file *file = cache->files[i];

			cache->files[i] = file->next;
			symbol_file_free(file);
		}
	readers_free(&cache->readers);
	text_store_free(&cache->texts);
	lock_destroy(&cache->lock);
	free(cache);
}

struct readers *symbol_cache_readers(struct symbol_cache *cache)
{
	return cache->readers;
}

/* cache.lock held; nobody refers to @file. */
static void forget_file(struct symbol_file *file)
{
	struct symbol_cache *cache = file->cache;
	struct symbol_file **link =
		&cache->files[file->key.inode % FILE_BUCKETS];

	while (*link != file)
		link = &(*link)->next;
	*link = file->next;
	cache->table_bytes -= file->bytes;
	symbol_file_free(file);
}

/* cache.lock held. */
static void drop_idle_files(struct symbol_cache *cache, uint64_t bytes_max)
{
	while (cache->idle_bytes > bytes_max) {
		struct symbol_file *file = TAILQ_FIRST(&cache->idle);

		TAILQ_REMOVE(&cache->idle, file, idle);
		cache->idle_bytes -= file->bytes;
		forget_file(file);
	}
}

bool symbol_cache_take(struct symbol_cache *cache, uint64_t bytes)
{
	bool fits;

	lock_acquire(&cache->lock);
	if (cache->table_bytes + bytes > TABLE_BYTES_MAX)
		drop_idle_files(cache, 0);
	fits = cache->table_bytes + bytes <= TABLE_BYTES_MAX;
	if (fits)
		cache->table_bytes += bytes;
	lock_release(&cache->lock);
	return fits;
}

void symbol_cache_give_back(struct symbol_cache *cache, uint64_t bytes)
{
	lock_acquire(&cache->lock);
	cache->table_bytes -= bytes;
	lock_release(&cache->lock);
}

/* Accounts for @bytes that @file now takes. False: there is no room. */
static bool charge_file(struct symbol_file *file, uint64_t bytes)
{
	if (!symbol_cache_take(file->cache, bytes))
		return false;
	lock_acquire(&file->cache->lock);
	file->bytes += bytes;
	lock_release(&file->cache->lock);
	return true;
}

/* Says once that there was no room for a text; returns @kept. */
static const char *tell_if_full(struct symbol_cache *cache, const char *kept,
				const char *what)
{
	bool is_news;

	if (kept)
		return kept;
	lock_acquire(&cache->lock);
	is_news = !cache->told_of_room;
	cache->told_of_room = true;
	lock_release(&cache->lock);
	if (is_news)
		log_warn("%s take %llu MiB, which is all that they may: what "
			 "is new from now on is '[unknown]' in all recordings, "
			 "until this collector ends",
			 what,
			 (unsigned long long)text_store_bytes(cache->texts) >>
				 20);
	return NULL;
}

const char *symbol_cache_string(struct symbol_cache *cache, const char *text)
{
	return tell_if_full(cache, text_store_text(cache->texts, text),
			    "names");
}

const char *symbol_cache_told_string(struct symbol_cache *cache,
				     const char *text)
{
	return tell_if_full(cache, text_store_told(cache->texts, text),
			    "names that programs told (categories, "
			    "annotations, compiled code)");
}

void symbol_cache_note_lack(struct symbol_cache *cache)
{
	lock_acquire(&cache->lock);
	cache->lacks_descriptors = true;
	lock_release(&cache->lock);
}

bool symbol_cache_tell_lack(struct symbol_cache *cache)
{
	bool lacks, is_news;

	lock_acquire(&cache->lock);
	lacks = cache->lacks_descriptors;
	is_news = lacks && !cache->told_of_descriptors;
	cache->told_of_descriptors |= lacks;
	lock_release(&cache->lock);
	if (is_news)
		log_warn("too many files are open: functions of some libraries "
			 "have no names or lines (raise the hard limit: ulimit "
			 "-Hn)");
	return lacks;
}

struct symbol_cache_use symbol_cache_use(struct symbol_cache *cache)
{
	struct symbol_cache_use use = {
		.names = text_store_bytes(cache->texts),
		.names_most = TEXT_STORE_BYTES_MAX,
		.tables_most = TABLE_BYTES_MAX,
	};

	lock_acquire(&cache->lock);
	use.tables = cache->table_bytes;
	lock_release(&cache->lock);
	return use;
}

uint64_t symbol_cache_bytes(struct symbol_cache *cache)
{
	return text_store_bytes(cache->texts);
}

/* file.lock held, or nobody else knows @file yet. The first error stays. */
static void set_file_error(struct symbol_file *file, const char *what)
{
	if (!file->error &&
	    asprintf(&file->error, "cannot read the symbols of %s: %s",
		     file->path, what) < 0)
		file->error = NULL;
}

/* cache.lock held. Only a regular file is ever read: opening another one may
 * wait or have effects. What is kept is O_PATH as @fd is: nothing waits here.
 */
static void keep_descriptor(struct symbol_file *file, int fd,
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
	if (copy < 0) { /* when it is read there may be one */
		file->cache->lacks_descriptors = true;
		return;
	}
	file->fd = copy;
	file->cache->descriptors++;
}

static bool is_same_file(const struct file_key *key, uid_t uid,
			 const struct stat *status)
{
	return key->uid == uid && key->inode == status->st_ino &&
	       key->device == status->st_dev && key->size == status->st_size &&
	       key->mtime.tv_sec == status->st_mtim.tv_sec &&
	       key->mtime.tv_nsec == status->st_mtim.tv_nsec;
}

/* cache.lock held; nobody refers to @file. Where it can be opened again. */
static void set_file_path(struct symbol_file *file, const char *path)
{
	free(file->where);
	file->where = path[0] == '/' ? strdup(path) : NULL;
}

/* The root of @file's paths, the caller's own; -1: our own root. */
static int copy_root_descriptor(struct symbol_file *file)
{
	int fd = -1;

	lock_acquire(&file->cache->lock);
	if (file->root)
		fd = fcntl(file->root->fd, F_DUPFD_CLOEXEC, 0);
	lock_release(&file->cache->lock);
	return fd;
}

/* An O_PATH descriptor of @file, if what lies at its path below @root_fd is
 * still that file; -1. */
static int find_file_below(const struct symbol_file *file, int root_fd)
{
	int fd = mapped_file_at(readers_openers(file->cache->readers), root_fd,
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

/* The same in its own root, and in ours: where a process has called chroot()
 * since, the map shows paths as we see them. */
static int find_file_again(struct symbol_file *file)
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

static struct symbol_file *symbol_file_new(struct symbol_cache *cache,
					   uid_t uid, const struct stat *status,
					   const char *path)
{
	struct symbol_file *file = calloc(1, sizeof(*file));
	char *copy = strdup(path);

	if (!file || !copy) {
		free(file);
		free(copy);
		return NULL;
	}
	symbol_name_clean(copy);
	file->cache = cache;
	file->path = copy;
	file->key = (struct file_key){ uid, status->st_dev, status->st_ino,
				       status->st_size, status->st_mtim };
	file->fd = -1;
	file->is_wanted = true;
	file->build_id = "";
	file->bytes = sizeof(*file) + strlen(path);
	lock_init(&file->lock, LOCK_SYMBOL_FILE);
	lock_init(&file->sources_lock, LOCK_SYMBOL_SOURCES);
	return file;
}

/* cache.lock held. Whether a descriptor is worth keeping: a file that still has
 * a name can be opened again. */
static bool is_worth_descriptor(const struct symbol_file *file,
				const struct stat *status)
{
	const struct symbol_cache *cache = file->cache;

	if (cache->descriptors < cache->descriptors_max)
		return true;
	return file->is_wanted && !status->st_nlink &&
	       cache->descriptors < cache->descriptors_max / 2 * 3;
}

/* cache.lock held. Finds or makes the file and takes a reference. */
static struct symbol_file *find_or_add_file(struct symbol_cache *cache,
					    uid_t uid, int fd,
					    const struct stat *status,
					    const char *path)
{
	struct symbol_file **bucket =
		&cache->files[status->st_ino % FILE_BUCKETS];
	struct symbol_file *file;

	for (file = *bucket; file; file = file->next)
		if (is_same_file(&file->key, uid, status))
			break;
	if (file && !file->refs) {
		TAILQ_REMOVE(&cache->idle, file, idle);
		cache->idle_bytes -= file->bytes;
	} else if (!file) {
		file = symbol_file_new(cache, uid, status, path);
		if (!file)
			return NULL;
		file->next = *bucket;
		*bucket = file;
		cache->table_bytes += file->bytes;
	}
	if (!file->refs)
		set_file_path(file, path);
	if (file->fd < 0 && !file->refs && is_worth_descriptor(file, status))
		keep_descriptor(file, fd, status);
	file->refs++;
	return file;
}

struct symbol_file *symbol_cache_file(struct symbol_cache *cache, uid_t uid,
				      int fd, const char *path)
{
	struct symbol_file *file;
	struct stat status;

	(void)nowait_stat(fd, &status); /* zeros, if it fails */
	lock_acquire(&cache->lock);
	file = find_or_add_file(cache, uid, fd, &status, path);
	lock_release(&cache->lock);
	return file;
}

/* True when @root is that of our own paths, or cannot be told from it. */
static bool is_own_root(int root_fd, struct stat *root)
{
	struct stat ours;

	return nowait_stat(root_fd, root) || stat("/", &ours) ||
	       (root->st_dev == ours.st_dev && root->st_ino == ours.st_ino);
}

/* cache.lock held. NULL: there is no memory, or no descriptor. */
static struct root *find_or_add_root(struct symbol_cache *cache, int root_fd,
				     const struct stat *status)
{
	struct root *root;

	for (root = cache->roots; root; root = root->next)
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
	root->next = cache->roots;
	cache->roots = root;
	cache->descriptors++;
	return root;
}

void symbol_file_set_root(struct symbol_file *file, int root_fd)
{
	struct symbol_cache *cache = file->cache;
	struct stat status;

	if (is_own_root(root_fd, &status))
		return;
	lock_acquire(&cache->lock);
	if (!file->root) {
		file->root = find_or_add_root(cache, root_fd, &status);
		if (file->root)
			file->root->refs++;
	}
	lock_release(&cache->lock);
}

struct symbol_file *symbol_file_get(struct symbol_file *file)
{
	if (!file)
		return NULL;
	lock_acquire(&file->cache->lock);
	file->refs++;
	lock_release(&file->cache->lock);
	return file;
}

/* cache.lock held; the last reference is gone. */
static void retire_file(struct symbol_file *file)
{
	struct symbol_cache *cache = file->cache;

	if (file->fd >= 0)
		cache->descriptors--;
	close_descriptor(&file->fd);
	put_root_of_file(file);
	if (!file->was_read) {
		forget_file(file);
		return;
	}
	TAILQ_INSERT_TAIL(&cache->idle, file, idle);
	cache->idle_bytes += file->bytes;
	drop_idle_files(cache, IDLE_BYTES_MAX);
}

void symbol_file_put(struct symbol_file **file_ptr)
{
	struct symbol_file *file = *file_ptr;
	struct symbol_cache *cache;

	*file_ptr = NULL;
	if (!file)
		return;
	cache = file->cache;
	lock_acquire(&cache->lock);
	if (!--file->refs)
		retire_file(file);
	lock_release(&cache->lock);
}

/* A copy of the descriptor that is kept, if there is one; -1. */
static int copy_descriptor(struct symbol_file *file)
{
	int fd = -1;

	lock_acquire(&file->cache->lock);
	if (file->fd >= 0)
		fd = fcntl(file->fd, F_DUPFD_CLOEXEC, 0);
	lock_release(&file->cache->lock);
	return fd;
}

/* A descriptor of @file for reader.h, the caller's; or -errno. */
static int find_to_read(struct symbol_file *file)
{
	int fd = copy_descriptor(file);

	if (fd < 0)
		fd = find_file_again(file);
	return fd < 0 ? -ENOENT : fd;
}

/* True when the file can be had again without the descriptor that is kept. */
static bool can_find_file_again(struct symbol_file *file)
{
	int fd = find_file_again(file);
	bool can = fd >= 0;

	close_descriptor(&fd);
	return can;
}

/* After a step of reading: keeps the descriptor for what comes next, which is
 * the next step (@is_wanted), then debug information and unwinding; or, where
 * there are too many, gives it up. */
static void settle_descriptor(struct symbol_file *file, bool is_wanted)
{
	struct symbol_cache *cache = file->cache;
	unsigned int max = cache->descriptors_max;
	bool is_kept;

	lock_acquire(&cache->lock);
	file->is_wanted = is_wanted;
	is_kept = file->fd < 0 ||
		  cache->descriptors <= (is_wanted ? max : max / 4 * 3);
	lock_release(&cache->lock);
	if (is_kept)
		return;
	is_kept = !can_find_file_again(file);
	lock_acquire(&cache->lock);
	is_kept &= cache->descriptors <= (is_wanted ? max / 2 * 3 : max);
	if (!is_kept && file->fd >= 0) {
		cache->descriptors--;
		close_descriptor(&file->fd);
	}
	lock_release(&cache->lock);
}

/* file.lock held. @file cannot be read because of @err, a -errno; @why says it
 * for a person. That descriptors lack is said once for all files. */
static void note_failure(struct symbol_file *file, int err, const char *why)
{
	if (err == -EMFILE || err == -ENFILE) {
		symbol_cache_note_lack(file->cache);
		why = "too many files are open";
	}
	file->is_late |= err == -ETIMEDOUT;
	set_file_error(file, why);
	file->error_told |= symbol_cache_tell_lack(file->cache);
}

/* file.lock held. False: there are no tables to read. */
static bool read_file_headers(struct symbol_file *file, int fd)
{
	char why[READER_WHY_BYTES];
	const char *build_id;
	int err = reader_headers(file->cache->readers, file->key.uid, fd,
				 &file->headers, why);

	file->step = STEP_HEADERS;
	if (err) {
		file->is_foreign = err == -ENOEXEC;
		note_failure(file, err, why);
		return false;
	}
	if (!charge_file(file, file->headers.segment_count *
				       sizeof(*file->headers.segments))) {
		set_file_error(file, "the symbol cache is full");
		return false;
	}
	build_id = symbol_cache_string(file->cache, file->headers.build_id);
	if (build_id)
		file->build_id = build_id;
	return true;
}

/* file.lock held. The functions of @file, by the help of its debug file when it
 * was stripped. 0, or -errno with *@why. */
static int read_file_functions(struct symbol_file *file, int fd,
			       struct elf_functions *out,
			       char why[READER_WHY_BYTES])
{
	struct debug_search search = {
		.readers = file->cache->readers,
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
	err = reader_functions(search.readers, search.uid, fd, &symtab, out,
			       why);
	close_descriptor(&symtab.fd);
	close_descriptor(&search.root_fd);
	return err;
}

/* file.lock held. */
static void read_symbol_tables(struct symbol_file *file, int fd)
{
	struct elf_functions functions = { 0 };
	char reason[READER_WHY_BYTES];
	const char *why;
	int err = read_file_functions(file, fd, &functions, reason);

	if (err) {
		note_failure(file, err, reason);
		return;
	}
	if (!functions.count) {
		why = "it has none; build it without strip or -s";
	} else if (!charge_file(file, functions.string_bytes +
					      functions.count *
						      (sizeof(*functions.list) +
						       sizeof(*file->names)))) {
		why = "the symbol cache is full";
	} else {
		file->names = calloc(functions.count, sizeof(*file->names));
		why = file->names ? NULL : "not enough memory";
	}
	if (why) {
		set_file_error(file, why);
		free(functions.list);
		free(functions.strings);
		return;
	}
	file->functions = functions;
}

/* file.lock held. */
static void read_next_steps(struct symbol_file *file, enum step step)
{
	bool is_wanted;
	int fd;

	lock_acquire(&file->cache->lock);
	is_wanted = file->is_wanted;
	file->was_read = true;
	lock_release(&file->cache->lock);
	fd = is_wanted ? find_to_read(file) : -ENOENT;
	if (fd < 0) { /* keep_descriptor() may have set the error */
		note_failure(file, fd, strerror(-fd));
		file->step = STEP_TABLES;
		return;
	}
	if (file->step < STEP_HEADERS)
		is_wanted = read_file_headers(file, fd);
	if (is_wanted && step == STEP_TABLES) {
		read_symbol_tables(file, fd);
		is_wanted = false;
	}
	if (!is_wanted)
		file->step = STEP_TABLES;
	close(fd);
	settle_descriptor(file, is_wanted);
}

/* file.lock held. */
static void read_file_to_locked(struct symbol_file *file, enum step step)
{
	if (file->step >= step)
		return;
	read_next_steps(file, step);
	if (file->step == STEP_TABLES)
		/* order: rel, TABLES: they are there */
		atom_store_rel(&file->is_read, 1);
}

static void read_file_to(struct symbol_file *file, enum step step)
{
	lock_acquire(&file->lock);
	read_file_to_locked(file, step);
	lock_release(&file->lock);
}

void symbol_file_read_tables(struct symbol_file *file)
{
	read_file_to(file, STEP_TABLES);
}

bool symbol_file_is_read(const struct symbol_file *file)
{
	/* order: acq, TABLES: they are there; whoever looks into them takes
	 * the lock, which is not held for long any more */
	return atom_load_acq(&file->is_read);
}

const char *symbol_file_error(struct symbol_file *file)
{
	const char *error;

	lock_acquire(&file->lock);
	read_file_to_locked(file, STEP_HEADERS);
	error = file->error;
	lock_release(&file->lock);
	return error;
}

const char *symbol_file_new_error(struct symbol_file *file)
{
	const char *error;

	lock_acquire(&file->lock);
	read_file_to_locked(file, STEP_HEADERS);
	error = file->error_told ? NULL : file->error;
	file->error_told = file->error;
	lock_release(&file->lock);
	return error;
}

bool symbol_file_is_late(struct symbol_file *file)
{
	bool is_late;

	lock_acquire(&file->lock);
	is_late = file->is_late;
	lock_release(&file->lock);
	return is_late;
}

bool symbol_file_is_foreign(struct symbol_file *file)
{
	read_file_to(file, STEP_HEADERS);
	return file->is_foreign;
}

const char *symbol_file_build_id(struct symbol_file *file)
{
	read_file_to(file, STEP_HEADERS);
	return file->build_id;
}

bool symbol_file_instrumented(struct symbol_file *file)
{
	read_file_to(file, STEP_HEADERS);
	return file->headers.is_instrumented;
}

bool symbol_file_needs_asan(struct symbol_file *file, const char **soname)
{
	read_file_to(file, STEP_HEADERS);
	if (!file->headers.asan[0])
		return false;
	*soname = file->headers.asan;
	return true;
}

/* A mapping starts at a page, its segment anywhere in it. */
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

bool symbol_file_vaddr(struct symbol_file *file, uint64_t file_offset,
		       uint64_t *vaddr)
{
	const struct elf_headers *headers = &file->headers;

	read_file_to(file, STEP_HEADERS);
	for (int executable = 1; executable >= 0; executable--)
		for (size_t i = 0; i < headers->segment_count; i++)
			if (headers->segments[i].is_executable == executable &&
			    segment_vaddr(&headers->segments[i], file_offset,
					  vaddr))
				return true;
	return false;
}

/* The last function that starts at or below @vaddr, if it reaches it. */
static const struct elf_function *find_covering_function(
	const struct elf_functions *functions, uint64_t vaddr)
{
	size_t low = 0, high = functions->count;
	const struct elf_function *found;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (functions->list[middle].start <= vaddr)
			low = middle + 1;
		else
			high = middle;
	}
	if (!low)
		return NULL;
	found = &functions->list[low - 1];
	return vaddr - found->start < found->size ? found : NULL;
}

/* file.lock held. NULL when a new name would not fit into the cache. */
static const char *name_of_function(struct symbol_file *file,
				    const struct elf_function *function)
{
	const char **slot = &file->names[function - file->functions.list];
	char name[SYMBOL_NAME_BYTES];

	if (!*slot) {
		symbol_name_make(file->functions.strings + function->name,
				 name);
		*slot = symbol_cache_string(file->cache, name);
	}
	return *slot;
}

const char *symbol_file_lookup(struct symbol_file *file, uint64_t vaddr,
			       uint64_t *start)
{
	const struct elf_function *function;
	const char *name = NULL;

	lock_acquire(&file->lock);
	read_file_to_locked(file, STEP_TABLES);
	function = find_covering_function(&file->functions, vaddr);
	if (function)
		name = name_of_function(file, function);
	lock_release(&file->lock);
	if (name)
		*start = function->start;
	return name;
}

int symbol_file_each(struct symbol_file *file, symbol_visit *visit,
		     void *context)
{
	const struct elf_functions *functions = &file->functions;
	char name[SYMBOL_NAME_BYTES];
	int stop = 0;

	read_file_to(file, STEP_TABLES);
	for (size_t i = 0; i < functions->count && !stop; i++) {
		symbol_name_make(functions->strings + functions->list[i].name,
				 name);
		stop = visit(context, functions->list[i].start, name);
	}
	return stop;
}

int symbol_file_descriptor(struct symbol_file *file)
{
	int fd = find_to_read(file);

	return fd < 0 ? -1 : fd;
}

int symbol_file_read(struct symbol_file *file, uint64_t offset, size_t bytes,
		     void *out, size_t *got)
{
	char ignored[READER_WHY_BYTES];
	int fd = find_to_read(file), err;

	if (fd < 0)
		return fd;
	err = reader_bytes(file->cache->readers, file->key.uid, fd, offset,
			   bytes, out, got, ignored);
	close(fd);
	return err;
}

uint64_t symbol_file_size(const struct symbol_file *file)
{
	return (uint64_t)file->key.size;
}

int symbol_file_functions(struct symbol_file *file, int fd,
			  struct elf_functions *out)
{
	const struct reader_symtab own = { .fd = -1 };
	char ignored[READER_WHY_BYTES];

	return reader_functions(file->cache->readers, file->key.uid, fd, &own,
				out, ignored);
}

/* sources_lock held: to read the bounds may take long, and whoever looks a name
 * up takes file.lock. */
static void read_function_bounds(struct symbol_file *file)
{
	struct elf_bounds bounds = { 0 };
	char ignored[READER_WHY_BYTES];
	int fd = find_to_read(file);

	file->bounds_read = true;
	if (fd < 0)
		return;
	if (!reader_bounds(file->cache->readers, file->key.uid, fd, &bounds,
			   ignored) &&
	    charge_file(file, bounds.count * sizeof(*bounds.list)))
		file->bounds = bounds;
	else
		free(bounds.list);
	close(fd);
}

bool symbol_file_bounds(struct symbol_file *file, uint64_t vaddr,
			uint64_t *start)
{
	bool found;

	lock_acquire(&file->sources_lock);
	if (!file->bounds_read)
		read_function_bounds(file);
	found = elf_bounds_find(&file->bounds, vaddr, start);
	lock_release(&file->sources_lock);
	return found;
}

/* @file as debug_file.h wants it, with descriptors of the caller's own; -1:
 * there is none (any more). */
static struct debug_search begin_debug_search(struct symbol_file *file)
{
	struct debug_search search = {
		.readers = file->cache->readers,
		.uid = file->key.uid,
		.fd = symbol_file_descriptor(file),
		.path = file->path,
		.root_fd = copy_root_descriptor(file),
	};

	lock_acquire(&file->lock);
	search.was_told = file->debug_told;
	lock_release(&file->lock);
	return search;
}

static void end_debug_search(struct symbol_file *file,
			     struct debug_search *search)
{
	close_descriptor(&search->fd);
	close_descriptor(&search->root_fd);
	lock_acquire(&file->lock);
	file->debug_told = search->was_told;
	lock_release(&file->lock);
}

/* What the symbol tables of the file @context call the function at @vaddr. */
static const char *name_at(void *context, uint64_t vaddr)
{
	uint64_t start;

	return symbol_file_lookup(context, vaddr, &start);
}

/* sources_lock held. 0, or -errno with @why. */
static int ask_sources(struct symbol_file *file, const uint64_t *vaddr,
		       size_t count, char why[SYMBOLIZE_WHY_BYTES])
{
	struct debug_search search = begin_debug_search(file);
	struct debug_lines lines = { -1, -1 };
	int err = search.fd < 0 ? -ESTALE : 0;

	snprintf(why, SYMBOLIZE_WHY_BYTES, "it was deleted or replaced since");
	if (!err)
		err = debug_file_lines(&search, &lines, why);
	if (!err) {
		const struct symbolize_request request = {
			.elf_fd = lines.fd,
			.alt_fd = lines.alt_fd,
			.root_fd = search.root_fd,
			.vaddr = vaddr,
			.count = count,
			.seconds = SYMBOLIZE_SECONDS,
		};
		const struct symbol_sources_asker asker = {
			.texts = file->cache->texts,
			.name_at = name_at,
			.context = file,
		};

		err = symbol_sources_ask(&file->sources, &asker, &request, why);
	}
	close_descriptor(&lines.fd);
	close_descriptor(&lines.alt_fd);
	end_debug_search(file, &search);
	return err;
}

/* True but for the first call. */
static bool was_told_of_missing(struct symbol_cache *cache)
{
	bool was_told;

	lock_acquire(&cache->lock);
	was_told = cache->told_of_missing;
	cache->told_of_missing = true;
	lock_release(&cache->lock);
	return was_told;
}

/* Files that were built without -g, or in which no compiler of C puts its code
 * (images of Lisps), are too common to speak of each; that perfrec-symbolize is
 * missing, or descriptors are, is said once for all. */
static enum log_level level_of(struct symbol_file *file, int err)
{
	if (err == -ENODATA || symbol_file_is_foreign(file))
		return LOG_DBG;
	if (err == -ENOENT && was_told_of_missing(file->cache))
		return LOG_DBG;
	if (err == -ESTALE && symbol_cache_tell_lack(file->cache))
		return LOG_DBG;
	return LOG_WARN;
}

/* sources_lock held. */
static void find_unknown_sources(struct symbol_file *file,
				 const uint64_t *vaddr, size_t count)
{
	char why[SYMBOLIZE_WHY_BYTES];
	int err = -ENOMEM;

	snprintf(why, sizeof(why), "the symbol cache is full");
	if (charge_file(file, count * sizeof(*file->sources.list)))
		err = ask_sources(file, vaddr, count, why);
	if (!err)
		return;
	file->no_sources = true;
	log_at(level_of(file, err), "no source lines for %s: %s", file->path,
	       why);
}

void symbol_file_sources(struct symbol_file *file, const uint64_t *vaddr,
			 size_t count, struct source *out)
{
	uint64_t *unknown = NULL;
	ssize_t unknown_count;

	lock_acquire(&file->sources_lock);
	unknown_count =
		symbol_sources_unknown(&file->sources, vaddr, count, &unknown);
	if (unknown_count > 0 && !file->no_sources)
		find_unknown_sources(file, unknown, (size_t)unknown_count);
	for (size_t i = 0; i < count; i++) {
		const struct source *known =
			symbol_sources_find(&file->sources, vaddr[i]);

		out[i] = known ? *known : (struct source){ 0 };
	}
	lock_release(&file->sources_lock);
	free(unknown);
}
