# SPDX-License-Identifier: Apache-2.0
#
# lib.sh - attacks on the daemon that listens at ./perfrec.sock, and the victim,
# for run.sh and for tests/e2e/daemon/victims.sh. Needs fail(), wait_for() and
# $O; works in the current folder.

ATTACKS_ALL='silent linger storm hellos ctl mappings children arenas forks scribble
	claim fill threads slices names loads tables mangled lease held fault'
ROUNDS=300 # of the victim

hostile()
{
	timeout -s KILL 120 nice -n "${ATTACK_NICE:-0}" "$O/tests/attacks/hostile" perfrec.sock "$@"
}

# attack NAME: until the end of stdin. "ready" on stdout.
attack()
{
	case $1 in
	silent) hostile silent 400 again ;;
	linger) hostile linger 40 ;;
	hellos) hostile hellos 1 ;;
	ctl) hostile ctl 2 ;;
	mappings) hostile mappings 8 ;;
	children) hostile children 8 ;;
	forks) hostile forks 1100 ;;
	claim) hostile claim 8 ;;
	fill) hostile fill 2 ;;
	slices) hostile slices "${SLICES:-1000000}" ;;
	lease) hostile lease 3 ;;
	held) held ;;
	tables) hostile tables files 8 ;;
	mangled) hostile mangled files ;;
	storm | scribble) again "$1" ;;
	*) hostile "$1" ;;
	esac
}

# again NAME: an attack that ends, until stop_attack().
again()
{
	echo ready
	seed=0
	until [ -e attack.over ]; do
		seed=$((seed + 1))
		hostile "$1" 24 $seed 2>/dev/null
	done
}

# held: a file system that never answers the collector has a file which is called
# as the memory of a process.
held()
{
	mkdir -p files/source files/1
	: >files/source/mem
	"$O/tests/tools/hang_fs" files/source files/1 >files/fs.out &
	set -- $!
	until grep -q ready files/fs.out; do
		kill -0 "$1" 2>/dev/null || return 77
		sleep 0.05
	done
	hostile held files/1/mem
	set -- "$1" $?
	kill "$1"
	wait "$1"
	return "$2"
}

# start_attack NAME: in $attacker, when it has its effect. False: this machine
# does not permit it.
attacker=
start_attack()
{
	rm -rf attack.over attack.hold attack.out attack.err files
	mkdir files
	mkfifo attack.hold
	: >attack.out
	attack "$1" <attack.hold >attack.out 2>attack.err &
	attacker=$!
	# again() is a shell: the programs that it starts inherit the value.
	[ -z "${ATTACK_NICE-}" ] ||
		renice -n "$ATTACK_NICE" -p "$attacker" >attack.renice
	exec 6>attack.hold
	wait_for 100 is_ready_or_over
	grep -q ready attack.out
}
is_ready_or_over()
{
	grep -q ready attack.out || ! kill -0 "$attacker" 2>/dev/null
}

stop_attack()
{
	: >attack.over
	exec 6>&-
	wait "$attacker"
	attack_status=$?
	attacker=
}
