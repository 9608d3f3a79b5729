/* SPDX-License-Identifier: Apache-2.0
 *
 * compiler - the few compiler attributes the rest of the tree uses by name.
 */
#ifndef PERFREC_SHARED_COMPILER_H
#define PERFREC_SHARED_COMPILER_H

#include <stddef.h>
#include <stdint.h>

#define likely(x) __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)

#define ATTR_NOINLINE __attribute__((noinline))
#define ATTR_ALWAYS_INLINE inline __attribute__((always_inline))
#define ATTR_COLD __attribute__((cold, noinline))
#define ATTR_EXPORT __attribute__((visibility("default")))
#define ATTR_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))
/* Code of perfrec itself must never be instrumented, whatever CFLAGS say. */
#define ATTR_NOTRACE __attribute__((no_instrument_function))

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))
#define MIN(a, b) ((a) < (b) ? (a) : (b))
#define MAX(a, b) ((a) > (b) ? (a) : (b))

/* Round @x up to a multiple of @align, a power of two. */
#define ALIGN_UP(x, align) \
	(((x) + (uint64_t)(align)-1) & ~((uint64_t)(align)-1))

static inline int is_power_of_two(uint64_t x)
{
	return x && !(x & (x - 1));
}

#endif
