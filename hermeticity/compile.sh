#!/bin/sh
# Compiles a helper: compile.sh FOLDER OUTPUT LOSS [SHARED] builds OUTPUT from the C files of FOLDER, and of the folder
# SHARED if it is given. CC names the compiler. Without one the script prints LOSS, what will not work, and succeeds.
set -eu

folder=$1
output=$2
shared=${4:-}
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
  "$compiler" -std=gnu11 -O2 -Wall -Wextra -Werror "$@" ${shared:+-I "$shared"} "$folder"/*.c ${shared:+"$shared"/*.c} -o "$staged" \
    -pthread -lrt
}
compile -static 2>/dev/null || compile
mv "$staged" "$output"
