/* SPDX-License-Identifier: Apache-2.0
 *
 * thread_context - finds the thread-local variable without dlsym() and
 * __tls_get_addr(), which take the dynamic linker's lock and may allocate. The
 * address is computed as the linker does:
 *
 *   in static TLS	a constant distance from each thread's pointer
 *   otherwise		an offset in the module's block. The thread's vector
 *			(DTV) points to the block if the thread has used the
 *			variable.
 *
 * The C library has tables for libthread_db that give the case and the layout
 * of the vector. A C library without these tables is treated as having no
 * variable.
 *
 * A vector's entry may belong to an unloaded module. The entry is right if the
 * vector is at least as new as the module.
 */
#include "preload/core/thread_context.h"

#include <link.h>
#include <string.h>

#include "preload/core/elf_tables.h"
#include "preload/core/linker.h"

#define NAME "otel_thread_ctx_v1"

/* g_thread_context: the distance from the thread pointer (int32_t). For a
 * variable outside static TLS: the module's number, the least generation of the
 * vector, and the offset in the block. */
#define IS_STATIC (1ULL << 62)
#define IS_DYNAMIC (1ULL << 63)
#define MODULE_BITS 12
#define GENERATION_BITS 30
#define PLACE_BITS 20

/* The offset field of a module outside static TLS. */
#if defined(__x86_64__)
#define NO_OFFSET 0 /* or -1 */
#else
#define NO_OFFSET (-1L) /* or -2 */
#endif

uint64_t g_thread_context;

/* --- the record ---------------------------------------------------------- */

struct __attribute__((packed, aligned(2))) context_record {
	uint8_t trace[16], span[8];
	uint8_t valid, flags;
	uint16_t data_bytes;
};

_Static_assert(sizeof(struct context_record) == 28, "OTEP 4947");

/* The program, which this code interrupts, may be changing the record. */
static bool is_valid(const struct context_record *record)
{
	__asm__ volatile("" ::: "memory");
	/* relaxed: this thread's own */
	return atom_load_rlx(&record->valid) == 1;
}

/* --- the variable -------------------------------------------------------- */

union vector {
	size_t number; /* entry -1: last module; 0: generation */
	struct {
		const char *block; /* -1: not allocated */
		void *to_free;
	} of;
};

static const union vector *own_vector(void)
{
#if defined(__x86_64__)
	return ((const union vector *const *)__builtin_thread_pointer())[1];
#else
	return ((const union vector *const *)__builtin_thread_pointer())[0];
#endif
}

/* Returns this thread's variable; NULL if the thread has not used it. */
static const struct context_record *const *own_variable(uint64_t where)
{
	uint64_t place = where & ((1ULL << PLACE_BITS) - 1);
	uint64_t generation =
		where >> PLACE_BITS & ((1ULL << GENERATION_BITS) - 1);
	uint64_t module = where >> (PLACE_BITS + GENERATION_BITS) &
			  ((1ULL << MODULE_BITS) - 1);
	const union vector *vector;

	if (where & IS_STATIC)
		return (const void *)((const char *)__builtin_thread_pointer() +
				      (int32_t)where);
	vector = own_vector();
	if (!vector || module > vector[-1].number ||
	    vector[0].number < generation ||
	    (intptr_t)vector[module].of.block == -1)
		return NULL;
	return (const void *)(vector[module].of.block + place);
}

bool thread_context_look(struct trace_ids *out)
{
	/* relaxed: as in thread_context_read() */
	uint64_t where = atom_load_rlx(&g_thread_context);
	const struct context_record *const *variable =
		where ? own_variable(where) : NULL;
	const struct context_record *record;
	struct trace_ids ids;

	/* relaxed: this thread's own */
	record = variable ? atom_load_rlx(variable) : NULL;
	if (!record || !is_valid(record))
		return false;
	__asm__ volatile("" ::: "memory");
	memcpy(ids.trace, record->trace, sizeof(ids.trace));
	memcpy(ids.span, record->span, sizeof(ids.span));
	if (!is_valid(record) || !trace_ids_are_set(&ids))
		return false;
	*out = ids;
	return true;
}

