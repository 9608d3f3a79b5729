/* SPDX-License-Identifier: Apache-2.0
 *
 * test_annotate_general - runs test_annotate.c on the general path, in C.
 */
#define WITHOUT_RSEQ
#include "tests/shim/test_annotate.c"
