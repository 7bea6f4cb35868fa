"""run, report, diff and check on a real instrumented program.  usage: verbs_test.py CASE BUILD_FOLDER"""
import json
import os
import re
import signal
import subprocess
import sys
import tempfile

case, build = sys.argv[1:3]
here = os.path.dirname(os.path.abspath(__file__))
adprof = os.path.join(build, "bin", "adprof")


def compile_model(name, *flags):
    subprocess.run([os.path.join(build, "bin", "adprof-clang"), "-O1", "-I", os.path.join(here, "..", "..", "..", "runtime", "adstack"), *flags,
                    os.path.join(here, "model_b.c"), "-o", name, "-lm"], check=True)


def call(*arguments, env=None):
    return subprocess.run([adprof, *arguments], capture_output=True, text=True, timeout=120, env={**os.environ, **(env or {})})


def expect(condition, *shown):
    if not condition:
        raise SystemExit("failed: " + " ".join(str(s) for s in shown))


def run(program, *arguments, output="adprof.json"):
    done = call("run", "-o", output, program, *arguments)
    expect(done.returncode == 0, done)
    return done


def run_passes_output_and_status_through():
    done = run("./model", "1000", "20")
    plain = subprocess.run(["./model", "1000", "20"], capture_output=True, text=True)
    expect(done.stdout == plain.stdout, done.stdout, plain.stdout)
    for pattern in (r"adprof: adjoint [\d.]+ \w+, [\d.]+ times the primal \([\d.]+ \w+, estimated", r"recomputation [\d.]+ \w+, [\d.]+ % of the adjoint",
                    r"the AD stack's own count says the same\), resident peak", r"3 sites \(3 on, 0 off\), 60 invocations",
                    r"wrote adprof.json; next: adprof report"):
        expect(re.search(pattern, done.stderr), pattern, done.stderr)
    expect(sorted(os.listdir(".")) == ["adprof.json", "model"], os.listdir("."))
    expect(os.listdir("../raw") == [], "raw profiles are removed", os.listdir("../raw"))


def programs_that_fail_keep_their_status_and_their_profile():
    for arguments, status, text in ((["exit", "7"], 7, "ended with exit status 7"), (["abort"], 128 + signal.SIGABRT, "was ended by signal 6")):
        done = call("run", "./model", "100", "5", *arguments)
        expect(done.returncode == status, done)
        expect(text in done.stderr, done.stderr)
        profile = json.load(open("adprof.json"))
        expect(profile["processes"][0]["exit_status"] == status, profile["processes"])
        expect(len(profile["contexts"]) == 4, profile["contexts"])


