! The adjoint of glacier.f90, written by hand in the shape that the AD tool gives it: modules called <module>_diff that also
! hold copies of the primals.
module grid_diff
  implicit none
  integer, parameter :: n = 20
  real(8), parameter :: dt = 0.05d0, dx = 0.5d0
  real(8), allocatable :: u(:), ub(:)
  real(8), target :: lower(n), upper(n), lowerb(n), upperb(n)
  real(8), pointer :: layer(:) => null(), layerb(:) => null()
  logical :: split_soften = .true.            ! chooses at run time between the split and the joint call in blend_b
end module grid_diff

module physics_diff
  use grid_diff
  implicit none
contains
!  Differentiation of glen in reverse (adjoint) mode, forward sweep:
  SUBROUTINE GLEN_FWD(v, vnew, h, a)
    REAL(8), INTENT(IN) :: v(:), h(:), a
    REAL(8), INTENT(OUT) :: vnew(:)
    REAL(8) :: s
    INTEGER :: i
    INTRINSIC MAX, MIN
    DO i=1,n
      CALL PUSHREAL8(s)
      s = 1.d0 + v(MAX(i-1,1))**2 + v(MIN(i+1,n))**2
      vnew(i) = a*h(i)**2/s
    END DO
    CALL PUSHREAL8(s)
  END SUBROUTINE GLEN_FWD

!  Differentiation of glen in reverse (adjoint) mode, backward sweep:
  SUBROUTINE GLEN_BWD(v, vb, vnew, vnewb, h, hb, a, ab)
    REAL(8), INTENT(IN) :: v(:), h(:), a
    REAL(8) :: vb(:), vnew(:), vnewb(:), hb(:), ab
    REAL(8) :: s, sb
    INTEGER :: i
    INTRINSIC MAX, MIN
    CALL POPREAL8(s)
    DO i=n,1,-1
      ab = ab + h(i)**2*vnewb(i)/s
      hb(i) = hb(i) + 2.d0*h(i)*a*vnewb(i)/s
      sb = -(a*h(i)**2*vnewb(i)/s**2)
      vnewb(i) = 0.d0
      vb(MAX(i-1,1)) = vb(MAX(i-1,1)) + 2.d0*v(MAX(i-1,1))*sb
      vb(MIN(i+1,n)) = vb(MIN(i+1,n)) + 2.d0*v(MIN(i+1,n))*sb
      CALL POPREAL8(s)
    END DO
  END SUBROUTINE GLEN_BWD

  SUBROUTINE GLEN_NODIFF(v, vnew, h, a)
    REAL(8), INTENT(IN) :: v(:), h(:), a
    REAL(8), INTENT(OUT) :: vnew(:)
    REAL(8) :: s
    INTEGER :: i
    INTRINSIC MAX, MIN
    DO i=1,n
      s = 1.d0 + v(MAX(i-1,1))**2 + v(MIN(i+1,n))**2
      vnew(i) = a*h(i)**2/s
    END DO
  END SUBROUTINE GLEN_NODIFF

!  Differentiation of flux in reverse (adjoint) mode:
  SUBROUTINE FLUX_B(h, hb, fb)
    REAL(8), INTENT(IN) :: h(:)
    REAL(8) :: hb(:), fb(:)
    INTEGER :: i
    ub(n) = ub(n) + h(n)**2*fb(n+1)
    hb(n) = hb(n) + 2.d0*h(n)*u(n)*fb(n+1)
    fb(n+1) = 0.d0
    DO i=n,2,-1
      ub(i-1) = ub(i-1) + 0.5d0*h(i-1)**2*fb(i)
      ub(i) = ub(i) + 0.5d0*h(i-1)**2*fb(i)
      hb(i-1) = hb(i-1) + h(i-1)*(u(i-1)+u(i))*fb(i)
      fb(i) = 0.d0
    END DO
    fb(1) = 0.d0
  END SUBROUTINE FLUX_B

  FUNCTION FLUX(h) RESULT (f)
    REAL(8), INTENT(IN) :: h(:)
    REAL(8) :: f(SIZE(h)+1)
    INTEGER :: i
    f(1) = 0.d0
    DO i=2,n
      f(i) = 0.5d0*(u(i-1)+u(i))*h(i-1)**2
    END DO
    f(n+1) = u(n)*h(n)**2
  END FUNCTION FLUX

