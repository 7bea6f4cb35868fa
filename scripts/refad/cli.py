"""The command line, in the manner of the AD tool that refad stands in for; writes NAME_b.c and NAME_b.h."""
import argparse
import os
import re
import sys

from refad.activity import ActivityAnalysis
from refad.effects import EffectsAnalysis
from refad.parse import Parser, read_externals
from refad.program import Leaf, RefadError, fail
from refad.tbr import Tbr
from refad.transform import Modes, Transformer

HEAD = re.compile(r"^(\w+)\s*\(([^()]*)\)\s*(?:/|\\|>)\s*\(([^()]*)\)$")


def arguments(argv):
    p = argparse.ArgumentParser(prog="refad", allow_abbrev=False,
                                description="Reverse-mode adjoint of a head procedure in a clean subset of C.")
    p.add_argument("files", nargs="+", help="primal C sources")
    p.add_argument("-b", "-reverse", action="store_true", help="reverse mode (the default)")
    p.add_argument("-d", "-tangent", dest="tangent", action="store_true", help="tangent mode: f_d instead of the adjoint")
    p.add_argument("-head", required=True, help='"proc(dependents)/(independents)"; a member is named s.member')
    p.add_argument("-nocheckpoint", "-split", dest="split", action="append", default=[], metavar='"f g"')
    p.add_argument("-checkpoint", "-joint", dest="joint", action="append", default=[], metavar='"f g"')
    p.add_argument("-defaultnocheckpoint", action="store_true")
    p.add_argument("-profile", action="store_true", help="adProfileAdj_* calls around every checkpoint")
    p.add_argument("-ext", help="JSON description of procedures whose adjoint is written by hand")
    p.add_argument("-o", dest="output", help="name of the output, without suffix (default: the first source's)")
    p.add_argument("-O", dest="directory", default=".", help="directory of the output")
    p.add_argument("-I", dest="include", action="append", default=[])
    p.add_argument("-D", dest="define", action="append", default=[])
    # -I and -D are usually glued to their value, as for a compiler.
    spaced = []
    for a in argv:
        spaced += [a[:2], a[2:]] if len(a) > 2 and a[:2] in ("-I", "-D") else [a]
    return p.parse_args(spaced)


def names(lists):
    return [n for text in lists for n in re.split(r"[\s,]+", text) if n]


def head_locations(program, given):
    found = HEAD.match(given.strip())
    if not found:
        fail("-head", f"'{given}' is not of the form \"proc(dependents)/(independents)\"")
    name = found.group(1)
    if name not in program.procedures or program.procedures[name].external:
        known = ", ".join(n for n, p in program.procedures.items() if not p.external)
        fail("-head", f"no procedure '{name}' in the sources; there are {known}")
    proc, sides = program.procedures[name], []
    for words in found.group(2), found.group(3):
        side = []
        for word in names([words]):
            path = tuple(word.split("."))
            if path == (name,) and proc.result_kind:
                side.append(path)
                continue
            variable = program.variable(proc, path[0])
            if variable is None or variable.role == "local":
                fail("-head", f"'{path[0]}' is neither a parameter of '{name}' nor a global")
            matching = [(path[0], *rest) for rest, leaf in program.leaves(variable.type)
                        if leaf.is_real and rest[:len(path) - 1] == path[1:]]
            if not matching:
                fail("-head", f"'{word}' holds no real number")
            side += matching
        sides.append(side)
    return name, sides[0], sides[1]


def entry_zeroes(program, activity, transformer, head, independents, dependents):
    """At the entry of the head: adjoints of everything that is no dependent start from zero."""
    proc, lines = program.procedures[head], []
    names_seen = {l for p in activity.reached for l in activity.active[p] if l[0] in program.globals
                  and program.procedures[p].variable(l[0]) is None}
    visible = {l for l in activity.active[head] if program.visible_outside(proc, l)} | names_seen
    visible |= {l for l in activity.active[head] if program.variable(proc, l[0]).role == "param"}
    from refad.effects import member_extents
    from refad.program import text
    for location in sorted(visible - set(dependents)):
        leaf = program.leaf(proc, location)
        variable = program.variable(proc, location[0])
        target = transformer.adjoint_of(proc, program.access(proc, location))
        dims = member_extents(program, proc, location, leaf.dims)
        if dims:
            count = " * ".join(f"({text(d)})" for d in dims)
            lines.append(f"memset({target}, 0, {count} * sizeof(*{'(double *)' if len(dims) > 1 else ''}{target}));")
        elif leaf.pointer or (variable.role == "param" and isinstance(variable.type, Leaf)):
            lines.append(f"*{target} = 0.0;")
        else:
            lines.append(f"{target} = 0.0;")
    return lines


