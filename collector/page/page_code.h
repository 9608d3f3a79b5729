/* SPDX-License-Identifier: Apache-2.0
 *
 * page_code - the machine code of the functions with the most CPU time of their
 * own, with the values of each instruction.
 */
#ifndef PERFREC_COLLECTOR_PAGE_PAGE_CODE_H
#define PERFREC_COLLECTOR_PAGE_PAGE_CODE_H

#include "collector/page/page_columns.h"
#include "collector/page/page_data.h"

/* Writes the columns of machine code of the recording in @dir, after all sums
 * were added. Reads the files of its modules, which may take seconds. Returns 0,
 * or -errno after one line, or -ENOMEM. */
int page_code_put(struct page_data *data, const char *dir,
		  struct page_columns *columns);

#endif
