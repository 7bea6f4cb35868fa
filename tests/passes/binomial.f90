! A binomial loop spreads one checkpoint over the arms of a SELECT CASE: all appearances of a source call are one site. Repeated
! reading has hooks before the AD stack's own functions; adBinomial_next one behind it.
! RUN: %flang-ir -O0 %s | %adprof | %filecheck %s --check-prefix=IR
! RUN: %flang-adprof -O0 -c %s -o %t.o && %llvm/llvm-objcopy -O binary --only-section=adprof_sites %t.o %t.txt && %filecheck %s --check-prefix=TEXT --input-file=%t.txt
! RUN: %flang-adprof -O3 -g -c %s -o %t.o && %llvm/llvm-objcopy -O binary --only-section=adprof_sites %t.o %t.txt && %filecheck %s --check-prefix=TEXT --input-file=%t.txt
subroutine loop_b(x, xb, n)
  integer :: n, action, step
  logical :: adbinomial_next
  real(8) :: x(n), xb(n)
  call adbinomial_init(n, 3, 1)
  do while (adbinomial_next(action, step))
    select case (action)
    case (1)
      call pushreal8array(x, n)
    case (2)
      call adstack_startrepeat()
      call popreal8array(x, n)
      call adstack_resetrepeat()
      call adstack_endrepeat()
    case (3)
      call popreal8array(x, n)
    case (4)
      call half(x, n)
      call half(x, n)
    case (5)
      call pushreal8array(x, n)
      call half(x, n)
      call half(x, n)
      call half_b(x, xb, n)
      call popreal8array(x, n)
      call half_b(x, xb, n)
    case (6)
      call half_b(x, xb, n)
      call half_b(x, xb, n)
    end select
  end do
end subroutine
! IR-LABEL: define {{.*}}@loop_b_(
! IR: call void @__adprof_binomial_init(i32 %adprof.frame, i64 0, i64 0, i64 0, i64 0, i64 [[STEPS:%.+]], i64 {{.+}})
! IR-NEXT: call void @adbinomial_init_(
! IR: [[MORE:%.+]] = call i32 @adbinomial_next_(
! IR-NEXT: [[WIDE:%.+]] = zext i32 [[MORE]] to i64
! IR: call void @__adprof_binomial_next(i32 %adprof.frame, i64 {{.*}}, i64 [[WIDE]], i64 {{.+}})
! IR: call void @__adprof_repeat_start(
! IR: call void @adstack_startrepeat_(
! IR: call void @__adprof_repeat_reset(
! IR: call void @adstack_resetrepeat_(
! IR: call void @__adprof_repeat_end(
! IR: call void @adstack_endrepeat_(

! TEXT: primal	loop	half	0	0
! TEXT: primal	loop	half	1	0
! TEXT: primal	loop	half	0	0
! TEXT: primal	loop	half	1	0
! TEXT: adjoint	loop	half	1	0
! TEXT: adjoint	loop	half	0	0
! TEXT: adjoint	loop	half	1	0
! TEXT: adjoint	loop	half	0	0
