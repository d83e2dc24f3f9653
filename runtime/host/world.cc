#include "world.h"

#include <sys/random.h>

#include <atomic>
#include <cstring>

#include "fail.h"
#include "mk/version.h"
#include "neighbours.h"
#include "report.h"

using namespace mk;
using namespace mk::rt;

namespace {

const mk_options& checked(const mk_options& o) {
  if (o.size != sizeof o)
    fail(MK_EINVAL,
         say("mk_options.size is %u, this libmkrt's is %zu: build against its own mk/abi.h", o.size, sizeof o));
  if (o.world < 1 || o.world > MK_MAX_WORLD)
    fail(MK_EINVAL, say("world is %d: it must be 1 to %d", o.world, MK_MAX_WORLD));
  if (o.rank < 0 || o.rank >= o.world) fail(MK_EINVAL, say("rank is %d: it must be 0 to %d", o.rank, o.world - 1));
  if (o.device_kind != MK_DEVICE_HOST && o.device_kind != MK_DEVICE_CUDA)
    fail(MK_EINVAL, say("device_kind is %d: it must be MK_DEVICE_HOST (0) or MK_DEVICE_CUDA (1)", o.device_kind));
  if (o.timeout_ms > UINT64_MAX / 1000000)
    fail(MK_EINVAL, say("timeout_ms is %lu: the largest is %lu", o.timeout_ms, UINT64_MAX / 1000000));
  if (!o.kernels || o.kernel_count < 1 || o.kernel_count > kMaxKernels)
    fail(MK_EINVAL,
         say("kernel_count is %u: a world has 1 to %u kernels", o.kernels ? o.kernel_count : 0, kMaxKernels));
  for (uint32_t i = 0; i < o.kernel_count; ++i) {
    const mk_kernel_need& k = o.kernels[i];
    if (!k.name[0] || ::strnlen(k.name, MK_NAME_LEN) == MK_NAME_LEN)
      fail(MK_EINVAL, say("kernel %u: its name must have 1 to %d bytes and end with NUL", i, MK_NAME_LEN - 1));
    if (k.heap_bytes % 256 || k.heap_bytes < sizeof(Control) || k.heap_bytes > uint64_t(1) << 48)
      fail(MK_EINVAL, say("kernel %s: heap_bytes is %lu: it must be a multiple of 256 and hold Control (%zu)", k.name,
                          k.heap_bytes, sizeof(Control)));
  }
  return o;
}

}  // namespace

mk_world::mk_world(const mk_options& o)
    : rank_(checked(o).rank),
      world_(o.world),
      timeout_ms_(o.timeout_ms ? o.timeout_ms : 30000),
      kernels_(o.kernels, o.kernels + o.kernel_count),
      device_(o.device_kind == MK_DEVICE_CUDA ? cuda_device(o.device) : host_device()) {
  uint64_t bytes = 0;
  for (const mk_kernel_need& k : kernels_) {
    offsets_.push_back(bytes);
    bytes += k.heap_bytes;
  }
  own_ = device_->create(bytes);

  blob_.magic = kBlobMagic;
  blob_.size = sizeof blob_;
  blob_.rank = rank_;
  blob_.world = world_;
  blob_.device_kind = o.device_kind;
  blob_.device = o.device;
  blob_.runtime = MK_RUNTIME_HASH;
  blob_.heap_bytes = own_->bytes();
  blob_.device_id = device_->id();
  std::snprintf(blob_.device_name, sizeof blob_.device_name, "%s", device_->name().c_str());
  sign(blob_);
  if (::getrandom(blob_.token.data(), blob_.token.size(), 0) != ssize_t(blob_.token.size())) fail_errno("getrandom");
  blob_.kernel_count = o.kernel_count;
  std::memcpy(blob_.kernels, kernels_.data(), kernels_.size() * sizeof *blob_.kernels);
  if (world_ > 1) {
    uint32_t everybody = (1u << world_) - 1;
    offer_ = std::make_unique<Offer>(own_->share(), blob_.token, everybody & ~(1u << rank_));
    std::snprintf(blob_.socket, sizeof blob_.socket, "%s", offer_->socket().c_str());
  }
  neighbours::add(blob_.token, own_);
}

mk_world::~mk_world() {
  device_->idle();
  neighbours::remove(blob_.token);
}

