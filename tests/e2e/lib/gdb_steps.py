# SPDX-License-Identifier: Apache-2.0
#
# gdb_steps.py - for gdb -x: steps through all that work() makes the shim run,
# until the program is back in main() or has ended, and asks for the stack at
# each instruction. Prints "wrong: PLACE STACK" for each where work() or main()
# is missing, and "functions: ..." at the end.
import gdb

STEPS_MAX = 60000
FRAMES_MAX = 40
TRAP_FLAG = 0x100


def run(command):
    return gdb.execute(command, to_string=True)


def is_running():
    return gdb.selected_inferior().pid != 0


def stack(frame):
    names = []
    while frame is not None and len(names) < FRAMES_MAX:
        names.append(frame.name())
        frame = frame.older()
    return names


def clear_trap_flag():
    """The kernel leaves it set in the program when popf was stepped over."""
    if int(gdb.parse_and_eval("$eflags")) & TRAP_FLAG:
        run("set $eflags &= ~%d" % TRAP_FLAG)


def main():
    places, wrong = set(), {}
    for _ in range(STEPS_MAX):
        if not is_running():
            break
        frame = gdb.newest_frame()
        library = gdb.solib_name(frame.pc()) or ""
        is_ours = "libperfrec_preload" in library
        if not library and frame.name() == "main":
            break
        if is_ours:
            place = run("info symbol %d" % frame.pc()).split(" in ")[0]
            places.add(place)
            names = stack(frame)
            if "work" not in names or names[-1] != "main":
                wrong[place] = names
        clear_trap_flag()
        # A function of another library runs to its end.
        run("finish" if library and not is_ours else "stepi")
    else:
        print("wrong: more than %d steps" % STEPS_MAX)
    for place in sorted(wrong):
        print("wrong:", place, wrong[place])
    print("functions:", *sorted({place.split()[0] for place in places}))


for setting in ("pagination off", "confirm off", "debuginfod enabled off"):
    run("set " + setting)
run("handle SIGCHLD nostop noprint pass")
run("break work")
run("run")
run("delete")
main()
