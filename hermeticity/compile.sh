#!/bin/sh
# Compiles a helper: compile.sh FOLDER OUTPUT LOSS, all C files of FOLDER into OUTPUT. CC chooses the compiler.
# Where there is none LOSS tells what will not work; that is no failure, because all the rest does.
set -eu

folder=$1
output=$2
compiler=${CC:-cc}

if ! command -v "$compiler" >/dev/null 2>&1; then
  echo "assay: no C compiler ($compiler): $3" >&2
  exit 0
fi

mkdir -p "$(dirname "$output")"
staged=$output.$$.tmp
trap 'rm -f "$staged"' EXIT
# Statically where the libraries are there: the helper starts faster, and nothing in the action's environment reaches it.
compile() {
  "$compiler" -std=gnu11 -O2 -Wall -Wextra -Werror "$@" "$folder"/*.c -o "$staged"
}
compile -static 2>/dev/null || compile
mv "$staged" "$output"
