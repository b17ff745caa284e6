#!/bin/sh
# Runs the whole example, with the checkout's assay or the one on PATH. Set ASSAY to use another command.
set -eu
cd "$(dirname "$0")"
assay=${ASSAY:-$(command -v "$PWD/../../bin/assay" || command -v assay)} || { echo 'no assay here: set ASSAY' >&2; exit 127; }
trap 'test ! -e app/main.c.before || mv app/main.c.before app/main.c' EXIT

echo '== the first time everything runs'
$assay run test
echo '== the second time nothing does'
$assay run test
echo '== a change in app leaves lib alone'
sed -i.before 's/world/graph/' app/main.c
$assay run test
./app/main
