/* SPDX-License-Identifier: Apache-2.0
 *
 * module - what is to be told of an ELF file that ld.so has loaded.
 */
#ifndef PERFREC_PRELOAD_MODULE_H
#define PERFREC_PRELOAD_MODULE_H

#include <link.h>
#include <stdbool.h>
#include <stdint.h>

struct module {
	uint64_t start, end; /* of its loaded segments, whole pages */
	uint64_t bias; /* added to its virtual addresses */
	uint64_t identity; /* a hash of name and build-id */
	const char *name; /* as ld.so has it; like the id good while loaded */
	const uint8_t *build_id;
	uint32_t build_id_bytes; /* 0: none */
};

/* Describe the module with @count program headers at @headers. It must stay
 * loaded meanwhile. False when it has no loaded segment. Any context. */
bool module_describe(uint64_t bias, const ElfW(Phdr) * headers, size_t count,
		     const char *name, struct module *module);

/* The module that @function, which is running, belongs to. False when that is
 * none, or not to be told from here. Any context; no lock. */
bool module_of(uint64_t function, struct module *module);

#endif
