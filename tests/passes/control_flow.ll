; Calls that unwind, tail calls, setjmp, coroutines and naked functions: the IR stays valid, hooks stand where control passes.
; RUN: %adprof < %s | %filecheck %s
target triple = "x86_64-pc-linux-gnu"

declare void @pushReal8(double)
declare void @popReal8(ptr)
declare void @g(ptr)
declare void @g_b(ptr, ptr)
declare void @g_fwd(ptr, ptr)
declare void @anything(ptr)
declare i32 @__gxx_personality_v0(...)
declare i32 @setjmp(ptr) returns_twice
declare double @sqrt(double)
declare i32 @musttail_callee_b(ptr, ptr)

; The normal destination has two predecessors: the edge is split.
; CHECK-LABEL: define void @invoked_b(
; CHECK: call void @__adprof_primal_begin(
; CHECK-NEXT: store
; CHECK: invoke void @g(ptr %x)
; CHECK-NEXT: to label %[[BETWEEN:.*]] unwind label %cleanup
; CHECK: [[BETWEEN]]:
; CHECK-NEXT: call void @__adprof_primal_end(
; CHECK-NEXT: br label %join
; CHECK: join:
; CHECK-NEXT: %p = phi i32 [ 1, %[[BETWEEN]] ], [ 0, %entry ]
; A landing pad gets no hook: the runtime drops frames by token.
; CHECK: cleanup:
; CHECK-NOT: __adprof
; CHECK: resume
define void @invoked_b(ptr %x, ptr %xb, i1 %c) personality ptr @__gxx_personality_v0 {
entry:
  br i1 %c, label %call, label %join
call:
  call void @pushReal8(double 1.0)
  invoke void @g(ptr %x) to label %join unwind label %cleanup
join:
  %p = phi i32 [ 1, %call ], [ 0, %entry ]
  call void @popReal8(ptr %x)
  invoke void @g_b(ptr %x, ptr %xb) to label %done unwind label %cleanup
done:
  ret void
cleanup:
  %l = landingpad { ptr, i32 } cleanup
  resume { ptr, i32 } %l
}

; Nothing may stand between a musttail call and its return.
; CHECK-LABEL: define i32 @tail_b(
; CHECK: call void @pushReal8(
; CHECK: call void @__adprof_leave(
; CHECK: %r = musttail call i32 @musttail_callee_b(ptr %x, ptr %xb)
; CHECK-NEXT: ret i32 %r
define i32 @tail_b(ptr %x, ptr %xb) {
  call void @pushReal8(double 1.0)
  %r = musttail call i32 @musttail_callee_b(ptr %x, ptr %xb)
  ret i32 %r
}

; What was stored must survive a second return.
; CHECK-LABEL: define void @jump_b(
; CHECK: store volatile i64 0, ptr %adprof.pushed
; CHECK: load volatile i64, ptr %adprof.pushed
define void @jump_b(ptr %x, ptr %xb) {
  %r = call i32 @setjmp(ptr %x) returns_twice
  call void @pushReal8(double 1.0)
  call void @popReal8(ptr %x)
  call void @g_b(ptr %x, ptr %xb)
  ret void
}

; Indirect calls and unknown functions may reach instrumented code, library functions may not; without a push since, there is
; nothing to say.
; CHECK-LABEL: define void @flushes_b(
; CHECK: call void @anything(
; CHECK: call void @pushReal8(
; CHECK-NOT: call void @__adprof_flush(
; CHECK: call double @sqrt(
; CHECK: call void @quiet(
; CHECK: call void @__adprof_flush(
; CHECK: call void %f(ptr %x)
; CHECK-NOT: call void @__adprof_flush(
; CHECK: call void @anything(
; CHECK: call void @popReal8(
; CHECK: call void @__adprof_flush(
; CHECK: call void @through_alias(
define void @flushes_b(ptr %x, ptr %xb, ptr %f) {
  call void @anything(ptr %x)
  call void @pushReal8(double 1.0)
  %s = call double @sqrt(double 2.0)
  call void @quiet(ptr %x)
  call void %f(ptr %x)
  call void @anything(ptr %x)
  call void @popReal8(ptr %x)
  call void @through_alias(ptr %x)
  ret void
}
@through_alias = alias void (ptr), ptr @loud
define void @loud(ptr %x) {
  call void @anything(ptr %x)
  ret void
}
define void @quiet(ptr %x) {
  store double 0.0, ptr %x
  ret void
}

; A wrapper around pushes is ordinary code: counted, flushed at its end, no frame.
; CHECK-LABEL: define void @wrapper(
; CHECK-NOT: __adprof_enter
; CHECK: call void @pushReal8(
; CHECK: call void @__adprof_flush(i32 0, i64 %{{.*}}, i64
; CHECK: ret void
define void @wrapper(double %v) {
  call void @pushReal8(double %v)
  ret void
}

; The AD stack itself is left alone: what it does inside is counted at its calls.
; CHECK-LABEL: define void @pushReal8Array(
; CHECK-NOT: __adprof
; CHECK: }
define void @pushReal8Array(ptr %x, i32 %n) {
  call void @pushNArray(ptr %x, i32 %n)
  ret void
}
declare void @pushNArray(ptr, i32)

; CHECK-LABEL: define void @naked_b(
; CHECK-NOT: __adprof
; CHECK: }
define void @naked_b(ptr %x, ptr %xb) naked {
  call void asm sideeffect "ret", ""()
  unreachable
}

; CHECK-LABEL: define void @coroutine_b(
; CHECK-NOT: __adprof
; CHECK: }
define void @coroutine_b(ptr %x, ptr %xb) presplitcoroutine {
  call void @pushReal8(double 1.0)
  ret void
}

; An endless procedure has no return to put a hook before.
; CHECK-LABEL: define void @endless_b(
; CHECK: call i32 @__adprof_enter(
; CHECK: unreachable
define void @endless_b(ptr %x, ptr %xb) noreturn {
  call void @pushReal8(double 1.0)
  call void @anything(ptr %x)
  unreachable
}
