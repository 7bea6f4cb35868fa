"""C text -> program.Program. Runs the preprocessor and pycparser, then brings the code into the few forms of `program`.

What comments say is read from the original text, because the preprocessor drops it:
  double *h;                  /* [n*m] */     the extent of a pointer; members of the same struct may be named
  /* $AD NOCHECKPOINT */                      on the line before a call (also: // $AD ..., #pragma AD ...)
"""
import json
import os
import re
import subprocess
import tempfile

from pycparser import c_ast, c_parser

from refad.program import (Assign, Call, For, If, Leaf, Procedure, Program, Struct, Variable, While, copy, declaration, fail,
                           number, text, walk)

MATH = {"sqrt", "exp", "log", "sin", "cos", "tan", "pow", "fabs", "fmin", "fmax", "tanh", "atan", "sinh", "cosh", "asin",
        "acos", "floor", "ceil"}
KINDS = {"double": "Real8", "float": "Real4", "int": "Integer4", "long": "Integer8", "long int": "Integer8"}
STANDARD_HEADERS = {"math.h": "#define M_PI 3.14159265358979323846\n", "stdlib.h": "", "stdio.h": "", "string.h": "",
                    "stddef.h": "", "assert.h": "#define assert(x)\n"}
_DIRECTIVE = re.compile(r"(?:/\*|//|#\s*pragma)\s*\$?AD\s+(NOCHECKPOINT|CHECKPOINT)\b")
_COMMENT_ONLY = re.compile(r"^\s*(//.*|/\*.*\*/\s*|#.*|)$")


def preprocess(path, cpp_flags):
    with tempfile.TemporaryDirectory() as shim:
        for name, content in STANDARD_HEADERS.items():
            with open(os.path.join(shim, name), "w", encoding="utf-8") as f:
                f.write(content)
        compiler = os.environ.get("REFAD_CPP", "cc -E").split()
        command = [*compiler, "-nostdinc", "-undef", "-isystem", shim, *cpp_flags, path]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        fail(path, f"the preprocessor failed ({' '.join(command)}):\n{done.stderr.strip()}")
    return done.stdout


class SourceNotes:
    """What the comments of the source files say, by file and line."""

    def __init__(self):
        self._files = {}

    def _lines(self, file):
        if file not in self._files:
            try:
                with open(file, encoding="utf-8") as f:
                    lines = f.read().split("\n")
            except OSError:
                lines = []
            directives = {}
            for number_, line in enumerate(lines, 1):
                found = _DIRECTIVE.search(line)
                if not found:
                    continue
                follower = number_ if not _COMMENT_ONLY.match(line) else number_ + 1
                while follower <= len(lines) and _COMMENT_ONLY.match(lines[follower - 1]):
                    follower += 1
                directives[follower] = found.group(1)
            self._files[file] = (lines, directives)
        return self._files[file]

    def directive(self, file, *lines):
        known = self._lines(file)[1]
        return next((known[n] for n in lines if n in known), "")

    def extent(self, coord, name):
        lines = self._lines(coord.file)[0]
        if coord.line > len(lines):
            return None
        found = re.search(r"\*\s*(?:restrict\s+|const\s+)?" + re.escape(name) + r"\s*[;,)]?\s*/\*\s*\[([^\]]+)\]\s*\*/",
                          lines[coord.line - 1])
        return found.group(1) if found else None


