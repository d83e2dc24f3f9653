// Inbox words over SRD, which delivers everything once and in any order. What arrives with a write is 32 bits, the
// immediate, which SRD shows after the bytes of that write are in place:
//
//   0 | slot | low bits of the epoch   a write in one piece that sets one word to epoch << 32
//   1 | key                            one piece of the write that a note describes
//
// A note is a message of its own and carries what does not fit: a tag, several words, several pieces, an epoch far from
// the last one. Its words are set when the note and all pieces have come, whichever is last.
//
// A write starts only when those before it to the same slots have completed. So the receiver sees their words first, knows
// the last epoch of the slot as the sender does, and the low bits say which one follows.
#pragma once
#include <unordered_map>
#include <vector>

#include "backend.h"

namespace mk::rt::net::srd {

struct Note {
  uint64_t value;
  uint32_t slot, words, pieces, key;
};

// How an immediate is divided.
class Split {
 public:
  static constexpr int kEpochBits = 8;  // at least
  explicit Split(uint32_t inbox_words);  // throws MK_EINVAL where slots leave fewer
  uint32_t word(uint32_t slot, uint32_t epoch) const { return slot << epoch_bits_ | (epoch & mask()); }
  static uint32_t piece(uint32_t key) { return 1u << 31 | key; }
  static uint32_t next(uint32_t key) { return (key + 1) & ~(1u << 31); }

  static bool is_piece(uint32_t imm) { return imm >> 31; }
  static uint32_t key(uint32_t imm) { return imm & ~(1u << 31); }
  uint32_t slot(uint32_t imm) const { return imm >> epoch_bits_; }
  // The epoch from last on with the low bits of imm, of which there is one below last + span().
  uint32_t epoch(uint32_t imm, uint32_t last) const { return last + ((imm - last) & mask()); }
  uint64_t span() const { return uint64_t(mask()) + 1; }

 private:
  uint32_t mask() const { return (1u << epoch_bits_) - 1; }
  int epoch_bits_;
};

// What goes to one peer.
class Sender {
 public:
  explicit Sender(uint32_t inbox_words) : split_(inbox_words), last_(inbox_words), under_way_(inbox_words) {}
  // False while an earlier write to one of the slots is under way.
  bool takes(const Write& write) const;
  // From here to end the write is under way. Returns the immediate of each of its pieces; note.words is 0 where no note is
  // to go with it.
  uint32_t start(const Write& write, uint32_t pieces, Note& note);
  void end(const Write& write);

 private:
  Split split_;
  std::vector<uint32_t> last_;      // epoch of each slot
  std::vector<bool> under_way_;
  uint32_t key_ = 0;
};

// What comes from one peer.
class Receiver {
 public:
  explicit Receiver(uint32_t inbox_words) : split_(inbox_words), last_(inbox_words) {}
  void immediate(uint32_t imm, Events& events);
  void note(const Note& note, Events& events);

 private:
  struct Half {
    Note note;  // words 0: not here yet
    uint32_t pieces = 0;
  };
  void settle(uint32_t key, Events& events);
  void deliver(uint32_t slot, uint32_t words, uint64_t value, Events& events);

  Split split_;
  std::vector<uint64_t> last_;  // value of each slot
  std::unordered_map<uint32_t, Half> halves_;
};

}  // namespace mk::rt::net::srd