!  Differentiation of smooth in reverse (adjoint) mode:
  SUBROUTINE SMOOTH_B(m, a, ab)
    INTEGER, INTENT(IN) :: m
    REAL(8), INTENT(INOUT) :: a(m), ab(m)
    INTEGER :: i
    DO i=2,m
      CALL PUSHREAL8(a(i))
      a(i) = a(i) + 0.05d0*a(i-1)**2
    END DO
    DO i=m,2,-1
      CALL POPREAL8(a(i))
      ab(i-1) = ab(i-1) + 2.d0*a(i-1)*0.05d0*ab(i)
    END DO
  END SUBROUTINE SMOOTH_B

  SUBROUTINE SMOOTH(m, a)
    INTEGER, INTENT(IN) :: m
    REAL(8), INTENT(INOUT) :: a(m)
    INTEGER :: i
    DO i=2,m
      a(i) = a(i) + 0.05d0*a(i-1)**2
    END DO
  END SUBROUTINE SMOOTH

!  Differentiation of soften in reverse (adjoint) mode, forward sweep:
  SUBROUTINE SOFTEN_FWD(a)
    REAL(8), INTENT(INOUT) :: a(:)
    INTEGER :: i
    DO i=1,SIZE(a)
      CALL PUSHREAL8(a(i))
      a(i) = a(i) + 0.1d0*SIN(a(i))
    END DO
  END SUBROUTINE SOFTEN_FWD

!  Differentiation of soften in reverse (adjoint) mode, backward sweep:
  SUBROUTINE SOFTEN_BWD(a, ab)
    REAL(8), INTENT(INOUT) :: a(:), ab(:)
    INTEGER :: i
    DO i=SIZE(a),1,-1
      CALL POPREAL8(a(i))
      ab(i) = (1.d0+0.1d0*COS(a(i)))*ab(i)
    END DO
  END SUBROUTINE SOFTEN_BWD

!  Differentiation of soften in reverse (adjoint) mode:
  SUBROUTINE SOFTEN_B(a, ab)
    REAL(8), INTENT(INOUT) :: a(:), ab(:)
    INTEGER :: i
    DO i=1,SIZE(a)
      CALL PUSHREAL8(a(i))
      a(i) = a(i) + 0.1d0*SIN(a(i))
    END DO
    DO i=SIZE(a),1,-1
      CALL POPREAL8(a(i))
      ab(i) = (1.d0+0.1d0*COS(a(i)))*ab(i)
    END DO
  END SUBROUTINE SOFTEN_B

  SUBROUTINE SOFTEN(a)
    REAL(8), INTENT(INOUT) :: a(:)
    INTEGER :: i
    DO i=1,SIZE(a)
      a(i) = a(i) + 0.1d0*SIN(a(i))
    END DO
  END SUBROUTINE SOFTEN

!  Differentiation of accumulate in reverse (adjoint) mode:
  SUBROUTINE ACCUMULATE_B(h, hb, rate, rateb, ela)
    REAL(8), INTENT(INOUT) :: h(:), hb(:)
    REAL(8), INTENT(IN) :: rate
    REAL(8) :: rateb
    REAL(8), INTENT(IN), OPTIONAL :: ela
    REAL(8) :: e
    INTRINSIC PRESENT
    e = 1.d0
    IF (PRESENT(ela)) e = ela
    rateb = rateb + SUM(dt*TANH(h-e)*hb)
    hb = (1.d0+dt*rate*(1.d0-TANH(h-e)**2))*hb
  END SUBROUTINE ACCUMULATE_B

  SUBROUTINE ACCUMULATE(h, rate, ela)
    REAL(8), INTENT(INOUT) :: h(:)
    REAL(8), INTENT(IN) :: rate
    REAL(8), INTENT(IN), OPTIONAL :: ela
    REAL(8) :: e
    INTRINSIC PRESENT
    e = 1.d0
    IF (PRESENT(ela)) e = ela
    h = h + dt*rate*TANH(h-e)
  END SUBROUTINE ACCUMULATE

