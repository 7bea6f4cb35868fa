C     Runs the adjoint for three sets of controls and checks each gradient
C     against finite differences and by the dot product; ends with status 1
C     if one is wrong. An argument "stop" asks for a time step that makes the
C     adjoint STOP in its second call.
      PROGRAM DRIVER
      IMPLICIT NONE
      INCLUDE 'column.inc'
      INCLUDE 'column_b.inc'
      INTEGER NSTEP, I, J, K, BAD
      PARAMETER (NSTEP=12)
      DOUBLE PRECISION X(4), XB(4), Y(3), YB(3), W(3), XD(4), YD(3)
      DOUBLE PRECISION G, LEFT, RIGHT, TT, TTB, SATB
      CHARACTER*8 ARG
      DATA W /1.D0, -0.4D0, 0.3D0/
      DATA XD /0.3D0, -0.7D0, 0.02D0, 0.4D0/
      DATA FLXB /25*0.D0/
      CALL GET_COMMAND_ARGUMENT(1, ARG)
      DT = 0.01D0
      DZ = 0.1D0
      BAD = 0
      DO I=1,3
        X(1) = 1.D0 + 0.5D0*I
        X(2) = 0.5D0 + 0.25D0*I
        X(3) = 0.05D0*I
        X(4) = 0.3D0
        DO J=1,3
          YB(J) = W(J)
        ENDDO
        IF (ARG .EQ. 'stop' .AND. I .EQ. 2) DT = 0.D0
        CALL COLUMN_B(NSTEP, X, XB, Y, YB)
        DO K=1,4
          CALL DIRECTION(NSTEP, X, K, XD, YD)
          G = 0.D0
          DO J=1,3
            G = G + W(J)*YD(J)
          ENDDO
          IF (ABS(G-XB(K)) .GT. 1.D-7*(1.D0+ABS(G))) BAD = BAD + 1
          WRITE (*, '(A,2I3,1X,Z16.16,2F18.10)')
     +          'gradient', I, K, XB(K), XB(K), G
        ENDDO
        CALL DIRECTION(NSTEP, X, 0, XD, YD)
        LEFT = 0.D0
        DO J=1,3
          LEFT = LEFT + W(J)*YD(J)
        ENDDO
        RIGHT = 0.D0
        DO K=1,4
          RIGHT = RIGHT + XB(K)*XD(K)
        ENDDO
        IF (ABS(LEFT-RIGHT) .GT. 1.D-8*(1.D0+ABS(LEFT))) BAD = BAD + 1
        WRITE (*, '(A,I3,2F18.10)') 'dot product', I, LEFT, RIGHT
      ENDDO
C     A procedure of the adjoint is a root as well.
      TT = 1.D0
      TTB = 0.D0
      SATB = 1.D0
      CALL SAT_B(TT, TTB, SATB)
      IF (ABS(TTB-0.1D0*EXP(0.1D0)) .GT. 1.D-15) BAD = BAD + 1
      IF (BAD .GT. 0) THEN
        WRITE (*, '(A,I3)') 'wrong:', BAD
        STOP 1
      ENDIF
      WRITE (*, '(A)') 'the gradient is right'
      END

C     The derivative of COLUMN along unit vector K, or along XD if K is 0, by
C     central differences of fourth order.
      SUBROUTINE DIRECTION(NSTEP, X, K, XD, YD)
      IMPLICIT NONE
      INTEGER NSTEP, K, I, J
      DOUBLE PRECISION X(4), XD(4), YD(3), H, Z(4), Y(3), C(4), S(4)
      DATA S /1.D0, -1.D0, 2.D0, -2.D0/
      DATA C /8.D0, -8.D0, -1.D0, 1.D0/
      H = 1.D-4
      DO J=1,3
        YD(J) = 0.D0
      ENDDO
      DO I=1,4
        DO J=1,4
          Z(J) = X(J)
          IF (K .EQ. 0) Z(J) = X(J) + S(I)*H*XD(J)
        ENDDO
        IF (K .GT. 0) Z(K) = X(K) + S(I)*H
        CALL COLUMN(NSTEP, Z, Y)
        DO J=1,3
          YD(J) = YD(J) + C(I)*Y(J)/(12.D0*H)
        ENDDO
      ENDDO
      END
