! A chain of masses and nonlinear springs: the time loop in Fortran, the force law in C (force.c).
subroutine chain(n, nsteps, k, x, energy)
  implicit none
  integer, intent(in) :: n, nsteps
  real(8), intent(in) :: k(n)
  real(8), intent(inout) :: x(n)
  real(8), intent(out) :: energy
  real(8) :: v(n)
  integer :: t, i
  v = 0.d0
  do t = 1, nsteps
    call advance(n, k, x, v)
  end do
  energy = 0.d0
  do i = 1, n
    energy = energy + 0.5d0*v(i)**2 + 0.1d0*x(i)**2
  end do
end subroutine chain

subroutine advance(n, k, x, v)
  implicit none
  integer, intent(in) :: n
  real(8), intent(in) :: k(n)
  real(8), intent(inout) :: x(n), v(n)
  real(8) :: f(n)
  call force(n, k, x, f)
  v = v + 0.05d0*f
  x = x + 0.05d0*v
end subroutine advance
