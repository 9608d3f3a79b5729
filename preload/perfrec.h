/* SPDX-License-Identifier: Apache-2.0
 *
 * perfrec.h - annotations: what a program reports about itself in a recording.
 *
 *	#include <perfrec.h>
 *
 *	static void serve(struct request *request)
 *	{
 *		PERFREC_SCOPE("serve", "bytes", request->bytes);
 *		...
 *	}
 *
 * For C11 or C++17, gcc or clang. Programs link no library: the header finds
 * the shim if it is preloaded (LD_PRELOAD, `perfrec record`). Without the shim
 * each annotation is a load and a branch not taken. Static executables, and
 * machines that perfrec does not support, never have a shim. -DPERFREC_DISABLE
 * removes all annotations from the program. docs/ANNOTATIONS.md has examples.
 *
 * Macros take a name, then up to 16 pairs of key and value. Names and keys are
 * string literals. A value is a bool, an integer, a float or double, a pointer,
 * a char * (or, in C++, any object with data() and size()), or the result of
 * perfrec_bytes(). Values are evaluated only if the event is recorded. Instead
 * of a key:
 *
 *	PERFREC_NAME, char *		the name of this one event
 *	PERFREC_FLOW, integer		arrows connect all events with this id
 *	PERFREC_FLOW_END, integer	the last arrow of this id ends here
 *	PERFREC_CORRELATION, integer	groups events without arrows
 *	PERFREC_AT, integer		its time, CLOCK_BOOTTIME in ns; not for
 *					slices of a thread
 *	PERFREC_PAIRS, perfrec_pairs(array, count)
 *					more, with keys made at run time
 *
 * Limits: 64 values of an event (PERFREC_PAIRS), 4,096 bytes of a text, 255 of
 * a key. The excess is cut off, and the trace reports that. A NULL text is "",
 * a NULL name is that of the enclosing function.
 *
 * All macros and functions work in any thread at any time: in signal handlers,
 * before main() and after exit(), in destructors and in forked children (in a
 * vfork() child they do nothing). They keep errno and all other state of the
 * program. Each place in the code costs at least 64 bytes of static memory, and
 * a microsecond when it is first reached.
 *
 * Names that end in _ are internal.
 */
#ifndef PERFREC_H
#define PERFREC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PERFREC_H_VERSION 1

/* The category of the annotations below; may be redefined between any two
 * lines. */
#ifndef PERFREC_CATEGORY
#define PERFREC_CATEGORY ""
#endif

/* --- types --------------------------------------------------------------- */

enum perfrec_flags {
	/* for counters */
	PERFREC_DOUBLE = 1 << 0, /* values are doubles; else int64_t */
	PERFREC_INCREMENTAL = 1 << 1, /* values are added up */
	PERFREC_PER_THREAD = 1 << 2, /* one counter for each thread */
	/* for PERFREC_TRIGGER() */
	PERFREC_TRIGGERS_ = 1 << 3,

	/* for tracks without a parent (default: of the process) */
	PERFREC_OF_THREAD = 1 << 8, /* below the thread that makes it */
	PERFREC_GLOBAL = 1 << 9, /* below no process */
	/* order of the tracks below */
	PERFREC_LEXICOGRAPHIC = 1 << 10, /* by name */
	PERFREC_CHRONOLOGICAL = 1 << 11, /* by their first event */
	PERFREC_BY_RANK = 1 << 12,
	/* shown apart from siblings with the same name */
	PERFREC_NO_MERGE = 1 << 13,
};

/* A place that records. The macros define sites; only the shim writes them. */
struct perfrec_site {
	uint32_t state; /* categories at the last decision, 1: off; the shim's
			 * if it still holds */
	uint16_t id; /* 0: none yet */
	uint8_t kind; /* enum site_kind of shared/site_shm.h */
	uint8_t special; /* has special keys such as PERFREC_NAME */
	uint32_t line;
	uint32_t flags; /* enum perfrec_flags */
	const char *name, *category, *file, *function;
	const char *const *keys;
	size_t key_count;
};

struct perfrec_counter {
	struct perfrec_site site;
	const char *unit;
	int64_t multiplier;
};

struct perfrec_track {
	struct perfrec_site site;
	struct perfrec_track *parent;
	uint64_t number; /* 0: unknown */
	int32_t rank;
	uint32_t states;
	const char *description;
};

struct perfrec_heap {
	struct perfrec_site site;
};

/* An open slice of a thread. All zero: it is not recorded. */
typedef struct perfrec_span {
	uint64_t bits;
} perfrec_span;

/* A value: type, and for a text its length << 8; the value or its address. */
struct perfrec_arg {
	uint64_t type;
	uint64_t value;
} __attribute__((aligned(16)));

/* A key made at run time, and a value made by PERFREC_VALUE(). */
struct perfrec_pair {
	const char *key;
	struct perfrec_arg arg;
};

#define PERFREC_NAME "\1n"
#define PERFREC_FLOW "\1f"
#define PERFREC_FLOW_END "\1e"
#define PERFREC_CORRELATION "\1c"
#define PERFREC_AT "\1t"
#define PERFREC_PAIRS "\1p"

/* Units of counters. Any other text is a unit as well. */
#define PERFREC_NO_UNIT ""
#define PERFREC_NS "ns"
#define PERFREC_COUNTS "count"
#define PERFREC_BYTES "bytes"

/* Numbers of predefined tracks. */
#define PERFREC_PROCESS_TRACK ((uint64_t)0)
#define PERFREC_THREAD_TRACK (UINT64_MAX - 1)
#define PERFREC_GLOBAL_TRACK UINT64_MAX

/* --- the shim ------------------------------------------------------------- */

/* The shim has one object of this type. Its name has the version of this
 * header. It may grow at its end. */
