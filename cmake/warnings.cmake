# adprof_warnings(target): the warnings every target of ours is built with; they are errors.
function(adprof_warnings target)
  target_compile_options(${target} PRIVATE -Wall -Wextra -Wshadow -Werror)
  # g++ 12 warns of overlapping copies inside its own std::string (GCC bug 105651) and, with sanitizers, of uninitialised members inside its own
  # std::function and std::regex.
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
    target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-Wno-restrict>)
    if(ADPROF_SANITIZE)
      target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-Wno-maybe-uninitialized>)
    endif()
  endif()
endfunction()
