#!/bin/sh
# Installs the npm tools that test/clients and test/commands drive, at the versions of their lockfiles. Does
# nothing, and uses no network, if they are present.
set -eu
cd "$(dirname "$0")/../test"
for tools in clients/tools commands/tools; do
  if cmp -s "$tools/package-lock.json" "$tools/node_modules/.installed-lock.json"; then continue; fi
  echo "setup-tests: installing the tools of test/$tools"
  (cd "$tools" && npm ci --ignore-scripts --no-audit --no-fund)
  cp "$tools/package-lock.json" "$tools/node_modules/.installed-lock.json"
done