class Parser:
    def __init__(self, cpp_flags=(), externals=None):
        self.cpp_flags = list(cpp_flags)
        self.externals = externals or {}
        self.program = Program()
        self.notes = SourceNotes()
        self.typedefs = {}
        self.prototypes = {}

    def parse(self, paths):
        units = []
        for path in paths:
            source = preprocess(path, self.cpp_flags)
            try:
                units.append((path, c_parser.CParser().parse(source, path)))
            except c_parser.ParseError as error:
                fail("", f"{error} (pycparser reads C99; see scripts/refad/README.md for the subset)")
            with open(path, encoding="utf-8") as f:
                for include in re.findall(r'^\s*#\s*include\s*([<"][^>"]+[>"])', f.read(), re.M):
                    if include not in self.program.includes:
                        self.program.includes.append(include)
            self.program.identifiers |= set(re.findall(r"[A-Za-z_]\w*", source))
        bodies = []
        for path, unit in units:
            for item in unit.ext:
                self._top_level(item, bodies)
        for definition in bodies:
            self.program.procedures[definition.decl.name] = self._signature(definition.decl, definition.coord)
        for name, description in self.externals.items():
            if name in self.program.procedures:
                fail(name, "is described as external, but its source is given: drop one of the two")
            if name not in self.prototypes:
                fail(name, "is described as external, but no source declares it: add its prototype")
            procedure = self._signature(self.prototypes[name], self.prototypes[name].coord)
            procedure.external = description
            self.program.procedures[name] = procedure
        for definition in bodies:
            _Body(self, self.program.procedures[definition.decl.name], definition).run()
        return self.program

    def _top_level(self, item, bodies):
        if isinstance(item, c_ast.FuncDef):
            bodies.append(item)
            return
        if isinstance(item, c_ast.Pragma):
            return
        if isinstance(item, c_ast.Typedef):
            self.typedefs[item.name] = item.type
            self._register_types(item.type)
        elif isinstance(item, c_ast.Decl):
            self._register_types(item.type)
            if isinstance(item.type, c_ast.FuncDecl):
                self.prototypes[item.name] = item
                return
            if item.name:
                self.program.globals[item.name] = Variable(item.name, self._type(item.type, item.coord, item.name), "global",
                                                           item, "const" in item.quals)
                return
        if item.coord.file.endswith(".c"):
            declared = text(item) + ";"
            if declared not in self.program.own_declarations:
                self.program.own_declarations.append(declared)

    def _register_types(self, node):
        if isinstance(node, c_ast.Struct):
            self._struct(node)
        elif isinstance(node, c_ast.Enum):
            if node.values:
                self.program.constants |= {e.name for e in node.values.enumerators}
        elif hasattr(node, "type") and isinstance(node.type, c_ast.Node):
            self._register_types(node.type)

    def _struct(self, node):
        tag = node.name or f"anonymous at {node.coord}"
        if node.decls:
            members = {}
            self.program.structs[tag] = members
            for d in node.decls:
                if isinstance(d, c_ast.Decl):
                    members[d.name] = self._type(d.type, d.coord, d.name)
        return tag

    def _type(self, node, where, name):
        if isinstance(node, c_ast.TypeDecl):
            node = node.type
            if isinstance(node, c_ast.Struct):
                return Struct(self._struct(node))
            if isinstance(node, c_ast.Enum):
                return Leaf("Integer4")
            spelled = " ".join(node.names)
            if spelled in self.typedefs:
                return self._type(self.typedefs[spelled], where, name)
            if spelled not in KINDS:
                fail(where, f"'{name}' has type '{spelled}'; refad knows {', '.join(KINDS)}, structs, arrays and pointers of them")
            return Leaf(KINDS[spelled])
        if isinstance(node, c_ast.ArrayDecl):
            inner = self._type(node.type, where, name)
            if isinstance(inner, Struct) or inner.pointer or node.dim is None:
                fail(where, f"'{name}': arrays of structs, of pointers and of unknown length are outside refad's subset of C")
            return Leaf(inner.kind, [node.dim, *inner.dims])
        if isinstance(node, c_ast.PtrDecl):
            inner = self._type(node.type, where, name)
            if inner.pointer or (isinstance(inner, Leaf) and inner.dims):
                fail(where, f"'{name}': pointers to pointers and to arrays are outside refad's subset of C")
            if isinstance(inner, Struct):
                return Struct(inner.tag, True)
            extent = self.notes.extent(where, name)
            dims = [c_parser.CParser().parse(f"int x = {extent};").ext[0].init] if extent else []
            return Leaf(inner.kind, dims, True)
        fail(where, f"'{name}': a type that refad cannot read ({type(node).__name__})")

    def _signature(self, decl, where):
        function, params = decl.type, []
        for p in function.args.params if function.args else []:
            if isinstance(p, c_ast.Typename):
                if isinstance(p.type.type, c_ast.IdentifierType) and p.type.type.names == ["void"]:
                    continue
                fail(where, f"'{decl.name}' is declared without parameter names: name them")
            type_ = self._type(p.type, p.coord, p.name)
            if isinstance(type_, Leaf) and type_.dims:
                type_.pointer = True
            if isinstance(type_, Struct) and not type_.pointer:
                fail(p.coord, f"'{p.name}': pass structs by pointer")
            params.append(Variable(p.name, type_, "param", p))
        names = function.type.type.names if isinstance(function.type, c_ast.TypeDecl) else ["a pointer"]
        kind = "" if names == ["void"] else KINDS.get(" ".join(names))
        if kind is None:
            fail(where, f"'{decl.name}' returns '{' '.join(names)}'; a procedure returns nothing or a number")
        procedure = Procedure(decl.name, params, {}, [], kind, str(where))
        if kind:
            procedure.locals[decl.name] = Variable(decl.name, Leaf(kind), "local", declaration(decl.name, kind))
        return procedure


