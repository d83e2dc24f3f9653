#!/bin/bash
# Runs a command on a machine that has a (software) RDMA device.
#
#   softrdma.sh run [--] CMD ARG...   boot a VM, run CMD in it, exit with its code
#   softrdma.sh prepare               only fetch packages and build the boot files
#
# For Debian hosts without an RDMA NIC and without CONFIG_INFINIBAND: boots
# Debian's stock kernel (linux-image-amd64, which has rdma_rxe.ko) in qemu. The
# VM's root is the host's root over virtio-9p, read-only, under a RAM overlay:
# every program, library and file of the host is there at its own path, CMD runs
# in the caller's directory with the caller's environment, and what it writes is
# dropped at the end (see SOFTRDMA_RW). The VM reaches no network. KVM is not
# needed. CMD's stdout and stderr arrive together on stdout; stdin is empty.
#
# Settings (environment):
#   SOFTRDMA_CACHE    boot files and packages           (~/.cache/mkgen-softrdma)
#   SOFTRDMA_TIMEOUT  seconds for boot and CMD          (300)
#   SOFTRDMA_MEM      MiB of memory of each VM          (2048; half is the overlay's limit)
#   SOFTRDMA_CPUS     virtual CPUs of each VM           (host CPUs / VMs)
#   SOFTRDMA_NODES    number of VMs, 1 to 8             (1)
#                     Above 1 each VM runs CMD, joined by a private virtual
#                     Ethernet over Unix sockets; output lines start with "[node] ".
#   SOFTRDMA_RW       one host directory CMD may write to (none)
#   SOFTRDMA_ACCEL    qemu accelerator                  (tcg,thread=multi)
#   SOFTRDMA_VERBOSE  1: timings and the kernel log on stderr
#
# CMD sees: SOFTRDMA_NODE (0..), SOFTRDMA_NODES, SOFTRDMA_DEV (rxe0),
#   SOFTRDMA_IP (10.99.0.1+node), SOFTRDMA_PEERS (all nodes' addresses).
#
# Exit: CMD's code (several VMs: the lowest node's non-zero one); 124 time-out;
#   125 the VM failed before CMD ended; 2 usage.
set -euo pipefail

PROG=softrdma
CACHE=${SOFTRDMA_CACHE:-${XDG_CACHE_HOME:-${HOME:-/root}/.cache}/mkgen-softrdma}
TIMEOUT=${SOFTRDMA_TIMEOUT:-300}
MEM=${SOFTRDMA_MEM:-2048}
NODES=${SOFTRDMA_NODES:-1}
[[ $NODES =~ ^[1-8]$ ]] || { echo "SOFTRDMA_NODES must be 1 to 8" >&2; exit 2; }
CPUS=${SOFTRDMA_CPUS:-$((($(nproc) + NODES - 1) / NODES))}
RW=${SOFTRDMA_RW:-}
ACCEL=${SOFTRDMA_ACCEL:-tcg,thread=multi}
VERBOSE=${SOFTRDMA_VERBOSE:-0}

# Host packages: the VM (qemu, busybox, cpio, xz) and the userland seen in it.
PACKAGES="qemu-system-x86 busybox-static cpio xz-utils gzip iproute2
  ibverbs-providers"
# Modules wanted in the VM; what they depend on is added. crc32_generic is
# reached by name through the crypto API, so no dependency names it: without it
# rxe cannot start.
MODULES="virtio_pci virtio_console 9pnet_virtio 9p overlay veth sch_netem
  crc32_generic ib_uverbs rdma_rxe dummy virtio_net"

say() { echo "$PROG: $*" >&2; }
verbose() { [ "$VERBOSE" != 1 ] || say "$@"; }
die() { local rc=$1; shift; say "$@"; exit "$rc"; }

# ---------------------------------------------------------------- packages

apt_() { # apt-get, quiet, with its archives in the cache
  mkdir -p "$CACHE/archives/partial"
  DEBIAN_FRONTEND=noninteractive apt-get -qq -o APT::Sandbox::User=root \
    -o Dir::Cache::archives="$CACHE/archives" "$@" >"$CACHE/apt.log" 2>&1 </dev/null
}