!  Differentiation of relax in reverse (adjoint) mode:
  RECURSIVE SUBROUTINE RELAX_B(h, hb, lo, hi, k, kb)
    REAL(8), INTENT(INOUT) :: h(:), hb(:)
    INTEGER, INTENT(IN) :: lo, hi
    REAL(8), INTENT(IN) :: k
    REAL(8) :: kb
    INTEGER :: mid
    INTEGER*4 :: branch
    IF (hi - lo .LT. 3) THEN
      CALL PUSHREAL8(h(lo))
      h(lo) = h(lo) + 0.1d0*k*SIN(h(hi))
      CALL PUSHCONTROL1B(0)
    ELSE
      mid = (lo+hi)/2
      CALL PUSHREAL8ARRAY(h(lo:mid), mid - lo + 1)
      CALL RELAX(h, lo, mid, k)
      CALL PUSHREAL8ARRAY(h(mid+1:hi), hi - mid)
      CALL RELAX(h, mid + 1, hi, k)
      CALL PUSHREAL8(h(mid))
      h(mid) = h(mid) + 0.1d0*k*h(mid)*h(mid+1)
      CALL PUSHCONTROL1B(1)
    END IF
    CALL POPCONTROL1B(branch)
    IF (branch .EQ. 0) THEN
      CALL POPREAL8(h(lo))
      kb = kb + 0.1d0*SIN(h(hi))*hb(lo)
      hb(hi) = hb(hi) + 0.1d0*k*COS(h(hi))*hb(lo)
    ELSE
      CALL POPREAL8(h(mid))
      kb = kb + 0.1d0*h(mid)*h(mid+1)*hb(mid)
      hb(mid+1) = hb(mid+1) + 0.1d0*k*h(mid)*hb(mid)
      hb(mid) = (1.d0+0.1d0*k*h(mid+1))*hb(mid)
      CALL POPREAL8ARRAY(h(mid+1:hi), hi - mid)
      CALL RELAX_B(h, hb, mid + 1, hi, k, kb)
      CALL POPREAL8ARRAY(h(lo:mid), mid - lo + 1)
      CALL RELAX_B(h, hb, lo, mid, k, kb)
    END IF
  END SUBROUTINE RELAX_B

  RECURSIVE SUBROUTINE RELAX(h, lo, hi, k)
    REAL(8), INTENT(INOUT) :: h(:)
    INTEGER, INTENT(IN) :: lo, hi
    REAL(8), INTENT(IN) :: k
    INTEGER :: mid
    IF (hi - lo .LT. 3) THEN
      h(lo) = h(lo) + 0.1d0*k*SIN(h(hi))
    ELSE
      mid = (lo+hi)/2
      CALL RELAX(h, lo, mid, k)
      CALL RELAX(h, mid + 1, hi, k)
      h(mid) = h(mid) + 0.1d0*k*h(mid)*h(mid+1)
    END IF
  END SUBROUTINE RELAX

!  Differentiation of melt in reverse (adjoint) mode:
  SUBROUTINE MELT_B(x, xb, meltb)
    REAL(8), INTENT(IN) :: x
    REAL(8) :: xb, meltb
    xb = xb + 0.4d0*x/(1.d0+x*x)**2*meltb
  END SUBROUTINE MELT_B

  FUNCTION MELT(x)
    REAL(8), INTENT(IN) :: x
    REAL(8) :: melt
    melt = 0.2d0*x*x/(1.d0+x*x)
  END FUNCTION MELT

!  Differentiation of calve in reverse (adjoint) mode:
  SUBROUTINE CALVE_B(x, xb, calveb)
    REAL(8), INTENT(IN) :: x
    REAL(8) :: xb, calveb
    xb = xb + 0.05d0*EXP(0.5d0*x)*calveb
  END SUBROUTINE CALVE_B

  FUNCTION CALVE(x)
    REAL(8), INTENT(IN) :: x
    REAL(8) :: calve
    calve = 0.1d0*EXP(0.5d0*x)
  END FUNCTION CALVE

!  Differentiation of apply in reverse (adjoint) mode:
  SUBROUTINE APPLY_B(h, hb, f, f_b)
    REAL(8), INTENT(INOUT) :: h(:), hb(:)
    REAL(8), EXTERNAL :: f
    EXTERNAL f_b
    REAL(8) :: result1, result1b
    INTEGER :: i
    DO i=1,SIZE(h)
      result1 = f(h(i))
      CALL PUSHREAL8(h(i))
      h(i) = h(i) - dt*result1
    END DO
    DO i=SIZE(h),1,-1
      CALL POPREAL8(h(i))
      result1b = -(dt*hb(i))
      CALL f_b(h(i), hb(i), result1b)
    END DO
  END SUBROUTINE APPLY_B

  SUBROUTINE APPLY(h, f)
    REAL(8), INTENT(INOUT) :: h(:)
    REAL(8), EXTERNAL :: f
    INTEGER :: i
    DO i=1,SIZE(h)
      h(i) = h(i) - dt*f(h(i))
    END DO
  END SUBROUTINE APPLY
