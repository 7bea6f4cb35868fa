"""The example programs: gradients agree with finite differences and the tangent, and are bitwise equal under every placement.

Run by ctest with the name of one program of data/."""
import os
import subprocess
import sys
import tempfile

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "../../.."))
CASES = {
    "shallow_water": (["--nx", "20", "--ny", "16", "--steps", "9", "--observe-every", "4"],
                      ['', '-defaultnocheckpoint', '-nocheckpoint "halo advance bottom_drag step"',
                       '-defaultnocheckpoint -checkpoint "step tendencies upwind"']),
    "crop": (["--seasons", "2", "--days", "60"],
             ['', '-defaultnocheckpoint', '-nocheckpoint "day plant soil record_plant record_soil"']),
    "ocean": (["--nx", "12", "--ny", "10", "--nz", "5", "--steps", "3"],
              ['', '-defaultnocheckpoint', '-nocheckpoint "step dynamics momentum advect solve_pressure"']),
}


def build(directory, name, options):
    done = subprocess.run(["make", "-s", "-C", os.path.join(ROOT, "data", name), "adjoint", f"BUILD={directory}", "CFLAGS=-O1",
                           f"ADSTACK_LIBRARY={os.environ['ADPROF_ADSTACK']}", f"AD_OPTIONS={options}"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def main(name):
    arguments, placements = CASES[name]
    gradients = {}
    with tempfile.TemporaryDirectory() as directory:
        for options in placements:
            build(directory, name, options)
            gradient = os.path.join(directory, "gradient")
            run = [os.path.join(directory, "adjoint"), *arguments, "--gradient", gradient]
            if options == placements[0]:
                run.append("--check")
            done = subprocess.run(run, capture_output=True, text=True, check=False)
            assert done.returncode == 0, f"{options!r}: {done.stdout}{done.stderr}"
            with open(gradient, "rb") as f:
                gradients[options] = f.read()
    first = gradients[placements[0]]
    assert any(first), "the gradient is zero"
    for options, gradient in gradients.items():
        assert gradient == first, f"{options!r} changes the gradient"
    print(f"{name}: {len(placements)} placements, one gradient")


main(sys.argv[1])
