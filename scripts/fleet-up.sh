#!/bin/sh
# Starts PostgreSQL and Ceph's radosgw (an S3 server) on loopback, with all data in DIR, and prints
# `export NAME=VALUE` lines on standard output: eval "$(scripts/fleet-up.sh DIR)".
# Runs as any user, root too. Starts only parts that do not run, so it may be called again at any time.
# Ports and passwords are chosen when DIR is created and stay. scripts/fleet-down.sh stops everything.
set -eu

refuse() {
  echo "fleet-up: $1" >&2
  exit 1
}

[ $# = 1 ] || refuse 'usage: fleet-up.sh DIR'
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$1" || refuse "cannot create $1"
dir=$(cd "$1" && pwd)
case $dir in *[!A-Za-z0-9/._+-]*) refuse "$dir: use a path of letters, digits and /._+-" ;; esac

packages='ceph-mon ceph-osd curl postgresql radosgw'

missing_programs() {
  for program in ceph ceph-mon ceph-osd curl flock monmaptool node radosgw radosgw-admin setpriv; do
    command -v $program >/dev/null || echo $program
  done
  [ -n "$postgres_bin" ] || echo initdb
}
find_postgres() { find /usr/lib/postgresql -maxdepth 2 -name bin 2>/dev/null | sort -V | tail -n 1; }

