# SPDX-License-Identifier: Apache-2.0
#
# The collector and its helpers inherit the limits of the shell that starts perfrec:
# recording works, or a line names the limit to raise.
. "$TOP/tests/e2e/lib.sh"
. "$TOP/tests/e2e/lib/surroundings.sh"
build_calls
# below LIMIT REGEX: recording works, or the line matches; "" for REGEX: it works.
# Messages go through a pipe, because the limit also holds for a file.
below()
{
	set -- "$1" "$2" sh -c "(ulimit $1 || exit 99; exec \"\$@\") 2>&1 |
		cat >&2" sh "$PERFREC" record -q --cpu 250 --alloc exact -o data ./calls 1000
	limit=$1 regex=$2
	shift 2
	if [ "$regex" ]; then
		in_words "ulimit $limit" "$regex" "$@"
	else
		works "ulimit $limit" "$@"
	fi
}
below '-n 6' 'Too many open files'
below '-n 8' 'ulimit -n'
below '-n 12' 'ulimit -n'
below '-n 16' 'ulimit -n'
below '-n 24' 'too many files are open .see ulimit -n.|raise ulimit -n'
below '-n 32' 'too many files are open .see ulimit -n.|raise ulimit -n'
below '-n 256' ''
for stack in 64 256 768; do
	below "-s $stack" ''
done
below '-s unlimited' ''
below '-v 50000' 'raise ulimit -u or ulimit -v|Cannot allocate|rings'
below '-v 3000000' ''
below '-f 0' 'ulimit -f'
below '-f 4' 'ulimit -f'
below '-f 100' 'ulimit -f'
below '-c 0' ''
below '-l 0' ''

# Processes and threads: as another user than root, whom the limit does not bind.
if [ "$(id -u)" = 0 ]; then
	need setpriv prlimit
	cat >nobody.sh <<-'SCRIPT'
	exec setpriv --reuid 65534 --regid 65534 --clear-groups \
		env -u XDG_RUNTIME_DIR HOME=/nonexistent "$@"
	SCRIPT
	chmod 711 .
	mkdir -m 777 own
	cp calls own
	cd own || exit 1
	sh ../nobody.sh test -x "$PERFREC" || exit 0
	for most in 1 3 4 5 6 10 11 12 13 14; do
		rm -rf data
		in_words "ulimit -u $most" 'Resource temporarily unavailable' \
			sh ../nobody.sh prlimit --nproc=$most:$most \
			"$PERFREC" record -q --cpu 250 --alloc exact -o data \
			./calls 1000
	done
fi
