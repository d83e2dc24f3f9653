#!/usr/bin/env bash
# Do tests pass on a machine that has much else to do? Runs a command N times beside busy loops, one a processor, and lists what
# failed. Every run starts without a cache of builds or test results.
#
#   tests/soak.sh N [COMMAND...]        default: make test
#   tests/soak.sh 1 go test -short -count 20 -run 'Faults|Dies' ./tests/emu
#
# Prints a line a run, with its seconds, and the tests that failed; logs go to build/soak. Exit 1 if any run failed.
set -uo pipefail
cd "$(dirname "$0")/.."
runs=${1:?how many runs?}
shift
[ $# -gt 0 ] || set -- make test
logs=build/soak
mkdir -p "$logs"
loops=() caches=
trap 'kill "${loops[@]}" 2>/dev/null; chmod -R u+w "$caches"; rm -rf "$caches"' EXIT
for ((i = 0; i < $(nproc); i++)); do
  while :; do :; done &
  loops+=($!)
done
caches=$(mktemp -d)
failed=0
for ((run = 1; run <= runs; run++)); do
  start=$SECONDS
  export MKGEN_CACHE=$caches/$run/mkgen GOCACHE=$caches/$run/go
  if "$@" >"$logs/$run.log" 2>&1 </dev/null; then
    verdict=passed
  else
    verdict=FAILED
    failed=$((failed + 1))
  fi
  echo "run $run of $runs: $verdict, $((SECONDS - start)) s"
  [ $verdict = passed ] || grep -E '^ *--- FAIL|^FAIL|^panic:|^make: ' "$logs/$run.log"
  chmod -R u+w "$caches/$run"
  rm -rf "${caches:?}/$run"
done
echo "$((runs - failed)) of $runs passed: $*"
[ $failed = 0 ]
