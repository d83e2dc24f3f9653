// What was chosen, on standard error, where MKGEN_LOG=1 asks for it.
#pragma once
#include <cstdio>
#include <cstdlib>
#include <string>

namespace mk::rt::net {

inline void log(int rank, const std::string& text) {
  const char* wanted = std::getenv("MKGEN_LOG");
  if (wanted && *wanted == '1') std::fprintf(stderr, "mkgen: rank %d: %s\n", rank, text.c_str());
}

}  // namespace mk::rt::net
