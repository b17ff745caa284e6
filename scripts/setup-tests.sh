#!/bin/sh
# Installs missing npm tools and Debian packages that the tests and benchmarks need. Takes a fraction of a
# second if none is missing. Waits up to 10 minutes for another apt. Needs root, or sudo without a password, only to install. Fails with the names of
# packages that could not be installed, so that a bare machine does not look like a broken test.
set -eu

"$(dirname "$0")/setup-test-tools.sh"

packages=$(sed 's/ *#.*//' <<'END'
bazel-bootstrap     # a real client of the server: test/clients
bubblewrap          # shows that the executable needs nothing of this machine
cargo               # a real command: test/commands
ccache              # a real client of the server: test/clients
ceph-mon            # with ceph-osd and radosgw, an S3 server: scripts/fleet-up.sh
ceph-osd
chromium            # shows the server's pages: wings/dashboard/test/pages
cmake               # drives ccache in test/clients
crun                # runs the image: npm run test:packages
curl                # a client of S3 that signs: test/clients
default-jdk-headless # a real command: test/client/audit
gcc                 # the C example, the tracer's helper, and programs that tests compile
git                 # what is ignored in a workspace is compared with git's own answer
golang-go           # a real command: test/commands
gradle              # a real client of the server: test/clients
haproxy             # the load balancer of examples/fleet
hyperfine           # bench: start-up times
iproute2            # networks that can be broken: wings/fleet/test/crash
libc6-dev           # headers and start files for gcc
libfaketime         # nodes with a wrong clock: wings/fleet/test/crash
lintian             # checks the Debian packages: npm run test:packages
make                # the C example
mmdebstrap          # a bare Debian: npm run test:packages
nox                 # a real command: test/commands
nginx-light         # bench: the peer of the server
ninja-build         # drives ccache in test/clients
openssl             # certificates for clients that speak only TLS
postgresql          # the index of the fleet: scripts/fleet-up.sh
prometheus          # evaluates the alert rules: test/examples
protobuf-compiler   # the generated code and the vectors are compared with protoc's
python3             # actions of the corpus
python3-grpcio      # a server of the Remote Execution API that shares no code with Assay
python3-mypy        # a real command: test/commands
python3-pip         # virtual environments: test/commands
python3-protobuf    # the encoder that shares no code with Assay
python3-pytest      # a real command: test/commands
python3-sphinx      # a real command: test/commands
python3-venv        # virtual environments: test/commands
qemu-user-static    # tries programs of the other architecture: npm run release
radosgw             # an S3 server: scripts/fleet-up.sh
strace              # a witness of what the tracer reports: test/hermeticity/witness
systemd             # counts how exposed the service is: test/packages
tox                 # a real command: test/commands
util-linux          # setpriv: the tests run as another user too
END
)

# The tracer's helper is also compiled for the other architecture, and its system calls are compared with
# those headers.
case $(uname -m) in
aarch64) packages="$packages
gcc-x86-64-linux-gnu
libc6-dev-amd64-cross" ;;
x86_64) packages="$packages
gcc-aarch64-linux-gnu
libc6-dev-arm64-cross" ;;
esac

installed() {
  # shellcheck disable=SC2086 # names of packages hold no spaces
  dpkg-query --show --showformat '${db:Status-Status} ${Package}\n' $packages 2>/dev/null | sed -n 's/^installed //p'
}

missing() {
  present=$(installed || true)
  for package in $packages; do
    case "
$present
" in
    *"
$package
"*) ;;
    *) echo "$package" ;;
    esac
  done
}

refuse() {
  echo "setup-tests: $1" >&2
  exit 1
}

command -v dpkg-query >/dev/null || refuse "this is not Debian; the tests need: $(echo "$packages" | tr '\n' ' ')"
wanted=$(missing)
[ -n "$wanted" ] || exit 0

as_root=
if [ "$(id -u)" != 0 ]; then
  sudo -n true 2>/dev/null || refuse "missing, and installing needs root: $(echo "$wanted" | tr '\n' ' ')"
  as_root='sudo -n'
fi

install() {
  # shellcheck disable=SC2086
  $as_root env DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=600 install --yes --quiet --no-install-recommends "$@"
}

echo "setup-tests: installing $(echo "$wanted" | tr '\n' ' ')"
$as_root apt-get -o DPkg::Lock::Timeout=600 update --quiet || echo 'setup-tests: apt-get update failed; trying with the lists that are here' >&2
# shellcheck disable=SC2086
if ! install $wanted; then
  # One by one, so that a single package that is not to be had does not hide behind the others.
  for package in $wanted; do install "$package" || true; done
fi
wanted=$(missing)
[ -z "$wanted" ] || refuse "these Debian packages could not be installed: $(echo "$wanted" | tr '\n' ' ')"
