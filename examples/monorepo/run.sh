#!/bin/sh
# Shows the example from end to end. Set ASSAY to say how assay is called (default: npx assay).
set -eu
assay=${ASSAY:-npx assay}

echo '== the first time everything runs'
$assay run test
echo '== the second time nothing does'
$assay run test
echo '== a change in app leaves lib alone'
sed -i 's/world/graph/' app/main.c
$assay run test
./app/main