struct perfrec_shim_1 {
	const uint32_t *state; /* the current state of a site that is on */
	uint32_t bytes; /* of this struct */
	uint32_t pad;
	int (*decide)(struct perfrec_site *site);
	uint64_t (*begin)(uint64_t id);
	void (*end)(uint64_t span);
	uint64_t (*begin_args)(struct perfrec_site *site,
			       struct perfrec_arg *args, size_t count);
	void (*end_args)(uint64_t span, const char *const *keys,
			 struct perfrec_arg *args, size_t count);
	void (*instant)(struct perfrec_site *site, struct perfrec_arg *args,
			size_t count);
	void (*mark)(struct perfrec_site *site, struct perfrec_arg *args,
		     size_t count);
	void (*count)(struct perfrec_counter *counter, struct perfrec_arg value,
		      const int64_t *at);
	uint64_t (*async_begin)(struct perfrec_site *site, uint64_t track,
				uint64_t handle, struct perfrec_arg *args,
				size_t count);
	void (*async_end)(struct perfrec_site *site, uint64_t track,
			  uint64_t handle, struct perfrec_arg *args,
			  size_t count);
	void (*async_instant)(struct perfrec_site *site, uint64_t track,
			      uint64_t unused, struct perfrec_arg *args,
			      size_t count);
	void (*state_set)(struct perfrec_site *site, uint64_t track,
			  uint64_t over, struct perfrec_arg *args,
			  size_t count);
	uint64_t (*track)(struct perfrec_track *track);
	uint64_t (*track_new)(uint64_t parent, const char *name, uint32_t flags,
			      int32_t rank, const char *description);
	void (*heap_alloc)(struct perfrec_heap *heap, const void *block,
			   size_t bytes);
	void (*heap_free)(struct perfrec_heap *heap, const void *block);
	int (*is_recording)(void);
	void (*pause)(int paused);
	int (*flush)(void);
	void (*name_thread)(const char *name);
	uint64_t (*local_id)(uint64_t id);
	/* Missing in the first shims of this name: perfrec_has_stays_(). */
	void (*async_enter)(struct perfrec_site *site, uint64_t track,
			    uint64_t handle, struct perfrec_arg *args,
			    size_t count);
	void (*async_leave)(struct perfrec_site *site, uint64_t track,
			    uint64_t handle, struct perfrec_arg *args,
			    size_t count);
	/* Missing in older shims: perfrec_has_traces_(). */
	void (*trace_id)(const uint8_t *trace_id, const uint8_t *span_id);
	void (*traceparent)(const char *text);
};

#ifdef __cplusplus
#define PERFREC_NULL_ nullptr
#else
#define PERFREC_NULL_ NULL
#endif
#define PERFREC_INLINE_ \
	static inline   \
		__attribute__((always_inline, unused, no_instrument_function))
#define PERFREC_CAT_(a, b) PERFREC_CAT2_(a, b)
#define PERFREC_CAT2_(a, b) a##b

/*
 * Returns the shim, or NULL. The assembly reads the linker's table. In a
 * position-dependent executable the compiler or linker would resolve an
 * undefined weak symbol to NULL for good.
 */
PERFREC_INLINE_ const struct perfrec_shim_1 *perfrec_shim_(void)
{
#if defined(PERFREC_DISABLE)
	return PERFREC_NULL_;
#elif defined(__x86_64__) && defined(__LP64__) && defined(__linux__)
	const struct perfrec_shim_1 *shim;

	__asm__(".weak perfrec_shim_1\n\t"
		"movq perfrec_shim_1@GOTPCREL(%%rip), %0"
		: "=r"(shim));
	return shim;
#elif defined(__aarch64__) && defined(__LP64__) && defined(__linux__)
	const struct perfrec_shim_1 *shim;

	__asm__(".weak perfrec_shim_1\n\t"
		"adrp %0, :got:perfrec_shim_1\n\t"
		"ldr %0, [%0, :got_lo12:perfrec_shim_1]"
		: "=r"(shim));
	return shim;
#else
	return PERFREC_NULL_;
#endif
}

/* Returns true if @site records now. */
PERFREC_INLINE_ bool perfrec_on_(struct perfrec_site *site)
{
	const struct perfrec_shim_1 *shim = perfrec_shim_();
	uint32_t differs;

	if (__builtin_expect(!shim, 1))
		return false;
	differs =
		__atomic_load_n(&site->state, __ATOMIC_ACQUIRE) ^
		__atomic_load_n(__atomic_load_n(&shim->state, __ATOMIC_RELAXED),
				__ATOMIC_RELAXED);
	return differs == 0 || (differs != 1u << 31 && shim->decide(site));
}

/* --- values -------------------------------------------------------------- */

PERFREC_INLINE_ struct perfrec_arg perfrec_arg_make_(uint64_t type,
						     uint64_t value)
{
	struct perfrec_arg arg;

	arg.type = type;
	arg.value = value;
	return arg;
}

PERFREC_INLINE_ struct perfrec_arg perfrec_arg_bool_(bool value)
{
	return perfrec_arg_make_(1, value);
}

PERFREC_INLINE_ struct perfrec_arg perfrec_arg_int_(int64_t value)
{
	return perfrec_arg_make_(2, (uint64_t)value);
}

PERFREC_INLINE_ struct perfrec_arg perfrec_arg_uint_(uint64_t value)
{
	return perfrec_arg_make_(3, value);
}

PERFREC_INLINE_ struct perfrec_arg perfrec_arg_double_(double value)
{
	uint64_t bits;

	__builtin_memcpy(&bits, &value, sizeof(bits));
	return perfrec_arg_make_(4, bits);
}

PERFREC_INLINE_ struct perfrec_arg perfrec_arg_long_double_(long double value)
{
	return perfrec_arg_double_((double)value);
}

PERFREC_INLINE_ struct perfrec_arg perfrec_arg_pointer_(
	const volatile void *value)
{
	return perfrec_arg_make_(5, (uint64_t)(uintptr_t)value);
}

/* The shim measures the text's length when it records. */
PERFREC_INLINE_ struct perfrec_arg perfrec_arg_text_(const char *value)
{
	return perfrec_arg_make_(6 | ~(uint64_t)0xff,
				 (uint64_t)(uintptr_t)value);
}

PERFREC_INLINE_ struct perfrec_arg perfrec_arg_same_(struct perfrec_arg value)
{
	return value;
}

/* Any @bytes as a text (with NULs, or not UTF-8). Copied when recorded. */
PERFREC_INLINE_ struct perfrec_arg perfrec_bytes(const void *data, size_t bytes)
{
	return perfrec_arg_make_(6 | (uint64_t)bytes << 8,
				 (uint64_t)(uintptr_t)data);
}

