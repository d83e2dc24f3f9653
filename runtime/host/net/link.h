// What the SHM backend makes of memory on one machine: a network with a rate and a delay, and with the ways in which real
// ones surprise. Set in the environment as MKGEN_SHM="rate=50 delay=5 reorder=8 duplicate=20 fail=1000".
#pragma once
#include <cstdint>
#include <string>

namespace mk::rt::net {

struct Link {
  double rate = 0;      // GB/s of each lane; 0: as fast as memory is
  double delay = 0;     // microseconds from the last byte to the word that announces it
  int reorder = 1;      // writes of which any may come first
  int duplicate = 0;    // of 1000 completions, so many come twice
  int64_t fail = 0;     // writes after which a lane fails; 0: never
  std::string text() const;
};

// Throws MK_EINVAL, naming the word, where setting is not as above. null: the defaults.
Link parse_link(const char* setting);

}  // namespace mk::rt::net
