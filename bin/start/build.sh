#!/bin/sh
# Compiles the starter of the installed command: build.sh [OUTPUT], by default dist/assay-start in the project.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
exec "$here/../../hermeticity/compile.sh" "$here" "${1:-$here/../../dist/assay-start}" 'there will be no package to install'
