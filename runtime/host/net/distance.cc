#include <algorithm>
#include <sstream>
#include <vector>

#include "nic.h"

namespace mk::rt::net {
namespace {

constexpr int kOtherBridge = 100, kOtherSocket = 200;  // a path has fewer bridges than that

std::vector<std::string> parts(const std::string& path) {
  std::vector<std::string> all;
  std::istringstream in(path);
  for (std::string part; std::getline(in, part, '/');)
    if (!part.empty()) all.push_back(part);
  return all;
}

}  // namespace

int distance(const std::string& a, int a_numa, const std::string& b, int b_numa) {
  auto x = parts(a), y = parts(b);
  auto common = std::mismatch(x.begin(), x.end(), y.begin(), y.end()).first - x.begin();
  bool one_root = common >= 3 && x[2].starts_with("pci");  // sys, devices, pci0000:00
  if (one_root) return int(x.size() + y.size()) - 2 * int(common);
  return a_numa >= 0 && b_numa >= 0 && a_numa != b_numa ? kOtherSocket : kOtherBridge;
}

}  // namespace mk::rt::net
