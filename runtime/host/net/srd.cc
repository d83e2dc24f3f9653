#include "srd.h"

#include <algorithm>
#include <bit>

#include "../fail.h"

namespace mk::rt::net::srd {

Split::Split(uint32_t inbox_words) : epoch_bits_(31 - std::bit_width(inbox_words ? inbox_words - 1 : 0)) {
  if (epoch_bits_ < kEpochBits)
    fail(MK_EINVAL, say("%u arrival words are too many for EFA: the 32 bits that come with a write number at most %u; "
                        "use larger chunks", inbox_words, 1u << (31 - kEpochBits)));
}

bool Sender::takes(const Write& w) const {
  const auto first = under_way_.begin() + w.slot;
  return std::none_of(first, first + w.words, [](bool busy) { return busy; });
}

uint32_t Sender::start(const Write& w, uint32_t pieces, Note& note) {
  const uint32_t epoch = uint32_t(w.value >> 32), ahead = epoch - last_[w.slot];
  const bool bare = pieces == 1 && w.words == 1 && uint32_t(w.value) == 0 && ahead < split_.span();
  std::fill_n(under_way_.begin() + w.slot, w.words, true);
  for (uint32_t i = w.slot; i < w.slot + w.words; ++i) last_[i] = std::max(last_[i], epoch);
  if (bare) {
    note = {};
    return split_.word(w.slot, epoch);
  }
  note = {w.value, w.slot, w.words, pieces, key_};
  key_ = Split::next(key_);
  return Split::piece(note.key);
}

void Sender::end(const Write& w) { std::fill_n(under_way_.begin() + w.slot, w.words, false); }

void Receiver::immediate(uint32_t imm, Events& events) {
  if (Split::is_piece(imm)) {
    ++halves_[Split::key(imm)].pieces;
    settle(Split::key(imm), events);
    return;
  }
  const uint32_t slot = split_.slot(imm);
  if (slot >= last_.size()) fail(MK_EABORTED, say("a peer announced slot %u of %zu", slot, last_.size()));
  deliver(slot, 1, uint64_t(split_.epoch(imm, uint32_t(last_[slot] >> 32))) << 32, events);
}

void Receiver::note(const Note& note, Events& events) {
  if (note.words == 0 || note.slot >= last_.size() || last_.size() - note.slot < note.words)
    fail(MK_EABORTED, say("a peer announced %u words from slot %u of %zu", note.words, note.slot, last_.size()));
  halves_[note.key].note = note;
  settle(note.key, events);
}

void Receiver::settle(uint32_t key, Events& events) {
  auto it = halves_.find(key);
  const Note note = it->second.note;
  if (note.words == 0 || it->second.pieces < note.pieces) return;
  halves_.erase(it);
  deliver(note.slot, note.words, note.value, events);
}

// The larger value stays.
void Receiver::deliver(uint32_t slot, uint32_t words, uint64_t value, Events& events) {
  for (uint32_t end = slot + words; slot < end; ++slot) {
    uint32_t run = 0;
    for (; slot + run < end && last_[slot + run] < value; ++run) last_[slot + run] = value;
    if (run) events.arrived(slot, run, value);
    slot += run;
  }
}

}  // namespace mk::rt::net::srd
