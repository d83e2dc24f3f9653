// INTERNODE_BACKEND_TCP between threads and between processes.
#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>

#include <barrier>
#include <filesystem>
#include <thread>

#include "fail.h"
#include "net/door.h"
#include "net/door_wire.h"
#include "net/tcp_stream.h"
#include "ranks.h"
#include "tcp_node.h"

using namespace test;

namespace {

long descriptors() {
  auto all = std::filesystem::directory_iterator("/proc/self/fd");
  return std::distance(begin(all), end(all));
}

std::string thrown(const std::function<void()>& body) {
  try {
    body();
  } catch (const Fail& f) {
    CHECK(f.status == MK_EABORTED);
    return f.text;
  }
  return "";
}

// Runs body on every rank of a connected world, in threads.
using Body = std::function<void(Node&, int rank, std::barrier<>& all)>;
void world(int nodes, const Body& body, uint64_t timeout_ms = test::kAmple) {
  std::vector<std::unique_ptr<Node>> all;
  for (int r = 0; r < nodes; ++r) all.push_back(std::make_unique<Node>(r, nodes, timeout_ms));
  std::vector<Peer> peers;
  for (int r = 0; r < nodes; ++r) peers.push_back({r, r, all[size_t(r)]->backend->card(), nullptr});
  std::barrier<> barrier(nodes);
  std::vector<std::thread> threads;
  std::vector<std::string> errors(static_cast<size_t>(nodes));
  for (int r = 0; r < nodes; ++r)
    threads.emplace_back([&, r] {
      try {
        std::vector<Peer> others = peers;
        others.erase(others.begin() + r);
        all[size_t(r)]->backend->connect(others);
        body(*all[size_t(r)], r, barrier);
        all[size_t(r)]->backend.reset();
        return;
      } catch (const Fail& f) {
        errors[size_t(r)] = f.text;
      } catch (const std::exception& e) {
        errors[size_t(r)] = e.what();
      }
      std::fprintf(stderr, "rank %d: %s\n", r, errors[size_t(r)].c_str());
      std::_Exit(1);  // the others may wait for it
    });
  for (std::thread& t : threads) t.join();
}

void random_writes(int nodes, int rounds) {
  world(nodes, [&](Node& n, int rank, std::barrier<>& all) {
    for (int i = 1; i <= rounds; ++i) random_round(n, rank, nodes, uint64_t(i), [&] { all.arrive_and_wait(); });
  });
}

// A peer that says what the test wants; the backend is rank 0.
struct Puppet {
  Fd line;
  Puppet(Node& n, int nodes = 2) {
    const Token token{1, 2, 3};
    Door door(1, token, true);
    const Address at = door.address();
    Card card{};
    std::memcpy(card.data(), &at, sizeof at);
    std::memcpy(card.data() + sizeof at, &token, sizeof token);
    struct { Address address; Token token; } theirs;
    const Card c = n.backend->card();
    std::memcpy(&theirs, c.data(), sizeof theirs);
    std::thread peer([&] { line = std::move(door.join({{0, 0, theirs.address, theirs.token}}, test::kAmple, nullptr)[0]); });
    n.backend->connect({{1, nodes - 1, card, nullptr}});
    peer.join();
    ::fcntl(line.get(), F_SETFL, 0);
  }
  void say(const void* bytes, size_t n) { CHECK(::send(line.get(), bytes, n, MSG_NOSIGNAL) == ssize_t(n)); }
};

}  // namespace

CASE(tcp_random_writes) {
  random_writes(2, 1);
  const long before = descriptors();
  random_writes(2, 4);
  random_writes(3, 2);
  random_writes(4, 2);
  random_writes(1, 1);
  CHECK(descriptors() == before);
}

