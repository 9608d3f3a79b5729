/* SPDX-License-Identifier: Apache-2.0
 *
 * wait_object - the source of the text depends on the kind of wait:
 *
 *	futex		wait_futex.c has its kind, wait_places.c its place; a
 *			join has the id of the thread
 *	descriptor	the target of the link /proc/PID/fd/N; an eventfd or
 *			an epoll has no name except its descriptor
 *	poll, select	the descriptors of a set of two or three; or their
 *			kinds, because a set of many changes often
 */
#include "collector/samples/wait_object.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/futex.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collector/base/proc.h"
#include "collector/samples/wait_futex.h"
#include "collector/samples/wait_memory.h"
#include "collector/samples/wait_peers.h"
#include "collector/samples/wait_places.h"
#include "collector/samples/wait_sockets.h"
#include "shared/compiler.h"
#include "shared/record_ext.h"

#define ARENA_PLACE "memfd:perfrec+" /* preload/start/hello.c */
/* Offset of the tid in glibc's struct pthread, which begins with a pointer to
 * itself. */
#define PTHREAD_TID 0x2d0u
#define TARGET_BYTES 4096
#define SELECT_BYTES (1024 / 8) /* bytes read of a set */
#define SET_MAX 16u /* members read of a set */
#define NAMED_MAX 3u /* a set up to this size lists its members */

struct wait_objects {
	struct wait_places *places;
	struct wait_sockets *sockets;
	struct wait_peers *peers;
};

int wait_objects_new(const struct wait_processes *processes,
		     struct wait_objects **out)
{
	struct wait_objects *objects = calloc(1, sizeof(*objects));
	int err = objects ? wait_places_new(&objects->places) : -ENOMEM;

	if (!err)
		err = wait_peers_new(processes, &objects->peers);
	if (!err)
		err = wait_sockets_new(objects->peers, &objects->sockets);
	if (err)
		wait_objects_free(&objects);
	*out = objects;
	return err;
}

void wait_objects_free(struct wait_objects **objects)
{
	struct wait_objects *old = *objects;

	*objects = NULL;
	if (!old)
		return;
	wait_places_free(&old->places);
	wait_sockets_free(&old->sockets);
	wait_peers_free(&old->peers);
	free(old);
}

/* --- futexes ------------------------------------------------------------- */

/* Returns true if @id is a thread of the process, or looks like one: in another
 * pid namespace the thread has another id. */
static bool is_task(const struct wait_thread *thread, uint64_t address,
		    uint32_t id)
{
	uint64_t begin = address - PTHREAD_TID, self = 0;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/task/%u", (int)thread->pid, id);
	if (!access(path, F_OK))
		return true;
#if defined(__x86_64__)
	wait_memory_read(thread->pid, begin, &self, sizeof(self));
#endif
	return self && self == begin;
}

#if defined(__x86_64__)
/* Returns true if @pc is in syscall() of glibc, which has just moved all its
 * arguments. */
static bool is_raw_call(pid_t pid, uint64_t pc)
{
	static const uint8_t code[] = {
		0x48, 0x89, 0xf8, 0x48, 0x89, 0xf7, 0x48, 0x89, 0xd6,
		0x48, 0x89, 0xca, 0x4d, 0x89, 0xc2, 0x4d, 0x89, 0xc8,
		0x4c, 0x8b, 0x4c, 0x24, 0x08, 0x0f, 0x05,
	};
	uint8_t found[sizeof(code)];

	return wait_memory_read(pid, pc - sizeof(code), found, sizeof(found)) ==
		       sizeof(found) &&
	       !memcmp(found, code, sizeof(code));
}
#else
static bool is_raw_call(pid_t pid, uint64_t pc)
{
	/* mov x8, x0 ... mov x5, x6; mov x6, x7; svc 0 */
	static const uint32_t code[] = { 0xaa0503e4, 0xaa0603e5, 0xaa0703e6,
					 0xd4000001 };
	uint32_t found[4];

	return wait_memory_read(pid, pc - sizeof(code), found, sizeof(found)) ==
		       sizeof(found) &&
	       !memcmp(found, code, sizeof(code));
}
#endif