APT_FRESH=0
apt_retry() { # apt_ ARG..., and once more with fresh lists when that fails
  apt_ "$@" && return
  if [ $APT_FRESH = 0 ]; then APT_FRESH=1; apt_ update || true; fi
  apt_ "$@" || { cat "$CACHE/apt.log" >&2; die 125 "apt-get $1 failed"; }
}

install_packages() { # install on the host those of $@ that are missing
  local p missing=()
  for p; do
    [ "$(dpkg-query -W -f '${db:Status-Status}' "$p" 2>/dev/null)" = installed ] ||
      missing+=("$p")
  done
  [ ${#missing[@]} -gt 0 ] || return 0
  say "installing ${missing[*]}"
  apt_retry install -y --no-install-recommends "${missing[@]}"
}

unpack() { # unpack DIR PACKAGE...: download and extract without installing
  local dir=$1 tmp; shift
  tmp=$(mktemp -d "$CACHE/tmp/dl.XXXXXX")
  (cd "$tmp" && apt_retry download "$@") || exit
  local deb; for deb in "$tmp"/*.deb; do dpkg-deb -x "$deb" "$dir"; done
  rm -rf "$tmp"
}

# ---------------------------------------------------------------- boot files

load_order() { # load_order DIR MODULE...: .ko paths, dependencies first
  local dir=$1 f b; shift
  local -A path=() seen=()
  while IFS= read -r f; do b=${f##*/}; b=${b%.ko}; path[${b//-/_}]=$f; done \
    < <(find "$dir" -name '*.ko')
  visit() {
    local m=${1//-/_} d
    [ -z "${seen[$m]:-}" ] || return 0
    seen[$m]=1
    [ -n "${path[$m]:-}" ] || return 0 # built into the kernel
    for d in $(tr '\0' '\n' <"${path[$m]}" | sed -n 's/^depends=//p' | tr , ' '); do
      visit "$d"
    done
    echo "${path[$m]}"
  }
  local m; for m; do visit "$m"; done
}

prepare_kernel() { # fills $CACHE/kernel: version, vmlinux, modules/NN-NAME.ko
  local out=$CACHE/kernel tmp pkg ver f n=100 off
  [ "$(cat "$out/wanted" 2>/dev/null)" != "$MODULES" ] || return 0
  image() { apt-cache depends linux-image-amd64 2>/dev/null | sed -n 's/^ *Depends: //p' | head -1; }
  pkg=$(image) || pkg=
  if [ -z "$pkg" ]; then # no package lists on this machine yet
    apt_ update || true; APT_FRESH=1
    pkg=$(image) || pkg=
  fi
  [ -n "$pkg" ] || die 125 "apt knows no linux-image-amd64"
  say "fetching $pkg"
  tmp=$(mktemp -d "$CACHE/tmp/kernel.XXXXXX")
  unpack "$tmp/x" "$pkg"
  ver=${pkg#linux-image-}
  mkdir -p "$tmp/new/modules"
  for f in $(load_order "$tmp/x/lib/modules/$ver" $MODULES); do
    cp "$f" "$tmp/new/modules/$n-${f##*/}"; n=$((n + 1))
  done
  ls "$tmp/new/modules" | grep -q rdma_rxe || die 125 "$pkg has no rdma_rxe.ko"
  # An uncompressed kernel (xz stream inside the bzImage) boots by PVH and
  # spares 2.5 s of emulated decompression; else use the bzImage as it is.
  f=$tmp/x/boot/vmlinuz-$ver
  off=$(LC_ALL=C grep -abo -m1 $'\xfd7zXZ' "$f" | head -1 | cut -d: -f1 || true)
  if ! { [ -n "$off" ] &&
         xz -dc --single-stream < <(tail -c +$((off + 1)) "$f") >"$tmp/new/vmlinux" 2>/dev/null &&
         [ "$(head -c4 "$tmp/new/vmlinux" | tail -c3)" = ELF ]; }; then
    cp "$f" "$tmp/new/vmlinux"
  fi
  echo "$ver" >"$tmp/new/version"; echo "$MODULES" >"$tmp/new/wanted"
  rm -rf "$out"; mv "$tmp/new" "$out"; rm -rf "$tmp"
}

# PID 1 of the VM, run by busybox from the initramfs.
write_init() { cat <<'EOF'
#!/bin/busybox sh
B=/bin/busybox
mark() { read -r t _ </proc/uptime; echo "softrdma: $t s: $1"; }
end() { echo "softrdma: $1"; $B reboot -f; } # qemu has -no-reboot: it exits
base() { $B mount -t devtmpfs dev $1/dev; $B mount -t proc proc $1/proc; $B mount -t sysfs sys $1/sys; }
base ''
exec </dev/null >/dev/ttyS0 2>&1
mark init
for m in /modules/*.ko; do
  case $m in
  *-dummy.ko) $B insmod $m numdummies=0;;
  *) $B insmod $m;;
  esac || echo "softrdma: insmod $m failed"
done
mark modules
nine=trans=virtio,version=9p2000.L,msize=512000
$B mount -t 9p -o $nine,cache=none ctl /ctl || end 'no ctl share'
. /ctl/vars
$B mount -t 9p -o $nine,cache=loose,ro host /lower || end 'no root share'
$B mount -t tmpfs -o mode=755 rw /rw; $B mkdir /rw/u /rw/w
$B mount -t overlay -o lowerdir=/lower,upperdir=/rw/u,workdir=/rw/w root /new || end 'no overlay'
base /new
$B mkdir -p /new/dev/shm /new/dev/pts /new/run
$B mount -t tmpfs -o mode=1777 shm /new/dev/shm
$B mount -t devpts pts /new/dev/pts
$B ln -s /proc/self/fd /dev/fd; for n in 0:stdin 1:stdout 2:stderr; do $B ln -s /proc/self/fd/${n%:*} /dev/${n#*:}; done
$B mount -t tmpfs -o mode=755 run /new/run
[ -z "$rw" ] || { $B mkdir -p "/new$rw"; $B mount -t 9p -o $nine,cache=none rw "/new$rw"; } || end 'no rw share'
$B mkdir -p /new/run/softrdma; $B mount --bind /ctl /new/run/softrdma
$B hostname "softrdma$node"
$B chroot /new /bin/bash /run/softrdma/net.sh || end 'network set-up failed'
mark ready
# The output port may be opened once only, and CMD may want to open
# /dev/stdout again: so CMD writes to a pipe, and cat carries it to the port.
port=; i=0
while [ -z "$port" ] && [ $i -lt 100 ]; do
  for p in /sys/class/virtio-ports/*; do
    [ "$($B cat $p/name)" = out ] && port=/dev/${p##*/}
  done 2>/dev/null
  [ -n "$port" ] || $B usleep 50000; i=$((i + 1))
done
[ -n "$port" ] || end 'no output port'
$B mkfifo /pipe
$B cat /pipe >$port & carrier=$!
$B chroot /new /bin/bash /run/softrdma/job.sh >/pipe 2>&1
rc=$?
mark "exit $rc"
# What CMD left running may hold the pipe open: wait a second, then end it.
i=0
while $B kill -0 $carrier 2>/dev/null && [ $i -lt 10 ]; do $B usleep 100000; i=$((i + 1)); done
if $B kill -0 $carrier 2>/dev/null; then
  for p in /proc/[0-9]*; do
    p=${p##*/}
    [ $p = 1 ] || [ $p = $carrier ] || [ -z "$($B tr '\0' ' ' </proc/$p/cmdline)" ] || $B kill -9 $p
  done 2>/dev/null
fi
wait $carrier
echo $rc >/ctl/rc
# Node 0 is the hub: it stays until the others have ended.
[ "$nodes" = 1 ] || [ "$node" != 0 ] || while [ ! -e /ctl/go ]; do $B usleep 50000; done
end done
EOF
}

# Sets up the interfaces and the RDMA device; run in the VM's root by bash.
write_net() { cat <<'EOF'
set -e
. /run/softrdma/vars
ip link set lo up
if [ "$nodes" -gt 1 ]; then # the virtio NIC, the only interface with a device behind it
  for d in /sys/class/net/*/device; do d=${d%/device}; d=${d##*/}; done
  ip link set "$d" name eth0
else
  ip link add eth0 type dummy # packets loop inside rxe
fi
ip link set eth0 mtu 4200 up # 4200 lets RoCE use its largest path MTU, 4096
ip addr add "$ip/24" dev eth0
rdma link add rxe0 type rxe netdev eth0
# The GID of our address takes a moment to appear.
hex=$(printf '%02x%02x:%02x%02x' ${ip//./ })
for n in 1 2 3 4 5 6 7 8 9 10; do
  grep -qs ":ffff:$hex" /sys/class/infiniband/rxe0/ports/1/gids/? && break
  sleep 0.1
done
cat >/run/softrdma-env <<EOT
export SOFTRDMA_NODE=$node SOFTRDMA_NODES=$nodes SOFTRDMA_DEV=rxe0 SOFTRDMA_IP=$ip
export SOFTRDMA_PEERS="$peers"
EOT
EOF
}

prepare() { # everything that can be done before a run; safe to repeat
  [ "$(id -u)" = 0 ] || die 2 "must run as root"
  mkdir -p "$CACHE"
  exec 9>"$CACHE/lock"; flock 9 # one at a time
  rm -rf "$CACHE/tmp"; mkdir "$CACHE/tmp" # what a failed one left
  install_packages $PACKAGES
  prepare_kernel
  # The initramfs depends on the modules and on the text of init above.
  local key dir
  key=$({ write_init; ls "$CACHE/kernel/modules"; cat "$CACHE/kernel/version"; } | sha256sum | cut -c1-12)
  INITRD=$CACHE/initrd-$key.gz
  if [ ! -e "$INITRD" ]; then
    find "$CACHE" -maxdepth 1 -name 'initrd-*.gz' -mtime +7 -delete
    dir=$(mktemp -d "$CACHE/tmp/initrd.XXXXXX")
    mkdir -p "$dir"/{bin,dev,proc,sys,ctl,lower,rw,new}
    cp "$(command -v busybox)" "$dir/bin/busybox"
    cp -r "$CACHE/kernel/modules" "$dir/modules"
    write_init >"$dir/init"; chmod 755 "$dir/init"
    (cd "$dir" && find . | cpio -o -H newc --quiet | gzip -1) >"$INITRD.new"
    mv "$INITRD.new" "$INITRD"; rm -rf "$dir"
  fi
  exec 9>&-
}

# ---------------------------------------------------------------- one run

run() {
  local t0 i j peers='' rc=0 r qemu=() pids=() cats=()
  t0=$(date +%s%N)
  T=$(mktemp -d "${TMPDIR:-/tmp}/softrdma.XXXXXX")
  PIDS=''
  # Ends only what this run started: $PIDS are its own jobs.
  trap '[ -z "$PIDS" ] || kill $PIDS 2>/dev/null || true; wait; rm -rf "$T"' EXIT
  trap 'exit 130' INT; trap 'exit 143' TERM; trap 'exit 129' HUP
  for ((i = 0; i < NODES; i++)); do peers+="${peers:+ }10.99.0.$((i + 1))"; done

  for ((i = 0; i < NODES; i++)); do
    mkdir -p "$T/ctl.$i"
    { printf 'node=%q nodes=%q ip=10.99.0.%q rw=%q\n' $i "$NODES" $((i + 1)) "$RW"
      printf 'peers="%s"\n' "$peers"; } >"$T/ctl.$i/vars"
    write_net >"$T/ctl.$i/net.sh"
    { export -p
      echo '. /run/softrdma-env; ulimit -l unlimited'
      printf 'cd %q || exit 125\n' "$PWD"
      printf 'exec'; printf ' %q' "$@"; echo ' </dev/null'; } >"$T/ctl.$i/job.sh"
    mkfifo "$T/out.$i"
    if [ "$NODES" = 1 ]; then cat "$T/out.$i" & else sed -u "s/^/[$i] /" "$T/out.$i" & fi
    cats+=($!)

    # q35 for its HPET. (-M microvm boots 0.3 s faster but has no clock source
    # under TCG unless given tsc=reliable: time in 4 ms steps, and hangs.)
    qemu=(qemu-system-x86_64 -M q35 -cpu max -accel "$ACCEL" -smp "$CPUS" -m "$MEM"
      -nodefaults -no-user-config -display none -no-reboot
      -kernel "$CACHE/kernel/vmlinux" -initrd "$INITRD"
      -append "console=ttyS0 quiet panic=-1 mitigations=off"
      -serial "file:$T/console.$i"
      -fsdev local,id=host,path=/,security_model=none,readonly=on,multidevs=remap
      -device virtio-9p-pci,fsdev=host,mount_tag=host
      -fsdev "local,id=ctl,path=$T/ctl.$i,security_model=none"
      -device virtio-9p-pci,fsdev=ctl,mount_tag=ctl
      -device virtio-serial-pci -chardev "file,id=out,path=$T/out.$i"
      -device virtserialport,chardev=out,name=out)
    [ -z "$RW" ] || qemu+=(-fsdev "local,id=rw,path=${RW//,/,,},security_model=none"
      -device virtio-9p-pci,fsdev=rw,mount_tag=rw)
    if [ "$NODES" -gt 1 ]; then
      # A star of Unix sockets around node 0, whose hub joins them all.
      qemu+=(-device "virtio-net-pci,netdev=n0,mac=52:54:00:99:00:0$((i + 1))")
      if [ $i = 0 ]; then
        qemu+=(-netdev hubport,id=n0,hubid=0)
        for ((j = 1; j < NODES; j++)); do
          qemu+=(-netdev "stream,id=s$j,server=on,addr.type=unix,addr.path=$T/net.$j"
            -netdev "hubport,id=h$j,hubid=0,netdev=s$j")
        done
      else
        qemu+=(-netdev "stream,id=n0,server=off,addr.type=unix,addr.path=$T/net.$i")
      fi
    fi
    timeout -k 5 "$TIMEOUT" "${qemu[@]}" </dev/null >"$T/qemu.$i" 2>&1 &
    pids+=($!); PIDS="${pids[*]} ${cats[*]}"
    # The others connect to node 0's sockets: wait until those are there.
    if [ "$NODES" -gt 1 ] && [ $i = 0 ]; then
      for ((j = 0; j < 100; j++)); do [ -S "$T/net.$((NODES - 1))" ] && break; sleep 0.05; done
    fi
  done

  for ((i = NODES - 1; i >= 0; i--)); do
    [ $i != 0 ] || : >"$T/ctl.0/go"
    r=0; wait "${pids[$i]}" || r=$?
    # A qemu that failed early has not opened the pipe: open it, to end cat.
    while kill -0 "${cats[$i]}" 2>/dev/null; do : <>"$T/out.$i"; sleep 0.02; done
    if [ -s "$T/ctl.$i/rc" ]; then r=$(cat "$T/ctl.$i/rc")
    elif [ $r = 124 ] || [ $r = 137 ]; then r=124; say "node $i: no end after $TIMEOUT s"
    else
      say "node $i: the VM failed (qemu's code $r):"
      tail -n 25 "$T/qemu.$i" "$T/console.$i" >&2 || true
      r=125
    fi
    if [ "$VERBOSE" = 1 ]; then sed "s/^/$PROG: node $i: /" "$T/console.$i" >&2
    else grep -aE 'BUG:|WARNING:|Oops|Call Trace|panic' "$T/console.$i" >&2 || true; fi
    [ "$r" = 0 ] || rc=$r
  done
  PIDS=''
  verbose "$(((($(date +%s%N) - t0)) / 1000000)) ms in all, exit $rc"
  exit "$rc"
}

usage() { sed -n '2,/^set -e/{/^#/s/^# \{0,1\}//p}' "$0"; exit 2; }
case ${1:-} in
prepare) prepare;;
run)
  shift; [ "${1:-}" != -- ] || shift
  [ $# -gt 0 ] || usage
  [ -z "$RW" ] || RW=$(cd "$RW" && pwd) || die 2 "SOFTRDMA_RW: no such directory"
  prepare
  run "$@";;
*) usage;;
esac
