#!/bin/bash
# nodes.sh [-6] [-q NETEM] CMD ARG...: runs CMD at once on two "nodes", network namespaces joined by a veth pair eth0 - eth0,
# with what torchrun would set for one process a node, and MKGEN_INTERFACE. Needs root and iproute2.
#   -6        the nodes have IPv6 addresses only
#   -q NETEM  what `tc qdisc add ... netem` is told for each direction: "loss 1% delay 2ms 1ms"
# SHARED is a folder that both may write. Exit: 0, or the code of a CMD that failed; 77 where the kernel has no namespaces,
# 78 where it has no netem.
set -euo pipefail

six= netem=
while getopts 6q: option; do
  case $option in
  6) six=1 ;;
  q) netem=$OPTARG ;;
  *) exit 2 ;;
  esac
done
shift $((OPTIND - 1))

SHARED=$(mktemp -d)
names=("mkgen-$$-0" "mkgen-$$-1")
pids=()
tidy() {
  [ ${#pids[@]} -eq 0 ] || kill "${pids[@]}" 2>/dev/null || true
  for name in "${names[@]}"; do ip netns del "$name" 2>/dev/null || true; done # and the veth pair with it
  rm -rf "$SHARED"
}
trap tidy EXIT
trap 'exit 143' TERM INT HUP

mkdir -p /run/netns
for name in "${names[@]}"; do ip netns add "$name" || exit 77; done
ip link add "v$$-0" netns "${names[0]}" type veth peer name "v$$-1" netns "${names[1]}" || exit 77
prefix=10.77.0. length=24
[ -z "$six" ] || prefix=fd77:: length=64
for node in 0 1; do
  in=(ip netns exec "${names[node]}")
  "${in[@]}" ip link set lo up
  "${in[@]}" ip link set "v$$-$node" name eth0
  "${in[@]}" ip addr add "$prefix$((node + 1))/$length" dev eth0 ${six:+nodad}
  "${in[@]}" ip link set eth0 up
  # A queue that holds what a slow link has under way; the default of 1000 packets would be a loss of its own.
  [ -z "$netem" ] || "${in[@]}" tc qdisc add dev eth0 root netem limit 100000 $netem || exit 78
done

export SHARED WORLD_SIZE=2 NNODES=2 LOCAL_RANK=0 LOCAL_WORLD_SIZE=1 MASTER_ADDR=${prefix}1 MASTER_PORT=29500 MKGEN_INTERFACE=eth0
for node in 0 1; do
  RANK=$node NODE_RANK=$node GROUP_RANK=$node ip netns exec "${names[node]}" "$@" &
  pids+=($!)
done
code=0
for pid in "${pids[@]}"; do wait "$pid" || code=$?; done
pids=()
exit $code
