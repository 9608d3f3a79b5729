/* SPDX-License-Identifier: Apache-2.0
 *
 * hang_fs SOURCE MOUNT - a file system (FUSE) that shows the files of folder
 * SOURCE in folder MOUNT, and never answers a process whose name starts with
 * "perfrec-": any open, stat or read of the collector hangs while this program
 * runs, and cannot be killed. The kernel caches nothing, so each process asks.
 * Prints "ready". Ends with a signal or with its parent, and then unmounts.
 *
 * Status 77: this machine does not permit it to mount.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#define REQUEST_BYTES (1u << 20)
#define READ_BYTES (128u << 10)
#define FILES_MAX 256
#define CANNOT_MOUNT 77

static int g_source, g_fuse;
static const char *g_mount;
static char g_name[FILES_MAX][256]; /* node i + 2 is g_name[i] */
static size_t g_names;

static volatile sig_atomic_t g_end;

static void end(int signal)
{
	(void)signal;
	g_end = 1;
}

static void reply(const struct fuse_in_header *in, int err, const void *body,
		  size_t bytes)
{
	struct fuse_out_header out = { .len = (uint32_t)(sizeof(out) + bytes),
				       .error = err,
				       .unique = in->unique };
	const struct iovec parts[] = { { &out, sizeof(out) },
				       { (void *)body, bytes } };

	(void)!writev(g_fuse, parts, bytes ? 2 : 1);
}

/* Whether a process of perfrec's asks: any of its threads. */
static bool is_hung(uint32_t tid)
{
	char path[64], name[16] = "";
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%u/comm", tid);
	file = tid ? fopen(path, "re") : NULL;
	if (!file)
		return false;
	(void)!fgets(name, sizeof(name), file);
	fclose(file);
	return !strncmp(name, "perfrec-", 8);
}

/* The file of @node; NULL: it is the folder. */
static const char *name_of(uint64_t node)
{
	return node == FUSE_ROOT_ID ? NULL : g_name[node - 2];
}

static int fill(uint64_t node, struct fuse_attr *out)
{
	const char *name = name_of(node);
	struct stat status;

	if (fstatat(g_source, name ? name : ".", &status, 0))
		return -errno;
	*out = (struct fuse_attr){
		.ino = node,
		.size = (uint64_t)status.st_size,
		.blocks = (uint64_t)status.st_blocks,
		.mtime = (uint64_t)status.st_mtime,
		.mode = status.st_mode,
		.nlink = 1,
		.blksize = 4096,
	};
	return 0;
}

static void look_up(const struct fuse_in_header *in, const char *name)
{
	struct fuse_entry_out out = { 0 };
	size_t i;
	int err;

	for (i = 0; i < g_names; i++)
		if (!strcmp(g_name[i], name))
			break;
	if (i == FILES_MAX || strlen(name) >= sizeof(g_name[i])) {
		reply(in, -ENOENT, NULL, 0);
		return;
	}
	strcpy(g_name[i], name);
	out.nodeid = i + 2;
	err = fill(out.nodeid, &out.attr);
	g_names += !err && i == g_names;
	reply(in, err, &out, err ? 0 : sizeof(out));
}

static void get_attributes(const struct fuse_in_header *in)
{
	struct fuse_attr_out out = { 0 };
	int err = fill(in->nodeid, &out.attr);

	reply(in, err, &out, err ? 0 : sizeof(out));
}

static void open_file(const struct fuse_in_header *in)
{
	const char *name = name_of(in->nodeid);
	struct fuse_open_out out = { .open_flags = FOPEN_KEEP_CACHE };
	int fd = openat(g_source, name ? name : ".", O_RDONLY | O_CLOEXEC);

	out.fh = (uint64_t)fd;
	reply(in, fd < 0 ? -errno : 0, &out, fd < 0 ? 0 : sizeof(out));
}

static void read_file(const struct fuse_in_header *in,
		      const struct fuse_read_in *what)
{
	static char bytes[READ_BYTES];
	size_t most = what->size < READ_BYTES ? what->size : READ_BYTES;
	ssize_t got = pread((int)what->fh, bytes, most, (off_t)what->offset);

	reply(in, got < 0 ? -errno : 0, bytes, got < 0 ? 0 : (size_t)got);
}

static void greet(const struct fuse_in_header *in,
		  const struct fuse_init_in *what)
{
	const struct fuse_init_out out = {
		.major = FUSE_KERNEL_VERSION,
		.minor = FUSE_KERNEL_MINOR_VERSION,
		.max_readahead = what->max_readahead,
		.max_write = READ_BYTES,
	};

	reply(in, 0, &out, sizeof(out));
}

static void answer(const struct fuse_in_header *in, const void *body)
{
	switch (in->opcode) {
	case FUSE_FORGET:
	case FUSE_BATCH_FORGET:
	case FUSE_INTERRUPT:
		return;
	case FUSE_INIT:
		greet(in, body);
		return;
	case FUSE_LOOKUP:
		look_up(in, body);
		return;
	case FUSE_GETATTR:
		get_attributes(in);
		return;
	case FUSE_OPEN:
	case FUSE_OPENDIR:
		open_file(in);
		return;
	case FUSE_READ:
		read_file(in, body);
		return;
	case FUSE_RELEASE:
	case FUSE_RELEASEDIR:
		close((int)((const struct fuse_release_in *)body)->fh);
		reply(in, 0, NULL, 0);
		return;
	case FUSE_FLUSH:
		reply(in, 0, NULL, 0);
		return;
	default:
		reply(in, -ENOSYS, NULL, 0);
	}
}

static bool mount_at(const char *path)
{
	char options[128];

	g_mount = path;
	g_fuse = open("/dev/fuse", O_RDWR | O_CLOEXEC);
	snprintf(options, sizeof(options),
		 "fd=%d,rootmode=40000,user_id=%d,group_id=%d,allow_other",
		 g_fuse, (int)geteuid(), (int)getegid());
	return g_fuse >= 0 &&
	       !mount("hang_fs", path, "fuse", MS_NOSUID | MS_NODEV, options);
}

/* From now on they come while wait_for_request() waits only. */
static void catch_ends(sigset_t *usual)
{
	sigset_t ends;

	sigemptyset(&ends);
	sigaddset(&ends, SIGTERM);
	sigaddset(&ends, SIGINT);
	sigprocmask(SIG_BLOCK, &ends, usual);
	signal(SIGTERM, end);
	signal(SIGINT, end);
}

/* False: a signal came. */
static bool wait_for_request(const sigset_t *usual)
{
	struct pollfd poll_fd = { .fd = g_fuse, .events = POLLIN };

	return ppoll(&poll_fd, 1, NULL, usual) > 0;
}

int main(int argc, char **argv)
{
	sigset_t usual;
	static union {
		struct fuse_in_header in;
		char bytes[REQUEST_BYTES];
	} request;

	if (argc != 3)
		return 2;
	g_source = open(argv[1], O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (g_source < 0 || !mount_at(argv[2])) {
		perror("hang_fs");
		return CANNOT_MOUNT;
	}
	catch_ends(&usual);
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	puts("ready");
	fflush(stdout);
	while (!g_end && wait_for_request(&usual)) {
		ssize_t got = read(g_fuse, &request, sizeof(request));

		if (got < 0 && errno == ENODEV)
			return 0;
		if (got >= (ssize_t)sizeof(request.in) &&
		    !is_hung(request.in.pid))
			answer(&request.in, &request.in + 1);
	}
	umount2(g_mount, MNT_DETACH);
	return 0;
}
