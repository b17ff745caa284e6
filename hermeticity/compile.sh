#!/bin/sh
# Compiles a helper: compile.sh FOLDER OUTPUT LOSS builds OUTPUT from the C files of FOLDER and of native/shared.
# CC names the compiler. Without a compiler the script prints LOSS, what will not work, and succeeds.
set -eu

folder=$1
shared=$(cd "$(dirname "$0")" && pwd)/native/shared
output=$2
compiler=${CC:-cc}

if ! command -v "$compiler" >/dev/null 2>&1; then
  echo "assay: no C compiler ($compiler): $3" >&2
  exit 0
fi

mkdir -p "$(dirname "$output")"
staged=$output.$$.tmp
trap 'rm -f "$staged"' EXIT
# Static if possible: the helper starts faster, and no variable of the action affects its loader.
compile() {
  "$compiler" -std=gnu11 -O2 -Wall -Wextra -Werror "$@" -I "$shared" "$folder"/*.c "$shared"/*.c -o "$staged"
}
compile -static 2>/dev/null || compile
mv "$staged" "$output"
