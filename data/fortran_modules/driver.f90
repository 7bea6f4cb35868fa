! Runs the adjoint twice (one site of blend_b split, then joint), and checks each gradient against finite differences and by
! the dot product; ends with status 1 if one is wrong.
program driver
  use glacier, only: run
  use glacier_diff, only: run_b, split_soften
  implicit none
  integer, parameter :: nsteps = 15, n = 20, m = n + 3
  real(8) :: x(m), xb(m), xd(m), first(m), h(n), cost, costb, along, dot
  integer :: i, k, bad
  x(1:3) = (/0.3d0, 0.05d0, 0.4d0/)
  x(4:m) = (/(1.d0 + 0.3d0*sin(0.4d0*i), i = 1, n)/)
  xd = (/(0.1d0*cos(1.7d0*i), i = 1, m)/)
  bad = 0
  do k = 1, 2
    split_soften = k == 1
    h = x(4:m)
    costb = 1.d0
    call run_b(nsteps, x(1:3), xb(1:3), h, xb(4:m), cost, costb)
    do i = 1, m
      along = derivative(i)
      if (abs(along-xb(i)) > 1.d-8*(1.d0+abs(along))) bad = bad + 1
      write (*, '(a,2i3,1x,z16.16,2f18.10)') 'gradient', k, i, xb(i), xb(i), along
    end do
    along = derivative(0)
    dot = dot_product(xb, xd)
    if (abs(along-dot) > 1.d-8*(1.d0+abs(along))) bad = bad + 1
    write (*, '(a,i3,2f18.10)') 'dot product', k, along, dot
    if (k == 1) first = xb
  end do
  if (any(first /= xb)) bad = bad + 1   ! another placement, the same gradient to the bit
  if (bad > 0) then
    write (*, '(a,i3)') 'wrong:', bad
    stop 1
  end if
  write (*, '(a)') 'the gradient is right'
contains
  ! Along unit vector k, or along xd if k is 0, by central differences of fourth order.
  function derivative(k) result(d)
    integer, intent(in) :: k
    real(8) :: d, z(m), y, step
    real(8), parameter :: s(4) = (/1.d0, -1.d0, 2.d0, -2.d0/), c(4) = (/8.d0, -8.d0, -1.d0, 1.d0/)
    integer :: j
    d = 0.d0
    step = 1.d-4
    do j = 1, 4
      z = x
      if (k == 0) z = x + s(j)*step*xd
      if (k > 0) z(k) = x(k) + s(j)*step
      call run(nsteps, z(1:3), z(4:m), y)
      d = d + c(j)*y/(12.d0*step)
    end do
  end function derivative
end program driver
