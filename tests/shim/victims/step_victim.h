/* SPDX-License-Identifier: Apache-2.0
 *
 * step_victim - the made-up function addresses of step_victim's records.
 */
#ifndef PERFREC_TESTS_SHIM_STEP_VICTIM_H
#define PERFREC_TESTS_SHIM_STEP_VICTIM_H

#define STEP_OUTER 0x100000 /* + k: the interrupted hook */
#define STEP_INNER 0x200000 /* + k: the handler at step k */
#define STEP_AFTER 0x300000 /* + k: after step k */
#define STEP_BETWEEN 0x400000 /* enter hook before, exit hook after */
#define STEP_PAD 0x500000
#define STEP_MAX 0x100000

#endif
