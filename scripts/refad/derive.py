"""Partial derivatives of one assignment: the adjoint statements that belong to it, and its tangent.

Rejected: simplification of the products. The compiler does that, and the text stays comparable with its source.
An identifier with @ in front stands for the adjoint variable (tangent: the same), with % for a temporary of the adjoint.
"""
from dataclasses import dataclass

from pycparser import c_ast

from refad.program import copy, fail, number, text


@dataclass
class AdjointStep:
    """`target op value`; op is "=" or "+=". The target of a temporary is its name."""
    op: str
    target: object
    value: object


def binary(op, left, right):
    return c_ast.BinaryOp(op, left, right)


def call(name, *args):
    return c_ast.FuncCall(c_ast.ID(name), c_ast.ExprList(list(args)))


def mark(node):
    """The adjoint of a reference: its root renamed, indices as they are."""
    if isinstance(node, c_ast.ID):
        return c_ast.ID("@" + node.name)
    if isinstance(node, c_ast.ArrayRef):
        return c_ast.ArrayRef(mark(node.name), copy(node.subscript))
    if isinstance(node, c_ast.StructRef):
        return c_ast.StructRef(mark(node.name), node.type, copy(node.field))
    return c_ast.UnaryOp(node.op, mark(node.expr))


def is_zero(node):
    return isinstance(node, c_ast.Constant) and float(node.value.rstrip("fFlL")) == 0.0


def partials(name, args, where):
    """d name / d args, as expressions of the arguments."""
    x = args[0]
    one = number("1.0")
    square = lambda n: binary("*", copy(n), copy(n))
    if name == "sqrt":
        return [c_ast.TernaryOp(binary("==", copy(x), number("0.0")), number("0.0"),
                                binary("/", number("0.5"), call("sqrt", copy(x))))]
    if name == "pow":
        y = args[1]
        base = binary("*", copy(y), call("pow", copy(x), binary("-", copy(y), number("1.0"))))
        exponent = c_ast.TernaryOp(binary("<=", copy(x), number("0.0")), number("0.0"),
                                   binary("*", call("pow", copy(x), copy(y)), call("log", copy(x))))
        return [base, exponent]
    if name in ("fmin", "fmax"):
        first = binary("<" if name == "fmin" else ">", copy(x), copy(args[1]))
        return [c_ast.TernaryOp(copy(first), one, number("0.0")), c_ast.TernaryOp(copy(first), number("0.0"), number("1.0"))]
    table = {
        "exp": lambda: call("exp", copy(x)),
        "log": lambda: binary("/", one, copy(x)),
        "sin": lambda: call("cos", copy(x)),
        "cos": lambda: c_ast.UnaryOp("-", call("sin", copy(x))),
        "tan": lambda: binary("+", one, square(call("tan", copy(x)))),
        "tanh": lambda: binary("-", one, square(call("tanh", copy(x)))),
        "sinh": lambda: call("cosh", copy(x)),
        "cosh": lambda: call("sinh", copy(x)),
        "atan": lambda: binary("/", one, binary("+", number("1.0"), square(x))),
        "asin": lambda: binary("/", one, call("sqrt", binary("-", number("1.0"), square(x)))),
        "acos": lambda: binary("/", number("-1.0"), call("sqrt", binary("-", number("1.0"), square(x)))),
        "fabs": lambda: c_ast.TernaryOp(binary(">=", copy(x), number("0.0")), one, number("-1.0")),
        "floor": lambda: number("0.0"),
        "ceil": lambda: number("0.0"),
    }
    if name not in table:
        fail(where, f"'{name}' has no known derivative")
    return [table[name]()]


