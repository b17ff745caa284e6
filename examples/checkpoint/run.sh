#!/bin/sh
# Kills a training run in the middle, runs it again, and compares with one that was left alone.
set -eu
cd "$(dirname "$0")"
assay=${ASSAY:-npx assay}

set -- run --input train.py --input points.txt --output model.json \
  --checkpoint progress --checkpoint-interval 60 -- python3 train.py points.txt model.json

echo '== killed after a few epochs'
setsid $assay "$@" > log.txt & # a process group of its own, so that all of it can be killed
while ! grep -q 'epoch 5' log.txt; do sleep 0.1; done
kill -9 "-$!"
wait $! || true

echo '== run again'
$assay "$@"
mv model.json resumed.json

echo '== left alone, with a store of its own'
ASSAY_STORE=$(mktemp -d)
export ASSAY_STORE
$assay "$@" > whole.txt
rm -rf "$ASSAY_STORE"

cmp resumed.json model.json
echo '== the same model'
