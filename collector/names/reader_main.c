/* SPDX-License-Identifier: Apache-2.0
 *
 * perfrec-reader - reads ELF files for perfrec-collect (reader.h), which passes
 * open descriptors (reader_wire.h).
 *
 * Files of programs are hostile: reads may block, tables may take hours, and
 * libelf may have bugs. Here that costs only the names of one file. A filter of
 * system calls prevents opening files, starting programs and using the network.
 */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <zlib.h>

#include "collector/names/elf_assembly.h"
#include "collector/names/elf_bounds.h"
#include "collector/names/elf_read.h"
#include "collector/names/fd_message.h"
#include "collector/names/lower_limit.h"
#include "collector/names/mini_debug.h"
#include "collector/names/opener_serve.h"
#include "collector/names/opener_wire.h"
#include "collector/names/reader_wire.h"
#include "shared/compiler.h"

#define CPU_SECONDS 60
/* For the largest tables (elf_read.c), in libelf and here. */
#define MEMORY_BYTES (2ull << 30)
/* For the output of mini_debug.c. */
#define FILE_BYTES (256u << 20)
/* Larger files get no checksum. */
#define CHECKSUM_BYTES_MAX (1ll << 30)
#define NOBODY 65534

#define SOCKET STDOUT_FILENO

/* --- confinement ---------------------------------------------------------- */

static void set_reader_limits(void)
{
	lower_limit(RLIMIT_CPU, CPU_SECONDS);
	lower_limit(RLIMIT_CORE, 0);
	lower_limit(RLIMIT_FSIZE, FILE_BYTES);
/* Sanitizers need terabytes of addresses. */
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
	lower_limit(RLIMIT_AS, MEMORY_BYTES);
#endif
}

#if defined(__x86_64__)
#define OWN_ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define OWN_ARCH AUDIT_ARCH_AARCH64
#endif

static const uint32_t g_allowed[] = {
	SYS_pread64,	  SYS_read,	    SYS_lseek,		 SYS_fstat,
	SYS_newfstatat,	  SYS_fcntl,	    SYS_close,		 SYS_recvmsg,
	SYS_sendto,	  SYS_sendmsg,	    SYS_write,		 SYS_brk,
	SYS_mmap,	  SYS_munmap,	    SYS_mremap,		 SYS_madvise,
	SYS_memfd_create, SYS_futex,	    SYS_getrandom,	 SYS_exit,
	SYS_exit_group,	  SYS_rt_sigreturn, SYS_restart_syscall, SYS_sysinfo,
};

