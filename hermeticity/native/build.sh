#!/bin/sh
# Compiles the native tracer: build.sh [OUTPUT], by default dist/assay-trace in the project.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
exec "$here/../compile.sh" "$here" "${1:-$here/../../dist/assay-trace}" 'commands run unwatched' "$here/shared"