class Derivation:
    """The derivative of one right-hand side with respect to its active references."""

    def __init__(self, program, proc, active, where):
        self.program, self.proc, self.active, self.where = program, proc, active, where
        self.steps = []
        self.temporaries = 0
        self.shared = {}  # temporary -> text of the seed behind it

    def active_count(self, node):
        found = self.program.reference(self.proc, node) if not isinstance(node, c_ast.Constant) else None
        if found:
            return 1 if found[0] in self.active else 0
        if isinstance(node, c_ast.TernaryOp):
            return self.active_count(node.iftrue) + self.active_count(node.iffalse)
        if isinstance(node, c_ast.Cast) and "int" in text(node.to_type):
            return 0
        if isinstance(node, c_ast.BinaryOp) and node.op not in "+-*/":
            return 0
        if isinstance(node, c_ast.FuncCall):
            return sum(self.active_count(a) for a in node.args.exprs)
        if isinstance(node, (c_ast.BinaryOp, c_ast.UnaryOp, c_ast.Cast)):
            return sum(self.active_count(c) for name, c in node.children() if name != "to_type")
        return 0

    def share(self, seed, uses):
        """A name for a seed that is used more than once, so that it is computed once."""
        if uses < 2 or isinstance(seed, (c_ast.ID, c_ast.Constant)):
            return seed
        name = f"%temp{self.temporaries}"
        self.temporaries += 1
        self.shared[name] = text(seed)
        self.steps.append(AdjointStep("=", c_ast.ID(name), seed))
        return c_ast.ID(name)

    def adjoint(self, node, seed, add):
        count = self.active_count(node)
        if count == 0:
            return
        if self.program.reference(self.proc, node):
            add(node, seed)
        elif isinstance(node, c_ast.BinaryOp):
            seed = self.share(seed, count)
            left, right, op = node.left, node.right, node.op
            if op in "+-":
                self.adjoint(left, seed, add)
                self.adjoint(right, seed if op == "+" else c_ast.UnaryOp("-", seed), add)
            elif op == "*":
                self.adjoint(left, binary("*", copy(right), seed), add)
                self.adjoint(right, binary("*", copy(left), seed), add)
            else:
                self.adjoint(left, binary("/", seed, copy(right)), add)
                if self.active_count(right):
                    quotient = binary("/", binary("*", copy(node), seed), copy(right))
                    self.adjoint(right, c_ast.UnaryOp("-", quotient), add)
        elif isinstance(node, c_ast.UnaryOp) and node.op in "+-":
            self.adjoint(node.expr, seed if node.op == "+" else c_ast.UnaryOp("-", seed), add)
        elif isinstance(node, c_ast.Cast):
            self.adjoint(node.expr, seed, add)
        elif isinstance(node, c_ast.TernaryOp):
            seed = self.share(seed, count)
            zero = number("0.0")
            self.adjoint(node.iftrue, self.share(c_ast.TernaryOp(copy(node.cond), seed, zero), 2), add)
            self.adjoint(node.iffalse, self.share(c_ast.TernaryOp(copy(node.cond), zero, seed), 2), add)
        elif isinstance(node, c_ast.FuncCall):
            args = node.args.exprs
            seed = self.share(seed, count)
            for arg, partial in zip(args, partials(node.name.name, args, self.where)):
                if self.active_count(arg) and not is_zero(partial):
                    self.adjoint(arg, binary("*", partial, seed), add)
        else:
            fail(self.where, f"cannot differentiate '{text(node)}'")

    def tangent(self, node):
        """The tangent of an expression, or None where it is zero."""
        if self.active_count(node) == 0:
            return None
        if self.program.reference(self.proc, node):
            return mark(node)
        terms = []

        def add(operand, factor, op="*"):
            inner = self.tangent(operand)
            if inner is not None:
                terms.append(binary(op, inner, factor) if factor is not None else inner)

        if isinstance(node, c_ast.BinaryOp) and node.op in "+-":
            left, right = self.tangent(node.left), self.tangent(node.right)
            if left is None or right is None:
                return left if right is None else (right if node.op == "+" else c_ast.UnaryOp("-", right))
            return binary(node.op, left, right)
        if isinstance(node, c_ast.BinaryOp):
            if node.op == "*":
                add(node.left, copy(node.right))
                add(node.right, copy(node.left))
            else:
                add(node.left, copy(node.right), "/")
                add(node.right, c_ast.UnaryOp("-", binary("/", copy(node), copy(node.right))))
        elif isinstance(node, c_ast.UnaryOp):
            inner = self.tangent(node.expr)
            return inner if node.op == "+" else c_ast.UnaryOp("-", inner)
        elif isinstance(node, c_ast.Cast):
            return self.tangent(node.expr)
        elif isinstance(node, c_ast.TernaryOp):
            return c_ast.TernaryOp(copy(node.cond), self.tangent(node.iftrue) or number("0.0"),
                                   self.tangent(node.iffalse) or number("0.0"))
        else:
            args = node.args.exprs
            for arg, partial in zip(args, partials(node.name.name, args, self.where)):
                add(arg, partial)
        total = terms[0]
        for term in terms[1:]:
            total = binary("+", total, term)
        return total


def adjoint_steps(program, proc, active, statement):
    """The backward sweep of `lhs = rhs`, in order; empty when lhs is not active."""
    location, _ = program.reference(proc, statement.lhs)
    if location not in active:
        return []
    d = Derivation(program, proc, active, statement.where)
    lhs_text = text(statement.lhs)
    seed = mark(statement.lhs)
    others, own = {}, []
    aliases = any(l == location and text(n) != lhs_text for l, n in program.references(proc, statement.rhs))
    if aliases:
        # Another element of the same array may be the same element: take the seed away before anything is added.
        d.steps += [AdjointStep("=", c_ast.ID("%temp"), seed), AdjointStep("=", mark(statement.lhs), number("0.0"))]
        seed = c_ast.ID("%temp")

    def add(node, value):
        if text(node) == lhs_text and not aliases:
            own.append(value)
            return
        key = text(node)
        if key in others:
            others[key].value = binary("+", others[key].value, value)
            d.steps.remove(others[key])
        else:
            others[key] = AdjointStep("+=", mark(node), value)
        d.steps.append(others[key])

    d.adjoint(statement.rhs, seed, add)
    if aliases:
        return d.steps
    if not own:
        d.steps.append(AdjointStep("=", mark(statement.lhs), number("0.0")))
    elif len(own) > 1 or d.shared.get(text(own[0]), text(own[0])) != text(seed):
        total = own[0]
        for value in own[1:]:
            total = binary("+", total, value)
        d.steps.append(AdjointStep("=", mark(statement.lhs), total))
    return d.steps


def tangent_value(program, proc, active, statement):
    """The right-hand side of the tangent of an assignment, or None when lhs is not active."""
    location, _ = program.reference(proc, statement.lhs)
    if location not in active:
        return None
    return Derivation(program, proc, active, statement.where).tangent(statement.rhs) or number("0.0")
