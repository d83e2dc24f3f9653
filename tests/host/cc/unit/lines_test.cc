// Control connections between nodes: who gets in, who is named when he does not come, and how an end is noticed.
#include "net/lines.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>

#include <atomic>
#include <condition_variable>
#include <filesystem>
#include <map>
#include <mutex>
#include <set>
#include <thread>

#include "check.h"
#include "fail.h"
#include "net/door_wire.h"
#include "ranks.h"

using namespace mk::rt;
using namespace mk::rt::net;

namespace {

Token token_of(int rank) {
  Token t;
  t.fill(uint8_t(0x51 + rank));
  return t;
}

long descriptors() {
  auto all = std::filesystem::directory_iterator("/proc/self/fd");
  return std::distance(begin(all), end(all));
}

// What a rank has heard; waits end by themselves only where a test fails.
// Outlives the lines that it listens to: their threads talk to it until they end.
struct Ear {
  std::mutex mutex;
  std::condition_variable changed;
  std::map<int, std::vector<std::string>> heard;
  std::map<int, std::string> lost;
  std::set<int> left;

  void listen(Lines& lines) {
    lines.listen(
        [this](int rank, std::string message) {
          std::lock_guard lock(mutex);
          heard[rank].push_back(message);
          changed.notify_all();
        },
        [this](int rank, std::string why) {
          std::lock_guard lock(mutex);
          lost[rank] = why;
          changed.notify_all();
        },
        [this](int rank) {
          std::lock_guard lock(mutex);
          left.insert(rank);
          changed.notify_all();
        });
  }
  template <class Done> void wait(Done done) {
    std::unique_lock lock(mutex);
    if (!changed.wait_for(lock, std::chrono::seconds(60), done)) throw std::runtime_error("waited for nothing");
  }
};

std::vector<Partner> others(const std::vector<Address>& at, int own) {
  std::vector<Partner> all;
  for (int r = 0; r < int(at.size()); ++r)
    if (r != own) all.push_back({r, r, at[size_t(r)], token_of(r)});
  return all;
}

struct World {
  std::vector<std::unique_ptr<Lines>> lines;
  std::vector<Address> at;
  explicit World(int size) {
    for (int r = 0; r < size; ++r) {
      lines.push_back(std::make_unique<Lines>(r, token_of(r), true));
      at.push_back(lines.back()->address());
    }
  }
};

// Runs body for these ranks at once, and returns what each threw.
template <class Body> std::map<int, std::string> together(const std::vector<int>& ranks, Body body) {
  std::map<int, std::string> thrown;
  std::mutex mutex;
  std::vector<std::thread> threads;
  for (int r : ranks)
    threads.emplace_back([&, r] {
      std::string text;
      try {
        body(r);
      } catch (const Fail& f) {
        text = f.text;
      } catch (const std::exception& e) {
        text = e.what();
      }
      std::lock_guard lock(mutex);
      thrown[r] = text;
    });
  for (std::thread& t : threads) t.join();
  return thrown;
}

void all_well(const std::map<int, std::string>& thrown) {
  for (const auto& [rank, text] : thrown)
    if (!text.empty()) throw std::runtime_error("rank " + std::to_string(rank) + ": " + text);
}

void talk(int size) {
  std::vector<Ear> ears(static_cast<size_t>(size));
  World w(size);
  std::vector<int> ranks;
  for (int r = 0; r < size; ++r) ranks.push_back(r);
  all_well(together(ranks, [&](int r) {
    Ear& ear = ears[size_t(r)];
    w.lines[size_t(r)]->connect(others(w.at, r), test::kAmple);
    w.lines[size_t(r)]->tell("before anybody listens");
    ear.listen(*w.lines[size_t(r)]);
    w.lines[size_t(r)]->tell("");
    w.lines[size_t(r)]->tell(std::string(5000, char('a' + r)));
    ear.wait([&] {
      size_t whole = 0;
      for (const auto& [from, messages] : ear.heard) whole += messages.size() == 3;
      return whole == size_t(size) - 1;
    });
    for (const auto& [from, messages] : ear.heard) {
      CHECK(messages[0] == "before anybody listens" && messages[1].empty());
      CHECK(messages[2] == std::string(Lines::kMessage, char('a' + from)));
    }
    w.lines[size_t(r)].reset();  // at different times: a goodbye is no loss
  }));
  for (const Ear& e : ears) CHECK(e.lost.empty());
}

Fd stranger(const Address& at, const void* bytes, size_t n) {
  Fd fd = call(at);
  CHECK(fd);
  ::fcntl(fd.get(), F_SETFL, 0);
  for (size_t sent = 0; sent < n;) {  // until it is hung up on
    ssize_t more = ::send(fd.get(), static_cast<const char*>(bytes) + sent, n - sent, MSG_NOSIGNAL);
    if (more <= 0) break;
    sent += size_t(more);
  }
  return fd;
}
bool hung_up(const Fd& fd) {
  char byte;
  return ::recv(fd.get(), &byte, 1, 0) <= 0;
}

}  // namespace

