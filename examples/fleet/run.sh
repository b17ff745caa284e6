#!/bin/sh
# Builds through a fleet of two servers while they are killed. Uses the checkout's assay or the one on PATH; set ASSAY for another.
set -eu
cd "$(dirname "$0")"
assay=${ASSAY:-$(command -v "$PWD/../../bin/assay" || command -v assay)} || { echo 'no assay here: set ASSAY' >&2; exit 127; }
PATH=$PATH:/usr/sbin:$PWD/../../test/clients/tools/node_modules/.bin
for tool in bazel ccache gcc haproxy turbo; do
  command -v $tool >/dev/null || { echo "no $tool here: run scripts/setup-tests.sh" >&2; exit 127; }
done
scripts=$PWD/../../scripts
rounds=${ROUNDS:-2}
work=$(mktemp -d)
chmod 711 "$work" # PostgreSQL runs as another user
export ASSAY_TOKEN=example HOME="$work/home"
mkdir "$HOME"

bazel() { (cd "$work/bazel" && command bazel --nohome_rc --output_user_root="$work/bazel-root" --max_idle_secs=60 "$@"); }

stop() {
  : >"$work/stop"
  for pid in "$work"/*.pid; do
    [ ! -e "$pid" ] || kill -9 "$(cat "$pid")" 2>/dev/null || true
  done
  wait
  [ ! -d "$work/bazel-root" ] || bazel shutdown
  [ ! -d "$work/fleet" ] || "$scripts/fleet-down.sh" "$work/fleet"
  chmod -R u+w "$work"
  rm -rf "$work"
}
trap stop EXIT
trap 'exit 1' INT TERM

# --- the fleet

if [ -z "${ASSAY_INDEX:-}" ]; then
  mkdir "$work/fleet"
  "$scripts/fleet-up.sh" "$work/fleet" >"$work/environment"
  # shellcheck source=/dev/null
  . "$work/environment"
fi
$assay db migrate >"$work/migrate.log"

# serve NAME: keeps a server running, as systemd would, on the port that it got first.
serve() {
  port=0
  until [ -e "$work/stop" ]; do
    $assay serve --port "$port" --tier "$work/tier-$1" --tier-size 1GB >>"$work/$1.log" 2>&1 &
    echo $! >"$work/$1.pid"
    [ ! -e "$work/stop" ] || kill -9 $!
    wait $! 2>/dev/null || true
    port=$(port_of "$1")
    sleep 0.2
  done
}

port_of() { sed -n 's|^Assay listens on http://127.0.0.1:\([0-9]*\).*|\1|p' "$work/$1.log" | head -n 1; }

for name in one two; do
  : >"$work/$name.log"
  serve $name 2>/dev/null &
done
for name in one two; do
  waited=0
  until [ -n "$(port_of $name)" ]; do
    waited=$((waited + 1))
    [ $waited -lt 600 ] || { cat "$work/$name.log" >&2; exit 1; }
    sleep 0.1
  done
done
ONE_PORT=$(port_of one)
TWO_PORT=$(port_of two)
export ONE_PORT TWO_PORT

# haproxy can't choose a port by itself. If this one is taken, it ends, and the next one is tried.
attempts=0
until [ -n "${url:-}" ]; do
  attempts=$((attempts + 1))
  [ $attempts -lt 20 ] || { cat "$work/haproxy.log" >&2; exit 1; }
  BALANCER_PORT=$((10000 + $(od -An -N2 -tu2 /dev/urandom) % 20000))
  export BALANCER_PORT
  haproxy -db -f haproxy.cfg >"$work/haproxy.log" 2>&1 &
  echo $! >"$work/haproxy.pid"
  while kill -0 "$(cat "$work/haproxy.pid")" 2>/dev/null; do
    if curl --silent --fail --output /dev/null "http://127.0.0.1:$BALANCER_PORT/readyz"; then
      url=http://127.0.0.1:$BALANCER_PORT
      break
    fi
    sleep 0.1
  done
done
echo "== the fleet answers at $url: servers at ports $ONE_PORT and $TWO_PORT"

# --- the builds, each with an empty local cache

for tool in bazel ccache turbo; do cp -R project "$work/$tool"; done

build_bazel() {
  bazel clean &&
    bazel build --color=no --curses=no --spawn_strategy=local --remote_instance_name=example \
      --remote_header="authorization=Bearer $ASSAY_TOKEN" --remote_cache="grpc://127.0.0.1:$BALANCER_PORT" //:all &&
    cd "$work/bazel/bazel-bin" && sha256sum upper.txt sorted.txt large.txt >"$work/bazel.sums"
}

build_ccache() {
  cd "$work/ccache"
  rm -rf "$work/ccache-local" ./*.o
  export CCACHE_DIR="$work/ccache-local" CCACHE_CONFIGPATH=/dev/null
  export CCACHE_REMOTE_STORAGE="$url/ccache/example|bearer-token=$ASSAY_TOKEN"
  for source in *.c; do ccache gcc -c "$source" -o "${source%.c}.o" || return 1; done
  ccache --print-stats | grep remote_storage_hit
  sha256sum ./*.o >"$work/ccache.sums"
}

build_turbo() {
  cd "$work/turbo"
  rm -rf .turbo node_modules words/.turbo words/out
  CI=1 TURBO_TELEMETRY_DISABLED=1 TURBO_NO_UPDATE_NOTIFIER=1 TURBO_API=$url TURBO_TOKEN=$ASSAY_TOKEN TURBO_TEAM=team \
    turbo run build --cache=remote:rw &&
    cd words/out && sha256sum sorted.txt >"$work/turbo.sums"
}

# What the three must make of the sources of this round, by the plain commands.
expect_outputs() (
  rm -rf "$work/plain"
  mkdir "$work/plain"
  cd "$work/plain"
  words=$work/bazel/words/words.txt
  tr a-z A-Z <"$words" >upper.txt
  sort -r upper.txt >sorted.txt
  for _ in $(seq 700); do cat "$words"; done >large.txt
  sha256sum upper.txt sorted.txt large.txt >"$work/bazel.expected"
  cp "$work"/ccache/*.c .
  for source in *.c; do gcc -c "$source" -o "${source%.c}.o"; done
  sha256sum ./*.o >"$work/ccache.expected"
  sort "$words" >sorted.txt
  sha256sum sorted.txt >"$work/turbo.expected"
)

ready() { curl --silent --fail --output /dev/null "http://127.0.0.1:$(port_of "$1")/readyz"; }
building() { [ "$(ls "$work"/*.building 2>/dev/null)" != '' ]; }

# build WHAT: the three at once. As long as they run, a server is killed whenever both are ready.
kills=0
build() {
  for tool in bazel ccache turbo; do
    : >"$work/$tool.building"
    rm -f "$work/$tool.sums" "$work/$tool.failed"
    (
      ("build_$tool") >"$work/$tool.log" 2>&1 || : >"$work/$tool.failed"
      rm "$work/$tool.building"
    ) &
  done
  while building; do
    if ready one && ready two; then
      victim=one
      [ $((kills % 2)) = 0 ] || victim=two
      if kill -9 "$(cat "$work/$victim.pid")"; then kills=$((kills + 1)); fi
    fi
    sleep 0.3
  done
  for tool in bazel ccache turbo; do
    if [ -e "$work/$tool.failed" ] || ! cmp "$work/$tool.expected" "$work/$tool.sums"; then
      echo "== $1: the build by $tool failed, or made other outputs" >&2
      cat "$work/$tool.log" >&2
      exit 1
    fi
  done
  echo "== $1: all builds ended well, with the right outputs; servers killed so far: $kills"
}

round=0
while [ $round -lt "$rounds" ]; do
  round=$((round + 1))
  for tool in bazel turbo; do echo "word of round $round" >>"$work/$tool/words/words.txt"; done
  for source in "$work"/ccache/*.c; do echo "int round_$round;" >>"$source"; done
  expect_outputs
  build "round $round, new sources"
  build "round $round, the same again"
done

# The last builds, in peace: the first stores what the kills cut off, the second shows what the fleet has.
until ready one && ready two; do sleep 0.1; done
ready() { false; }
build 'in peace'
build 'in peace, the same again'
grep -h 'remote cache hit' "$work/bazel.log"
grep -h remote_storage_hit "$work/ccache.log"
grep -h 'Cached:' "$work/turbo.log"
