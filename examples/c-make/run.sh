#!/bin/sh
# Shows the example from end to end. Set ASSAY to say how assay is called (default: npx assay).
set -eu
cd "$(dirname "$0")"
echo '== the first build compiles'
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
${ASSAY:-npx assay} explain
mv src/greeting.h.before src/greeting.h
