// Identity of sites where forward and reverse calls do not simply mirror each other: inactive calls beside active ones, sliced
// calls, arms of conditionals in either order, joint or split chosen at run time, and the primal's own numbering.
// RUN: %clang-adprof -O0 -c %s -o %t.o && %llvm/llvm-objcopy -O binary --only-section=adprof_sites %t.o %t.txt && %filecheck %s --input-file=%t.txt
// RUN: %clang-adprof -O3 -g -c %s -o %t.o && %llvm/llvm-objcopy -O binary --only-section=adprof_sites %t.o %t.txt && %filecheck %s --input-file=%t.txt
void pushReal8(double x);
void popReal8(double *x);
void pushControl1b(int c);
void popControl1b(int *c);
void g(double *x, int n);
void g_b(double *x, double *xb, int n);
void g_fwd(double *x, double *xb, int n);
void g_bwd(double *x, double *xb, int n);
extern double a[8], ab[8], b[8], bb[8], c[8];

// An inactive call between two active ones: its argument has no adjoint.
void inactive_b(int n) {
  g(a, n);
  g(c, n);
  g(b, n);
  g_b(b, bb, n);
  g_b(a, ab, n);
}
// CHECK-DAG: primal	inactive	g	0	0	{{.*}}	a,$1
// CHECK-DAG: primal	inactive	g	1	2	{{.*}}	c,$1
// CHECK-DAG: primal	inactive	g	2	0	{{.*}}	b,$1
// CHECK-DAG: adjoint	inactive	g	2	0	{{.*}}	b,bb,$1
// CHECK-DAG: adjoint	inactive	g	0	0	{{.*}}	a,ab,$1

// The second primal call was sliced away.
void sliced_b(int n) {
  g(a, n);
  g_b(b, bb, n);
  g_b(a, ab, n);
}
// CHECK-DAG: primal	sliced	g	0	0	{{.*}}	a,$1
// CHECK-DAG: adjoint	sliced	g	1	1	{{.*}}	b,bb,$1
// CHECK-DAG: adjoint	sliced	g	0	0	{{.*}}	a,ab,$1

// The arms of the backward sweep stand in the order of the forward sweep. Same arguments: only the controls tell.
void arms_b(double *x, double *xb, int n) {
  int branch;
  if (n > 3) {
    pushReal8(x[0]);
    g(x, n);
    pushControl1b(0);
  } else {
    g(x, n);
    pushControl1b(1);
  }
  popControl1b(&branch);
  if (branch == 0) {
    popReal8(&x[0]);
    g_b(x, xb, n);
  } else {
    g_b(x, xb, n);
  }
}
// CHECK-DAG: call	[[ARM0:[0-9]+]]	{{.*}}	primal	arms	g	0	0
// CHECK-DAG: call	{{.*}}	primal	arms	g	1	0
// CHECK-DAG: call	{{.*}}	adjoint	arms	g	0	0
// CHECK-DAG: call	{{.*}}	adjoint	arms	g	1	0

// In the mirrored order, by different arguments.
void other_b(int n) {
  int branch;
  if (n > 3) {
    g(a, n);
    pushControl1b(0);
  } else {
    g(b, n);
    pushControl1b(1);
  }
  popControl1b(&branch);
  if (branch == 0)
    g_b(a, ab, n);
  else
    g_b(b, bb, n);
}
// CHECK-DAG: primal	other	g	0	0	{{.*}}	a,$1
// CHECK-DAG: primal	other	g	1	0	{{.*}}	b,$1
// CHECK-DAG: adjoint	other	g	0	0	{{.*}}	a,ab,$1
// CHECK-DAG: adjoint	other	g	1	0	{{.*}}	b,bb,$1

// One procedure in both modes: f_b with f_fwd and f_bwd beside it. The same call is the same site.
void both_b(int n) {
  g(a, n);
  g(b, n);
  g_b(b, bb, n);
  g_b(a, ab, n);
}
void both_fwd(int n) {
  g_fwd(a, ab, n);
  g(b, n);
}
void both_bwd(int n) {
  g_b(b, bb, n);
  g_bwd(a, ab, n);
}
// CHECK-DAG: call	{{[0-9]+}}	[[BOTH:[0-9a-f]+]]	forward	both	g	0	0
// CHECK-DAG: call	{{[0-9]+}}	[[BOTH]]	backward	both	g	0	0
// CHECK-DAG: call	{{[0-9]+}}	[[BOTH]]	primal	both	g	0	0	{{.*}}	both_b	
// CHECK-DAG: call	{{[0-9]+}}	[[BOTH]]	adjoint	both	g	0	0	{{.*}}	both_b	
// CHECK-DAG: primal	both	g	1	0	{{.*}}	both_fwd	
// CHECK-DAG: adjoint	both	g	1	0	{{.*}}	both_bwd	

// One source call whose mode is chosen at run time.
void chosen_b(double *x, double *xb, int n) {
  int branch;
  if (n > 3) {
    g_fwd(x, xb, n);
    pushControl1b(0);
  } else {
    g(x, n);
    pushControl1b(1);
  }
  g(a, n);
  g_b(a, ab, n);
  popControl1b(&branch);
  if (branch == 0)
    g_bwd(x, xb, n);
  else
    g_b(x, xb, n);
}
// CHECK-DAG: forward	chosen	g	0	0
// CHECK-DAG: primal	chosen	g	0	0
// CHECK-DAG: primal	chosen	g	1	0	{{.*}}	a,$3
// CHECK-DAG: adjoint	chosen	g	1	0	{{.*}}	a,ab,$3
// CHECK-DAG: backward	chosen	g	0	0
// CHECK-DAG: adjoint	chosen	g	0	0

// The primal tells that its first call is in neither sweep.
void known(int n) {
  g(c, n);
  g(a, n);
}
void known_b(int n) {
  g(a, n);
  g_b(a, ab, n);
}
// CHECK-DAG: primal	known	g	1	0
// CHECK-DAG: adjoint	known	g	1	0
// CHECK-DAG: source	known	g	0
// CHECK-DAG: source	known	g	1
