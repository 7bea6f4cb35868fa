"""What must be saved: to-be-recorded analysis and snapshots.

R, the required set, goes along the forward sweep: locations whose value of this moment is needed in the backward sweep by
statements already passed. A statement that overwrites a location in R pushes it first, and it is popped before that
statement is reversed. R does not depend on the placement: a call adds what the derivative of its callee needs, also where the
callee is checkpointed and would not need it. That pushes a little more than necessary, and buys that the sizes of one
site do not move when another is switched.

A snapshot of a call C holds, of what C sees:
  use(C) & out(C)               C_b starts from the values that C started from
  use(C) & out(rest) - R        somebody overwrites it between C and C_b, and nobody restores it
  R & out(C)                    a statement before C needs it, and C overwrites it. C_b restores it by its own pushes
where `rest` is all that runs between C and the moment C is reversed, iterations and callers included.
"""
import re

from refad.derive import adjoint_steps
from refad.effects import covered, member_extents
from refad.program import Assign, Call, For, If, While, text, walk


class Tbr:
    def __init__(self, program, effects, activity):
        self.program, self.effects, self.activity = program, effects, activity
        self.generated = {}     # procedure -> what its callers must keep for its backward sweep
        self.entry = {}         # procedure -> R on entry, union over its calls
        self.final = {}         # procedure -> R at its end
        self.pushes = set()     # ids of statements that push what they overwrite
        self.loop_pushes = {}   # id of a loop -> arrays pushed whole before it
        self.before_call = {}   # id of a call -> R just before it
        self.after_call = {}
        self.rest = {}          # id of a call -> what is overwritten between it and its reversal
        self.after = {}         # procedure -> what is overwritten between its end and its reversal
        self._steps, self._needs = {}, {}
        reached = [n for n in effects.order if n in activity.reached]
        for name in reached:
            proc = program.procedures[name]
            if proc.external:
                self.generated[name] = {(n, *path) for n in proc.external["needs"]
                                        for path, _ in program.leaves(program.variable(proc, n).type)}
            else:
                end = self._walk(proc, proc.body, frozenset(), False)
                self.generated[name] = {l for l in end if program.visible_outside(proc, l)}
            self.entry[name], self.after[name] = set(), set()
        for name in reversed(reached):
            proc = program.procedures[name]
            if not proc.external:
                self.final[name] = self._walk(proc, proc.body, frozenset(self.entry[name]), True)
                self._rest(proc, proc.body, set(self.after[name]))

    def steps(self, proc, statement):
        if id(statement) not in self._steps:
            self._steps[id(statement)] = adjoint_steps(self.program, proc, self.activity.active[proc.name], statement)
        return self._steps[id(statement)]

    def statement_needs(self, proc, statement):
        """Primal values that the backward sweep of one assignment reads."""
        if id(statement) not in self._needs:
            needs = set()
            for step in self.steps(proc, statement):
                needs |= self.program.reads(proc, step.value) | self.program.reads(proc, step.target)
            self._needs[id(statement)] = needs
        return self._needs[id(statement)]

    def _walk(self, proc, statements, required, record):
        program = self.program
        for s in statements:
            if isinstance(s, Assign):
                required |= self.statement_needs(proc, s)
                location = program.reference(proc, s.lhs)[0]
                if location in required:
                    if record:
                        self.pushes.add(id(s))
                    required |= program.index_reads(proc, s.lhs)  # the pop addresses it
                    if program.is_scalar(proc, location):
                        required -= {location}
            elif isinstance(s, Call):
                required = self._call(proc, s, required, record)
            elif isinstance(s, If):
                required = self._walk(proc, s.then, required, record) | self._walk(proc, s.orelse, required, record)
            elif isinstance(s, For):
                required = self._loop(proc, s, required, record)
            elif isinstance(s, While):
                required = self._iterate(proc, s.body, required, record)
        return required

    def keeps_condition(self, proc, statement):
        """Can the backward sweep evaluate a condition again for nothing? Its variables are indices of loops around it, or nobody
        assigns them before it is reversed."""
        written = self.effects.written(proc, proc.body) | self.after[proc.name]
        loops = {(s.var,) for s in walk(proc.body) if isinstance(s, For)}
        assigned = {self.program.reference(proc, s.lhs)[0] for s in walk(proc.body) if isinstance(s, Assign)}

        def free(l):
            if l in loops and l not in assigned and self._inside(proc.body, l[0], statement):
                return True
            variable = proc.variable(l[0])
            return l not in written and (variable is None or variable.role == "param")

        return all(free(l) for l in self.program.reads(proc, statement.cond))

    def _inside(self, statements, var, wanted):
        return any(isinstance(s, For) and s.var == var and any(t is wanted for t in walk(s.body)) for s in walk(statements))

    def _iterate(self, proc, body, required, record):
        while True:
            after = required | self._walk(proc, body, required, False)
            if after == required:
                break
            required = after
        if record:
            self._walk(proc, body, required, True)
        return required

    def _loop(self, proc, s, required, record):
        index = {(s.var,)}
        own = self._walk_alone(proc, s) - index
        whole = {l for l in required if self._pushed_whole(proc, s, l)}
        if record and whole:
            self.loop_pushes[id(s)] = sorted(whole)
        inside = required - whole
        if (s.var,) in inside and record:
            self.pushes.add(id(s))
        inside -= index
        bounds = self.program.reads(proc, s.first) | self.program.reads(proc, s.bound)
        after = self._iterate(proc, s.body, inside | bounds, record) - index
        # Arrays that the nest overwrites from end to end have been pushed element by element: the old values are safe.
        return (after - (covered(self.program, proc, s) - own)) | bounds

    def _walk_alone(self, proc, s):
        return self._iterate(proc, s.body, frozenset(), False)

    def _pushed_whole(self, proc, loop, location):
        """Is one push of the whole array better than one per element? Needed before the loop only, touched by no call in it, and
        the loops around each of its assignments run over every factor of its extent."""
        program = self.program
        if program.is_scalar(proc, location):
            return False
        needed, found = set(), False

        def visit(statements, nest):
            nonlocal found
            for s in statements:
                if isinstance(s, Assign):
                    needed.update(self.statement_needs(proc, s))
                    if program.reference(proc, s.lhs)[0] == location:
                        found = True
                        if not self._runs_over(proc, nest, location):
                            return False
                elif isinstance(s, Call):
                    binding, effects = self.effects.binding(proc, s), self.effects.effects[s.callee]
                    if location in binding.locations(effects.use | effects.out):
                        return False
                    needed.update(binding.argument_reads())
                elif isinstance(s, If):
                    needed.update(program.reads(proc, s.cond))
                    if not (visit(s.then, nest) and visit(s.orelse, nest)):
                        return False
                elif isinstance(s, For):
                    if not visit(s.body, nest + [s]):
                        return False
                elif not visit(s.body, nest):
                    return False
            return True

        return visit(loop.body, [loop]) and found and location not in needed

    def _runs_over(self, proc, nest, location):
        dims = member_extents(self.program, proc, location, self.program.leaf(proc, location).dims)
        last_word = lambda t: re.findall(r"\w+", t)[-1]  # m->nx and g->nx are the same extent in all likelihood
        factors = [last_word(f) for d in dims for f in text(d).split("*")]
        bounds = [text(l.bound) + " " + text(l.first) for l in nest]
        for factor in factors:
            match = next((b for b in bounds if re.search(rf"\b{factor}\b", b)), None)
            if match is None:
                return False
            bounds.remove(match)
        return True

    def _call(self, proc, s, required, record):
        binding = self.effects.binding(proc, s)
        active = self.activity.is_active(proc, s)
        if active:
            required |= binding.argument_reads()
        if s.result and (s.result.name,) in required:
            if record:
                self.pushes.add(id(s))
            required -= {(s.result.name,)}
        if record:
            self.before_call[id(s)] = required
        if active:
            generated = binding.locations(self.generated[s.callee])
        else:
            generated = set()
        if record and active:
            reached = {l for l in self._visible(binding.callee, s) if binding.location(l) in required}
            self.entry[s.callee] |= reached
        required = (required - self.effects.call_must(proc, s)) | generated
        if record:
            self.after_call[id(s)] = required
        return required

    def _visible(self, callee, call):
        effects = self.effects.effects[call.callee]
        return effects.use | effects.out

    def _rest(self, proc, statements, after):
        """Backward over statements: `after` is what is overwritten behind them, up to their reversal."""
        for s in reversed(statements):
            if isinstance(s, Call):
                self.rest[id(s)] = set(after)
                if s.callee in self.after:
                    binding, effects = self.effects.binding(proc, s), self.effects.effects[s.callee]
                    self.after[s.callee] |= {l for l in effects.use | effects.out if binding.location(l) in after}
                    # A global can be read deeper down without being seen here under another name.
                after |= self.effects.call_out(proc, s)
            elif isinstance(s, Assign):
                after.add(self.program.reference(proc, s.lhs)[0])
            elif isinstance(s, If):
                both = set(after)
                self._rest(proc, s.then, after)
                self._rest(proc, s.orelse, both)
                after |= both
            else:
                after |= self.effects.written(proc, [s])
                self._rest(proc, s.body, after)

    def snapshot(self, proc, call):
        """Callee locations to push before a checkpointed call, in a fixed order."""
        binding, effects = self.effects.binding(proc, call), self.effects.effects[call.callee]
        before, after, rest = self.before_call[id(call)], self.after_call[id(call)], self.rest[id(call)]
        chosen = set(effects.use & effects.out)
        for l in effects.use | effects.out:
            location = binding.location(l)
            if (l in effects.use and location in rest and location not in after) or (l in effects.out and location in before):
                chosen.add(l)
        return sorted(chosen)

    def restored(self, proc, call):
        """Locations to push before a call that has no adjoint: it overwrites what statements before it need."""
        binding, effects = self.effects.binding(proc, call), self.effects.effects[call.callee]
        return sorted(l for l in effects.out if binding.location(l) in self.before_call[id(call)])
