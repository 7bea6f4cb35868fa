#!/usr/bin/env python3
"""Stands in for an instrumented adjoint in the tests of `adprof tune`: a model that steps ten times, each step calling f, g and h.

    fake_adjoint.py build OPTIONS     "builds": keeps what the options say in ./built; fails when a callee in ./broken_build is off
    fake_adjoint.py tree FOLDER       the same from a patched copy of ./src: a call is off where a directive stands before it
    fake_adjoint.py run               "runs": writes ./gradient and, where ADPROF_OUTPUT is set, a profile of that build

./ignored names callees that the tool doesn't know, ./wrong those whose splitting changes the gradient, ./random makes every
gradient another one. Its primal is src/model.c. Sizes are in bits; times follow from the modes and don't scatter."""
import json
import os
import sys
import time

TAPE = {"f": 8000, "g": 80000, "h": 800}
SNAPSHOT = {"f": 16000, "g": 8000, "h": 4000}
PRIMAL_NS = {"f": 1e6, "g": 2e6, "h": 3e6}
STEPS = 10
SOURCE = ["void step(double *x) {", "  f(x);", "  g(x);", "  if (x[0] > 0) h(x);", "}"]


def words(name):
    return open(name).read().split() if os.path.exists(name) else []


def build(off):
    broken = set(off) & set(words("broken_build"))
    if broken:
        sys.exit(f"undefined reference to {sorted(broken)[0]}_fwd")
    with open("built", "w") as f:
        f.write(" ".join(sorted(c for c in off if c in TAPE and c not in words("ignored"))))


def tree(folder):
    rows = open(f"{folder}/src/model.c").read().splitlines()
    build([c for c in TAPE for a, b in zip(rows, rows[1:]) if "NOCHECKPOINT" in a and f" {c}(x)" in b])


def profile(off):
    sites = [{"caller": "main", "callee": "step", "ordinal": 0, "root": True}]
    nodes, edges, contexts = [], [], []
    step_ns = 0
    for i, c in enumerate("fgh"):
        sites.append({"caller": "step", "callee": c, "ordinal": 0, "primal": {"file": "src/model.c", "line": 2 + i}})
        nodes.append({"procedure": i, "own_after_bits": TAPE[c]})
        on = c not in off
        edges.append({"site": i + 1, "node": i, "own_before_bits": 64, **({"snapshot_bits": SNAPSHOT[c]} if on else {"measured_on": False, "has_primal": False})})
        three = lambda bits: {"total": STEPS * bits, "least": bits, "largest": bits}
        contexts.append({"parent": 0, "site": i + 1, "procedure": i, "invocations_on" if on else "invocations_off": STEPS,
                         "tape_bits": three(TAPE[c]), "forward_ns": 1e6, "backward_ns": 2e6,
                         **({"primal_calls": STEPS, "snapshot_bits": three(SNAPSHOT[c]), "primal_ns": PRIMAL_NS[c] * STEPS} if on else {})})
        step_ns += 3e6 + (PRIMAL_NS[c] * STEPS if on else 0)
    nodes.append({"edges": edges})
    nodes.append({"procedure": 3, "edges": [{"kind": "loop", "node": 3, "count": STEPS}]})
    nodes.append({"edges": [{"site": 0, "node": 4, "has_primal": False}]})
    keep = lambda c: TAPE[c] if c in off else SNAPSHOT[c]
    tape = sum(64 + keep(c) for c in "fgh")
    pre, peak = 0, tape
    for c in "fgh":
        pre += 64
        peak = max(peak, pre + TAPE[c])
        pre += keep(c)
    peak += (STEPS - 1) * tape
    contexts.insert(0, {"site": 0, "procedure": 3, "invocations_on": 1, "tape_bits": {"total": STEPS * tape, "least": STEPS * tape, "largest": STEPS * tape},
                        "forward_ns": step_ns / 3, "backward_ns": step_ns * 2 / 3, "stack_peak_bits": peak})
    process = {"command": "fake", "executable": "fake", "build_id": "00", "host": "here", "finished": True, "wall_ns": step_ns, "cpu_ns": step_ns,
               "adjoint_ns": step_ns, "resident_peak_bytes": 100000, "resident_other_bytes": 1000, "stack_peak_bits": peak,
               "traffic_bits": peak, "losses": {}}
    return {"format": "adprof-profile", "version": 1, "oldest_reader": 1, "adprof": "0", "dialect": "tapenade", "site_fingerprint": "0" * 16,
            "procedures": ["f", "g", "h", "step"], "processes": [process], "threads": [{"process": 0, "root": 5, "stack_peak_bits": peak, "traffic_bits": peak}],
            "sites": sites, "contexts": contexts, "nodes": nodes, "doubts": []}


def run():
    off = set(words("built"))
    wrong = off & set(words("wrong"))
    with open("gradient", "w") as f:
        f.write(f"1.5 {2.5 + len(wrong) / 1024} {os.getpid() + time.time_ns() if os.path.exists('random') else 3}\n")
    if "ADPROF_OUTPUT" in os.environ:
        with open(os.environ["ADPROF_OUTPUT"].replace("%p", str(os.getpid())), "w") as f:
            json.dump(profile(off), f)
    else:  # at full speed: long against what starting Python scatters
        time.sleep(0.2 * len(set(TAPE) - off))


if sys.argv[1] == "build":
    build([w for w in " ".join(sys.argv[2:]).replace('"', " ").split() if w != "-nocheckpoint"])
elif sys.argv[1] == "tree":
    tree(sys.argv[2])
else:
    run()