CASE(lines_talk) {
  talk(2);  // once, for what the libraries keep
  const long before = descriptors();
  for (int i = 0; i < 10; ++i) {
    talk(1);
    talk(2);
    talk(4);
    World never_connected(3);
  }
  CHECK(descriptors() == before);
}

// Who parts stays until the others part too.
CASE(lines_part_together) {
  std::vector<Ear> ears(3);
  World w(3);
  std::atomic<int> parting{0};
  all_well(together({0, 1, 2}, [&](int r) {
    w.lines[size_t(r)]->connect(others(w.at, r), test::kAmple);
    ears[size_t(r)].listen(*w.lines[size_t(r)]);
    ears[size_t(r)].wait([&] { return int(ears[size_t(r)].left.size()) == r; });  // one after the other
    ++parting;
    w.lines[size_t(r)]->part(test::kAmple, [] { return false; });
    CHECK(parting == 3 && ears[size_t(r)].left.size() == 2);
    w.lines[size_t(r)].reset();
  }));
  for (const Ear& e : ears) CHECK(e.lost.empty() && e.heard.empty());
}

// Whatever the others do, parting ends: they die, they say what is enough, they stay.
CASE(lines_part_from_any_peer) {
  Door door(1, token_of(1), true);
  Ear ear;
  World w(1);
  std::vector<Fd> line;
  std::thread peer([&] { line = door.join({{0, 0, w.at[0], token_of(0)}}, test::kAmple, nullptr); });
  w.lines[0]->connect({{1, 1, door.address(), token_of(1)}}, test::kAmple);
  peer.join();
  ear.listen(*w.lines[0]);
  ::fcntl(line[0].get(), F_SETFL, 0);
  std::thread death([&] {
    char goodbye[8];
    ::recv(line[0].get(), goodbye, sizeof goodbye, MSG_WAITALL);
    line.clear();
  });
  w.lines[0]->part(3600'000, [] { return false; });
  death.join();
  ear.wait([&] { return ear.lost.count(1); });
  CHECK_SAYS(ear.lost[1], "ended without goodbye");

  const auto pair = [](World& w, std::vector<Ear>& ears) {
    all_well(together({0, 1}, [&](int r) {
      w.lines[size_t(r)]->connect(others(w.at, r), test::kAmple);
      ears[size_t(r)].listen(*w.lines[size_t(r)]);
    }));
  };
  std::vector<Ear> ears(2);
  World silent(2);
  pair(silent, ears);
  silent.lines[0]->part(1, [] { return false; });
  ears[1].wait([&] { return ears[1].left.count(0); });

  std::vector<Ear> more(2);
  World talking(2);
  pair(talking, more);
  std::thread talker([&] {
    more[1].wait([&] { return more[1].left.count(0); });
    talking.lines[1]->tell("enough");
  });
  talking.lines[0]->part(3600'000, [&] {
    std::lock_guard lock(more[0].mutex);
    return more[0].heard.count(1) > 0;
  });
  talker.join();
}

CASE(lines_name_who_is_missing) {
  World w(4);
  const auto thrown = together({0, 2}, [&](int r) { w.lines[size_t(r)]->connect(others(w.at, r), 500); });
  for (int r : {0, 2}) {
    CHECK_SAYS(thrown.at(r), "rank " + std::to_string(r) + " was not joined with all other nodes within 500 ms");
    CHECK_SAYS(thrown.at(r), "rank 3 (node 3, 127.0.0.1:" + std::to_string(w.at[3].port) + "): never called");
  }
  CHECK_SAYS(thrown.at(0), "rank 1 (node 1, 127.0.0.1:" + std::to_string(w.at[1].port) + "): never called");
  CHECK_SAYS(thrown.at(2), "rank 1 (node 1, 127.0.0.1:" + std::to_string(w.at[1].port) + "): never answered");
}

