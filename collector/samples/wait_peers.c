/* SPDX-License-Identifier: Apache-2.0
 *
 * wait_peers - reading a link takes 1 us. So the links of recorded processes
 * are kept, and read again only if a search fails; at most LINKS_A_SECOND,
 * which is 0.4 % of a CPU. A found holder is searched again after a second, a
 * missing one after one, two, four seconds and so on: the text of an object
 * must change rarely.
 *
 * The links of a process that has changed its user since, or that we may not
 * look at, are unreadable. Only the user of a program may learn who else has an
 * end, so a daemon never names processes of other users.
 */
#include "collector/samples/wait_peers.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collector/base/clock.h"
#include "collector/base/grow.h"
#include "collector/base/proc.h"
#include "shared/compiler.h"

#define LINKS_A_SECOND 4096
#define LINKS_MAX 1024 /* per process */
#define FRESH_NS 20000000u /* age below which links are not read again */
#define KNOWN 256u /* a power of two */
#define KEEP_NS UINT64_C(1000000000)
#define KEEP_MOST_NS (64 * KEEP_NS)
#define NS_PER_S 1000000000

struct held {
	struct wait_end end;
	int fd;
};

struct peer_process {
	pid_t pid;
	uid_t uid;
	uint64_t read_ns; /* MONOTONIC; 0: never */
	struct held *held;
	size_t count, room;
};

struct known_peer {
	struct wait_end end;
	pid_t pid; /* the process that searched; 0: none */
	uint64_t until_ns, keep_ns;
	bool found;
	bool others;
	pid_t holder;
	int fd; /* of the holder */
	char text[WAIT_PEER_BYTES];
};

struct wait_peers {
	struct wait_processes processes;
	struct peer_process process[WAIT_PEERS_PROCESSES];
	size_t count;
	int64_t links_left;
	uint64_t filled_ns; /* last refill of links_left */
	struct known_peer known[KNOWN]; /* by inode: the last one there */
};

int wait_peers_new(const struct wait_processes *processes,
		   struct wait_peers **out)
{
	*out = calloc(1, sizeof(**out));
	if (!*out)
		return -ENOMEM;
	(*out)->processes = *processes;
	(*out)->links_left = LINKS_A_SECOND;
	(*out)->filled_ns = clock_monotonic_ns();
	return 0;
}

void wait_peers_free(struct wait_peers **peers)
{
	struct wait_peers *old = *peers;

	*peers = NULL;
	if (!old)
		return;
	for (size_t i = 0; i < old->count; i++)
		free(old->process[i].held);
	free(old);
}

/* --- links --------------------------------------------------------------- */

bool wait_end_read(int folder, const char *path, struct wait_end *end)
{
	char target[64];
	struct stat status;
	ssize_t length = readlinkat(folder, path, target, sizeof(target) - 1);
	mode_t mode;

	if (length <= 0)
		return false;
	target[length] = '\0';
	end->kind = WAIT_END_SOCKET;
	if (sscanf(target, "socket:[%" SCNu64, &end->inode) == 1)
		return true;
	if (sscanf(target, "pipe:[%" SCNu64, &end->inode) != 1 ||
	    fstatat(folder, path, &status, AT_SYMLINK_NOFOLLOW))
		return false;
	/* The mode of the link shows how the file was opened. */
	mode = status.st_mode & (S_IRUSR | S_IWUSR);
	end->kind = mode == S_IRUSR ? WAIT_END_READ : WAIT_END_WRITE;
	return mode == S_IRUSR || mode == S_IWUSR;
}

/* Returns the uid of /proc/@pid, or -1 if it is gone. */
static uid_t uid_of(pid_t pid)
{
	char path[32];
	struct stat status;

	snprintf(path, sizeof(path), "/proc/%d", (int)pid);
	return stat(path, &status) ? (uid_t)-1 : status.st_uid;
}

static void read_links(struct wait_peers *peers, struct peer_process *process)
{
	char path[48];
	struct dirent *entry;
	int64_t links = 0;
	DIR *folder;

	snprintf(path, sizeof(path), "/proc/%d/fd", (int)process->pid);
	process->count = 0;
	process->uid = uid_of(process->pid);
	process->read_ns = clock_monotonic_ns();
	folder = opendir(path);
	while (folder && links < LINKS_MAX && links < peers->links_left &&
	       (entry = readdir(folder))) {
		struct held held = { .fd = atoi(entry->d_name) };

		if (entry->d_name[0] == '.')
			continue;
		links++;
		if (!wait_end_read(dirfd(folder), entry->d_name, &held.end))
			continue;
		if (grow_array(process->held, process->room,
			       process->count + 1))
			break;
		process->held[process->count++] = held;
	}
	if (folder)
		closedir(folder);
	/* Opening the folder takes the time of ten links. */
	peers->links_left -= links + 10;
}

/* --- processes ----------------------------------------------------------- */

static struct peer_process *find_peer_process(struct peer_process *process,
					      size_t count, pid_t pid)
{
	for (size_t i = 0; i < count; i++)
		if (process[i].pid == pid)
			return &process[i];
	return NULL;
}

/* Keeps the processes that are still recorded, and adds new ones; the best for
 * @pid come first. */
