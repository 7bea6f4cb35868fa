#!/bin/bash
# usage: layers_test.sh ROOT: the layer check passes on the tree as it is, and finds each kind of broken rule in a copy.
set -eu
root=$1 copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT
"$root"/scripts/check_layers "$root"
# finds FILE LINE TEXT: with the line added to the file, the check fails with the text
finds() {
  rm -rf "$copy"/*
  cp -r "$root"/passes "$root"/runtime "$root"/optimizer "$root"/cli "$copy"
  echo "$2" >>"$copy/$1"
  if out=$("$root"/scripts/check_layers "$copy"); then
    echo "FAILED: not found in $1: $2" >&2
    exit 1
  fi
  case $out in "$1":*"$3"*) ;; *) echo "FAILED: '$3' is not in: $out" >&2; exit 1 ;; esac
}
finds optimizer/profile/error.h '#include "optimizer/model/peak.h"' 'optimizer/profile may reach only runtime/abi'
finds optimizer/model/peak.cpp '#include "cli/units.h"' 'optimizer/model may reach only optimizer/profile'
finds runtime/hooks.c '#include "runtime/adstack/adStack.h"' 'runtime may reach only runtime/abi'
finds passes/plugin.cpp '#include "runtime/hooks.h"' 'passes may reach only runtime/abi'
finds cli/units.cpp '#include "llvm/IR/Module.h"' 'only passes/ includes LLVM'
finds optimizer/profile/profile.h '#include <nlohmann/json.hpp>' 'in a header'
finds runtime/session.c '#include <vector>' 'C with libc and threads only'
finds passes/plugin.cpp '#if LLVM_VERSION_MAJOR > 20' 'only passes/llvm_compat.h does'
finds optimizer/model/peak.cpp '#include "peak.h"' 'no path from the root'