CASE(lines_say_why_another_gave_up) {
  World w(3);
  w.lines[0].reset();
  const auto thrown = together({1, 2}, [&](int r) {
    w.lines[size_t(r)]->connect(others(w.at, r), r == 1 ? 60000 : 20000);
  });
  for (int r : {1, 2}) CHECK_SAYS(thrown.at(r), "rank 0 (node 0, 127.0.0.1:" + std::to_string(w.at[0].port) + "): Connection refused");
}

CASE(lines_abort_while_connecting) {
  World w(2);
  Stop stop;
  stop.raise("rank 1: no longer wanted");
  const auto thrown = together({0}, [&](int) { w.lines[0]->connect(others(w.at, 0), test::kAmple, &stop); });
  CHECK(thrown.at(0) == "rank 1: no longer wanted");
}

// A rank that is stopped between its own "all are there" and its peer's tells the peer over the line.
CASE(lines_tell_who_still_connects) {
  World w(2);
  Stop stop;
  std::thread first([&] { w.lines[0]->connect(others(w.at, 0), test::kAmple, &stop); });
  const Hello hello{kDoorMagic, 1, 0, token_of(0)};
  Fd one = stranger(w.at[0], &hello, sizeof hello);
  Hello answer;
  Verdict verdict = 1;
  CHECK(::recv(one.get(), &answer, sizeof answer, MSG_WAITALL) == sizeof answer);
  CHECK(::recv(one.get(), &verdict, sizeof verdict, MSG_WAITALL) == sizeof verdict && verdict == 0);
  stop.raise("over");
  first.join();
  CHECK(w.lines[0]->tell("farewell"));
  char said[8 + 8];  // behind the head
  CHECK(::recv(one.get(), said, sizeof said, MSG_WAITALL) == sizeof said && !std::memcmp(said + 8, "farewell", 8));
}

CASE(lines_turn_strangers_away) {
  std::vector<Ear> ears(2);
  World w(2);
  std::thread first([&] {
    w.lines[0]->connect(others(w.at, 0), test::kAmple);
    ears[0].listen(*w.lines[0]);
  });
  Hello right{kDoorMagic, 1, 0, token_of(0)}, wrong = right;
  wrong.token.back() ^= 1;
  CHECK(hung_up(stranger(w.at[0], &wrong, sizeof wrong)));
  wrong = right;
  wrong.from = 7;
  CHECK(hung_up(stranger(w.at[0], &wrong, sizeof wrong)));
  wrong = right;
  wrong.to = 1;
  CHECK(hung_up(stranger(w.at[0], &wrong, sizeof wrong)));
  wrong = right;
  wrong.magic = 0;
  CHECK(hung_up(stranger(w.at[0], &wrong, sizeof wrong)));
  std::string large(1 << 20, 'x');
  std::memcpy(large.data(), &right, sizeof right);  // right, but there is more
  CHECK(hung_up(stranger(w.at[0], large.data(), large.size())));
  std::vector<Fd> silent;
  for (int i = 0; i < 70; ++i) silent.push_back(stranger(w.at[0], &right, size_t(i) % sizeof right));
  for (int i = 0; i < 20; ++i) CHECK(hung_up(silent[size_t(i)]));  // the door holds a few only

  std::thread second([&] {
    w.lines[1]->connect(others(w.at, 1), test::kAmple);
    ears[1].listen(*w.lines[1]);
  });
  first.join();
  second.join();
  Fd replay = call(w.at[0]);  // the door is closed by now
  if (replay) {
    ::fcntl(replay.get(), F_SETFL, 0);
    ::send(replay.get(), &right, sizeof right, MSG_NOSIGNAL);
    CHECK(hung_up(replay));
  }
  w.lines[1]->tell("well");
  ears[0].wait([&] { return ears[0].heard[1].size() == 1; });
  for (const Fd& fd : silent) CHECK(hung_up(fd));
}

