// AllGather+GEMM by one thread a rank, with the protocol of the generated kernels: entered words as credit, arrival
// flags set to the epoch, gather buffers by epoch parity. MK_FAULT plants one fault, on rank 1 unless it says
// otherwise:
//   drop_wait   (all ranks) computes without waiting for the peers' shards
//   stale       computes from the buffer of the launch before
//   no_signal   never tells that its shard has arrived
//   lost_row    does not send the last row of its shard
//   hole        leaves the last element of C unwritten
//   overrun     writes one element beyond C
//   wrong_m     takes part in the second launch with another M
//   crash       is killed in the second launch
#include "fake.h"

#include <signal.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "mk/abi.h"
#include "mk/protocol.h"

namespace {

constexpr int kWorld = FAKE_WORLD;
constexpr int64_t kN = FAKE_N, kK = FAKE_K;

template <class Word> Word load(Word& word) { return std::atomic_ref(word).load(std::memory_order_acquire); }
template <class Word> void store(Word& word, Word value) {
  std::atomic_ref(word).store(value, std::memory_order_release);
}

float value(uint16_t bits) { return std::bit_cast<float>(uint32_t(bits) << 16); }
uint16_t rounded(float f) {
  uint32_t bits = std::bit_cast<uint32_t>(f);
  return uint16_t((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

int64_t begin_of(int64_t m, int r) { return r * (m / kWorld) + std::min<int64_t>(r, m % kWorld); }

}  // namespace

struct fake {
  mk_view view;
  std::string fault;

  mk::Control& control(int r) { return *static_cast<mk::Control*>(view.heap[r]); }
  uint32_t& arrival(int at, int from) {
    return reinterpret_cast<uint32_t*>(static_cast<char*>(view.heap[at]) + 1280)[from];
  }
  uint16_t* gathered(int at, uint32_t epoch) {
    return reinterpret_cast<uint16_t*>(static_cast<char*>(view.heap[at]) + 2048) + (epoch & 1) * FAKE_M_MAX * kK;
  }
  bool faulty(const char* which) const { return fault == which && (view.rank == 1 || fault == "drop_wait"); }

  void give_up(mk::Report report) {
    for (int r = 0; r < kWorld; ++r) {
      uint32_t zero = 0;
      mk::Report& to = control(r).report;
      if (std::atomic_ref(to.claimed).compare_exchange_strong(zero, 1)) {
        std::memcpy(&to.reporter, &report.reporter, sizeof report - offsetof(mk::Report, reporter));
        store(to.complete, 1u);
      }
      store(control(r).abort, uint32_t(view.rank) + 1);
    }
    store(*view.health, uint32_t(view.rank) + 1);
  }

  // False once somebody has given up.
  template <class Done> bool wait(mk::Report place, Done done) {
    auto deadline = std::chrono::steady_clock::now() + std::chrono::nanoseconds(view.timeout_ns);
    while (!done(place)) {
      if (uint32_t who = load(control(view.rank).abort)) {
        store(*view.health, who);
        return false;
      }
      if (std::chrono::steady_clock::now() > deadline) {
        give_up(place);
        return false;
      }
      std::this_thread::yield();
    }
    return true;
  }

  mk::Report place(mk::Wanted wanted, int peer, uint32_t epoch) {
    mk::Report p{};
    p.reporter = uint32_t(view.rank);
    p.role = mk::Role::kCompute;
    p.wanted = wanted;
    p.peer = uint32_t(peer);
    p.epoch = epoch;
    p.expected = epoch;
    return p;
  }

  bool entered(int peer, uint32_t epoch, uint32_t reported) {
    return wait(place(mk::Wanted::kEntered, peer, reported), [&](mk::Report& p) {
      p.expected = epoch;
      p.seen = load(control(view.rank).entered[peer]) >> 32;
      return p.seen >= epoch;
    });
  }

  void send(const uint16_t* a, int64_t m, uint32_t epoch) {
    const int64_t begin = begin_of(m, view.rank), rows = begin_of(m, view.rank + 1) - begin;
    for (int step = 0; step < kWorld; ++step) {
      const int peer = (view.rank + step) % kWorld;
      if (!entered(peer, epoch - 1, epoch)) return;
      const int64_t sent = faulty("lost_row") && peer != view.rank ? rows - 1 : rows;
      if (sent > 0) std::memcpy(gathered(peer, epoch) + begin * kK, a, size_t(sent * kK) * sizeof *a);
      if (!faulty("no_signal") || peer == view.rank) store(arrival(peer, view.rank), epoch);
    }
  }

  bool receive(int from, int64_t m, uint32_t epoch) {
    if (!entered(from, epoch, epoch)) return false;
    const uint32_t theirs = uint32_t(load(control(view.rank).entered[from]));
    if (load(control(view.rank).entered[from]) >> 32 == epoch && theirs != m) {
      mk::Report p = place(mk::Wanted::kSameM, from, epoch);
      p.expected = uint64_t(m);
      p.seen = theirs;
      give_up(p);
      return false;
    }
    if (faulty("drop_wait")) return true;
    return wait(place(mk::Wanted::kChunk, from, epoch),
                [&](mk::Report& p) { return (p.seen = load(arrival(view.rank, from))) >= epoch; });
  }

  void multiply(const uint16_t* a, const uint16_t* b, uint16_t* c, int64_t begin, int64_t end) {
    std::vector<float> row(kK);
    for (int64_t i = begin; i < end; ++i) {
      for (int64_t k = 0; k < kK; ++k) row[k] = value(a[i * kK + k]);
      for (int64_t j = 0; j < kN; ++j) {
        float sum[8] = {};
        for (int64_t k = 0; k < kK; k += 8)
          for (int l = 0; l < 8; ++l) sum[l] += row[k + l] * value(b[j * kK + k + l]);
        c[i * kN + j] = rounded(sum[0] + sum[1] + sum[2] + sum[3] + sum[4] + sum[5] + sum[6] + sum[7]);
      }
    }
  }

  void run(const fake_args& args) {
    mk::Control& own = control(view.rank);
    const uint32_t epoch = own.epoch + 1;
    const int64_t m = args.m - (faulty("wrong_m") && epoch == 2);
    if (faulty("crash") && epoch == 2) ::raise(SIGKILL);
    for (int r = 0; r < kWorld; ++r) store(control(r).entered[view.rank], uint64_t(epoch) << 32 | uint64_t(m));
    send(static_cast<const uint16_t*>(args.a), m, epoch);
    uint16_t* c = static_cast<uint16_t*>(args.c);
    const uint16_t kept = args.m > 0 ? c[args.m * kN - 1] : 0;
    for (int step = 0; step < kWorld; ++step) {
      const int from = (view.rank + step) % kWorld;
      if (!receive(from, m, epoch)) break;
      multiply(gathered(view.rank, faulty("stale") ? epoch - 1 : epoch), static_cast<const uint16_t*>(args.b), c,
               begin_of(m, from), begin_of(m, from + 1));
    }
    if (faulty("hole") && args.m > 0) c[args.m * kN - 1] = kept;
    if (faulty("overrun")) c[args.m * kN] = 0;
    own.epoch = epoch;
  }
};

extern "C" {

uint64_t fake_abi(void) { return FAKE_ABI; }
// MK_FAKE_TARGET=sm_90a: for the fake CUDA driver, whose device memory is host memory.
const char* fake_target(void) {
  const char* target = std::getenv("MK_FAKE_TARGET");
  return target ? target : "host";
}

int fake_open(const mk_view* view, fake** kernel, char*, size_t) {
  const char* fault = std::getenv("MK_FAULT");
  *kernel = new fake{*view, fault ? fault : ""};
  return MK_OK;
}

int fake_launch(fake* kernel, const fake_args* args, char*, size_t) {
  kernel->run(*args);
  return MK_OK;
}

void fake_close(fake* kernel) { delete kernel; }
}
