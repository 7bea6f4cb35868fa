C     The adjoint of column.f, written by hand in the shape that the AD tool
C     gives it: joint calls, DIFFUS split in its first call of STEP and joint
C     in its second, the last call of STEP without its primal.
C
C  Differentiation of column in reverse (adjoint) mode:
C   gradient     of useful results: y
C   with respect to varying inputs: x
      SUBROUTINE COLUMN_B(NSTEP, X, XB, Y, YB)
      IMPLICIT NONE
      INCLUDE 'column.inc'
      INCLUDE 'column_b.inc'
      INTEGER NSTEP, IT, K
      DOUBLE PRECISION X(4), XB(4), Y(3), YB(3)
      IF (DT .LE. 0.D0) STOP 'column: the time step is not positive'
      DO K=1,NZ
        T(K) = X(1)*EXP(-K*DZ)
        Q(K) = X(2)*(1.D0+0.3D0*SIN(3.D0*K*DZ))
      ENDDO
      HEAT = 0.D0
      DO IT=1,NSTEP
        CALL PUSHREAL8ARRAY(T, NZ)
        CALL PUSHREAL8ARRAY(Q, NZ)
        CALL STEP(X(3), X(4))
      ENDDO
      CALL OUTPUT(Y)
      CALL OUTPUT_B(Y, YB)
      DO K=1,4
        XB(K) = 0.D0
      ENDDO
      DO IT=NSTEP,1,-1
        CALL POPREAL8ARRAY(Q, NZ)
        CALL POPREAL8ARRAY(T, NZ)
        CALL STEP_B(X(3), XB(3), X(4), XB(4))
      ENDDO
      HEATB = 0.D0
      DO K=NZ,1,-1
        XB(2) = XB(2) + (1.D0+0.3D0*SIN(3.D0*K*DZ))*QB(K)
        QB(K) = 0.D0
        XB(1) = XB(1) + EXP(-K*DZ)*TB(K)
        TB(K) = 0.D0
      ENDDO
      END

C  Differentiation of step in reverse (adjoint) mode:
      SUBROUTINE STEP_B(COND, CONDB, COUP, COUPB)
      IMPLICIT NONE
      INCLUDE 'column.inc'
      INCLUDE 'column_b.inc'
      DOUBLE PRECISION COND, CONDB, COUP, COUPB, R, RB, DENS
      CHARACTER*3 MODE
      INTEGER*4 BRANCH
      EXTERNAL DENS
C$AD NOCHECKPOINT
      CALL DIFFUS_FWD('T', T, COND)
      CALL PUSHREAL8ARRAY(Q, NZ)
      CALL DIFFUS('Q', Q, COND)
      R = DENS(T(1), Q(1))
      IF (R .GT. 1.05D0) THEN
        CALL PUSHREAL8ARRAY(T, NZ)
        CALL CONVEC(R)
        CALL PUSHCONTROL1B(0)
      ELSE
        CALL PUSHCONTROL1B(1)
      ENDIF
      IF (Q(1) .GT. 0.8D0) THEN
        MODE = 'wet'
      ELSE
        MODE = 'dry'
      ENDIF
      CALL PUSHREAL8ARRAY(T, NZ)
      CALL COUPLE(MODE, COUP)
      CALL PUSHCHARACTERARRAY(MODE, 3)
      MODE = 'cap'
      CALL LIMIT_B(MODE, Q, QB)
      CALL POPCHARACTERARRAY(MODE, 3)
      CALL POPREAL8ARRAY(T, NZ)
      CALL COUPLE_B(MODE, COUP, COUPB)
      CALL POPCONTROL1B(BRANCH)
      IF (BRANCH .EQ. 0) THEN
        CALL POPREAL8ARRAY(T, NZ)
        CALL CONVEC_B(R, RB)
      ELSE
        RB = 0.D0
      ENDIF
      CALL DENS_B(T(1), TB(1), Q(1), QB(1), RB)
      CALL POPREAL8ARRAY(Q, NZ)
      CALL DIFFUS_B('Q', Q, QB, COND, CONDB)
      CALL DIFFUS_BWD('T', T, TB, COND, CONDB)
      END