/* Returns the owner of the code at the pc of @call. Uses no symbol tables: the
 * kind of a futex must not depend on tables being read. */
static enum wait_futex_code code_of(struct wait_objects *objects,
				    const struct wait_thread *thread,
				    const struct wait_call *call)
{
	static const char *const libraries[] = { "libc.so", "libc-2.",
						 "libpthread" };
	char place[WAIT_PLACE_BYTES];

	if (is_raw_call(thread->pid, call->pc))
		return WAIT_CODE_RAW;
	wait_places_name(objects->places, thread->pid, call->pc, place);
	for (size_t i = 0; i < ARRAY_SIZE(libraries); i++)
		if (!strncmp(place, libraries[i], strlen(libraries[i])))
			return WAIT_CODE_LIBRARY;
	return WAIT_CODE_UNKNOWN;
}

/* Names a futex of @kind at @place. A futex in the arena is perfrec's own: the
 * thread waits for room in its ring. */
static void name_futex_at(const char *place, const char *kind,
			  char text[WAIT_TEXT_BYTES])
{
	if (strncmp(place, ARENA_PLACE, strlen(ARENA_PLACE)) == 0)
		wait_text_object(text, "perfrec", "");
	else
		wait_text_object(text, kind, place);
}

static void name_futex(struct wait_objects *objects,
		       const struct wait_thread *thread,
		       const struct wait_call *call, char text[WAIT_TEXT_BYTES])
{
	struct wait_futex futex = {
		.address = call->arg[0],
		.op = (uint32_t)call->arg[1],
		.value = (uint32_t)call->arg[2],
		.code = code_of(objects, thread, call),
	};
	char place[WAIT_PLACE_BYTES];
	enum wait_futex_kind kind;
	uint64_t object;
	uint8_t *behind = futex.around + WAIT_FUTEX_BEFORE;
	size_t got =
		wait_memory_read(thread->pid, futex.address - WAIT_FUTEX_BEFORE,
				 futex.around, sizeof(futex.around));

	futex.has_before = got >= WAIT_FUTEX_BEFORE;
	/* The futex may be at the start of a mapping. */
	if (!futex.has_before)
		got = WAIT_FUTEX_BEFORE +
		      wait_memory_read(thread->pid, futex.address, behind,
				       WAIT_FUTEX_BEHIND);
	futex.has_behind = got >= sizeof(futex.around);
	if (!(futex.op & FUTEX_PRIVATE_FLAG) && futex.value)
		futex.is_task = is_task(thread, futex.address, futex.value);
	kind = wait_futex_tell(&futex, &object);
	if (kind == WAIT_FUTEX_JOIN) {
		wait_text_format(text, "join", "thread %" PRIu32, futex.value);
		return;
	}
	wait_places_name(objects->places, thread->pid, object, place);
	name_futex_at(place, wait_futex_name(kind), text);
}

static void name_futexes(struct wait_objects *objects,
			 const struct wait_thread *thread,
			 const struct wait_call *call,
			 char text[WAIT_TEXT_BYTES])
{
	struct {
		uint64_t value, address;
		uint32_t flags, pad;
	} first;
	char place[WAIT_PLACE_BYTES] = "";

	if (wait_memory_read(thread->pid, call->arg[0], &first,
			     sizeof(first)) == sizeof(first))
		wait_places_name(objects->places, thread->pid, first.address,
				 place);
	name_futex_at(place, "futex", text);
}

/* --- descriptors --------------------------------------------------------- */

void wait_object_target(const char *target, int fd, char text[WAIT_TEXT_BYTES])
{
	static const char anonymous[] = "anon_inode:";
	uint64_t inode;
	char kind[24];

	if (sscanf(target, "pipe:[%" SCNu64, &inode) == 1) {
		wait_text_format(text, "pipe", "%" PRIu64, inode);
	} else if (!strncmp(target, anonymous, sizeof(anonymous) - 1)) {
		/* "anon_inode:[eventfd]" is "[eventfd 5]". */
		target += sizeof(anonymous) - 1;
		snprintf(kind, sizeof(kind), "%s", target + (target[0] == '['));
		kind[strcspn(kind, "]")] = '\0';
		wait_text_format(text,
				 strcmp(kind, "eventpoll") ? kind : "epoll",
				 "%d", fd);
	} else {
		wait_text_object(text, "file", target);
	}
}

