! Every Fortran binding of the AD stack, called as generated code calls it: no interface, all by reference.
program every_binding
  implicit none
  integer(4) :: i4, i4s(5)
  integer(8) :: i8, i8s(5), size
  integer(8), external :: adstack_getcurrentstacksize, adstack_getpeaksize, adstack_gettotaltraffic
  real(4) :: r4, r4s(5)
  real(8) :: r8, r8s(5), matrix(6, 6), row(6)
  integer(8) :: r16(2), r16s(2, 3) ! the bytes: not every flang has real(16)
  complex(4) :: c8, c8s(5)
  complex(8) :: c16, c16s(5)
  character :: letter
  character(5) :: word
  logical :: flag, flags(5)
  real(8), target :: target_value
  real(8), pointer :: pointed
  integer :: i, c, action, step, advances
  integer(8) :: address, back
  integer, external :: adbinomial_next

  i4 = -4; i8 = 8_8 * 10_8**12; r4 = 1.5; r8 = -2.5d0; r16 = [3, 7]; c8 = (1., 2.); c16 = (3d0, 4d0)
  letter = 'x'; word = 'tapes'; flag = .true.; flags = [.true., .false., .false., .true., .true.]
  i4s = [(i, i=1, 5)]; i8s = i4s; r4s = i4s; r8s = i4s; r16s = 13; c8s = (1., -1.); c16s = (2d0, -2d0)
  call random_number(matrix)
  row = matrix(3, :)

  call pushinteger4(i4); call pushinteger8(i8); call pushreal4(r4); call pushreal8(r8); call pushreal16(r16)
  call pushcomplex8(c8); call pushcomplex16(c16); call pushcharacter(letter); call pushboolean(flag)
  call pushinteger4array(i4s, 5); call pushinteger8array(i8s, 5); call pushreal4array(r4s, 5); call pushreal8array(r8s, 5)
  call pushreal16array(r16s, 3); call pushcomplex8array(c8s, 5); call pushcomplex16array(c16s, 5)
  call pushcharacterarray(word, 5); call pushbooleanarray(flags, 5)
  call pushreal8array(matrix(3, :), 6)
  address = loc(target_value)
  call pushpointer8(address)
  call pushcontrol1b(1); call pushcontrol2b(2); call pushcontrol3b(5); call pushcontrol4b(9)
  call pushcontrol5b(17); call pushcontrol6b(33); call pushcontrol7b(65); call pushcontrol8b(129)
  size = adstack_getcurrentstacksize()
  ! bytes, then 1 + 5 + 36 bits
  call expect(size == 4 + 8 + 4 + 8 + 16 + 8 + 16 + 1 + 20 + 40 + 20 + 40 + 48 + 40 + 80 + 5 + 48 + 8 + 6, 'size')

  call adstack_startrepeat()
  do i = 1, 2
    i4s = 0; i8s = 0; r4s = 0; r8s = 0; r16s = 0; c8s = 0; c16s = 0; word = ' '; flags = .false.; letter = ' '
    flag = .false.; matrix = 0
    call popcontrol8b(c); call expect(c == 129, 'control8b')
    call popcontrol7b(c); call expect(c == 65, 'control7b')
    call popcontrol6b(c); call expect(c == 33, 'control6b')
    call popcontrol5b(c); call expect(c == 17, 'control5b')
    call popcontrol4b(c); call expect(c == 9, 'control4b')
    call popcontrol3b(c); call expect(c == 5, 'control3b')
    call popcontrol2b(c); call expect(c == 2, 'control2b')
    call popcontrol1b(c); call expect(c == 1, 'control1b')
    call poppointer8(back); call expect(back == address, 'pointer8')
    call popreal8array(matrix(3, :), 6); call expect(all(matrix(3, :) == row), 'a row of a matrix')
    call popbooleanarray(flags, 5)
    call expect(all(flags .eqv. [.true., .false., .false., .true., .true.]), 'booleanarray')
    call popcharacterarray(word, 5); call expect(word == 'tapes', 'characterarray')
    call popcomplex16array(c16s, 5); call expect(all(c16s == (2d0, -2d0)), 'complex16array')
    call popcomplex8array(c8s, 5); call expect(all(c8s == (1., -1.)), 'complex8array')
    call popreal16array(r16s, 3); call expect(all(r16s == 13), 'real16array')
    call popreal8array(r8s, 5); call expect(all(r8s == [1, 2, 3, 4, 5]), 'real8array')
    call popreal4array(r4s, 5); call expect(all(r4s == [1, 2, 3, 4, 5]), 'real4array')
    call popinteger8array(i8s, 5); call expect(all(i8s == [1, 2, 3, 4, 5]), 'integer8array')
    call popinteger4array(i4s, 5); call expect(all(i4s == [1, 2, 3, 4, 5]), 'integer4array')
    call popboolean(flag); call expect(flag, 'boolean')
    call popcharacter(letter); call expect(letter == 'x', 'character')
    call popcomplex16(c16); call expect(c16 == (3d0, 4d0), 'complex16')
    call popcomplex8(c8); call expect(c8 == (1., 2.), 'complex8')
    call popreal16(r16); call expect(all(r16 == [3, 7]), 'real16')
    call popreal8(r8); call expect(r8 == -2.5d0, 'real8')
    call popreal4(r4); call expect(r4 == 1.5, 'real4')
    call popinteger8(i8); call expect(i8 == 8_8 * 10_8**12, 'integer8')
    call popinteger4(i4); call expect(i4 == -4, 'integer4')
    call expect(adstack_getcurrentstacksize() == 0, 'empty')
    if (i == 1) call adstack_resetrepeat()
  end do
  call adstack_endrepeat()
  call expect(adstack_getpeaksize() == size, 'peak')
  call expect(adstack_gettotaltraffic() == size, 'traffic')

  advances = 0
  call adbinomial_init(20, 3, 1)
  do while (adbinomial_next(action, step) /= 0)
    if (action == 4) advances = advances + 1
  end do
  call expect(advances == 3 * 20 - 15, 'advances') ! r = 3: C(3 + 3, 3) = 20 steps, less C(6, 2)
  call adstack_showpeaksize()
  call adstack_showtotaltraffic()
contains
  subroutine expect(holds, what)
    logical, intent(in) :: holds
    character(*), intent(in) :: what
    if (holds) return
    print *, 'FAILED: ', what
    stop 1
  end subroutine
end program
