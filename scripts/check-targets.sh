#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# check-targets.sh [TARGET...] - run each target of the Makefile (or these) once, with
# small counts, in the build directory O, and list each target that no gate can run,
# with the reason. A target without a row in the table fails, so no target can rot
# unseen. Ends with the sum: "N passed, N failed".
set -u

O=${O:-build}
# shellcheck source=scripts/test-times.sh
. scripts/test-times.sh

# TARGET run [VARIABLE...]: make runs it. TARGET in COMMAND: another target, or the
# gate, has run it. TARGET left REASON: nobody runs it here.
table="
all              in check-programs
check            in check-full, which runs more
check-full       in the gate
check-all        in check-full
check-programs   in check-full
check-targets    in check-full
check-suites     in check-full
check-unit       in check-suites
check-shim       in check-suites
check-fuzz       in check-full
check-e2e        in check-full
check-torture    in check-full
check-page       in check-full
check-bench      run
check-fast       left its tests are part of check-full
unit-tests       in check-programs
shim-tests       in check-programs
e2e-programs     in check-programs
fuzz-targets     in check-programs
tsan-tests       in the gate, by check-tsan
record-demo      in the gate, by check-asan
check-asan       in the gate
check-tsan       in the gate
lint             in the gate
lint-all         in lint
lint-fast        in lint
lint-cppcheck    in lint
lint-tidy        in lint
lint-web         in lint, where npm is installed
format           left rewrites the sources; lint compares them with its result
help             run
demo             run
completion       run
install          run PREFIX=/usr DESTDIR=$O/check-targets/root
uninstall        run PREFIX=/usr DESTDIR=$O/check-targets/root
clean            run O=$O/check-targets/empty
deb              run
check-deb        left debootstrap downloads a Debian
check-kill       run KILLS=5
check-ranges     run RANGES=1
check-whom       left it takes ten minutes; e2e/waits/whom* run each kind once
check-what-if    left its figures need idle CPUs; unit tests have the replay
torture          run RUNS=1
check-flips      run FLIPS_ROUNDS=100
check-diff       run DIFF_ROUNDS=1
check-soak       run SOAK_SECONDS=5
check-stress     run STRESS_SECONDS=1
check-loop       left runs until a test fails; its parts are in check-full
fuzz             left its new inputs differ each time; check-fuzz runs the corpora
check-arm64      run
attacks          run ATTACKS=silent PAIRS=1
coverage         left half an hour: check-full in a build by clang
check-push       left npm downloads servers
check-viewers    left npm downloads viewers
check-page-real  left downloads the sources of Lua and SQLite
page-picture     left makes pictures, which differ each time
page-look        left five minutes; makes pictures for a person
check-real       left downloads the sources of real programs
check-patch      left installs real programs; e2e/patch has a part of it
check-nptl       left downloads the sources of glibc
check-real-overhead left downloads the sources of real programs
real-tools       in check-programs
check-truth      left downloads sources; e2e/overhead/truth has a part of it
bench            left an hour; check-bench starts its programs
bench-quick      left ten minutes; check-bench starts its programs
bench-overhead   left downloads the sources of real programs
bench-true-time  left downloads the sources of real programs
bench-budget     left downloads the sources of real programs
bench-flight     left minutes of rounds; check-bench starts its programs
bench-large      left 10 GB and 20 minutes; check-bench starts its programs
bench-page       left 2.3 GB; check-bench starts its programs
bench-locks      run LOCKS=2
bench-patch      run PATCH=200000
bench-push       left three minutes of windows; check-bench starts its programs
bench-push-away  left half an hour; check-bench starts its programs
"

results=$(mktemp) || exit 1
trap 'rm -rf "$results" "$O/check-targets"' EXIT
mkdir -p "$O/check-targets"

# One target, in a shell of its own: "time_end" counts the CPU time of its children.
run_target()
(
	time_begin
	# Quotes in a row hold several words together.
	eval "set -- $*"
	log=$O/check-targets/$1.log
	${MAKE:-make} --no-print-directory O="$O" "$@" >"$log" 2>&1 </dev/null
	status=$?
	time_end "make $1"
	if [ $status -eq 0 ]; then
		echo "ok     make $*, $seconds s" | tee -a "$results"
	else
		echo "not ok make $*: exit status $status" | tee -a "$results"
		tail -n 40 "$log" | sed 's/^/    | /'
	fi
)

chosen=" $* "
echo "$table" | while read -r target how rest; do
	case $chosen in
	*" $target "* | '  ') ;;
	*)	continue ;;
	esac
	case $how in
	run)	run_target "$target" "$rest" ;;
	in)	[ $# -eq 0 ] || echo "left   make $target: in $rest" ;;
	left)	echo "left   make $target: $rest" ;;
	esac
done

left=$(find "$O/check-targets/root" ! -type d 2>/dev/null)
if [ -n "$left" ]; then
	echo "not ok make uninstall leaves $left" | tee -a "$results"
fi
for target in $(${MAKE:-make} -prnRq O="$O" : 2>/dev/null |
		sed -n 's/^\.PHONY: //p'); do
	echo "$table" | grep -q "^$target  *[ril]" && continue
	[ "$target" = FORCE ] ||
		echo "not ok make $target: no row in scripts/check-targets.sh" |
			tee -a "$results"
done

awk '/^ok/ { passed++ } /^not ok/ { failed++ }
	END { printf "%d passed, %d failed\n", passed, failed; exit failed || !passed }' "$results"