static bool read_descriptor_link(const struct wait_thread *thread, int fd,
				 char target[TARGET_BYTES])
{
	char path[64];
	ssize_t length;

	snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int)thread->pid, fd);
	length = readlink(path, target, TARGET_BYTES - 1);
	target[MAX(length, 0)] = '\0';
	return length > 0;
}

/* Names @fd of @thread; @with_peer: also the holder of a pipe's other end. */
static void name_link(struct wait_objects *objects,
		      const struct wait_thread *thread, int fd, bool with_peer,
		      char text[WAIT_TEXT_BYTES])
{
	char target[TARGET_BYTES], path[64], holder[WAIT_PEER_BYTES];
	struct wait_end end;
	uint64_t inode;

	/* Another thread may have closed it. */
	if (!read_descriptor_link(thread, fd, target)) {
		wait_text_format(text, "descriptor", "%d", fd);
		return;
	}
	if (sscanf(target, "socket:[%" SCNu64, &inode) == 1)
		wait_sockets_name(objects->sockets, thread->pid, inode, text);
	else
		wait_object_target(target, fd, text);
	if (!with_peer || strncmp(target, "pipe:", 5) != 0)
		return;
	snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int)thread->pid, fd);
	if (!wait_end_read(AT_FDCWD, path, &end) || end.kind == WAIT_END_SOCKET)
		return;
	end.kind = end.kind == WAIT_END_READ ? WAIT_END_WRITE : WAIT_END_READ;
	if (wait_peers_find(objects->peers, thread->pid, &end, holder))
		wait_text_add(text, end.kind == WAIT_END_READ ? "to" : "from",
			      holder);
}

static void name_descriptor(struct wait_objects *objects,
			    const struct wait_thread *thread, int fd,
			    char text[WAIT_TEXT_BYTES])
{
	name_link(objects, thread, fd, true, text);
}

/* The first members of a polled set. */
struct poll_set {
	uint64_t count; /* all members */
	size_t known; /* entries of fd */
	int fd[SET_MAX];
};

static void append_text_to_list(char *list, size_t size, const char *more)
{
	size_t used = strlen(list);

	snprintf(list + used, size - used, "%s%s", used ? ", " : "", more);
}

static void list_kinds(const struct wait_thread *thread,
		       const struct poll_set *set, char *list, size_t size)
{
	static const struct {
		const char *target, *name;
	} kinds[] = {
		{ "socket:", "sockets" },
		{ "pipe:", "pipes" },
		{ "anon_inode:[eventfd]", "eventfds" },
		{ "anon_inode:[timerfd]", "timerfds" },
		{ "anon_inode:[signalfd]", "signalfds" },
		{ "anon_inode:inotify", "inotify" },
		{ "anon_inode:[eventpoll]", "epolls" },
		{ "/", "files" },
		{ "", "others" },
	};
	bool has[ARRAY_SIZE(kinds)] = { false };
	char target[TARGET_BYTES];
	size_t kind;

	for (size_t i = 0; i < set->known; i++) {
		if (!read_descriptor_link(thread, set->fd[i], target))
			continue;
		for (kind = 0; strncmp(target, kinds[kind].target,
				       strlen(kinds[kind].target)) != 0;)
			kind++;
		has[kind] = true;
	}
	for (kind = 0; kind < ARRAY_SIZE(kinds); kind++)
		if (has[kind])
			append_text_to_list(list, size, kinds[kind].name);
}

