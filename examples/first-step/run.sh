#!/bin/sh
# Runs the commands of the project’s README, and a few more, with the assay of the checkout or of PATH.
# Set ASSAY to use another one.
set -eu
cd "$(dirname "$0")"
assay=${ASSAY:-$(command -v "$PWD/../../bin/assay" || command -v assay)} || { echo 'no assay here: set ASSAY' >&2; exit 127; }
run() {
  $assay run --input 'src/**' --input build.mjs --output dist --env NODE_ENV --tool node -- node build.mjs
}
echo '== the first time it runs'
run
echo '== without its output it is restored'
rm -r dist
run
echo '== another environment is another action'
NODE_ENV=production run
echo '== the same as steps'
$assay run count
$assay run count
echo '== what a command reads and makes beyond its declaration'
$assay audit --input src --input leaky.sh --output out.txt -- ./leaky.sh || test $? -eq 3
rm -f stray.txt
