#!/bin/sh
# Runs the whole example, with the checkout's assay or the one on PATH. Set ASSAY to use another command.
set -eu
cd "$(dirname "$0")"
assay=${ASSAY:-$(command -v "$PWD/../../bin/assay" || command -v assay)} || { echo 'no assay here: set ASSAY' >&2; exit 127; }
work=$(mktemp -d)
server=
trap 'test -z "$server" || kill "$server" 2>/dev/null; rm -rf "$work"' EXIT

$assay serve --port 0 --store "$work/server" > "$work/server.log" 2>&1 &
server=$!
until grep -q 'http://' "$work/server.log"; do
  kill -0 "$server" || { cat "$work/server.log" >&2; exit 1; } # it has ended
  sleep 0.1
done
ASSAY_REMOTE=$(grep -o 'http://[0-9.:]*' "$work/server.log" | head -n 1)
export ASSAY_REMOTE

for runner in one two; do
  mkdir -p "$work/$runner/checkout/src"
  printf 'alpha\nbeta\n' > "$work/$runner/checkout/src/words.txt"
  echo "== runner $runner"
  (
    cd "$work/$runner/checkout"
    ASSAY_STORE="$work/$runner/store" $assay run --input 'src/**' --output dist -- \
      sh -c 'mkdir -p dist && sort -r src/words.txt > dist/words.txt && echo sorted'
  )
done

cmp "$work/one/checkout/dist/words.txt" "$work/two/checkout/dist/words.txt"
echo '== both have the same file'
