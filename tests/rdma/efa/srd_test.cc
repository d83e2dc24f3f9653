// Ordering over SRD without any queue: every order in which immediates and notes can come.
#include <algorithm>
#include <functional>
#include <random>

#include "check.h"
#include "fail.h"
#include "net/srd.h"

namespace {

using namespace mk::rt;
using namespace mk::rt::net;

struct Inbox final : Events {
  explicit Inbox(uint32_t words) : word(words) {}
  std::vector<uint64_t> word;
  void done(uint64_t) override {}
  void arrived(uint32_t slot, uint32_t words, uint64_t value) override {
    for (uint32_t i = slot; i < slot + words; ++i) {
      CHECK(value > word[i]);
      word[i] = value;
    }
  }
};

}  // namespace

CASE(srd_split) {
  for (uint32_t words : {1u, 2u, 3u, 1000u, 65536u, 65537u, 1u << 23}) {
    srd::Split s(words);
    for (uint32_t slot : {0u, words / 2, words - 1})
      for (uint32_t epoch : {0u, 1u, 255u, 256u, 0xfffffffeu})
        for (uint32_t behind : {0u, 1u, 255u}) {
          const uint32_t imm = s.word(slot, epoch);
          CHECK(!srd::Split::is_piece(imm) && s.slot(imm) == slot && s.epoch(imm, epoch - behind) == epoch);
        }
  }
  CHECK(srd::Split::is_piece(srd::Split::piece(5)) && srd::Split::key(srd::Split::piece(5)) == 5 && srd::Split::next(~(1u << 31)) == 0);
  try {
    srd::Split((1u << 23) + 1);
    CHECK(!"taken");
  } catch (const Fail& f) {
    CHECK(f.status == MK_EINVAL);
    CHECK_SAYS(f.text, "8388609 arrival words are too many for EFA");
  }
}

// Writes to all slots in each of many rounds; what they send is shuffled within a round. Epochs leap, so that their low
// bits alone would not do.
CASE(srd_any_order) {
  std::mt19937_64 random(std::random_device{}());
  constexpr uint32_t kWords = 1 << 20;  // leaves 11 bits
  srd::Sender sender(kWords);
  srd::Receiver receiver(kWords);
  Inbox inbox(kWords), want(kWords);
  uint64_t epoch = 1, bare = 0, noted = 0;
  for (int round = 0; round < 300; ++round, epoch += random() % 4 ? 1 : 1 + random() % 5000) {
    std::vector<std::function<void()>> come;
    std::vector<Write> writes;
    for (uint32_t slot = uint32_t(random() % 100); slot < 4000; slot += 45) {
      Write w{};
      w.slot = slot;
      w.words = random() % 2 ? 1 : 1 + uint32_t(random() % 40);
      w.value = epoch << 32 | (random() % 2 ? 0 : random() & 0xffffffff);
      const uint32_t pieces = uint32_t(random() % 4);
      CHECK(sender.takes(w));
      srd::Note note;
      const uint32_t imm = sender.start(w, pieces, note);
      CHECK(!sender.takes(w));
      // All but one of what belongs to a write have no effect.
      for (uint32_t i = 0; i < pieces; ++i) come.push_back([&receiver, &inbox, imm] { receiver.immediate(imm, inbox); });
      if (note.words) come.push_back([&receiver, &inbox, note] { receiver.note(note, inbox); });
      ++(note.words ? noted : bare);
      CHECK(note.words || pieces == 1);
      writes.push_back(w);
      for (uint32_t i = 0; i < w.words; ++i) want.word[slot + i] = w.value;
    }
    std::shuffle(come.begin(), come.end(), random);
    for (auto& one : come) one();
    CHECK(inbox.word == want.word);
    for (const Write& w : writes) sender.end(w);
  }
  CHECK(bare > 500 && noted > 500);
}

CASE(srd_word_waits_for_every_piece) {
  srd::Sender sender(100);
  for (int first = 0; first < 4; ++first) {  // 3 pieces and the note: each of them once as the last
    srd::Receiver receiver(100);
    Inbox inbox(100);
    Write w{};
    w.slot = 10, w.words = 2, w.value = uint64_t(first + 1) << 32 | 5;
    srd::Note note;
    const uint32_t imm = sender.start(w, 3, note);
    for (int i = 0; i < 4; ++i) {
      CHECK(inbox.word[10] == 0 && inbox.word[11] == 0);
      if ((i + first) % 4 == 3) receiver.note(note, inbox);
      else receiver.immediate(imm, inbox);
    }
    CHECK(inbox.word[10] == w.value && inbox.word[11] == w.value && inbox.word[12] == 0);
    sender.end(w);
  }
}

CASE(srd_larger_stays) {
  srd::Receiver receiver(8);
  Inbox inbox(8);
  receiver.note({9ull << 32, 2, 1, 0, 0}, inbox);
  receiver.note({8ull << 32, 1, 3, 0, 1}, inbox);  // word 2 has more
  CHECK(inbox.word[1] == 8ull << 32 && inbox.word[2] == 9ull << 32 && inbox.word[3] == 8ull << 32);
}
