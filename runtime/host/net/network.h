// What a world of several nodes has beside its heap: FIFOs and proxies, the inbox, and the lines to its peers.
#pragma once
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "../blob.h"
#include "../device.h"
#include "../event.h"
#include "../farewell.h"
#include "../pinned.h"
#include "lines.h"
#include "mk/protocol.h"
#include "proxy.h"

namespace mk::rt::net {

class Network {
 public:
  struct World {
    int rank, world, nodes;
    const std::vector<mk_kernel_need>* kernels;
    uint64_t timeout_ms;
    // Ends the world on this node, from a thread of the network. The first to do so is believed.
    std::function<void(const Farewell&)> give_up;
    std::function<Farewell()> last_words;  // of this rank, once health says that it has given up
    const Stop* stop;                      // raised once the world is over
  };

  // Makes what can be made before the peers are known, and puts it into the blob. heap holds inbox_bytes from inbox_offset on.
  Network(const World& world, Device& device, std::shared_ptr<Memory> heap, uint64_t inbox_offset, Blob& blob);
  // In order: completes what the kernels have pushed, says goodbye, and stays for the peers until they have said it too, so
  // that none of their writes finds nobody; the world's timeout at most. At once where the world has ended.
  ~Network();

  // Before anything else that may fail: from then on the peers can be told of it. Returns when all peers have come.
  void meet(const std::vector<Blob>& all);
  // After meet. Returns when every peer's backends are connected.
  void connect(const std::vector<Blob>& all, const std::vector<std::shared_ptr<Memory>>& heaps);
  // Of connecting: this rank's backends take writes; they have tried the ways to all peers.
  enum Step { kTakes, kReady, kSteps };
  void* fifo(size_t kernel, int lane) const;  // as the device addresses it
  uint64_t* inbox(size_t kernel) const;
  void tell(const Farewell& words) noexcept;  // to all peers, once

  static uint64_t inbox_bytes(const std::vector<mk_kernel_need>& kernels);

 private:
  std::vector<int> peers() const;                 // their ranks, ascending
  void failed(int peer, const std::string& why);  // ends the world on all ranks
  void reach(Step step);                          // says so, and waits until all peers have said it
  bool over() const;

  const World world_;
  Device& device_;
  std::shared_ptr<Memory> heap_;
  int backend_, lanes_, local_;
  std::unique_ptr<Pinned> fifos_, inbox_;  // no inbox_ where the words lie in the heap
  uint64_t* inbox_device_;
  std::vector<uint32_t> first_word_;       // of each kernel
  std::vector<std::unique_ptr<Proxy>> proxies_;
  std::mutex telling_;
  bool told_ = false;
  std::atomic<uint32_t> reached_[kSteps]{};  // bit masks of the nodes whose peer has reached a step
  Left left_;
  Lines lines_;  // goes first: its thread uses the rest
};

}  // namespace mk::rt::net
