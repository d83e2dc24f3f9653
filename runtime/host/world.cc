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
  const mk_kernel_need& first = o.kernels[0];
  if (first.nodes < 1 || first.nodes > kMaxNodes || o.world % first.nodes || o.world / first.nodes > 8)
    fail(MK_EINVAL, say("kernel %.63s is for %d nodes, the world has %d ranks: 1 to %d nodes of 1 to 8 ranks each", first.name, first.nodes,
                        o.world, kMaxNodes));
  for (uint32_t i = 0; i < o.kernel_count; ++i) {
    const mk_kernel_need& k = o.kernels[i];
    if (k.nodes != first.nodes || k.backend != first.backend)
      fail(MK_EINVAL, say("kernel %.63s is for %d nodes over %s, kernel %.63s for %d over %s: a world has one [topology] and one [backend]",
                          first.name, first.nodes, net::macro_of(first.backend), k.name, k.nodes, net::macro_of(k.backend)));
    if (k.nodes > 1 ? k.lanes < 1 || k.lanes > kMaxLanes || k.inbox_words > 1u << 28 : k.lanes != 0 || k.inbox_words != 0)
      fail(MK_EINVAL, say("kernel %.63s: %d lanes and %u inbox words do not fit %d nodes; take both from its generated header", k.name, k.lanes,
                          k.inbox_words, k.nodes));
    if (!k.name[0] || ::strnlen(k.name, MK_NAME_LEN) == MK_NAME_LEN)
      fail(MK_EINVAL, say("kernel %u: its name must have 1 to %d bytes and end with NUL", i, MK_NAME_LEN - 1));
    if (k.heap_bytes % 256 || k.heap_bytes < sizeof(Control) || k.heap_bytes > uint64_t(1) << 48)
      fail(MK_EINVAL, say("kernel %s: heap_bytes is %lu: it must be a multiple of 256 and hold Control (%zu)", k.name,
                          k.heap_bytes, sizeof(Control)));
  }
  return o;
}

std::string apart(const Blob& user, const Blob& owner, const std::string& why) {
  return say("rank %d on %s cannot access the memory of rank %d on %s: %s; choose devices joined by NVLink or one PCIe root "
             "(nvidia-smi topo -p2p r)",
             user.rank, user.device_name, owner.rank, owner.device_name, why.c_str());
}

}  // namespace

mk_world::mk_world(const mk_options& o)
    : rank_(checked(o).rank),
      world_(o.world),
      nodes_(o.kernels[0].nodes),
      timeout_ms_(o.timeout_ms ? o.timeout_ms : 30000),
      kernels_(o.kernels, o.kernels + o.kernel_count),
      device_(o.device_kind == MK_DEVICE_CUDA ? cuda_device(o.device) : host_device()) {
  uint64_t bytes = 0;
  for (const mk_kernel_need& k : kernels_) {
    offsets_.push_back(bytes);
    bytes += k.heap_bytes;
  }
  const uint64_t inbox = bytes;
  if (nodes_ > 1) bytes += (net::Network::inbox_bytes(kernels_) + 255) / 256 * 256;
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
  uint64_t mapping = 0;  // ranks that will
  for (int r = 0; r < world_; ++r)
    if (r != rank_ && maps(r)) mapping |= uint64_t(1) << r;
  if (nodes_ > 1) {
    net::Network::World around{rank_, world_, nodes_, &kernels_, timeout_ms_,
                               [this](const Farewell& words) { guarded(nullptr, 0, [&] { give_up(words); }); },
                               [this] { return last_words(); }, &stop_};
    network_ = std::make_unique<net::Network>(around, *device_, own_, inbox, blob_);
  }
  if (mapping) {
    offer_ = std::make_unique<Offer>(own_->share(), blob_.token, mapping,
                                     [this](const Farewell& words) { guarded(nullptr, 0, [&] { end(words); }); });
    std::snprintf(blob_.socket, sizeof blob_.socket, "%s", offer_->socket().c_str());
  }
  neighbours::add(blob_.token, own_);
}

mk_world::~mk_world() {
  device_->idle();
  offer_.reset();
  network_.reset();
  neighbours::remove(blob_.token);
}

void mk_world::connect(const void* blobs, size_t len) {
  if (len != sizeof(Blob)) fail(MK_EINVAL, say("blobs of %zu bytes: mk_blob gives %zu a rank", len, sizeof(Blob)));
  if (!heaps_.empty()) fail(MK_EINVAL, "this world is connected already: open a new one");
  std::vector<Blob> all(world_);
  std::memcpy(all.data(), blobs, world_ * sizeof(Blob));
  check_blobs(blob_, all);

  {
    std::lock_guard lock(mutex_);
    for (const Blob& peer : all)
      if (peer.rank != rank_ && peer.rank / local() == rank_ / local()) near_.push_back(peer);
  }
  try {
    join(all);
  } catch (const Fail& f) {
    // A peer that is gone has said why before it went, unless it died: its words may still be on their way.
    const bool told = stop_.raised(f.status == MK_EABORTED ? 1000 : 0);
    end(Farewell(rank_, Role::kHost, Wanted::kJoin, f.text));
    if (told) stop_.check();
    throw;
  }
}

void mk_world::join(const std::vector<Blob>& all) {
  stop_.check();
  if (network_) network_->meet(all);
  std::vector<std::shared_ptr<Memory>> heaps = map(all);
  {
    std::lock_guard lock(mutex_);
    heaps_ = heaps;
  }
  if (network_) network_->connect(all, heaps);
  stop_.check();
}

