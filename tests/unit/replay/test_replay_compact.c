/* SPDX-License-Identifier: Apache-2.0
 *
 * test_replay_compact - runs test_replay.c in the compact form. Converted to
 * packets, the events must be the same. Each restart point must match the open
 * slices of the packets before it.
 */
#define REPLAY_TEXT_COMPACT
#include "tests/unit/replay/test_replay.c"
