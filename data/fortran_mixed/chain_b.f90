! The adjoint of chain.f90, written by hand in the shape that the AD tool gives it; that of the force law is in C (force_b.c).

!  Differentiation of chain in reverse (adjoint) mode:
SUBROUTINE CHAIN_B(n, nsteps, k, kb, x, xb, energy, energyb)
  IMPLICIT NONE
  INTEGER, INTENT(IN) :: n, nsteps
  REAL(8), INTENT(IN) :: k(n)
  REAL(8) :: kb(n)
  REAL(8), INTENT(INOUT) :: x(n), xb(n)
  REAL(8) :: energy, energyb
  REAL(8) :: v(n), vb(n)
  INTEGER :: t, i
  v = 0.d0
  DO t=1,nsteps
    CALL PUSHREAL8ARRAY(x, n)
    CALL PUSHREAL8ARRAY(v, n)
    CALL ADVANCE(n, k, x, v)
  END DO
  energy = 0.d0
  DO i=1,n
    energy = energy + 0.5d0*v(i)**2 + 0.1d0*x(i)**2
  END DO
  DO i=n,1,-1
    vb(i) = v(i)*energyb
    xb(i) = 0.2d0*x(i)*energyb
  END DO
  energyb = 0.d0
  kb = 0.d0
  DO t=nsteps,1,-1
    CALL POPREAL8ARRAY(v, n)
    CALL POPREAL8ARRAY(x, n)
    CALL ADVANCE_B(n, k, kb, x, xb, v, vb)
  END DO
END SUBROUTINE CHAIN_B

!  Differentiation of advance in reverse (adjoint) mode:
SUBROUTINE ADVANCE_B(n, k, kb, x, xb, v, vb)
  IMPLICIT NONE
  INTEGER, INTENT(IN) :: n
  REAL(8), INTENT(IN) :: k(n)
  REAL(8) :: kb(n)
  REAL(8), INTENT(INOUT) :: x(n), xb(n), v(n), vb(n)
  REAL(8) :: f(n), fb(n)
  CALL FORCE_FWD(n, k, x, f)
  CALL PUSHREAL8ARRAY(x, n)
  v = v + 0.05d0*f
  x = x + 0.05d0*v
  vb = vb + 0.05d0*xb
  fb = 0.05d0*vb
  CALL POPREAL8ARRAY(x, n)
  CALL FORCE_BWD(n, k, kb, x, xb, f, fb)
END SUBROUTINE ADVANCE_B
