"""What a procedure does to what its caller can see, and how a call maps the callee's names to the caller's.

  use   may be read before it is overwritten
  out   may be overwritten
  must  certainly overwritten as a whole: a scalar, or an array covered by a loop nest
"""
from dataclasses import dataclass, field

from pycparser import c_ast

from refad.program import Assign, Call, For, If, While, copy, fail, text, walk


@dataclass
class Effects:
    use: set = field(default_factory=set)
    out: set = field(default_factory=set)
    must: set = field(default_factory=set)


class Binding:
    """One call: callee locations seen from the caller. Built once per call."""

    def __init__(self, program, caller, call):
        self.program, self.caller, self.call = program, caller, call
        self.callee = program.procedures[call.callee]
        self.actuals = {p.name: a for p, a in zip(self.callee.params, call.args)}
        self.bases = {}
        for p in self.callee.params:
            if not p.by_value:
                self.bases[p.name] = self._base(self.actuals[p.name])

    def _base(self, node):
        if isinstance(node, c_ast.UnaryOp) and node.op == "&":
            node = node.expr
        elif isinstance(node, c_ast.BinaryOp) and node.op in "+-":
            return self._base(node.left)
        found = self.program.reference(self.caller, node)
        if found is None:
            fail(self.call.where, f"'{text(node)}' passed to '{self.callee.name}': refad cannot tell which variable this is")
        return found[0]

    def location(self, callee_location):
        """The caller's location, None for by-value parameters and the callee's own."""
        root = callee_location[0]
        if root in self.bases:
            return self.bases[root] + callee_location[1:]
        return callee_location if self.callee.variable(root) is None else None

    def value_location(self, param):
        """The caller's location behind a by-value argument that is a plain reference."""
        found = self.program.reference(self.caller, self.actuals[param.name])
        return found[0] if found else None

    def refuse_aliases(self, callee_out):
        """No analysis here knows of two names for one variable where one of them is written."""
        roots = {l[0] for l in callee_out}
        for name, node in self.actuals.items():
            same = [n for n in self.bases if n != name and name in self.bases and text(self.actuals[n]) == text(node)]
            hidden = name in self.bases and self.bases[name][0] in roots and self.callee.variable(self.bases[name][0]) is None
            if (same and name in roots) or hidden:
                other = f"as '{same[0]}'" if same else "as a global"
                fail(self.call.where, f"'{self.callee.name}' writes '{text(node)}' as '{name}' and sees it {other} too: pass a copy")

    def locations(self, callee_locations):
        return {self.location(l) for l in callee_locations} - {None}

    def argument_reads(self):
        """What must be known to make the call again: values, indices."""
        reads = set()
        for p in self.callee.params:
            node = self.actuals[p.name]
            if p.by_value:
                reads |= self.program.reads(self.caller, node)
            else:
                reads |= self._address_reads(node)
        return reads

    def _address_reads(self, node):
        if isinstance(node, c_ast.UnaryOp) and node.op == "&":
            return self.program.index_reads(self.caller, node.expr)
        if isinstance(node, c_ast.BinaryOp):
            return self._address_reads(node.left) | self.program.reads(self.caller, node.right)
        return self.program.index_reads(self.caller, node)

    def section(self, callee_location):
        """(expression, extents) in the caller's words of what the callee sees at a location: what a snapshot pushes."""
        root = callee_location[0]
        leaf = self.program.leaf(self.callee, callee_location)
        if root not in self.bases:
            return self.program.access(self.caller, callee_location), leaf.dims
        node, type_ = copy(self.actuals[root]), self.callee.variable(root).type
        names = {p.name: self.actuals[p.name] for p in self.callee.params}
        for position, member in enumerate(callee_location[1:]):
            if isinstance(node, c_ast.UnaryOp) and node.op == "&":
                node = c_ast.StructRef(node.expr, ".", c_ast.ID(member))
            else:
                node = c_ast.StructRef(node, "->" if position == 0 else ".", c_ast.ID(member))
        if len(callee_location) > 1:
            return node, leaf.dims
        dims = [copy(d, names) for d in leaf.dims]
        if not dims:
            node = node.expr if isinstance(node, c_ast.UnaryOp) and node.op == "&" else c_ast.UnaryOp("*", node)
        return node, dims

    def is_whole(self, callee_location):
        """Does an array argument stand for the caller's whole array?"""
        location = self.location(callee_location)
        node, dims = self.section(callee_location)
        found = self.program.reference(self.caller, node)
        own = self.program.leaf(self.caller, location).dims
        return found is not None and not found[1] and [text(d) for d in dims] == [text(d) for d in own]


