#!/bin/sh
# Shows the example from end to end. Set ASSAY to say how assay is called (default: npx assay).
set -eu
cd "$(dirname "$0")"
build() {
  ${ASSAY:-npx assay} run --input 'src/**' --input tsconfig.json --input package.json --output dist --tool tsc -- tsc -p .
}
echo '== the first build compiles'
build
cat dist/shout.js
echo '== without dist it is restored'
rm -r dist
build
echo '== an edit compiles again'
sed -i.before 's/In capitals/Loud/' src/shout.ts
rm src/shout.ts.before
build
echo '== and is a hit from then on'
build
sed -i.before 's/Loud/In capitals/' src/shout.ts
rm src/shout.ts.before
