"""Builds one example of data/fortran_* with and without adprof, runs it and checks what is said in main(). Ends with status 1
and the reasons if a check fails. `--update` writes the expected tree instead of comparing with it."""
import argparse
import os
import pathlib
import re
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
PROGRAM = {"commons": "column", "modules": "glacier", "openmp": "rows"}
failures = []


def check(condition, text):
    if not condition:
        failures.append(text)


def run(command, **options):
    env = {**os.environ, "OMP_NUM_THREADS": "1", **options.pop("env", {})}
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, env=env, **options)
    return done


def build(command, **options):
    done = run(command, **options)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))}\n{done.stdout}{done.stderr}")


def counts(tree):
    return {name: int(value) for name, value in re.findall(r"^(\w+) (-?\d+)$", tree, re.M)}


def without_lines(tree):
    """Line numbers depend on -g, everything else does not."""
    return re.sub(r" at \d+, primal at \d+", "", tree)


class Example:
    def __init__(self, arguments):
        self.arguments = arguments
        self.source = pathlib.Path(arguments.data) / f"fortran_{arguments.example}"
        self.work = pathlib.Path(arguments.work)
        shutil.rmtree(self.work, ignore_errors=True)

    def compiler(self, measured, compiler):
        # --adstack alone would need the runtime: an uninstrumented build links the AD stack by hand.
        return f"{self.arguments.adprof} cc --compiler {compiler} --adstack" if measured else compiler

    def make(self, name, measured, flags):
        build_dir = self.work / name
        library = pathlib.Path(self.arguments.adprof).parent.parent / "lib" / "libadprof_adstack.a"
        build(["make", "-s", "-C", self.source, f"BUILD={build_dir}", f"FC={self.compiler(measured, self.arguments.fortran)}",
               f"FFLAGS={flags} -w", "LDLIBS=" if measured else f"LDLIBS={library} -lpthread"])
        return [build_dir / PROGRAM[self.arguments.example]]

    def cmake(self, name, measured, flags):
        build_dir = self.work / name
        library = pathlib.Path(self.arguments.adprof).parent.parent / "lib" / "libadprof_adstack.a"
        header = HERE.parents[2] / "runtime" / "adstack"
        bin_dir = self.work / f"{name}-compilers"
        bin_dir.mkdir(parents=True)
        for variable, compiler in (("CC", self.arguments.c), ("FC", self.arguments.fortran)):
            wrapper = bin_dir / variable
            wrapper.write_text(f'#!/bin/sh\nexec {self.compiler(measured, compiler)} "$@"\n')
            wrapper.chmod(0o755)
        build(["cmake", "-S", self.source, "-B", build_dir, f"-DCMAKE_C_COMPILER={bin_dir / 'CC'}",
               f"-DCMAKE_Fortran_COMPILER={bin_dir / 'FC'}", f"-DCMAKE_C_FLAGS={flags}", f"-DCMAKE_Fortran_FLAGS={flags}",
               f"-DADSTACK_INCLUDE={header}", f"-DADSTACK_LIBRARY={'' if measured else library}"])
        build(["cmake", "--build", build_dir])
        return [build_dir / "main"]

    def profile(self, command, name, env=None):
        """Runs under measurement; returns what the program did and the printed tree."""
        raw = self.work / f"{name}.raw"
        done = run(command, env={"ADPROF_OUTPUT": str(raw), **(env or {})})
        printed = run([self.arguments.print_tree, raw])
        check(printed.returncode == 0, f"{name}: {printed.stderr}")
        return done, printed.stdout

    def compare(self, tree, name):
        expected_file = HERE / f"{self.arguments.example}.tree"
        if self.arguments.update:
            expected_file.write_text(without_lines(tree))
        expected = expected_file.read_text()
        if without_lines(tree) != expected:
            actual = self.work / f"{name}.tree"
            actual.write_text(without_lines(tree))
            difference = run(["diff", "-u", expected_file, actual]).stdout
            check(False, f"{name}: the tree is not the expected one\n{difference[:4000]}")