def signals_reach_the_program():
    process = subprocess.Popen([adprof, "run", "./model", "100", "5", "wait"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    process.stdout.readline()
    expect(process.stdout.readline() == "ready\n", "ready")
    process.send_signal(signal.SIGTERM)
    out, err = process.communicate(timeout=60)
    expect(out == "told 15\n" and process.returncode == 0, out, err, process.returncode)


def what_leaves_no_profile_is_told_apart():
    for arguments, status, text in ((["true"], 2, "was not built with adprof's pass and runtime"), (["./model", "10", "2", "none"], 2, "ran no adjoint"),
                                    (["./nowhere"], 2, "can't be started: No such file"), (["sh", "-c", "exit 9"], 9, "left no profile"),
                                    (["-o", "/nowhere/x.json", "./model", "10", "2"], 2, "can't be written: /nowhere: No such file"),
                                    (["--outptu", "x"], 2, "did you mean --output?"), ([], 2, "no program to run")):
        done = call("run", *arguments)
        expect(done.returncode == status and text in done.stderr, arguments, done)
    expect(os.listdir("../raw") == [], os.listdir("../raw"))


def processes_of_one_run_merge():
    done = run("./model", "100", "5", "ranks")
    profile = json.load(open("adprof.json"))
    expect(len(profile["processes"]) == 4, profile["processes"])
    expect(sorted(p.get("rank", "") for p in profile["processes"]) == ["", "0", "1", "2"], profile["processes"])
    steps = [c for c in profile["contexts"] if profile["sites"][c.get("site", 0)]["callee"] == "step"]
    expect(len(steps) == 1 and steps[0]["invocations_on"] == 5 + 5 + 6 + 7, steps)
    expect("sums over 4 processes" in done.stderr, done.stderr)


def report_shows_tree_and_sites_in_80_columns():
    run("./model", "1000", "20")
    tree = call("report")
    names = [line.split()[0] for line in tree.stdout.splitlines()]
    expect(names[:3] == ["call", "model", "step"] and sorted(names[3:]) == ["flux:0", "flux:1"], tree.stdout)
    expect(re.search(r"^ step +20  on +.* 15.6 KiB  7.81 KiB +164 KiB$", tree.stdout, re.M), tree.stdout)
    expect("\x1b" not in tree.stdout, "no colour without a terminal")
    for arguments in ([], ["--sites"], ["--sites", "--sort", "name"], ["--depth", "2"]):
        done = call("report", *arguments)
        expect(done.returncode == 0 and max(map(len, done.stdout.splitlines())) <= 80, done)
    by_name = [line.split()[0] for line in call("report", "--sites", "--sort", "name").stdout.splitlines()[1:]]
    expect(by_name == sorted(by_name) and len(by_name) == 4, by_name)
    expect(len(call("report", "--depth", "2").stdout.splitlines()) == 3, "depth")
    data = json.loads(call("report", "--json").stdout)
    expect(data["summary"]["stack_peak_bytes"] == data["summary"]["adstack_peak_bytes"] == 168000, data["summary"])
    expect("did you mean time" in call("report", "--sites", "--sort", "tme").stderr, "slip")
    expect(call("report", "missing.json").returncode == 2, "missing")


def check_passes_an_unchanged_program_twenty_times():
    run("./model", "500", "10", output="base.json")
    for _ in range(20):
        run("./model", "500", "10", output="now.json")
        done = call("check", "--baseline", "base.json", "now.json")
        expect(done.returncode == 0 and done.stdout == "", done)


def check_catches_what_is_seeded():
    compile_model("larger", "-DLARGER_TAPE")
    compile_model("split", "-DSPLIT_FIRST")
    run("./model", "500", "10", output="base.json")
    run("./larger", "500", "10", output="larger.json")
    run("./split", "500", "10", output="split.json")
    run("./model", "500", "11", output="more.json")
    done = call("check", "--baseline", "base.json", "larger.json")
    expect(done.returncode == 1 and re.search(r"tape +step:flux:0 +4000 B +4008 B", done.stdout), done)
    expect(call("check", "--baseline", "base.json", "--max-peak", "+1%", "larger.json").returncode == 0, "8 of 4000 bytes are within 1 %")
    done = call("check", "--baseline", "split.json", "base.json", "--max-peak", "+50%", "--markdown")
    expect(done.returncode == 1 and "| mode | step:flux:0 | off | on | split lost |" in done.stdout, done)
    done = call("check", "--baseline", "base.json", "more.json", "--max-peak", "+50%")
    expect(done.returncode == 1 and re.search(r"invocations +step:flux:1 +10 +11 +\+10.0 %", done.stdout), done)
    expect(call("check", "--baseline", "base.json", "base.json", "--max-time", "10").returncode == 2, "a percentage without its sign")
    answer = json.loads(call("check", "--baseline", "base.json", "more.json", "--json").stdout)
    expect(answer["passed"] is False and {"invocations", "AD stack peak"} <= {w["what"] for w in answer["worse"]}, answer)


def diff_names_what_changed():
    compile_model("split", "-DSPLIT_FIRST")
    run("./model", "500", "10", output="a.json")
    run("./split", "500", "10", output="b.json")
    done = call("diff", "a.json", "b.json")
    expect(done.returncode == 0, done)
    first = re.search(r"^site .*\n(.*)$", done.stdout, re.M).group(1)
    expect(first.split()[:2] == ["step:flux:0", "on->off"], done.stdout)
    data = json.loads(call("diff", "--json", "b.json", "a.json").stdout)
    changed = {s["site"]: s for s in data["sites"] if s["exact"]}
    expect(changed["step:flux:0"]["before"]["mode"] == "off" and changed["step:flux:0"]["after"]["mode"] == "on", changed)
    expect("step:flux:1" not in changed, changed)
    same = call("diff", "a.json", "a.json")
    expect("no site differs in bytes, invocations or mode" in same.stderr, same)


with tempfile.TemporaryDirectory() as folder:
    os.makedirs(os.path.join(folder, "raw"))
    os.makedirs(os.path.join(folder, "work"))
    os.chdir(os.path.join(folder, "work"))
    os.environ["TMPDIR"] = os.path.join(folder, "raw")
    compile_model("model")
    globals()[case]()
