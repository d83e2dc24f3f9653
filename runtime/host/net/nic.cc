#include "nic.h"

#include <arpa/inet.h>

#include <algorithm>
#include <climits>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "../fail.h"

namespace mk::rt::net {
namespace {

using namespace verbs;

std::string real_path(const std::string& path) {
  char real[PATH_MAX];
  return ::realpath(path.c_str(), real) ? real : "";
}

int numa_of(const std::string& folder) {
  int node = -1;
  std::ifstream(folder + "/numa_node") >> node;
  return node;
}

std::string variable(const char* name) {
  const char* text = std::getenv(name);
  return text ? text : "";
}

// What MKGEN_NICS says; without it everything is wanted.
class Wanted {
 public:
  Wanted() {
    std::istringstream in(variable("MKGEN_NICS"));
    for (std::string name; std::getline(in, name, ',');)
      if (!name.empty()) names_.push_back({name, false});
  }
  bool has(const std::string& device, int port) {
    bool found = names_.empty();
    for (auto& [name, seen] : names_)
      if (name == device || name == say("%s:%d", device.c_str(), port)) found = seen = true;
    return found;
  }
  std::string missing() const {
    for (auto& [name, seen] : names_)
      if (!seen) return name;
    return "";
  }

 private:
  std::vector<std::pair<std::string, bool>> names_;
};

bool find_gid(Nic& nic) {
  const Verbs& v = verbs::verbs();
  auto entry = [&](uint32_t index, GidEntry& e) {
    return v.query_gid_ex(nic.context.get(), nic.port, index, &e, 0, sizeof e) == 0;
  };
  GidEntry best{}, e;
  if (std::string index = variable("MKGEN_GID_INDEX"); !index.empty()) {
    if (!entry(uint32_t(std::atoi(index.c_str())), best)) return false;
  } else if (nic.attr.link != kLinkEthernet) {
    if (!entry(0, best)) return false;
  } else {
    for (uint32_t i = 0; i < uint32_t(nic.attr.gids); ++i)
      if (entry(i, e) && preference(e) > preference(best)) best = e;
    if (!preference(best)) return false;
  }
  nic.gid_index = uint8_t(best.index);
  nic.gid = best.gid;
  return true;
}

// Opens one port; says in why what is wrong with it and returns false where it does not do.
bool open_port(verbs::Device* device, int port, const Refusal& refusal, Nic& nic, std::string& why) {
  const Verbs& v = verbs::verbs();
  nic.name = say("%s:%d", device->name, port);
  nic.port = uint8_t(port);
  nic.context.reset(v.open_device(device));
  if (!nic.context) {
    why = std::string("cannot be opened: ") + std::strerror(errno);
  } else if (why = refusal(nic.context.get()); !why.empty()) {
  } else if (v.query_device(nic.context.get(), &nic.device) || v.query_port(nic.context.get(), nic.port, &nic.attr)) {
    why = "cannot be asked about its port";
  } else if (nic.attr.state != kPortActive) {
    why = "its port is not up";
  } else if (!find_gid(nic)) {
    why = variable("MKGEN_GID_INDEX").empty() ? "has no RoCE v2 address; give its interface an IP address"
                                              : "has no address number " + variable("MKGEN_GID_INDEX") + " (MKGEN_GID_INDEX)";
  }
  return why.empty();
}

int ports_of(verbs::Device* device) {
  DeviceAttr attr{};
  Owned<Context> context(verbs::verbs().open_device(device));
  if (!context || verbs::verbs().query_device(context.get(), &attr)) return 1;
  return attr.ports;
}

}  // namespace

int preference(const GidEntry& e) {
  const uint8_t* a = e.gid.raw;
  if (e.type != kGidRoceV2 || std::all_of(a, a + 16, [](uint8_t byte) { return byte == 0; })) return 0;
  static const uint8_t mapped[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
  if (!std::memcmp(a, mapped, sizeof mapped)) return a[12] == 127 ? 1 : a[12] == 169 && a[13] == 254 ? 3 : 5;
  return a[0] == 0xfe && (a[1] & 0xc0) == 0x80 ? 2 : 4;
}

std::string text(const Gid& gid) {
  char buffer[INET6_ADDRSTRLEN];
  bool v4 = preference({gid, 0, 0, kGidRoceV2, 0}) % 2 == 1;
  ::inet_ntop(v4 ? AF_INET : AF_INET6, v4 ? gid.raw + 12 : gid.raw, buffer, sizeof buffer);
  return buffer;
}

Nic open_nic(const Site& site, const Refusal& refusal) {
  const Verbs& v = verbs::verbs();
  int count = 0;
  verbs::Device** devices = v.get_device_list(&count);
  if (!devices) fail(MK_EUNAVAILABLE, say("the RDMA devices cannot be listed: %s; is the kernel module ib_uverbs loaded?", std::strerror(errno)));
  std::unique_ptr<verbs::Device*, void (*)(verbs::Device**)> list(devices, v.free_device_list);

  const std::string pci = site.device->pci();
  const std::string here = pci.empty() ? "" : real_path("/sys/bus/pci/devices/" + pci);
  std::vector<Nic> nearest;
  int least = INT_MAX;
  std::string refused;
  Wanted wanted;
  for (verbs::Device* device : std::vector(devices, devices + count)) {
    const std::string there = real_path(std::string(device->ibdev_path) + "/device");
    const int away = here.empty() ? 0 : distance(here, numa_of(here), there, numa_of(there));
    for (int port = 1, last = ports_of(device); port <= last; ++port) {
      if (!wanted.has(device->name, port)) continue;
      Nic nic{};
      std::string why;
      if (!open_port(device, port, refusal, nic, why)) {
        refused += say("; %s %s", nic.name.c_str(), why.c_str());
      } else if (away <= least) {
        if (away < least) nearest.clear();
        least = away;
        nearest.push_back(std::move(nic));
      }
    }
  }
  if (!wanted.missing().empty())
    fail(MK_EINVAL, say("MKGEN_NICS names %s, which is no RDMA device here", wanted.missing().c_str()));
  if (nearest.empty())
    fail(MK_EUNAVAILABLE, "no RDMA device can be used" + (refused.empty() ? ": there is none" : ": " + refused.substr(2)));

  Nic nic = std::move(nearest[size_t(site.index + site.lane) % nearest.size()]);
  nic.pd.reset(v.alloc_pd(nic.context.get()));
  if (!nic.pd) fail_errno(say("protection domain on %s", nic.name.c_str()).c_str());
  return nic;
}

}  // namespace mk::rt::net
