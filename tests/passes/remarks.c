// Remarks explain what was recognised and what was not; without them the build prints nothing.
// RUN: %clang-adprof -O2 -c %s -o %t.o > %t.silent 2>&1 && test ! -s %t.silent
// RUN: %clang-adprof -O2 -c %s -o %t.o -Rpass=adprof 2>&1 | %filecheck %s --check-prefix=SITE
// RUN: %clang-adprof -O2 -c %s -o %t.o -Rpass-analysis=adprof 2>&1 | %filecheck %s --check-prefix=PROCEDURE
// RUN: %clang-adprof -O2 -c %s -o %t.o -Rpass-missed=adprof 2>&1 | %filecheck %s --check-prefix=DOUBT
void pushReal8(double x);
void popReal8(double *x);
void psh_real_k0(double *x);
void g(double *x);
void g_b(double *x, double *xb);
void h_b(double *x, double *xb);

void head_b(double *x, double *xb) {
  pushReal8(*x);
  // SITE: :[[@LINE+1]]:3: remark: primal call of g, call 0 of it in head [-Rpass=adprof]
  g(x);
  // DOUBT-DAG: :[[@LINE+1]]:3: remark: psh_real_k0 looks like a push or pop of the AD stack; if it is one, give its size in a dialect file [-Rpass-missed=adprof]
  psh_real_k0(x);
  popReal8(x);
  // SITE: :[[@LINE+1]]:3: remark: adjoint call of g, call 0 of it in head [-Rpass=adprof]
  g_b(x, xb);
  // SITE: :[[@LINE+2]]:3: remark: adjoint call of h, call 0 of it in head, without a primal call, known by its name only [-Rpass=adprof]
  // DOUBT-DAG: :[[@LINE+1]]:3: remark: h_b is called, but nothing in this object shows that it is the adjoint of h
  h_b(x, xb);
}
// PROCEDURE-DAG: remark: joint adjoint of head
void lonely_b(double *x) { *x = 0; }
// PROCEDURE-DAG: remark: joint adjoint of lonely, known by its name only
// Ordinary code that pushes and calls adjoints.
void loop(double *x, double *xb) {
  pushReal8(*x);
  g(x);
  popReal8(x);
  g_b(x, xb);
}
// DOUBT-DAG: remark: pushes, pops and calls adjoints though its name is not that of an adjoint; taken for the adjoint of itself
