// A Report as a sentence.
#pragma once
#include <string>

#include "mk/protocol.h"

namespace mk::rt {

// What happened, as rank `self` tells it. reason: what the host that gave up said, or empty where this
// rank does not know it.
std::string sentence(const Report& report, int self, uint64_t timeout_ms, const std::string& reason);

}  // namespace mk::rt
