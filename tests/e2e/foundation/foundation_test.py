"""From adjoint source to profile, on data/shallow_water: what must hold whatever the compiler's options and however the program ends.

Usage: foundation_test.py TEST BUILD_DIRECTORY SOURCE_DIRECTORY
"""
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time

TEST, BUILD, SOURCE = sys.argv[1:4]
ADPROF = os.path.join(BUILD, "bin", "adprof")
RANDOM = random.Random(20)


def build(directory, flags, compiler="adprof-clang", ldflags=""):
    subprocess.run(["make", "-s", "-C", os.path.join(SOURCE, "data", "shallow_water"), "adjoint", "BUILD=" + directory, "CFLAGS=" + flags,
                    "LDFLAGS=" + ldflags, "CC=" + (os.path.join(BUILD, "bin", compiler) if compiler.startswith("adprof") else compiler)],
                   check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return os.path.join(directory, "adjoint")


def profile_of(directory, program, *arguments):
    output = os.path.join(directory, "profile.json")
    subprocess.run([ADPROF, "run", "-q", "-o", output, "--", program, *arguments], check=True, stdout=subprocess.DEVNULL)
    with open(output) as file:
        return json.load(file)


def names(profile):
    return sorted((site["caller"], site["callee"], site["ordinal"]) for site in profile["sites"])


def shape(profile):
    """The folded tree without times and numbers of sites that depend on the order of objects."""
    sites = [(site["caller"], site["callee"], site["ordinal"]) for site in profile["sites"]]
    nodes = []
    for node in profile["nodes"]:
        edges = [{**edge, "site": sites[edge["site"]] if "site" in edge else None, "node": nodes[edge["node"]]} for edge in node["edges"]] \
            if "edges" in node else []
        nodes.append(hash(json.dumps([edges, {k: v for k, v in node.items() if k not in ("edges", "procedure")}], sort_keys=True)))
    return nodes[-1]


def counts_are_the_stacks_own(directory):
    for flags in ("-O0", "-O2"):
        process = profile_of(directory, build(directory, flags), "--steps", "7")["processes"][0]
        assert process["losses"].get("unmatched_unexplained", 0) == 0, process["losses"]
        assert process["losses"].get("anomalies", 0) == 0, process["losses"]
        assert (process["stack_peak_bits"] + 7) // 8 == process["adstack_peak_bytes"], process
        assert (process["traffic_bits"] + 7) // 8 == process["adstack_traffic_bytes"], process


def sites_do_not_depend_on_options(directory):
    expected = None
    for flags, ldflags in (("-O0 -g", ""), ("-O0", ""), ("-O1 -g", ""), ("-O2", ""), ("-O3 -g", ""), ("-O2 -g -flto", "-flto -fuse-ld=lld")):
        profile = profile_of(directory, build(directory, flags, ldflags=ldflags), "--steps", "2")
        found = (names(profile), shape(profile))
        expected = expected or found
        assert found[0] == expected[0], (flags, set(found[0]) ^ set(expected[0]))
        assert found[1] == expected[1], flags + ": another tree"
        if "-g" in flags:
            unknown = [s for s in profile["sites"] if not s.get("root") and "primal" not in s]
            assert not unknown, unknown
    assert len(expected[0]) >= 25


def ten_times_the_steps_are_as_many_nodes(directory):
    program = build(directory, "-O2")
    few, many = (profile_of(directory, program, "--steps", steps) for steps in ("20", "200"))
    assert len(few["nodes"]) == len(many["nodes"]), (len(few["nodes"]), len(many["nodes"]))
    assert len(few["contexts"]) == len(many["contexts"])


def gradient_is_bitwise_the_same(directory):
    gradients = []
    for part, compiler in (("plain", "clang"), ("measured", "adprof-clang")):
        where = os.path.join(directory, part)
        os.mkdir(where)
        with open(os.path.join(BUILD, "bin", "adprof-clang")):
            pass
        program = build(where, "-O2", compiler if compiler != "clang" else subprocess.run(
            [os.path.join(BUILD, "bin", "adprof-clang"), "-print-prog-name=clang"], check=True, capture_output=True, text=True).stdout.strip())
        for measured in ((False, True) if part == "measured" else (False,)):
            gradient = os.path.join(where, "gradient")
            if measured:
                profile_of(where, program, "--steps", "10", "--gradient", gradient)
            else:
                subprocess.run([program, "--steps", "10", "--gradient", gradient], check=True, stdout=subprocess.DEVNULL)
            with open(gradient, "rb") as file:
                gradients.append(file.read())
            os.remove(gradient)
    assert len(gradients) == 3 and gradients[0] and len(set(gradients)) == 1


def profile_survives_kill_at_random_moments(directory):
    program = build(directory, "-O2")
    whole = profile_of(directory, program, "--steps", "60")
    sites = {json.dumps(site["caller"] + site["callee"]) for site in whole["sites"]}
    begin = time.monotonic()
    subprocess.run([ADPROF, "run", "-q", "-o", os.path.join(directory, "timed.json"), "--", program, "--steps", "60"], check=True,
                   stdout=subprocess.DEVNULL)
    length = time.monotonic() - begin
    with_nodes = 0
    for attempt in range(50):
        raw = os.path.join(directory, f"raw.{attempt}")
        process = subprocess.Popen([program, "--steps", "60"], env={**os.environ, "ADPROF_OUTPUT": raw}, stdout=subprocess.DEVNULL)
        time.sleep(RANDOM.uniform(0.01, 0.9) * length)
        process.send_signal(signal.SIGKILL)
        process.wait()
        if not os.path.exists(raw) or os.path.getsize(raw) < 4096:
            continue  # killed before the constructors ran
        report = subprocess.run([ADPROF, "report", "--json", raw], capture_output=True, text=True)
        assert report.returncode == 0, report.stderr
        profile = json.loads(report.stdout)
        if process.returncode == -signal.SIGKILL:
            text = json.dumps(profile)
            with_nodes += '"invocations' in text
        os.remove(raw)
    assert with_nodes >= 10, f"only {with_nodes} of 50 killed runs left anything"
    assert sites


def unmeasured_program_writes_nothing(directory):
    program = build(directory, "-O2")
    empty = os.path.join(directory, "empty")
    os.mkdir(empty)
    environment = {k: v for k, v in os.environ.items() if k != "ADPROF_OUTPUT"}
    subprocess.run([program, "--steps", "2"], check=True, cwd=empty, env=environment, stdout=subprocess.DEVNULL)
    assert os.listdir(empty) == []


with tempfile.TemporaryDirectory() as scratch:
    globals()[TEST](scratch)
