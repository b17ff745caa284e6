#!/bin/sh
# Builds with Bazel, runs bazel clean, and builds again. The worker's log shows the hits and misses.
# Uses the checkout's assay or the one on PATH. Set ASSAY to use another command.
set -eu
cd "$(dirname "$0")"
assay=${ASSAY:-$(command -v "$PWD/../../bin/assay" || command -v assay)} || { echo 'no assay here: set ASSAY' >&2; exit 127; }

export ASSAY="$assay" ASSAY_STORE="${ASSAY_STORE:-$PWD/.store}"
home=$(mktemp -d)
bazel() { command bazel --nohome_rc --output_user_root="$home" --max_idle_secs=60 "$@"; }
cp words/hello.txt "$home/hello.txt"
trap 'cp "$home/hello.txt" words/hello.txt; bazel shutdown; chmod -R u+w "$home"; rm -rf "$home"' EXIT

build() {
  bazel build --color=no --curses=no //:all
  cat bazel-bin/hello.shouted bazel-bin/bye.shouted
}

build
bazel clean
build

echo 'a word more' >> words/hello.txt
build
cat "$home"/*/bazel-workers/*.log
