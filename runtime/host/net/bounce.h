// A ring of pinned memory through which a stream passes between a socket and device memory. Places count the bytes of the
// stream; any `size` of them that follow each other are in the ring at a time.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "../fail.h"
#include "../pinned.h"

namespace mk::rt::net {

class Bounce {
 public:
  static constexpr uint64_t kSize = 2 << 20;   // bytes, a power of two
  static constexpr uint64_t kPiece = 256 << 10;  // of one copy at most, so that a copy and the wire run at once

  explicit Bounce(Device& device) : memory_(device, kSize) {}

  std::byte* at(uint64_t place) const { return memory_.host() + place % kSize; }
  // Of n bytes from place on, how many lie in one piece.
  static uint64_t straight(uint64_t place, uint64_t n) { return std::min(n, kSize - place % kSize); }

 private:
  Pinned memory_;
};

}  // namespace mk::rt::net
