/* SPDX-License-Identifier: Apache-2.0
 *
 * PAGE_TEMPLATE is the path of the file that make has assembled.
 */
#include "collector/page/page_template.h"

__asm__(".pushsection .rodata\n"
	".globl page_template\n"
	"page_template:\n"
	".incbin \"" PAGE_TEMPLATE "\"\n"
	".byte 0\n"
	".popsection\n");
