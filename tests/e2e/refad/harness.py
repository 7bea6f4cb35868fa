"""Generates, builds and runs small programs: what the tests of refad share. Programs have the head `program` of programs/program.h."""
import os
import re
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.abspath(os.path.join(HERE, "../../.."))
sys.path.insert(0, os.path.join(ROOT, "scripts"))
sys.dont_write_bytecode = True

from refad import cli  # noqa: E402

CC = os.environ.get("CC", "cc")
STACK = os.environ["ADPROF_ADSTACK"]  # libadprof_adstack.a


def run(command, **settings):
    done = subprocess.run(command, capture_output=True, text=True, check=False, **settings)
    assert done.returncode == 0, f"{' '.join(command)}:\n{done.stdout}{done.stderr}"
    return done


class Program:
    """One primal source. Primal, tangent, driver and AD stack are compiled once, the adjoint per placement."""

    def __init__(self, source, directory, hand_written=(), options=(), flags=("-O0",)):
        self.source, self.directory, self.options = source, directory, list(options)
        self.includes = [f"-I{directory}", f"-I{HERE}/programs", f"-I{ROOT}/runtime/adstack", f"-I{ROOT}"]
        self.flags = [*flags, "-Werror=incompatible-pointer-types", "-Werror=implicit-function-declaration"]
        self.refad("-d")
        self.refad()
        self.objects = []
        for file in [source, *hand_written, f"{HERE}/programs/driver.c", f"{directory}/program_d.c"]:
            self.objects.append(os.path.join(directory, os.path.basename(file) + ".o"))
            run([CC, *self.flags, *self.includes, "-c", file, "-o", self.objects[-1]])
        self.objects.append(STACK)

    def refad(self, *placement):
        arguments = ["-head", "program(y)/(x)", "-o", "program", "-O", self.directory, f"-I{HERE}/programs", *self.options,
                     *placement, self.source]
        stderr, sys.stderr = sys.stderr, open(os.devnull, "w", encoding="utf-8")
        try:
            program = cli.generate(cli.arguments(arguments), arguments)
            cli.write(cli.arguments(arguments), *program)
        finally:
            sys.stderr.close()
            sys.stderr = stderr
        with open(os.path.join(self.directory, "program_d.c" if "-d" in placement else "program_b.c"), encoding="utf-8") as f:
            return f.read()

    def measure(self, *placement, n=6):
        """Gradient as text, and the numbers that the driver prints."""
        self.refad(*placement)
        binary = os.path.join(self.directory, "program")
        run([CC, *self.flags, *self.includes, f"{self.directory}/program_b.c", *self.objects, "-lm", "-lpthread", "-o", binary])
        output = run([binary, str(n)]).stdout
        numbers = {key: float(value) for key, value in re.findall(r"^(\w+) ([-+.\dnaife]+)$", output, re.M)}
        return re.search(r"^gradient.*$", output, re.M).group(0), numbers


def callees(generated):
    """Procedures that the all-joint adjoint reverses: what a placement may name."""
    return sorted(set(re.findall(r"^\s+(\w+)_b\(", generated, re.M)))


def check(program, placements, name, tolerance=1.0e-6, n=6, may_vanish=False):
    """One gradient under every placement, right by differences and by the dot product."""
    reference, numbers = program.measure(n=n)
    assert numbers["norm"] > 0.0 or may_vanish, f"{name}: the gradient is {reference}"  # nan fails too
    if numbers["norm"] != 0.0:
        assert numbers["difference"] < tolerance, f"{name}: differs from finite differences by {numbers['difference']}"
        assert numbers["dot"] < 1.0e-13, f"{name}: dot product is off by {numbers['dot']}"
    for placement in placements:
        gradient, _ = program.measure(*placement, n=n)
        assert gradient == reference, f"{name}: {placement} changes the gradient\n{reference}\n{gradient}"
