#!/bin/sh
# Installs the build tools that test/clients drives and that come from npm, as their lockfile pins them. Nothing is done,
# and no other host is asked, when they are there already.
set -eu
cd "$(dirname "$0")/../test/clients/tools"
installed=node_modules/.installed-lock.json
if cmp -s package-lock.json "$installed"; then exit 0; fi
echo 'setup-tests: installing the build tools of test/clients/tools'
npm ci --ignore-scripts --no-audit --no-fund
cp package-lock.json "$installed"
