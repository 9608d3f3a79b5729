/* SPDX-License-Identifier: Apache-2.0
 *
 * module - an ELF file that ld.so has loaded, as the map log tells it.
 */
#ifndef PERFREC_PRELOAD_LOAD_MODULE_H
#define PERFREC_PRELOAD_LOAD_MODULE_H

#include <link.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/uio.h>

struct module {
	uint64_t start, end; /* of its loaded segments, whole pages */
	uint64_t text_start, text_end; /* of the executable ones */
	uint64_t bias; /* added to its virtual addresses */
	uint64_t identity; /* a hash of name and build-id */
	const char *name; /* ld.so's; like build_id it is there while loaded */
	const uint8_t *build_id;
	uint16_t build_id_bytes; /* 0: none */
	bool entry_build; /* it has the note of one (shared/entry_build.h) */
	const void *dynamic; /* its dynamic section; NULL: none */
	size_t dynamic_bytes;
};

/* Fill @module for the one that has @count program headers at @headers, and
 * @bias and @name. It must stay loaded meanwhile. False when it has no loaded
 * segment. Any context. */
bool module_describe(uint64_t bias, const ElfW(Phdr) * headers, size_t count,
		     const char *name, struct module *module);

/* Fill @module for the one that @function, which is running, belongs to. False
 * when it belongs to none, or that cannot be seen from here. Any context; no
 * lock. */
bool module_of(uint64_t function, struct module *module);

/* True when @handle is what dlopen() returned for the module that lies at
 * @address. Reads the memory of neither. Any context; no lock. */
bool module_is(uint64_t address, const void *handle);

/* True when the file of @module is not where ld.so found it any more, or will
 * soon not be. The module must stay loaded. Makes a system call. */
bool module_is_gone(const struct module *module);

/* Fill @out with two ranges: the module's dynamic symbols, and their names. If
 * its file was cut off they may not be there to be read. False when they are
 * not known. Makes a system call. */
bool module_names(const struct module *module, struct iovec out[2]);

#endif
