#include "options.h"

#include <charconv>
#include <stdexcept>

namespace mk::run {
namespace {

int64_t number(const std::string& flag, const std::string& text, int64_t least, int64_t most) {
  int64_t value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < least || value > most)
    throw std::runtime_error(flag + " " + text + ": a number from " + std::to_string(least) + " to " +
                             std::to_string(most) + " is needed");
  return value;
}

std::vector<int> numbers(const std::string& flag, const std::string& text) {
  std::vector<int> list;
  for (size_t at = 0; at <= text.size();) {
    size_t comma = std::min(text.find(',', at), text.size());
    list.push_back(int(number(flag, text.substr(at, comma - at), 0, 1023)));
    at = comma + 1;
  }
  return list;
}

}  // namespace

Options parse(const Kernel& kernel, int argc, char** argv) {
  Options o;
  std::string target;
  for (int i = 1; i < argc; ++i) {
    std::string flag = argv[i];
    auto value = [&]() -> std::string {
      if (i + 1 == argc) throw std::runtime_error(flag + " needs a value");
      return argv[++i];
    };
    auto count = [&](int64_t least, int64_t most) { return number(flag, value(), least, most); };
    if (flag == "--target-kind")
      target = value();
    else if (flag == "--m")
      o.m.push_back(count(0, kernel.max_m));
    else if (flag == "--launches")
      o.launches = int(count(1, 1000));
    else if (flag == "--time")
      o.time = int(count(0, 100000));
    else if (flag == "--timeout-ms")
      o.timeout_ms = uint64_t(count(1, 1000000000));
    else if (flag == "--seed")
      o.seed = uint64_t(count(0, INT64_MAX));
    else if (flag == "--devices")
      o.devices = numbers(flag, value());
    else if (flag == "--node")
      o.node = int(count(0, kernel.nodes - 1));
    else if (flag == "--meet")
      o.meet = value();
    else if (flag == "--processes")
      o.processes = true;
    else if (flag == "--delay")
      o.delay = true;
    else
      throw std::runtime_error("unknown argument " + flag);
  }
  if (target != "host" && target != "cuda") throw std::runtime_error("--target-kind must be host or cuda");
  o.cuda = target == "cuda";
  if (o.cuda != (std::string(kernel.target()) != "host"))
    throw std::runtime_error(std::string(kernel.name) + " was built for " + kernel.target() +
                             ", not for --target-kind " + target);
  if (!o.devices.empty() && int(o.devices.size()) != kernel.world)
    throw std::runtime_error("--devices needs one device for each of " + std::to_string(kernel.world) + " ranks");
  if ((o.node < 0) != o.meet.empty()) throw std::runtime_error("--node and --meet go together");
  if (o.m.empty()) o.m.push_back(kernel.max_m);
  if (o.m.size() > 64) throw std::runtime_error("--m: at most 64 in one run");
  if (o.time < 0) o.time = o.cuda ? 20 : 0;
  return o;
}

}  // namespace mk::run
