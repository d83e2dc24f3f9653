// The EFA backend over the stand-in of fake/: all ranks in this thread, one a node.
#include <dlfcn.h>

#include <algorithm>

#include "../fake/fake.h"
#include "check.h"
#include "device.h"
#include "far.h"
#include "traffic.h"

namespace {

using namespace mk::rt;
using test::Traffic;

// The stand-in's libibverbs, which the backend opens too.
template <class T> T& of_fake(const char* name) {
  void* library = ::dlopen("libibverbs.so.1", RTLD_NOW | RTLD_LOCAL);
  void* found = library ? ::dlsym(library, name) : nullptr;
  if (!found) throw std::runtime_error("libibverbs.so.1 is not the stand-in");
  return *static_cast<T*>(found);
}
FakeSettings& settings() { return of_fake<FakeSettings>("fake_settings"); }
FakeCounts& counts() { return of_fake<FakeCounts>("fake_counts"); }

struct Rank {
  std::unique_ptr<Device> device;
  std::shared_ptr<Memory> heap;
  std::byte* bytes;  // of the heap, as the CPU reads it
  std::vector<uint64_t> inbox;
  net::Left left;
  net::Site site;
  std::unique_ptr<net::Backend> backend;
  std::vector<net::Peer> peers;
};

// far: ranks whose heap the NIC does not reach, a bit each.
std::vector<Rank> open(int nodes, uint64_t heap_bytes, uint32_t words, unsigned far = 0) {
  std::vector<Rank> ranks(static_cast<size_t>(nodes));
  std::vector<net::Card> cards;
  for (int i = 0; i < nodes; ++i) {
    Rank& r = ranks[size_t(i)];
    const bool away = far >> i & 1;
    r.device = away ? std::make_unique<test::FarDevice>() : host_device();
    r.heap = r.device->create(heap_bytes);
    r.bytes = away ? static_cast<test::FarMemory&>(*r.heap).near() : r.heap->base();
    r.inbox.resize(words);
    r.site = {i, i, nodes, 0, 0, r.device.get(), r.heap.get(), 0, words, 2000, &r.left};
    r.backend = net::efa_backend(r.site);
    cards.push_back(r.backend->card());
  }
  for (Rank& r : ranks) {
    for (int i = 0; i < nodes; ++i)
      if (i != r.site.rank) r.peers.push_back({i, i, cards[size_t(i)], nullptr});
    r.backend->connect(r.peers);
  }
  return ranks;
}

void traffic(int nodes, const test::Shape& shape, unsigned far = 0) {
  auto ranks = open(nodes, Traffic::heap_bytes(shape, nodes), Traffic::inbox_words(shape, nodes), far);
  std::vector<Traffic> all;
  for (Rank& r : ranks) all.emplace_back(shape, r.site, r.bytes, r.inbox.data(), r.peers);
  for (uint64_t steps = 0;; ++steps) {
    bool finished = true;
    for (size_t i = 0; i < all.size(); ++i) {
      all[i].step(*ranks[i].backend);
      finished = finished && all[i].finished();
    }
    if (finished) break;
    if (steps > 20'000'000) throw std::runtime_error("stuck:" + all[0].state());
  }
}

struct Seen final : net::Events {
  std::vector<std::pair<uint32_t, uint64_t>> words;
  std::vector<uint64_t> ids;
  void done(uint64_t id) override { ids.push_back(id); }
  void arrived(uint32_t slot, uint32_t n, uint64_t value) override {
    for (; n; --n) words.push_back({slot++, value});
  }
};

}  // namespace

CASE(efa_writes) {
  settings().max_rdma = 300000;
  settings().sends = 16;
  settings().receives = 4;
  for (uint64_t seed = 1; seed <= 6; ++seed) {
    settings().seed = seed;
    test::Shape shape;
    shape.seed = seed;
    traffic(2 + int(seed % 3), shape);
  }
  // All of it was met with.
  CHECK(counts().immediates > 500 && counts().notes > 200 && counts().full > 0 && counts().late > 0);
}

// No NIC reaches a heap, or all but one do.
CASE(efa_writes_through_slots) {
  settings().max_rdma = 300000;
  settings().sends = 16;
  settings().receives = 4;
  for (uint64_t seed = 1; seed <= 8; ++seed) {
    settings().seed = seed;
    test::Shape shape;
    shape.seed = seed;
    const int nodes = 2 + int(seed % 3);
    traffic(nodes, shape, seed % 2 ? ~0u : 1u << seed % uint64_t(nodes));
  }
}

