// One rank's world: its device, its symmetric heap, and the peers' heaps once connected.
#pragma once
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "blob.h"
#include "device.h"
#include "event.h"
#include "farewell.h"
#include "handover.h"
#include "mk/abi.h"
#include "mk/protocol.h"
#include "net/network.h"

struct mk_world {
  explicit mk_world(const mk_options& options);
  mk_world(const mk_world&) = delete;
  ~mk_world();

  const mk::rt::Blob& blob() const { return blob_; }
  mk::rt::Device& device() { return *device_; }
  void connect(const void* blobs, size_t len);
  mk_view view(uint32_t kernel) const;
  void check();
  void abort(const char* reason);

 private:
  mk::Control* control(const mk::rt::Memory& heap, size_t kernel) const;
  int local() const { return world_ / nodes_; }         // ranks of a node
  int first() const { return rank_ / local() * local(); }  // of this node
  bool maps(int peer) const;
  void join(const std::vector<mk::rt::Blob>& all);
  std::vector<std::shared_ptr<mk::rt::Memory>> map(const std::vector<mk::rt::Blob>& all);
  void end(const mk::rt::Farewell& words);
  void give_up(const mk::rt::Farewell& words);
  mk::rt::Farewell last_words();
  bool read_report(size_t kernel, mk::Report& report);
  void abort_one(mk::Control& control, const mk::Report& report);

  int rank_, world_, nodes_;
  uint64_t timeout_ms_;
  std::vector<mk_kernel_need> kernels_;
  std::vector<uint64_t> offsets_;  // of each kernel's region
  mk::rt::Blob blob_{};
  std::unique_ptr<mk::rt::Device> device_;
  std::shared_ptr<mk::rt::Memory> own_;
  mk::rt::Stop stop_;

  std::mutex mutex_;                                    // mk_abort may come from any thread
  std::vector<std::shared_ptr<mk::rt::Memory>> heaps_;  // by rank, null where it is not mapped; empty until connected
  std::vector<mk::rt::Blob> near_;                      // the others of this node, until they have been told of the end
  std::string reason_;                                  // why, where a report says that the host or the network gave up
  std::unique_ptr<mk::rt::net::Network> network_;       // none on one node; its threads use all of the above
  std::unique_ptr<mk::rt::Offer> offer_;                // none where the world is one rank; so does its thread
};
