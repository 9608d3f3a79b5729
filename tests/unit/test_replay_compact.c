/* SPDX-License-Identifier: Apache-2.0
 *
 * test_replay_compact - all tests of test_replay.c, with what replay writes in
 * the compact form: made packets again, it must be the same. Each restart
 * point must have what is open by the packets before it.
 */
#define REPLAY_TEXT_COMPACT
#include "tests/unit/test_replay.c"
