/* SPDX-License-Identifier: Apache-2.0
 *
 * kernel_names - the functions of the running kernel, by address: /proc/kallsyms.
 * The kernel shows its addresses to few users (kernel.kptr_restrict). They are a
 * secret that protects it, so they stay in memory: callers store numbers, and
 * files get names.
 */
#ifndef PERFREC_COLLECTOR_NAMES_KERNEL_NAMES_H
#define PERFREC_COLLECTOR_NAMES_KERNEL_NAMES_H

#include <stdbool.h>
#include <stdint.h>

struct kernel_names;

/* Returns true if the kernel shows its addresses to this process. Reads some
 * lines. Any thread. */
bool kernel_names_are_shown(void);
/* Returns true if one of the first lines of the file at @fd, in the form of
 * /proc/kallsyms, has an address above 0. */
bool kernel_names_has_addresses(int fd);

/* Returns the functions of /proc/kallsyms, which the first call reads: some
 * 70 ms and 5 MB. They stay until the process ends, with the same numbers. NULL:
 * not shown, or no memory. Any thread. */
const struct kernel_names *kernel_names_shared(void);

/* Makes a table of the file at @fd, in the form of /proc/kallsyms. Returns 0, and
 * the caller frees *@out with kernel_names_free(); -EPERM if it has no addresses,
 * -EBADMSG for another form, -ENOMEM, or -errno of read(). */
int kernel_names_read(int fd, struct kernel_names **out);
/* Accepts NULL, and clears *@names. */
void kernel_names_free(struct kernel_names **names);

/* Returns the number of the function at @address, or 0 if it is unknown. */
uint32_t kernel_names_find(const struct kernel_names *names, uint64_t address);
/* Returns the name of function @number, from kernel_names_find(), or "[unknown]"
 * for 0. Owned by @names. */
const char *kernel_names_name(const struct kernel_names *names,
			      uint32_t number);
/* Returns its module: "[kernel.kallsyms]", or "[NAME]" of a loaded module. */
const char *kernel_names_module(const struct kernel_names *names,
				uint32_t number);

#endif
