// The two messages of ranks that find each other, each of them both ways.
#pragma once
#include <cstdint>

#include "../blob.h"

namespace mk::rt::net {

constexpr uint64_t kDoorMagic = 0x3152'4f4f'444b'4dull;  // "MKDOOR1"

struct Hello {
  uint64_t magic;
  int32_t from, to;
  Token token;  // of the rank it is for
};

// 0 and nothing: "I have all my connections"; or the length of a sentence that follows, on why not.
using Verdict = uint32_t;
constexpr Verdict kLongestVerdict = 1024;

}  // namespace mk::rt::net
