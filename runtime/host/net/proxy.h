// The CPU's part of one lane of inter_send: a thread that takes commands from the FIFOs of all kernels, makes writes of
// them, and tells the kernels what it has taken and what has been read.
#pragma once
#include <atomic>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "backend.h"
#include "mk/net.h"

namespace mk::rt::net {

class Proxy final : private Events {
 public:
  struct Source {
    Fifo* fifo;
    uint32_t first_word;  // of this kernel's inbox, counted over all kernels
    uint32_t words;
  };
  struct World {
    const uint32_t* health;                             // nonzero: this world has ended
    std::function<void(const std::string& why)> failed; // called at most once, from the thread
    std::function<void()> ended;                        // the same, when health says so
    uint64_t* inbox;                                    // where words_by_cpu puts words, else null
    uint64_t heap_bytes;
    uint32_t node, nodes;                               // of this rank, and of the world
    uint64_t timeout_ms;
    bool patient;                                       // sleep early: CPUs are what the kernels run on
    std::string cpus;                                   // to run on, as in /sys; empty: any
    const Left* left = nullptr;                         // writes to these nodes are for nobody: done, and not sent
  };

  Proxy(std::unique_ptr<Backend> backend, std::vector<Source> sources, World world);
  ~Proxy();  // at once
  Backend& backend() { return *backend_; }
  void start();
  // Returns when all that the kernels have pushed is with the peers, or the world has ended. Peers are served on.
  void drain();

 private:
  struct Flow;
  void run() noexcept;
  void serve();
  bool take();
  bool post();
  bool take(size_t kernel);
  void check(const Command& command, const Source& source) const;
  void done(uint64_t id) override;
  void arrived(uint32_t slot, uint32_t words, uint64_t value) override;
  bool idle() const { return !held_ && writing_.empty(); }

  struct Writing {
    uint64_t id;
    size_t kernel;
    uint32_t ticket;  // last of its commands
    bool done;
  };
  std::unique_ptr<Backend> backend_;
  const std::vector<Source> sources_;
  const World world_;
  std::vector<uint32_t> taken_;   // commands of each FIFO
  std::deque<Writing> writing_;   // posted, in order; those in front that are done leave
  Write next_{};                  // made of commands, and not yet accepted by the backend
  size_t next_kernel_ = 0;
  bool held_ = false;             // next_ waits for room
  uint64_t ids_ = 0;
  bool progress_ = false;
  std::atomic<bool> draining_{false}, drained_{false}, stop_{false};
  std::thread thread_;
};

}  // namespace mk::rt::net
