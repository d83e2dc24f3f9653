#include "network.h"

#include <algorithm>
#include <cstring>

#include "../fail.h"
#include "cpus.h"
#include "log.h"

namespace mk::rt::net {

constexpr const char* kStepNames[] = {"takes", "ready"};  // as peers are told

uint64_t Network::inbox_bytes(const std::vector<mk_kernel_need>& kernels) {
  uint64_t words = 0;
  for (const mk_kernel_need& k : kernels) words += k.inbox_words;
  return words * sizeof(uint64_t);
}

Network::Network(const World& world, Device& device, std::shared_ptr<Memory> heap, uint64_t inbox_offset, Blob& blob)
    : world_(world), device_(device), heap_(std::move(heap)), backend_(world.kernels->front().backend), lanes_(0),
      local_(world.world / world.nodes), lines_(world.rank, blob.token, backend_ == MK_BACKEND_SHM) {
  uint32_t words = 0;
  for (const mk_kernel_need& k : *world_.kernels) {
    lanes_ = std::max(lanes_, k.lanes);
    first_word_.push_back(words);
    words += k.inbox_words;
  }
  if (words_by_cpu(backend_)) inbox_ = std::make_unique<Pinned>(device_, std::max<uint64_t>(words, 1) * sizeof(uint64_t));
  inbox_device_ = reinterpret_cast<uint64_t*>(inbox_ ? inbox_->there() : heap_->base() + inbox_offset);
  fifos_ = std::make_unique<Pinned>(device_, world_.kernels->size() * size_t(lanes_) * sizeof(Fifo));
  auto* inbox = inbox_ ? reinterpret_cast<uint64_t*>(inbox_->host()) : nullptr;
  const std::string cpus = cpus_near(device_.pci());
  for (int lane = 0; lane < lanes_; ++lane) {
    Site site{};
    site.rank = world_.rank;
    site.node = world_.rank / local_;
    site.nodes = world_.nodes;
    site.index = world_.rank % local_;
    site.lane = lane;
    site.device = &device_;
    site.heap = heap_.get();
    site.inbox_offset = inbox ? 0 : inbox_offset;
    site.inbox_words = words;
    site.timeout_ms = world_.timeout_ms;
    site.left = &left_;
    site.stop = world_.stop;
    std::vector<Proxy::Source> sources;
    for (size_t k = 0; k < world_.kernels->size(); ++k)
      sources.push_back({reinterpret_cast<Fifo*>(fifos_->host()) + k * size_t(lanes_) + size_t(lane), first_word_[k], (*world_.kernels)[k].inbox_words});
    Proxy::World around{device_.health(), [this](const std::string& why) { failed(world_.rank, why); }, [this] { tell(world_.last_words()); },
                        inbox, heap_->bytes(), uint32_t(site.node), uint32_t(site.nodes), world_.timeout_ms, blob.device_kind == MK_DEVICE_HOST, cpus, &left_};
    proxies_.push_back(std::make_unique<Proxy>(make_backend(backend_, site), std::move(sources), std::move(around)));
    blob.cards[lane] = proxies_.back()->backend().card();
  }
  blob.line = lines_.address();
}

Network::~Network() {
  for (auto& proxy : proxies_) proxy->drain();
  if (!over()) lines_.part(world_.timeout_ms, [this] { return over(); });
  proxies_.clear();
}

bool Network::over() const { return std::atomic_ref(*device_.health()).load(std::memory_order_acquire); }

std::vector<int> Network::peers() const {
  std::vector<int> ranks;
  for (int rank = world_.rank % local_; rank < world_.world; rank += local_)
    if (rank != world_.rank) ranks.push_back(rank);
  return ranks;
}

void Network::meet(const std::vector<Blob>& all) {
  std::vector<Lines::Peer> lines;
  for (int rank : peers()) lines.push_back({rank, rank / local_, all[size_t(rank)].line, all[size_t(rank)].token});
  lines_.connect(lines, world_.timeout_ms, world_.stop);
  world_.stop->check();
  lines_.listen(
      [this](int rank, std::string message) {
        Farewell words;
        for (int step = 0; step < kSteps; ++step)
          if (message == kStepNames[step]) reached_[step].fetch_or(1u << rank / local_, std::memory_order_release);
        if (message.size() != sizeof words) return;
        std::memcpy(&words, message.data(), sizeof words);
        words.why[sizeof words.why - 1] = 0;
        if (words.magic == Farewell::kMagic) world_.give_up(words);
      },
      [this](int rank, std::string why) { failed(rank, say("the connection to rank %d ended: %s", rank, why.c_str())); },
      [this](int rank) { left_.add(rank / local_); });
}

void Network::connect(const std::vector<Blob>& all, const std::vector<std::shared_ptr<Memory>>& heaps) {
  std::vector<std::vector<Peer>> others{size_t(lanes_)};  // of each lane
  for (size_t lane = 0; lane < others.size(); ++lane) {
    for (int rank : peers()) others[lane].push_back({rank, rank / local_, all[size_t(rank)].cards[lane], heaps[size_t(rank)]});
    proxies_[lane]->backend().connect(others[lane]);
  }
  reach(kTakes);
  for (size_t lane = 0; lane < others.size(); ++lane) proxies_[lane]->backend().greet(others[lane]);
  reach(kReady);
  for (auto& proxy : proxies_) proxy->start();
}

void Network::reach(Step step) {
  lines_.tell(kStepNames[step]);
  const auto missing = [&] {  // a rank that is not so far, or -1
    for (int rank : peers())
      if (!(reached_[step].load(std::memory_order_acquire) >> rank / local_ & 1)) return rank;
    return -1;
  };
  const auto left = [&] { return missing() >= 0 && left_.has(missing() / local_); };
  if (!lines_.wait(world_.timeout_ms, [&] { return missing() < 0 || left() || world_.stop->raised(); }))
    fail(MK_EABORTED, say("rank %d is connected, but rank %d was not within %lu ms: it is stuck. Close this world and open a new one on all ranks",
                          world_.rank, missing(), world_.timeout_ms));
  world_.stop->check();
  if (left()) fail(MK_EABORTED, say("rank %d has closed its world already; open a new one on all ranks", missing()));
}

void Network::failed(int peer, const std::string& why) {
  Farewell words(world_.rank, Role::kProxy, Wanted::kNetwork, why);
  words.report.peer = uint32_t(peer);
  world_.give_up(words);
  tell(words);
}

void Network::tell(const Farewell& words) noexcept {
  std::lock_guard lock(telling_);
  if (!told_) told_ = lines_.tell(std::string(reinterpret_cast<const char*>(&words), sizeof words));
}

void* Network::fifo(size_t kernel, int lane) const { return fifos_->there() + (kernel * size_t(lanes_) + size_t(lane)) * sizeof(Fifo); }
uint64_t* Network::inbox(size_t kernel) const { return inbox_device_ + first_word_[kernel]; }

}  // namespace mk::rt::net
