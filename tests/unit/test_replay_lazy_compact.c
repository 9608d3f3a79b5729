/* SPDX-License-Identifier: Apache-2.0
 *
 * test_replay_lazy_compact - test_replay_lazy.c in the compact form, as
 * test_replay_compact.c.
 */
#define REPLAY_TEXT_COMPACT
#include "tests/unit/test_replay_lazy.c"
