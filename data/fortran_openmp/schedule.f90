! Who did which iteration: what the AD tool's own library offers to adjoints of parallel loops. A dynamic schedule is recorded
! on the AD stack, so these procedures push although they are no adjoints.
module schedule
  implicit none
  integer, save :: chunks = 0, first = 0, last = 0
  !$omp threadprivate(chunks, first, last)
end module schedule

subroutine getstaticschedule(lo, hi, stride, chunk_start, chunk_end)
  use omp_lib
  implicit none
  integer, intent(in) :: lo, hi, stride
  integer, intent(out) :: chunk_start, chunk_end
  integer :: count, share
  count = (hi-lo)/stride + 1
  share = (count+omp_get_num_threads()-1)/omp_get_num_threads()
  chunk_start = lo + omp_get_thread_num()*share*stride
  chunk_end = min(hi, chunk_start+(share-1)*stride)
end subroutine getstaticschedule

subroutine initdynamicschedule()
  use schedule
  implicit none
  chunks = 0
end subroutine initdynamicschedule

subroutine recorddynamicschedule(i, stride)
  use schedule
  implicit none
  integer, intent(in) :: i, stride
  if (chunks == 0) then
    first = i
    chunks = 1
  else if (i /= last+stride) then
    call pushinteger4(first)
    call pushinteger4(last)
    first = i
    chunks = chunks + 1
  end if
  last = i
end subroutine recorddynamicschedule

subroutine finalizedynamicschedule()
  use schedule
  implicit none
  if (chunks > 0) then
    call pushinteger4(first)
    call pushinteger4(last)
  end if
  call pushinteger4(chunks)
end subroutine finalizedynamicschedule
