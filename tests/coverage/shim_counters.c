/* SPDX-License-Identifier: Apache-2.0
 *
 * shim_counters - counts for `make coverage` in the shim, which cannot have the
 * runtime of clang: it would import what a program may define. A constructor
 * maps a file that scripts/coverage.sh has made, SHIM_COUNTERS, and the
 * counters of all processes are in there, so nothing is written at an end, and
 * no end can lose them. Where there is no such file, counters stay in the
 * process.
 */
#include <fcntl.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "preload/core/sys.h"

/* The linker has both; and clang adds the last to the address of each counter
 * (-runtime-counter-relocation). */
extern char __start___llvm_prf_cnts[] __attribute__((visibility("hidden")));
extern char __stop___llvm_prf_cnts[] __attribute__((visibility("hidden")));
extern intptr_t __llvm_profile_counter_bias
	__attribute__((visibility("hidden")));
intptr_t __llvm_profile_counter_bias;

/* Before the shim's other constructors. */
__attribute__((constructor(101))) static void share_counters(void)
{
	long bytes = __stop___llvm_prf_cnts - __start___llvm_prf_cnts;
	long fd = sys6(SYS_openat, AT_FDCWD, (long)SHIM_COUNTERS,
		       O_RDWR | O_CLOEXEC, 0, 0, 0);
	long map;

	if (sys_failed(fd))
		return;
	map = sys6(SYS_mmap, 0, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
		   0);
	sys6(SYS_close, fd, 0, 0, 0, 0, 0);
	if (!sys_failed(map))
		__llvm_profile_counter_bias =
			map - (long)__start___llvm_prf_cnts;
}