/* @count more pairs, for PERFREC_PAIRS. Read when the event is recorded. */
PERFREC_INLINE_ struct perfrec_arg perfrec_pairs(
	const struct perfrec_pair *pairs, size_t count)
{
	return perfrec_arg_make_(7 | (uint64_t)count << 8,
				 (uint64_t)(uintptr_t)pairs);
}

#ifdef __cplusplus
extern "C++" {
#define PERFREC_OVERLOAD_(type, kind)                          \
	PERFREC_INLINE_ perfrec_arg perfrec_value_(type value) \
	{                                                      \
		return perfrec_arg_##kind##_(value);           \
	}
PERFREC_OVERLOAD_(bool, bool)
PERFREC_OVERLOAD_(char, int)
PERFREC_OVERLOAD_(signed char, int)
PERFREC_OVERLOAD_(short, int)
PERFREC_OVERLOAD_(int, int)
PERFREC_OVERLOAD_(long, int)
PERFREC_OVERLOAD_(long long, int)
PERFREC_OVERLOAD_(unsigned char, uint)
PERFREC_OVERLOAD_(unsigned short, uint)
PERFREC_OVERLOAD_(unsigned int, uint)
PERFREC_OVERLOAD_(unsigned long, uint)
PERFREC_OVERLOAD_(unsigned long long, uint)
PERFREC_OVERLOAD_(float, double)
PERFREC_OVERLOAD_(double, double)
PERFREC_OVERLOAD_(long double, long_double)
PERFREC_OVERLOAD_(const char *, text)
PERFREC_OVERLOAD_(const volatile void *, pointer)
PERFREC_OVERLOAD_(perfrec_arg, same)
#undef PERFREC_OVERLOAD_

PERFREC_INLINE_ perfrec_arg perfrec_value_(decltype(nullptr))
{
	return perfrec_arg_pointer_(nullptr);
}

/* std::string, std::string_view, std::vector<char> ... */
template <class T>
PERFREC_INLINE_ auto perfrec_value_(const T &value)
	-> decltype(value.size(), *value.data(), perfrec_arg())
{
	return perfrec_bytes(value.data(),
			     value.size() * sizeof(*value.data()));
}

template <size_t Count> struct perfrec_args_ {
	perfrec_arg args[Count];
	__attribute__((always_inline, no_instrument_function)) perfrec_arg *
	get()
	{
		return args;
	}
};
}
#define PERFREC_VALUE(v) perfrec_value_(v)
#define PERFREC_ARGS_(keys, ...)                              \
	(perfrec_args_<sizeof(keys) / sizeof(*(keys)) + 2>{   \
		{ perfrec_arg_make_(0, 0),                    \
		  PERFREC_PICK_(PERFREC_VALUES_, __VA_ARGS__) \
			  perfrec_arg_make_(0, 0),            \
		  perfrec_arg_make_(0, 0) } }                 \
		 .get())
#else
/* One value, for perfrec_pair and perfrec_arg. */
#define PERFREC_VALUE(v) \
	_Generic((v), _Bool                            \
		 : perfrec_arg_bool_, char             \
		 : perfrec_arg_int_, signed char       \
		 : perfrec_arg_int_, short             \
		 : perfrec_arg_int_, int               \
		 : perfrec_arg_int_, long              \
		 : perfrec_arg_int_, long long         \
		 : perfrec_arg_int_, unsigned char     \
		 : perfrec_arg_uint_, unsigned short   \
		 : perfrec_arg_uint_, unsigned int     \
		 : perfrec_arg_uint_, unsigned long    \
		 : perfrec_arg_uint_, unsigned long long \
		 : perfrec_arg_uint_, float            \
		 : perfrec_arg_double_, double         \
		 : perfrec_arg_double_, long double    \
		 : perfrec_arg_long_double_, char *    \
		 : perfrec_arg_text_, const char *     \
		 : perfrec_arg_text_, struct perfrec_arg \
		 : perfrec_arg_same_, default          \
		 : perfrec_arg_pointer_)(v)
#define PERFREC_ARGS_(keys, ...)                                     \
	((struct perfrec_arg[]){                                     \
		{ 0, 0 },                                            \
		PERFREC_PICK_(PERFREC_VALUES_, __VA_ARGS__){ 0, 0 }, \
		{ 0, 0 },                                            \
	})
#endif

/* --- a name and pairs ---------------------------------------------------- */

#define PERFREC_FIRST_(...) PERFREC_FIRST2_(__VA_ARGS__, 0)
#define PERFREC_FIRST2_(first, ...) first
/* macro##N, where N is the number of arguments. A key without a value makes N
 * even, and no such macro exists. */
#define PERFREC_PICK_(macro, ...) \
	PERFREC_CAT_(macro, PERFREC_HOW_MANY_(__VA_ARGS__))(__VA_ARGS__)
#define PERFREC_HOW_MANY_(...)                                                 \
	PERFREC_34TH_(__VA_ARGS__, 33, 32, 31, 30, 29, 28, 27, 26, 25, 24, 23, \
		      22, 21, 20, 19, 18, 17, 16, 15, 14, 13, 12, 11, 10, 9,   \
		      8, 7, 6, 5, 4, 3, 2, 1, 0)
#define PERFREC_34TH_(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, \
		      t, u, v, w, x, y, z, A, B, C, D, E, F, G, nth, ...)      \
	nth