C  Differentiation of diffus in reverse (adjoint) mode, forward sweep:
      SUBROUTINE DIFFUS_FWD(WHICH, A, COND)
      IMPLICIT NONE
      INCLUDE 'column.inc'
      CHARACTER*1 WHICH
      INTEGER K
      DOUBLE PRECISION A(NZ), COND
      CALL PUSHREAL8ARRAY(FLX, NZ+1)
      CALL FLXIN(A, COND)
      IF (WHICH .EQ. 'T') THEN
        CALL FLXTOP(A)
        CALL PUSHCONTROL1B(1)
      ELSE
        FLX(1) = 0.D0
        CALL PUSHCONTROL1B(0)
      ENDIF
      CALL FLXBOT(A)
      DO K=1,NZ
        CALL PUSHREAL8(A(K))
        A(K) = A(K) - DT/DZ*(FLX(K+1)-FLX(K))
      ENDDO
      END

C  Differentiation of diffus in reverse (adjoint) mode, backward sweep:
      SUBROUTINE DIFFUS_BWD(WHICH, A, AB, COND, CONDB)
      IMPLICIT NONE
      INCLUDE 'column.inc'
      INCLUDE 'column_b.inc'
      CHARACTER*1 WHICH
      INTEGER K
      INTEGER*4 BRANCH
      DOUBLE PRECISION A(NZ), AB(NZ), COND, CONDB, TEMPB
      DO K=NZ,1,-1
        CALL POPREAL8(A(K))
        TEMPB = -(DT*AB(K)/DZ)
        FLXB(K+1) = FLXB(K+1) + TEMPB
        FLXB(K) = FLXB(K) - TEMPB
      ENDDO
      CALL FLXBOT_B(A, AB)
      CALL POPCONTROL1B(BRANCH)
      IF (BRANCH .EQ. 0) THEN
        FLXB(1) = 0.D0
      ELSE
        CALL FLXTOP_B(A, AB)
      ENDIF
      CALL POPREAL8ARRAY(FLX, NZ+1)
      CALL FLXIN_B(A, AB, COND, CONDB)
      END

C  Differentiation of diffus in reverse (adjoint) mode:
      SUBROUTINE DIFFUS_B(WHICH, A, AB, COND, CONDB)
      IMPLICIT NONE
      INCLUDE 'column.inc'
      INCLUDE 'column_b.inc'
      CHARACTER*1 WHICH
      INTEGER K
      INTEGER*4 BRANCH
      DOUBLE PRECISION A(NZ), AB(NZ), COND, CONDB, TEMPB
      CALL PUSHREAL8ARRAY(FLX, NZ+1)
      CALL FLXIN(A, COND)
      IF (WHICH .EQ. 'T') THEN
        CALL FLXTOP(A)
        CALL PUSHCONTROL1B(1)
      ELSE
        FLX(1) = 0.D0
        CALL PUSHCONTROL1B(0)
      ENDIF
      DO K=NZ,1,-1
        TEMPB = -(DT*AB(K)/DZ)
        FLXB(K+1) = FLXB(K+1) + TEMPB
        FLXB(K) = FLXB(K) - TEMPB
      ENDDO
      CALL FLXBOT_B(A, AB)
      CALL POPCONTROL1B(BRANCH)
      IF (BRANCH .EQ. 0) THEN
        FLXB(1) = 0.D0
      ELSE
        CALL FLXTOP_B(A, AB)
      ENDIF
      CALL POPREAL8ARRAY(FLX, NZ+1)
      CALL FLXIN_B(A, AB, COND, CONDB)
      END

C  Differentiation of flxin in reverse (adjoint) mode:
      SUBROUTINE FLXIN_B(A, AB, COND, CONDB)
      IMPLICIT NONE
      INCLUDE 'column.inc'
      INCLUDE 'column_b.inc'
      INTEGER K
      DOUBLE PRECISION A(NZ), AB(NZ), COND, CONDB, C, CB, TEMPB
      DO K=2,NZ
        CALL PUSHREAL8(C)
        C = COND*(1.D0+0.05D0*A(K)**2)
      ENDDO
      DO K=NZ,2,-1
        CB = -((A(K)-A(K-1))*FLXB(K)/DZ)
        TEMPB = -(C*FLXB(K)/DZ)
        FLXB(K) = 0.D0
        AB(K) = AB(K) + TEMPB + 2.D0*A(K)*0.05D0*COND*CB
        AB(K-1) = AB(K-1) - TEMPB
        CONDB = CONDB + (1.D0+0.05D0*A(K)**2)*CB
        CALL POPREAL8(C)
      ENDDO
      END

