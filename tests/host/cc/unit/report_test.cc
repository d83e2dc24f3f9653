// Reports as sentences, and mk_check and mk_abort that tell them.
#include "report.h"

#include <atomic>
#include <thread>

#include "rank.h"

using namespace test;

namespace {

mk::Report waited(mk::Wanted wanted) {
  mk::Report r{};
  r.reporter = 2;
  r.role = mk::Role::kCompute;
  r.wanted = wanted;
  r.cta = 11;
  r.tile_row = 3, r.tile_col = 4;
  r.row = 3, r.col = 1;
  r.peer = 1;
  r.epoch = 7;
  r.expected = 7, r.seen = 6;
  return r;
}

}  // namespace

CASE(sentences) {
  using mk::rt::sentence;
  mk::Report r = waited(mk::Wanted::kChunk);
  CHECK(
      sentence(r, 0, 2000, "") ==
      "rank 2: launch 7: role compute, cta 11, tile (3, 4) waited for chunk (3, 1) of rank 1's shard: flag expected 7, "
      "seen 6; deadline 2000 ms passed. Rank 1 is dead, stuck or was never launched; close this world and open a new "
      "one");
  r = waited(mk::Wanted::kEntered);
  r.role = mk::Role::kIntraComm;
  r.expected = uint64_t(7) << 32 | 512, r.seen = uint64_t(5) << 32 | 512;
  CHECK(
      sentence(r, 0, 30000, "") ==
      "rank 2: launch 7: role intra_comm, cta 11 waited for rank 1 to enter launch 7, last seen in launch 5; deadline "
      "30000 ms passed. Rank 1 is dead, stuck or was never launched; close this world and open a new one");
  r = waited(mk::Wanted::kSameM);
  r.expected = 512, r.seen = 500;
  CHECK_SAYS(sentence(r, 0, 1, ""), "rank 2: launch 7: launched with M = 512 but rank 1 with M = 500");
  r = waited(mk::Wanted::kSameRows);
  r.expected = 0xabc, r.seen = 0xdef01234;
  CHECK_SAYS(sentence(r, 0, 1, ""),
             "rank 2: launch 7: rank 1 was launched with other rows (the hashes of what the two were given are 00000abc "
             "here and def01234 there)");
  r = waited(mk::Wanted::kAbort);
  CHECK(sentence(r, 2, 1, "tired") == "rank 2: the host called mk_abort: tired");
  CHECK(sentence(r, 0, 1, "tired") == "rank 2: its host called mk_abort, which ends this world on all ranks: tired");
  CHECK(sentence(r, 0, 1, "") == "rank 2: its host called mk_abort, which ends this world on all ranks; see that rank's own error");
  r.wanted = mk::Wanted::kJoin;
  CHECK(sentence(r, 0, 1, "no peer access") == "rank 2 could not join, which ends this world on all ranks: no peer access");
  CHECK(sentence(r, 0, 1, "") == "rank 2 could not join, which ends this world on all ranks; see that rank's own error");
  r.wanted = mk::Wanted(99), r.role = mk::Role(99);
  CHECK_SAYS(sentence(r, 0, 1, ""), "role unknown, cta 11 gave up for an unknown reason (99)");
}

CASE(check_tells_the_report) {
  std::vector<Rank> ranks = local_world(3);
  CHECK(ranks[0].check() == MK_OK);
  mk_view v = ranks[0].view(1);
  std::atomic_ref(*v.health).store(3u);
  CHECK(ranks[0].check() == MK_EABORTED);
  CHECK_SAYS(ranks[0].err, "rank 2 gave up and left no report");
  mk::Report r = waited(mk::Wanted::kChunk);
  r.claimed = r.complete = 1;
  ranks[0].control(0, 1).report = r;
  CHECK(ranks[0].check() == MK_EABORTED);
  CHECK_SAYS(ranks[0].err,
             "kernel second: rank 2: launch 7: role compute, cta 11, tile (3, 4) waited for chunk (3, 1)");
  CHECK_SAYS(ranks[0].err, "deadline 3600000 ms passed");
}

// A role on every rank waits for nothing but the abort word of its second kernel.
CASE(abort_ends_every_wait) {
  std::vector<Rank> ranks = local_world(3);
  std::vector<std::thread> roles;
  for (int r = 0; r < 3; ++r) {
    mk_view v = ranks[r].view(1);
    roles.emplace_back([v, r] {
      auto& control = *static_cast<mk::Control*>(v.heap[r]);
      uint32_t who;
      while ((who = std::atomic_ref(control.abort).load(std::memory_order_acquire)) == 0) std::this_thread::yield();
      std::atomic_ref(*v.health).store(who, std::memory_order_release);
    });
  }
  std::thread other([&] { CHECK(mk_abort(ranks[1].world, "the caller lost patience") == MK_OK); });
  other.join();
  for (std::thread& t : roles) t.join();
  for (int r = 0; r < 3; ++r) {
    for (uint32_t kernel = 0; kernel < 2; ++kernel) CHECK(std::atomic_ref(ranks[r].control(r, kernel).abort).load() == 2);
    CHECK(ranks[r].check() == MK_EABORTED);
    CHECK_SAYS(ranks[r].err, r == 1 ? "rank 1: the host called mk_abort: the caller lost patience"
                                    : "rank 1: its host called mk_abort, which ends this world");
  }
  // A report that was there first stays.
  CHECK(mk_abort(ranks[0].world, "again") == MK_OK && ranks[0].control(0).report.reporter == 1);
}