#define PERFREC_KEYS_1(n)
#define PERFREC_KEYS_3(n, k, v) k,
#define PERFREC_KEYS_5(n, k, v, ...) k, PERFREC_KEYS_3(n, __VA_ARGS__)
#define PERFREC_KEYS_7(n, k, v, ...) k, PERFREC_KEYS_5(n, __VA_ARGS__)
#define PERFREC_KEYS_9(n, k, v, ...) k, PERFREC_KEYS_7(n, __VA_ARGS__)
#define PERFREC_KEYS_11(n, k, v, ...) k, PERFREC_KEYS_9(n, __VA_ARGS__)
#define PERFREC_KEYS_13(n, k, v, ...) k, PERFREC_KEYS_11(n, __VA_ARGS__)
#define PERFREC_KEYS_15(n, k, v, ...) k, PERFREC_KEYS_13(n, __VA_ARGS__)
#define PERFREC_KEYS_17(n, k, v, ...) k, PERFREC_KEYS_15(n, __VA_ARGS__)
#define PERFREC_KEYS_19(n, k, v, ...) k, PERFREC_KEYS_17(n, __VA_ARGS__)
#define PERFREC_KEYS_21(n, k, v, ...) k, PERFREC_KEYS_19(n, __VA_ARGS__)
#define PERFREC_KEYS_23(n, k, v, ...) k, PERFREC_KEYS_21(n, __VA_ARGS__)
#define PERFREC_KEYS_25(n, k, v, ...) k, PERFREC_KEYS_23(n, __VA_ARGS__)
#define PERFREC_KEYS_27(n, k, v, ...) k, PERFREC_KEYS_25(n, __VA_ARGS__)
#define PERFREC_KEYS_29(n, k, v, ...) k, PERFREC_KEYS_27(n, __VA_ARGS__)
#define PERFREC_KEYS_31(n, k, v, ...) k, PERFREC_KEYS_29(n, __VA_ARGS__)
#define PERFREC_KEYS_33(n, k, v, ...) k, PERFREC_KEYS_31(n, __VA_ARGS__)

#define PERFREC_V_ PERFREC_VALUE
#define PERFREC_VALUES_1(n)
#define PERFREC_VALUES_3(n, k, v) PERFREC_V_(v),
#define PERFREC_VALUES_5(n, k, v, ...) \
	PERFREC_V_(v), PERFREC_VALUES_3(n, __VA_ARGS__)
#define PERFREC_VALUES_7(n, k, v, ...) \
	PERFREC_V_(v), PERFREC_VALUES_5(n, __VA_ARGS__)
#define PERFREC_VALUES_9(n, k, v, ...) \
	PERFREC_V_(v), PERFREC_VALUES_7(n, __VA_ARGS__)
#define PERFREC_VALUES_11(n, k, v, ...) \
	PERFREC_V_(v), PERFREC_VALUES_9(n, __VA_ARGS__)
#define PERFREC_VALUES_13(n, k, v, ...) \
	PERFREC_V_(v), PERFREC_VALUES_11(n, __VA_ARGS__)
#define PERFREC_VALUES_15(n, k, v, ...) \
	PERFREC_V_(v), PERFREC_VALUES_13(n, __VA_ARGS__)
#define PERFREC_VALUES_17(n, k, v, ...) \
	PERFREC_V_(v), PERFREC_VALUES_15(n, __VA_ARGS__)
#define PERFREC_VALUES_19(n, k, v, ...) \
	PERFREC_V_(v), PERFREC_VALUES_17(n, __VA_ARGS__)
#define PERFREC_VALUES_21(n, k, v, ...) \
	PERFREC_V_(v), PERFREC_VALUES_19(n, __VA_ARGS__)
#define PERFREC_VALUES_23(n, k, v, ...) \
	PERFREC_V_(v), PERFREC_VALUES_21(n, __VA_ARGS__)
#define PERFREC_VALUES_25(n, k, v, ...) \
	PERFREC_V_(v), PERFREC_VALUES_23(n, __VA_ARGS__)
#define PERFREC_VALUES_27(n, k, v, ...) \
	PERFREC_V_(v), PERFREC_VALUES_25(n, __VA_ARGS__)
#define PERFREC_VALUES_29(n, k, v, ...) \
	PERFREC_V_(v), PERFREC_VALUES_27(n, __VA_ARGS__)
#define PERFREC_VALUES_31(n, k, v, ...) \
	PERFREC_V_(v), PERFREC_VALUES_29(n, __VA_ARGS__)
#define PERFREC_VALUES_33(n, k, v, ...) \
	PERFREC_V_(v), PERFREC_VALUES_31(n, __VA_ARGS__)

/* --- sites --------------------------------------------------------------- */

#define PERFREC_SPAN_KIND_ 1
#define PERFREC_COUNTER_KIND_ 2
#define PERFREC_TRACK_KIND_ 3
#define PERFREC_HEAP_KIND_ 4
#define PERFREC_STATE_KIND_ 5

#define PERFREC_STATIC_ static __attribute__((unused))
#if defined(PERFREC_DISABLE)
#define PERFREC_LOCAL_ /* unreachable: no memory at all */
#else
#define PERFREC_LOCAL_ static
#endif

#define PERFREC_SITE_INIT_(kind, flags, name, category, function, keys, count) \
	{                                                                      \
		UINT32_MAX, 0, kind, 0, __LINE__, flags, name, category,       \
			__FILE__, function, keys, count                        \
	}

/* Defines keys and site in a function. */
#define PERFREC_SITE_(site, keys, kind, category, ...) \
	PERFREC_SITE_WITH_(site, keys, kind, 0, category, __VA_ARGS__)
#define PERFREC_SITE_WITH_(site, keys, kind, flags, category, ...)            \
	PERFREC_LOCAL_ const char *const keys[] = { PERFREC_PICK_(            \
		PERFREC_KEYS_, __VA_ARGS__) PERFREC_NULL_ };                  \
	PERFREC_LOCAL_ struct perfrec_site site = PERFREC_SITE_INIT_(         \
		kind, flags, PERFREC_FIRST_(__VA_ARGS__), category, __func__, \
		keys, sizeof(keys) / sizeof(*(keys)) - 1)

/* Number of pairs of @keys. */
#define PERFREC_PAIRS_(keys) (sizeof(keys) / sizeof(*(keys)) - 1)

PERFREC_INLINE_ perfrec_span perfrec_span_(uint64_t bits)
{
	perfrec_span span;

	span.bits = bits;
	return span;
}

/* --- slices of a thread -------------------------------------------------- */

/* Ends @span, in the function that began it or in a callee, but not in another
 * thread (see PERFREC_ASYNC_BEGIN). */
PERFREC_INLINE_ void perfrec_end(perfrec_span span)
{
	const struct perfrec_shim_1 *shim = perfrec_shim_();

	if (__builtin_expect(shim && span.bits, 0))
		shim->end(span.bits);
}

/*
 * @call is an expression that uses perfrec_here_ and perfrec_keys_. With
 * PERFREC_DISABLE it is still parsed, so that the variables in it count as
 * used.
 */
