#!/bin/sh
# Runs the whole example, with the checkout's assay or the one on PATH. Set ASSAY to use another command.
set -eu
cd "$(dirname "$0")"
assay=${ASSAY:-$(command -v "$PWD/../../bin/assay" || command -v assay)} || { echo 'no assay here: set ASSAY' >&2; exit 127; }
PATH="$PWD/../../node_modules/.bin:$PATH" # tsc, as npm scripts have it
trap 'test ! -e shout.before || mv shout.before src/shout.ts' EXIT

build() {
  $assay run --input 'src/**' --input tsconfig.json --input package.json --output dist --tool tsc -- tsc -p .
}
echo '== the first build compiles'
build
cat dist/shout.js
echo '== without dist it is restored'
rm -r dist
build
echo '== an edit compiles again'
cp src/shout.ts shout.before
sed -i 's/In capitals/Loud/' src/shout.ts
build
echo '== and is a hit from then on'
build
