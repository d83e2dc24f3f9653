// What goes over a data connection of INTERNODE_BACKEND_TCP, and the two ends of it. A write is a frame and its bytes; the
// last frame is a goodbye.
#pragma once
#include <deque>
#include <string>

#include "backend.h"
#include "bounce.h"

namespace mk::rt::net {

struct Frame {
  enum Kind : uint32_t { kWrite = 0x5754'4b4d, kGoodbye } kind;
  uint32_t slot, words, spare;  // inbox words that get value once the bytes are in place; kWrite only
  uint64_t value, to, bytes;    // bytes: how many follow, for the heap from `to` on
};

// Heap -> ring -> socket.
class Outgoing {
 public:
  Outgoing(Device& device, Copies& copies, const Memory& heap) : ring_(device), copies_(copies), heap_(heap) {}

  bool post(const Write& write);  // false where the queue is full
  void goodbye();                 // behind all writes
  void fill();                    // starts copies into the ring
  void advance(uint64_t finished, Events& events);
  int send(int socket);           // what has been copied; 0, or the error that ended the connection
  bool empty() const { return queue_.empty() && sent_ == filled_; }

  bool carries_bytes() const;     // and not words alone
  void drop(Events& events);      // all of it: nobody is there any more

 private:
  static constexpr size_t kQueue = 64;
  struct Mark {
    uint64_t place, copy;  // up to where the stream is whole once this many copies are finished
    uint64_t id, bytes;    // of the write that is then read; id 0: none
  };
  void put(const Frame& frame);
  uint64_t room() const { return Bounce::kSize - (filled_ - sent_); }

  Bounce ring_;
  Copies& copies_;
  const Memory& heap_;
  std::deque<Write> queue_;
  bool begun_ = false;   // the frame of the first in the queue is in the ring, and read_ bytes of its source
  uint64_t read_ = 0;
  std::deque<Mark> marks_;
  uint64_t sent_ = 0, whole_ = 0, filled_ = 0;  // places
  uint64_t bytes_end_ = 0;                      // of the last write with bytes that has been read
};

// Socket -> ring -> heap.
class Incoming {
 public:
  // peer: as messages call it
  Incoming(Device& device, Copies& copies, const Memory& heap, uint32_t inbox_words, std::string peer)
      : ring_(device), copies_(copies), heap_(heap), inbox_words_(inbox_words), peer_(std::move(peer)) {}

  enum class Got { kNothing, kBytes, kEnd };
  // Takes what is there and starts its copies. Throws where the peer has sent what it must not. error: of kEnd, or 0.
  Got receive(int socket, int& error);
  void advance(uint64_t finished, Events& events);
  bool goodbye() const { return goodbye_; }

 private:
  struct Mark {
    uint64_t place, copy;   // up to where the ring is free once this many copies are finished
    uint32_t slot, words;   // that are then set; words 0: none
    uint64_t value;
  };
  void parse(const std::byte* bytes, uint64_t n);
  void check();
  void arrive() { marks_.push_back({parsed_, copies_.started(), frame_.slot, frame_.words, frame_.value}); }

  Bounce ring_;
  Copies& copies_;
  const Memory& heap_;
  uint32_t inbox_words_;
  std::string peer_;
  Frame frame_;
  uint64_t have_ = 0;  // bytes of frame_
  uint64_t left_ = 0;  // bytes that follow it
  bool goodbye_ = false;
  std::deque<Mark> marks_;
  uint64_t free_ = 0, parsed_ = 0, filled_ = 0;  // places: the ring holds those from free_ to filled_
};

}  // namespace mk::rt::net
