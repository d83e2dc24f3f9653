#include "srd_slots.h"

#include "../fail.h"

namespace mk::rt::net::srd {

Leaving::Leaving(const Nic& nic, Device& device, bool credits)
    : slots_(nic, device, kAllSlots), copies_(device.copies()), held_by_(credits ? kSending | kLent : kSending) {
  for (uint32_t i = 0; i < kSlots; ++i) free_.push_back(i);
}

bool Leaving::fill(const Piece& piece, const std::byte* from) {
  if (free_.empty()) return false;
  const uint32_t slot = free_.back();
  free_.pop_back();
  held_[slot] = held_by_;
  std::byte* at = slots_.base() + uint64_t(slot) * kSlot;
  std::memcpy(at, &piece.head, sizeof piece.head);
  copies_->start(at + sizeof piece.head, from, piece.head.bytes);
  filling_.push_back({piece.head, piece.write, slot, copies_->started()});
  return true;
}

const Leaving::Piece* Leaving::next() {
  return !filling_.empty() && filling_.front().copy <= copies_->finished() ? &filling_.front() : nullptr;
}

void Leaving::given_back(uint32_t slot) {
  if (slot >= kSlots || !(held_[slot] & kLent)) fail(MK_EABORTED, say("a peer gave back slot %u, which it does not have", slot));
  let_go(slot, kLent);
}

void Leaving::let_go(uint32_t slot, uint8_t what) {
  held_[slot] &= uint8_t(~what);
  if (!held_[slot]) free_.push_back(slot);
}

void Arriving::filled(uint32_t slot) {
  if (slot >= kSlots) fail(MK_EABORTED, say("a peer announced slot %u of %u", slot, kSlots));
  const Head& h = head(slot);
  if (h.bytes > kPayload || h.to > heap_.bytes() || heap_.bytes() - h.to < h.bytes)
    fail(MK_EABORTED, say("a peer sent %u bytes for offset %lu of a heap of %lu: out of bounds", h.bytes, h.to, heap_.bytes()));
  copies_->start(heap_.base() + h.to, reinterpret_cast<const std::byte*>(&h + 1), h.bytes);
  coming_.push_back({copies_->started(), slot});
}

void Arriving::advance(Receiver& receiver, Events& events, std::deque<uint32_t>& empty) {
  for (; !coming_.empty() && coming_.front().copy <= copies_->finished(); coming_.pop_front()) {
    if (const uint32_t* slot = std::get_if<uint32_t>(&coming_.front().what)) {
      receiver.immediate(head(*slot).imm, events);
      empty.push_back(*slot);
    } else {
      receiver.note(std::get<Note>(coming_.front().what), events);
    }
  }
}

}  // namespace mk::rt::net::srd
