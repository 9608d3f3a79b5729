# SPDX-License-Identifier: Apache-2.0
#
# client-calls.awk - reads the output of `strace -f -y --decode-pids=comm`, and
# prints a line "THREAD CALL OBJECT FLAGS" for each kind of system call that the
# main thread and the drain workers of perfrec-collect made on a descriptor or a
# path that a client may have chosen, once the collector listened. Variables: pid,
# of the collector; own, its working folder.
#
# OBJECT: "/proc/PID/NAME" of another process; "memfd", "pidfd" and "socket",
# of any maker; "file", all others but the collector's own. FLAGS: the flags that
# keep the call from waiting; "O_PATH" also for a descriptor opened so. "-": none.

BEGIN {
	words = "AT_STATX_DONT_SYNC|O_PATH|O_NONBLOCK|MSG_DONTWAIT|LOCK_NB|" \
		"LOCK_UN|RESOLVE_CACHED|F_[A-Z_]+|FI[A-Z]+"
}

function is_own(path)
{
	return path ~ "^(/$|anon_inode:|pipe:|data($|/)|/sys/|/dev/|/etc/|/usr/share/zoneinfo/|" own "/)" &&
	       path !~ /pidfd/ || path ~ "^/proc($|/(self|" pid "|[a-z]+)($|/))" &&
	       path !~ "^/proc/(self|" pid ")/fd/."
}

function object_of(path)
{
	if (path ~ /^\/memfd:/)
		return "memfd"
	if (path ~ /^socket:/)
		return "socket"
	if (path ~ /pidfd/)
		return "pidfd"
	if (is_own(path))
		return ""
	if (path !~ /^\/proc\//)
		return "file"
	sub(/map_files\/.*/, "map_files/RANGE", path)
	gsub(/[0-9]+/, "N", path)
	sub(/^\/proc\/N/, "/proc/PID", path)
	return path
}

# The flags in @arguments, and those of the descriptor that they begin with.
function flags_of(arguments, found, flags)
{
	while (match(arguments, "(^|[^A-Z_])(" words ")([^A-Z_]|$)")) {
		found = substr(arguments, RSTART, RLENGTH)
		arguments = substr(arguments, RSTART + RLENGTH - 1)
		gsub(/[^A-Z_]/, "", found)
		flags = flags "," found
	}
	return substr(flags, 2)
}

# "file:..." of a descriptor, "AT_FDCWD<...>": what strace -y writes in brackets.
function path_of(argument)
{
	sub(/^[^<]*</, "", argument)
	sub(/>(\(deleted\))?$/, "", argument)
	return argument
}

# The path that @arguments of @call begin with.
function first_path(call, arguments, base, path)
{
	if (match(arguments, /^"[^"]*"/))
		return substr(arguments, 2, RLENGTH - 2)
	if (!match(arguments, /(AT_FDCWD|[0-9]+)<[^>]*>(\(deleted\))?/))
		return ""
	base = path_of(substr(arguments, RSTART, RLENGTH))
	arguments = substr(arguments, RSTART + RLENGTH)
	if (call !~ /at2?$|^statx$/ || !match(arguments, /^, "[^"]+"/))
		return base
	path = substr(arguments, 4, RLENGTH - 4)
	if (path ~ /^\// || base == own)
		return path
	return base "/" path
}

# Takes a call of the thread @who: @call with @arguments, which returned @result.
function take(who, call, arguments, result, first, flags, object)
{
	first = arguments + 0
	flags = flags_of(arguments)
	if (call ~ /^open/)
		is_path[result + 0] = flags ~ /O_PATH/
	else if (arguments ~ /^[0-9]+</ && is_path[first])
		flags = flags (flags == "" ? "" : ",") "O_PATH"
	if (call == "fcntl" && flags ~ /F_DUPFD/)
		is_path[result + 0] = is_path[first]
	if (call == "close")
		delete is_path[first]
	# A daemon, and the collector of `perfrec record`.
	if (call == "write" && arguments ~ /listening on/ || call == "accept4")
		listens = 1
	object = first_path(call, arguments)
	if (call ~ /^process_vm_|^pidfd_/)
		object = "process"
	else if (call == "memfd_create" || call == "getcwd")
		object = ""
	else if (object != "")
		object = object_of(object)
	if (who != "" && listens && object != "")
		seen[who " " call " " object " " (flags == "" ? "-" : flags)]++
}

{
	tid = $1 + 0
	who = tid == pid ? "main" : $1 ~ /<perfrec-(drain|nice)/ ? "drain" : ""
	sub(/^[0-9]+<[^>]*> +/, "")
	if (/<unfinished \.\.\.>$/) {
		sub(/ *<unfinished \.\.\.>$/, "")
		begun[tid] = $0
		# Others may have its number before it returns.
		if (!/^close\(/)
			next
	} else if (/^<\.\.\. close/) {
		next
	}
	if (/^<\.\.\. /) {
		sub(/^<\.\.\. [a-z_0-9]+ resumed>/, "")
		$0 = begun[tid] $0
	}
	if (!match($0, /^[a-z_0-9]+\(/))
		next
	call = substr($0, 1, RLENGTH - 1)
	rest = substr($0, RLENGTH + 1)
	result = rest
	sub(/^.*\) += /, "", result)
	sub(/\) += .*$/, "", rest)
	take(who, call, rest, result)
}

END {
	for (line in seen)
		print line
}