static void list_peer_processes(struct wait_peers *peers, pid_t pid)
{
	struct peer_process old[WAIT_PEERS_PROCESSES], *known;
	pid_t ids[WAIT_PEERS_PROCESSES];
	size_t were = peers->count;
	size_t count = peers->processes.list(peers->processes.context, pid, ids,
					     ARRAY_SIZE(ids));

	memcpy(old, peers->process, were * sizeof(*old));
	peers->count = 0;
	for (size_t i = 0; i < count; i++) {
		if (find_peer_process(peers->process, peers->count, ids[i]))
			continue;
		known = find_peer_process(old, were, ids[i]);
		peers->process[peers->count++] =
			known ? *known : (struct peer_process){ .pid = ids[i] };
		if (known)
			*known = (struct peer_process){ 0 };
	}
	for (size_t i = 0; i < were; i++)
		free(old[i].held);
}

static void read_again(struct wait_peers *peers, pid_t pid)
{
	uint64_t now = clock_monotonic_ns();
	uint64_t past = MIN(now - peers->filled_ns, (uint64_t)NS_PER_S);

	peers->links_left += (int64_t)(past * LINKS_A_SECOND / NS_PER_S);
	peers->links_left = MIN(peers->links_left, (int64_t)LINKS_A_SECOND);
	peers->filled_ns = now;
	if (peers->links_left <= 0)
		return;
	list_peer_processes(peers, pid);
	for (size_t i = 0; i < peers->count && peers->links_left > 0; i++) {
		struct peer_process *process = &peers->process[i];

		if (!process->read_ns || now - process->read_ns >= FRESH_NS)
			read_links(peers, process);
	}
}

/* --- holders ------------------------------------------------------------- */

static bool is_end(const struct wait_end *one, const struct wait_end *other)
{
	return one->kind == other->kind && one->inode == other->inode;
}

static bool is_peer_held(const struct known_peer *known)
{
	char path[48];
	struct wait_end end;

	snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int)known->holder,
		 known->fd);
	return wait_end_read(AT_FDCWD, path, &end) && is_end(&end, &known->end);
}

/* Sets the holder of @known: the process with the lowest id, except the
 * searching process. */
static void choose_holder(const struct wait_peers *peers,
			  struct known_peer *known)
{
	uid_t uid = uid_of(known->pid);
	size_t at;

	known->found = known->others = false;
	for (size_t i = 0; i < peers->count; i++) {
		const struct peer_process *process = &peers->process[i];
		bool first = !known->found || known->holder == known->pid;

		if (process->uid != uid ||
		    (process->pid == known->pid &&
		     (known->end.kind != WAIT_END_SOCKET || !first)))
			continue;
		for (at = 0; at < process->count; at++)
			if (is_end(&process->held[at].end, &known->end))
				break;
		if (at == process->count)
			continue;
		known->others |= !first;
		known->found = true;
		if (!first && process->pid > known->holder)
			continue;
		known->holder = process->pid;
		known->fd = process->held[at].fd;
	}
}

static void look_for(struct wait_peers *peers, struct known_peer *known)
{
	/* Keeps the text of an object stable. */
	if (known->found && is_peer_held(known))
		return;
	choose_holder(peers, known);
	if (known->found && is_peer_held(known))
		return;
	read_again(peers, known->pid);
	choose_holder(peers, known);
}

static void name_holder(struct known_peer *known)
{
	char name[17];

	known->found = known->found &&
		       proc_read(known->holder, "comm", name, sizeof(name));
	if (!known->found)
		return;
	name[strcspn(name, "\n")] = '\0';
	snprintf(known->text, sizeof(known->text), "%s %d%s", name,
		 (int)known->holder, known->others ? " and others" : "");
}

bool wait_peers_find(struct wait_peers *peers, pid_t pid,
		     const struct wait_end *end, char out[WAIT_PEER_BYTES])
{
	struct known_peer *known =
		&peers->known[(end->inode + (unsigned int)end->kind) % KNOWN];
	uint64_t now = clock_monotonic_ns();

	if (known->pid != pid || !is_end(&known->end, end))
		*known = (struct known_peer){ .end = *end, .pid = pid };
	if (now >= known->until_ns) {
		look_for(peers, known);
		name_holder(known);
		known->keep_ns =
			known->found || !known->keep_ns
				? KEEP_NS
				: MIN(2 * known->keep_ns, KEEP_MOST_NS);
		known->until_ns = now + known->keep_ns;
	}
	if (known->found)
		memcpy(out, known->text, WAIT_PEER_BYTES);
	return known->found;
}

size_t wait_peers_list(const struct wait_peers *peers, pid_t pid,
		       const struct wait_end *end, struct wait_holder *out,
		       size_t room)
{
	uid_t uid = uid_of(pid);
	size_t count = 0;

	for (size_t i = 0; i < peers->count; i++) {
		const struct peer_process *process = &peers->process[i];

		for (size_t at = 0; process->uid == uid && at < process->count;
		     at++)
			if (count < room && is_end(&process->held[at].end, end))
				out[count++] = (struct wait_holder){
					process->pid, process->held[at].fd
				};
	}
	return count;
}