// The heaps of all ranks that this one maps, by rank.
std::vector<std::shared_ptr<Memory>> mk_world::map(const std::vector<Blob>& all) {
  std::vector<std::shared_ptr<Memory>> heaps(world_);
  std::vector<const Blob*> far;
  std::vector<int> near;
  uint64_t near_mask = 0;
  for (const Blob& peer : all) {
    if (!maps(peer.rank)) continue;
    if (!device_->reaches(peer.device_id))
      fail(MK_EUNAVAILABLE, apart(blob_, peer, "no peer access between them"));
    if (!same_process(blob_, peer)) {
      far.push_back(&peer);
      continue;
    }
    heaps[peer.rank] = peer.rank == rank_ ? own_ : neighbours::find(peer.token);
    if (!heaps[peer.rank])
      fail(MK_EABORTED, say("rank %d has closed its world already; open a new one on all ranks", peer.rank));
    near.push_back(peer.rank);
    near_mask |= uint64_t(1) << peer.rank;
  }
  // All pairs at once, so that nothing is left to change by the time the first rank launches.
  for (int owner : near)
    for (int user : near) try {
        heaps[owner]->allow(all[user].device);
      } catch (const Fail& f) {
        fail(f.status, apart(all[user], all[owner], f.text));
      }
  if (offer_) offer_->settled(near_mask);
  std::vector<Fd> fds = collect(rank_, far, timeout_ms_, stop_);
  for (size_t i = 0; i < far.size(); ++i) heaps[far[i]->rank] = device_->import(fds[i], far[i]->heap_bytes);
  return heaps;
}

// Heaps that this rank maps: of its node, and where all nodes are one machine, of its peers.
bool mk_world::maps(int peer) const {
  if (peer / local() == rank_ / local()) return true;
  return kernels_.front().backend == MK_BACKEND_SHM && peer % local() == rank_ % local();
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
  for (int r = first(); r < first() + local(); ++r) v.heap[r] = control(*heaps_[r], kernel);
  v.nodes = nodes_;
  v.lanes = kernels_[kernel].lanes;
  v.region = offsets_[kernel];
  for (int lane = 0; lane < v.lanes; ++lane) v.fifo[lane] = network_->fifo(kernel, lane);
  if (network_) v.inbox = network_->inbox(kernel);
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
    Report report;
    if (!read_report(k, report)) continue;
    std::string reason;
    {
      std::lock_guard lock(mutex_);
      reason = reason_;
    }
    fail(MK_EABORTED, say("kernel %s: ", kernels_[k].name) + sentence(report, rank_, timeout_ms_, reason));
  }
  stop_.check();  // another rank may still be writing the report that it was first to claim
  fail(MK_EABORTED, say("rank %u gave up and left no report; close this world and open a new one", health - 1));
}

void mk_world::abort(const char* reason) {
  end(Farewell(rank_, Role::kHost, Wanted::kAbort, reason && *reason ? reason : "no reason given"));
}

// Ends this world on all ranks.
void mk_world::end(const Farewell& words) {
  give_up(words);
  if (network_) network_->tell(last_words());
}

// Ends it on this node. The first to do so is believed, and told to those whose heaps are not mapped yet. Report first, then
// the words that end the waits: whoever sees the word finds the report.
void mk_world::give_up(const Farewell& words) {
  std::vector<Blob> near;
  {
    std::lock_guard lock(mutex_);
    if (reason_.empty()) reason_ = words.why;
    for (size_t k = 0; k < kernels_.size(); ++k)
      for (int r = first(); r < first() + local(); ++r)
        if (r == rank_ || !heaps_.empty()) abort_one(*control(r == rank_ ? *own_ : *heaps_[r], k), words.report);
    stop_.raise(sentence(words.report, rank_, timeout_ms_, words.why));
    std::atomic_ref(*device_->health()).store(uint32_t(words.report.reporter) + 1, std::memory_order_release);
    near.swap(near_);
  }
  if (near.empty()) return;
  const Farewell told = last_words();
  for (const Blob& peer : near) tell(peer, told);
}

Farewell mk_world::last_words() {
  Farewell words(rank_, Role::kHost, Wanted::kAbort, "");
  for (size_t k = 0; k < kernels_.size(); ++k)
    if (read_report(k, words.report)) break;
  std::lock_guard lock(mutex_);
  std::snprintf(words.why, sizeof words.why, "%s", reason_.c_str());
  return words;
}

// The report of one kernel; false where there is none.
bool mk_world::read_report(size_t kernel, Report& report) {
  Control* c = control(*own_, kernel);
  if (!device_->load(&c->report.complete)) return false;
  constexpr size_t skip = offsetof(Report, reporter);  // what stands before it is written by others at any time
  device_->peek(reinterpret_cast<std::byte*>(&report) + skip, reinterpret_cast<std::byte*>(&c->report) + skip, sizeof report - skip);
  return true;
}

void mk_world::abort_one(Control& control, const Report& report) {
  if (device_->claim(&control.report.claimed)) {
    // All but `claimed` and `complete`, which others may be looking at.
    constexpr size_t skip = offsetof(Report, reporter);
    device_->poke(reinterpret_cast<std::byte*>(&control.report) + skip, reinterpret_cast<const std::byte*>(&report) + skip,
                  sizeof report - skip);
    device_->store(&control.report.complete, 1);
  }
  device_->store(&control.abort, report.reporter + 1);
}