end module physics_diff

module glacier_diff
  use, intrinsic :: iso_c_binding, only: c_ptr, c_loc, c_f_pointer
  use grid_diff
  use physics_diff
  implicit none
contains
!  Differentiation of velocity in reverse (adjoint) mode: a fixed point, whose adjoint is a fixed point that reads the tape of
!  the last iteration again and again.
  SUBROUTINE VELOCITY_B(a, ab, h, hb)
    REAL(8), INTENT(IN) :: a, h(:)
    REAL(8) :: ab, hb(:)
    REAL(8) :: err, unew(n), unewb(n), ufb(n), unextb(n), cumul, ab0, hb0(n)
    u = 0.1d0
    err = 1.d0
    DO WHILE (err .GT. 1.d-28)
      CALL GLEN_NODIFF(u, unew, h, a)
      err = SUM((unew-u)**2)
      u = unew
    END DO
    CALL GLEN_FWD(u, unew, h, a)
    CALL ADSTACK_STARTREPEAT()
    unextb = ub
    cumul = 1.d0
    DO WHILE (cumul .GT. 1.d-28)
      unewb = unextb
      ufb = 0.d0
      ab0 = 0.d0
      hb0 = 0.d0
      CALL GLEN_BWD(u, ufb, unew, unewb, h, hb0, a, ab0)
      CALL ADSTACK_RESETREPEAT()
      cumul = SUM((ub+ufb-unextb)**2)
      unextb = ub + ufb
    END DO
    CALL ADSTACK_ENDREPEAT()
    unewb = unextb
    ufb = 0.d0
    CALL GLEN_BWD(u, ufb, unew, unewb, h, hb, a, ab)
    ub = 0.d0
  END SUBROUTINE VELOCITY_B

  SUBROUTINE VELOCITY(a, h)
    REAL(8), INTENT(IN) :: a, h(:)
    REAL(8) :: err, unew(n)
    u = 0.1d0
    err = 1.d0
    DO WHILE (err .GT. 1.d-28)
      CALL GLEN_NODIFF(u, unew, h, a)
      err = SUM((unew-u)**2)
      u = unew
    END DO
  END SUBROUTINE VELOCITY

!  Differentiation of blend in reverse (adjoint) mode:
  SUBROUTINE BLEND_B(h, hb)
    REAL(8), INTENT(INOUT) :: h(:), hb(:)
    INTEGER*4 :: branch
    TYPE(C_PTR) :: cptr
    layerb => lowerb
    layer => lower
    layer = 0.5d0*h
    IF (split_soften) THEN
      CALL SOFTEN_FWD(layer)
      CALL PUSHCONTROL1B(0)
    ELSE
      CALL PUSHREAL8ARRAY(layer, SIZE(layer, 1))
      CALL SOFTEN(layer)
      CALL PUSHCONTROL1B(1)
    END IF
    CALL PUSHPOINTER8(C_LOC(layerb))
    layerb => upperb
    CALL PUSHPOINTER8(C_LOC(layer))
    layer => upper
    layer = lower*h
    CALL PUSHREAL8ARRAY(layer, SIZE(layer, 1))
    CALL SOFTEN(layer)
    lowerb = 0.25d0*hb
    upperb = 0.25d0*hb
    hb = 0.5d0*hb
    CALL POPREAL8ARRAY(layer, SIZE(layer, 1))
    CALL SOFTEN_B(layer, layerb)
    lowerb = lowerb + h*layerb
    hb = hb + lower*layerb
    layerb = 0.d0
    CALL POPPOINTER8(cptr)
    CALL C_F_POINTER(cptr, layer, (/n/))
    CALL POPPOINTER8(cptr)
    CALL C_F_POINTER(cptr, layerb, (/n/))
    CALL POPCONTROL1B(branch)
    IF (branch .EQ. 0) THEN
      CALL SOFTEN_BWD(layer, layerb)
    ELSE
      CALL POPREAL8ARRAY(layer, SIZE(layer, 1))
      CALL SOFTEN_B(layer, layerb)
    END IF
    hb = hb + 0.5d0*layerb
    layerb = 0.d0
  END SUBROUTINE BLEND_B

  SUBROUTINE BLEND(h)
    REAL(8), INTENT(INOUT) :: h(:)
    layer => lower
    layer = 0.5d0*h
    CALL SOFTEN(layer)
    layer => upper
    layer = lower*h
    CALL SOFTEN(layer)
    h = 0.5d0*h + 0.25d0*(lower+upper)
  END SUBROUTINE BLEND

