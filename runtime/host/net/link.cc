#include "link.h"

#include <cstdlib>
#include <sstream>

#include "../fail.h"

namespace mk::rt::net {

std::string Link::text() const {
  return say("rate=%g delay=%g reorder=%d duplicate=%d fail=%ld", rate, delay, reorder, duplicate, long(fail));
}

Link parse_link(const char* setting) {
  Link link;
  std::istringstream words(setting ? setting : "");
  for (std::string word; words >> word;) {
    const size_t equals = word.find('=');
    const std::string key = word.substr(0, equals), number = equals == word.npos ? "" : word.substr(equals + 1);
    char* end = nullptr;
    const double value = std::strtod(number.c_str(), &end);
    if (number.empty() || *end || !(value >= 0) || value > 1e12)
      fail(MK_EINVAL, say("MKGEN_SHM: \"%s\" is not a key, = and a number that is not negative", word.c_str()));
    if (key == "rate") link.rate = value;
    else if (key == "delay") link.delay = value;
    else if (key == "reorder" && value >= 1 && value <= 64) link.reorder = int(value);
    else if (key == "duplicate" && value <= 1000) link.duplicate = int(value);
    else if (key == "fail") link.fail = int64_t(value);
    else
      fail(MK_EINVAL, say("MKGEN_SHM: \"%s\" is not rate=GB/s, delay=us, reorder=1..64, duplicate=0..1000 (of 1000) or fail=writes",
                          word.c_str()));
  }
  return link;
}

}  // namespace mk::rt::net