def generate(options, argv):
    externals = read_externals(options.ext) if options.ext else {}
    flags = [f"-I{d}" for d in options.include] + [f"-D{d}" for d in options.define]
    program = Parser(flags, externals).parse(options.files)
    head, dependents, independents = head_locations(program, options.head)
    effects = EffectsAnalysis(program)
    activity = ActivityAnalysis(program, effects, head, independents, dependents)
    tbr = Tbr(program, effects, activity)
    split, joint = names(options.split), names(options.joint)
    transformer = Transformer(program, effects, activity, tbr, Modes(program, split, joint, options.defaultnocheckpoint),
                              options.profile)
    echo = [f"head: {options.head}"]
    echo += [f"split({' '.join(split)})"] if split else []
    echo += [f"joint({' '.join(joint)})"] if joint else []
    echo += ["defaultnocheckpoint"] if options.defaultnocheckpoint else []
    echo += ["profile"] if options.profile else []
    suffix = "d" if options.tangent else "b"
    print(f"refad: {', '.join(echo)}", file=sys.stderr)

    texts, prototypes = [], []
    for name in reversed([n for n in effects.order if n in activity.reached]):
        proc = program.procedures[name]
        if options.tangent:
            if not proc.external:
                texts.append(transformer.tangent(proc))
            prototypes.append(transformer.signature(proc, "tangent", "d") + ";")
            continue
        called = [c for p in activity.reached for c in program.callees(program.procedures[p].body)
                  if c.callee == name and activity.is_active(program.procedures[p], c)]
        if name == head or any(not transformer.is_split(c) for c in called):
            prototypes.append(transformer.signature(proc, "joint") + ";")
            if not proc.external:
                zeroes = entry_zeroes(program, activity, transformer, head, independents, dependents) if name == head else []
                texts.append(transformer.joint(proc, zeroes))
        if any(transformer.is_split(c) for c in called):
            prototypes += [transformer.signature(proc, "forward_split") + ";", transformer.signature(proc, "backward_split") + ";"]
            texts += transformer.split(proc)
    return program, activity, transformer, echo, texts, prototypes, suffix


def write(options, program, activity, transformer, echo, texts, prototypes, suffix):
    stem = options.output or os.path.splitext(os.path.basename(options.files[0]))[0]
    base = f"{stem}_{suffix}"
    banner = "/*        Generated by refad, the reference generator of adprof. Do not edit.\n"
    banner += "".join(f"          {line}\n" for line in echo) + " */\n"
    includes = "".join(f"#include {i}\n" for i in program.includes)
    global_names = sorted({l[0] for p in activity.reached for l in activity.active[p]
                           if l[0] in program.globals and program.procedures[p].variable(l[0]) is None})
    own, declarations, definitions = list(program.own_declarations), [], []
    for variable in program.globals.values():
        if variable.decl.coord.file.endswith(".c"):
            spelled = re.sub(r"\b(static|extern)\s+", "", transformer._declare(variable.decl, variable.name))
            own.append(f"extern {spelled};")
    for g in global_names:
        spelled = transformer._declare(program.globals[g].decl, program.adjoint_name(g, suffix))
        spelled = re.sub(r"\b(const|static|extern)\s+", "", spelled)
        declarations.append(f"extern {spelled};")
        definitions.append(f"{spelled};")
    guard = re.sub(r"\W", "_", base).upper() + "_H"
    if own:  # adjoint and tangent may be included together
        once = re.sub(r"\W", "_", stem).upper() + "_PRIMAL_DECLARATIONS"
        own = [f"#ifndef {once}", f"#define {once}", *own, "#endif"]
    header = (banner + f"#ifndef {guard}\n#define {guard}\n{includes}" + "".join(f"{d}\n" for d in own) +
              "\n".join(declarations + prototypes) + "\n#endif\n")
    hooks = ""
    if options.profile:
        arrow = "const char *callee, const char *file, int line"
        hooks = "".join(f"void adProfileAdj_{e}({arrow});\n" for e in
                        ("SNPWrite", "beginAdvance", "endAdvance", "SNPRead", "beginReverse", "endReverse"))
        hooks += "void adProfileAdj_turn(const char *callee, const char *file);\n"
    primal = [f"{transformer.primal_prototype(program.procedures[n])};" for n in program.procedures]
    body = (banner + f'#include "{base}.h"\n#include "adStack.h"\n#include <math.h>\n#include <string.h>\n' + hooks +
            "\n".join(primal) + "\n\n" + "\n".join(definitions) + ("\n\n" if definitions else "") + "\n\n".join(texts) + "\n")
    os.makedirs(options.directory, exist_ok=True)
    for name, content in ((f"{base}.h", header), (f"{base}.c", body)):
        path = os.path.join(options.directory, name)
        temporary = f"{path}.new"
        with open(temporary, "w", encoding="utf-8") as f:
            f.write(content)
        os.replace(temporary, path)
        print(f"refad: wrote {path}", file=sys.stderr)


def main(argv):
    try:
        options = arguments(argv)
        write(options, *generate(options, argv))
    except RefadError as error:
        print(f"refad: {error}", file=sys.stderr)
        return 2
    return 0