// What the receiver does not take stops the sender, and nothing is lost.
CASE(tcp_back_pressure) {
  world(2, [](Node& n, int rank, std::barrier<>& all) {
    constexpr uint64_t kBytes = 1 << 20;
    uint64_t accepted = 0;
    if (rank == 0) {
      n.set(0, random_bytes(5, kBytes));
      for (int refused = 0; refused < 200;) {
        if (n.backend->post({1, 0, 16 * (accepted % 1000), kBytes, uint32_t(accepted % kWords), 1, accepted + 1, accepted + 1})) {
          ++accepted;
          refused = 0;
        } else {
          ++refused;
          n.poll();
          std::this_thread::yield();
        }
      }
      CHECK(accepted < 200);
      all.arrive_and_wait();
      const uint64_t posted = accepted;
      n.post({1, 0, 0, 0, 999, 1, posted, posted + 1});
      n.poll_until([&] { return n.words.count(1); });
      CHECK(n.read.size() == posted + 1);
    } else {
      all.arrive_and_wait();
      n.poll_until([&] { return n.words.count(999); });
      const uint64_t posted = n.words[999];
      CHECK(n.words.size() == posted + 1 && n.words[uint32_t(posted - 1)] == posted);
      CHECK(n.get(16 * (posted - 1), kBytes) == random_bytes(5, kBytes));
      n.post({0, 0, 0, 0, 1, 1, 1, 1});
    }
  });
}

// Closing sends what was posted; after that words may get lost, bytes may not.
CASE(tcp_close_flushes) {
  world(2, [](Node& n, int rank, std::barrier<>& all) {
    constexpr uint32_t kWrites = 20;
    constexpr uint64_t kBytes = 1 << 20;
    if (rank == 0) {
      for (uint32_t i = 0; i < kWrites; ++i) {
        n.set(i * kBytes, random_bytes(i, kBytes));
        n.post({1, i * kBytes, i * kBytes, kBytes, i, 1, 1, i + 1});
      }
      n.backend.reset();
      all.arrive_and_wait();
    } else {
      n.poll_until([&] { return n.words.size() == kWrites; });
      for (uint32_t i = 0; i < kWrites; ++i) CHECK(n.get(i * kBytes, kBytes) == random_bytes(i, kBytes));
      all.arrive_and_wait();
      for (int i = 0; i < 10; ++i) n.poll();
      n.post({0, 0, 0, 0, 5, 1, 1, 1});
      n.poll_until([&] { return n.read.count(1); });
      CHECK_SAYS(thrown([&] {
                   n.post({0, 0, 0, 8, 5, 1, 1, 2});
                   for (;;) n.poll();
                 }),
                 "has closed its world while there were bytes to be sent to it");
    }
  });
}

CASE(tcp_refuses_bad_frames) {
  const Frame good{Frame::kWrite, 0, 1, 0, 1, 0, 0};
  struct { Frame frame; const char* says; } table[] = {
      {{Frame::kWrite, 0, 1, 0, 1, kHeap, 1}, "outside this rank's heap of 33554432 bytes"},
      {{Frame::kWrite, 0, 1, 0, 1, 1, kHeap}, "outside this rank's heap"},
      {{Frame::kWrite, 0, 1, 0, 1, ~0ull - 3, 8}, "outside this rank's heap"},
      {{Frame::kWrite, 0, 1, 0, 1, 8, ~0ull - 3}, "outside this rank's heap"},
      {{Frame::kWrite, kWords, 1, 0, 1, 0, 8}, "outside this rank's inbox of 1000 words"},
      {{Frame::kWrite, kWords - 1, 2, 0, 1, 0, 8}, "outside this rank's inbox"},
      {{Frame::kWrite, 2, ~0u, 0, 1, 0, 8}, "outside this rank's inbox"},
      {{Frame::Kind(7), 0, 1, 0, 1, 0, 8}, "what is not a write"},
      {{Frame::kGoodbye, 0, 0, 0, 0, 0, 8}, "what is not a write"},
  };
  for (const auto& row : table) {
    Node n(0, 2);
    n.set(0, std::string(kHeap, 'h'));
    Puppet p(n);
    p.say(&good, sizeof good);
    p.say(&row.frame, sizeof row.frame);
    const char bytes[64] = "these must not come to lie anywhere";
    p.say(bytes, sizeof bytes);
    const std::string text = thrown([&] {
      for (;;) n.poll();
    });
    CHECK_SAYS(text, "rank 0, lane 0: rank 1 (node 1, ");
    CHECK_SAYS(text, row.says);
    n.backend.reset();
    CHECK(n.get(0, kHeap) == std::string(kHeap, 'h'));
  }
}

