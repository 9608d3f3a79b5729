# SPDX-License-Identifier: Apache-2.0
#
# Completion of perfrec and perfrec-collect for fish. The lines are made of
# collector/options/opts.def (scripts/completion.awk).

#@LINES@
