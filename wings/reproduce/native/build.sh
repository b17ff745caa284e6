#!/bin/sh
# Compiles the helper that simulates other conditions: build.sh [OUTPUT], by default dist/assay-vary in the project.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
exec "$here/../../../hermeticity/compile.sh" "$here" "${1:-$here/../../../dist/assay-vary}" 'assay reproduce will not work' "$here/../../../hermeticity/native/shared"
