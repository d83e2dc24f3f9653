// One port of an RDMA device, chosen and opened for one lane of one rank.
//
//   MKGEN_NICS=mlx5_0,mlx5_1:1   use only these devices (or these ports of them)
//   MKGEN_GID_INDEX=3            use this entry of the port's address table
#pragma once
#include <functional>
#include <memory>
#include <string>

#include "backend.h"
#include "verbs.h"

namespace mk::rt::net {

struct Release {
  void operator()(verbs::Context* c) const { verbs::verbs().close_device(c); }
  void operator()(verbs::Pd* p) const { verbs::verbs().dealloc_pd(p); }
  void operator()(verbs::Mr* m) const { verbs::verbs().dereg_mr(m); }
  void operator()(verbs::Cq* c) const { verbs::verbs().destroy_cq(c); }
  void operator()(verbs::Qp* q) const { verbs::verbs().destroy_qp(q); }
  void operator()(verbs::Ah* a) const { verbs::verbs().destroy_ah(a); }
};
template <class T> using Owned = std::unique_ptr<T, Release>;

struct Nic {
  std::string name;  // mlx5_0:1
  Owned<verbs::Context> context;
  Owned<verbs::Pd> pd;
  verbs::DeviceAttr device;
  uint8_t port;
  verbs::PortAttr attr;
  uint8_t gid_index;
  verbs::Gid gid;
};

// Why a device does not do for a backend; empty where it does.
using Refusal = std::function<std::string(verbs::Context*)>;

// Opens the port that suits this rank and lane: of the ports that are up and that the backend does not refuse, those
// nearest to the rank's device (by PCIe, then by NUMA node), in turn over ranks of a node and lanes. Throws MK_EUNAVAILABLE
// with what is wrong with each, MK_EINVAL for a name in MKGEN_NICS that is not there.
Nic open_nic(const Site& site, const Refusal& refusal);

// How good an address is for reaching other machines: the greater the better, 0 for none. RoCE v2 only.
int preference(const verbs::GidEntry& entry);
std::string text(const verbs::Gid& gid);  // 10.0.0.1 or fe80::1

// How far two PCI devices are apart, from what their folders in sysfs are called (/sys/devices/pci0000:00/0000:00:01.0/...)
// and their NUMA nodes (-1: unknown): the bridges between them; else more, and more still where the nodes differ.
int distance(const std::string& a, int a_numa, const std::string& b, int b_numa);

}  // namespace mk::rt::net
