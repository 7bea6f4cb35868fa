// `adprof doctor` on an object, an archive and a program.
// RUN: %clang-adprof -g -O2 -c %s -o %t.o
// RUN: (! %doctor %t.o > %t.out 2>&1) && %filecheck %s --check-prefixes=ALL,OBJECT --input-file=%t.out
// RUN: %clang -DOTHER -c %s -o %t.other.o && rm -f %t.a && %llvm/llvm-ar rc %t.a %t.o %t.other.o
// RUN: (! %doctor %t.a > %t.out 2>&1) && %filecheck %s --check-prefixes=ALL,ARCHIVE --input-file=%t.out
// RUN: echo '{"push": {"psh_k0": 8}, "ignore": ["show_b"]}' > %t.json
// RUN: env ADPROF_DIALECT=%t.json %clang-adprof -DALL -g -O2 %s %trace -o %t.exe && %doctor %t.exe > %t.out 2>&1 && %filecheck %s --check-prefix=PROGRAM --input-file=%t.out
// RUN: %doctor --json %t.exe | %filecheck %s --check-prefix=JSON
// RUN: (! %doctor %t.other.o > %t.out 2>&1) && %filecheck %s --check-prefix=NONE --input-file=%t.out
// RUN: (! %doctor %s > %t.out 2>&1) && %filecheck %s --check-prefix=TEXT --input-file=%t.out
void pushReal8(double x);
void popReal8(double *x);
void psh_k0(double *x);
void show_b(double *x, double *xb);
void g(double *x);
void g_b(double *x, double *xb);
#if !defined(OTHER) || defined(ALL)
void head_b(double *x, double *xb) {
  pushReal8(*x);
  g(x);
  psh_k0(x);
  popReal8(x);
  show_b(x, xb);
  g_b(x, xb);
}
#endif
#if defined(OTHER) || defined(ALL)
void psh_k0(double *x) { (void)x; }
void show_b(double *x, double *xb) { (void)x, (void)xb; }
void g(double *x) { *x *= *x; }
void g_b(double *x, double *xb) { *xb *= 2 * *x; }
int main(void) {
  double x = 1, xb = 1;
#ifdef ALL
  head_b(&x, &xb);
#endif
  return xb > 5;
}
#endif
// ALL: objects     1 instrumented
// ALL: procedures  1 joint adjoints
// ALL: doctor.c:[[#]]: in head_b: psh_k0 looks like a push or pop
// OBJECT-NOT: instrumented nowhere
// ARCHIVE: g_b: is called as an adjoint and defined in {{.*}}.a({{.*}}.other.o), which was compiled without adprof
// ALL: "psh_k0": "$2*8"
// ALL: next: compile with -Rpass-missed=adprof

// PROGRAM: dialect     unnamed
// PROGRAM: procedures  2 joint adjoints
// PROGRAM: sites       1: 0 in split mode, 0 without a primal call, 0 never reversed
// PROGRAM: roots       1
// PROGRAM-NOT: not understood
// PROGRAM: next: adprof run
// JSON: "sites": 1,
// JSON: "doubts": []
// NONE: no adjoint code was recognised. If there is some, was it compiled with `adprof cc` ({{.*}} looks like one)
// TEXT: neither an ELF object or program nor an archive
