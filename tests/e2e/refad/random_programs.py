"""Random programs: the gradient passes the dot-product test and is bitwise the same under random placements. Deterministic by seed.

  random_programs.py FIRST_SEED COUNT     prints the program that fails"""
import os
import random
import sys
import tempfile

from harness import Program, callees, check

ARRAY, SCALAR = "array", "scalar"


class Writer:
    """Procedures p0, p1, ...; each calls earlier ones only. Values stay small, because every assignment is damped."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.signatures = []  # (name, parameter kinds, has a result)
        self.lines = ['#include "program.h"', "", "#include <math.h>", "", "double ga, gb, gs[6];", "int gi;", ""]

    def pick(self, *choices):
        return self.random.choice(choices)

    def value(self, depth=0):
        r = self.random.random()
        if depth > 2 or r < 0.45:
            return self.read()
        a, b = self.value(depth + 1), self.value(depth + 1)
        return self.pick(f"({a} + {b})", f"({a} - {b})", f"{a} * {b}", f"sin({a})", f"0.5 * {a}", f"exp(-{a} * {a})",
                         f"{a} / (2.0 + {b} * {b})", f"({a} > {b} ? {a} : 0.5 * {b})", "0.25")

    def element(self, array):
        index = self.pick(*self.indices) if self.indices and self.random.random() < 0.8 else "1"
        return f"{array}[{self.pick(index, index, f'({index} + 1) % 6', f'({index} + gi) % 6' if self.reads_gi else index)}]"

    def read(self):
        if self.random.random() < 0.5:
            return self.pick(*self.scalars)
        return self.element(self.pick(*self.arrays))

    def target(self):
        if self.random.random() < 0.4:
            return self.pick(*self.assignable)
        return self.element(self.pick(*self.arrays))

    def statements(self, depth, count, pad):
        for _ in range(count):
            self.statement(depth, pad)

    def statement(self, depth, pad):
        r, emit = self.random.random(), lambda text: self.lines.append(pad + text)
        if r < 0.4 or depth > 2:
            target = self.target()
            emit(f"{target} = {self.pick('sin(', '0.7 * tanh(', '0.4 * (')}{self.value()});")
        elif r < 0.5:
            emit(f"{self.target()} {self.pick('+=', '-=', '*=')} 0.3 * {self.value()};")
        elif r < 0.62:
            index = next((i for i in ("i", "j", "k") if i not in self.indices), None)
            if index is None:
                return
            head = self.pick(f"for (int {index} = 0; {index} < 6; ++{index})", f"for (int {index} = 5; {index} >= 1; --{index})",
                             f"for (int {index} = 1; {index} < n; {index} += 2)")
            emit(head + " {")
            self.indices.append(index)
            self.statements(depth + 1, self.random.randint(1, 3), pad + "    ")
            self.indices.pop()
            emit("}")
        elif r < 0.74:
            cond = self.pick(f"{self.read()} > {self.read()}", "n > 3", "gi == 1",
                             f"{self.indices[-1]} % 2 == 0" if self.indices else "ga > gb")
            emit(f"if ({cond}) {{")
            self.statements(depth + 1, self.random.randint(1, 2), pad + "    ")
            if self.random.random() < 0.5:
                emit("} else {")
                self.statements(depth + 1, self.random.randint(1, 2), pad + "    ")
            emit("}")
        elif r < 0.78:
            emit("gi = (gi + 1) % 3;")
        elif self.signatures:
            self.call(emit)

    def call(self, emit):
        name, kinds, result = self.pick(*self.signatures)
        arrays = [a for a in self.arrays if a != "gs"]
        self.random.shuffle(arrays)
        scalars = [s for s in self.assignable if s not in ("ga", "gb")]
        self.random.shuffle(scalars)
        args = []
        for kind in kinds:
            if kind == ARRAY:
                if not arrays:
                    return
                args.append(arrays.pop())
            elif kind == "pointer":
                if not scalars:
                    return
                name_of = scalars.pop()
                args.append(name_of[1:] if name_of.startswith("*") else "&" + name_of)
            else:
                args.append(self.value(1))
        if self.random.random() < 0.3:
            emit(self.pick("/* $AD NOCHECKPOINT */", "// $AD CHECKPOINT"))
        call = f"{name}({', '.join(['n', *args])})"
        emit(f"{self.target()} = 0.5 * {call};" if result else f"{call};")

    def procedure(self, name, kinds, result):
        parameters, self.scalars, self.assignable, self.arrays, self.indices = ["int n"], ["ga", "gb"], ["ga", "gb"], ["gs"], []
        self.reads_gi = self.random.random() < 0.3
        for position, kind in enumerate(kinds):
            p = f"{'abcde'[position]}{position}"
            if kind == ARRAY:
                parameters.append(f"double {p}[6]")
                self.arrays.append(p)
            elif kind == "pointer":
                parameters.append(f"double *{p}")
                self.scalars.append("*" + p)
                self.assignable.append("*" + p)
            else:
                parameters.append(f"double {p}")
                self.scalars.append(p)
                self.assignable.append(p)
        self.lines.append(f"{'double' if result else 'void'} {name}({', '.join(parameters)}) {{")
        self.lines.append("    double t = 0.3, w[6];")
        self.lines.append("    for (int i = 0; i < 6; ++i) {")
        self.lines.append("        w[i] = 0.1 * i;")
        self.lines.append("    }")
        self.scalars.append("t")
        self.assignable.append("t")
        self.arrays.append("w")
        self.statements(0, self.random.randint(3, 7), "    ")
        if result:
            self.lines.append(f"    return {self.value()};")
        self.lines += ["}", ""]
        self.signatures.append((name, kinds, result))

    def write(self):
        for number in range(self.random.randint(3, 6)):
            kinds = [self.pick(ARRAY, "pointer", SCALAR) for _ in range(self.random.randint(1, 3))]
            self.procedure(f"p{number}", kinds, self.random.random() < 0.3)
        self.lines += ["void program(int n, const double x[n], double y[n]) {", "    double u[6], v[6], a, b;", "    ga = 0.4;",
                       "    gb = x[1];", "    gi = 0;", "    for (int i = 0; i < 6; ++i) {", "        u[i] = x[i];",
                       "        v[i] = x[i] * x[0];", "        gs[i] = 0.2 * x[i];", "    }", "    a = x[2];", "    b = 0.2;"]
        self.scalars, self.assignable, self.arrays, self.indices = ["a", "b", "ga", "gb"], ["a", "b", "ga", "gb"], ["u", "v", "gs"], []
        self.reads_gi = True
        for _ in range(3):
            self.call(lambda text: self.lines.append("    " + text))
        self.lines.append("    for (int k = 0; k < 3; ++k) {")
        self.indices = ["k"]
        self.statements(1, 3, "        ")
        for _ in range(2):
            self.call(lambda text: self.lines.append("        " + text))
        self.lines += ["    }", "    for (int i = 0; i < 6; ++i) {", "        y[i] = u[i] * v[i] + gs[i] + a * b + ga * gb;", "    }", "}", ""]
        return "\n".join(self.lines)


def main(first, count):
    for seed in range(first, first + count):
        writer = Writer(seed)
        text = writer.write()
        with tempfile.TemporaryDirectory() as directory:
            source = os.path.join(directory, "random_program.c")
            with open(source, "w", encoding="utf-8") as f:
                f.write(text)
            try:
                program = Program(source, directory, flags=["-O1"])
                names, placements = callees(program.refad()), [["-defaultnocheckpoint"]]
                for _ in range(3):
                    some = " ".join(n for n in names if writer.random.random() < 0.5)
                    placements.append(writer.pick(["-nocheckpoint", some], ["-defaultnocheckpoint", "-checkpoint", some]))
                # Conditions on active values jump: no finite differences here.
                check(program, placements, f"seed {seed}", tolerance=float("inf"), may_vanish=True)
            except BaseException:
                print(text)
                print(f"seed {seed}")
                raise
    print(f"{count} random programs from seed {first}")


main(int(sys.argv[1]), int(sys.argv[2]))
