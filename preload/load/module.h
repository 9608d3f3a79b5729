/* SPDX-License-Identifier: Apache-2.0
 *
 * module - what is to be told of an ELF file that ld.so has loaded.
 */
#ifndef PERFREC_PRELOAD_LOAD_MODULE_H
#define PERFREC_PRELOAD_LOAD_MODULE_H

#include <link.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/uio.h>

struct module {
	uint64_t start, end; /* of its loaded segments, whole pages */
	uint64_t bias; /* added to its virtual addresses */
	uint64_t identity; /* a hash of name and build-id */
	const char *name; /* as ld.so has it; like the id good while loaded */
	const uint8_t *build_id;
	uint32_t build_id_bytes; /* 0: none */
	const void *dynamic; /* its dynamic section; NULL: none */
	size_t dynamic_bytes;
};

/* Describe the module with @count program headers at @headers. It must stay
 * loaded meanwhile. False when it has no loaded segment. Any context. */
bool module_describe(uint64_t bias, const ElfW(Phdr) * headers, size_t count,
		     const char *name, struct module *module);

/* The module that @function, which is running, belongs to. False when that is
 * none, or not to be told from here. Any context; no lock. */
bool module_of(uint64_t function, struct module *module);

/* True when @handle, as dlopen() returns it, is that of the module that lies at
 * @address. Looks at nothing of either. Any context; no lock. */
bool module_is(uint64_t address, const void *handle);

/* True when the file of @module, which must stay loaded, has no name, or is not
 * to be found any more where ld.so found it. A system call. */
bool module_is_gone(const struct module *module);

/* Where the bytes of its dynamic symbols and of their names are: two ranges,
 * which may not be there any more if its file was cut off. False when that is
 * not known. A system call. */
bool module_names(const struct module *module, struct iovec out[2]);

#endif
