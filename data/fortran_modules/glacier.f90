! A glacier along a flow line: free form, modules, and the language features that generated code has to carry along.
module grid
  implicit none
  integer, parameter :: n = 20
  real(8), parameter :: dt = 0.05d0, dx = 0.5d0
  real(8), allocatable :: u(:)                ! velocity
  real(8), target :: lower(n), upper(n)       ! two layers of ice
  real(8), pointer :: layer(:) => null()      ! the one at work
end module grid

module physics
  use grid
  implicit none
contains
  ! One iteration of the velocity: a contraction.
  subroutine glen(v, vnew, h, a)
    real(8), intent(in) :: v(:), h(:), a
    real(8), intent(out) :: vnew(:)
    real(8) :: s
    integer :: i
    do i = 1, n
      s = 1.d0 + v(max(i-1,1))**2 + v(min(i+1,n))**2
      vnew(i) = a*h(i)**2/s
    end do
  end subroutine glen

  ! Array-valued.
  function flux(h) result(f)
    real(8), intent(in) :: h(:)
    real(8) :: f(size(h)+1)
    integer :: i
    f(1) = 0.d0
    do i = 2, n
      f(i) = 0.5d0*(u(i-1)+u(i))*h(i-1)**2
    end do
    f(n+1) = u(n)*h(n)**2
  end function flux

  ! Explicit shape: a strided actual argument is copied in and out.
  subroutine smooth(m, a)
    integer, intent(in) :: m
    real(8), intent(inout) :: a(m)
    integer :: i
    do i = 2, m
      a(i) = a(i) + 0.05d0*a(i-1)**2
    end do
  end subroutine smooth

  subroutine soften(a)
    real(8), intent(inout) :: a(:)
    integer :: i
    do i = 1, size(a)
      a(i) = a(i) + 0.1d0*sin(a(i))
    end do
  end subroutine soften

  subroutine accumulate(h, rate, ela)
    real(8), intent(inout) :: h(:)
    real(8), intent(in) :: rate
    real(8), intent(in), optional :: ela
    real(8) :: e
    e = 1.d0
    if (present(ela)) e = ela
    h = h + dt*rate*tanh(h-e)
  end subroutine accumulate

  recursive subroutine relax(h, lo, hi, k)
    real(8), intent(inout) :: h(:)
    integer, intent(in) :: lo, hi
    real(8), intent(in) :: k
    integer :: mid
    if (hi - lo < 3) then
      h(lo) = h(lo) + 0.1d0*k*sin(h(hi))
    else
      mid = (lo+hi)/2
      call relax(h, lo, mid, k)
      call relax(h, mid+1, hi, k)
      h(mid) = h(mid) + 0.1d0*k*h(mid)*h(mid+1)
    end if
  end subroutine relax

  function melt(x)
    real(8), intent(in) :: x
    real(8) :: melt
    melt = 0.2d0*x*x/(1.d0+x*x)
  end function melt

  function calve(x)
    real(8), intent(in) :: x
    real(8) :: calve
    calve = 0.1d0*exp(0.5d0*x)
  end function calve

  ! A procedure as argument.
  subroutine apply(h, f)
    real(8), intent(inout) :: h(:)
    real(8), external :: f
    integer :: i
    do i = 1, size(h)
      h(i) = h(i) - dt*f(h(i))
    end do
  end subroutine apply
end module physics

module glacier
  use grid
  use physics
  implicit none
  interface
    subroutine tridiag(m, k, x) ! solves (I + k D) x = b in place; its adjoint is written by hand
      integer, intent(in) :: m
      real(8), intent(in) :: k
      real(8), intent(inout) :: x(m)
    end subroutine tridiag
  end interface
contains
  subroutine velocity(a, h)
    real(8), intent(in) :: a, h(:)
    real(8) :: err, unew(n)
    u = 0.1d0
    err = 1.d0
    !$AD FP-LOOP "u"
    do while (err > 1.d-28)
      call glen(u, unew, h, a)
      err = sum((unew-u)**2)
      u = unew
    end do
  end subroutine velocity

  subroutine blend(h)
    real(8), intent(inout) :: h(:)
    layer => lower
    layer = 0.5d0*h
    call soften(layer)
    layer => upper
    layer = lower*h
    call soften(layer)
    h = 0.5d0*h + 0.25d0*(lower+upper)
  end subroutine blend

  subroutine timestep(t, ctl, h)
    integer, intent(in) :: t
    real(8), intent(in) :: ctl(3)
    real(8), intent(inout) :: h(:)
    real(8) :: f(n+1)
    call velocity(ctl(1), h)
    f = flux(h)
    h = h - dt/dx*(f(2:n+1)-f(1:n))
    call smooth(n/2, h(1:n:2))
    call blend(h)
    if (mod(t, 2) == 0) then
      call accumulate(h, ctl(3))
    else
      call accumulate(h, ctl(3), ela=1.2d0)
    end if
    call relax(h, 1, n, ctl(2))
    call apply(h, melt)
    call apply(h(n-3:n), calve)
    call tridiag(n, ctl(2), h)
  end subroutine timestep

  subroutine misfit(h, cost)
    real(8), intent(in) :: h(:)
    real(8), intent(out) :: cost
    real(8) :: centre
    integer :: i
    centre = 1.1d0
    cost = 0.d0
    do i = 1, n
      cost = cost + weight(h(i))*(h(i)-0.9d0)**2
    end do
  contains
    function weight(x)
      real(8), intent(in) :: x
      real(8) :: weight
      weight = 1.d0/(1.d0+(x-centre)**2)
    end function weight
  end subroutine misfit

  subroutine run(nsteps, ctl, h, cost)
    integer, intent(in) :: nsteps
    real(8), intent(in) :: ctl(3)
    real(8), intent(inout) :: h(n)
    real(8), intent(out) :: cost
    integer :: t
    if (.not. allocated(u)) allocate (u(n))
    !$AD BINOMIAL-CKP nsteps+1 4 1
    do t = 1, nsteps
      call timestep(t, ctl, h)
    end do
    call misfit(h, cost)
  end subroutine run
end module glacier