!  Differentiation of timestep in reverse (adjoint) mode:
  SUBROUTINE TIMESTEP_B(t, ctl, ctlb, h, hb)
    INTEGER, INTENT(IN) :: t
    REAL(8), INTENT(IN) :: ctl(3)
    REAL(8) :: ctlb(3)
    REAL(8), INTENT(INOUT) :: h(:), hb(:)
    REAL(8) :: f(n+1), fb(n+1)
    INTEGER*4 :: branch
    EXTERNAL TRIDIAG, TRIDIAG_B
    CALL PUSHREAL8ARRAY(u, SIZE(u, 1))
    CALL VELOCITY(ctl(1), h)
    f = FLUX(h)
    CALL PUSHREAL8ARRAY(h, SIZE(h, 1))
    h = h - dt/dx*(f(2:n+1)-f(1:n))
    CALL PUSHREAL8ARRAY(h(1:n:2), n/2)
    CALL SMOOTH(n/2, h(1:n:2))
    CALL PUSHREAL8ARRAY(h, SIZE(h, 1))
    CALL BLEND(h)
    IF (MOD(t, 2) .EQ. 0) THEN
      CALL PUSHREAL8ARRAY(h, SIZE(h, 1))
      CALL ACCUMULATE(h, ctl(3))
      CALL PUSHCONTROL1B(1)
    ELSE
      CALL PUSHREAL8ARRAY(h, SIZE(h, 1))
      CALL ACCUMULATE(h, ctl(3), ela=1.2d0)
      CALL PUSHCONTROL1B(0)
    END IF
    CALL PUSHREAL8ARRAY(h, SIZE(h, 1))
    CALL RELAX(h, 1, n, ctl(2))
    CALL PUSHREAL8ARRAY(h, SIZE(h, 1))
    CALL APPLY(h, MELT)
    CALL PUSHREAL8ARRAY(h(n-3:n), 4)
    CALL APPLY(h(n-3:n), CALVE)
    CALL PUSHREAL8ARRAY(h, SIZE(h, 1))
    CALL TRIDIAG(n, ctl(2), h)
    CALL POPREAL8ARRAY(h, SIZE(h, 1))
    CALL TRIDIAG_B(n, ctl(2), ctlb(2), h, hb)
    CALL POPREAL8ARRAY(h(n-3:n), 4)
    CALL APPLY_B(h(n-3:n), hb(n-3:n), CALVE, CALVE_B)
    CALL POPREAL8ARRAY(h, SIZE(h, 1))
    CALL APPLY_B(h, hb, MELT, MELT_B)
    CALL POPREAL8ARRAY(h, SIZE(h, 1))
    CALL RELAX_B(h, hb, 1, n, ctl(2), ctlb(2))
    CALL POPCONTROL1B(branch)
    IF (branch .EQ. 0) THEN
      CALL POPREAL8ARRAY(h, SIZE(h, 1))
      CALL ACCUMULATE_B(h, hb, ctl(3), ctlb(3), ela=1.2d0)
    ELSE
      CALL POPREAL8ARRAY(h, SIZE(h, 1))
      CALL ACCUMULATE_B(h, hb, ctl(3), ctlb(3))
    END IF
    CALL POPREAL8ARRAY(h, SIZE(h, 1))
    CALL BLEND_B(h, hb)
    CALL POPREAL8ARRAY(h(1:n:2), n/2)
    CALL SMOOTH_B(n/2, h(1:n:2), hb(1:n:2))
    CALL POPREAL8ARRAY(h, SIZE(h, 1))
    fb = 0.d0
    fb(2:n+1) = fb(2:n+1) - dt/dx*hb
    fb(1:n) = fb(1:n) + dt/dx*hb
    CALL FLUX_B(h, hb, fb)
    CALL POPREAL8ARRAY(u, SIZE(u, 1))
    CALL VELOCITY_B(ctl(1), ctlb(1), h, hb)
  END SUBROUTINE TIMESTEP_B

  SUBROUTINE TIMESTEP(t, ctl, h)
    INTEGER, INTENT(IN) :: t
    REAL(8), INTENT(IN) :: ctl(3)
    REAL(8), INTENT(INOUT) :: h(:)
    REAL(8) :: f(n+1)
    EXTERNAL TRIDIAG
    CALL VELOCITY(ctl(1), h)
    f = FLUX(h)
    h = h - dt/dx*(f(2:n+1)-f(1:n))
    CALL SMOOTH(n/2, h(1:n:2))
    CALL BLEND(h)
    IF (MOD(t, 2) .EQ. 0) THEN
      CALL ACCUMULATE(h, ctl(3))
    ELSE
      CALL ACCUMULATE(h, ctl(3), ela=1.2d0)
    END IF
    CALL RELAX(h, 1, n, ctl(2))
    CALL APPLY(h, MELT)
    CALL APPLY(h(n-3:n), CALVE)
    CALL TRIDIAG(n, ctl(2), h)
  END SUBROUTINE TIMESTEP

