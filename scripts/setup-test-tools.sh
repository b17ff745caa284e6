#!/bin/sh
# Installs the npm tools that test/clients drives, at the versions of their lockfile. Does nothing, and uses
# no network, if they are present.
set -eu
cd "$(dirname "$0")/../test/clients/tools"
installed=node_modules/.installed-lock.json
if cmp -s package-lock.json "$installed"; then exit 0; fi
echo 'setup-tests: installing the build tools of test/clients/tools'
npm ci --ignore-scripts --no-audit --no-fund
cp package-lock.json "$installed"
