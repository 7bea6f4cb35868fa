// The joint shape: snapshot, primal, ..., pops, adjoint; the same calls at every level and with debug information.
// RUN: %clang-ir -O0 %s | %adprof | %filecheck %s --check-prefix=IR
// RUN: %clang-ir -O1 %s | %adprof | %filecheck %s --check-prefix=IR
// RUN: %clang-adprof -O0 %s %trace -o %t && env ADPROF_TRACE_TEXT=1 %t | %filecheck %s --check-prefixes=TEXT,TRACE
// RUN: %clang-adprof -O3 -g %s %trace -o %t && env ADPROF_TRACE_TEXT=1 %t | %filecheck %s --check-prefixes=TEXT,TRACE
// RUN: %clang-adprof -O2 -flto -fuse-ld=lld %s %trace -o %t && env ADPROF_TRACE_TEXT=1 %t | %filecheck %s --check-prefixes=TEXT,TRACE
// RUN: %clang-adprof -O2 -flto=thin -fuse-ld=lld %s %trace -o %t && env ADPROF_TRACE_TEXT=1 %t | %filecheck %s --check-prefixes=TEXT,TRACE
void pushReal8Array(double *x, int n);
void popReal8Array(double *x, int n);

void square(double *x, int n) {
  for (int i = 0; i < n; ++i)
    x[i] *= x[i];
}
void square_b(double *x, double *xb, int n) {
  for (int i = 0; i < n; ++i)
    xb[i] *= 2 * x[i];
}
void head(double *x, int n) {
  square(x, n);
  square(x, n);
}
void head_b(double *x, double *xb, int n) {
  pushReal8Array(x, n);
  square(x, n);
  square_b(x, xb, n);
  popReal8Array(x, n);
  square_b(x, xb, n);
}
int main(void) {
  double x[3] = {1, 2, 3}, xb[3] = {1, 1, 1};
  head_b(x, xb, 3);
  return 0;
}
// No hook and no push is a call inside the primal.
// IR-LABEL: define {{.*}}@square(
// IR-NOT: __adprof
// IR-LABEL: define {{.*}}@square_b(
// IR: call i32 @__adprof_enter(ptr @adprof.module, i32 0)
// IR-LABEL: define {{.*}}@head_b(
// IR: call i32 @__adprof_enter(ptr @adprof.module, i32 1)
// IR: call void @__adprof_primal_begin(
// IR-NEXT: store i64 0
// IR: call void @square(
// IR-NEXT: call void @__adprof_primal_end(
// IR: call void @__adprof_adjoint_begin(
// IR: call void @square_b(
// IR-NEXT: call void @__adprof_adjoint_end(
// IR: call void @__adprof_leave(

// TEXT: proc	0	square	joint	square_b
// TEXT: proc	1	head	joint	head_b
// TEXT: call	0	[[FIRST:[0-9a-f]+]]	primal	head	square	0	0
// TEXT-NEXT: call	1	[[SECOND:[0-9a-f]+]]	adjoint	head	square	1	1
// TEXT-NEXT: call	2	[[FIRST]]	adjoint	head	square	0	0
// TEXT: source	head	square	0
// TEXT: source	head	square	1

// TRACE: adjoint call 3 kind 2 flags 4 frame 0 push 0 pop 0 high 0 low 0
// TRACE-NEXT: enter role 1
// TRACE-NEXT:   snapshot call 0 kind 1 flags 0 frame 1 push 0 pop 0 high 0 low 0
// TRACE-NEXT:   primal call 0 kind 1 flags 0 frame 1 push 192 pop 0 high 192 low 0 kept 0
// TRACE-NEXT:   primal_end call 0
// TRACE-NEXT:   turn frame 1 push 0 pop 0 high 0 low 0
// TRACE-NEXT:   adjoint call 1 kind 2 flags 1 frame 1 push 0 pop 0 high 0 low 0
// TRACE-NEXT:   enter role 1
// TRACE-NEXT:     leave
// TRACE-NEXT:   adjoint_end call 1
// TRACE-NEXT:   snapshot call 2 kind 2 flags 0 frame 1 push 0 pop 0 high 0 low 0
// TRACE-NEXT:   adjoint call 2 kind 2 flags 0 frame 1 push 0 pop 192 high 0 low -192
// TRACE-NEXT:   enter role 1
// TRACE-NEXT:     leave
// TRACE-NEXT:   adjoint_end call 2
// TRACE-NEXT:   leave frame 1 push 0 pop 0 high 0 low 0
// TRACE-NEXT: adjoint_end call 3