// The receiver does not look: the slots run out, and none is filled again before it is empty.
CASE(efa_slots_run_out) {
  constexpr uint64_t kWrites = 60, kBytes = 100000;
  settings().receives = 64;
  auto ranks = open(2, kWrites * kBytes, kWrites, 2);
  Seen seen[2];
  for (uint64_t i = 0; i < kWrites; ++i) {
    std::memset(ranks[0].bytes + i * kBytes, int(i), kBytes);
    CHECK(ranks[0].backend->post({1, i * kBytes, i * kBytes, kBytes, uint32_t(i), 1, 9ull << 32, i + 1}));
  }
  for (int polls = 0; polls < 10000; ++polls) ranks[0].backend->poll(seen[0]);
  CHECK(seen[0].ids.size() == 16);
  while (seen[0].ids.size() < kWrites || seen[1].words.size() < kWrites)
    for (size_t i = 0; i < 2; ++i) ranks[i].backend->poll(seen[i]);
  for (uint64_t i = 0; i < kWrites * kBytes; ++i) CHECK(ranks[1].bytes[i] == std::byte(i / kBytes));
}

// A word behind bytes, and the same word again without any, which could be there before the bytes are copied.
CASE(efa_words_keep_their_order) {
  auto ranks = open(2, 1 << 20, 10, 2);
  Seen seen[2];
  uint64_t last[10] = {};
  const auto poll = [&] {
    seen[1].words.clear();
    for (size_t i = 0; i < 2; ++i) ranks[i].backend->poll(seen[i]);
    for (const auto& [slot, value] : seen[1].words) CHECK(value == (++last[slot]) << 32);
  };
  uint64_t id = 0;
  const auto write = [&](uint32_t slot, uint64_t bytes, uint64_t epoch) {
    for (++id; !ranks[0].backend->post({1, 0, 0, bytes, slot, 1, epoch << 32, id});) poll();
  };
  constexpr uint64_t kEpochs = 200;
  for (uint64_t epoch = 1; epoch <= kEpochs; ++epoch) {
    for (uint32_t other = 1; other < 10; ++other) write(other, 5000, epoch);
    write(0, epoch % 2 * 5000, epoch);
  }
  while (std::any_of(last, last + 10, [](uint64_t epoch) { return epoch < kEpochs; })) poll();
}

// In order and in one piece, as most writes of a quiet network are.
CASE(efa_in_order) {
  settings().in_order = 1;
  traffic(2, {});
}

CASE(efa_offsets_beyond_32_bits) {
  test::Shape shape;
  shape.offset = 5ull << 30;
  shape.rounds = 2;
  std::vector<Rank> ranks = open(2, Traffic::heap_bytes(shape, 2), Traffic::inbox_words(shape, 2));
  std::vector<Traffic> all;
  for (Rank& r : ranks) all.emplace_back(shape, r.site, r.heap->base(), r.inbox.data(), r.peers);
  while (!all[0].finished() || !all[1].finished())
    for (size_t i = 0; i < 2; ++i) all[i].step(*ranks[i].backend);
}

// 8 bytes posted behind 1 MB do arrive first, and each word still stands for its own bytes.
CASE(efa_small_overtakes_large) {
  int overtaken = 0;
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    settings().seed = seed;
    auto ranks = open(2, 4 << 20, 2);
    std::memset(ranks[0].bytes, 0x5a, 2 << 20);
    CHECK(ranks[0].backend->post({1, 0, 0, 1 << 20, 0, 1, 7ull << 32, 1}));
    CHECK(ranks[0].backend->post({1, 1 << 20, 1 << 20, 8, 1, 1, 7ull << 32, 2}));
    Seen seen, ignored;
    while (seen.words.size() < 2) {
      const size_t before = seen.words.size();
      ranks[0].backend->poll(ignored);
      ranks[1].backend->poll(seen);
      for (size_t i = before; i < seen.words.size(); ++i) {
        const std::byte* at = ranks[1].heap->base() + (seen.words[i].first ? 1 << 20 : 0);
        const uint64_t bytes = seen.words[i].first ? 8 : 1 << 20;
        for (uint64_t b = 0; b < bytes; ++b) CHECK(at[b] == std::byte(0x5a));
      }
    }
    overtaken += seen.words[0].first == 1;
  }
  CHECK(overtaken > 10);
}

