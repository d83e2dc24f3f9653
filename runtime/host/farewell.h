// What a rank tells the others when it gives up, over a heap's unix socket within a node and over a line between nodes.
#pragma once
#include <cstdio>
#include <string>

#include "mk/protocol.h"

namespace mk::rt {

struct Farewell {
  uint32_t magic = kMagic;
  Report report{};
  char why[640] = "";  // more than the report says, or empty
  static constexpr uint32_t kMagic = 0x42524d4b;
  Farewell() = default;
  Farewell(int reporter, Role role, Wanted wanted, const std::string& reason) {
    report.reporter = uint32_t(reporter);
    report.role = role;
    report.wanted = wanted;
    std::snprintf(why, sizeof why, "%s", reason.c_str());
  }
};

}  // namespace mk::rt
