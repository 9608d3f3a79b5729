/* SPDX-License-Identifier: Apache-2.0
 *
 * fuse_file FILE FOLDER - mounts a file system at FOLDER that has one file, a
 * copy of FILE that is called "file". A thread that is called perfrec-states or
 * perfrec-reader, and opens or reads it, waits until this process ends. Prints
 * "mounted" or "denied", and "held NAME" for each thread that waits.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#define FILE_NODE 2
#define LONG_S 100000 /* how long attributes and names are kept */
#define READ_MAX 131072

static int g_fuse, g_file;
static off_t g_bytes;

static void answer(const struct fuse_in_header *in, int error, const void *data,
		   size_t bytes)
{
	struct fuse_out_header out = {
		.len = (uint32_t)(sizeof(out) + bytes),
		.error = -error,
		.unique = in->unique,
	};
	struct iovec parts[] = { { &out, sizeof(out) },
				 { (void *)data, bytes } };

	(void)!writev(g_fuse, parts, 2);
}

static struct fuse_attr attributes(uint64_t node)
{
	return (struct fuse_attr){
		.ino = node,
		.size = node == FILE_NODE ? (uint64_t)g_bytes : 0,
		.mode = node == FILE_NODE ? S_IFREG | 0755 : S_IFDIR | 0755,
		.nlink = 1,
		.blksize = 4096,
	};
}

static void look_up(const struct fuse_in_header *in, const char *name)
{
	struct fuse_entry_out entry = {
		.nodeid = FILE_NODE,
		.entry_valid = LONG_S,
		.attr_valid = LONG_S,
		.attr = attributes(FILE_NODE),
	};

	if (strcmp(name, "file") != 0)
		answer(in, ENOENT, NULL, 0);
	else
		answer(in, 0, &entry, sizeof(entry));
}

static void read_file(const struct fuse_in_header *in,
		      const struct fuse_read_in *wanted)
{
	static char data[READ_MAX];
	ssize_t got = pread(g_file, data,
			    wanted->size < READ_MAX ? wanted->size : READ_MAX,
			    (off_t)wanted->offset);

	answer(in, got < 0 ? EIO : 0, data, got < 0 ? 0 : (size_t)got);
}

static int is_victim(const struct fuse_in_header *in)
{
	char path[64], name[32] = "";
	int fd;

	if (in->opcode != FUSE_OPEN && in->opcode != FUSE_READ)
		return 0;
	snprintf(path, sizeof(path), "/proc/%u/comm", in->pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	(void)!read(fd, name, sizeof(name) - 1);
	close(fd);
	if (strncmp(name, "perfrec-states", 14) != 0 &&
	    strncmp(name, "perfrec-reader", 14) != 0)
		return 0;
	printf("held %s", name); /* the kernel ends the name with a new line */
	fflush(stdout);
	return 1;
}

static void serve(const struct fuse_in_header *in, const void *rest)
{
	struct fuse_init_out init = {
		.major = FUSE_KERNEL_VERSION,
		.minor = FUSE_KERNEL_MINOR_VERSION,
		.max_readahead = READ_MAX,
		.max_write = READ_MAX,
		.max_pages = READ_MAX / 4096,
	};
	struct fuse_attr_out attr = { .attr_valid = LONG_S,
				      .attr = attributes(in->nodeid) };
	/* So that nothing is kept which was read once. */
	struct fuse_open_out open_out = {
		.open_flags = FOPEN_DIRECT_IO | FOPEN_NOFLUSH,
	};

	if (is_victim(in))
		return;
	switch (in->opcode) {
	case FUSE_INIT:
		answer(in, 0, &init, sizeof(init));
		break;
	case FUSE_LOOKUP:
		look_up(in, rest);
		break;
	case FUSE_GETATTR:
		answer(in, 0, &attr, sizeof(attr));
		break;
	case FUSE_OPEN:
		answer(in, 0, &open_out, sizeof(open_out));
		break;
	case FUSE_READ:
		read_file(in, rest);
		break;
	case FUSE_RELEASE:
		answer(in, 0, NULL, 0);
		break;
	case FUSE_FORGET:
	case FUSE_BATCH_FORGET:
	case FUSE_INTERRUPT:
		break;
	default: /* of FLUSH the kernel then asks no more */
		answer(in, ENOSYS, NULL, 0);
	}
}

int main(int argc, char **argv)
{
	static char request[READ_MAX + 4096];
	char options[128];
	struct stat status;

	g_fuse = open("/dev/fuse", O_RDWR | O_CLOEXEC);
	snprintf(options, sizeof(options),
		 "fd=%d,rootmode=40000,user_id=%d,group_id=%d", g_fuse,
		 (int)getuid(), (int)getgid());
	if (argc < 3 || g_fuse < 0 ||
	    mount("fuse_file", argv[2], "fuse", MS_NOSUID | MS_NODEV,
		  options)) {
		puts("denied");
		return 0;
	}
	g_file = open(argv[1], O_RDONLY | O_CLOEXEC);
	if (fstat(g_file, &status))
		return 1;
	g_bytes = status.st_size;
	puts("mounted");
	fflush(stdout);
	for (;;) {
		ssize_t got = read(g_fuse, request, sizeof(request));

		if (got >= (ssize_t)sizeof(struct fuse_in_header))
			serve((const struct fuse_in_header *)request,
			      request + sizeof(struct fuse_in_header));
		else if (got < 0 && errno != EINTR && errno != ENOENT)
			return 0;
	}
}
