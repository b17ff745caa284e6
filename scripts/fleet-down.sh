#!/bin/sh
# Stops what scripts/fleet-up.sh started in DIR. The data stays: fleet-up starts on it again.
# Ends every process of DIR, by force if it does not end by itself, and succeeds if none ran.
# With --ceph, PostgreSQL goes on running.
set -eu

refuse() {
  echo "fleet-down: $1" >&2
  exit 1
}

only_ceph=
if [ "${1:-}" = --ceph ]; then
  only_ceph=1
  shift
fi
[ $# = 1 ] || refuse 'usage: fleet-down.sh [--ceph] DIR'
[ -d "$1" ] || refuse "$1 is not a folder"
dir=$(cd "$1" && pwd)

# The processes of PROGRAM that have ARGUMENT in their command line. ARGUMENT lies in DIR, so that no other process is
# hit. A daemon that was interrupted while it started has written no file with its process id.
daemons() {
  for process in $(printf '%s' "$2" | grep -lazxF -f - /proc/[0-9]*/cmdline 2>/dev/null); do
    process=${process%/cmdline}
    if [ "$(cat "$process/comm" 2>/dev/null)" = "$1" ]; then echo "${process#/proc/}"; fi
  done
}

# stop PROGRAM ARGUMENT SIGNAL: signals the processes, waits for their end, and kills them after 10 s.
stop() {
  signal=$3
  waited=0
  while processes=$(daemons "$1" "$2") && [ -n "$processes" ]; do
    # shellcheck disable=SC2086 # a list of process ids
    if [ $((waited % 100)) = 0 ]; then kill -s "$signal" $processes 2>/dev/null || true; fi
    signal=KILL
    waited=$((waited + 1))
    [ $waited -lt 300 ] || refuse "$1 does not end: process $processes"
    sleep 0.1
  done
}

stop radosgw "$dir/ceph/ceph.conf" TERM
stop ceph-osd "$dir/ceph/ceph.conf" TERM
stop ceph-mon "$dir/ceph/ceph.conf" TERM
rm -f "$dir/ceph/client.pid" "$dir/ceph/osd.pid" "$dir/ceph/mon.pid"
# Only the first process of PostgreSQL has the folder in its command line. INT is its fast shutdown.
[ -n "$only_ceph" ] || stop postgres "$dir/postgres" INT
