# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
#
# Sourced by true_time.sh and truth.sh: builds $programs, plain and with hooks,
# and goes to a new folder with their input files. $top is the folder of the
# sources, $statements how many rows SQLite gets in long runs, $texts how many
# copies of the sources are compressed.
# Sets $O (the build directory), $dir (the programs), $run (a command in front).

O=$(cd "${O:-$top/build}" && pwd)
dir=${REAL_DIR:-$O/real}/overhead
command -v python3 >/dev/null || {
	echo "$0: needs python3: left out" >&2
	exit 0
}

work=$(mktemp -d "$O/bench-sampled.XXXXXX")
trap 'cd /; rm -rf "$work"' EXIT
trap 'exit 1' INT TERM
for variable in $(env | sed -n 's/^\(PERFREC_[A-Z_]*\)=.*/\1/p'); do
	unset "$variable"
done
export XDG_CACHE_HOME="$work/cache"

# Programs of one file of our own.
build_own()
{
	gcc -O2 -g -o "$dir/$1.plain" "$2" -lpthread
	for kind in entry calls; do
		"$O/perfrec" cc --hooks=$kind gcc -O2 -g \
			-o "$dir/$1.$kind" "$2" -lpthread
	done
}

mkdir -p "$dir"
for program in $programs; do
	case $program in
	loops)	build_own loops "$top/tests/bench/true_time_loops.c" ;;
	node)	! command -v node >/dev/null ||
			ln -sf "$(command -v node)" "$dir/node.plain" ;;
	rsync)	! command -v rsync >/dev/null ||
			ln -sf "$(command -v rsync)" "$dir/rsync.plain" ;;
	cc1plus) # what it compiles includes the headers of templates
		KINDS=plain sh "$top/tests/bench/overhead_build.sh" \
			"$O" "$dir" templates
		ln -sf "$(gcc -print-prog-name=cc1plus)" "$dir/cc1plus.plain" ;;
	threads) build_own threads "$top/tests/bench/truth_threads.c" ;;
	*)	KINDS='plain entry calls' sh "$top/tests/bench/overhead_build.sh" \
			"$O" "$dir" "$program" ;;
	esac
done
cd "$work"
cat "$top"/collector/*/*.c "$top"/preload/*/*.c >text
ln -s text input.few
for _ in $(seq "${texts:-1}"); do
	cat text
done >input
# rsync.before is rsync.input without every seventh line.
cat input input input input >rsync.input
mkdir rsync.before
awk 'NR % 7' rsync.input >rsync.before/rsync.input
export CPLUS_INCLUDE_PATH="$dir/include"
sh "$top/tests/real/workload.sql.sh" 400 >statements.few
sh "$top/tests/real/workload.sql.sh" "${statements:-400}" >statements

# At once, and as if alone: times are wall time, and others may be at work.
cat >alone <<'END'
echo -20 >/proc/self/autogroup
exec nice -n -20 "$@"
END
if setsid -w sh alone true 2>/dev/null; then
	run="setsid -w sh $work/alone"
elif nice -n -20 true 2>/dev/null; then
	run='nice -n -20'
else
	run=''
fi
