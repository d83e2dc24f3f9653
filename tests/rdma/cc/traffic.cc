#include "traffic.h"

#include <algorithm>

namespace test {
namespace {

constexpr std::byte kPoison{0xee}, kSpoilt{0xaa};

// Eight bytes, from byte 8 * i on, of what has this key.
uint64_t content(uint64_t key, uint64_t i) {
  const uint64_t x = (key + i) * 0x9e3779b97f4a7c15ull;
  return x ^ x >> 29;
}

void fill(std::byte* at, uint64_t bytes, uint64_t key) {
  for (uint64_t i = 0; i < bytes; i += 8) {
    const uint64_t x = content(key, i / 8);
    std::memcpy(at + i, &x, std::min<uint64_t>(8, bytes - i));
  }
}

// The first byte that is wrong, or bytes.
uint64_t differs(const std::byte* at, uint64_t bytes, uint64_t key) {
  for (uint64_t i = 0; i < bytes; i += 8) {
    const uint64_t x = content(key, i / 8), n = std::min<uint64_t>(8, bytes - i);
    if (!std::memcmp(at + i, &x, n)) continue;
    for (uint64_t j = 0;; ++j)
      if (at[i + j] != std::byte(x >> 8 * j)) return i + j;
  }
  return bytes;
}

uint64_t differs(const std::byte* at, uint64_t bytes, std::byte all) {
  return uint64_t(std::find_if(at, at + bytes, [&](std::byte b) { return b != all; }) - at);
}

[[noreturn]] void broken(const std::string& what) { throw std::runtime_error(what); }

}  // namespace

Traffic::Traffic(const Shape& shape, const net::Site& site, std::byte* heap, uint64_t* words, const std::vector<net::Peer>& peers)
    : shape_(shape), site_(site), heap_(heap), words_(words) {
  std::memset(heap_ + shape.offset, int(kPoison), heap_bytes(shape, site.nodes) - shape.offset);
  for (const net::Peer& p : peers) peers_.push_back({p.rank, p.node, 0, 0, 0, 0, {}, plan(p.rank, p.node, site.rank, site.node, 0)});
}

// For each node: an area to send from, and two to receive in.
uint64_t Traffic::heap_bytes(const Shape& s, int nodes) { return s.offset + area(s) * 3 * uint64_t(nodes); }

// Epochs of a pair grow, by 1 and now and then by a lot.
uint64_t Traffic::epoch(int from_rank, int to_rank, int round) const {
  std::mt19937_64 random(shape_.seed * 977 + uint64_t(from_rank * 64 + to_rank));
  uint64_t e = 1;
  for (int i = 0; i < round; ++i) e += random() % 3 ? 1 : 1 + random() % 100000;
  return e;
}

std::vector<Traffic::Planned> Traffic::plan(int from_rank, int from_node, int to_rank, int to_node, int round) const {
  std::mt19937_64 random(shape_.seed * 131 + uint64_t((from_rank * 64 + to_rank) * 1024 + round));
  std::vector<Planned> all;
  const uint64_t a = area(shape_);
  uint64_t from = shape_.offset + a * uint64_t(3 * to_node), to = shape_.offset + a * uint64_t(3 * from_node + 1 + round % 2);
  for (int i = 0; i < shape_.writes; ++i) {
    net::Write w{};
    const uint64_t gap = random() % 64;
    w.from = from + gap, w.to = to + (random() % 4 ? gap : random() % 64);
    w.bytes = i == 3 ? shape_.huge - random() % 4096 : random() % 5 ? random() % shape_.largest : random() % 2 * (random() % 16);
    from += w.bytes + 64, to += w.bytes + 64;
    w.slot = per_peer_words(shape_) * uint32_t(from_node) + uint32_t(i) * shape_.words;
    w.words = random() % 3 ? 1 : 1 + uint32_t(random() % shape_.words);
    w.value = epoch(from_rank, to_rank, round) << 32 | (random() % 3 ? 0 : random() & 0xffffffff);
    all.push_back({w, random()});
  }
  std::shuffle(all.begin(), all.end(), random);
  return all;
}

void Traffic::step(net::Backend& backend) {
  for (Peer& p : peers_) {
    send(p, backend);
    receive(p, backend);
  }
  backend.poll(*this);
}

bool Traffic::post(Peer& p, net::Write w, net::Backend& backend) {
  w.node = p.node;
  w.id = ids_ + 1;
  flying_[w.id] = {size_t(&p - peers_.data()), w.from, w.bytes};  // first: a backend may be done at once
  ++p.flying;
  if (backend.post(w)) return ++ids_, true;
  flying_.erase(w.id);
  --p.flying;
  ++refused_;
  return false;
}

void Traffic::send(Peer& p, net::Backend& backend) {
  if (p.sending == shape_.rounds && p.out.empty()) return;
  if (p.out.empty()) {
    // The peer's area of this parity is free when it has given credit for the round before the last.
    const uint32_t credit = per_peer_words(shape_) * uint32_t(p.node + 1) - 1;
    if (p.flying || (p.sending >= 2 && word(credit) < epoch(site_.rank, p.rank, p.sending - 2) << 32)) return;
    p.out = plan(site_.rank, site_.node, p.rank, p.node, p.sending);
    for (const Planned& planned : p.out) fill(heap_ + planned.write.from, planned.write.bytes, planned.key);
  }
  while (!p.out.empty() && post(p, p.out.back().write, backend)) p.out.pop_back();
  if (p.out.empty()) ++p.sending;
}

void Traffic::receive(Peer& p, net::Backend& backend) {
  for (Planned& planned : p.in) {
    const net::Write& w = planned.write;
    if (planned.seen) continue;
    uint32_t there = 0;
    for (; there < w.words; ++there) {
      const uint64_t value = word(w.slot + there);
      if (value < w.value) break;
      // The next round may be here already, the one after it waits for credit.
      if (value >= epoch(p.rank, site_.rank, p.receiving + 2) << 32)
        broken(say("rank %d: slot %u is %lx while %lx is awaited", site_.rank, w.slot + there, value, w.value));
    }
    if (there == 0) continue;
    // The first word that is there already announces all bytes.
    if (uint64_t i = differs(heap_ + w.to, w.bytes, planned.key); i < w.bytes)
      broken(say("rank %d: byte %lu of %lu from rank %d is wrong (%02x) though slot %u is %lx", site_.rank, i, w.bytes, p.rank,
                 unsigned(heap_[w.to + i]), w.slot, w.value));
    planned.seen = there == w.words;
  }
  if (p.receiving == shape_.rounds || !std::all_of(p.in.begin(), p.in.end(), [](auto& x) { return x.seen; })) return;

  const uint64_t at = shape_.offset + area(shape_) * uint64_t(3 * p.node + 1 + p.receiving % 2);
  if (p.credited == p.receiving) {
    uint64_t end = 0;
    for (const Planned& planned : p.in) end = std::max(end, planned.write.to + planned.write.bytes);
    for (const Planned& planned : p.in)
      std::memset(heap_ + planned.write.to, int(kPoison), planned.write.bytes);
    // Nothing but the writes may have changed.
    if (uint64_t i = differs(heap_ + at, end - at, kPoison); i < end - at)
      broken(say("rank %d: byte %lu beside the writes of rank %d is %02x", site_.rank, i, p.rank, unsigned(heap_[at + i])));
    p.credited = p.receiving + 1;
  }
  net::Write credit{};
  credit.slot = per_peer_words(shape_) * uint32_t(site_.node + 1) - 1;
  credit.words = 1;
  credit.value = epoch(p.rank, site_.rank, p.receiving) << 32;
  if (!post(p, credit, backend)) return;
  if (++p.receiving < shape_.rounds) p.in = plan(p.rank, p.node, site_.rank, site_.node, p.receiving);
}

void Traffic::done(uint64_t id) {
  auto it = flying_.find(id);
  if (it == flying_.end()) {
    if (id == 0 || id > ids_) broken(say("rank %d: write %lu is done before it was posted", site_.rank, id));
    return;
  }
  std::memset(heap_ + it->second.from, int(kSpoilt), it->second.bytes);
  --peers_[it->second.peer].flying;
  flying_.erase(it);
}

void Traffic::arrived(uint32_t slot, uint32_t words, uint64_t value) {
  for (uint32_t i = slot; i < slot + words; ++i)
    if (word(i) < value) std::atomic_ref(words_[i]).store(value, std::memory_order_release);
}

bool Traffic::finished() const {
  return flying_.empty() && std::all_of(peers_.begin(), peers_.end(), [&](const Peer& p) {
    const uint32_t credit = per_peer_words(shape_) * uint32_t(p.node + 1) - 1;
    return p.sending == shape_.rounds && p.receiving == shape_.rounds && p.out.empty() &&
           word(credit) >= epoch(site_.rank, p.rank, shape_.rounds - 1) << 32;
  });
}

std::string Traffic::state() const {
  std::string text;
  for (const Peer& p : peers_)
    text += say(" [rank %d: sent %d, received %d of %d rounds, %lu writes under way, %zu to post]", p.rank, p.sending, p.receiving,
                shape_.rounds, p.flying, p.out.size());
  return text;
}

}  // namespace test
