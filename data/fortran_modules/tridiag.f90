! Solves (I + k D) x = b, where D is the second difference with sign changed, in place: a library routine.
subroutine tridiag(m, k, x)
  implicit none
  integer, intent(in) :: m
  real(8), intent(in) :: k
  real(8), intent(inout) :: x(m)
  real(8) :: c(m), d
  integer :: i
  d = 1.d0 + k
  c(1) = -k/d
  x(1) = x(1)/d
  do i = 2, m
    d = 1.d0 + 2.d0*k + k*c(i-1)
    if (i == m) d = d - k
    c(i) = -k/d
    x(i) = (x(i) + k*x(i-1))/d
  end do
  do i = m-1, 1, -1
    x(i) = x(i) - c(i)*x(i+1)
  end do
end subroutine tridiag
