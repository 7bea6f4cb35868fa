C     A column of soil: heat and moisture diffuse, mix and are coupled.
C     Fixed form, COMMON blocks, external procedures, an ENTRY, functions,
C     a SAVEd table, an early RETURN out of a loop.
      SUBROUTINE COLUMN(NSTEP, X, Y)
      IMPLICIT NONE
      INCLUDE 'column.inc'
      INTEGER NSTEP, IT, K
      DOUBLE PRECISION X(4), Y(3)
      IF (DT .LE. 0.D0) STOP 'column: the time step is not positive'
      DO 10 K=1,NZ
        T(K) = X(1)*EXP(-K*DZ)
        Q(K) = X(2)*(1.D0+0.3D0*SIN(3.D0*K*DZ))
   10 CONTINUE
      HEAT = 0.D0
      DO 20 IT=1,NSTEP
        CALL STEP(X(3), X(4))
   20 CONTINUE
      CALL OUTPUT(Y)
      END

      SUBROUTINE STEP(COND, COUP)
      IMPLICIT NONE
      INCLUDE 'column.inc'
      DOUBLE PRECISION COND, COUP, R, DENS
      CHARACTER*3 MODE
      EXTERNAL DENS
C$AD NOCHECKPOINT
      CALL DIFFUS('T', T, COND)
      CALL DIFFUS('Q', Q, COND)
      R = DENS(T(1), Q(1))
      IF (R .GT. 1.05D0) CALL CONVEC(R)
      IF (Q(1) .GT. 0.8D0) THEN
        MODE = 'wet'
      ELSE
        MODE = 'dry'
      ENDIF
      CALL COUPLE(MODE, COUP)
      MODE = 'cap'
      CALL LIMIT(MODE, Q)
      END

      SUBROUTINE DIFFUS(WHICH, A, COND)
      IMPLICIT NONE
      INCLUDE 'column.inc'
      CHARACTER*1 WHICH
      INTEGER K
      DOUBLE PRECISION A(NZ), COND
      CALL FLXIN(A, COND)
      IF (WHICH .EQ. 'T') THEN
        CALL FLXTOP(A)
      ELSE
        FLX(1) = 0.D0
      ENDIF
      CALL FLXBOT(A)
      DO 10 K=1,NZ
        A(K) = A(K) - DT/DZ*(FLX(K+1)-FLX(K))
   10 CONTINUE
      END

      SUBROUTINE FLXIN(A, COND)
      IMPLICIT NONE
      INCLUDE 'column.inc'
      INTEGER K
      DOUBLE PRECISION A(NZ), COND, C
      DO 10 K=2,NZ
        C = COND*(1.D0+0.05D0*A(K)**2)
        FLX(K) = -C*(A(K)-A(K-1))/DZ
   10 CONTINUE
      END

      SUBROUTINE FLXTOP(A)
      IMPLICIT NONE
      INCLUDE 'column.inc'
      DOUBLE PRECISION A(NZ)
      FLX(1) = 0.1D0*(2.D0-A(1)*ABS(A(1)))
      RETURN
      ENTRY FLXBOT(A)
      FLX(NZ+1) = 0.02D0*A(NZ)**2
      RETURN
      END

      DOUBLE PRECISION FUNCTION DENS(TT, QQ)
      IMPLICIT NONE
      DOUBLE PRECISION TT, QQ
      DENS = SQRT(1.D0+0.2D0*TT+0.1D0*TT*QQ)
      END

      SUBROUTINE CONVEC(R)
      IMPLICIT NONE
      INCLUDE 'column.inc'
      INTEGER K
      DOUBLE PRECISION R, TM, WGT(NZ)
      LOGICAL FIRST
      SAVE FIRST, WGT
      DATA FIRST /.TRUE./
      IF (FIRST) THEN
        DO 10 K=1,NZ
          WGT(K) = 0.02D0/K
   10   CONTINUE
        FIRST = .FALSE.
      ENDIF
      TM = 0.D0
      DO 20 K=1,NZ
        TM = TM + T(K)/NZ
   20 CONTINUE
      DO 30 K=1,NZ
        T(K) = T(K) + WGT(K)*R*R*(TM-T(K))
   30 CONTINUE
      END

      DOUBLE PRECISION FUNCTION SAT(TT)
      IMPLICIT NONE
      DOUBLE PRECISION TT
      SAT = EXP(0.1D0*TT)
      END

      SUBROUTINE COUPLE(MODE, COUP)
      IMPLICIT NONE
      INCLUDE 'column.inc'
      CHARACTER*3 MODE
      INTEGER K
      DOUBLE PRECISION COUP, S, SAT
      LOGICAL WARM
      EXTERNAL SAT
      WARM = .FALSE.
      DO 10 K=1,NZ
        IF (MODE .EQ. 'wet') WARM = T(K) .GT. 0.5D0
        S = SAT(T(K))
        IF (WARM) S = S*S
        T(K) = T(K) + DT*COUP*S*Q(K)
        HEAT = HEAT + DZ*S*Q(K)
   10 CONTINUE
      END

      SUBROUTINE LIMIT(MODE, A)
      IMPLICIT NONE
      INCLUDE 'column.inc'
      CHARACTER*3 MODE
      INTEGER K
      DOUBLE PRECISION A(NZ), TOP
      TOP = 1.5D0
      IF (MODE .EQ. 'cap') TOP = 1.2D0
      DO 10 K=1,NZ
        IF (A(K) .LT. 0.75D0) RETURN
        A(K) = TOP*TANH(A(K)/TOP)
   10 CONTINUE
      END

      SUBROUTINE OUTPUT(Y)
      IMPLICIT NONE
      INCLUDE 'column.inc'
      INTEGER K
      DOUBLE PRECISION Y(3)
      Y(1) = 0.D0
      Y(2) = 0.D0
      DO 10 K=1,NZ
        Y(1) = Y(1) + T(K)**2
        Y(2) = Y(2) + T(K)*Q(K)
   10 CONTINUE
      Y(3) = HEAT
      END
