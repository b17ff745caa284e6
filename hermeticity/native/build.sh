#!/bin/sh
# Compiles the tracer's helper: build.sh [OUTPUT], by default dist/assay-trace in the project.
# CC chooses the compiler. Where there is none the tracer falls back to strace, so that is said and is no failure.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
output=${1:-$here/../../dist/assay-trace}
compiler=${CC:-cc}

if ! command -v "$compiler" >/dev/null 2>&1; then
  echo "assay: no C compiler ($compiler): traces will use strace" >&2
  exit 0
fi

mkdir -p "$(dirname "$output")"
staged=$output.$$.tmp
trap 'rm -f "$staged"' EXIT
# Statically where the libraries are there: the helper starts faster, and nothing in the action's environment reaches it.
compile() {
  "$compiler" -std=gnu11 -O2 -Wall -Wextra -Werror "$@" "$here"/*.c -o "$staged"
}
compile -static 2>/dev/null || compile
mv "$staged" "$output"
