"""The program that refad differentiates: types, variables, procedures and a handful of statement forms.

Built by `parse`, read by every analysis, printed by `transform`. Expressions stay pycparser nodes. A *location* is a
tuple (root, member, ...): a variable, or one member of a struct variable; arrays are one location, whole.
"""
import re
from dataclasses import dataclass, field

from pycparser import c_ast, c_generator


class RefadError(Exception):
    """Something in the source or on the command line that refad cannot take. The message says what, where and what next."""


def fail(where, what):
    raise RefadError(f"{where}: {what}" if where else what)


@dataclass
class Leaf:
    """A number, or an array of numbers. `dims` are extent expressions, outermost first; none: a single value."""
    kind: str  # Real8 Real4 Integer4 Integer8
    dims: list = field(default_factory=list)
    pointer: bool = False  # a pointer with that extent: a parameter, or a member

    @property
    def is_real(self):
        return self.kind.startswith("Real")


@dataclass
class Struct:
    tag: str
    pointer: bool = False


@dataclass
class Variable:
    name: str
    type: object
    role: str  # param local global
    decl: object  # the pycparser Decl it came from
    constant: bool = False  # never assigned: const

    @property
    def by_value(self):
        return self.role == "param" and not self.type.pointer


@dataclass
class Assign:
    lhs: object
    rhs: object
    where: str


@dataclass
class Call:
    callee: str
    args: list
    result: object  # a local scalar (c_ast.ID) or None
    file: str
    line: int
    directive: str  # "", "CHECKPOINT" or "NOCHECKPOINT"

    @property
    def where(self):
        return f"{self.file}:{self.line}"


@dataclass
class If:
    cond: object
    then: list
    orelse: list
    where: str


@dataclass
class For:
    """for (var = first; var <op> bound; var += step), with op one of < <= > >= and a constant step."""
    var: str
    first: object
    op: str
    bound: object
    step: int
    body: list
    where: str


@dataclass
class While:
    cond: object
    body: list
    where: str


@dataclass
class Procedure:
    name: str
    params: list
    locals: dict
    body: list
    result_kind: str  # "" for void
    where: str
    external: dict = None  # its description when the adjoint is written by hand

    def variable(self, name):
        for p in self.params:
            if p.name == name:
                return p
        return self.locals.get(name)


class Program:
    """All procedures, globals and types; answers questions about locations and references."""

    def __init__(self):
        self.structs = {}  # tag -> {member: type}
        self.globals = {}
        self.procedures = {}
        self.constants = set()  # enumerators
        self.includes = []
        self.own_declarations = []  # text of types declared in a .c file
        self.identifiers = set()
        self._adjoint_names = {}

    # Names. A name that is taken gets a digit behind it.
    def adjoint_name(self, name, suffix="b"):
        key = (name, suffix)
        if key not in self._adjoint_names:
            candidate, count = name + suffix, 0
            while candidate in self.identifiers:
                candidate, count = f"{name}{suffix}{count}", count + 1
            self._adjoint_names[key] = candidate
        return self._adjoint_names[key]

    def temporary(self, proc, stem, kind):
        """A new local. Numbered per procedure, so that the same source always gives the same names."""
        number_ = 1
        while self.variable(proc, f"{stem}{number_}"):
            number_ += 1
        name = f"{stem}{number_}"
        proc.locals[name] = Variable(name, Leaf(kind), "local", declaration(name, kind))
        self.identifiers.add(name)
        return name

    def variable(self, proc, name):
        return (proc.variable(name) if proc else None) or self.globals.get(name)

    # Locations.
    def leaves(self, type_, prefix=()):
        """(path, Leaf) of every number or array inside a type."""
        if isinstance(type_, Leaf):
            yield prefix, type_
        else:
            for member, inner in self.structs[type_.tag].items():
                yield from self.leaves(inner, prefix + (member,))

    def leaf(self, proc, location):
        type_ = self.variable(proc, location[0]).type
        for member in location[1:]:
            type_ = self.structs[type_.tag][member]
        return type_

    def is_scalar(self, proc, location):
        return not self.leaf(proc, location).dims

    def is_real(self, proc, location):
        return self.leaf(proc, location).is_real

    def visible_outside(self, proc, location):
        """Does the caller see it: what a pointer parameter points at, or a global."""
        variable = proc.variable(location[0])
        return variable is None or (variable.role == "param" and not variable.by_value)

    def reference(self, proc, node):
        """(location, index expressions) of an lvalue, or None when the node is not one."""
        indices = []
        while True:
            if isinstance(node, c_ast.ArrayRef):
                indices.insert(0, node.subscript)
                node = node.name
            elif isinstance(node, c_ast.UnaryOp) and node.op == "*":
                indices.insert(0, number("0"))
                node = node.expr
            else:
                break
        path = []
        while isinstance(node, c_ast.StructRef):
            path.insert(0, node.field.name)
            node = node.name
        if isinstance(node, c_ast.UnaryOp) and node.op == "*" and path:
            node = node.expr
        if not isinstance(node, c_ast.ID):
            return None
        variable = self.variable(proc, node.name)
        if variable is None:
            return None
        return (node.name, *path), indices

    def references(self, proc, node):
        """Every (location, node) read by an expression, indices included; array and struct names passed whole are not reads."""
        if node is None:
            return
        found = self.reference(proc, node)
        if found:
            location, indices = found
            if isinstance(self.leaf(proc, location), Leaf):
                yield location, node
            for index in indices:
                yield from self.references(proc, index)
            return
        for name, child in node.children():
            if name != "field" and not (isinstance(node, c_ast.FuncCall) and name == "name"):
                yield from self.references(proc, child)

    def reads(self, proc, node):
        return {location for location, _ in self.references(proc, node)}

    def index_reads(self, proc, node):
        """What must be known to address an lvalue."""
        found = self.reference(proc, node)
        reads = set()
        for index in found[1]:
            reads |= self.reads(proc, index)
        return reads

    def access(self, proc, location):
        """The expression that names a whole location."""
        node, type_ = c_ast.ID(location[0]), self.variable(proc, location[0]).type
        for member in location[1:]:
            node = c_ast.StructRef(node, "->" if type_.pointer else ".", c_ast.ID(member))
            type_ = self.structs[type_.tag][member]
        return node

    def callees(self, statements):
        for s in walk(statements):
            if isinstance(s, Call):
                yield s


