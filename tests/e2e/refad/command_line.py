"""What refad prints, which options win, and how it refuses what is outside its subset."""
import os
import subprocess
import tempfile

from harness import HERE, ROOT, Program, run

PRIMAL = """#include "program.h"
void inner(int n, double a[n]) {
    for (int i = 0; i < n; ++i) {
        a[i] = a[i] * a[i];
    }
}
void outer(int n, double a[n]) {
    inner(n, a);
    inner(n, a);
}
void program(int n, const double x[n], double y[n]) {
    for (int i = 0; i < n; ++i) {
        y[i] = x[i];
    }
    %s
    inner(n, y);
    outer(n, y);
}
"""


def refad(directory, *arguments, source=PRIMAL % ""):
    path = os.path.join(directory, "program.c")
    with open(path, "w", encoding="utf-8") as f:
        f.write(source)
    command = ["/usr/bin/python3", f"{ROOT}/scripts/refad", "-head", "program(y)/(x)", "-O", directory, f"-I{HERE}/programs", *arguments, path]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    text = ""
    if done.returncode == 0:
        with open(os.path.join(directory, "program_b.c"), encoding="utf-8") as f:
            text = f.read()
    return done, text


def body(text, name):
    start = text.index(f"\nvoid {name}(", text.index("memset"))
    return text[start:text.index("\n}", start)]


def calls(text, name):
    return [line.strip().split("(")[0] for line in body(text, name).split("\n") if line.strip().split("(")[0].rstrip("_bfwd") in ("inner", "outer")]


def options_choose_the_mode_and_are_echoed(d):
    done, text = refad(d, "-nocheckpoint", "inner nobody")
    assert "split(inner nobody)" in done.stderr and "split(inner nobody)" in text, done.stderr
    assert calls(text, "outer_b") == ["inner_fwd", "inner_fwd", "inner_bwd", "inner_bwd"], body(text, "outer_b")
    _, text = refad(d, "-split", "outer", "-split", "inner")
    assert "outer_fwd" in text and "inner_fwd" in text and "void outer_b(" not in text
    _, text = refad(d, "-defaultnocheckpoint", "-checkpoint", "inner")
    assert "joint(inner)" in text and "defaultnocheckpoint" in text
    assert calls(text, "outer_fwd") == ["inner", "inner"] and calls(text, "outer_bwd") == ["inner_b", "inner_b"]
    _, text = refad(d)
    assert "split" not in text and "_fwd" not in text


def a_directive_decides_one_call(d):
    for spelled in ("/* $AD NOCHECKPOINT */", "// $AD NOCHECKPOINT", "#pragma AD NOCHECKPOINT"):
        _, text = refad(d, source=PRIMAL % spelled)
        assert text.count("inner_fwd(n, y);") == 1 and "outer_b(n, y" in text, spelled
        assert calls(text, "outer_b") == ["inner", "inner", "inner_b", "inner_b"], spelled
    _, text = refad(d, "-defaultnocheckpoint", source=PRIMAL % "/* $AD CHECKPOINT */")
    assert "inner_b(n, y, yb);" in text and "outer_fwd(n, y);" in text


def a_snapshot_stands_around_the_primal_call(d):
    _, text = refad(d)
    lines = [line.strip() for line in body(text, "outer_b").split("\n")]
    first = lines.index("inner(n, a);")
    assert lines[first - 1] == "pushReal8Array(a, n);", lines
    assert lines[-1] == "inner_b(n, a, ab);" and lines[-2] == "popReal8Array(a, n);", lines


def what_nobody_needs_is_not_pushed(d):
    linear = PRIMAL.replace("a[i] * a[i]", "3.0 * a[i]")
    _, text = refad(d, "-defaultnocheckpoint", source=linear % "")
    assert "push" not in text


