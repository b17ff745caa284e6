#!/bin/sh
# Runs the whole example, with the checkout's assay or the one on PATH. Set ASSAY to use another command.
set -eu
cd "$(dirname "$0")"
assay=${ASSAY:-$(command -v "$PWD/../../bin/assay" || command -v assay)} || { echo 'no assay here: set ASSAY' >&2; exit 127; }
work=$(mktemp -d)
servers=
trap 'test -z "$servers" || kill $servers 2>/dev/null; rm -rf "$work"' EXIT
unset ASSAY_REMOTE

# A machine is a folder with the sources and a store of its own.
machine() {
  mkdir -p "$work/$1/src"
  cp assay.json words.txt count.sh "$work/$1/src"
}
on() {
  name=$1
  shift
  (cd "$work/$name/src" && ASSAY_STORE="$work/$name/store" "$@")
}
serve() {
  $assay serve --port 0 --store "$work/$1" > "$work/$1.log" 2>&1 &
  servers="$servers $!"
  until grep -q 'http://' "$work/$1.log"; do
    kill -0 "$!" || { cat "$work/$1.log" >&2; exit 1; } # it has ended
    sleep 0.1
  done
  grep -o 'http://[0-9.:]*' "$work/$1.log" | head -n 1 > "$work/$1.url"
}

machine here
machine container
machine newcomer
machine cluster

echo '== a container with a warm cache'
on here $assay run size
on here $assay export --steps size "$work/container/warm.bundle"
$assay show --bundle "$work/container/warm.bundle"
on container $assay import ../warm.bundle
on container $assay run size
cmp "$work/here/src/size.txt" "$work/container/src/size.txt"

echo '== a new server, seeded from an old one'
serve old
serve new
old=$(cat "$work/old.url")
new=$(cat "$work/new.url")
on here $assay push --all --remote "$old"
on here $assay export --remote "$old" - | on here $assay import --remote "$new" -
ASSAY_REMOTE=$new on newcomer $assay run size
cmp "$work/here/src/size.txt" "$work/newcomer/src/size.txt"

echo '== a step that goes on elsewhere'
(cd "$work/here/src" && ASSAY_STORE="$work/here/store" exec setsid $assay run count) > "$work/count.log" 2>&1 &
until [ "$(cat "$work/here/src/progress/number" 2>/dev/null || echo 0)" -ge 3 ]; do
  kill -0 "$!" || { cat "$work/count.log" >&2; exit 1; } # it has ended
  sleep 0.05
done
kill -9 "-$!"
wait "$!" || true
on here $assay export --steps count - | on cluster $assay import -
on cluster $assay run count
test "$(cat "$work/cluster/src/counted.txt")" = 6
echo '== done'
