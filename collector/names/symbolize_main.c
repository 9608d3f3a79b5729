/* SPDX-License-Identifier: Apache-2.0
 *
 * perfrec-symbolize - reads debug information for perfrec-collect
 * (symbolize.h), which passes open descriptors (symbolize_wire.h).
 *
 * Debug information is huge and hostile, and libdw does not withstand that. A
 * crash here costs only some lines of a profile.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/filter.h>
#include <linux/openat2.h>
#include <linux/seccomp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "collector/base/path.h"
#include "collector/names/call_layout.h"
#include "collector/names/elf_functions.h"
#include "collector/names/fd_message.h"
#include "collector/names/lower_limit.h"
#include "collector/names/symbolize_dwarf.h"
#include "collector/names/symbolize_wire.h"
#include "shared/compiler.h"

#define CPU_SECONDS 60
/* Files are mapped, so address space must fit the largest; memory need not. */
#define ADDRESS_BYTES (64ull << 30)
#define DATA_BYTES (2ull << 30)
#define NICE 10

static void set_symbolize_limits(void)
{
	lower_limit(RLIMIT_CPU, CPU_SECONDS);
	lower_limit(RLIMIT_CORE, 0);
/* Sanitizers need terabytes of addresses. */
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
	lower_limit(RLIMIT_AS, ADDRESS_BYTES);
	lower_limit(RLIMIT_DATA, DATA_BYTES);
#endif
	setpriority(PRIO_PROCESS, 0, NICE);
}

