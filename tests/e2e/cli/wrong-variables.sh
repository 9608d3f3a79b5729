# SPDX-License-Identifier: Apache-2.0
#
# Wrong variables of the environment: perfrec record refuses them before the
# program starts. A program that is attached to a collector runs, and its first
# process prints one line with the error and the value in use.
. "$TOP/tests/e2e/lib.sh"
. "$TOP/tests/e2e/lib/daemon.sh"

build_calls
long=$(printf "%0300d" 0 | tr 0 x)
control=$(printf 'a\033[31m\nb')

# refused VARIABLE VALUE WANT SHOWN
refused()
{
	run env "$1=$2" "$PERFREC" record -o data ./calls 10
	expect_error 2 "^perfrec: error: the variable $1 is '$4': give $3, or unset it$"
	expect_none data
}
while read -r variable value want; do
	refused "$variable" "$value" "$want" "$value"
done <<-'END'
	PERFREC_RING_KB foo a number from 64 to 262144
	PERFREC_RING_KB 63 a number from 64 to 262144
	PERFREC_RING_KB 262145 a number from 64 to 262144
	PERFREC_RING_KB 4M a number from 64 to 262144
	PERFREC_RING_KB -1 a number from 64 to 262144
	PERFREC_RING_KB 0x100 a number from 64 to 262144
	PERFREC_RING_KB 18446744073709551680 a number from 64 to 262144
	PERFREC_SLOTS 0 a number from 1 to 65536
	PERFREC_SLOTS 1.5 a number from 1 to 65536
	PERFREC_FUNCTIONS all a number from 0 to 262144
	PERFREC_FUNCTIONS 262145 a number from 0 to 262144
	PERFREC_DEADLINE_MS 1s a number from 1 to 60000
	PERFREC_DEADLINE_MS 60001 a number from 1 to 60000
	PERFREC_RSEQ no on or off
	PERFREC_INHERIT no on or off
END
refused PERFREC_SLOTS ' 8' 'a number from 1 to 65536' ' 8'
refused PERFREC_SLOTS "$control" 'a number .*' 'a[?]\[31m[?]b'
refused PERFREC_SLOTS "$long" 'a number .*' 'x{63}'

# Two are two lines.
run env PERFREC_SLOTS=0 PERFREC_RSEQ=0 "$PERFREC" record -o data ./calls 10
expect_status 2
expect_eq 'lines' "$(wc -l <err)" 2
# Variables that are unset, overridden or right cause no message.
for variable in PERFREC_RING_KB=64 PERFREC_RING_KB=262144 PERFREC_RING_KB= \
	PERFREC_SLOTS=1 PERFREC_DEADLINE_MS= PERFREC_DEADLINE_MS=60000 \
	PERFREC_RSEQ=on PERFREC_RSEQ=off PERFREC_RSEQ= PERFREC_DISABLE=foo \
	PERFREC_QUIET=; do
	run_ok env "$variable" "$PERFREC" record -q -o data ./calls 10
	[ ! -s err ] || fail "$variable: $(cat err)"
	expect_eq "$variable: spans" "$(json data/summary.json .totals.spans)" 12
done
run_ok env PERFREC_RING_KB=foo "$PERFREC" record -q --ring-size 64K -o data ./calls

# --- the collector's own: without source lines the recording is as good
run_ok env PERFREC_SYMBOLIZE=/no/such "$PERFREC" record -q -o data ./calls 10
expect_match err "no source lines .* cannot start '/no/such': No such file or \
directory; see PERFREC_SYMBOLIZE$"
expect_no_match err 'install perfrec'
run env PERFREC_SYMBOLIZE= "$PERFREC" record -q -o data ./calls 10
[ ! -s err ] || fail "PERFREC_SYMBOLIZE=: $(cat err)"

# --- attached ----------------------------------------------------------------
start_daemon --alloc=exact
# attached VARIABLE VALUE LINE: one for all processes.
attached()
{
	run env LD_PRELOAD="$SHIM" "$1=$2" \
		sh -c './calls 10; ./calls 10; ./calls 10 7; exit $?'
	expect_status 7
	expect_eq "$1=$2: line" "$(cat err)" "perfrec: $1 $3"
}
attached PERFREC_RING_KB foo \
	"'foo' should be a number from 64 to 262144: it is taken for 4096"
attached PERFREC_RING_KB 1 \
	"'1' should be a number from 64 to 262144: it is taken for 64"
attached PERFREC_SLOTS 99999999999 \
	"'99999999999' should be a number from 1 to 65536: it is taken for 65536"
attached PERFREC_SLOTS "$control" \
	"'a?[31m?b' should be a number from 1 to 65536: it is taken for 8192"
attached PERFREC_RSEQ "$long" "'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx' \
should be on or off: it is taken for on"
for variable in PERFREC_RING_KB= PERFREC_SLOTS=8 PERFREC_RSEQ=on; do
	run env LD_PRELOAD="$SHIM" "$variable" ./calls 10
	[ ! -s err ] || fail "$variable: $(cat err)"
done
run env LD_PRELOAD="$SHIM" PERFREC_QUIET=1 PERFREC_SLOTS=foo ./calls 10
[ ! -s err ] || fail "quiet: $(cat err)"
stop_daemon