def check_counts(name, count):
    """The counts that hold for every example: adprof's equal the AD stack's own, and nothing is left unexplained."""
    check(count["finished"] == 1, f"{name}: not marked as finished")
    for what in ("peak", "traffic"):
        bits = count["stack_peak_bits" if what == "peak" else "traffic_bits"]
        own = count[f"adstack_{what}_bytes"]
        check((bits + 7) // 8 == own, f"{name}: {what} is {bits} bits, the AD stack counts {own} bytes")
    for zero in ("unmatched_unexplained", "anomalies", "envelope_nodes"):
        check(count[zero] == 0, f"{name}: {zero} is {count[zero]}")
    matched = sum(count[k] for k in ("matched_unique", "matched_static", "matched_latest", "unmatched_sliced"))
    check(matched == count["reverse_calls"], f"{name}: {count['reverse_calls']} reverse calls, {matched} accounted for")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("example", choices=["commons", "modules", "openmp", "mixed"])
    for option in ("adprof", "print-tree", "data", "work", "fortran", "c"):
        parser.add_argument(f"--{option}", required=True)
    parser.add_argument("--update", action="store_true")
    arguments = parser.parse_args()
    example = Example(arguments)
    make = example.cmake if arguments.example == "mixed" else example.make

    for level in ("-O0", "-O3"):
        plain = run(make(f"plain{level}", False, level))
        check(plain.returncode == 0, f"{level}: the program says\n{plain.stdout[-400:]}{plain.stderr}")
        check("gradient" in plain.stdout, f"{level}: no gradient in the output")
        program = make(f"measured{level}", True, level)
        # Not started by adprof and without ADPROF_OUTPUT: nothing is measured, the result is the same.
        check(run(program).stdout == plain.stdout, f"{level}: an instrumented program that is not measured prints something else")
        done, tree = example.profile(program, level)
        check(done.stdout == plain.stdout, f"{level}: the gradient is not the same, bit for bit, when it is measured")
        check(done.stderr == "", f"{level}: the runtime says {done.stderr}")
        check_counts(level, counts(tree))
        example.compare(tree, level)
        # The wrapper asks for line tables, so every call in generated code has its line.
        check(" at 0, primal" not in tree, f"{level}: a call without a line\n{tree}")
    done, tree = example.profile(make("measured-g0", True, "-O1 -g0"), "-g0")
    example.compare(tree, "-g0")

    if arguments.example == "commons":
        # STOP in the second of three adjoints: what was measured before is kept, and the tree is what one run gives.
        done, tree = example.profile([*program, "stop"], "stop")
        check("time step is not positive" in done.stderr + done.stdout, f"stop: {done.stdout}{done.stderr}")
        count = counts(tree)
        check(count["finished"] == 1 and count["unmatched_unexplained"] == 0, f"stop: {count}")
        check("abandoned" in tree, "stop: the adjoint that was left is not marked as abandoned")
    if arguments.example == "openmp":
        for threads in (2, 4):
            done, tree = example.profile(program, f"threads-{threads}", {"OMP_NUM_THREADS": str(threads)})
            check(done.stdout == plain.stdout, f"{threads} threads: another gradient")
            count = counts(tree)
            check_counts(f"{threads} threads", count)
            check(count["threads"] == threads, f"{count['threads']} threads found, there were {threads}")
    if arguments.example == "mixed":
        library = program[0].parent / "libchain.so"
        done, tree = example.profile(["/usr/bin/python3", example.source / "gradient.py", library], "python")
        gradient = [line.split()[:3] for line in plain.stdout.splitlines() if line.startswith("gradient")]
        check([line.split()[:3] for line in done.stdout.splitlines()] == gradient, f"from Python: another gradient\n{done.stderr}")
        check_counts("python", counts(tree))

    if failures:
        sys.exit("\n".join(failures))


main()
