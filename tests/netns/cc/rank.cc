// A rank that talks to a rank on another node over control lines and INTERNODE_BACKEND_TCP.
//   rank exchange ROUNDS        random writes both ways, checked, in rounds
//   rank vanish TIMEOUT_MS      rank 1 takes its interface down; both must notice, by the line and by the backend
// RANK and WORLD_SIZE, and SHARED, a folder where ranks leave for each other how they are reached.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <mutex>
#include <thread>

#include "fail.h"
#include "net/lines.h"
#include "tcp_node.h"

using namespace test;

namespace {

struct Contact {
  Address line;
  Card card;
};

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  if (!value) throw std::runtime_error(std::string(name) + " is not set");
  return value;
}

// Everybody's contact, by rank.
std::vector<Contact> exchange_contacts(const Contact& own, int rank, int world) {
  const std::string folder = variable("SHARED");
  const auto name = [&](int r) { return folder + "/contact." + std::to_string(r); };
  std::ofstream(name(rank) + ".new", std::ios::binary).write(reinterpret_cast<const char*>(&own), sizeof own);
  std::filesystem::rename(name(rank) + ".new", name(rank));
  std::vector<Contact> all(static_cast<size_t>(world));
  for (int r = 0; r < world; ++r) {
    while (!std::filesystem::exists(name(r))) std::this_thread::yield();
    std::ifstream(name(r), std::ios::binary).read(reinterpret_cast<char*>(&all[size_t(r)]), sizeof(Contact));
  }
  return all;
}

Token token_of(int rank) {
  Token t;
  t.fill(uint8_t(0x60 + rank));
  return t;
}

struct Rank {
  int rank = std::stoi(variable("RANK")), world = std::stoi(variable("WORLD_SIZE"));
  Node node;
  Lines lines{rank, token_of(rank), false};
  std::mutex mutex;
  size_t heard = 0;
  std::string lost;

  explicit Rank(uint64_t timeout_ms) : node(rank, world, timeout_ms) {
    const auto contacts = exchange_contacts({lines.address(), node.backend->card()}, rank, world);
    std::vector<Peer> peers;
    std::vector<Lines::Peer> partners;
    for (int r = 0; r < world; ++r) {
      if (r == rank) continue;
      peers.push_back({r, r, contacts[size_t(r)].card, nullptr});
      partners.push_back({r, r, contacts[size_t(r)].line, token_of(r)});
    }
    node.backend->connect(peers);
    lines.connect(partners, timeout_ms);
    lines.listen(
        [this](int, std::string) {
          std::lock_guard lock(mutex);
          ++heard;
        },
        [this](int from, std::string why) {
          std::lock_guard lock(mutex);
          lost = "rank " + std::to_string(from) + ": " + why;
        },
        [](int) {});
    std::cout << "rank " << rank << " at " << text(lines.address()) << " is connected" << std::endl;
  }

  // All ranks call this as often.
  void meet() {
    lines.tell("here");
    ++met_;
    node.poll_until([&] {
      std::lock_guard lock(mutex);
      if (!lost.empty()) throw std::runtime_error(lost);
      return heard >= met_ * size_t(world - 1);
    });
  }

 private:
  size_t met_ = 0;
};

void exchange(int rounds) {
  Rank r(60000);
  for (int i = 1; i <= rounds; ++i) random_round(r.node, r.rank, r.world, uint64_t(i), [&] { r.meet(); });
}

void vanish(uint64_t timeout_ms) {
  Rank r(timeout_ms);
  random_round(r.node, r.rank, r.world, 1, [&] { r.meet(); });
  if (r.rank == 1 && std::system(("ip link set dev " + variable("MKGEN_INTERFACE") + " down").c_str()) != 0)
    throw std::runtime_error("the link cannot be taken down");
  std::string failed;
  try {
    for (;;) r.node.poll();  // nothing under way: only the connection itself can tell
  } catch (const Fail& f) {
    failed = f.text;
  }
  CHECK_SAYS(failed, "rank " + std::to_string(1 - r.rank) + " (node " + std::to_string(1 - r.rank));
  for (;;) {
    std::lock_guard lock(r.mutex);
    if (!r.lost.empty()) break;
  }
  std::cout << failed << "\n" << r.lost << std::endl;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const std::string what = argc == 3 ? argv[1] : "";
    if (what == "exchange") exchange(std::stoi(argv[2]));
    else if (what == "vanish") vanish(std::stoull(argv[2]));
    else throw std::runtime_error("usage: rank exchange ROUNDS | rank vanish TIMEOUT_MS");
    std::cout << what << ": well" << std::endl;
    return 0;
  } catch (const Fail& f) {
    std::cout << f.text << std::endl;
  } catch (const std::exception& e) {
    std::cout << e.what() << std::endl;
  }
  return 1;
}
