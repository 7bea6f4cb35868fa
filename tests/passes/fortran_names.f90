! Names and arguments as flang emits them: externals, module procedures of a generated module, internal procedures; counts by
! reference, hidden lengths of strings, array sections through copy-in and copy-out.
! RUN: %flang-ir -O0 %s | %adprof | %filecheck %s --check-prefix=IR
! RUN: %flang-ir -O2 -g %s | %adprof | %filecheck %s --check-prefix=MARKED
! RUN: %flang-adprof -O3 -c %s -o %t.o && %llvm/llvm-objcopy -O binary --only-section=adprof_sites %t.o %t.txt && %filecheck %s --check-prefix=OBJECT --input-file=%t.txt
! RUN: %flang-adprof -O0 -g -c %s -o %t.o && %llvm/llvm-objcopy -O binary --only-section=adprof_sites %t.o %t.txt && %filecheck %s --check-prefix=OBJECT --input-file=%t.txt
module flow_diff
  implicit none
  real(8) :: state(10)
contains
  subroutine step_b(x, xb, n, s)
    integer :: n
    real(8) :: x(n), xb(n)
    character(len=*) :: s
    call pushcharacterarray(s, 4)
    call pushreal8array(state, 10)
    call relax(x, n)
    call pushreal8array(x(1:n:2), n/2)
    call ext(x, n)
    call popreal8array(x(1:n:2), n/2)
    call ext_b(x, xb, n)
    call popreal8array(state, 10)
    call relax_b(x, xb, n)
    call popcharacterarray(s, 4)
  contains
    subroutine inner_b(y, yb)
      real(8) :: y, yb
      call pushreal8(y)
      call inner(y)
      call popreal8(y)
      yb = yb*2
    end subroutine
    subroutine inner(y)
      real(8) :: y
      y = y*y
    end subroutine
  end subroutine
  subroutine relax(x, n)
    integer :: n
    real(8) :: x(:)
    x = x*2
  end subroutine
  subroutine relax_b(x, xb, n)
    integer :: n
    real(8) :: x(:), xb(:)
    xb = xb*2
  end subroutine
end module
subroutine outer_b(x, xb, n)
  use flow_diff
  integer :: n
  real(8) :: x(n), xb(n), r, f
  common /block/ w
  real(8) :: w(4)
  call pushreal8(r)
  call pushreal8array(w, 4)
  r = f(x, n)
  call popreal8array(w, 4)
  call popreal8(r)
  call f_b(x, xb, n)
end subroutine

! Bits of an array whose count is passed by reference; a string's hidden length is not its count.
! IR-LABEL: define {{.*}}@_QMflow_diffPstep_b(
! IR: %adprof.frame = call i32 @__adprof_enter(ptr @adprof.module, i32 0)
! IR: store i32 4, ptr [[REF:%.+]], align 4
! IR: [[COUNT:%.+]] = load i32, ptr [[REF]], align 4
! IR-NEXT: [[WIDE:%.+]] = sext i32 [[COUNT]] to i64
! IR: call void @pushcharacterarray_(ptr {{.*}}, ptr [[REF]], i64
! IR: call void @pushreal8array_(ptr @_QMflow_diffEstate
! IR: call void @__adprof_primal_begin(
! IR: call void @_QMflow_diffPrelax(
! IR-NEXT: call void @__adprof_primal_end(

! MARKED-COUNT-2: call void @__adprof_primal_begin(
! MARKED: call void @__adprof_leave(

! OBJECT: proc	{{.}}	flow.step	joint	_QMflow_diffPstep_b
! OBJECT: proc	{{.}}	flow.relax	joint	_QMflow_diffPrelax_b
! OBJECT: proc	{{.}}	outer	joint	outer_b_
! OBJECT: call	{{.}}	[[RELAX:.*]]	primal	flow.step	flow.relax	0	0
! OBJECT: call	{{.}}	{{.*}}	primal	flow.step	ext	0	0
! OBJECT: call	{{.}}	{{.*}}	adjoint	flow.step	ext	0	0
! OBJECT: call	{{.}}	[[RELAX]]	adjoint	flow.step	flow.relax	0	0
! OBJECT: call	{{.}}	{{.*}}	primal	outer	f	0	0
! OBJECT: call	{{.}}	{{.*}}	adjoint	outer	f	0	0