class _Body:
    """One procedure's statements."""

    def __init__(self, parser, procedure, definition):
        self.parser, self.program, self.procedure, self.definition = parser, parser.program, procedure, definition
        self.rename = {}

    def run(self):
        if "static" in self.definition.decl.storage:
            fail(self.definition.coord, f"'{self.procedure.name}' is static: its adjoint stands in another file and must call it")
        self.procedure.body = self._block(self.definition.body, True)

    def _block(self, block, tail):
        if block is None:
            return []
        items = block.block_items or [] if isinstance(block, c_ast.Compound) else [block]
        saved, result = dict(self.rename), []
        declared = set()
        for position, item in enumerate(items):
            last = tail and position == len(items) - 1
            if isinstance(item, c_ast.Return):
                if not tail:
                    fail(item.coord, "a return inside a loop is outside refad's subset of C")
                self._return(item, result)
                break
            if isinstance(item, c_ast.If) and self._returns(item):
                # What follows an early return belongs to the other branch.
                if not tail:
                    fail(item.coord, "a return inside a loop is outside refad's subset of C")
                rest = c_ast.Compound(items[position + 1:])
                result += self._early_return(item, rest)
                break
            self._statement(item, result, declared, last)
        self.rename = saved
        return result

    def _returns(self, node):
        if isinstance(node, c_ast.Return):
            return True
        if isinstance(node, c_ast.FuncCall):
            return False
        return any(self._returns(child) for _, child in node.children())

    def _early_return(self, item, rest):
        result = []
        cond = self._expression(item.cond, result)
        branches = []
        for branch in (item.iftrue, item.iffalse):
            items = [] if branch is None else list(branch.block_items or []) if isinstance(branch, c_ast.Compound) else [branch]
            if not (items and isinstance(items[-1], c_ast.Return)):
                items.append(rest)
            branches.append(self._block(c_ast.Compound(items), True))
        result.append(If(cond, branches[0], branches[1], str(item.coord)))
        return result

    def _return(self, item, result):
        if item.expr is not None:
            value = self._expression(item.expr, result)
            result.append(Assign(c_ast.ID(self.procedure.name), value, str(item.coord)))

    def _statement(self, item, result, declared, tail):
        if item is None or isinstance(item, (c_ast.EmptyStatement, c_ast.Pragma)):
            return
        if isinstance(item, c_ast.Compound):
            result += self._block(item, tail)
        elif isinstance(item, c_ast.Decl):
            self._declare(item, result, declared)
        elif isinstance(item, c_ast.DeclList):
            for d in item.decls:
                self._declare(d, result, declared)
        elif isinstance(item, c_ast.Assignment):
            self._assign(item, result)
        elif isinstance(item, c_ast.UnaryOp) and item.op in ("p++", "++", "p--", "--"):
            lhs = self._expression(item.expr, result)
            op = "+" if "+" in item.op else "-"
            result.append(Assign(lhs, c_ast.BinaryOp(op, copy(lhs), number("1")), str(item.coord)))
        elif isinstance(item, c_ast.FuncCall):
            self._call(item, None, result)
        elif isinstance(item, c_ast.If):
            cond = self._expression(item.cond, result)
            result.append(If(cond, self._block(item.iftrue, tail), self._block(item.iffalse, tail), str(item.coord)))
        elif isinstance(item, c_ast.For):
            self._for(item, result)
        elif isinstance(item, c_ast.While):
            extra = []
            cond = self._expression(item.cond, extra)
            if extra:
                fail(item.coord, "a call in the condition of a while: assign it to a variable before the loop and at its end")
            result.append(While(cond, self._block(item.stmt, False), str(item.coord)))
        else:
            fail(item.coord, f"a {type(item).__name__} statement is outside refad's subset of C")

    def _declare(self, d, result, declared):
        type_ = self.parser._type(d.type, d.coord, d.name)
        name = d.name
        taken = lambda n: self.program.variable(self.procedure, n)
        previous = self.procedure.variable(name)
        same = previous is not None and previous.role == "local" and text(previous.decl.type) == text(d.type)
        if taken(name) and not (same and name not in self.rename):
            count = 0
            while taken(f"{d.name}_{count}"):
                count += 1
            name = f"{d.name}_{count}"
        if name != d.name or d.name in self.rename:
            self.rename[d.name] = c_ast.ID(name)
        self.program.identifiers.add(name)
        constant = "const" in d.quals or "static" in d.storage
        if "static" in d.storage and "const" not in d.quals:
            fail(d.coord, f"'{d.name}': a static variable inside a procedure; make it a global")
        self.procedure.locals[name] = Variable(name, type_, "local", d, constant)
        if isinstance(type_, Leaf):
            type_.dims = [copy(x, self.rename) for x in type_.dims]
        if d.init is not None and not constant:
            if isinstance(d.init, c_ast.InitList):
                fail(d.coord, f"'{d.name}': an initialiser list needs a const variable")
            self._assign(c_ast.Assignment("=", c_ast.ID(d.name, d.coord), d.init, d.coord), result)

    def _assign(self, item, result):
        lhs = self._expression(item.lvalue, result)
        if self.program.reference(self.procedure, lhs) is None:
            fail(item.coord, f"cannot assign to '{text(item.lvalue)}'")
        if item.op == "=" and isinstance(item.rvalue, c_ast.Assignment):
            self._assign(item.rvalue, result)
            rhs = copy(self._expression(item.rvalue.lvalue, result))
        elif item.op == "=" and self._is_call(item.rvalue) and isinstance(lhs, c_ast.ID) and \
                self.procedure.variable(lhs.name) and self.procedure.variable(lhs.name).role == "local" and \
                lhs.name not in {i for a in (item.rvalue.args or c_ast.ExprList([])).exprs for i in _names(a)}:
            self._call(item.rvalue, lhs, result)
            return
        else:
            rhs = self._expression(item.rvalue, result)
        if item.op != "=":
            rhs = c_ast.BinaryOp(item.op[:-1], copy(lhs), rhs)
        result.append(Assign(lhs, rhs, str(item.coord)))

    def _is_call(self, node):
        return isinstance(node, c_ast.FuncCall) and node.name.name not in MATH

    def _expression(self, node, result):
        """A copy with local names resolved and calls of procedures taken out in front."""
        if self._is_call(node):
            callee = self.program.procedures.get(node.name.name)
            if callee is None:
                self._unknown(node)
            if not callee.result_kind:
                fail(node.coord, f"'{callee.name}' has no result, but one is used")
            name = self.program.temporary(self.procedure, "result", callee.result_kind)
            self._call(node, c_ast.ID(name), result)
            return c_ast.ID(name)
        if isinstance(node, c_ast.ID):
            new = self.rename.get(node.name)
            name = new.name if new else node.name
            if not self.program.variable(self.procedure, name) and name not in self.program.constants:
                fail(node.coord, f"'{name}' is not declared in the sources given")
            return c_ast.ID(name)
        if isinstance(node, c_ast.StructRef):
            return c_ast.StructRef(self._expression(node.name, result), node.type, c_ast.ID(node.field.name))
        if isinstance(node, c_ast.FuncCall):
            return c_ast.FuncCall(c_ast.ID(node.name.name), c_ast.ExprList([self._expression(a, result) for a in node.args.exprs]))
        if isinstance(node, (c_ast.TernaryOp, c_ast.BinaryOp)):
            lazy = isinstance(node, c_ast.TernaryOp) or node.op in ("&&", "||")
            extra = [] if lazy else result
            new = copy_with(node, lambda n: self._expression(n, extra))
            if lazy and extra:
                fail(node.coord, "a call inside ?:, && or ||, which may not be executed: use an if statement")
            return new
        if isinstance(node, c_ast.UnaryOp) and node.op in ("p++", "++", "p--", "--", "sizeof"):
            fail(node.coord, f"'{node.op.strip('p')}' inside an expression is outside refad's subset of C")
        return copy_with(node, lambda n: self._expression(n, result))

    def _unknown(self, node):
        known = ", ".join(sorted(MATH))
        fail(node.coord, f"'{node.name.name}' has no source here and is no known math function ({known}): give its file, or "
                         "describe it with -ext")

    def _call(self, node, result_lhs, result):
        callee = self.program.procedures.get(node.name.name)
        if callee is None:
            self._unknown(node)
        given = node.args.exprs if node.args else []
        if len(given) != len(callee.params):
            fail(node.coord, f"'{callee.name}' takes {len(callee.params)} arguments, {len(given)} given")
        args = []
        for param, arg in zip(callee.params, given):
            value = self._expression(arg, result)
            if param.by_value and param.type.is_real and self.program.reference(self.procedure, value) is None and any(
                    self.program.is_real(self.procedure, l) for l in self.program.reads(self.procedure, value)):
                name = self.program.temporary(self.procedure, "arg", param.type.kind)
                result.append(Assign(c_ast.ID(name), value, str(node.coord)))
                value = c_ast.ID(name)
            args.append(value)
        file, line = node.coord.file, node.coord.line
        result.append(Call(callee.name, args, result_lhs, file, line, self.parser.notes.directive(file, line)))

    def _for(self, item, result):
        where = str(item.coord)
        shape = "loops have the form for (i = first; i < bound; i += step): any of < <= > >=, a constant step; use while otherwise"
        saved = dict(self.rename)
        init = item.init
        if isinstance(init, c_ast.DeclList) and len(init.decls) == 1:
            d = init.decls[0]
            first = self._expression(d.init, result)
            self._declare(c_ast.Decl(d.name, d.quals, d.align, d.storage, d.funcspec, d.type, None, None, d.coord), result, set())
            var = self.rename.get(d.name, c_ast.ID(d.name)).name
        elif isinstance(init, c_ast.Assignment) and init.op == "=" and isinstance(init.lvalue, c_ast.ID):
            var = self._expression(init.lvalue, result).name
            first = self._expression(init.rvalue, result)
        else:
            fail(where, shape)
        cond, step = item.cond, None
        if not (isinstance(cond, c_ast.BinaryOp) and cond.op in ("<", "<=", ">", ">=") and isinstance(cond.left, c_ast.ID)
                and self._expression(cond.left, result).name == var):
            fail(where, shape)
        bound = self._expression(cond.right, result)
        move = item.next
        if isinstance(move, c_ast.UnaryOp) and move.op in ("p++", "++", "p--", "--") and isinstance(move.expr, c_ast.ID):
            step, moved = (1 if "+" in move.op else -1), move.expr
        elif isinstance(move, c_ast.Assignment) and move.op in ("+=", "-=") and isinstance(move.rvalue, c_ast.Constant):
            step, moved = int(move.rvalue.value) * (1 if move.op == "+=" else -1), move.lvalue
        if not step or self._expression(moved, result).name != var or (step > 0) != (cond.op in ("<", "<=")):
            fail(where, shape)
        body = self._block(item.stmt, False)
        self.rename = saved
        written = {self.program.reference(self.procedure, s.lhs)[0] for s in _assigns(body)} | {
            (s.var,) for s in _loops(body)}
        if ((var,) in written) or (self.program.reads(self.procedure, bound) & written):
            fail(where, "the body of a for assigns its index or its bound: use while")
        result.append(For(var, first, cond.op, bound, step, body, where))


