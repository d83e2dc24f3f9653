#include "blob.h"

#include <unistd.h>

#include <fstream>
#include <sstream>

#include "fail.h"

namespace mk::rt {
namespace {

std::string line_of(const char* path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

// Field 22 of /proc/self/stat; the name in field 2 may hold blanks, so count from its closing bracket.
uint64_t process_start() {
  std::string stat = line_of("/proc/self/stat");
  std::istringstream rest(stat.substr(stat.rfind(')') + 1));
  std::string field;
  for (int i = 3; i <= 22; ++i) rest >> field;
  return std::strtoull(field.c_str(), nullptr, 10);
}

// Both ranks and what each of them is or has, the lower rank first, so that every rank says the same.
template <class Tell> std::string both(const Blob& own, const Blob& peer, Tell&& tell) {
  const Blob &low = own.rank < peer.rank ? own : peer, &high = own.rank < peer.rank ? peer : own;
  return say("rank %d %s, rank %d %s", low.rank, tell(low).c_str(), high.rank, tell(high).c_str());
}

// Throws unless both ranks tell the same.
template <class Tell>
void same(const Blob& own, const Blob& peer, const std::string& of, const char* advice, Tell&& tell) {
  if (tell(own) != tell(peer)) fail(MK_EMISMATCH, of + both(own, peer, tell) + ": " + advice);
}

constexpr const char* kSameKernels = "open the same kernels in the same order on every rank";
constexpr const char* kSameLibrary = "generate and build once and give every rank the same library";

void check_peer(const Blob& own, const Blob& peer) {
  same(own, peer, "libmkrt: ", "give every rank the same build of libmkrt",
       [](const Blob& b) { return say("has runtime 0x%016lx", b.runtime); });
  same(own, peer, "", "give every rank the same world size",
       [](const Blob& b) { return say("was opened with world = %d", b.world); });
  const int nodes = own.kernels[0].nodes;
  const auto host = [](const Blob& b) { return say("is on host %.64s", b.host); };
  if (!same_machine(own, peer) && (node_of(own) == node_of(peer) || own.kernels[0].backend == MK_BACKEND_SHM))
    fail(MK_EUNAVAILABLE, both(own, peer, host) + (node_of(own) == node_of(peer)
             ? say(": these kernels are for %d node%s of %d ranks; start ranks %d to %d on one machine, or set [topology] in the spec",
                   nodes, nodes == 1 ? "" : "s", own.world / nodes, node_of(own) * (own.world / nodes), (node_of(own) + 1) * (own.world / nodes) - 1)
             : std::string(": INTERNODE_BACKEND_SHM joins nodes on one machine; choose another [backend] macro")));
  same(own, peer, "device kinds differ: ", "open all ranks for one target", [](const Blob& b) {
    return std::string(b.device_kind == MK_DEVICE_CUDA ? "runs on CUDA" : "runs on the host");
  });
  same(own, peer, "", kSameKernels, [](const Blob& b) { return say("opened %u kernels", b.kernel_count); });
  for (uint32_t i = 0; i < own.kernel_count; ++i) {
    same(own, peer, say("kernel %u of the world: ", i), kSameKernels,
         [i](const Blob& b) { return say("opened %.64s", b.kernels[i].name); });
    std::string kernel = say("kernel %.64s: ", own.kernels[i].name);
    same(own, peer, kernel, kSameLibrary, [i](const Blob& b) { return say("has plan 0x%016lx", b.kernels[i].abi); });
    same(own, peer, kernel, kSameLibrary,
         [i](const Blob& b) { return say("needs %lu bytes of heap", b.kernels[i].heap_bytes); });
    same(own, peer, kernel, kSameLibrary, [i](const Blob& b) {
      const mk_kernel_need& k = b.kernels[i];
      return say("is for %d nodes, backend %d, %d lanes, %u inbox words", k.nodes, k.backend, k.lanes, k.inbox_words);
    });
  }
  same(own, peer, "", "their devices allocate in different units; use devices of one kind",
       [](const Blob& b) { return say("has a heap of %lu bytes", b.heap_bytes); });
}

}  // namespace

void sign(Blob& blob) {
  blob.pid = ::getpid();
  blob.start = process_start();
  ::gethostname(blob.host, sizeof blob.host - 1);
  std::string boot = line_of("/proc/sys/kernel/random/boot_id");
  std::snprintf(blob.boot, sizeof blob.boot, "%s", boot.empty() ? blob.host : boot.c_str());
}

bool same_machine(const Blob& a, const Blob& b) { return !std::strncmp(a.boot, b.boot, sizeof a.boot); }
bool same_process(const Blob& a, const Blob& b) { return a.pid == b.pid && a.start == b.start && same_machine(a, b); }
int node_of(const Blob& blob) { return blob.rank / (blob.world / blob.kernels[0].nodes); }

void check_blobs(const Blob& own, const std::vector<Blob>& all) {
  for (size_t i = 0; i < all.size(); ++i) {
    const Blob& peer = all[i];
    if (peer.magic != kBlobMagic || peer.size != sizeof(Blob))
      fail(MK_EMISMATCH, say("blob %zu is not one of this libmkrt: hand over every rank's bytes from mk_blob, "
                             "unchanged, and give every rank the same build of libmkrt",
                             i));
    if (peer.rank != int32_t(i))
      fail(MK_EINVAL, say("blob %zu comes from rank %d: hand the blobs over in rank order", i, peer.rank));
    if (peer.rank == own.rank && std::memcmp(&peer, &own, sizeof own))
      fail(MK_EINVAL, say("blob %zu is from another world that was opened as rank %d: exchange the blobs of one "
                          "opening, and give every rank its own number",
                          i, own.rank));
    if (peer.rank != own.rank) check_peer(own, peer);
  }
}

}  // namespace mk::rt