// A frame may come in any pieces; an end inside of it is no goodbye.
CASE(tcp_frames_in_pieces) {
  Node n(0, 2);
  Puppet p(n);
  for (uint32_t i = 0; i < 50; ++i) {
    Frame f{Frame::kWrite, i, 1, 0, i + 1, i, i % 5};
    std::string bytes(reinterpret_cast<char*>(&f), sizeof f);
    bytes += std::string(f.bytes, 'x');
    for (size_t at = 0; at < bytes.size(); at += 7) {
      p.say(bytes.data() + at, std::min<size_t>(7, bytes.size() - at));
      n.poll();
    }
    n.poll_until([&] { return n.words.count(i); });
    CHECK(n.words[i] == i + 1 && n.get(i, f.bytes) == std::string(f.bytes, 'x'));
  }
  p.say("MK", 2);
  p.line = Fd();
  CHECK_SAYS(thrown([&] {
               for (;;) n.poll();
             }),
             "its connection ended without goodbye");
}

CASE(tcp_turns_strangers_away) {
  Node n(0, 2);
  Address at;
  const Card card = n.backend->card();
  std::memcpy(&at, card.data(), sizeof at);
  std::vector<Fd> strangers;
  for (int i = 0; i < 3; ++i) {
    strangers.push_back(call(at));
    ::fcntl(strangers.back().get(), F_SETFL, 0);
    const Hello hello{kDoorMagic, 1, 0, Token{9, 9, 9}};
    ::send(strangers.back().get(), &hello, sizeof hello, MSG_NOSIGNAL);
  }
  Puppet p(n);
  char byte;
  for (const Fd& s : strangers) CHECK(::recv(s.get(), &byte, 1, 0) <= 0);
  const Frame f{Frame::kWrite, 3, 2, 0, 7, 0, 0};
  p.say(&f, sizeof f);
  n.poll_until([&] { return n.words.count(4); });
  CHECK(n.words[3] == 7 && n.words[4] == 7 && n.words.size() == 2);
}

CASE(tcp_names_who_is_missing) {
  Node n(0, 3, 300);
  Card card = n.backend->card();
  const std::string text = thrown([&] { n.backend->connect({{1, 1, card, nullptr}, {2, 2, card, nullptr}}); });
  CHECK_SAYS(text, "rank 1 (node 1, ");
  CHECK_SAYS(text, "rank 2 (node 2, ");
  CHECK_SAYS(text, "never called");
}

CASE(tcp_notices_a_peer_that_takes_nothing) {
  Node n(0, 2, 1500);
  Puppet p(n);
  const std::string text = thrown([&] {
    for (uint64_t id = 1;; ++id) n.post({1, 0, 0, 1 << 20, 0, 1, id, id});
  });
  CHECK_SAYS(text, "rank 1 (node 1, ");
  CHECK_SAYS(text, "it took nothing for 1500 ms");
}

#ifndef TEST_CUDA
CASE(tcp_notices_a_killed_process) {
  const mk::run::Meeting& end = mk::run::start(3, true, [](mk::run::Meeting& meeting, int rank) {
    try {
      Node n(rank, 3);
      auto* cards = reinterpret_cast<Card*>(meeting.blobs);
      cards[rank] = n.backend->card();
      CHECK(meeting.meet());
      std::vector<Peer> peers;
      for (int r = 0; r < 3; ++r)
        if (r != rank) peers.push_back({r, r, cards[r], nullptr});
      n.backend->connect(peers);
      for (uint64_t id = 1;; ++id) {
        n.post({(rank + 1) % 3, 0, 1 << 20, 1 << 20, 0, 1, id, 2 * id});
        n.post({(rank + 2) % 3, 0, 1 << 20, 100, 1, 1, id, 2 * id + 1});
        if (rank == 2 && id == 40) ::raise(SIGKILL);
      }
    } catch (const Fail& f) {
      throw std::runtime_error(f.text);
    }
  });
  const auto errors = mk::run::errors(end);
  CHECK(errors.size() == 3);
  for (int rank : {0, 1}) CHECK_SAYS(end.outcome[rank].error, "ended without goodbye");
  CHECK_SAYS(std::string(end.outcome[0].error) + end.outcome[1].error, "rank 2 (node 2, ");
  CHECK_SAYS(end.outcome[2].error, "signal 9");
}
#endif