def _assigns(body):
    return [s for s in walk(body) if isinstance(s, Assign)]


def _loops(body):
    return [s for s in walk(body) if isinstance(s, For)]


def _names(node):
    if isinstance(node, c_ast.ID):
        yield node.name
    for _, child in node.children():
        yield from _names(child)


def copy_with(node, transform):
    if isinstance(node, c_ast.BinaryOp):
        return c_ast.BinaryOp(node.op, transform(node.left), transform(node.right))
    if isinstance(node, c_ast.UnaryOp):
        return c_ast.UnaryOp(node.op, transform(node.expr))
    if isinstance(node, c_ast.TernaryOp):
        return c_ast.TernaryOp(transform(node.cond), transform(node.iftrue), transform(node.iffalse))
    if isinstance(node, c_ast.ArrayRef):
        return c_ast.ArrayRef(transform(node.name), transform(node.subscript))
    if isinstance(node, c_ast.Cast):
        return c_ast.Cast(node.to_type, transform(node.expr))
    return copy(node)


def read_externals(path):
    """-ext FILE: {"solver": {"reads": [...], "writes": [...], "needs": [...], "depends": {"x": ["b"]}}}, parameter names."""
    try:
        with open(path, encoding="utf-8") as f:
            described = json.load(f)
    except (OSError, ValueError) as error:
        fail(path, f"cannot read the description of external procedures: {error}")
    for name, entry in described.items():
        missing = {"reads", "writes", "needs", "depends"} - set(entry)
        if missing:
            fail(path, f"'{name}' lacks {', '.join(sorted(missing))}")
    return described