#if defined(PERFREC_DISABLE)
#define PERFREC_ACTIVE_ 0
#define PERFREC_EVENT_WITH_(kind, flags, category, call, ...)                  \
	do {                                                                   \
		if (0) {                                                       \
			PERFREC_SITE_WITH_(perfrec_here_, perfrec_keys_, kind, \
					   flags, category, __VA_ARGS__);      \
			(void)&perfrec_here_;                                  \
			(void)(call);                                          \
		}                                                              \
	} while (0)
#define PERFREC_EVENT_EXPR_(none, kind, category, call, ...)       \
	__extension__({                                            \
		PERFREC_EVENT_(kind, category, call, __VA_ARGS__); \
		none;                                              \
	})
#else
#define PERFREC_ACTIVE_ 1
#define PERFREC_EVENT_WITH_(kind, flags, category, call, ...)                 \
	do {                                                                  \
		PERFREC_SITE_WITH_(perfrec_here_, perfrec_keys_, kind, flags, \
				   category, __VA_ARGS__);                    \
		if (perfrec_on_(&perfrec_here_))                              \
			(void)(call);                                         \
	} while (0)
#define PERFREC_EVENT_EXPR_(none, kind, category, call, ...)                \
	__extension__({                                                     \
		PERFREC_SITE_(perfrec_here_, perfrec_keys_, kind, category, \
			      __VA_ARGS__);                                 \
		perfrec_on_(&perfrec_here_) ? (call) : none;                \
	})
#endif

#define PERFREC_EVENT_(kind, category, call, ...) \
	PERFREC_EVENT_WITH_(kind, 0, category, call, __VA_ARGS__)

#define PERFREC_BEGIN_CALL_(site, keys, ...)                              \
	perfrec_span_(PERFREC_PAIRS_(keys) == 0                           \
			      ? perfrec_shim_()->begin((site).id)         \
			      : perfrec_shim_()->begin_args(              \
					&(site),                          \
					PERFREC_ARGS_(keys, __VA_ARGS__), \
					PERFREC_PAIRS_(keys)))

#ifdef __cplusplus
extern "C++" {
struct perfrec_scope_ {
	perfrec_span span;
	__attribute__((
		always_inline,
		no_instrument_function)) explicit perfrec_scope_(perfrec_span
									 begun)
	    : span(begun)
	{
	}
	__attribute__((always_inline, no_instrument_function)) ~perfrec_scope_()
	{
		perfrec_end(span);
	}
	perfrec_scope_(const perfrec_scope_ &) = delete;
	perfrec_scope_ &operator=(const perfrec_scope_ &) = delete;
};
}
#define PERFREC_GUARD_(guard, span) const perfrec_scope_ guard(span)
#else
PERFREC_INLINE_ void perfrec_scope_end_(const perfrec_span *span)
{
	perfrec_end(*span);
}
#define PERFREC_GUARD_(guard, span)                                          \
	const perfrec_span                                                   \
		__attribute__((cleanup(perfrec_scope_end_), unused)) guard = \
			span
#endif

#if defined(PERFREC_DISABLE)
#define PERFREC_SCOPE_IN(category, ...)                                        \
	PERFREC_EVENT_(                                                        \
		PERFREC_SPAN_KIND_, category,                                  \
		PERFREC_BEGIN_CALL_(perfrec_here_, perfrec_keys_, __VA_ARGS__) \
			.bits,                                                 \
		__VA_ARGS__)
#else
#define PERFREC_SCOPE_IN(category, ...)                                     \
	PERFREC_SCOPE2_(PERFREC_CAT_(perfrec_site_, __COUNTER__), category, \
			__VA_ARGS__)
#define PERFREC_SCOPE2_(site, category, ...)             \
	PERFREC_SCOPE3_(site, PERFREC_CAT_(site, _keys), \
			PERFREC_CAT_(site, _scope), category, __VA_ARGS__)
#define PERFREC_SCOPE3_(site, keys, guard, category, ...)                      \
	PERFREC_SITE_(site, keys, PERFREC_SPAN_KIND_, category, __VA_ARGS__);  \
	PERFREC_GUARD_(guard,                                                  \
		       (perfrec_on_(&(site))                                   \
				? PERFREC_BEGIN_CALL_(site, keys, __VA_ARGS__) \
				: perfrec_span_(0)))
#endif

/* PERFREC_SCOPE(name, pairs ...): a slice from here to the end of the block,
 * also if return, goto or (in C++) an exception leaves it. A declaration, so
 * not directly after a label. */
#define PERFREC_SCOPE(...) PERFREC_SCOPE_IN(PERFREC_CATEGORY, __VA_ARGS__)

/* perfrec_span PERFREC_BEGIN(name, pairs ...): a slice, until perfrec_end(). */
#define PERFREC_BEGIN(...) PERFREC_BEGIN_IN(PERFREC_CATEGORY, __VA_ARGS__)
#define PERFREC_BEGIN_IN(category, ...)                                       \
	PERFREC_EVENT_EXPR_(perfrec_span_(0), PERFREC_SPAN_KIND_, category,   \
			    PERFREC_BEGIN_CALL_(perfrec_here_, perfrec_keys_, \
						__VA_ARGS__),                 \
			    __VA_ARGS__)

/* PERFREC_END(span, pairs ...): ends @span, with values that are known only
 * now. */
#define PERFREC_END(...) PERFREC_END_(PERFREC_FIRST_(__VA_ARGS__), __VA_ARGS__)
#define PERFREC_END_(span, ...)                                              \
	do {                                                                 \
		const perfrec_span perfrec_ends_ = (span);                   \
		if (PERFREC_ACTIVE_ && perfrec_ends_.bits &&                 \
		    perfrec_shim_()) {                                       \
			PERFREC_LOCAL_ const char *const perfrec_keys_[] = { \
				PERFREC_PICK_(PERFREC_KEYS_, __VA_ARGS__)    \
					PERFREC_NULL_                        \
			};                                                   \
			perfrec_shim_()->end_args(                           \
				perfrec_ends_.bits, perfrec_keys_,           \
				PERFREC_ARGS_(perfrec_keys_, __VA_ARGS__),   \
				PERFREC_PAIRS_(perfrec_keys_));              \
		}                                                            \
	} while (0)

/* --- moments ------------------------------------------------------------- */