def member_extents(program, proc, location, dims):
    """Extents of a struct's member may name other members of the same struct."""
    if len(location) < 2:
        return dims
    owner = program.variable(proc, location[0]).type
    for member in location[1:-1]:
        owner = program.structs[owner.tag][member]
    names = {m: program.access(proc, location[:-1] + (m,)) for m in program.structs[owner.tag]}
    return [copy(d, names) for d in dims]


def covered(program, proc, loop):
    """Arrays that a loop nest overwrites from end to end: a[i], a[i][j] or a[i * m + j] over the declared extents."""
    result = set()

    def visit(statements, nest):
        for s in statements:
            if isinstance(s, For):
                visit(s.body, nest + [s])
            elif isinstance(s, Assign):
                location, indices = program.reference(proc, s.lhs)
                dims = [text(d) for d in member_extents(program, proc, location, program.leaf(proc, location).dims)]
                if dims and _spans(nest, indices, dims):
                    result.add(location)

    visit(loop.body, [loop])
    return result


def _spans(nest, indices, dims):
    loops = {l.var: text(l.bound) for l in nest
             if l.op == "<" and l.step == 1 and isinstance(l.first, c_ast.Constant) and l.first.value == "0"}
    if len(dims) == 1 and len(indices) == 1 and isinstance(indices[0], c_ast.BinaryOp) and indices[0].op == "+":
        row, column = indices[0].left, indices[0].right
        if isinstance(row, c_ast.BinaryOp) and row.op == "*" and isinstance(row.left, c_ast.ID) and isinstance(column, c_ast.ID):
            outer, inner, width = loops.get(row.left.name), loops.get(column.name), text(row.right)
            return row.left.name != column.name and inner == width and dims[0] == f"{outer} * {width}"
    names = [i.name if isinstance(i, c_ast.ID) else None for i in indices]
    return len(set(names)) == len(dims) and all(loops.get(n) == d for n, d in zip(names, dims))


