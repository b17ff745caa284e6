#!/bin/sh
# Runs the agent, with a store of its own. In the checkout, `assay` is the checkout itself; elsewhere, the package that npm installed.
set -eu
cd "$(dirname "$0")"
if [ -e ../../dist/lib/assay.js ]; then
  mkdir -p node_modules
  ln -sfn "$PWD/../.." node_modules/assay
  PATH="$PWD/../../node_modules/.bin:$PATH" # a Node that runs TypeScript as it is
fi
[ -e node_modules/assay ] || { echo 'no assay here: install it, as the README of examples/library says' >&2; exit 127; }
store=$(mktemp -d)
trap 'rm -rf "$store"; git checkout --quiet src 2>/dev/null || true; rm -rf dist' EXIT
export ASSAY_STORE="$store"

echo '== the first time'
node agent.ts
echo '== started again'
node agent.ts
