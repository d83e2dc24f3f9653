// What a rank tells the others when a world is put together, and the checks that they fit.
#pragma once
#include <array>
#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

#include "device.h"
#include "mk/abi.h"
#include "mk/net.h"
#include "net/address.h"
#include "net/card.h"

namespace mk::rt {

using Token = std::array<uint8_t, 16>;  // random: whoever shows it may have the heap

constexpr uint32_t kMaxKernels = 40;
constexpr uint64_t kBlobMagic = 0x31424f4c424b4dull;  // "MKBLOB1"

struct Blob {
  uint64_t magic;
  uint32_t size;  // sizeof(Blob)
  int32_t rank, world, device_kind, device;
  int32_t pid;
  uint64_t start;                // of the process, in clock ticks since boot: tells a reused pid
  uint64_t runtime, heap_bytes;  // heap_bytes: the whole heap as mapped
  char host[64];                 // host name, for messages
  char boot[64];                 // boot id: equal means the same machine, whatever a container calls itself
  char device_name[80];
  DeviceId device_id;
  char socket[40];  // abstract unix socket that hands out the heap's descriptor
  Token token;
  net::Address line;  // of the control connections; zeros on one node
  net::Card cards[kMaxLanes];
  uint32_t kernel_count;
  mk_kernel_need kernels[kMaxKernels];
};
static_assert(std::is_trivially_copyable_v<Blob> && sizeof(Blob) <= 8192);

// This process and machine: fills pid, start, host and boot.
void sign(Blob& blob);
bool same_process(const Blob& a, const Blob& b);
bool same_machine(const Blob& a, const Blob& b);
int node_of(const Blob& blob);

// Throws unless all (one a rank, in rank order) belong together with own.
void check_blobs(const Blob& own, const std::vector<Blob>& all);

}  // namespace mk::rt