/* --- the search ----------------------------------------------------------- */

struct field {
	uint32_t bits, count, at;
};

/* Sets *@out to the field of @of that @table of @libc describes. Returns false
 * if the table is missing or of another size. */
static bool read_field(const struct elf_tables *libc, const char *table,
		       const void *of, uint64_t *out)
{
	const struct field *field = elf_tables_find(libc, table);

	if (!field || !of || field->bits != 8 * sizeof(*out))
		return false;
	memcpy(out, (const char *)of + field->at, sizeof(*out));
	return true;
}

/* The dynamic linker's list of TLS modules. */
struct slots {
	size_t count;
	const struct slots *next;
	struct {
		size_t generation;
		const struct link_map *map;
	} slot[];
};

/* Sets *@out to the generation of module @number, @map. Returns false if
 * unknown. */
static bool find_generation(const struct elf_tables *libc,
			    const struct link_map *map, uint64_t number,
			    uint64_t *out)
{
	struct elf_tables linker;
	const struct slots *slots;
	uint64_t list;

	if (!linker_tables(&linker) ||
	    !read_field(libc,
			"_thread_db_rtld_global__dl_tls_dtv_slotinfo_list",
			elf_tables_find(&linker, "_rtld_global"), &list))
		return false;
	for (slots = (const void *)list; slots; slots = slots->next) {
		if (number >= slots->count) {
			number -= slots->count;
			continue;
		}
		*out = slots->slot[number].generation;
		return slots->slot[number].map == map;
	}
	return false;
}

/* Returns the place of a variable outside static TLS; 0 if unknown. */
static uint64_t place_in_block(const struct elf_tables *libc,
			       const struct link_map *map, uint64_t module,
			       const ElfW(Sym) * variable)
{
	uint64_t generation;

	if (module >> MODULE_BITS || variable->st_value >> PLACE_BITS ||
	    !find_generation(libc, map, module, &generation) ||
	    generation >> GENERATION_BITS)
		return 0;
	return IS_DYNAMIC | module << (PLACE_BITS + GENERATION_BITS) |
	       generation << PLACE_BITS | variable->st_value;
}

/* Returns the place of @map's variable; 0 if none or unknown. Skips modules
 * without thread-local variables: their files may have been truncated. */
static uint64_t find_in(const struct elf_tables *libc,
			const struct link_map *map)
{
	const ElfW(Sym) * variable;
	uint64_t module, offset;
	struct elf_tables tables;
	int64_t distance;

	if (!read_field(libc, "_thread_db_link_map_l_tls_modid", map,
			&module) ||
	    !module ||
	    !read_field(libc, "_thread_db_link_map_l_tls_offset", map, &offset))
		return 0;
	elf_tables_of(&tables, map);
	variable = elf_tables_find_tls(&tables, NAME);
	if (!variable)
		return 0;
	if (offset == (uint64_t)NO_OFFSET ||
	    offset == (uint64_t)(NO_OFFSET - 1))
		return place_in_block(libc, map, module, variable);
#if defined(__x86_64__)
	offset = -offset;
#endif
	distance = (int64_t)(offset + variable->st_value);
	return distance == (int32_t)distance ? IS_STATIC | (uint32_t)distance
					     : 0;
}

void thread_context_find(void)
{
	const struct link_map *map = linker_libc();
	struct elf_tables libc;
	uint64_t place = 0;

	if (!map)
		return;
	elf_tables_of(&libc, map);
	for (map = linker_first(); map && !place; map = map->l_next)
		place = find_in(&libc, map);
	/* relaxed: the word says all */
	atom_store_rlx(&g_thread_context, place);
}

bool thread_context_forget(void)
{
	/* relaxed, both: the word says all */
	if (!atom_load_rlx(&g_thread_context))
		return false;
	atom_store_rlx(&g_thread_context, 0);
	return true;
}
