# SPDX-License-Identifier: Apache-2.0
#
# waits.sh - recordings of programs that know what their waits were
# (tests/progs/waits), sourced after lib.sh.

WAITS=$O/tests/progs/waits

need python3 jq

# perf_permitted: by the kernel, here, and not only by what perfrec says.
perf_permitted()
{
	"$WAITS/cpus" probe >/dev/null
}

# waits_record DIR PROGRAM ARGUMENT...: records PROGRAM of tests/progs/waits with
# the options in $options; what is true of it is in ./out.
waits_record()
{
	dir=$1
	program=$2
	shift 2
	# shellcheck disable=SC2086 # a list of options
	run "$PERFREC" record -q $options -o "$dir" "$WAITS/$program" "$@"
	expect_status 0
	cp out "$dir.truth"
}
options=

# waits_agree DIR [OPTION...]: of waits_check.py. The recording is true.
waits_agree()
{
	dir=$1
	shift
	python3 "$TOP/tests/tools/waits_check.py" "$@" "$dir/summary.json" \
		"$dir.truth" || fail "$dir: it is not as the program says"
}

# families PROGRAM FAMILY...: each is recorded, and agrees.
families()
{
	program=$1
	shift
	perf_permitted || sums=--sums
	for family in "$@"; do
		waits_record "$family" "$program" "$family"
		# shellcheck disable=SC2086 # no word, or one
		waits_agree "$family" $sums
	done
}
sums=
