// Position in a ring of N stages: which stage, and which parity its barrier shows once filled.
#pragma once

namespace mk {

template <int N>
struct Ring {
  int stage = 0;
  int parity = 0;  // of the current round; a barrier that was never completed answers to parity 1
  MK_DEVICE void next() {
    if (++stage == N) { stage = 0; parity ^= 1; }
  }
  MK_DEVICE int previous() const { return stage == 0 ? N - 1 : stage - 1; }
};

}  // namespace mk