def the_profile_calls_surround_a_checkpoint(d):
    _, text = refad(d, "-profile")
    line = 1 + (PRIMAL % "").split("\n").index("    inner(n, a);")
    lines = [l.strip() for l in body(text, "outer_b").split("\n")]
    at = f'"inner", "{os.path.join(d, "program.c")}", {line});'
    start = lines.index("adProfileAdj_SNPWrite(" + at)
    assert lines[start:start + 5] == ["adProfileAdj_SNPWrite(" + at, "pushReal8Array(a, n);", "adProfileAdj_beginAdvance(" + at, "inner(n, a);",
                                      "adProfileAdj_endAdvance(" + at], lines
    tail = lines[-5:]
    assert tail == ["adProfileAdj_SNPRead(" + at, "popReal8Array(a, n);", "adProfileAdj_beginReverse(" + at, "inner_b(n, a, ab);",
                    "adProfileAdj_endReverse(" + at], tail
    assert text.count("adProfileAdj_turn(") == 1 + 3, "a declaration and three procedures"


def an_external_is_never_split(d):
    hand = [f"{HERE}/programs/external_hand.c"]
    program = Program(f"{HERE}/programs/external.c", d, hand, ["-ext", f"{HERE}/programs/external.json"])
    text = program.refad("-nocheckpoint", "smooth chain")
    assert "smooth_b(" in text and "smooth_fwd" not in text and "chain_fwd" in text


def refusals_name_the_place(d):
    cases = [
        ("y[0] = unknown(x[0]);", "'unknown' has no source here"),
        ("do { y[0] = 1.0; } while (n > 3);", "DoWhile"),
        ("for (int i = 0; i < n; ++i) { if (x[i] > 3.0) break; }", "Break"),
        ("for (int i = 0; i < n; ++i) { ++n; }", "index or its bound"),
        ("goto end; end: y[0] = 1.0;", "Goto"),
        ("char c = 'a';", "'char'"),
        ("program(n, x, y);", "recursion"),
        ("double z[3] = {1.0, 2.0, 3.0};", "needs a const"),
    ]
    for statement, message in cases:
        done, _ = refad(d, source=PRIMAL % statement)
        assert done.returncode == 2 and message in done.stderr, f"{statement}: {done.stderr}"
        assert "program.c:" in done.stderr or "recursion" in message, done.stderr
    done, _ = refad(d, source=(PRIMAL % "").replace("inner(n, y)", "twice(n, y, y)").replace(
        "void outer", "void twice(int n, double a[n], double b[n]) {\n    a[0] = b[0];\n}\nvoid outer"))
    assert done.returncode == 2 and "pass a copy" in done.stderr, done.stderr
    done, _ = refad(d, "-head", "nobody(y)/(x)")
    assert done.returncode == 2 and "no procedure 'nobody'" in done.stderr and "program" in done.stderr, done.stderr
    done, _ = refad(d, "-head", "program(y)/(z)")
    assert done.returncode == 2 and "'z' is neither a parameter" in done.stderr, done.stderr
    before, _ = refad(d)
    assert before.returncode == 0
    done, _ = refad(d, "-ext", os.path.join(d, "missing.json"))
    assert done.returncode == 2 and "cannot read the description" in done.stderr


def the_output_is_the_same_every_time(d):
    _, first = refad(d, "-nocheckpoint", "inner")
    for seed in ("1", "2"):
        run(["env", f"PYTHONHASHSEED={seed}", "/usr/bin/python3", f"{ROOT}/scripts/refad", "-head", "program(y)/(x)", "-O", d,
             f"-I{HERE}/programs", "-nocheckpoint", "inner", os.path.join(d, "program.c")])
        with open(os.path.join(d, "program_b.c"), encoding="utf-8") as f:
            assert f.read() == first


for test in (options_choose_the_mode_and_are_echoed, a_directive_decides_one_call, a_snapshot_stands_around_the_primal_call,
             what_nobody_needs_is_not_pushed, the_profile_calls_surround_a_checkpoint, an_external_is_never_split,
             refusals_name_the_place, the_output_is_the_same_every_time):
    with tempfile.TemporaryDirectory() as directory:
        test(directory)
    print(test.__name__)