/* Only an attacker needs these system calls. They end the process. */
static void forbid_network_and_programs(void)
{
	static const uint32_t forbidden[] = {
		SYS_socket,
		SYS_connect,
		SYS_execve,
		SYS_execveat,
	};
	struct sock_filter filter[2 * ARRAY_SIZE(forbidden) + 2];
	struct sock_fprog program = { .filter = filter };
	size_t at = 0;

	filter[at++] = (struct sock_filter)BPF_STMT(
		BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
	for (size_t i = 0; i < ARRAY_SIZE(forbidden); i++) {
		filter[at++] = (struct sock_filter)BPF_JUMP(
			BPF_JMP | BPF_JEQ | BPF_K, forbidden[i], 0, 1);
		filter[at++] = (struct sock_filter)BPF_STMT(
			BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS);
	}
	filter[at++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K,
						    SECCOMP_RET_ALLOW);
	program.len = (unsigned short)at;
	/* Kernels without filters are accepted. */
	if (!prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

static int fail_because(const char *why)
{
	fprintf(stderr, "%s\n", why);
	return 1;
}

static void put_symbolized_frame(const struct dwarf_frame *frame)
{
	const char *slash = frame->folder[0] ? "/" : "";
	const char *home = path_name(frame->home);
	char function[SYMBOLIZE_TEXT_MAX + 1], file[SYMBOLIZE_TEXT_MAX + 1];
	size_t function_bytes, file_bytes;

	snprintf(function, sizeof(function), *home ? "%s%c%s" : "%s",
		 frame->function, ELF_FILE_MARK, home);
	function_bytes = strlen(function);

	snprintf(file, sizeof(file), "%s%s%s", frame->folder, slash,
		 frame->file);
	file_bytes = strlen(file);
	printf("f %" PRIu32 " %" PRIu32 " %zu %zu\n", frame->line,
	       frame->start_line, function_bytes, file_bytes);
	fwrite(function, 1, function_bytes, stdout);
	putchar('\n');
	fwrite(file, 1, file_bytes, stdout);
	putchar('\n');
}

/* From now on open() is below SYMBOLIZE_ROOT_FD. */
static bool g_is_confined;

/* libdw opens .dwo files by names in debug information, with this function
 * instead of the C library's. Names must not leave the program's root, and only
 * regular files are opened. */
int open(const char *path, int flags, ...)
{
	struct open_how how = {
		.flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY,
		.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS,
	};
	struct stat status;
	va_list args;
	mode_t mode;
	int fd;

	if (!g_is_confined) {
		va_start(args, flags);
		mode = flags & O_CREAT ? va_arg(args, mode_t) : 0;
		va_end(args);
		return (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
	}
	fd = (int)syscall(SYS_openat2, SYMBOLIZE_ROOT_FD, path, &how,
			  sizeof(how));
	if (fd >= 0 && (fstat(fd, &status) || !S_ISREG(status.st_mode))) {
		close(fd);
		errno = EACCES;
		return -1;
	}
	return fd;
}

/* The collector may have only O_PATH: opening may block. */
static void open_asked_file(int fd)
{
	int flags = fcntl(fd, F_GETFL), copy;
	char link[32];

	if (flags < 0 || !(flags & O_PATH))
		return;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	copy = open(link, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (copy < 0)
		return;
	(void)!dup2(copy, fd);
	close(copy);
}

static void put_call_text(const char *text)
{
	fwrite(text, 1, strlen(text), stdout);
	putchar('\n');
}

static void put_described_value(const struct call_value *value)
{
	printf("v %u %u %u %" PRIu32 " %zu\n", value->kind, value->bytes,
	       value->word, value->name_count, strlen(value->name));
	put_call_text(value->name);
	for (uint32_t i = 0; i < value->name_count; i++) {
		const struct call_enumerator *name = &value->names[i];

		printf("n %" PRId64 " %zu\n", name->value, strlen(name->name));
		put_call_text(name->name);
	}
}

static void put_described_call(struct dwarf_lines *lines, uint64_t vaddr)
{
	struct call_layout layout = { 0 };
	bool known = dwarf_lines_call(lines, vaddr, &layout);

	printf("c %" PRIx64 " %" PRIu32 "\n", vaddr,
	       known ? layout.count + 1 : 0);
	if (known)
		put_described_value(&layout.result);
	for (uint32_t i = 0; known && i < layout.count; i++)
		put_described_value(&layout.value[i]);
	call_layout_release(&layout);
}

static void put_address(struct dwarf_lines *lines, uint64_t vaddr)
{
	static struct dwarf_frame frames[SYMBOLIZE_FRAMES_MAX];
	size_t count = dwarf_lines_find(lines, vaddr, frames);

	printf("a %" PRIx64 " %zu\n", vaddr, count);
	for (size_t i = 0; i < count; i++)
		put_symbolized_frame(&frames[i]);
}

/* Calls @put for each address of the request. */
static int answer_request(void (*put)(struct dwarf_lines *lines,
				      uint64_t vaddr))
{
	struct dwarf_lines *lines = NULL;
	const char *why = "";
	uint64_t vaddr;

	set_symbolize_limits();
	open_asked_file(SYMBOLIZE_ELF_FD);
	open_asked_file(SYMBOLIZE_ALT_FD);
	lower_limit(RLIMIT_FSIZE, 0);
	g_is_confined = true;
	forbid_network_and_programs();
	if (dwarf_lines_new(SYMBOLIZE_ELF_FD, SYMBOLIZE_ALT_FD, &lines, &why))
		return fail_because(why);
	while (scanf("%" SCNx64, &vaddr) == 1)
		put(lines, vaddr);
	puts(SYMBOLIZE_END);
	if (fflush(stdout) || ferror(stdout))
		return fail_because(strerror(errno));
	dwarf_lines_free(&lines);
	return 0;
}

/* --- debuginfod ---------------------------------------------------------- */

/* Few machines have it, and it loads a web client. */
static int fetch_asked_debug_file(const char *build_id)
{
	void *library = dlopen("libdebuginfod.so.1", RTLD_NOW);
	struct debuginfod_client *(*begin)(void);
	int (*find)(struct debuginfod_client * client, const unsigned char *id,
		    int id_bytes, char **path);
	struct debuginfod_client *client;
	int fd;

	set_symbolize_limits();
	if (!library)
		return fail_because("DEBUGINFOD_URLS is set, but there is no "
				    "libdebuginfod.so.1");
	*(void **)&begin = dlsym(library, "debuginfod_begin");
	*(void **)&find = dlsym(library, "debuginfod_find_debuginfo");
	client = begin && find ? begin() : NULL;
	if (!client)
		return fail_because("libdebuginfod.so.1 does not work");
	fd = find(client, (const unsigned char *)build_id, 0, NULL);
	if (fd < 0) {
		fprintf(stderr, "debuginfod: %s\n", strerror(-fd));
		return 1;
	}
	return fd_message_send(STDOUT_FILENO, "f", 1, &fd, 1, 0)
		       ? fail_because("cannot pass the file on")
		       : 0;
}

int main(int argc, char **argv)
{
	if (argc == 2 && !strcmp(argv[1], "lines"))
		return answer_request(put_address);
	if (argc == 2 && !strcmp(argv[1], "calls"))
		return answer_request(put_described_call);
	if (argc == 3 && !strcmp(argv[1], "fetch"))
		return fetch_asked_debug_file(argv[2]);
	fprintf(stderr,
		"usage: perfrec-symbolize lines | calls | fetch BUILD_ID\n"
		"perfrec-collect starts it; it is of no use alone\n");
	return 2;
}