!  Differentiation of misfit in reverse (adjoint) mode:
  SUBROUTINE MISFIT_B(h, hb, cost, costb)
    REAL(8), INTENT(IN) :: h(:)
    REAL(8) :: hb(:), cost, costb
    REAL(8) :: centre, result1, result1b
    INTEGER :: i
    centre = 1.1d0
    DO i=1,n
      CALL PUSHREAL8(result1)
      result1 = WEIGHT(h(i))
    END DO
    hb = 0.d0
    DO i=n,1,-1
      result1b = (h(i)-0.9d0)**2*costb
      hb(i) = hb(i) + 2.d0*(h(i)-0.9d0)*result1*costb
      CALL POPREAL8(result1)
      CALL WEIGHT_B(h(i), hb(i), result1b)
    END DO
    costb = 0.d0

  CONTAINS
!  Differentiation of weight in reverse (adjoint) mode:
    SUBROUTINE WEIGHT_B(x, xb, weightb)
      REAL(8), INTENT(IN) :: x
      REAL(8) :: xb, weightb
      xb = xb - 2.d0*(x-centre)*weightb/(1.d0+(x-centre)**2)**2
    END SUBROUTINE WEIGHT_B

    FUNCTION WEIGHT(x)
      REAL(8), INTENT(IN) :: x
      REAL(8) :: weight
      weight = 1.d0/(1.d0+(x-centre)**2)
    END FUNCTION WEIGHT
  END SUBROUTINE MISFIT_B

  SUBROUTINE MISFIT(h, cost)
    REAL(8), INTENT(IN) :: h(:)
    REAL(8), INTENT(OUT) :: cost
    REAL(8) :: centre
    INTEGER :: i
    centre = 1.1d0
    cost = 0.d0
    DO i=1,n
      cost = cost + WEIGHT(h(i))*(h(i)-0.9d0)**2
    END DO

  CONTAINS
    FUNCTION WEIGHT(x)
      REAL(8), INTENT(IN) :: x
      REAL(8) :: weight
      weight = 1.d0/(1.d0+(x-centre)**2)
    END FUNCTION WEIGHT
  END SUBROUTINE MISFIT

!  Differentiation of run in reverse (adjoint) mode:
  SUBROUTINE RUN_B(nsteps, ctl, ctlb, h, hb, cost, costb)
    INTEGER, INTENT(IN) :: nsteps
    REAL(8), INTENT(IN) :: ctl(3)
    REAL(8) :: ctlb(3)
    REAL(8), INTENT(INOUT) :: h(n), hb(n)
    REAL(8) :: cost, costb
    INTEGER :: t, action
    INTEGER, EXTERNAL :: ADBINOMIAL_NEXT
    IF (.NOT. ALLOCATED(u)) ALLOCATE (u(n), ub(n))
    u = 0.d0
    ub = 0.d0
    ctlb = 0.d0
    CALL ADBINOMIAL_INIT(nsteps + 1, 4, 1)
    DO WHILE (ADBINOMIAL_NEXT(action, t) .NE. 0)
      SELECT CASE (action)
      CASE (1)
        CALL PUSHREAL8ARRAY(h, n)
      CASE (2)
        CALL ADSTACK_STARTREPEAT()
        CALL POPREAL8ARRAY(h, n)
        CALL ADSTACK_RESETREPEAT()
        CALL ADSTACK_ENDREPEAT()
      CASE (3)
        CALL POPREAL8ARRAY(h, n)
      CASE (4)
        CALL TIMESTEP(t, ctl, h)
      CASE (5)
        CALL PUSHREAL8ARRAY(h, n)
        CALL MISFIT(h, cost)
        CALL POPREAL8ARRAY(h, n)
        CALL MISFIT_B(h, hb, cost, costb)
      CASE (6)
        CALL TIMESTEP_B(t, ctl, ctlb, h, hb)
      END SELECT
    END DO
  END SUBROUTINE RUN_B
end module glacier_diff
