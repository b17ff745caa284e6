#!/bin/sh
# Compiles the helpers of the wings that are there: each wings/NAME/native/build.sh.
set -eu
for build in "$(dirname "$0")"/../wings/*/native/build.sh; do
  if [ -e "$build" ]; then "$build"; fi
done
