// Closing gives everything back.
#include <filesystem>
#include <fstream>

#include "rank.h"
#include "ranks.h"

using namespace test;
using mk::rt::Blob;

namespace {

long descriptors() {
  auto all = std::filesystem::directory_iterator("/proc/self/fd");
  return std::distance(begin(all), end(all));
}

long mappings(const std::string& of) {
  std::ifstream maps("/proc/self/maps");
  long count = 0;
  for (std::string line; std::getline(maps, line);) count += line.find(of) != std::string::npos;
  return count;
}

void some_worlds() {
  local_world(1);
  local_world(3);
  Rank bad, a, b;
  bad.open(3, 2);
  CHECK(a.open(0, 2) == MK_OK && b.open(1, 2, {need("other")}) == MK_OK);
  CHECK(a.connect({a.blob(), b.blob()}) == MK_EMISMATCH);
}

// Both ranks of a two-process world, again and again in one process each.
void worlds_across(mk::run::Meeting& meeting, int rank) {
  long before = 0;
  for (int i = 0; i < 101; ++i) {
    if (i == 1) before = descriptors();
    Rank r;
    CHECK(r.open(rank, 2) == MK_OK);
    Blob own = r.blob();
    std::memcpy(meeting.blobs + size_t(rank) * sizeof own, &own, sizeof own);
    CHECK(meeting.meet());
    CHECK(mk_connect(r.world, meeting.blobs, sizeof own, r.err, sizeof r.err) == MK_OK);
    CHECK(mappings("memfd:mk-heap") == 2);
    CHECK(meeting.meet());
  }
  CHECK(descriptors() == before && mappings("memfd:mk-heap") == 0);
}

}  // namespace

CASE(no_leak_in_one_process) {
  some_worlds();  // once, for what the libraries keep
  const long fds = descriptors();
  [[maybe_unused]] const long maps = mappings("");
  for (int i = 0; i < 100; ++i) some_worlds();
  CHECK(descriptors() == fds);
  CHECK(mappings("memfd:mk-heap") == 0);
#if !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__)  // which map what they like
  CHECK(mappings("") < maps + 20);  // the allocator may map a little, 100 cycles may not
#endif
}

CASE(no_leak_between_processes) {
  for (const std::string& e : mk::run::errors(mk::run::start(2, true, worlds_across))) throw std::runtime_error(e);
}
