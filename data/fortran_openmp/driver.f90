! Runs the adjoint and checks its gradient against finite differences and by the dot product; ends with status 1 if it is wrong.
program driver
  use rows, only: model, n, m
  use rows_diff, only: model_b
  implicit none
  integer, parameter :: steps = 4, d = n*m + m
  real(8) :: x(d), xb(d), xd(d), a(n, m), ab(n, m), cost, costb, along, dot
  integer :: i, bad
  x = (/(1.d0 + 0.2d0*sin(0.3d0*i), i = 1, d)/)
  x(n*m+1:) = 0.1d0*x(n*m+1:)
  xd = (/(0.1d0*cos(1.7d0*i), i = 1, d)/)
  bad = 0
  a = reshape(x(:n*m), (/n, m/))
  costb = 1.d0
  call model_b(steps, a, ab, x(n*m+1:), xb(n*m+1:), cost, costb)
  xb(:n*m) = reshape(ab, (/n*m/))
  do i = 1, d
    along = derivative(i)
    if (abs(along-xb(i)) > 1.d-8*(1.d0+abs(along))) bad = bad + 1
    write (*, '(a,i4,1x,z16.16,2f18.10)') 'gradient', i, xb(i), xb(i), along
  end do
  along = derivative(0)
  dot = dot_product(xb, xd)
  if (abs(along-dot) > 1.d-8*(1.d0+abs(along))) bad = bad + 1
  write (*, '(a,2f18.10)') 'dot product', along, dot
  if (bad > 0) then
    write (*, '(a,i3)') 'wrong:', bad
    stop 1
  end if
  write (*, '(a)') 'the gradient is right'
contains
  ! Along unit vector k, or along xd if k is 0, by central differences of fourth order.
  function derivative(k) result(g)
    integer, intent(in) :: k
    real(8) :: g, z(d), y, step
    real(8), parameter :: s(4) = (/1.d0, -1.d0, 2.d0, -2.d0/), c(4) = (/8.d0, -8.d0, -1.d0, 1.d0/)
    integer :: j
    g = 0.d0
    step = 1.d-3
    do j = 1, 4
      z = x
      if (k == 0) z = x + s(j)*step*xd
      if (k > 0) z(k) = x(k) + s(j)*step
      a = reshape(z(:n*m), (/n, m/))
      call model(steps, a, z(n*m+1:), y)
      g = g + c(j)*y/(12.d0*step)
    end do
  end function derivative
end program driver