// The queue fills before its end; nothing is lost, and each write is done once.
CASE(efa_back_pressure) {
  auto ranks = open(3, 1 << 20, 3000);
  Seen seen[3];
  uint64_t refused = 0;
  for (uint64_t id = 1; id <= 6000; ++id)
    while (!ranks[0].backend->post({1 + int(id % 2), 0, 4096, id % 100, uint32_t(id / 2 % 3000), 1, 3ull << 32 | id % 7, id})) {
      ++refused;
      for (size_t i = 0; i < 3; ++i) ranks[i].backend->poll(seen[i]);
    }
  while (seen[0].ids.size() < 6000)
    for (size_t i = 0; i < 3; ++i) ranks[i].backend->poll(seen[i]);
  for (size_t i = 0; i < 3; ++i) ranks[i].backend->poll(seen[i]);
  std::sort(seen[0].ids.begin(), seen[0].ids.end());
  for (uint64_t id = 1; id <= 6000; ++id) CHECK(seen[0].ids[id - 1] == id);
  CHECK(refused > 0 && counts().full > 0);
  CHECK(seen[1].words.size() == 3000 && seen[2].words.size() == 3000);
}

CASE(efa_peer_gone) {
  auto ranks = open(3, 1 << 20, 8);
  Seen seen;
  ranks[2].backend.reset();
  CHECK(ranks[0].backend->post({2, 0, 4096, 5000, 0, 1, 1ull << 32, 1}));
  try {
    for (;;) ranks[0].backend->poll(seen);
  } catch (const Fail& f) {
    CHECK(f.status == MK_EABORTED);
    CHECK_SAYS(f.text, "rank 0: a write to rank 2 over efa0:1 failed: remote abort");
  }
}

// The same once it has said goodbye: what was on the way to it is for nobody.
CASE(efa_peer_left) {
  auto ranks = open(3, 1 << 20, 8);
  Seen seen;
  ranks[2].backend.reset();
  ranks[0].left.add(2);
  for (uint64_t id = 1; id <= 3; ++id) {
    CHECK(ranks[0].backend->post({2, 0, 4096, 5000, 0, 1, id << 32, id}));
    while (seen.ids.size() < id) ranks[0].backend->poll(seen);
  }
}

CASE(efa_gives_everything_back) {
  const int64_t before = counts().alive;
  for (int i = 0; i < 3; ++i) {
    auto ranks = open(2, 1 << 20, 8);
    CHECK(counts().alive > before);
    CHECK(ranks[0].backend->post({1, 0, 4096, 50000, 0, 1, 1ull << 32, 1}));  // still under way when all ends
  }
  CHECK(counts().alive == before);
}

CASE(efa_devices_that_do_not_do) {
  const auto says = [](const char* part, mk_status status = MK_EUNAVAILABLE) {
    try {
      open(2, 1 << 20, 8);
    } catch (const Fail& f) {
      CHECK(f.status == status);
      CHECK_SAYS(f.text, part);
      return;
    }
    CHECK(!"opened");
  };
  settings().no_write = true;
  says("efa0:1 has no RDMA write");
  says("other0:1 is no EFA device");
  settings().no_write = 0;
  settings().port_down = 1;
  says("efa0:1 its port is not up");
  settings().port_down = 0;
  ::setenv("MKGEN_NICS", "efa0,efa7", 1);
  says("MKGEN_NICS names efa7, which is no RDMA device here", MK_EINVAL);
  ::setenv("MKGEN_NICS", "other0", 1);
  says("no RDMA device can be used: other0:1 is no EFA device");
  ::setenv("MKGEN_NICS", "efa0:1", 1);
  ::setenv("MKGEN_GID_INDEX", "9", 1);
  says("efa0:1 has no address number 9 (MKGEN_GID_INDEX)");
  ::unsetenv("MKGEN_GID_INDEX");
  open(2, 1 << 20, 8);
}

// Run where libibverbs.so.1 cannot be loaded.
CASE(library_missing) {
  try {
    open(2, 1 << 20, 8);
  } catch (const Fail& f) {
    CHECK(f.status == MK_EUNAVAILABLE);
    CHECK_SAYS(f.text, "no RDMA: ");
    CHECK_SAYS(f.text, "libibverbs.so.1");
    CHECK_SAYS(f.text, "install rdma-core's libibverbs1");
    return;
  }
  CHECK(!"opened");
}