def walk(statements):
    """All statements, outer before inner, in source order."""
    for s in statements:
        yield s
        if isinstance(s, If):
            yield from walk(s.then)
            yield from walk(s.orelse)
        elif isinstance(s, (For, While)):
            yield from walk(s.body)


C_TYPES = {"Real8": "double", "Real4": "float", "Integer4": "int", "Integer8": "long"}


def declaration(name, kind):
    type_ = c_ast.TypeDecl(name, [], None, c_ast.IdentifierType([C_TYPES[kind]]))
    return c_ast.Decl(name, [], [], [], [], type_, None, None)


# Expressions.
_generator = c_generator.CGenerator(reduce_parentheses=True)
_MARKED = re.compile(r"[@%](\w+)")


def text(node):
    return _generator.visit(node) if isinstance(node, c_ast.Node) else str(node)


def number(value):
    return c_ast.Constant("double" if "." in value else "int", value)


def copy(node, rename=None):
    """A copy of an expression; `rename` maps an identifier to a node."""
    if node is None:
        return None
    if isinstance(node, c_ast.ID):
        return (rename.get(node.name) if rename else None) or c_ast.ID(node.name)
    if isinstance(node, c_ast.StructRef):
        return c_ast.StructRef(copy(node.name, rename), node.type, c_ast.ID(node.field.name))
    if isinstance(node, c_ast.ArrayRef):
        return c_ast.ArrayRef(copy(node.name, rename), copy(node.subscript, rename))
    if isinstance(node, c_ast.UnaryOp):
        return c_ast.UnaryOp(node.op, copy(node.expr, rename))
    if isinstance(node, c_ast.BinaryOp):
        return c_ast.BinaryOp(node.op, copy(node.left, rename), copy(node.right, rename))
    if isinstance(node, c_ast.TernaryOp):
        return c_ast.TernaryOp(copy(node.cond, rename), copy(node.iftrue, rename), copy(node.iffalse, rename))
    if isinstance(node, c_ast.FuncCall):
        args = [copy(a, rename) for a in node.args.exprs] if node.args else []
        return c_ast.FuncCall(c_ast.ID(node.name.name), c_ast.ExprList(args))
    if isinstance(node, c_ast.Cast):
        return c_ast.Cast(node.to_type, copy(node.expr, rename))
    if isinstance(node, c_ast.Constant):
        return c_ast.Constant(node.type, node.value)
    fail(str(getattr(node, "coord", "")), f"expression of the form {type(node).__name__} is outside refad's subset of C")