C  Differentiation of flxtop and of its entry flxbot in reverse mode:
      SUBROUTINE FLXTOP_B(A, AB)
      IMPLICIT NONE
      INCLUDE 'column.inc'
      INCLUDE 'column_b.inc'
      DOUBLE PRECISION A(NZ), AB(NZ), ABS0, ABS0B
      INTEGER*4 BRANCH
      IF (A(1) .GE. 0.D0) THEN
        ABS0 = A(1)
        CALL PUSHCONTROL1B(0)
      ELSE
        ABS0 = -A(1)
        CALL PUSHCONTROL1B(1)
      ENDIF
      AB(1) = AB(1) - ABS0*0.1D0*FLXB(1)
      ABS0B = -(A(1)*0.1D0*FLXB(1))
      FLXB(1) = 0.D0
      CALL POPCONTROL1B(BRANCH)
      IF (BRANCH .EQ. 0) THEN
        AB(1) = AB(1) + ABS0B
      ELSE
        AB(1) = AB(1) - ABS0B
      ENDIF
      RETURN
      ENTRY FLXBOT_B(A, AB)
      AB(NZ) = AB(NZ) + 2.D0*A(NZ)*0.02D0*FLXB(NZ+1)
      FLXB(NZ+1) = 0.D0
      RETURN
      END

C  Differentiation of dens in reverse (adjoint) mode:
      SUBROUTINE DENS_B(TT, TTB, QQ, QQB, DENSB)
      IMPLICIT NONE
      DOUBLE PRECISION TT, TTB, QQ, QQB, DENSB, TEMPB
      TEMPB = DENSB/(2.D0*SQRT(1.D0+0.2D0*TT+0.1D0*TT*QQ))
      TTB = TTB + (0.2D0+0.1D0*QQ)*TEMPB
      QQB = QQB + 0.1D0*TT*TEMPB
      END

C  Differentiation of convec in reverse (adjoint) mode:
      SUBROUTINE CONVEC_B(R, RB)
      IMPLICIT NONE
      INCLUDE 'column.inc'
      INCLUDE 'column_b.inc'
      INTEGER K
      DOUBLE PRECISION R, RB, TM, TMB, WGT(NZ), TEMPB
      LOGICAL FIRST
      SAVE FIRST, WGT
      DATA FIRST /.TRUE./
      IF (FIRST) THEN
        DO K=1,NZ
          WGT(K) = 0.02D0/K
        ENDDO
        FIRST = .FALSE.
      ENDIF
      TM = 0.D0
      DO K=1,NZ
        TM = TM + T(K)/NZ
      ENDDO
      DO K=1,NZ
        CALL PUSHREAL8(T(K))
        T(K) = T(K) + WGT(K)*R*R*(TM-T(K))
      ENDDO
      RB = 0.D0
      TMB = 0.D0
      DO K=NZ,1,-1
        CALL POPREAL8(T(K))
        TEMPB = WGT(K)*R*R*TB(K)
        RB = RB + 2.D0*R*WGT(K)*(TM-T(K))*TB(K)
        TMB = TMB + TEMPB
        TB(K) = TB(K) - TEMPB
      ENDDO
      DO K=NZ,1,-1
        TB(K) = TB(K) + TMB/NZ
      ENDDO
      END

C  Differentiation of sat in reverse (adjoint) mode:
      SUBROUTINE SAT_B(TT, TTB, SATB)
      IMPLICIT NONE
      DOUBLE PRECISION TT, TTB, SATB
      TTB = TTB + 0.1D0*EXP(0.1D0*TT)*SATB
      SATB = 0.D0
      END

