! The adjoint of rows.f90, written by hand in the shape that the AD tool gives it.
module rows_diff
  implicit none
  integer, parameter :: n = 16, m = 24
contains
!  Differentiation of rate in reverse (adjoint) mode:
  SUBROUTINE RATE_B(x, xb, c, cb, rateb)
    REAL(8), INTENT(IN) :: x, c
    REAL(8) :: xb, cb, rateb
    xb = xb + c*(1.d0-x*x)/(1.d0+x*x)**2*rateb
    cb = cb + x*rateb/(1.d0+x*x)
  END SUBROUTINE RATE_B

  FUNCTION RATE(x, c)
    REAL(8), INTENT(IN) :: x, c
    REAL(8) :: rate
    rate = c*x/(1.d0+x*x)
  END FUNCTION RATE

!  Differentiation of column in reverse (adjoint) mode:
  SUBROUTINE COLUMN_B(x, xb, c, cb)
    REAL(8), INTENT(INOUT) :: x(n), xb(n)
    REAL(8), INTENT(IN) :: c
    REAL(8) :: cb
    INTEGER :: i
    DO i=2,n
      CALL PUSHREAL8(x(i))
      x(i) = x(i) + c*SIN(x(i-1))*x(i)
    END DO
    DO i=n,2,-1
      CALL POPREAL8(x(i))
      cb = cb + SIN(x(i-1))*x(i)*xb(i)
      xb(i-1) = xb(i-1) + c*COS(x(i-1))*x(i)*xb(i)
      xb(i) = (1.d0+c*SIN(x(i-1)))*xb(i)
    END DO
  END SUBROUTINE COLUMN_B

  SUBROUTINE COLUMN(x, c)
    REAL(8), INTENT(INOUT) :: x(n)
    REAL(8), INTENT(IN) :: c
    INTEGER :: i
    DO i=2,n
      x(i) = x(i) + c*SIN(x(i-1))*x(i)
    END DO
  END SUBROUTINE COLUMN

!  Differentiation of react in reverse (adjoint) mode:
  SUBROUTINE REACT_B(x, xb, c, cb)
    REAL(8), INTENT(INOUT) :: x(n), xb(n)
    REAL(8), INTENT(IN) :: c
    REAL(8) :: cb
    REAL(8) :: result1, result1b
    INTEGER :: i
    DO i=1,n
      CALL PUSHREAL8(result1)
      result1 = RATE(x(i), c)
      CALL PUSHREAL8(x(i))
      x(i) = x(i) - 0.1d0*result1*x(i)
    END DO
    DO i=n,1,-1
      CALL POPREAL8(x(i))
      result1b = -(0.1d0*x(i)*xb(i))
      xb(i) = (1.d0-0.1d0*result1)*xb(i)
      CALL POPREAL8(result1)
      CALL RATE_B(x(i), xb(i), c, cb, result1b)
    END DO
  END SUBROUTINE REACT_B

  SUBROUTINE REACT(x, c)
    REAL(8), INTENT(INOUT) :: x(n)
    REAL(8), INTENT(IN) :: c
    INTEGER :: i
    DO i=1,n
      x(i) = x(i) - 0.1d0*RATE(x(i), c)*x(i)
    END DO
  END SUBROUTINE REACT

!  Differentiation of sweep in reverse (adjoint) mode (with options OpenMP):
  SUBROUTINE SWEEP_B(a, ab, c, cb)
    REAL(8), INTENT(INOUT) :: a(n, m), ab(n, m)
    REAL(8), INTENT(IN) :: c(m)
    REAL(8) :: cb(m)
    INTEGER :: j, ii, chunk_start, chunk_end, numchunks
!$OMP PARALLEL DEFAULT(shared), PRIVATE(j, chunk_start, chunk_end)
    CALL GETSTATICSCHEDULE(1, m, 1, chunk_start, chunk_end)
    DO j=chunk_start,chunk_end
      CALL PUSHREAL8ARRAY(a(:, j), n)
      CALL COLUMN(a(:, j), c(j))
    END DO
!$OMP END PARALLEL
!$OMP PARALLEL DEFAULT(shared), PRIVATE(j)
    CALL INITDYNAMICSCHEDULE()
!$OMP DO SCHEDULE(dynamic)
    DO j=1,m
      CALL RECORDDYNAMICSCHEDULE(j, 1)
      CALL PUSHREAL8ARRAY(a(:, j), n)
      CALL REACT(a(:, j), c(j))
    END DO
!$OMP END DO NOWAIT
    CALL FINALIZEDYNAMICSCHEDULE()
!$OMP END PARALLEL
!$OMP PARALLEL DEFAULT(shared), PRIVATE(j, ii, chunk_start, chunk_end, numchunks)
    CALL POPINTEGER4(numchunks)
    DO ii=1,numchunks
      CALL POPINTEGER4(chunk_end)
      CALL POPINTEGER4(chunk_start)
      DO j=chunk_end,chunk_start,-1
        CALL POPREAL8ARRAY(a(:, j), n)
        CALL REACT_B(a(:, j), ab(:, j), c(j), cb(j))
      END DO
    END DO
!$OMP END PARALLEL
!$OMP PARALLEL DEFAULT(shared), PRIVATE(j, chunk_start, chunk_end)
    CALL GETSTATICSCHEDULE(1, m, 1, chunk_start, chunk_end)
    DO j=chunk_end,chunk_start,-1
      CALL POPREAL8ARRAY(a(:, j), n)
      CALL COLUMN_B(a(:, j), ab(:, j), c(j), cb(j))
    END DO
!$OMP END PARALLEL
  END SUBROUTINE SWEEP_B

  SUBROUTINE SWEEP(a, c)
    REAL(8), INTENT(INOUT) :: a(n, m)
    REAL(8), INTENT(IN) :: c(m)
    INTEGER :: j
!$OMP PARALLEL DO SCHEDULE(static)
    DO j=1,m
      CALL COLUMN(a(:, j), c(j))
    END DO
!$OMP PARALLEL DO SCHEDULE(dynamic)
    DO j=1,m
      CALL REACT(a(:, j), c(j))
    END DO
  END SUBROUTINE SWEEP

!  Differentiation of model in reverse (adjoint) mode (with options OpenMP):
  SUBROUTINE MODEL_B(steps, a, ab, c, cb, cost, costb)
    INTEGER, INTENT(IN) :: steps
    REAL(8), INTENT(INOUT) :: a(n, m), ab(n, m)
    REAL(8), INTENT(IN) :: c(m)
    REAL(8) :: cb(m), cost, costb
    INTEGER :: t
    DO t=1,steps
      CALL PUSHREAL8ARRAY(a, n*m)
      CALL SWEEP(a, c)
    END DO
    cost = SUM(a**2)
    cb = 0.d0
    ab = 2.d0*a*costb
    costb = 0.d0
    DO t=steps,1,-1
      CALL POPREAL8ARRAY(a, n*m)
      CALL SWEEP_B(a, ab, c, cb)
    END DO
  END SUBROUTINE MODEL_B
end module rows_diff
