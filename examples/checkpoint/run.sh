#!/bin/sh
# Kills a training run in the middle, runs it again, and compares the result with an uninterrupted run.
# Uses the checkout's assay or the one on PATH. Set ASSAY to use another command.
set -eu
cd "$(dirname "$0")"
assay=${ASSAY:-$(command -v "$PWD/../../bin/assay" || command -v assay)} || { echo 'no assay here: set ASSAY' >&2; exit 127; }
# Fresh stores: a finished training run in a used store would be a hit.
stores=$(mktemp -d)
trap 'rm -rf "$stores"' EXIT
export ASSAY_STORE="$stores/first"

set -- run --input train.py --input points.txt --output model.json \
  --checkpoint progress --checkpoint-interval 60 -- python3 train.py points.txt model.json

echo '== killed after a few epochs'
setsid $assay "$@" > log.txt & # a process group of its own, so that all of it can be killed
until grep -q 'epoch 5' log.txt; do
  kill -0 "$!" || exit 1 # it has ended, and has said why
  sleep 0.1
done
kill -9 "-$!"
wait $! || true

echo '== run again'
$assay "$@"
mv model.json resumed.json

echo '== left alone, with a store of its own'
ASSAY_STORE="$stores/second" $assay "$@" > whole.txt

cmp resumed.json model.json
echo '== the same model'
