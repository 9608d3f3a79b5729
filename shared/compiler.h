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

/* MIN() and MAX() evaluate each argument once. A constant keeps its own form,
 * as a constant that is not negative may be compared with unsigned values. */
#ifdef __cppcheck__ /* it cannot read the other form in an initializer */
#define MIN(a, b) ((a) < (b) ? (a) : (b))
#define MAX(a, b) ((a) > (b) ? (a) : (b))
#else
#define MIN(a, b) COMPARED(a, b, <, __COUNTER__)
#define MAX(a, b) COMPARED(a, b, >, __COUNTER__)
#define COMPARED(a, b, order, n) COMPARED_AS(a, b, order, n)
#define COMPARED_AS(a, b, order, n)                            \
	__extension__({                                        \
		__auto_type a_##n = (a);                       \
		__auto_type b_##n = (b);                       \
		VALUE_OF(a, a_##n)                             \
		order VALUE_OF(b, b_##n) ? VALUE_OF(a, a_##n)  \
					 : VALUE_OF(b, b_##n); \
	})
#define VALUE_OF(a, copy) \
	__builtin_choose_expr(__builtin_constant_p(a), a, copy)
#endif

/* Round @x up to a multiple of @align, a power of two. */
#define ALIGN_UP(x, align) \
	(((x) + (uint64_t)(align)-1) & ~((uint64_t)(align)-1))

static inline int is_power_of_two(uint64_t x)
{
	return x && !(x & (x - 1));
}

#endif
