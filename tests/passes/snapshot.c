// What stands right before a primal call: snapshots, values of the caller (`kept`), conditionals and loops around pushes.
// RUN: %clang-ir -O0 %s | %adprof > /dev/null
// RUN: %clang-adprof -O0 %s %trace -o %t && %t | %filecheck %s
// RUN: %clang-adprof -O3 -g %s %trace -o %t && %t | %filecheck %s
void pushReal8(double x);
void popReal8(double *x);
void pushReal8Array(double *x, int n);
void popReal8Array(double *x, int n);
void pushControl1b(int c);
void popControl1b(int *c);
double global[5];

double f(double *x) { return *x * *x; }
void f_b(double *x, double *xb, double fb) { *xb += 2 * *x * fb; }

void head_b(double *x, double *xb, int n) {
  double result, resultb = 0, other = 1;
  int branch;
  result = f(&x[0]);
  // `other` is saved for an earlier statement; `result` is the caller's own; `global` is the snapshot.
  pushReal8(other);
  other = other * 2;
  pushReal8(result);
  pushReal8Array(global, 5);
  result = f(&x[1]);
  // A conditional snapshot, and one pushed value by value.
  if (n > 1) {
    pushReal8(x[2]);
    pushControl1b(1);
  } else
    pushControl1b(0);
  for (int i = 0; i < n; ++i)
    pushReal8(global[i]);
  result = f(&x[2]);
  resultb = 1;
  for (int i = n - 1; i >= 0; --i)
    popReal8(&global[i]);
  popControl1b(&branch);
  if (branch)
    popReal8(&x[2]);
  f_b(&x[2], &xb[2], resultb);
  popReal8Array(global, 5);
  popReal8(&result);
  f_b(&x[1], &xb[1], resultb);
  popReal8(&other);
  f_b(&x[0], &xb[0], resultb);
}
int main(void) {
  double x[3] = {1, 2, 3}, xb[3] = {0};
  head_b(x, xb, 3);
  return 0;
}
// CHECK: enter role 1
// CHECK-NEXT:   primal call 0 {{.*}} push 0 pop 0 high 0 low 0 kept 0
// CHECK-NEXT:   primal_end call 0
// CHECK-NEXT:   snapshot call 1 {{.*}} push 64 pop 0 high 64 low 0
// CHECK-NEXT:   primal call 1 {{.*}} push 384 pop 0 high 384 low 0 kept 64
// CHECK-NEXT:   primal_end call 1
// CHECK-NEXT:   snapshot call 2 {{.*}} push 0 pop 0
// CHECK-NEXT:   primal call 2 {{.*}} push 257 pop 0 high 257 low 0 kept 0
// CHECK-NEXT:   primal_end call 2
// CHECK-NEXT:   turn
// CHECK-NEXT:   snapshot call 3 {{.*}} push 0 pop 0
// CHECK-NEXT:   adjoint call 3 {{.*}} push 0 pop 257 high 0 low -257
// CHECK:        snapshot call 4 {{.*}} push 0 pop 0
// CHECK-NEXT:   adjoint call 4 {{.*}} push 0 pop 384 high 0 low -384
// CHECK:        adjoint call 5 {{.*}} push 0 pop 64 high 0 low -64
// CHECK:        leave {{.*}} push 0 pop 0
