"""The adjoint of one procedure, as C text: `f_b` (joint), `f_fwd` and `f_bwd` (split), `f_d` (tangent).

Order on the AD stack at a call: what the caller itself must keep (its result variable), then the snapshot, then the primal
call. Nothing here decides what is pushed; that is `tbr`. Both modes execute the same derivative statements in the same
order, so that gradients are bitwise equal under every placement.
"""
import re
from copy import deepcopy

from pycparser import c_ast

from refad.derive import mark, tangent_value
from refad.effects import member_extents
from refad.program import C_TYPES, Assign, Call, For, If, Leaf, Struct, While, copy, fail, text

JOINT, FORWARD, BACKWARD = "joint", "forward", "backward"

class Block:
    """Statements of a forward sweep and of the backward sweep that undoes it."""

    def __init__(self):
        self.forward, self.backward = [], []

    def add(self, forward=(), backward=()):
        self.forward += forward
        self.backward[:0] = backward


def indent(lines):
    return ["    " + line for line in lines]


class Transformer:
    def __init__(self, program, effects, activity, tbr, modes, profile):
        self.program, self.effects, self.activity, self.tbr = program, effects, activity, tbr
        self.modes, self.profile = modes, profile

    # Names.
    def words(self, proc, node, suffix="b"):
        """Text of an expression with @x and %x replaced by the names of adjoint variables and temporaries. The adjoint of a
        parameter that is passed by value is a pointer, or a local where the procedure assigns the parameter: then it is no longer
        the caller's value."""
        adjoint = suffix == "b"
        assigned = {p.name for p in self.assigned_params(proc)} if adjoint else set()
        pointers = {p.name for p in proc.params if p.by_value} - assigned if adjoint else set()

        def name(found):
            if found.group(1) == "@" and found.group(2) in assigned:
                return self.program.adjoint_name(found.group(2), "lb")
            spelled = self.program.adjoint_name(found.group(2), suffix)
            return f"(*{spelled})" if found.group(1) == "@" and found.group(2) in pointers else spelled

        return re.sub(r"([@%])(\w+)", name, text(node))

    def adjoint_of(self, proc, node, suffix="b"):
        return self.words(proc, mark(node), suffix)

    # Signatures.
    def adjoint_params(self, proc):
        """Parameters that get an adjoint behind them."""
        active = self.activity.active[proc.name]
        return [p for p in proc.params if any(l[0] == p.name for l in active)]

    def assigned_params(self, proc):
        """Active parameters passed by value that the procedure assigns."""
        written = self.effects.written(proc, proc.body)
        return [p for p in self.adjoint_params(proc) if p.by_value and (p.name,) in written]

    def _declare(self, decl, name):
        new = deepcopy(decl)
        node = new.type
        while not isinstance(node, c_ast.TypeDecl):
            node = node.type
        node.declname = name
        new.name, new.init = name, None
        spelled = text(new)
        return spelled

    def _without_const(self, spelled):
        return re.sub(r"\bconst\s+", "", spelled)

    def signature(self, proc, kind, suffix="b"):
        params = []
        with_adjoint = self.adjoint_params(proc)
        for p in proc.params:
            params.append(self._declare(p.decl, p.name))
            if p in with_adjoint and kind != "forward_split":
                adjoint = self.program.adjoint_name(p.name, suffix)
                if p.by_value:
                    star = "*" if kind != "tangent" else ""
                    params.append(f"{C_TYPES[p.type.kind]} {star}{adjoint}")
                else:
                    spelled = self._declare(p.decl, adjoint)
                    params.append(spelled if kind == "tangent" else self._without_const(spelled))
        active_result = (proc.name,) in self.activity.active[proc.name]
        result = "void"
        if kind == "forward_split" and proc.result_kind:
            result = C_TYPES[proc.result_kind]
        if active_result and kind in ("joint", "backward_split"):
            params.append(f"{C_TYPES[proc.result_kind]} {self.program.adjoint_name(proc.name, suffix)}")
        if kind == "tangent" and proc.result_kind:
            result = C_TYPES[proc.result_kind]
            if active_result:
                params.append(f"{C_TYPES[proc.result_kind]} *{self.program.adjoint_name(proc.name, suffix)}")
        name = proc.name + {"joint": "_b", "forward_split": "_fwd", "backward_split": "_bwd", "tangent": "_d"}[kind]
        return f"{result} {name}({', '.join(params) or 'void'})"

    def primal_prototype(self, proc):
        params = [self._declare(p.decl, p.name) for p in proc.params]
        return f"{C_TYPES.get(proc.result_kind, 'void')} {proc.name}({', '.join(params) or 'void'})"

    # Pushes and pops.
    def save(self, proc, node, leaf, dims=None):
        """(push, pop) of one value, or of an array when `dims` are given."""
        if dims:
            base = text(node)
            if len(dims) > 1:
                base = f"({C_TYPES[leaf.kind]} *){base}"
            count = " * ".join(text(d) if isinstance(d, (c_ast.Constant, c_ast.ID)) else f"({text(d)})" for d in dims)
            return f"push{leaf.kind}Array({base}, {count});", f"pop{leaf.kind}Array({base}, {count});"
        spelled = text(node)
        address = spelled[1:] if re.fullmatch(r"\*\w+", spelled) else "&" + spelled
        return f"push{leaf.kind}({spelled});", f"pop{leaf.kind}({address});"

    def save_location(self, proc, location):
        leaf = self.program.leaf(proc, location)
        dims = member_extents(self.program, proc, location, leaf.dims)
        node = self.program.access(proc, location)
        if not dims and leaf.pointer:
            node = c_ast.UnaryOp("*", node)
        return self.save(proc, node, leaf, dims)

    def save_section(self, proc, call, callee_location):
        binding = self.effects.binding(proc, call)
        node, dims = binding.section(callee_location)
        if len(callee_location) > 1:
            names = {}
            owner = binding.callee.variable(callee_location[0]) or self.program.globals[callee_location[0]]
            type_ = owner.type
            for member in callee_location[1:-1]:
                type_ = self.program.structs[type_.tag][member]
            for member, inner in self.program.structs[type_.tag].items():
                if isinstance(inner, Leaf):
                    names[member], _ = binding.section(callee_location[:-1] + (member,))
            dims = [copy(d, names) for d in dims]
        return self.save(proc, node, self.program.leaf(binding.callee, callee_location), dims)

    # Sweeps.
    def sweep(self, proc, statements, mode):
        block = Block()
        for s in statements:
            if isinstance(s, Assign):
                self._assign(proc, s, block)
            elif isinstance(s, Call):
                self._call(proc, s, block)
            elif isinstance(s, If):
                self._if(proc, s, block, mode)
            elif isinstance(s, For):
                self._for(proc, s, block, mode)
            elif isinstance(s, While):
                self._while(proc, s, block, mode)
        return block

    def _assign(self, proc, s, block):
        forward, backward = [f"{text(s.lhs)} = {text(s.rhs)};"], []
        if id(s) in self.tbr.pushes:
            location = self.program.reference(proc, s.lhs)[0]
            push, pop = self.save(proc, s.lhs, self.program.leaf(proc, location))
            forward.insert(0, push)
            backward.append(pop)
        for step in self.tbr.steps(proc, s):
            target = self.words(proc, step.target)
            if text(step.target).startswith("%"):
                self.temporaries.add((target, self.program.leaf(proc, self.program.reference(proc, s.lhs)[0]).kind))
            target = target[1:-1] if target.startswith("(*") else target
            backward.append(f"{target} {step.op} {self.words(proc, step.value)};")
        block.add(forward, backward)

    def is_split(self, call):
        return self.modes.is_split(call)

    def _call(self, proc, s, block):
        callee = self.program.procedures[s.callee]
        forward, backward = [], []
        active = self.activity.is_active(proc, s)
        split = active and self.is_split(s)
        result = f"{s.result.name} = " if s.result else ""
        primal_args = ", ".join(text(a) for a in s.args)
        kept = None
        if id(s) in self.tbr.pushes:
            kept = self.save_location(proc, (s.result.name,))
            forward.append(kept[0])
        name = f'"{s.callee}", "{s.file}", {s.line}'
        hook = lambda event: [f"adProfileAdj_{event}({name});"] if self.profile and active and not split else []
        if split:
            forward.append(f"{result}{s.callee}_fwd({primal_args});")
        else:
            saved = self.tbr.snapshot(proc, s) if active else self.tbr.restored(proc, s)
            pairs = [self.save_section(proc, s, l) for l in saved]
            forward += hook("SNPWrite") + [push for push, _ in pairs]
            forward += hook("beginAdvance") + [f"{result}{s.callee}({primal_args});"] + hook("endAdvance")
            backward += hook("SNPRead") + [pop for _, pop in reversed(pairs)]
        if active:
            if kept and not split:
                backward.append(kept[1])
            before, args, after = self._adjoint_arguments(proc, s, callee)
            reverse = f"{s.callee}_{'bwd' if split else 'b'}({', '.join(args)});"
            backward += hook("beginReverse") + before + [reverse] + after + hook("endReverse")
            if kept and split:
                backward.append(kept[1])
        elif kept:
            backward.append(kept[1])
        if not active and s.result and (s.result.name,) in self.activity.active[proc.name]:
            fail(s.where, f"the result of '{s.callee}' is active in '{proc.name}' but has no adjoint")
        block.add(forward, backward)

    def _adjoint_arguments(self, proc, s, callee):
        args, before, after = [], [], []
        active = self.activity.active[proc.name]
        binding = self.effects.binding(proc, s)
        with_adjoint = self.adjoint_params(callee)
        for p in callee.params:
            node = binding.actuals[p.name]
            args.append(text(node))
            if p not in with_adjoint:
                continue
            if p.by_value:
                location = binding.value_location(p)
                if location in active:
                    target = self.adjoint_of(proc, node)
                    args.append(target.strip("(*)") if re.fullmatch(r"\*\w+|\(\*\w+\)", target) else "&" + target)
                else:
                    dummy = self.program.adjoint_name("dummy")
                    self.temporaries.add((dummy, p.type.kind))
                    args.append("&" + dummy)
            else:
                args.append(self._adjoint_pointer(proc, node))
        if (callee.name,) in self.activity.active[callee.name]:
            adjoint = self.program.adjoint_name(s.result.name) if s.result else None
            if s.result and (s.result.name,) in active:
                args.append(adjoint)
                after.append(f"{adjoint} = 0.0;")
            else:
                args.append("0.0")
        return before, args, after

    def _adjoint_pointer(self, proc, node, suffix="b"):
        """A pointer argument with its root replaced by the adjoint's."""
        if isinstance(node, c_ast.UnaryOp) and node.op == "&":
            return "&" + self.adjoint_of(proc, node.expr, suffix)
        if isinstance(node, c_ast.BinaryOp):
            return f"{self._adjoint_pointer(proc, node.left, suffix)} {node.op} {text(c_ast.UnaryOp('+', node.right))[1:]}"
        return self.adjoint_of(proc, node, suffix)

    def _if(self, proc, s, block, mode):
        then, orelse = self.sweep(proc, s.then, mode), self.sweep(proc, s.orelse, mode)
        forward = lambda: self._branches(text(s.cond), then.forward, orelse.forward)
        if not then.backward and not orelse.backward:
            block.add(forward())
        elif self.tbr.keeps_condition(proc, s):
            block.add(forward(), self._branches(text(s.cond), then.backward, orelse.backward))
        else:
            then.forward.append("pushControl1b(1);")
            orelse.forward.append("pushControl1b(0);")
            self.controls = True
            block.add(forward(), ["popControl1b(&branch);"] + self._branches("branch == 1", then.backward, orelse.backward))

    def _branches(self, cond, then, orelse):
        if not then and not orelse:
            return []
        if not then:
            return [f"if (!({cond})) {{", *indent(orelse), "}"]
        lines = [f"if ({cond}) {{", *indent(then)]
        if orelse:
            lines += ["} else {", *indent(orelse)]
        return lines + ["}"]

    def _for(self, proc, s, block, mode):
        body = self.sweep(proc, s.body, mode)
        step = f"++{s.var}" if s.step == 1 else f"--{s.var}" if s.step == -1 else f"{s.var} += {s.step}"
        forward = [f"for ({s.var} = {text(s.first)}; {s.var} {s.op} {text(s.bound)}; {step}) {{", *indent(body.forward), "}"]
        backward = []
        if body.backward:
            last, bound = text(s.bound), text(s.bound)
            strict = s.op in ("<", ">")
            wrap = lambda node: text(node) if isinstance(node, (c_ast.ID, c_ast.Constant)) else f"({text(node)})"
            if abs(s.step) == 1:
                last = bound if not strict else f"{wrap(s.bound)} {'-' if s.step > 0 else '+'} 1"
            else:
                span = f"{wrap(s.bound)} - {wrap(s.first)}"
                if strict:
                    span += " - 1" if s.step > 0 else " + 1"
                last = f"{wrap(s.first)} + ({span}) / {s.step} * {s.step}" if s.step > 0 else \
                    f"{wrap(s.first)} + ({span}) / ({s.step}) * ({s.step})"
            if abs(s.step) != 1:
                # C rounds towards zero: an empty loop must stay empty.
                guard = f"{wrap(s.first)} {s.op} {wrap(s.bound)}"
                last = f"({guard} ? {last} : {wrap(s.first)} - ({s.step}))"
            back = f"--{s.var}" if s.step == 1 else f"++{s.var}" if s.step == -1 else f"{s.var} -= {s.step}"
            backward = [f"for ({s.var} = {last}; {s.var} {'>=' if s.step > 0 else '<='} {text(s.first)}; {back}) {{",
                        *indent(body.backward), "}"]
        for location in self.tbr.loop_pushes.get(id(s), ()):
            push, pop = self.save_location(proc, location)
            forward.insert(0, push)
            backward.append(pop)
        if id(s) in self.tbr.pushes:
            push, pop = self.save_location(proc, (s.var,))
            forward.insert(0, push)
            backward.append(pop)
        block.add(forward, backward)

    def _while(self, proc, s, block, mode):
        body = self.sweep(proc, s.body, mode)
        if not body.backward:
            block.add([f"while ({text(s.cond)}) {{", *indent(body.forward), "}"])
            return
        count = f"adCount{self.counts}"
        self.counts += 1
        forward = [f"{count} = 0;", f"while ({text(s.cond)}) {{", *indent(body.forward), f"    ++{count};", "}",
                   f"pushInteger4({count});"]
        backward = [f"popInteger4(&{count});", f"for (; {count} > 0; --{count}) {{", *indent(body.backward), "}"]
        block.add(forward, backward)

    # Whole procedures.
    def _body(self, proc, mode):
        self.temporaries, self.controls, self.counts = set(), False, 0
        return self.sweep(proc, proc.body, mode)

    def _locals(self, proc, lines, adjoint, primal):
        """Declarations of what the lines mention."""
        mentioned = set(re.findall(r"[A-Za-z_]\w*", "\n".join(lines)))
        declared, cleared = [], []
        active = self.activity.active[proc.name]
        for variable in proc.locals.values():
            if primal and variable.name in mentioned and not (variable.name == proc.name and not proc.result_kind):
                declaration = self._declare(variable.decl, variable.name)
                if re.search(rf"push\w+\({variable.name}\);", "\n".join(lines)):
                    # Often pushed before its first assignment, which clang takes as licence to drop the loop around it.
                    declaration += " = 0"
                if variable.constant:
                    declaration += f" = {text(variable.decl.init)}" if not isinstance(variable.decl.init, c_ast.InitList) \
                        else f" = {{{text(variable.decl.init)}}}"
                declared.append(declaration + ";")
        if adjoint:
            for variable in proc.locals.values():
                name = self.program.adjoint_name(variable.name)
                if variable.name == proc.name and (proc.name,) in active:
                    continue  # a parameter of the adjoint
                if not any(l[0] == variable.name for l in active) or name not in mentioned:
                    continue
                plain = isinstance(variable.type, Leaf) and not variable.type.dims
                declaration = self._without_const(self._declare(variable.decl, name)).replace("static ", "")
                declared.append(declaration + (" = 0.0;" if plain else ";"))
                if not plain:
                    cleared.append(f"memset(&{name}, 0, sizeof({name}));" if isinstance(variable.type, Struct)
                                   else f"memset({name}, 0, sizeof({name}));")
            for p in self.assigned_params(proc):
                declared.append(f"{C_TYPES[p.type.kind]} {self.program.adjoint_name(p.name, 'lb')} = 0.0;")
            for name, kind in sorted(self.temporaries):
                declared.append(f"{C_TYPES[kind]} {name}" + (" = 0.0;" if name.startswith("dummy") else ";"))
        if "branch" in mentioned and self.controls:
            declared.append("int branch;")
        for count in range(self.counts):
            if f"adCount{count}" in mentioned:
                declared.append(f"int adCount{count};")
        return declared, cleared

    def _hand_back(self, proc):
        """The end of a backward sweep: adjoints of assigned parameters go to the caller."""
        names = [(self.program.adjoint_name(p.name), self.program.adjoint_name(p.name, "lb")) for p in self.assigned_params(proc)]
        return [f"*{outer} += {inner};" for outer, inner in names]

    def joint(self, proc, at_entry=()):
        block = self._body(proc, JOINT)
        block.backward += self._hand_back(proc)
        turn = [f'adProfileAdj_turn("{proc.name}", "{proc.where.split(":")[0]}");'] if self.profile else []
        declared, cleared = self._locals(proc, block.forward + block.backward, True, True)
        return self._print(self.signature(proc, "joint"),
                           [declared, list(at_entry), block.forward, turn, cleared, block.backward])

    def split(self, proc):
        block = self._body(proc, FORWARD)
        block.backward += self._hand_back(proc)
        pushes, pops = [], []
        for location in self.surviving_locals(proc):
            push, pop = self.save_location(proc, location)
            pushes.append(push)
            pops.insert(0, pop)
        finish = [f"return {proc.name};"] if proc.result_kind else []
        forward_lines = block.forward + pushes + finish
        declared, _ = self._locals(proc, [l for l in forward_lines], False, True)
        forward = self._print(self.signature(proc, "forward_split"), [declared, block.forward, pushes, finish])
        declared, cleared = self._locals(proc, pops + block.backward, True, True)
        backward = self._print(self.signature(proc, "backward_split"), [declared, pops, cleared, block.backward])
        return forward, backward

    def surviving_locals(self, proc):
        """Locals, and parameters passed by value and assigned, whose last values the backward sweep reads."""
        wanted = set(self.tbr.final[proc.name])
        for call in self.program.callees(proc.body):
            if self.activity.is_active(proc, call):
                binding = self.effects.binding(proc, call)
                wanted |= binding.locations(self.effects.effects[call.callee].use)
        written = self.effects.written(proc, proc.body)
        return sorted(l for l in wanted if not self.program.visible_outside(proc, l) and l in written)

    def tangent(self, proc):
        self.temporaries, self.controls, self.counts = set(), False, 0
        lines = self._tangent_sweep(proc, proc.body)
        if proc.result_kind:
            lines.append(f"return {proc.name};")
        active, name_of = self.activity.active[proc.name], self.program.adjoint_name
        declared, _ = self._locals(proc, lines, False, True)
        mentioned = set(re.findall(r"[A-Za-z_]\w*", "\n".join(lines)))
        cleared = []
        for variable in proc.locals.values():
            name = name_of(variable.name, "d")
            if name in mentioned and any(l[0] == variable.name for l in active) and variable.name != proc.name:
                declaration = self._without_const(self._declare(variable.decl, name))
                plain = isinstance(variable.type, Leaf) and not variable.type.dims
                declared.append(declaration + (" = 0.0;" if plain else ";"))
                if not plain:
                    cleared.append(f"memset(&{name}, 0, sizeof({name}));")
        if name_of("dummy", "d") in mentioned:
            declared.append(f"double {name_of('dummy', 'd')};")
        return self._print(self.signature(proc, "tangent", "d"), [declared, cleared, lines])

    def _tangent_sweep(self, proc, statements):
        lines = []
        active = self.activity.active[proc.name]
        pointer_result = lambda node: isinstance(node, c_ast.ID) and node.name == proc.name
        for s in statements:
            if isinstance(s, Assign):
                value = tangent_value(self.program, proc, active, s)
                if value is not None:
                    target = self.adjoint_of(proc, s.lhs, "d")
                    lines.append(f"{'*' if pointer_result(s.lhs) else ''}{target} = {self.words(proc, value, 'd')};")
                lines.append(f"{text(s.lhs)} = {text(s.rhs)};")
            elif isinstance(s, Call):
                lines.append(self._tangent_call(proc, s))
            elif isinstance(s, If):
                lines += self._branches(text(s.cond), self._tangent_sweep(proc, s.then), self._tangent_sweep(proc, s.orelse))
            elif isinstance(s, For):
                lines += [f"for ({s.var} = {text(s.first)}; {s.var} {s.op} {text(s.bound)}; {s.var} += {s.step}) {{",
                          *indent(self._tangent_sweep(proc, s.body)), "}"]
            else:
                lines += [f"while ({text(s.cond)}) {{", *indent(self._tangent_sweep(proc, s.body)), "}"]
        return lines

    def _tangent_call(self, proc, s):
        result = f"{s.result.name} = " if s.result else ""
        callee = self.program.procedures[s.callee]
        if not self.activity.is_active(proc, s):
            return f"{result}{s.callee}({', '.join(text(a) for a in s.args)});"
        args, binding = [], self.effects.binding(proc, s)
        with_adjoint = self.adjoint_params(callee)
        for p in callee.params:
            node = binding.actuals[p.name]
            args.append(text(node))
            if p not in with_adjoint:
                continue
            if not p.by_value:
                args.append(self._adjoint_pointer(proc, node, "d"))
            elif binding.value_location(p) in self.activity.active[proc.name]:
                args.append(self.adjoint_of(proc, node, "d"))
            else:
                args.append("0.0")
        if (callee.name,) in self.activity.active[callee.name]:
            known = s.result and (s.result.name,) in self.activity.active[proc.name]
            name = self.program.adjoint_name(s.result.name if known else "dummy", "d")
            args.append("&" + name)
        return f"{result}{s.callee}_d({', '.join(args)});"

    def _print(self, signature, parts):
        lines = [f"{signature} {{"]
        for part in parts:
            lines += indent(part)
        return "\n".join([*lines, "}"])


class Modes:
    """Joint or split for every call: a directive before the call, else the lists, else the default."""

    def __init__(self, program, split=(), joint=(), default_split=False):
        self.program, self.split, self.joint, self.default_split = program, set(split), set(joint), default_split

    def is_split(self, call):
        if self.program.procedures[call.callee].external:
            return False
        if call.directive:
            return call.directive == "NOCHECKPOINT"
        if call.callee in self.split:
            return True
        if call.callee in self.joint:
            return False
        return self.default_split