class EffectsAnalysis:
    def __init__(self, program):
        self.program = program
        self.effects = {}
        self.bindings = {}
        self.order = self._bottom_up()
        for name in self.order:
            self.effects[name] = self._procedure(program.procedures[name])
        for name in self.order:
            proc = program.procedures[name]
            proc.body = self._separate(proc, proc.body)

    def _bottom_up(self):
        done, open_, order = set(), [], []

        def visit(name):
            if name in open_:
                fail(name, f"recursion is outside refad's subset of C ({' -> '.join(open_ + [name])})")
            if name in done:
                return
            open_.append(name)
            procedure = self.program.procedures[name]
            for call in self.program.callees(procedure.body):
                visit(call.callee)
            open_.pop()
            done.add(name)
            order.append(name)

        for name in self.program.procedures:
            visit(name)
        return order

    def _separate(self, proc, statements):
        """Takes arguments out in front where the call overwrites what they are made of: the backward sweep evaluates them again, in
        split mode before the callee has put the old values back."""
        result = []
        for s in statements:
            if isinstance(s, If):
                s.then, s.orelse = self._separate(proc, s.then), self._separate(proc, s.orelse)
            elif isinstance(s, (For, While)):
                s.body = self._separate(proc, s.body)
            elif isinstance(s, Call):
                out = self.call_out(proc, s) - ({(s.result.name,)} if s.result else set())
                callee = self.program.procedures[s.callee]

                def take(node, kind):
                    if not self.program.reads(proc, node) & out:
                        return node
                    name = self.program.temporary(proc, "arg" if kind.startswith("Real") else "index", kind)
                    result.append(Assign(c_ast.ID(name), node, s.where))
                    return c_ast.ID(name)

                for position, p in enumerate(callee.params):
                    s.args[position] = take(s.args[position], p.type.kind) if p.by_value else \
                        self._take_indices(s.args[position], lambda n: take(n, "Integer4"))
                self.bindings.pop(id(s), None)
            result.append(s)
        return result

    def _take_indices(self, node, take):
        if isinstance(node, c_ast.ArrayRef):
            return c_ast.ArrayRef(self._take_indices(node.name, take), take(node.subscript))
        if isinstance(node, c_ast.UnaryOp):
            return c_ast.UnaryOp(node.op, self._take_indices(node.expr, take))
        if isinstance(node, c_ast.BinaryOp):
            return c_ast.BinaryOp(node.op, self._take_indices(node.left, take), take(node.right))
        if isinstance(node, c_ast.StructRef):
            return c_ast.StructRef(self._take_indices(node.name, take), node.type, node.field)
        return node

    def binding(self, proc, call):
        if id(call) not in self.bindings:
            self.bindings[id(call)] = Binding(self.program, proc, call)
        return self.bindings[id(call)]

    def call_out(self, proc, call):
        out = self.binding(proc, call).locations(self.effects[call.callee].out)
        return out | ({(call.result.name,)} if call.result else set())

    def call_must(self, proc, call):
        binding = self.binding(proc, call)
        must = set()
        for l in self.effects[call.callee].must:
            location = binding.location(l)
            scalar = self.program.is_scalar(binding.callee, l)
            if location and (self.program.is_scalar(proc, location) if scalar else binding.is_whole(l)):
                must.add(location)
        return must | ({(call.result.name,)} if call.result else set())

    def _procedure(self, proc):
        if proc.external:
            d = proc.external
            expand = lambda names: {(n, *path) for n in names for path, _ in
                                    self.program.leaves(self._external_type(proc, n))}
            return Effects(expand(d["reads"]), expand(d["writes"]), set())
        effects = Effects()
        killed = self._walk(proc, proc.body, frozenset(), effects)
        visible = lambda ls: {l for l in ls if self.program.visible_outside(proc, l)}
        return Effects(visible(effects.use), visible(effects.out), visible(killed))

    def _external_type(self, proc, name):
        variable = self.program.variable(proc, name)
        if variable is None:
            fail(proc.name, f"the description of this external names '{name}', which is neither a parameter nor a global")
        return variable.type

    def _walk(self, proc, statements, killed, effects):
        program = self.program
        for s in statements:
            if isinstance(s, Assign):
                effects.use |= (program.reads(proc, s.rhs) | program.index_reads(proc, s.lhs)) - killed
                location = program.reference(proc, s.lhs)[0]
                effects.out.add(location)
                if program.is_scalar(proc, location):
                    killed |= {location}
            elif isinstance(s, Call):
                binding = self.binding(proc, s)
                binding.refuse_aliases(self.effects[s.callee].out)
                effects.use |= (binding.argument_reads() | binding.locations(self.effects[s.callee].use)) - killed
                effects.out |= self.call_out(proc, s)
                killed |= self.call_must(proc, s)
            elif isinstance(s, If):
                effects.use |= program.reads(proc, s.cond) - killed
                killed = self._walk(proc, s.then, killed, effects) & self._walk(proc, s.orelse, killed, effects)
            elif isinstance(s, For):
                effects.use |= (program.reads(proc, s.first) | program.reads(proc, s.bound)) - killed - {(s.var,)}
                effects.out.add((s.var,))
                killed |= {(s.var,)}
                self._walk(proc, s.body, killed, effects)
                killed |= covered(program, proc, s)
            elif isinstance(s, While):
                effects.use |= program.reads(proc, s.cond) - killed
                self._walk(proc, s.body, killed, effects)
        return killed

    def written(self, proc, statements):
        """Everything that statements may overwrite, callees included."""
        out = set()
        for s in walk(statements):
            if isinstance(s, Assign):
                out.add(self.program.reference(proc, s.lhs)[0])
            elif isinstance(s, Call):
                out |= self.call_out(proc, s)
            elif isinstance(s, For):
                out.add((s.var,))
        return out
