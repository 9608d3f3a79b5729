# SPDX-License-Identifier: Apache-2.0
"""often - how often a tool tries at random: make check-ranges has it try more."""
import os


def often(text):
    """The number of an option, times $RANGES: a type for argparse."""
    return int(text) * int(os.environ.get("RANGES", "1"))
