#!/bin/bash
# usage: cc_test.sh BIN CASE: the compiler wrappers as a build system calls them. BIN holds adprof and adprof-clang...
set -eu
trap 'echo "FAILED at line $LINENO" >&2; cat err 2>/dev/null >&2' ERR
bin=$(cd "$1" && pwd) case=$2 here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
cp "$here"/square.c "$here"/square_main.f90 .

fail() { echo "FAILED: $*" >&2; exit 1; }
# has TEXT FILE
has() { grep -q -e "$1" "$2" || { cat "$2" >&2; fail "'$1' is not in $2"; }; }
has_not() { ! grep -q -e "$1" "$2" || fail "'$1' is in $2"; }
# refused STATUS TEXT COMMAND...: ends with that status and one line that holds the text
refused() {
  local status=$1 text=$2 got=0
  shift 2
  "$@" >out 2>err || got=$?
  [ "$got" = "$status" ] || { cat err >&2; fail "status $got, not $status: $*"; }
  has "$text" err
  [ "$(wc -l <err)" = 1 ] || { cat err >&2; fail "more than one line"; }
}
# runs PROGRAM: gives the derivative, and a raw profile when asked for one
runs() {
  [ "$("$@")" = "${expected:-6}" ] || fail "wrong output of $*"
  ADPROF_OUTPUT=$work/raw "$@" >/dev/null
  ls "$work"/raw* >/dev/null 2>&1 || fail "$* wrote no raw profile"
  rm -f "$work"/raw*
}

case $case in
compiles_and_links_in_one_step)
  "$bin"/adprof-clang --adstack -Wall -Werror square.c -o square 2>err
  [ ! -s err ] || fail "the build printed: $(cat err)"
  runs ./square
  ;;
compiles_and_links_in_two_steps)
  for flags in -O0 '-O2 -g' '-O3 -flto -fuse-ld=lld'; do
    "$bin"/adprof-clang --adstack $flags -c square.c -o square.o
    "$bin"/adprof-clang --adstack $flags square.o -o square
    runs ./square
  done
  ;;
the_ad_stack_serves_programs_that_bring_none)
  "$bin"/adprof-clang --adstack -c square.c # for the header
  "$bin"/adprof-clang square.o -o square
  runs ./square
  ! "$bin"/adprof-clang --no-adstack square.o -o square 2>err || fail "linked without an AD stack"
  has 'pushReal8' err
  echo 'static double v[9], *p = v; int pushes;
        void pushReal8(double x) { *p++ = x; pushes++; } void popReal8(double *x) { *x = *--p; }' >own.c
  for stack in own.o libown.a libown.so; do
    "$bin"/adprof-clang -c -fPIC own.c
    ar rc libown.a own.o
    "$bin"/adprof-clang --no-adstack -shared own.o -o libown.so
    "$bin"/adprof-clang square.o "$PWD/$stack" -o square
    runs ./square
    ! nm square | grep -q adStack_startRepeat || fail "the program brings $stack, and got adprof's stack too"
  done
  ;;
the_verb_is_the_same_driver)
  "$bin"/adprof cc --adstack square.c -o square
  runs ./square
  "$bin"/adprof cc --adstack --version >out
  has 'version [0-9]' out
  ;;
a_program_of_two_languages_links)
  "$bin"/adprof-clang --adstack -DNO_MAIN -c square.c
  "$bin"/adprof-flang -c square_main.f90
  "$bin"/adprof-flang --adstack square_main.o square.o -o square
  expected=' 6.0' runs ./square
  # adprof cc takes the language from the source
  "$bin"/adprof cc --adstack square_main.f90 square.o -o square
  expected=' 6.0' runs ./square
  cp square.c square.cpp
  sed -i 's/^void \(.*\)/extern "C" void \1/' square.cpp
  "$bin"/adprof-clang++ --adstack square.cpp -o square
  runs ./square
  ;;
a_shared_library_brings_the_shared_runtime)
  "$bin"/adprof-clang --adstack -DNO_MAIN -fPIC -shared square.c -o libsquare.so
  readelf -d libsquare.so >dynamic
  has 'NEEDED.*libadprof_runtime.so' dynamic
  echo 'void g_b(double *, double *); int printf(const char *, ...);
        int main(void) { double x = 3, xb = 1; g_b(&x, &xb); printf("%g\n", xb); return 0; }' >main.c
  ${CC:-cc} main.c -L. -lsquare -Wl,-rpath,"$work" -o plain
  runs ./plain
  # and beside an instrumented program that has the static one, there is still one runtime
  "$bin"/adprof-clang main.c -L. -lsquare -Wl,-rpath,"$work" -o instrumented
  ADPROF_OUTPUT=$work/raw ./instrumented >/dev/null
  [ "$(ls -d raw* | wc -l)" = 1 ] || fail "more than one raw profile: $(ls -d raw*)"
  ;;