/* PERFREC_INSTANT(name, pairs ...): a moment of this thread. */
#define PERFREC_INSTANT(...) PERFREC_INSTANT_IN(PERFREC_CATEGORY, __VA_ARGS__)
#define PERFREC_INSTANT_IN(category, ...)            \
	PERFREC_EVENT_(PERFREC_SPAN_KIND_, category, \
		       PERFREC_CALL_(instant, __VA_ARGS__), __VA_ARGS__)
/* PERFREC_MARK(name, pairs ...): an interesting moment begins here. */
#define PERFREC_MARK(...)                                    \
	PERFREC_EVENT_(PERFREC_SPAN_KIND_, PERFREC_CATEGORY, \
		       PERFREC_CALL_(mark, __VA_ARGS__), __VA_ARGS__)

/*
 * PERFREC_TRIGGER(name, pairs ...): a rare event that needs an explanation. The
 * flight recorder (perfrec record --flight) writes a snapshot of the time
 * around it. Otherwise it is PERFREC_INSTANT().
 */
#define PERFREC_TRIGGER(...)                                       \
	PERFREC_EVENT_WITH_(PERFREC_SPAN_KIND_, PERFREC_TRIGGERS_, \
			    PERFREC_CATEGORY,                      \
			    PERFREC_CALL_(instant, __VA_ARGS__), __VA_ARGS__)

#define PERFREC_CALL_(function, ...)                                          \
	(perfrec_shim_()->function(&perfrec_here_,                            \
				   PERFREC_ARGS_(perfrec_keys_, __VA_ARGS__), \
				   PERFREC_PAIRS_(perfrec_keys_)))
#define PERFREC_TRACK_CALL_(function, track, a, ...)                          \
	(perfrec_shim_()->function(&perfrec_here_, PERFREC_TRACK_OF_(track),  \
				   a,                                         \
				   PERFREC_ARGS_(perfrec_keys_, __VA_ARGS__), \
				   PERFREC_PAIRS_(perfrec_keys_)))

/* --- counters, tracks, heaps: defined once, in a function or outside ------ */

#define PERFREC_OUTSIDE_(kind, flags, name)                         \
	PERFREC_SITE_INIT_(kind, flags, name, PERFREC_CATEGORY, "", \
			   PERFREC_NULL_, 0)

/* PERFREC_COUNTER(variable, name, unit, flags): a value over time. Static. */
#define PERFREC_COUNTER(variable, name, unit, flags) \
	PERFREC_COUNTER_TIMES(variable, name, unit, flags, 1)
/* The same; a value v stands for v * multiplier of the unit. */
#define PERFREC_COUNTER_TIMES(variable, name, unit, flags, multiplier)      \
	PERFREC_STATIC_ struct perfrec_counter variable = {                 \
		PERFREC_OUTSIDE_(PERFREC_COUNTER_KIND_, flags, name), unit, \
		multiplier                                                  \
	}

/* A track below @parent (struct perfrec_track *, or NULL). Static. */
#define PERFREC_TRACK(variable, name, parent, flags) \
	PERFREC_TRACK_WITH(variable, name, parent, flags, 0, "")
/* The same; @rank orders the tracks of a PERFREC_BY_RANK parent, lowest
 * first. */
#define PERFREC_TRACK_WITH(variable, name, parent, flags, rank, description) \
	PERFREC_STATIC_ struct perfrec_track variable =                      \
		PERFREC_TRACK_INIT_(name, parent, flags, rank, 0, description)
/* A track with one state at a time. */
#define PERFREC_STATE_TRACK(variable, name, parent, flags) \
	PERFREC_STATIC_ struct perfrec_track variable =    \
		PERFREC_TRACK_INIT_(name, parent, flags, 0, 1, "")
#define PERFREC_TRACK_INIT_(name, parent, flags, rank, states, description)    \
	{                                                                      \
		PERFREC_OUTSIDE_(PERFREC_TRACK_KIND_, flags, name), parent, 0, \
			rank, states, description                              \
	}

/* A heap of the program's own allocator. Static. */
#define PERFREC_HEAP(variable, name)                                       \
	PERFREC_STATIC_ struct perfrec_heap variable = { PERFREC_OUTSIDE_( \
		PERFREC_HEAP_KIND_, 0, name) }

/* PERFREC_COUNT(&counter, value): sets the counter to this value, or adds it if
 * the counter is PERFREC_INCREMENTAL. The value is converted to the counter's
 * type, clamped to the range of int64_t; NaN becomes 0. */
#define PERFREC_COUNT(counter, value)                              \
	(PERFREC_ACTIVE_ && perfrec_on_(&(counter)->site)          \
		 ? perfrec_count_((counter), PERFREC_VALUE(value)) \
		 : (void)0)
/* The same, at @ns of CLOCK_BOOTTIME. */
#define PERFREC_COUNT_AT(counter, value, ns)                              \
	(PERFREC_ACTIVE_ && perfrec_on_(&(counter)->site)                 \
		 ? perfrec_count_at_((counter), PERFREC_VALUE(value), ns) \
		 : (void)0)

PERFREC_INLINE_ void perfrec_count_(struct perfrec_counter *counter,
				    struct perfrec_arg value)
{
	perfrec_shim_()->count(counter, value, PERFREC_NULL_);
}

PERFREC_INLINE_ void perfrec_count_at_(struct perfrec_counter *counter,
				       struct perfrec_arg value, int64_t ns)
{
	perfrec_shim_()->count(counter, value, &ns);
}

/* Returns the number of @track, for calls that take a track by number. Returns
 * that of the process's track for NULL, and while nothing is recorded. */
PERFREC_INLINE_ uint64_t perfrec_track_number(struct perfrec_track *track)
{
	return track && perfrec_on_(&track->site)
		       ? perfrec_shim_()->track(track)
		       : 0;
}

PERFREC_INLINE_ uint64_t perfrec_track_same_(uint64_t number)
{
	return number;
}

/* @track in the macros below is the address of a static track, or a number. */
#ifdef __cplusplus
extern "C++" {
PERFREC_INLINE_ uint64_t perfrec_track_of_(perfrec_track *track)
{
	return perfrec_track_number(track);
}
PERFREC_INLINE_ uint64_t perfrec_track_of_(uint64_t number)
{
	return number;
}
}
#define PERFREC_TRACK_OF_(track) perfrec_track_of_(track)
#else
#define PERFREC_TRACK_OF_(track)                 \
	_Generic((track), struct perfrec_track * \
		 : perfrec_track_number, default \
		 : perfrec_track_same_)(track)
