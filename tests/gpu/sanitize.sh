#!/usr/bin/env bash
# compute-sanitizer's memcheck, racecheck and synccheck over small rows of the shape table, ranks as threads, two launches
# back to back for each M. After make gpu-build, where there are GPUs; the tool from $COMPUTE_SANITIZER or the path.
#
#   tests/gpu/sanitize.sh [FOLDER]      logs, default build/sanitize
#
# One line for each tool and row, PASS or FAIL; exit code 1 if any failed or took longer than LIMIT seconds (120).
#
# What the tools do not see: copies by the TMA unit (cp.async.bulk) and operands of wgmma in shared memory, so racecheck
# judges only what threads themselves read and write; copies between GPUs, of which memcheck knows no allocation's end; and
# the flags between ranks, which are atomics to it. Those orders are what the host target is strict about, under
# ThreadSanitizer (runtime/include/mk/host).
set -uo pipefail
cd "$(dirname "$0")/../.."
logs=${1:-build/sanitize} limit=${LIMIT:-120}
sanitizer=${COMPUTE_SANITIZER:-$(command -v compute-sanitizer || echo /usr/local/cuda/bin/compute-sanitizer)}
[ -x "$sanitizer" ] || { echo "FAIL no compute-sanitizer: put it on the path or set COMPUTE_SANITIZER"; exit 1; }
mkdir -p "$logs"
export MKGEN_KERNEL_PATH=${MKGEN_KERNEL_PATH:-build/kernels}
failed=0
for row in ag_w1_n8_k8 ag_w2_n64_k64_m0 ag_w2_n256_k1024 ag_w3_n264_k64 ag_w4_n264_k328_rows ag_w2_n328_k200_packed_kn ag_w4_n264_k520_packed rs_w3_n136_k200_any \
  rs_w4_n264_k328_atomic ar_w3_n136_k200_any ar_w4_n328_k200_oneshot rs_w2_n520_k136_bands; do
  for tool in memcheck racecheck synccheck; do
    log=$logs/$tool.$row.txt start=$SECONDS
    timeout --kill-after=5 "$limit" "$sanitizer" --tool "$tool" --error-exitcode 9 \
      build/gpu -rows "^$row\$" -threads -launches 2 > "$log" 2>&1
    code=$? summary=$(grep -h 'SUMMARY' "$log" | tail -1) skipped=$(grep -c ' skipped needs' "$log")
    case $code in
      0) verdict=PASS ;;
      9) verdict="FAIL" ;;
      124 | 137) verdict="FAIL longer than $limit s" ;;
      *) verdict="FAIL exit code $code" ;;
    esac
    [ "$skipped" -gt 0 ] && verdict="SKIP too few GPUs"
    case $verdict in FAIL*) failed=1 ;; esac
    echo "$verdict $tool $row ($((SECONDS - start)) s) ${summary#=========}"
  done
done
exit $failed