// The same words again while the door is still open: whoever came first stays.
CASE(lines_refuse_replays) {
  World w(3);
  std::map<int, std::string> thrown;
  std::thread first([&] { thrown = together({0}, [&](int) { w.lines[0]->connect(others(w.at, 0), test::kAmple); }); });
  const Hello hello{kDoorMagic, 1, 0, token_of(0)};
  Fd one = stranger(w.at[0], &hello, sizeof hello);
  Hello answer;
  CHECK(::recv(one.get(), &answer, sizeof answer, MSG_WAITALL) == sizeof answer);
  CHECK(answer.from == 0 && answer.to == 1 && answer.token == token_of(1));
  CHECK(hung_up(stranger(w.at[0], &hello, sizeof hello)));
  const Verdict long_one = kLongestVerdict + 1;
  ::send(one.get(), &long_one, sizeof long_one, 0);
  CHECK(hung_up(one));
  const auto third = together({2}, [&](int) { w.lines[2]->connect({{0, 0, w.at[0], token_of(0)}}, test::kAmple); });
  first.join();
  CHECK_SAYS(thrown.at(0), "rank 1 (node 1, 127.0.0.1:" + std::to_string(w.at[1].port) + "): sent something malformed");
  CHECK_SAYS(third.at(2), "gave up: " + thrown.at(0).substr(0, thrown.at(0).find(". Close")));
}

CASE(lines_notice_who_hangs_or_babbles) {
  Door door(1, token_of(1), true);
  Ear ear;
  World w(1);
  std::vector<Fd> line;
  std::thread peer([&] { line = door.join({{0, 0, w.at[0], token_of(0)}}, test::kAmple, nullptr); });
  w.lines[0]->connect({{1, 1, door.address(), token_of(1)}}, test::kAmple);
  peer.join();
  ear.listen(*w.lines[0]);
  for (bool lost = false; !lost;) {  // nobody reads them
    w.lines[0]->tell(std::string(Lines::kMessage, 'x'));
    std::lock_guard lock(ear.mutex);
    lost = ear.lost.count(1);
  }
  CHECK_SAYS(ear.lost[1], "it takes no messages any more");

  Ear other;
  World v(1);
  std::thread again([&] { line = door.join({{0, 0, v.at[0], token_of(0)}}, test::kAmple, nullptr); });
  v.lines[0]->connect({{1, 1, door.address(), token_of(1)}}, test::kAmple);
  again.join();
  other.listen(*v.lines[0]);
  const uint32_t oversized[2] = {0x4c4d'4b4d, Lines::kMessage + 1};
  ::send(line[0].get(), oversized, sizeof oversized, 0);
  other.wait([&] { return other.lost.count(1); });
  CHECK_SAYS(other.lost[1], "malformed");
}

CASE(lines_notice_a_killed_process) {
  const mk::run::Meeting& end = mk::run::start(2, true, [](mk::run::Meeting& meeting, int rank) {
    auto* at = reinterpret_cast<Address*>(meeting.blobs);
    Ear ear;
    Lines lines(rank, token_of(rank), true);
    at[rank] = lines.address();
    CHECK(meeting.meet());
    lines.connect({{1 - rank, 1 - rank, at[1 - rank], token_of(1 - rank)}}, test::kAmple);
    ear.listen(lines);
    if (rank == 1) {
      lines.tell("farewell");
      ::raise(SIGKILL);
    }
    ear.wait([&] { return ear.lost.count(1); });
    CHECK(ear.heard[1].size() == 1);
    CHECK_SAYS(ear.lost[1], "ended without goodbye");
    lines.tell("to nobody");
    throw std::runtime_error("rank 0 is through");
  });
  bool through = false;
  for (const std::string& e : mk::run::errors(end)) {
    through = through || e.find("rank 0 is through") != std::string::npos;
    if (e.find("rank 0 is through") == std::string::npos) CHECK_SAYS(e, "signal 9");
  }
  CHECK(through);
}

CASE(lines_addresses) {
  ::setenv("MKGEN_INTERFACE", "no-such-0", 1);
  try {
    own_address(false);
    CHECK(false);
  } catch (const Fail& f) {
    CHECK(f.status == MK_EINVAL);
    CHECK_SAYS(f.text, "MKGEN_INTERFACE=no-such-0: no such interface; there are: lo");
  }
  ::setenv("MKGEN_INTERFACE", "lo", 1);
  CHECK(text(own_address(false)) == "127.0.0.1:0");
  ::unsetenv("MKGEN_INTERFACE");
  CHECK(text(own_address(true)) == "127.0.0.1:0");

  Address six{};
  six.ip[15] = 1;
  try {
    Fd listener = listen_at(six);
    CHECK(text(six) == "[::1]:" + std::to_string(six.port));
    Fd caller = call(six);
    CHECK(caller);
    Fd accepted;
    while (!accepted) accepted = accept_from(listener);
    tune(accepted, 2000);
    CHECK(::send(accepted.get(), "x", 1, 0) == 1);
  } catch (const Fail& f) {
    CHECK_SAYS(f.text, "[::1]:0");  // a machine without v6
  }
}
