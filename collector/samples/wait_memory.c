/* SPDX-License-Identifier: Apache-2.0
 *
 * wait_memory - the kernel reads a page that is not in memory on our thread.
 * Its file system may not answer. But callers read stacks and objects of waits,
 * which the program has just touched.
 */
#include "collector/samples/wait_memory.h"

#include <sys/uio.h>

#include "shared/compiler.h"

#define PAGE 4096u /* a page is readable as a whole or not at all */
#define PARTS_MAX 32u

static size_t read_pages(pid_t pid, uint64_t address, char *out, size_t bytes)
{
	struct iovec local, remote[PARTS_MAX];
	size_t parts = 0, planned = 0;
	ssize_t got;

	while (planned < bytes && parts < PARTS_MAX) {
		size_t length = PAGE - (address + planned) % PAGE;

		length = MIN(length, bytes - planned);
		remote[parts++] = (struct iovec){
			/* clang-tidy: never dereferenced here */
			(void *)(uintptr_t)(address + planned), /* NOLINT */
			length,
		};
		planned += length;
	}
	local = (struct iovec){ out, planned };
	got = process_vm_readv(pid, &local, 1, remote, parts, 0);
	return got > 0 ? (size_t)got : 0;
}

size_t wait_memory_read(pid_t pid, uint64_t address, void *out, size_t bytes)
{
	size_t done = 0, got;

	if (address + bytes < address)
		return 0;
	do {
		size_t want = MIN(bytes - done, (size_t)PAGE * (PARTS_MAX - 1));

		got = read_pages(pid, address + done, (char *)out + done, want);
		done += got;
		if (got < want)
			break;
	} while (done < bytes);
	return done;
}
