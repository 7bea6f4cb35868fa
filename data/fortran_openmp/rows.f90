! Columns that are worked on in parallel: once with a static schedule, once with a dynamic one.
module rows
  implicit none
  integer, parameter :: n = 16, m = 24
contains
  function rate(x, c)
    real(8), intent(in) :: x, c
    real(8) :: rate
    rate = c*x/(1.d0+x*x)
  end function rate

  subroutine column(x, c)
    real(8), intent(inout) :: x(n)
    real(8), intent(in) :: c
    integer :: i
    do i = 2, n
      x(i) = x(i) + c*sin(x(i-1))*x(i)
    end do
  end subroutine column

  subroutine react(x, c)
    real(8), intent(inout) :: x(n)
    real(8), intent(in) :: c
    integer :: i
    do i = 1, n
      x(i) = x(i) - 0.1d0*rate(x(i), c)*x(i)
    end do
  end subroutine react

  subroutine sweep(a, c)
    real(8), intent(inout) :: a(n, m)
    real(8), intent(in) :: c(m)
    integer :: j
    !$omp parallel do schedule(static)
    do j = 1, m
      call column(a(:, j), c(j))
    end do
    !$omp parallel do schedule(dynamic)
    do j = 1, m
      call react(a(:, j), c(j))
    end do
  end subroutine sweep

  subroutine model(steps, a, c, cost)
    integer, intent(in) :: steps
    real(8), intent(inout) :: a(n, m)
    real(8), intent(in) :: c(m)
    real(8), intent(out) :: cost
    integer :: t
    do t = 1, steps
      call sweep(a, c)
    end do
    cost = sum(a**2)
  end subroutine model
end module rows
