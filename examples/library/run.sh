#!/bin/sh
# Shows the example from end to end. Set ASSAY to say where assay is installed (default: as npm does it).
set -eu
if [ -n "${ASSAY:-}" ]; then
  mkdir -p node_modules
  ln -sfn "$(dirname "$(dirname "$ASSAY")")" node_modules/assay
fi
node build.ts