static void name_set(struct wait_objects *objects,
		     const struct wait_thread *thread,
		     const struct poll_set *set, char text[WAIT_TEXT_BYTES])
{
	char list[2 * WAIT_TEXT_BYTES] = "";

	if (!set->count) {
		wait_text_object(text, "sleep", "");
		return;
	}
	if (set->count == 1 && set->known && set->fd[0] >= 0) {
		name_descriptor(objects, thread, set->fd[0], text);
		return;
	}
	if (set->count <= NAMED_MAX)
		for (size_t i = 0; i < set->known; i++) {
			char member[WAIT_TEXT_BYTES];

			name_link(objects, thread, set->fd[i], false, member);
			member[strlen(member) - 1] = '\0';
			append_text_to_list(list, sizeof(list), member + 1);
		}
	else
		list_kinds(thread, set, list, sizeof(list));
	if (list[0])
		wait_text_object(text, "poll of", list);
	else
		wait_text_format(text, "poll of", "%" PRIu64 " descriptor%s",
				 set->count, set->count == 1 ? "" : "s");
}

/* Reads the set of poll(). @events: only members that wait for one of them;
 * 0: all. */
static struct poll_set read_poll_set(const struct wait_thread *thread,
				     const struct wait_call *call, short events)
{
	struct poll_set set = { .count = (uint32_t)call->arg[1] };
	struct pollfd member[SET_MAX];
	size_t want = MIN(set.count, (uint64_t)SET_MAX) * sizeof(*member);
	size_t got =
		want ? wait_memory_read(thread->pid, call->arg[0], member, want)
		     : 0;

	/* poll() ignores negative descriptors. */
	for (size_t i = 0; i < got / sizeof(*member); i++)
		if (member[i].fd >= 0 && (!events || member[i].events & events))
			set.fd[set.known++] = member[i].fd;
		else
			set.count--;
	return set;
}

/* Reads the first @kinds of the three sets of select(). */
static struct poll_set read_select_set(const struct wait_thread *thread,
				       const struct wait_call *call,
				       size_t kinds)
{
	uint8_t bits[SELECT_BYTES] = { 0 }, one[SELECT_BYTES];
	size_t bytes = ((uint32_t)call->arg[0] + 63) / 64 * 8;
	struct poll_set set = { 0 };

	bytes = MIN(bytes, (size_t)SELECT_BYTES);
	for (size_t i = 1; i <= kinds; i++) {
		size_t got = call->arg[i] ? wait_memory_read(thread->pid,
							     call->arg[i], one,
							     bytes)
					  : 0;

		for (size_t byte = 0; byte < got; byte++)
			bits[byte] |= one[byte];
	}
	for (size_t i = 0; i < 8 * bytes && i < (uint32_t)call->arg[0]; i++)
		if (bits[i / 8] >> i % 8 & 1) {
			set.count++;
			if (set.known < SET_MAX)
				set.fd[set.known++] = (int)i;
		}
	return set;
}

/* --- files with another end ---------------------------------------------- */

static void add_waker_file(struct wait_objects *objects,
			   const struct wait_thread *thread, int fd,
			   struct wait_wakers *out)
{
	char target[TARGET_BYTES], path[64], holder[WAIT_PEER_BYTES];
	struct wait_end end;
	uint64_t file = 0;

	snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int)thread->pid, fd);
	if (wait_end_read(AT_FDCWD, path, &end)) {
		if (end.kind == WAIT_END_SOCKET)
			end.inode =
				wait_sockets_peer(objects->sockets, end.inode);
		else
			end.kind = WAIT_END_WRITE;
		file = end.inode;
		if (!file)
			return;
		wait_peers_find(objects->peers, thread->pid, &end, holder);
		out->holders += (uint32_t)wait_peers_list(
			objects->peers, thread->pid, &end,
			out->holder + out->holders,
			WAIT_HOLDERS_MAX - out->holders);
	} else if (read_descriptor_link(thread, fd, target) &&
		   !strcmp(target, "anon_inode:[eventfd]")) {
		file = wakes_file(thread->pid, SYNC_NUMBERED | (uint32_t)fd);
		if (out->holders < WAIT_HOLDERS_MAX)
			out->holder[out->holders++] =
				(struct wait_holder){ thread->pid, fd };
	}
	if (file && out->files < WAKES_FILES_MAX)
		out->file[out->files++] = file;
}

