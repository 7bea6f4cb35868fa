#!/bin/bash
# usage: adstack_test.sh FLANG LIBRARY: a Fortran program calls every binding of the AD stack, at -O0 and -O3.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
source=$(cd "$(dirname "$0")" && pwd)/every_binding.f90
cd "$work"
for level in -O0 -O3; do
  "$1" $level "$source" "$2" -o every_binding 2>messages || { cat messages; exit 1; } # warns of implicit interfaces, as for all generated code
  ./every_binding
done
