# adprof_warnings(target): the warnings every target of ours is built with; they are errors.
function(adprof_warnings target)
  target_compile_options(${target} PRIVATE -Wall -Wextra -Wshadow -Werror)
endfunction()
