#!/bin/sh
# What README.md of the project types. Set ASSAY to say how assay is called (default: npx assay).
set -eu
cd "$(dirname "$0")"
run() {
  ${ASSAY:-npx assay} run --input 'src/**' --input build.mjs --output dist --env NODE_ENV --tool node -- node build.mjs
}
echo '== the first time it runs'
run
echo '== without its output it is restored'
rm -r dist
run
echo '== another environment is another action'
NODE_ENV=production run
echo '== the same as steps'
${ASSAY:-npx assay} run count
${ASSAY:-npx assay} run count
echo '== what a command reads and makes beyond its declaration'
${ASSAY:-npx assay} audit --input src --input leaky.sh --output out.txt -- ./leaky.sh || test $? -eq 3
rm -f stray.txt
