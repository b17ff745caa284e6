#!/bin/sh
# Runs the whole example, with the checkout's assay or the one on PATH. Set ASSAY to use another command.
set -eu
cd "$(dirname "$0")"
assay=${ASSAY:-$(command -v "$PWD/../../bin/assay" || command -v assay)} || { echo 'no assay here: set ASSAY' >&2; exit 127; }
export ASSAY="$assay"
trap 'test ! -e src/greeting.h.before || mv src/greeting.h.before src/greeting.h' EXIT

echo '== the first build compiles'
make --no-print-directory clean
make --no-print-directory
./build/hello
echo '== a clean checkout restores'
make --no-print-directory clean
make --no-print-directory
./build/hello
echo '== a changed header compiles what includes it'
sed -i.before 's/world/cache/' src/greeting.h
make --no-print-directory
./build/hello
$assay explain