/* Other system calls fail, as C libraries may try optional ones. */
static void confine(void)
{
	enum { COUNT = ARRAY_SIZE(g_allowed), HEAD = 4 };
	struct sock_filter filter[HEAD + COUNT + 2] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
			 offsetof(struct seccomp_data, arch)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, OWN_ARCH, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
			 offsetof(struct seccomp_data, nr)),
	};
	struct sock_fprog program = { .filter = filter,
				      .len = ARRAY_SIZE(filter) };

	for (size_t i = 0; i < COUNT; i++)
		filter[HEAD + i] = (struct sock_filter)BPF_JUMP(
			BPF_JMP | BPF_JEQ | BPF_K, g_allowed[i],
			(uint8_t)(COUNT - i), 0);
	filter[HEAD + COUNT] = (struct sock_filter)BPF_STMT(
		BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS);
	filter[HEAD + COUNT + 1] = (struct sock_filter)BPF_STMT(
		BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
	/* Kernels without filters are accepted. */
	if (!prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
#else
	(void)program;
#endif
}

/* --- messages ------------------------------------------------------------- */

static bool receive_reader_request(struct reader_request *request,
				   int fds[FD_MESSAGE_MAX])
{
	unsigned int count;

	return !fd_message_receive(SOCKET, request, sizeof(*request), fds,
				   &count, MSG_WAITALL) &&
	       request->files <= READER_FILES_MAX && count &&
	       count == request->files;
}

static void send_bytes(const void *bytes, size_t count)
{
	const char *at = bytes;

	while (count) {
		ssize_t put = send(SOCKET, at, count, MSG_NOSIGNAL);

		if (put < 0 && errno != EINTR)
			exit(0); /* the collector is gone */
		if (put > 0) {
			at += put;
			count -= (size_t)put;
		}
	}
}

static void send_error(int err, const char *why)
{
	struct reader_reply reply = { .err = err };

	snprintf(reply.why, sizeof(reply.why), "%s", why);
	send_bytes(&reply, sizeof(reply));
}

static void send_parts(const void *first, size_t first_bytes,
		       const void *second, size_t second_bytes)
{
	const struct reader_reply reply = {
		.bytes = { first_bytes, second_bytes },
	};

	send_bytes(&reply, sizeof(reply));
	send_bytes(first, first_bytes);
	send_bytes(second, second_bytes);
}

/* --- answers -------------------------------------------------------------- */

static void answer_headers(int fd)
{
	struct elf_headers headers = { 0 };
	struct reader_headers out = { 0 };
	struct reader_segment *segments;
	const char *why = "";
	int err = elf_read_headers(fd, &headers, &why);

	if (err) {
		send_error(err, why);
		return;
	}
	segments = calloc(headers.segment_count + 1, sizeof(*segments));
	for (size_t i = 0; segments && i < headers.segment_count; i++)
		segments[i] = (struct reader_segment){
			.offset = headers.segments[i].offset,
			.vaddr = headers.segments[i].vaddr,
			.bytes = headers.segments[i].bytes,
			.memory_bytes = headers.segments[i].memory_bytes,
			.is_executable = headers.segments[i].is_executable,
		};
	memcpy(out.build_id, headers.build_id, sizeof(out.build_id));
	out.is_instrumented = headers.is_instrumented;
	if (segments)
		send_parts(&out, sizeof(out), segments,
			   headers.segment_count * sizeof(*segments));
	else
		send_error(-ENOMEM, "not enough memory");
	free(segments);
	free(headers.segments);
}

static void answer_debug(int fd)
{
	struct elf_debug debug = { 0 };
	struct reader_debug out = { 0 };
	const char *why = "";
	int err = elf_read_debug(fd, &debug, &why);

	if (err) {
		send_error(err, why);
		return;
	}
	out.has_lines = debug.has_lines;
	out.has_symbols = debug.has_symbols;
	memcpy(out.build_id, debug.build_id, sizeof(out.build_id));
	memcpy(out.link, debug.link, sizeof(out.link));
	out.link_crc = debug.link_crc;
	memcpy(out.alt, debug.alt, sizeof(out.alt));
	memcpy(out.alt_build_id, debug.alt_build_id, sizeof(out.alt_build_id));
	out.mini_offset = debug.mini_offset;
	out.mini_bytes = debug.mini_bytes;
	send_parts(&out, sizeof(out), NULL, 0);
}

static void answer_functions(const struct reader_request *request,
			     const int fds[READER_FILES_MAX])
{
	struct elf_functions functions = { 0 };
	int symtab = request->files > 1 ? fds[1] : -1, mini = -1, err;
	const char *why = "";

	if (request->bytes)
		mini = mini_debug_open(fds[0], request->offset, request->bytes);
	if (symtab < 0 && mini >= 0)
		symtab = mini;
	err = request->question == READER_OBJECTS
		      ? elf_read_objects(fds[0], symtab, &functions, &why)
		      : elf_read_functions(fds[0], symtab, &functions, &why);
	if (err)
		send_error(err, why);
	else
		send_parts(functions.list,
			   functions.count * sizeof(*functions.list),
			   functions.strings, functions.string_bytes);
	free(functions.list);
	free(functions.strings);
	if (mini >= 0)
		close(mini);
}

static void answer_bounds(int fd)
{
	struct elf_bounds bounds = { 0 };
	int err = elf_bounds_read(fd, &bounds);

	if (err)
		send_error(err, "it has no unwind table that makes sense");
	else
		send_parts(bounds.list, bounds.count * sizeof(*bounds.list),
			   NULL, 0);
	free(bounds.list);
}

static ssize_t read_at(int fd, void *out, size_t bytes, uint64_t offset)
{
	ssize_t got;

	do
		got = pread(fd, out, bytes, (off_t)offset);
	while (got < 0 && errno == EINTR);
	return got;
}

static uint8_t g_bytes[ELF_ASSEMBLY_BYTES_MAX];
_Static_assert(sizeof(g_bytes) >= READER_BYTES_MAX, "an answer must fit");

static void answer_checksum(int fd)
{
	struct reader_reply reply = { 0 };
	uLong sum = crc32(0, NULL, 0);
	struct stat status;
	ssize_t got = 0;
	off_t at = 0;

	if (fstat(fd, &status) || status.st_size > CHECKSUM_BYTES_MAX) {
		send_error(-EFBIG, "too large");
		return;
	}
	while (at < CHECKSUM_BYTES_MAX &&
	       (got = read_at(fd, g_bytes, sizeof(g_bytes), (uint64_t)at)) >
		       0) {
		sum = crc32(sum, g_bytes, (uInt)got);
		at += got;
	}
	if (got) {
		send_error(got < 0 ? -errno : -EFBIG, "it cannot be read");
		return;
	}
	reply.value = (uint32_t)sum;
	send_bytes(&reply, sizeof(reply));
}

static void send_assembly(size_t bytes, uint64_t vaddr)
{
	struct elf_assembly assembly;

	if (elf_assembly_make(g_bytes, bytes, vaddr, &assembly)) {
		send_error(-ENOMEM, "not enough memory");
		return;
	}
	send_parts(assembly.list, assembly.count * sizeof(*assembly.list),
		   assembly.strings, assembly.string_bytes);
	free(assembly.list);
	free(assembly.strings);
}

static void answer_bytes(const struct reader_request *request, int fd)
{
	ssize_t got;

	if (request->bytes > sizeof(g_bytes) || request->offset > INT64_MAX) {
		send_error(-EINVAL, "too many bytes");
		return;
	}
	got = read_at(fd, g_bytes, request->bytes, request->offset);
	if (got < 0)
		send_error(-errno, strerror(errno));
	else if (request->question == READER_ASSEMBLY)
		send_assembly((size_t)got, request->vaddr);
	else
		send_parts(g_bytes, (size_t)got, NULL, 0);
}

static void answer_reading(const struct reader_request *request,
			   const int fds[READER_FILES_MAX])
{
	switch ((enum reader_question)request->question) {
	case READER_HEADERS:
		answer_headers(fds[0]);
		return;
	case READER_DEBUG:
		answer_debug(fds[0]);
		return;
	case READER_FUNCTIONS:
	case READER_OBJECTS:
		answer_functions(request, fds);
		return;
	case READER_BOUNDS:
		answer_bounds(fds[0]);
		return;
	case READER_CHECKSUM:
		answer_checksum(fds[0]);
		return;
	case READER_BYTES:
	case READER_ASSEMBLY:
		answer_bytes(request, fds[0]);
		return;
	}
	send_error(-EINVAL, "not a question");
}

int main(void)
{
	struct reader_request request = { 0 };
	int fds[FD_MESSAGE_MAX];
	struct stat status;

	if (fstat(SOCKET, &status) || !S_ISSOCK(status.st_mode)) {
		fprintf(stderr, "perfrec-reader: perfrec-collect starts it; it "
				"is of no use alone\n");
		return 2;
	}
	set_reader_limits();
	if (getenv(OPENER_VARIABLE))
		return opener_serve();
	/* Files are open already, so root needs no rights here. */
	if (!geteuid()) {
		(void)!setgroups(0, NULL);
		(void)!setresgid(NOBODY, NOBODY, NOBODY);
		(void)!setresuid(NOBODY, NOBODY, NOBODY);
	}
	confine();
	while (receive_reader_request(&request, fds)) {
		answer_reading(&request, fds);
		for (uint32_t i = 0; i < request.files; i++)
			close(fds[i]);
	}
	return 0;
}
