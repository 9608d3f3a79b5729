/* SPDX-License-Identifier: Apache-2.0
 *
 * unwind_cfi - checks the call frame information of a function before libunwind
 * reads it. It is hostile, and libunwind has assertions on it and follows its
 * loops. Accepts only the output of compilers.
 *
 * Format: the LSB's .eh_frame, DWARF 5 section 6.4 for instructions and 2.5 for
 * expressions. Any thread.
 */
#ifndef PERFREC_COLLECTOR_NAMES_UNWIND_CFI_H
#define PERFREC_COLLECTOR_NAMES_UNWIND_CFI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Limit for an .eh_frame without a table. */
#define CFI_FRAMES_MAX (16u << 20)

struct cfi_reader {
	/* Copies @bytes at virtual address @vaddr; false: not all are there. */
	bool (*read)(void *context, uint64_t vaddr, void *out, size_t bytes);
	void *context;
};

enum cfi_verdict {
	CFI_BAD, /* not for libunwind */
	CFI_GOOD,
	CFI_SIGNAL, /* good, and returns from a signal handler */
};

/* Sorted pairs of int32_t, relative to the header: function, description. */
struct cfi_table {
	uint64_t vaddr;
	uint32_t count; /* unverified */
};

struct cfi_range {
	uint64_t start, end;
};

/* Unless it returns CFI_BAD, *@range is the code of the entry @fde. */
enum cfi_verdict unwind_cfi_check(const struct cfi_reader *reader, uint64_t fde,
				  struct cfi_range *range);
/* Finds only the code of the entry. Returns false if it is malformed. */
bool unwind_cfi_range(const struct cfi_reader *reader, uint64_t fde,
		      struct cfi_range *range);

/* An instruction of a frame description. */
struct cfi_step {
	uint64_t at; /* the first code that it holds for */
	uint8_t op; /* DW_CFA_*; without the operand in the low six bits */
	uint64_t operand[2]; /* offsets in bytes; 0 if it has none */
};

/* Calls @take for each instruction except advances and no-ops: first those of
 * the common entry, then those of @fde. Ends early when @take returns false.
 * Returns false if the entry is CFI_BAD or CFI_SIGNAL, or if its factors are
 * not those of x86-64 compilers, 1 and -8. */
bool unwind_cfi_steps(const struct cfi_reader *reader, uint64_t fde,
		      bool (*take)(void *context, const struct cfi_step *step),
		      void *context);

/* Finds the first entry with code from *@at on, in an .eh_frame that ends at
 * @end, and moves *@at behind it. Returns false at the end. */
bool unwind_cfi_next(const struct cfi_reader *reader, uint64_t end,
		     uint64_t *at, uint64_t *fde, struct cfi_range *range);
/* Returns false for other kinds of tables, which linkers do not write. */
bool unwind_cfi_table(const struct cfi_reader *reader, uint64_t header,
		      struct cfi_table *table);

#endif
