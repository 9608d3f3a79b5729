/* SPDX-License-Identifier: Apache-2.0
 *
 * test_replay_lazy_compact - runs test_replay_lazy.c in the compact form.
 */
#define REPLAY_TEXT_COMPACT
#include "tests/unit/replay/test_replay_lazy.c"
