// Which NIC, which address.
#include <cstring>

#include "check.h"
#include "net/nic.h"

using namespace mk::rt;

namespace {

verbs::GidEntry entry(uint32_t type, std::initializer_list<uint8_t> front, std::initializer_list<uint8_t> back) {
  verbs::GidEntry e{};
  e.type = type;
  std::copy(front.begin(), front.end(), e.gid.raw);
  std::copy(back.begin(), back.end(), e.gid.raw + 16 - back.size());
  return e;
}

}  // namespace

CASE(nic_address) {
  const auto v4 = entry(verbs::kGidRoceV2, {}, {0xff, 0xff, 10, 0, 0, 1});
  const auto v4_local = entry(verbs::kGidRoceV2, {}, {0xff, 0xff, 169, 254, 0, 1});
  const auto loopback = entry(verbs::kGidRoceV2, {}, {0xff, 0xff, 127, 0, 0, 1});
  const auto v6 = entry(verbs::kGidRoceV2, {0x20, 0x01}, {1});
  const auto v6_local = entry(verbs::kGidRoceV2, {0xfe, 0x80}, {1});
  auto old = v4;
  old.type = verbs::kGidRoceV1;
  CHECK(net::preference(v4) > net::preference(v6) && net::preference(v6) > net::preference(v4_local));
  CHECK(net::preference(v4_local) > net::preference(v6_local) && net::preference(v6_local) > net::preference(loopback));
  CHECK(net::preference(loopback) > 0 && net::preference(old) == 0 && net::preference(entry(verbs::kGidRoceV2, {}, {})) == 0);
  CHECK(net::text(v4.gid) == "10.0.0.1" && net::text(v6_local.gid) == "fe80::1" && net::text(v6.gid) == "2001::1");
}

CASE(nic_distance) {
  const std::string root = "/sys/devices/pci0000:15/0000:15:01.0/", other = "/sys/devices/pci0000:e0/0000:e0:01.0/";
  const std::string gpu = root + "0000:16:00.0/0000:17:00.0/0000:19:00.0";
  const std::string beside = root + "0000:16:00.0/0000:17:01.0/0000:1a:00.0", port = "/sys/devices/pci0000:15/0000:15:05.0/0000:1c:00.0";
  const int near = net::distance(gpu, 0, beside, 0), bridge = net::distance(gpu, 0, port, 0);
  const int socket = net::distance(gpu, 0, other + "0000:e1:00.0", 0), far = net::distance(gpu, 0, other + "0000:e1:00.0", 1);
  CHECK(near < bridge && bridge < socket && socket < far);
  CHECK(net::distance(beside, 0, gpu, 0) == near);
  CHECK(net::distance(gpu, 0, "", -1) == socket);  // a virtual device
}