what_does_not_link_gets_no_runtime)
  "$bin"/adprof-clang --adstack -E square.c >out
  has 'pushReal8' out
  "$bin"/adprof-clang --adstack -MM square.c >out
  has 'square.o: square.c' out
  "$bin"/adprof-clang --adstack -MMD -MF deps -Wall -Werror -c square.c
  has adStack.h deps
  "$bin"/adprof-clang --adstack -fsyntax-only -Wall -Werror square.c
  "$bin"/adprof-clang --adstack -S -emit-llvm square.c -o square.ll
  has __adprof_enter square.ll
  "$bin"/adprof-clang -r square.o -o part.o
  nm part.o >symbols
  has ' U __adprof_enter' symbols
  "$bin"/adprof-clang --version >out
  "$bin"/adprof-clang -dumpmachine >out
  "$bin"/adprof-clang -print-resource-dir >out
  "$bin"/adprof-clang -v 2>err
  has 'version [0-9]' err
  ;;
languages_forced_by_x_do_not_reach_the_runtime)
  cp square.c square.inc
  "$bin"/adprof-clang --adstack -x c square.inc -o square
  runs ./square
  "$bin"/adprof-clang --adstack -x c - -o square <square.c
  runs ./square
  ;;
response_files_pass_through)
  printf '%s\n' -O1 -c '"square.c"' -o square.o >compile.rsp
  "$bin"/adprof-clang --adstack @compile.rsp
  nm square.o >symbols
  has __adprof_enter symbols
  printf 'square.o -o sq\\uare' >link.rsp
  "$bin"/adprof-clang --adstack @link.rsp
  runs ./square
  ;;
debug_lines_are_there_unless_refused)
  "$bin"/adprof-clang --adstack -S -emit-llvm square.c -o - >out
  has DILocation out
  "$bin"/adprof-clang --adstack -g0 -S -emit-llvm square.c -o - >out
  has_not DILocation out
  ;;
a_dialect_reaches_the_pass)
  refused 2 "adprof-clang: --dialect: 'nowhere.json' is not a file" "$bin"/adprof-clang --dialect nowhere.json -c square.c
  echo 'not JSON' >broken.json
  ! "$bin"/adprof-clang --adstack --dialect=broken.json -c square.c 2>err || fail "a broken dialect was accepted"
  has "$work/broken.json" err
  ;;
wrong_compilers_are_named)
  refused 2 "adprof-clang: --compiler: 'gcc' is neither clang nor flang.*LLVM" "$bin"/adprof-clang --compiler gcc -c square.c
  refused 2 "adprof-clang: ADPROF_CC: 'clang-7' is not found" env ADPROF_CC=clang-7 "$bin"/adprof-clang -c square.c
  refused 2 "is this wrapper itself" env ADPROF_CC="$bin/adprof-clang" "$bin"/adprof-clang -c square.c
  refused 2 "adprof-clang: --compiler: wants a value" "$bin"/adprof-clang --compiler
  other=19
  "$bin"/adprof-clang --version | grep -q 'version 19' && other=22
  refused 2 "clang-$other: is of LLVM $other, and the pass is built for LLVM" "$bin"/adprof-clang --compiler clang-$other -c square.c
  refused 2 "adprof-flang: .*flang.*: is of LLVM $other" env ADPROF_FC="$(command -v flang-$other || command -v flang-new-$other)" "$bin"/adprof-flang -c square_main.f90
  ;;
a_compiler_may_be_named)
  version=$("$bin"/adprof-clang --version | sed -n 's/.*version \([0-9]*\)\..*/\1/p')
  ADPROF_CC="env clang-$version" "$bin"/adprof-clang --adstack square.c -o square
  runs ./square
  ADPROF_CC=clang-$version "$bin"/adprof-clang++ --version >out # clang++ beside it
  "$bin"/adprof cc --compiler "clang-$version" --adstack square.c -o square
  runs ./square
  ;;
failures_are_the_compilers_own)
  got=0
  "$bin"/adprof-clang -c nothing_here.c 2>err || got=$?
  [ "$got" = 1 ] || fail "status $got"
  has 'nothing_here.c' err
  ;;
*) fail "no such case: $case" ;;
esac
