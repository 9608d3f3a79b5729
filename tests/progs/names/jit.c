/* SPDX-License-Identifier: Apache-2.0
 *
 * jit none|map|dump|memfd|image - spins for 0.2 s of CPU time in code that it
 * has made, and tells its name in one of the ways that there are.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>
static const unsigned char code[] = {
	0x55, 0x48, 0x89, 0xe5, /* push %rbp; mov %rsp,%rbp */
	0xb9, 0x00, 0x00, 0x10, 0x00, /* mov $0x100000,%ecx */
	0xff, 0xc9, 0x75, 0xfc, /* dec %ecx; jnz */
	0x5d, 0xc3, /* pop %rbp; ret */
};
static void tell_map(const void *at)
{
	char path[64];
	snprintf(path, sizeof(path), "/tmp/perf-%d.map", (int)getpid());
	FILE *map = fopen(path, "w");
	fprintf(map, "%lx 1000 thrown away\n", (unsigned long)at);
	fprintf(map, "%lx %zx JS:*spin /a b.js:1\n", (unsigned long)at,
		sizeof(code));
	fclose(map);
	puts(path);
}
static void tell_dump(const void *at)
{
	struct {
		uint32_t magic, version, bytes, machine, pad, pid;
		uint64_t time, flags;
		uint32_t kind, record_bytes;
		uint64_t record_time;
		uint32_t record_pid, tid;
		uint64_t vma, address, size, index;
		char name[8];
	} dump = { 0x4a695444,
		   1,
		   40,
		   62,
		   0,
		   0,
		   0,
		   0,
		   0,
		   64,
		   0,
		   0,
		   0,
		   (uintptr_t)at,
		   (uintptr_t)at,
		   sizeof(code),
		   1,
		   "dumped" };
	char path[64];
	snprintf(path, sizeof(path), "jit-%d.dump", (int)getpid());
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0666);
	if (write(fd, &dump, sizeof(dump)) != sizeof(dump))
		return;
	mmap(0, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
	close(fd);
}
/* In a page of a file that is not ELF. */
static void *in_file(int fd)
{
	if (pwrite(fd, code, sizeof(code), 64) != sizeof(code))
		return 0;
	return (char *)mmap(0, 4096, PROT_READ | PROT_EXEC, MAP_SHARED, fd, 0) +
	       64;
}
static void *in_memory(void)
{
	void *at = mmap(0, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
			MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	memcpy(at, code, sizeof(code));
	return at;
}
int main(int argc, char **argv)
{
	struct timespec now;
	void *at;
	(void)argc;
	if (!strcmp(argv[1], "image"))
		at = in_file(
			open("an.image", O_RDWR | O_CREAT | O_TRUNC, 0777));
	else if (!strcmp(argv[1], "memfd"))
		at = in_file(memfd_create("code", 0));
	else
		at = in_memory();
	if (!strcmp(argv[1], "dump"))
		tell_dump(at);
	do {
		((void (*)(void))at)();
		clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	} while (now.tv_nsec < 200000000 && !now.tv_sec);
	if (!strcmp(argv[1], "map"))
		tell_map(at); /* as Java does it: at the end */
	return 0;
}
