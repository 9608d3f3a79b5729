# SPDX-License-Identifier: Apache-2.0
#
# The same without CPU samples, when other events bring the switches, and with
# samples of the other engine.
. "$TOP/tests/e2e/lib.sh"
. "$TOP/tests/e2e/lib/waits.sh"

options=--cpu=off
families cpus split overcommitted swaps
families locks convoy
families tasks pipe
options=--cpu=997,signal
families cpus sleeper
