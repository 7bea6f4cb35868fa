! The adjoint of tridiag, written by hand from the mathematics: the matrix is symmetric, so the adjoint solves with the same
! matrix. It calls the primal, which is no checkpoint, and it has no split version.
subroutine tridiag_b(m, k, kb, x, xb)
  implicit none
  integer, intent(in) :: m
  real(8), intent(in) :: k
  real(8), intent(inout) :: kb, x(m), xb(m)
  integer :: i
  call tridiag(m, k, x)
  call tridiag(m, k, xb)
  do i = 1, m-1
    kb = kb - (xb(i)-xb(i+1))*(x(i)-x(i+1))
  end do
end subroutine tridiag_b
