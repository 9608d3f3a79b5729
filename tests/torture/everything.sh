#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# everything.sh [RUNS [CONFIGURATION...]] - records everything.cc RUNS (5) times
# in each of eight configurations. Each run must end with its usual exit status and
# output, and leave a complete recording. O is the build directory.
set -u
O=$(cd "${O:-build}" && pwd)
runs=${1:-5}
[ $# -eq 0 ] || shift
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
mkdir -m 700 run
export XDG_RUNTIME_DIR="$work/run" PERFREC_DEADLINE_MS=20000
dir=$O/tests/torture
bad=0 done=0

# options CONFIGURATION: prints options of perfrec record.
options()
{
	case $1 in
	block) echo --on-full=block --ring-size=64K ;;
	drop) echo --on-full=drop --ring-size=64K ;;
	exact) echo --alloc=exact --compress ;;
	sampled) echo --alloc=sampled:4096 --cpu=1000 ;;
	signal) echo --alloc=exact --cpu=1000,signal ;;
	overhead) echo --overhead=1% --no-cache --alloc=sampled:64K ;;
	filters) echo --exclude=leaf* --exclude=*alloc* --depth=6 \
		--count=keep_errno* --cpu=250,signal ;;
	wrapped) echo --alloc=exact --on-full=drop ;;
	esac
}

# say_bad CONFIGURATION RUN WHAT: reports a failure with the run's output.
say_bad()
{
	echo "$1, run $2: $3"
	head -n 5 err
	diff plain.out out | head -n 5
	bad=$((bad + 1))
}

# try CONFIGURATION RUN
try()
{
	set -f
	# shellcheck disable=SC2046 # several options, with globs
	set -- "$1" "$2" $(options "$1")
	set +f
	name=$1 run=$2
	shift 2
	rm -rf data
	preload=
	rseq=
	[ $name != wrapped ] || preload=$dir/wrap_preload.so rseq=off
	LD_PRELOAD=$preload PERFREC_RSEQ=$rseq timeout -s KILL 120 \
		"$O/perfrec" record -q -o data "$@" -- \
		"$dir/everything" "$dir/everything_plugin.so" twice >out 2>err
	status=$?
	done=$((done + 1))
	[ $status = 7 ] || say_bad $name $run "status $status, not 7"
	cmp -s plain.out out || say_bad $name $run 'other output'
	[ -s data/summary.json ] || say_bad $name $run 'no summary.json'
}

timeout -s KILL 120 "$dir/everything" "$dir/everything_plugin.so" twice \
	>plain.out 2>err
[ $? = 7 ] || {
	echo 'everything fails without perfrec'
	cat err
	exit 1
}
[ $# -gt 0 ] ||
	set -- block drop exact sampled signal overhead filters wrapped
for name in "$@"; do
	[ "$(options "$name")" ] || { echo "no configuration '$name'"; exit 2; }
	i=0
	while [ $i -lt "$runs" ]; do
		i=$((i + 1))
		try "$name" $i
	done
done
echo "torture: $done runs of everything, $bad bad"
[ $bad = 0 ]
