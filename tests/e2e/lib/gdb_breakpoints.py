# SPDX-License-Identifier: Apache-2.0
#
# For gdb, attached to overhead/busy: breakpoints at leaf() and at its and
# fib()'s first call of a hook, states changed under them, and breakpoints
# deleted. $CTL asks the collector; what it says after each step goes to
# ./states.STEP.
import os
import gdb


def first_site(name):
    """The first call in the function, or what is in its place."""
    start = int(gdb.lookup_global_symbol(name).value().address)
    arch = gdb.selected_frame().architecture()
    for insn in arch.disassemble(start, count=40):
        if insn["length"] in (5, 6) and insn["asm"].split()[0] in (
            "call", "callq", "addr32", "data16", "test"
        ):
            return insn["addr"]
    raise gdb.GdbError("no site in " + name)


def change(step, *states):
    asked = " ".join("--%s %s" % state for state in states)
    os.system("%s functions %s >states.%s 2>&1"
              % (os.environ["CTL"], asked, step))


def break_at_sites():
    for name in "leaf", "fib":
        gdb.execute("break *%d" % first_site(name))


gdb.execute("set pagination off")
# Also while the program is stopped, as it is at each change.
gdb.execute("set breakpoint always-inserted on")
gdb.execute("break leaf")
break_at_sites()
gdb.execute("continue")
change("off-under", ("off", "leaf"), ("off", "fib"))
gdb.execute("continue")
gdb.execute("delete")
change("off", ("off", "leaf"), ("off", "fib"))
break_at_sites()
change("span-under", ("span", "leaf"), ("span", "fib"))
gdb.execute("delete")
change("span", ("span", "leaf"), ("span", "fib"))
gdb.execute("break leaf")
gdb.execute("continue")
gdb.execute("delete")
gdb.execute("detach")
