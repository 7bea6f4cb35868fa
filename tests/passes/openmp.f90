! The bodies of parallel regions are functions of their own: they belong to the procedure they were cut from.
! RUN: %flang-ir -O0 -fopenmp %s | %adprof | %filecheck %s --check-prefix=IR
! RUN: %flang-adprof -fopenmp -O0 -c %s -o %t.o && %llvm/llvm-objcopy -O binary --only-section=adprof_sites %t.o %t.txt && %filecheck %s --check-prefix=TEXT --input-file=%t.txt
! RUN: %flang-adprof -fopenmp -O3 -g -c %s -o %t.o && %llvm/llvm-objcopy -O binary --only-section=adprof_sites %t.o %t.txt && %filecheck %s --check-prefix=TEXT --input-file=%t.txt
subroutine par_b(x, xb, n)
  integer :: n, i
  real(8) :: x(n), xb(n)
  call pushreal8(x(1))
  !$omp parallel do
  do i = 1, n
    call pushreal8(x(i))
    call cell(x(i))
  end do
  !$omp parallel do
  do i = n, 1, -1
    call popreal8(x(i))
    call cell_b(x(i), xb(i))
  end do
  call popreal8(x(1))
end subroutine
subroutine two_b(x, xb, n)
  integer :: n, i
  real(8) :: x(n), xb(n)
  !$omp parallel
  !$omp do
  do i = 1, n
    call cell(x(i))
  end do
  !$omp do
  do i = 1, n
    call cell(x(1))
    call edge(x(i))
  end do
  !$omp end parallel
  !$omp parallel
  !$omp do
  do i = n, 1, -1
    call edge_b(x(i), xb(i))
    call cell_b(x(1), xb(1))
  end do
  !$omp do
  do i = n, 1, -1
    call cell_b(x(i), xb(i))
  end do
  !$omp end parallel
end subroutine
! The fork is preceded by a flush only where something was pushed.
! IR-LABEL: define {{.*}}@par_b_(
! IR: call void @pushreal8_(
! IR: call void @__adprof_flush(
! IR: call void (ptr, i32, ptr, ...) @__kmpc_fork_call(
! IR-NOT: __adprof_flush
! IR: call void (ptr, i32, ptr, ...) @__kmpc_fork_call(
! IR: define internal void @par_b_..omp_par
! IR: call i32 @__adprof_enter(
! IR: call void @__adprof_leave(
! IR-NEXT: ret void

! TEXT-DAG: proc	{{.}}	par	joint	par_b_
! TEXT-DAG: proc	{{.}}	par	region_forward	par_b_..omp_par
! TEXT-DAG: proc	{{.}}	par	region_backward	par_b_..omp_par.1
! TEXT-DAG: primal	par	cell	0	0	{{.*}}	cell_	par_b_..omp_par	
! TEXT-DAG: adjoint	par	cell	0	0	{{.*}}	cell_b_	par_b_..omp_par.1	
! Two loops in one region: flang puts their bodies behind everything else.
! TEXT-DAG: primal	two	cell	0	0	{{.*}}	[i]*
! TEXT-DAG: primal	two	edge	0	0
! TEXT-DAG: primal	two	cell	1	0	{{.*}}	*
