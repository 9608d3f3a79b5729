/* SPDX-License-Identifier: Apache-2.0
 *
 * module - an ELF file that ld.so has loaded, as reported in the map log.
 */
#ifndef PERFREC_PRELOAD_LOAD_MODULE_H
#define PERFREC_PRELOAD_LOAD_MODULE_H

#include <link.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/uio.h>

struct module {
	uint64_t start, end; /* loaded segments, whole pages */
	uint64_t text_start, text_end; /* executable segments */
	uint64_t bias; /* added to its virtual addresses */
	uint64_t identity; /* hash of name and build-id */
	const char *name; /* ld.so's; like build_id, valid while loaded */
	const uint8_t *build_id;
	uint16_t build_id_bytes; /* 0: none */
	bool entry_build; /* has an entry build's note */
	const void *dynamic; /* dynamic section; NULL: none */
	size_t dynamic_bytes;
};

/* Fills @module from program headers, which must stay loaded meanwhile. Returns
 * false if there is no loaded segment. Any context. */
bool module_describe(uint64_t bias, const ElfW(Phdr) * headers, size_t count,
		     const char *name, struct module *module);

/* Fills @module for the module of @function, a running function. Returns false
 * if there is none or its headers are not readable. Any context; no lock. */
bool module_of(uint64_t function, struct module *module);

/* Returns true if @handle, of dlopen(), is the module at @address. Reads the
 * memory of neither. Any context; no lock. */
bool module_is(uint64_t address, const void *handle);

/* Returns true if the file of @module, which stays loaded, is deleted or soon
 * will be. Makes a system call, except where a seccomp filter may kill the program
 * for it: there it returns false. */
bool module_is_gone(const struct module *module);

/* Sets @out to the ranges of the module's dynamic symbols and of their names;
 * they may be unreadable if its file was truncated. Returns false if unknown.
 * Makes a system call. */
bool module_names(const struct module *module, struct iovec out[2]);

#endif