postgres_bin=$(find_postgres)
# Somebody may be installing them now. Only root may ask for apt's lock, and so wait for it.
if [ -n "$(missing_programs)" ] && [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
  apt-get --quiet -o DPkg::Lock::Timeout=600 check >/dev/null 2>&1 || true
  postgres_bin=$(find_postgres)
fi
missing=$(missing_programs | tr '\n' ' ')
[ -z "$missing" ] || refuse "missing: ${missing% }. It needs Node and these Debian packages:
  apt-get -o DPkg::Lock::Timeout=600 install --no-install-recommends $packages"

# PostgreSQL does not run as root. Root starts it as the user of Debian's package, who must reach DIR.
as_postgres=
if [ "$(id -u)" = 0 ]; then
  as_postgres='setpriv --reuid=postgres --regid=postgres --clear-groups'
  chmod o+x "$dir"
  $as_postgres test -x "$dir" || refuse "the user postgres cannot reach $dir: a folder above it is private"
fi

# Two calls with the same DIR must not both create it. The daemons must not inherit descriptor 9.
exec 9>"$dir/lock"
flock -w 120 9 || refuse "another fleet-up works on $dir"

# $1 ports that are free now, below the range from which the kernel takes ports for connections.
free_ports() {
  node -e '
    const net = require("node:net")
    const count = Number(process.argv[1])
    const ports = new Set()
    const next = () => {
      if (ports.size === count) return console.log([...ports].join(" "))
      const port = 10_000 + Math.floor(Math.random() * 22_000)
      const server = net.createServer().once("error", next)
      server.listen(port, "127.0.0.1", () => { ports.add(port); server.close(next) })
    }
    next()' "$1"
}

random_hex() { od -An -N"$1" -tx1 /dev/urandom | tr -d ' \n'; }
new_uuid() { cat /proc/sys/kernel/random/uuid; }

if [ ! -e "$dir/settings" ]; then
  # shellcheck disable=SC2046 # three words are wanted
  set -- $(free_ports 3)
  (
    umask 077
    cat >"$dir/settings.new" <<END
postgres_port=$1
monitor_port=$2
s3_port=$3
postgres_password=$(random_hex 16)
access_key=$(random_hex 10)
secret_key=$(random_hex 20)
cluster=$(new_uuid)
disk=$(new_uuid)
END
  )
  mv "$dir/settings.new" "$dir/settings"
fi
# shellcheck source=/dev/null
. "$dir/settings"

postgres_answers() { "$postgres_bin/pg_isready" --quiet --host 127.0.0.1 --port "$postgres_port" --timeout 5; }

start_postgres() {
  data=$dir/postgres
  if [ ! -e "$data" ]; then
    rm -rf "$data.new"
    mkdir "$data.new"
    (umask 077 && printf '%s' "$postgres_password" >"$data.password")
    [ -z "$as_postgres" ] || chown postgres:postgres "$data.new" "$data.password"
    $as_postgres "$postgres_bin/initdb" --pgdata "$data.new" --no-sync --encoding UTF8 --locale C.UTF-8 --username assay \
      --auth scram-sha-256 --pwfile "$data.password" >"$dir/initdb.log" 2>&1 || refuse "initdb failed: $(tail -n 5 "$dir/initdb.log")"
    rm "$data.password"
    cat >>"$data.new/postgresql.conf" <<END
listen_addresses = '127.0.0.1'
port = $postgres_port
unix_socket_directories = ''
max_connections = 200
END
    mv "$data.new" "$data"
  fi
  if postgres_answers; then return; fi
  : >>"$dir/postgres.log"
  [ -z "$as_postgres" ] || chown postgres:postgres "$dir/postgres.log"
  attempts=0
  # A server that was killed blocks the next one until its last process has noticed.
  until (cd / && $as_postgres "$postgres_bin/pg_ctl" start --pgdata "$data" --log "$dir/postgres.log" --wait --timeout 60 >/dev/null 2>&1 9>&-); do
    attempts=$((attempts + 1))
    [ $attempts -lt 10 ] || refuse "PostgreSQL did not start: $(tail -n 5 "$dir/postgres.log")"
    sleep 0.3
  done
  PGPASSWORD=$postgres_password "$postgres_bin/psql" --host 127.0.0.1 --port "$postgres_port" --username assay --dbname postgres --quiet \
    --no-psqlrc --tuples-only --command "SELECT 1 FROM pg_database WHERE datname = 'assay'" | grep -q 1 ||
    PGPASSWORD=$postgres_password "$postgres_bin/createdb" --host 127.0.0.1 --port "$postgres_port" --username assay assay
}

# One monitor and one disk (a sparse file) without authentication among themselves, and the S3 gateway.
# Ceph waits a second or more before each change of its maps. Nothing is gained by that here.
configure_ceph() {
  mkdir -p "$dir/ceph/mon" "$dir/ceph/osd" "$dir/ceph/rgw"
  cat >"$dir/ceph/ceph.conf" <<END
[global]
fsid = $cluster
mon_host = [v2:127.0.0.1:$monitor_port/0]
ms_bind_msgr1 = false
ms_mon_client_mode = crc
public_addr = 127.0.0.1
cluster_addr = 127.0.0.1
auth_cluster_required = none
auth_service_required = none
auth_client_required = none
admin_socket =
run_dir = $dir/ceph
pid_file = $dir/ceph/\$type.pid
log_file = $dir/ceph/\$type.log
mon_cluster_log_file = $dir/ceph/cluster.log
debug_rgw = 0
mon_data = $dir/ceph/mon
mon_data_avail_crit = 0
mon_data_avail_warn = 0
mon_tick_interval = 1
mon_allow_pool_size_one = true
paxos_propose_interval = 0.02
paxos_min_wait = 0.01
objecter_tick_interval = 0.5
osd_data = $dir/ceph/osd
osd_objectstore = bluestore
osd_memory_target = 939524096
osd_pool_default_size = 1
osd_pool_default_min_size = 1
osd_pool_default_pg_num = 1
osd_pool_default_pgp_num = 1
osd_pool_default_pg_autoscale_mode = off
osd_crush_chooseleaf_type = 0
bluestore_block_size = 68719476736
bluestore_fsck_on_mkfs = false
rgw_data = $dir/ceph/rgw
rgw_sts_key = $(random_hex 8)
rgw_s3_auth_use_sts = true
rgw_s3_auth_order = local, sts
rgw_dns_name = localhost
rgw_frontends = beast endpoint=127.0.0.1:$s3_port tcp_nodelay=1
END
}

running() {
  [ -s "$dir/ceph/$1.pid" ] && grep -qa "$dir/ceph/ceph.conf" "/proc/$(cat "$dir/ceph/$1.pid")/cmdline" 2>/dev/null
}

# ceph_step WHAT COMMAND…: runs a command of Ceph, at most 60 s, and shows its last lines if it fails.
ceph_step() {
  what=$1
  shift
  timeout 60 "$@" >"$dir/ceph/step.log" 2>&1 9>&- </dev/null || refuse "$what failed: $(tail -n 5 "$dir/ceph/step.log")"
}

s3_answers() { curl --silent --max-time 5 --output /dev/null "http://127.0.0.1:$s3_port/"; }

start_ceph() {
  conf=$dir/ceph/ceph.conf
  if [ ! -e "$dir/ceph/created" ]; then
    "$here/fleet-down.sh" --ceph "$dir"
    rm -rf "$dir/ceph"
    configure_ceph
    ceph_step 'monmaptool' monmaptool --create --fsid "$cluster" --addv a "[v2:127.0.0.1:$monitor_port/0]" "$dir/ceph/monmap"
    ceph_step 'ceph-mon --mkfs' ceph-mon -c "$conf" -i a --mkfs --monmap "$dir/ceph/monmap"
  fi
  running mon || ceph_step 'the monitor' ceph-mon -c "$conf" -i a
  if [ ! -e "$dir/ceph/created" ]; then
    ceph_step 'ceph osd new' ceph -c "$conf" --connect-timeout 30 osd new "$disk"
    ceph_step 'ceph-osd --mkfs' ceph-osd -c "$conf" -i 0 --mkfs --osd-uuid "$disk"
  fi
  running osd || ceph_step 'the disk' ceph-osd -c "$conf" -i 0
  if [ ! -e "$dir/ceph/created" ]; then
    ceph_step 'radosgw-admin' radosgw-admin -c "$conf" user create --uid=assay --display-name=assay \
      --access-key="$access_key" --secret-key="$secret_key"
  fi
  running client || ceph_step 'radosgw' radosgw -c "$conf" -n client.admin
  attempts=0
  until s3_answers; do
    attempts=$((attempts + 1))
    [ $attempts -lt 600 ] || refuse "radosgw does not answer: $(tail -n 5 "$dir/ceph/client.log")"
    sleep 0.05
  done
  if [ ! -e "$dir/ceph/created" ]; then
    echo "user = $access_key:$secret_key" | curl --config - --silent --show-error --fail --max-time 30 --output /dev/null --request PUT \
      --header 'x-amz-content-sha256: UNSIGNED-PAYLOAD' --aws-sigv4 aws:amz:us-east-1:s3 "http://127.0.0.1:$s3_port/assay" ||
      refuse 'radosgw did not create the bucket'
    : >"$dir/ceph/created"
  fi
}

start_postgres &
postgres=$!
ceph=0
(start_ceph) || ceph=1
wait $postgres || exit 1
[ $ceph = 0 ] || exit 1

cat <<END
export ASSAY_INDEX=postgres://assay:$postgres_password@127.0.0.1:$postgres_port/assay
export ASSAY_BLOBS=s3://assay/blobs
export AWS_ENDPOINT_URL=http://127.0.0.1:$s3_port
export AWS_ACCESS_KEY_ID=$access_key
export AWS_SECRET_ACCESS_KEY=$secret_key
export AWS_REGION=us-east-1
END
