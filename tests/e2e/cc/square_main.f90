! g_b of square.c, called from Fortran.
program square_main
  use iso_c_binding
  implicit none
  interface
    subroutine g_b(x, xb) bind(c, name="g_b")
      import :: c_double
      real(c_double) :: x, xb
    end subroutine
  end interface
  real(c_double) :: x, xb
  x = 3
  xb = 1
  call g_b(x, xb)
  print '(f4.1)', xb
end program
