/* SPDX-License-Identifier: Apache-2.0
 *
 * publishes - publishes a process context for profilers (OTEP 4719), then waits
 * for the file of its second argument. The first argument chooses the context:
 *
 *	good		service.name=published, and attributes of each kind
 *	later		the same, but "being changed" until the file FILE.now
 *			exists
 *	huge		a payload of 2 GiB
 *	unmapped	a payload at an address without a mapping
 *	version		an unknown version
 *	changing	another name all the time; no reader may see a mix
 *	junk		a payload that is no protobuf
 *	short		a payload with only 8 readable bytes
 *
 * With a third argument, the context is in an anonymous mapping instead of a
 * memfd.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#ifndef PR_SET_VMA
#define PR_SET_VMA 0x53564d41
#define PR_SET_VMA_ANON_NAME 0
#endif
#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 8u
#endif

#define BYTES 4096

struct context {
	char signature[8];
	uint32_t version, payload_size;
	volatile uint64_t published_ns;
	uint64_t payload;
};

static uint8_t g_payload[1024];
static size_t g_bytes;

static void put(uint8_t byte)
{
	g_payload[g_bytes++] = byte;
}

/* A field of @bytes bytes. */
static void put_bytes(uint8_t tag, const void *from, size_t bytes)
{
	put(tag);
	put((uint8_t)bytes);
	memcpy(g_payload + g_bytes, from, bytes);
	g_bytes += bytes;
}

/* Resource.attributes: @value is the fields of an AnyValue. */
static void put_attribute(const char *key, const void *value, size_t bytes)
{
	put(0x0a);
	put((uint8_t)(2 + strlen(key) + 2 + bytes));
	put_bytes(0x0a, key, strlen(key));
	put_bytes(0x12, value, bytes);
}

static void put_string(const char *key, const char *value)
{
	uint8_t any[100] = { 0x0a, (uint8_t)strlen(value) };

	memcpy(any + 2, value, strlen(value));
	put_attribute(key, any, 2 + strlen(value));
}

/* ProcessContext.resource with all attributes. */
static void make_payload(const char *service)
{
	static const uint8_t yes[] = { 0x10, 1 }, number[] = { 0x18, 42 },
			     array[] = { 0x2a, 0 };
	size_t bytes;

	g_bytes = 0;
	put_string("service.name", service);
	put_string("service.version", service);
	put_attribute("test.bool", yes, sizeof(yes));
	put_attribute("test.int", number, sizeof(number));
	put_attribute("test.array", array, sizeof(array));
	put_string("process.pid", "1");
	bytes = g_bytes;
	memmove(g_payload + 3, g_payload, bytes);
	g_payload[0] = 0x0a;
	g_payload[1] = (uint8_t)(bytes & 0x7f) | 0x80;
	g_payload[2] = (uint8_t)(bytes >> 7);
	g_bytes += 3;
}

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_BOOTTIME, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static struct context *map_context(int anonymous)
{
	int fd = -1;
	void *at;

	if (!anonymous) {
		fd = memfd_create("OTEL_CTX", MFD_CLOEXEC | MFD_ALLOW_SEALING |
						      MFD_NOEXEC_SEAL);
		if (fd < 0)
			fd = memfd_create("OTEL_CTX",
					  MFD_CLOEXEC | MFD_ALLOW_SEALING);
	}
	if (fd >= 0 && ftruncate(fd, BYTES) < 0)
		return NULL;
	at = mmap(NULL, BYTES, PROT_READ | PROT_WRITE,
		  MAP_PRIVATE | (fd < 0 ? MAP_ANONYMOUS : 0), fd, 0);
	if (fd >= 0)
		close(fd);
	if (at == MAP_FAILED || madvise(at, BYTES, MADV_DONTFORK) < 0)
		return NULL;
	if (prctl(PR_SET_VMA, PR_SET_VMA_ANON_NAME, at, BYTES, "OTEL_CTX") &&
	    fd < 0)
		exit(77); /* such a mapping has no name here */
	return at;
}

/* Writes before it come before those after it, for another process. */
static void fence(void)
{
#if defined(__x86_64__)
	__asm__ volatile("mfence" ::: "memory");
#else
	__asm__ volatile("dmb ish" ::: "memory");
#endif
}

static void publish(struct context *context)
{
	fence();
	context->published_ns = now_ns();
}

/* Two names in turn, until the file @path is there. */
static void change(struct context *context, const char *path)
{
	for (unsigned int i = 0; i % 4096 || access(path, F_OK) < 0; i++) {
		context->published_ns = 0;
		fence();
		make_payload(i % 2 ? "odd-odd-odd" : "even-even");
		context->payload_size = (uint32_t)g_bytes;
		publish(context);
	}
}

/* The end of readable memory. */
static uintptr_t end_of_memory(void)
{
	char *at = mmap(NULL, 2 * BYTES, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS,
			-1, 0);

	if (at == MAP_FAILED || mprotect(at + BYTES, BYTES, PROT_NONE) < 0)
		exit(1);
	return (uintptr_t)at + BYTES;
}

int main(int argc, char **argv)
{
	const char *what = argv[1], *path = argv[2];
	struct context *context = map_context(argc > 3);
	char now[200];

	alarm(600);
	if (!context)
		return 1;
	make_payload("published");
	memcpy(context->signature, "OTEL_CTX", 8);
	context->version = 2;
	context->payload = (uintptr_t)g_payload;
	context->payload_size = (uint32_t)g_bytes;
	if (!strcmp(what, "huge"))
		context->payload_size = 1u << 31;
	if (!strcmp(what, "unmapped"))
		context->payload = 4096;
	if (!strcmp(what, "version"))
		context->version = 99;
	if (!strcmp(what, "junk"))
		memset(g_payload, 0xff, g_bytes);
	if (!strcmp(what, "short"))
		context->payload = end_of_memory() - 8;
	if (!strcmp(what, "later")) {
		snprintf(now, sizeof(now), "%s.now", path);
		while (access(now, F_OK) < 0)
			usleep(1000);
	}
	publish(context);
	if (!strcmp(what, "changing"))
		change(context, path);
	while (access(path, F_OK) < 0)
		usleep(1000);
	return 0;
}