void wait_object_wakers(struct wait_objects *objects,
			const struct wait_thread *thread,
			const struct wait_call *call, struct wait_wakers *out)
{
	const struct wait_call_kind *kind =
		call->in_call ? wait_call_kind(call->number) : NULL;
	struct poll_set set = { 0 };

	out->files = out->holders = 0;
	if (!kind || !wait_call_reads(call->number))
		return;
	if (kind->kind == WAIT_POLL)
		set = read_poll_set(thread, call, POLLIN | POLLRDNORM);
	else if (kind->kind == WAIT_SELECT)
		set = read_select_set(thread, call, 1);
	else
		set.fd[set.known++] = (int)call->arg[kind->descriptor];
	for (size_t i = 0; i < set.known; i++)
		add_waker_file(objects, thread, set.fd[i], out);
}

/* --- all kinds of waits -------------------------------------------------- */

/* Names the hold of @thread: a signal or a debugger has stopped it, or its
 * cgroup is frozen. It then sleeps in one of @functions of the kernel
 * (compilers may inline others into get_signal()). @call may be the interrupted
 * system call. Returns false if nothing holds the thread. */
static bool name_hold(const struct wait_thread *thread,
		      const struct wait_call *call, char text[WAIT_TEXT_BYTES])
{
	static const char *const functions[] = {
		"__refrigerator", "do_freezer_trap", "get_signal",
		"do_signal_stop", "ptrace_stop",
	};
	char path[48], function[64], stat[PROC_STAT_BYTES];
	bool is_held = false, is_stopped;

	snprintf(path, sizeof(path), "task/%d/wchan", (int)thread->tid);
	proc_read(thread->pid, path, function, sizeof(function));
	for (size_t i = 0; i < ARRAY_SIZE(functions); i++)
		is_held |= !strcmp(function, functions[i]);
	/* A kernel without symbols names no function. */
	if (call->in_call && !is_held)
		return false;
	snprintf(path, sizeof(path), "task/%d/stat", (int)thread->tid);
	proc_read(thread->pid, path, stat, sizeof(stat));
	is_stopped = strspn(proc_stat_field(stat, 3), "Tt") > 0;
	if (is_held || is_stopped)
		wait_text_object(text, is_stopped ? "stopped" : "frozen", "");
	return is_held || is_stopped;
}

void wait_object_name(struct wait_objects *objects,
		      const struct wait_thread *thread,
		      const struct wait_call *call, char text[WAIT_TEXT_BYTES])
{
	const struct wait_call_kind *kind =
		call->in_call ? wait_call_kind(call->number) : NULL;
	struct poll_set set;

	if (name_hold(thread, call, text))
		return;
	if (!call->in_call) {
		wait_text_object(text, "page fault", "");
		return;
	}
	switch (kind ? kind->kind : WAIT_OTHER) {
	case WAIT_FUTEX:
		name_futex(objects, thread, call, text);
		break;
	case WAIT_FUTEXES:
		name_futexes(objects, thread, call, text);
		break;
	case WAIT_DESCRIPTOR:
		name_descriptor(objects, thread,
				(int)call->arg[kind->descriptor], text);
		break;
	case WAIT_POLL:
		set = read_poll_set(thread, call, 0);
		name_set(objects, thread, &set, text);
		break;
	case WAIT_SELECT:
		set = read_select_set(thread, call, 3);
		name_set(objects, thread, &set, text);
		break;
	case WAIT_SLEEP:
		wait_text_object(text, "sleep", "");
		break;
	case WAIT_CHILD:
		wait_text_object(text, "child processes", "");
		break;
	case WAIT_SIGNAL:
		wait_text_object(text, "signal", "");
		break;
	default:
		if (kind)
			wait_text_format(text, "system call", "%s", kind->name);
		else
			wait_text_format(text, "system call", "%ld",
					 call->number);
	}
}
