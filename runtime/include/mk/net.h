// What a kernel and the proxy of its rank share: a FIFO of commands in pinned host memory, written by one lane of the
// kernel (inter_send) and read by one thread of the CPU, and the inbox, words that announce what peers have written here.
//
// A rank exchanges with the ranks of the same index on the other nodes and with nobody else there.
#pragma once
#include <cstdint>

namespace mk {

constexpr int kMaxNodes = 8;
constexpr int kMaxLanes = 4;         // lanes of inter_send, each with a FIFO, a proxy thread and connections of its own
constexpr uint32_t kFifoSlots = 256; // commands on their way, a power of two

// One write into the heap of a peer, and the words that announce it there, a word for each chunk of it. Offsets count from the start of the whole
// symmetric heap, which holds the regions of all kernels.
struct alignas(64) Command {
  uint64_t from;    // offset of the source in this rank's heap
  uint64_t to;      // offset of the target in the peer's heap
  uint64_t bytes;   // 0: only the words are written
  uint64_t value;   // of the words: launch epoch << 32 | tag
  uint32_t slot;    // of this kernel's inbox, where the peer finds the first word
  uint32_t words;   // 1 or more, one after the other
  uint32_t node;    // of the peer
  uint32_t ticket;  // commands so far, this one included; stored last, with release: the command is there
};

// Counters are of commands, from 1, and wrap.
struct Fifo {
  alignas(128) uint32_t taken;  // by the proxy: its slots may be written again
  alignas(128) uint32_t done;   // by the proxy: their sources have been read and may be overwritten; all up to this one
  alignas(128) Command command[kFifoSlots];
};

}  // namespace mk
