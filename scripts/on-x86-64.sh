#!/bin/sh
# Runs a command in this project on x86-64, on a machine of another kind. Boots an emulated machine with
# Debian's kernel, so that seccomp filters and ptrace stops are real. For example
#
#   scripts/on-x86-64.sh 'hermeticity/native/build.sh && vitest run test/hermeticity/trace/tracers.test.ts --testTimeout=900000'
#
# Needs Debian and root. The first run takes minutes and gigabytes, and keeps its image in
# TMPDIR/assay-x86-64. The guest is about fifteen times slower and has no network. It starts from the same
# image each time, with the files of this working tree on top. `node --run build` takes it seven minutes. The
# exit code is the command's.
set -eu
here=$(cd "$(dirname "$0")/.." && pwd)
place=${TMPDIR:-/tmp}/assay-x86-64
root=$place/root

install_tools() {
  command -v qemu-system-x86_64 mmdebstrap cpio mke2fs depmod >/dev/null && return
  apt-get install --yes --no-install-recommends qemu-system-x86 mmdebstrap cpio e2fsprogs kmod
}

# Packages are only unpacked, because their scripts cannot run here. The lines below do what the scripts would
# do.
make_root() {
  suite=$(. /etc/os-release && echo "$VERSION_CODENAME")
  packages=linux-image-amd64,busybox-static,bash,dash,coreutils,util-linux,mount,libc-bin,hostname,iproute2,procps,passwd,tar,gzip
  packages=$packages,findutils,grep,sed,mawk,diffutils,python3,make,gcc,libc6-dev,libstdc++6,strace,bubblewrap,git,openssl
  mmdebstrap --variant=extract --hook-directory=/usr/share/mmdebstrap/hooks/merged-usr \
    --architectures=amd64 --include=$packages "$suite" "$place/root.tar"
  mkdir -p "$root" && tar xf "$place/root.tar" -C "$root" && rm "$place/root.tar"
  ln -sf gcc "$root/usr/bin/cc" && ln -sf mawk "$root/usr/bin/awk" && ln -sf /assay/node_modules/.bin/node "$root/usr/bin/node"
  printf 'root:x:0:0::/root:/bin/bash\nnobody:x:65534:65534::/nonexistent:/usr/sbin/nologin\n' >"$root/etc/passwd"
  printf 'root:x:0:\nnogroup:x:65534:\n' >"$root/etc/group"
  echo '127.0.0.1 localhost' >"$root/etc/hosts"
}

install_packages() {
  mkdir -p "$root/assay"
  cp "$here/package.json" "$here/package-lock.json" "$root/assay/"
  (cd "$root/assay" && npm ci --cpu=x64 --os=linux --libc=glibc --ignore-scripts --no-audit --no-fund)
}

# The initramfs: the modules that the kernel needs to find its disk, and a shell that loads them.
make_start() {
  version=$(basename "$root"/lib/modules/*)
  rm -rf "$place/start" && mkdir -p "$place/start/bin" "$place/start/dev" "$place/start/root" "$place/start/modules"
  cp "$root/bin/busybox" "$place/start/bin/"
  depmod --basedir "$root" "$version"
  number=10
  for module in virtio_pci virtio_blk crc32c_generic ext4; do
    modprobe --dirname "$root" --set-version "$version" --show-depends $module
  done | sed -n 's/^insmod //p' | while read -r file; do
    number=$((number + 1))
    cp "$file" "$place/start/modules/$number-$(basename "$file")"
  done
  cat >"$place/start/init" <<'END'
#!/bin/busybox sh
b=/bin/busybox
$b mount -t devtmpfs dev /dev
for module in /modules/*; do $b insmod $module 2>/dev/null; done
until $b mount -t ext4 /dev/vda /root; do $b sleep 1; done
exec $b switch_root /root /bin/bash /guest.sh
END
  chmod +x "$place/start/init"
  (cd "$place/start" && find . | cpio -o -H newc --quiet) | gzip -1 >"$place/start.gz"
}

make_disk() {
  cat >"$root/guest.sh" <<'END'
export PATH=/assay/node_modules/.bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root TERM=dumb
mount -t devtmpfs dev /dev && mount -t proc proc /proc && mount -t sysfs sys /sys
mount -t tmpfs run /run && mount -t tmpfs tmp /tmp && mkdir -p /dev/pts /dev/shm
mount -t devpts pts /dev/pts && mount -t tmpfs shm /dev/shm
ip link set lo up && hostname guest && ln -sfn /proc/self/fd /dev/fd && ldconfig
cd /assay && tar xf /dev/vdb && node scripts/lmdb-addon.ts
bash -c "$(tr -d '\000' </dev/vdc)"
printf '\nthe command ended with %s\n' $?
sync && echo o >/proc/sysrq-trigger && sleep 60
END
  truncate -s 12G "$place/disk" && mke2fs -q -t ext4 -d "$root" "$place/disk"
}

padded() { truncate --size %512 "$1"; }

[ $# -eq 1 ] || { sed -n '2,10s/^# \{0,1\}//p' "$0" >&2; exit 64; }
mkdir -p "$place"
if [ ! -e "$place/made" ]; then
  install_tools
  make_root
  install_packages
  make_start
  make_disk
  touch "$place/made"
fi
run=$(mktemp -d)
trap 'rm -rf "$run"' EXIT
(cd "$here" && git ls-files -z --cached --others --exclude-standard | tar cf "$run/files" --null --files-from -)
printf '%s' "$1" >"$run/command"
padded "$run/files" && padded "$run/command"
qemu-system-x86_64 -machine q35 -cpu max -accel tcg,thread=single -smp 2 -m 6G -nographic -no-reboot -nic none \
  -kernel "$root"/boot/vmlinuz-* -initrd "$place/start.gz" -append 'console=ttyS0 quiet panic=1' \
  -drive "file=$place/disk,if=virtio,format=raw,snapshot=on" \
  -drive "file=$run/files,if=virtio,format=raw,readonly=on" \
  -drive "file=$run/command,if=virtio,format=raw,readonly=on" </dev/null | tee "$run/said"
ended=$(sed -n 's/^the command ended with \([0-9]*\).*/\1/p' "$run/said" | tail -n 1)
exit "${ended:-1}"
