#!/bin/bash
# usage: install_test.sh BUILD LLVM_VERSION: installs the build into an empty prefix, moves the prefix, and uses what is there as a
# user does: through the CMake package and through the wrappers.
set -eu
build=$(cd "$1" && pwd) version=$2 here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() { echo "FAILED: $*" >&2; exit 1; }

cmake --install "$build" --prefix "$work/first" >"$work/log" || { cat "$work/log"; fail "cmake --install"; }
mv "$work/first" "$work/prefix" # nothing in it may name where it was
prefix=$work/prefix
for file in bin/adprof bin/adprof-clang bin/adprof-clang++ bin/adprof-flang "lib*/adprof/llvm$version/adprof_pass.so" 'lib*/libadprof_runtime.a' \
  'lib*/libadprof_runtime.so' 'lib*/libadprof_adstack.a' 'lib*/libadprof_adstack.so' include/adprof/adStack.h share/man/man1/adprof-cc.1 \
  share/doc/adprof/cc.md 'lib*/cmake/adprof/adprofConfig.cmake'; do
  ls $prefix/$file >/dev/null || fail "not installed: $file"
done

mkdir "$work/project"
cp "$here"/project/* "$here"/../cc/square.c "$work/project"
env -u CMAKE_C_COMPILER_LAUNCHER cmake -G Ninja -S "$work/project" -B "$work/out" -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_C_COMPILER="clang-$version" >"$work/log" 2>&1 ||
  { cat "$work/log"; fail "configure"; }
cmake --build "$work/out" >"$work/log" 2>&1 || { cat "$work/log"; fail "build"; }
for program in square caller from_parts; do
  [ "$("$work/out/$program")" = 6 ] || fail "wrong output of $program"
  ADPROF_OUTPUT=$work/raw "$work/out/$program" >/dev/null
  ls "$work"/raw* >/dev/null 2>&1 || fail "$program wrote no raw profile"
  rm -f "$work"/raw*
done

# A compiler that cannot load the pass is refused when the project is configured.
! env -u CMAKE_C_COMPILER_LAUNCHER cmake -S "$work/project" -B "$work/gcc" -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_C_COMPILER=gcc >"$work/log" 2>&1 || fail "gcc was accepted"
grep -q "the pass is a plugin for llvm$version" <(tr '\n' ' ' <"$work/log" | tr -s ' ') || { cat "$work/log"; fail "no clear message for gcc"; }

cd "$work"
"$prefix/bin/adprof-clang" --adstack project/square.c -o square
[ "$(./square)" = 6 ] || fail "wrong output through the wrapper"
"$prefix/bin/adprof" run -o profile.json -- ./square >run.out 2>run.err || { cat run.err; fail "adprof run"; }
grep -q '"f"' profile.json || fail "the profile does not know f"
