#!/bin/sh
# Runs the whole example. In the checkout, `assay` is the checkout itself; elsewhere, the package that npm installed.
set -eu
cd "$(dirname "$0")"
if [ -e ../../dist/lib/assay.js ]; then
  mkdir -p node_modules
  ln -sfn "$PWD/../.." node_modules/assay
  PATH="$PWD/../../node_modules/.bin:$PATH" # a Node that runs TypeScript as it is
fi
[ -e node_modules/assay ] || { echo 'no assay here: install it, as README.md says' >&2; exit 127; }
node build.ts
