#!/bin/sh
# Compiles the helper that varies what a command is told: build.sh [OUTPUT], by default dist/assay-vary in the project.
# CC chooses the compiler. Where there is none nothing can be varied, which `assay reproduce` says; that is no failure here.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
output=${1:-$here/../../../dist/assay-vary}
compiler=${CC:-cc}

if ! command -v "$compiler" >/dev/null 2>&1; then
  echo "assay: no C compiler ($compiler): assay reproduce will not work" >&2
  exit 0
fi

mkdir -p "$(dirname "$output")"
staged=$output.$$.tmp
trap 'rm -f "$staged"' EXIT
# Statically where the libraries are there, for the same reasons as the tracer.
compile() {
  "$compiler" -std=gnu11 -O2 -Wall -Wextra -Werror "$@" "$here"/*.c -o "$staged"
}
compile -static 2>/dev/null || compile
mv "$staged" "$output"