C  Differentiation of couple in reverse (adjoint) mode:
      SUBROUTINE COUPLE_B(MODE, COUP, COUPB)
      IMPLICIT NONE
      INCLUDE 'column.inc'
      INCLUDE 'column_b.inc'
      CHARACTER*3 MODE
      INTEGER K
      INTEGER*4 BRANCH
      DOUBLE PRECISION COUP, COUPB, S, SB, SAT, RESULT1, RESULT1B
      LOGICAL WARM
      EXTERNAL SAT
      WARM = .FALSE.
      DO K=1,NZ
        CALL PUSHBOOLEAN(WARM)
        IF (MODE .EQ. 'wet') WARM = T(K) .GT. 0.5D0
        CALL PUSHREAL8(RESULT1)
        RESULT1 = SAT(T(K))
        CALL PUSHREAL8(S)
        S = RESULT1
        IF (WARM) THEN
          S = S*S
          CALL PUSHCONTROL1B(1)
        ELSE
          CALL PUSHCONTROL1B(0)
        ENDIF
        CALL PUSHREAL8(T(K))
        T(K) = T(K) + DT*COUP*S*Q(K)
        HEAT = HEAT + DZ*S*Q(K)
      ENDDO
      DO K=NZ,1,-1
        QB(K) = QB(K) + S*DZ*HEATB + DT*COUP*S*TB(K)
        SB = Q(K)*DZ*HEATB + Q(K)*DT*COUP*TB(K)
        COUPB = COUPB + DT*S*Q(K)*TB(K)
        CALL POPREAL8(T(K))
        CALL POPCONTROL1B(BRANCH)
        IF (BRANCH .NE. 0) SB = 2.D0*RESULT1*SB
        CALL POPREAL8(S)
        RESULT1B = SB
        CALL POPREAL8(RESULT1)
        CALL SAT_B(T(K), TB(K), RESULT1B)
        CALL POPBOOLEAN(WARM)
      ENDDO
      END

C  Differentiation of limit in reverse (adjoint) mode:
      SUBROUTINE LIMIT_B(MODE, A, AB)
      IMPLICIT NONE
      INCLUDE 'column.inc'
      CHARACTER*3 MODE
      INTEGER K, AD_COUNT, I0
      INTEGER*4 BRANCH
      DOUBLE PRECISION A(NZ), AB(NZ), TOP
      TOP = 1.5D0
      IF (MODE .EQ. 'cap') TOP = 1.2D0
      AD_COUNT = 1
      DO K=1,NZ
        IF (A(K) .LT. 0.75D0) THEN
          GOTO 100
        ELSE
          CALL PUSHREAL8(A(K))
          A(K) = TOP*TANH(A(K)/TOP)
          AD_COUNT = AD_COUNT + 1
        ENDIF
      ENDDO
      CALL PUSHCONTROL1B(0)
      CALL PUSHINTEGER4(AD_COUNT)
      CALL PUSHINTEGER4(K)
      GOTO 110
  100 CALL PUSHCONTROL1B(1)
      CALL PUSHINTEGER4(AD_COUNT)
      CALL PUSHINTEGER4(K)
  110 CALL POPINTEGER4(K)
      CALL POPINTEGER4(AD_COUNT)
      DO I0=1,AD_COUNT
        IF (I0 .EQ. 1) THEN
          CALL POPCONTROL1B(BRANCH)
        ELSE
          K = K - 1
          CALL POPREAL8(A(K))
          AB(K) = (1.D0-TANH(A(K)/TOP)**2)*AB(K)
        ENDIF
      ENDDO
      END

C  Differentiation of output in reverse (adjoint) mode:
      SUBROUTINE OUTPUT_B(Y, YB)
      IMPLICIT NONE
      INCLUDE 'column.inc'
      INCLUDE 'column_b.inc'
      INTEGER K
      DOUBLE PRECISION Y(3), YB(3)
      HEATB = YB(3)
      YB(3) = 0.D0
      DO K=NZ,1,-1
        QB(K) = T(K)*YB(2)
        TB(K) = Q(K)*YB(2) + 2.D0*T(K)*YB(1)
      ENDDO
      YB(2) = 0.D0
      YB(1) = 0.D0
      END
