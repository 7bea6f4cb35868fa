"""Every feature of the subset: gradients against finite differences and the tangent, and bitwise equal for all sites on, all off,
and every single callee flipped from either side. Run by ctest with the name of one program of programs/."""
import sys
import tempfile

from harness import HERE, Program, callees, check

name = sys.argv[1]
with tempfile.TemporaryDirectory() as directory:
    external = name == "external"
    program = Program(f"{HERE}/programs/{name}.c", directory,
                      hand_written=[f"{HERE}/programs/external_hand.c"] if external else [],
                      options=["-ext", f"{HERE}/programs/external.json"] if external else [])
    flips = callees(program.refad())
    placements = [["-defaultnocheckpoint"]]
    for callee in flips:
        placements += [["-nocheckpoint", callee], ["-defaultnocheckpoint", "-checkpoint", callee]]
    check(program, placements, name)
    print(f"{name}: {len(placements) + 1} placements of {len(flips)} callees")
