"""Which locations have an adjoint, per procedure: those that depend on an independent and that a dependent depends on.

One answer per procedure, the union over its calls; inside a procedure the order of statements does not matter. A location
that a callee has an adjoint for and that the caller would pass without one becomes active too (`forced`); values passed
by value need no such thing, they get a dummy.
"""
from pycparser import c_ast

from refad.program import Assign, Call, fail, text, walk


def differentiable(program, proc, node):
    """Real locations that an expression's value depends on differentiably: no indices, no conditions."""
    found = program.reference(proc, node)
    if found:
        if program.is_real(proc, found[0]):
            yield found[0]
        return
    if isinstance(node, c_ast.BinaryOp) and node.op not in "+-*/":
        return
    if isinstance(node, c_ast.Cast) and "int" in text(node.to_type):
        return
    for name, child in node.children():
        if name in ("cond", "to_type") or (isinstance(node, c_ast.FuncCall) and name == "name"):
            continue
        yield from differentiable(program, proc, child)


def closure(start, edges):
    reached, todo = set(start), list(start)
    while todo:
        for target in edges.get(todo.pop(), ()):
            if target not in reached:
                reached.add(target)
                todo.append(target)
    return reached


class ActivityAnalysis:
    def __init__(self, program, effects, head, independents, dependents):
        self.program, self.effects = program, effects
        self.forward, self.backward, self.dependence = {}, {}, {}
        for name in effects.order:
            self._dependence(program.procedures[name])
        self.head = head
        names = effects.order
        self.varied_in = {n: set() for n in names}
        self.useful_out = {n: set() for n in names}
        self.forced = {n: set() for n in names}
        self.active = {n: set() for n in names}
        self.reached = {head}
        self.varied_in[head] = set(independents)
        self.useful_out[head] = set(dependents)
        self._propagate()
        for wanted, side, other in ((independents, "independent", "dependent"), (dependents, "dependent", "independent")):
            for root in sorted({location[0] for location in wanted}):
                if not any(location[0] == root and location in self.active[head] for location in wanted):
                    fail(head, f"no {other} is connected with the {side} '{root}'")

    def _dependence(self, proc):
        """Edges among a procedure's own locations, and which outputs depend on which inputs."""
        program, forward = self.program, {}

        def edge(source, target):
            forward.setdefault(source, set()).add(target)

        if proc.external:
            leaves = lambda n: [(n, *path) for path, _ in program.leaves(program.variable(proc, n).type)]
            for out, ins in proc.external["depends"].items():
                for target in leaves(out):
                    for name in ins:
                        for source in leaves(name):
                            edge(source, target)
        for s in walk(proc.body):
            if isinstance(s, Assign):
                target = program.reference(proc, s.lhs)[0]
                if program.is_real(proc, target):
                    for source in differentiable(program, proc, s.rhs):
                        edge(source, target)
            elif isinstance(s, Call):
                for out, ins in self.dependence[s.callee].items():
                    target = self._up(proc, s, out)
                    for source in ins:
                        mapped = self._up(proc, s, source)
                        if target and mapped:
                            edge(mapped, target)
        backward = {}
        for source, targets in forward.items():
            for target in targets:
                backward.setdefault(target, set()).add(source)
        self.forward[proc.name], self.backward[proc.name] = forward, backward
        outs = {l for l in self.effects.effects[proc.name].out if program.is_real(proc, l)}
        if proc.result_kind.startswith("Real"):
            outs.add((proc.name,))
        inputs = lambda l: program.visible_outside(proc, l) or (len(l) == 1 and program.variable(proc, l[0]).role == "param")
        self.dependence[proc.name] = {o: {i for i in closure({o}, backward) if inputs(i) and program.is_real(proc, i)}
                                      for o in outs}

    def _up(self, proc, call, callee_location):
        """The caller's location behind a callee's: pointees, globals, by-value parameters and the result."""
        binding = self.effects.binding(proc, call)
        if callee_location == (call.callee,):
            return (call.result.name,) if call.result else None
        variable = binding.callee.variable(callee_location[0])
        if variable is not None and variable.by_value:
            return binding.value_location(variable)
        return binding.location(callee_location)

    def written_active(self, proc, call):
        """Outputs of a call, in the callee's words, that are active in the caller: none means the call has no adjoint."""
        callee = self.program.procedures[call.callee]
        outs = set(self.effects.effects[call.callee].out)
        if callee.result_kind:
            outs.add((callee.name,))
        return {o for o in outs if self._up(proc, call, o) in self.active[proc.name] and self.program.is_real(callee, o)}

    def is_active(self, proc, call):
        return bool(self.written_active(proc, call))

    def _propagate(self):
        changed = True
        while changed:
            changed = False
            for name in reversed(self.effects.order):
                if name not in self.reached:
                    continue
                changed |= self._visit(self.program.procedures[name])

    def _visit(self, proc):
        name, program = proc.name, self.program
        varied = closure(self.varied_in[name], self.forward[name])
        useful = closure(self.useful_out[name], self.backward[name])
        active = {l for l in (varied & useful) | self.forced[name] if program.is_real(proc, l)}
        if proc.external:
            ends = {(n, *path) for out, ins in proc.external["depends"].items() for n in (out, *ins)
                    for path, _ in program.leaves(program.variable(proc, n).type)}
            active |= ends
        changed = active != self.active[name]
        self.active[name] = active
        for call in program.callees(proc.body):
            written = self.written_active(proc, call)
            if not written:
                continue
            callee = program.procedures[call.callee]
            effects = self.effects.effects[call.callee]
            inputs = effects.use | effects.out | {(p.name,) for p in callee.params if p.by_value}
            given = {l for l in inputs if self._up(proc, call, l) in active}
            before = (len(self.varied_in[callee.name]), len(self.useful_out[callee.name]), len(self.forced[callee.name]),
                      len(self.forced[name]), len(self.reached))
            self.varied_in[callee.name] |= given
            self.useful_out[callee.name] |= written
            self.forced[callee.name] |= written
            self.reached.add(callee.name)
            for location in self.active[callee.name]:
                mapped = self.effects.binding(proc, call).location(location)
                if mapped and mapped not in active:
                    self.forced[name].add(mapped)
            changed |= before != (len(self.varied_in[callee.name]), len(self.useful_out[callee.name]),
                                  len(self.forced[callee.name]), len(self.forced[name]), len(self.reached))
        return changed