#endif

/*
 * Makes a track at run time, below @parent. Returns its number, a new one for
 * each call; or PERFREC_PROCESS_TRACK if nothing is recorded. Copies @name and
 * @description.
 */
#define PERFREC_TRACK_NEW(parent, name, flags, rank, description)        \
	perfrec_track_new_(PERFREC_TRACK_OF_(parent), name, flags, rank, \
			   description)

PERFREC_INLINE_ uint64_t perfrec_track_new_(uint64_t parent, const char *name,
					    uint32_t flags, int32_t rank,
					    const char *description)
{
	const struct perfrec_shim_1 *shim = perfrec_shim_();

	return __builtin_expect(!shim, 1) ? 0
					  : shim->track_new(parent, name, flags,
							    rank, description);
}

/* --- asynchronous slices of a track, begun and ended by any thread -------- */

/*
 * uint64_t PERFREC_ASYNC_BEGIN(track, handle, name, pairs ...): begins a slice
 * that PERFREC_ASYNC_END() ends by the same track and handle, in any thread.
 * Slices of a track may overlap. The handle must differ from those of all open
 * slices of the track; 0 asks for a unique one. Returns the handle, or 0 if
 * nothing was recorded.
 */
#define PERFREC_ASYNC_BEGIN(track, handle, ...)                               \
	PERFREC_EVENT_EXPR_(                                                  \
		(uint64_t)0, PERFREC_SPAN_KIND_, PERFREC_CATEGORY,            \
		PERFREC_TRACK_CALL_(async_begin, track, handle, __VA_ARGS__), \
		__VA_ARGS__)
/* PERFREC_ASYNC_END(track, handle, name, pairs ...): ends such a slice. Handle
 * 0 is ignored. The name only appears in the list of sites. */
#define PERFREC_ASYNC_END(track, handle, ...)                               \
	PERFREC_EVENT_(                                                     \
		PERFREC_SPAN_KIND_, PERFREC_CATEGORY,                       \
		PERFREC_TRACK_CALL_(async_end, track, handle, __VA_ARGS__), \
		__VA_ARGS__)
/*
 * PERFREC_ASYNC_ENTER(track, handle, name, pairs ...): this thread starts to
 * work on that slice, which may have begun in any thread.
 * PERFREC_ASYNC_LEAVE(track, handle, name, pairs ...): it stops.
 *
 * The time in between is busy time of the slice. If several threads are inside,
 * each counts. While no thread is inside, the time is idle. A thread that
 * enters twice must leave twice. All stays end with the slice, or with the
 * thread. Handle 0 is ignored. In the trace the name labels the stay.
 */
#define PERFREC_ASYNC_ENTER(track, handle, ...)                              \
	PERFREC_EVENT_(                                                      \
		PERFREC_SPAN_KIND_, PERFREC_CATEGORY,                        \
		PERFREC_STAY_CALL_(async_enter, track, handle, __VA_ARGS__), \
		__VA_ARGS__)
#define PERFREC_ASYNC_LEAVE(track, handle, ...)                              \
	PERFREC_EVENT_(                                                      \
		PERFREC_SPAN_KIND_, PERFREC_CATEGORY,                        \
		PERFREC_STAY_CALL_(async_leave, track, handle, __VA_ARGS__), \
		__VA_ARGS__)
/* PERFREC_ASYNC_SCOPE(track, handle, name, pairs ...): enters here, and leaves
 * at the end of the block, as PERFREC_SCOPE() does. */
#if defined(PERFREC_DISABLE)
#define PERFREC_ASYNC_SCOPE(...) PERFREC_ASYNC_ENTER(__VA_ARGS__)
#else
#define PERFREC_ASYNC_SCOPE(track, handle, ...)                                \
	PERFREC_ASYNC_SCOPE2_(PERFREC_CAT_(perfrec_site_, __COUNTER__), track, \
			      handle, __VA_ARGS__)
#define PERFREC_ASYNC_SCOPE2_(site, track, handle, ...)                 \
	PERFREC_ASYNC_SCOPE3_(site, PERFREC_CAT_(site, _keys),          \
			      PERFREC_CAT_(site, _stay), track, handle, \
			      __VA_ARGS__)
#define PERFREC_ASYNC_SCOPE3_(site, keys, guard, track, handle, ...)          \
	PERFREC_SITE_(site, keys, PERFREC_SPAN_KIND_, PERFREC_CATEGORY,       \
		      __VA_ARGS__);                                           \
	PERFREC_STAY_GUARD_(                                                  \
		guard,                                                        \
		(perfrec_on_(&(site)) && perfrec_has_stays_()                 \
			 ? perfrec_stay_enter_(                               \
				   &(site), PERFREC_TRACK_OF_(track), handle, \
				   PERFREC_ARGS_(keys, __VA_ARGS__),          \
				   PERFREC_PAIRS_(keys))                      \
			 : perfrec_stay_none_()))
#endif

#define PERFREC_STAY_CALL_(function, track, handle, ...)                     \
	(perfrec_has_stays_()                                                \
		 ? PERFREC_TRACK_CALL_(function, track, handle, __VA_ARGS__) \
		 : (void)0)

/* Returns true if the shim, which must exist, supports threads in slices. */
PERFREC_INLINE_ bool perfrec_has_stays_(void)
{
	return perfrec_shim_()->bytes >=
	       __builtin_offsetof(struct perfrec_shim_1, trace_id);
}

/* A slice that PERFREC_ASYNC_SCOPE() has entered. */
struct perfrec_stay_ {
	struct perfrec_site *site; /* NULL: none */
	uint64_t track, handle;
};

PERFREC_INLINE_ struct perfrec_stay_ perfrec_stay_none_(void)
{
	struct perfrec_stay_ stay = { PERFREC_NULL_, 0, 0 };

	return stay;
}

PERFREC_INLINE_ struct perfrec_stay_ perfrec_stay_enter_(
	struct perfrec_site *site, uint64_t track, uint64_t handle,
	struct perfrec_arg *args, size_t count)
{
	struct perfrec_stay_ stay = { site, track, handle };

