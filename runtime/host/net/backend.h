// A transport between nodes, as the proxy uses it. One file each: backend_shm.cc, backend_tcp.cc, backend_ibverbs.cc,
// backend_efa.cc. A Backend serves one lane: it is made and connected by the thread that opens the world, then used by one
// proxy thread alone. It throws Fail with a sentence; a Fail out of post or poll ends the world on all ranks.
//
// A write is `bytes` from this rank's heap into a peer's heap, and then one inbox word there. The word must not be seen
// before the bytes are (protocol rule 3), nor must one write wait for another (SRD reorders). Inbox words only grow: of two
// values for one slot the larger stays, whatever the order in which they come.
#pragma once
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "../device.h"
#include "../event.h"
#include "../heap.h"
#include "card.h"
#include "mk/net.h"

namespace mk::rt::net {

struct Write {
  int node;             // of the peer
  uint64_t from, to;    // offsets in the two heaps
  uint64_t bytes;       // 0: only the word
  uint32_t slot;        // first inbox word, counted over all kernels of the world
  uint32_t words;       // inbox words from slot on that get the value: writes that lie one after the other are one (1 or more)
  uint64_t value;
  uint64_t id;          // of this write; ascending from 1
};

// What a backend finds out in poll.
class Events {
 public:
  // The source of write `id` may be overwritten. In any order; saying it twice does no harm.
  virtual void done(uint64_t id) = 0;
  // For backends whose words a CPU delivers (words_by_cpu): the bytes of a peer's write are in place, for loads by the
  // device too; these words may be set.
  virtual void arrived(uint32_t slot, uint32_t words, uint64_t value) = 0;

 protected:
  ~Events() = default;
};

// Nodes whose peer has said goodbye: no kernel there waits for anything, so a write that does not get there is no failure.
class Left {
 public:
  void add(int node) { nodes_.fetch_or(1u << node, std::memory_order_release); }
  bool has(int node) const { return nodes_.load(std::memory_order_acquire) >> node & 1; }

 private:
  std::atomic<uint32_t> nodes_{0};
};

// What a backend is made from. All of it outlives the backend.
struct Site {
  int rank, node, nodes;  // nodes <= kMaxNodes
  int index;              // of the rank in its node
  int lane;
  Device* device;
  Memory* heap;           // this rank's
  uint64_t inbox_offset;  // of the words in the heap, all kernels'; 0 where the CPU sets them elsewhere (words_by_cpu)
  uint32_t inbox_words;
  uint64_t timeout_ms;    // of every wait on a peer, connecting included
  const Left* left = nullptr;
  const Stop* stop = nullptr;  // ends those waits of connect
  bool has_left(int peer_node) const { return left && left->has(peer_node); }
};

// A peer: the rank of the same index on another node.
struct Peer {
  int rank = -1, node = -1;
  Card card;
  std::shared_ptr<Memory> heap;  // mapped in this process; SHM only
};

class Backend {
 public:
  virtual ~Backend() = default;  // ends connections; nothing may be in flight into memory that is about to go

  virtual Card card() const = 0;
  // In two steps, with the peers of the other nodes, ascending by node. connect: from its return on their writes are taken here.
  // greet: called when every peer has returned from connect, so that what is sent has somebody to take it; when it returns, the
  // ways have been tried, and writes may be posted.
  virtual void connect(const std::vector<Peer>& peers) = 0;
  virtual void greet(const std::vector<Peer>&) {}

  // Starts a write; false where the queue is full, and then nothing has happened: poll, and post again.
  virtual bool post(const Write& write) = 0;
  // Makes progress with what is under way; does not block.
  virtual void poll(Events& events) = 0;
  // False while something whose source has been read, so that it is done, has yet to reach a peer that needs poll for it.
  virtual bool settled() const { return true; }
};

// Which transports (mk_backend) set inbox words from the CPU of the receiver, so keep them in pinned host memory. The others
// write them into device memory, behind the bytes.
bool words_by_cpu(int backend);
const char* macro_of(int backend);

// Throws MK_EUNAVAILABLE and what is missing where it cannot run here.
std::unique_ptr<Backend> make_backend(int backend, const Site& site);

std::unique_ptr<Backend> shm_backend(const Site& site);
std::unique_ptr<Backend> tcp_backend(const Site& site);
std::unique_ptr<Backend> ibverbs_backend(const Site& site);
std::unique_ptr<Backend> efa_backend(const Site& site);

}  // namespace mk::rt::net