void mk_world::connect(const void* blobs, size_t len) {
  if (len != sizeof(Blob)) fail(MK_EINVAL, say("blobs of %zu bytes: mk_blob gives %zu a rank", len, sizeof(Blob)));
  if (!heaps_.empty()) fail(MK_EINVAL, "this world is connected already: open a new one");
  std::vector<Blob> all(world_);
  std::memcpy(all.data(), blobs, world_ * sizeof(Blob));
  check_blobs(blob_, all);

  std::vector<std::shared_ptr<Memory>> heaps(world_);
  std::vector<const Blob*> far;
  std::vector<int> near;
  uint32_t near_mask = 0;
  for (const Blob& peer : all) {
    if (!device_->reaches(peer.device_id))
      fail(MK_EUNAVAILABLE, say("rank %d on %s cannot access the memory of rank %d on %s: no peer access between them; "
                                "choose devices joined by NVLink or one PCIe root (nvidia-smi topo -p2p r)",
                                rank_, blob_.device_name, peer.rank, peer.device_name));
    if (!same_process(blob_, peer)) {
      far.push_back(&peer);
      continue;
    }
    heaps[peer.rank] = peer.rank == rank_ ? own_ : neighbours::find(peer.token);
    if (!heaps[peer.rank])
      fail(MK_EABORTED, say("rank %d has closed its world already; open a new one on all ranks", peer.rank));
    near.push_back(peer.rank);
    near_mask |= 1u << peer.rank;
  }
  // All pairs at once, so that nothing is left to change by the time the first rank launches.
  for (int owner : near)
    for (int user : near) heaps[owner]->allow(all[user].device);
  if (offer_) offer_->settled(near_mask);
  std::vector<Fd> fds = collect(rank_, far, timeout_ms_, aborted_);
  for (size_t i = 0; i < far.size(); ++i) heaps[far[i]->rank] = device_->import(fds[i], far[i]->heap_bytes);

  std::lock_guard lock(mutex_);
  heaps_ = std::move(heaps);
}

mk_view mk_world::view(uint32_t kernel) const {
  if (heaps_.empty()) fail(MK_EINVAL, "this world is not connected: call mk_connect first");
  if (kernel >= kernels_.size()) fail(MK_EINVAL, say("kernel %u of %zu: count from 0", kernel, kernels_.size()));
  mk_view v{};
  v.size = sizeof v;
  v.rank = rank_;
  v.world = world_;
  v.device_kind = blob_.device_kind;
  v.device = blob_.device;
  v.runtime = MK_RUNTIME_HASH;
  v.timeout_ns = timeout_ms_ * 1000000;
  v.abi = kernels_[kernel].abi;
  v.heap_bytes = kernels_[kernel].heap_bytes;
  for (int r = 0; r < world_; ++r) v.heap[r] = control(*heaps_[r], kernel);
  v.health = device_->health();
  v.health_device = device_->health_device();
  return v;
}

Control* mk_world::control(const Memory& heap, size_t kernel) const {
  return reinterpret_cast<Control*>(heap.base() + offsets_[kernel]);
}

void mk_world::check() {
  uint32_t health = std::atomic_ref(*device_->health()).load(std::memory_order_acquire);
  if (!health) return;
  for (size_t k = 0; k < kernels_.size(); ++k) {
    Control* c = control(*own_, k);
    if (!device_->load(&c->report.complete)) continue;
    Report report;
    constexpr size_t skip = offsetof(Report, reporter);  // what stands before it is written by others at any time
    device_->peek(reinterpret_cast<std::byte*>(&report) + skip, reinterpret_cast<std::byte*>(&c->report) + skip,
                  sizeof report - skip);
    std::string reason;
    {
      std::lock_guard lock(mutex_);
      reason = reason_;
    }
    fail(MK_EABORTED, say("kernel %s: ", kernels_[k].name) + sentence(report, rank_, timeout_ms_, reason));
  }
  fail(MK_EABORTED, say("rank %u gave up and left no report; close this world and open a new one", health - 1));
}

// Report first, then the words that end the waits: whoever sees the word finds the report.
void mk_world::abort(const char* reason) {
  aborted_.raise();
  std::lock_guard lock(mutex_);
  if (reason_.empty()) reason_ = reason && *reason ? reason : "no reason given";
  for (size_t k = 0; k < kernels_.size(); ++k)
    for (int r = 0; r < world_; ++r)
      if (r == rank_ || !heaps_.empty()) abort_one(*control(r == rank_ ? *own_ : *heaps_[r], k));
  std::atomic_ref(*device_->health()).store(uint32_t(rank_) + 1, std::memory_order_release);
}

void mk_world::abort_one(Control& control) {
  if (device_->claim(&control.report.claimed)) {
    Report report{};
    report.claimed = 1;
    report.reporter = uint32_t(rank_);
    report.role = Role::kHost;
    report.wanted = Wanted::kAbort;
    // All but `claimed` and `complete`, which others may be looking at.
    constexpr size_t skip = offsetof(Report, reporter);
    device_->poke(reinterpret_cast<std::byte*>(&control.report) + skip, reinterpret_cast<std::byte*>(&report) + skip,
                  sizeof report - skip);
    device_->store(&control.report.complete, 1);
  }
  device_->store(&control.abort, uint32_t(rank_) + 1);
}