	perfrec_shim_()->async_enter(site, track, handle, args, count);
	return stay;
}

PERFREC_INLINE_ void perfrec_stay_leave_(const struct perfrec_stay_ *stay)
{
	if (__builtin_expect(!!stay->site, 0))
		perfrec_shim_()->async_leave(stay->site, stay->track,
					     stay->handle, PERFREC_NULL_, 0);
}

#ifdef __cplusplus
extern "C++" {
struct perfrec_stay_scope_ {
	perfrec_stay_ stay;
	__attribute__((
		always_inline,
		no_instrument_function)) explicit perfrec_stay_scope_(perfrec_stay_
									      entered)
	    : stay(entered)
	{
	}
	__attribute__((always_inline,
		       no_instrument_function)) ~perfrec_stay_scope_()
	{
		perfrec_stay_leave_(&stay);
	}
	perfrec_stay_scope_(const perfrec_stay_scope_ &) = delete;
	perfrec_stay_scope_ &operator=(const perfrec_stay_scope_ &) = delete;
};
}
#define PERFREC_STAY_GUARD_(guard, stay) const perfrec_stay_scope_ guard(stay)
#else
#define PERFREC_STAY_GUARD_(guard, stay)                                      \
	const struct perfrec_stay_                                            \
		__attribute__((cleanup(perfrec_stay_leave_), unused)) guard = \
			stay
#endif

/* PERFREC_ASYNC_INSTANT(track, name, pairs ...): a moment on a track. */
#define PERFREC_ASYNC_INSTANT(track, ...)                                  \
	PERFREC_EVENT_(                                                    \
		PERFREC_SPAN_KIND_, PERFREC_CATEGORY,                      \
		PERFREC_TRACK_CALL_(async_instant, track, 0, __VA_ARGS__), \
		__VA_ARGS__)
/* PERFREC_STATE(track, name, pairs ...): the state of the track from now on. */
#define PERFREC_STATE(track, ...)                                             \
	PERFREC_EVENT_(PERFREC_STATE_KIND_, PERFREC_CATEGORY,                 \
		       PERFREC_TRACK_CALL_(state_set, track, 0, __VA_ARGS__), \
		       __VA_ARGS__)
/* Ends the state of the track; no other follows. */
#define PERFREC_STATE_END(track)                              \
	PERFREC_EVENT_(PERFREC_STATE_KIND_, PERFREC_CATEGORY, \
		       PERFREC_TRACK_CALL_(state_set, track, 1, "end"), "end")

/* --- control ------------------------------------------------------------- */

/* Returns true if events would be recorded now: the shim has found a collector,
 * and recording is not paused. */
PERFREC_INLINE_ bool perfrec_is_recording(void)
{
	const struct perfrec_shim_1 *shim = perfrec_shim_();

	return shim && shim->is_recording();
}

/* Pauses this process: no new slice or call is recorded until perfrec_resume().
 * Function calls are still counted. Pauses do not nest. A pause from outside
 * (perfrec ctl) is separate: recording continues when both are over. */
PERFREC_INLINE_ void perfrec_pause(void)
{
	const struct perfrec_shim_1 *shim = perfrec_shim_();

	if (__builtin_expect(!!shim, 0))
		shim->pause(1);
}

PERFREC_INLINE_ void perfrec_resume(void)
{
	const struct perfrec_shim_1 *shim = perfrec_shim_();

	if (__builtin_expect(!!shim, 0))
		shim->pause(0);
}

/* Waits until the collector has read all records of this thread, at most a
 * second. Returns false on timeout. */
PERFREC_INLINE_ bool perfrec_flush(void)
{
	const struct perfrec_shim_1 *shim = perfrec_shim_();

	return shim && shim->flush();
}

/* Names this thread in the recording only. @name has at most 15 bytes. */
PERFREC_INLINE_ void perfrec_name_thread(const char *name)
{
	const struct perfrec_shim_1 *shim = perfrec_shim_();

	if (__builtin_expect(!!shim, 0))
		shim->name_thread(name);
}

/* Returns true if @shim, which may be NULL, supports requests. */
PERFREC_INLINE_ bool perfrec_has_traces_(const struct perfrec_shim_1 *shim)
{
	return __builtin_expect(!!shim, 0) &&
	       shim->bytes >= sizeof(struct perfrec_shim_1);
}

/* Sets the request that this thread works on, by the ids of OpenTelemetry and
 * W3C's Trace Context. Samples of CPU time and allocations have them as labels,
 * and the trace shows their changes. @trace_id NULL or zero: no request.
 * @span_id may be NULL. Copies both. */
PERFREC_INLINE_ void perfrec_set_trace_id(const uint8_t trace_id[16],
					  const uint8_t span_id[8])
{
	const struct perfrec_shim_1 *shim = perfrec_shim_();

	if (perfrec_has_traces_(shim))
		shim->trace_id(trace_id, span_id);
}

/* The same, from the header traceparent of a request, such as
 * "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01". NULL: no request.
 * Any other form counts as NULL, and in odd_traceparents. */
PERFREC_INLINE_ void perfrec_set_traceparent(const char *text)
{
	const struct perfrec_shim_1 *shim = perfrec_shim_();

	if (perfrec_has_traces_(shim))
		shim->traceparent(text);
}

/* Returns a number for flows and correlations: equal for equal @id in this
 * process, different in other processes. A plain id is the same in all
 * processes. */
PERFREC_INLINE_ uint64_t perfrec_local_id(uint64_t id)
{
	const struct perfrec_shim_1 *shim = perfrec_shim_();

	return __builtin_expect(!shim, 1) ? id : shim->local_id(id);
}

/* The program's own allocator @heap has handed out @block, of @bytes. Call it
 * afterwards. */
PERFREC_INLINE_ void perfrec_heap_alloc(struct perfrec_heap *heap,
					const void *block, size_t bytes)
{
	if (perfrec_on_(&heap->site))
		perfrec_shim_()->heap_alloc(heap, block, bytes);
}

/* @heap is about to take back @block. Call it before. */
PERFREC_INLINE_ void perfrec_heap_free(struct perfrec_heap *heap,
				       const void *block)
{
	if (perfrec_on_(&heap->site))
		perfrec_shim_()->heap_free(heap, block);
}

#endif
