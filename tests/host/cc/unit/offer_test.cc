// The unix socket of a heap hears who gives up, for as long as its world is open, and only from who knows its token; and what
// the threads of a world are stopped by.
#include <fcntl.h>
#include <sys/socket.h>

#include <condition_variable>
#include <cstring>
#include <mutex>
#include <thread>

#include "check.h"
#include "event.h"
#include "fail.h"
#include "handover.h"
#include "handover_wire.h"

using namespace mk::rt;

namespace {

struct Listener {
  std::mutex mutex;
  std::condition_variable changed;
  std::vector<std::string> heard;
  Blob blob{};
  Offer offer;

  explicit Listener(uint64_t awaited)
      : offer(Fd(::open("/dev/null", O_RDONLY | O_CLOEXEC)), Token{7}, awaited, [this](const Farewell& words) {
          std::lock_guard lock(mutex);
          heard.push_back(words.why);
          changed.notify_all();
        }) {
    blob.token = Token{7};
    std::snprintf(blob.socket, sizeof blob.socket, "%s", offer.socket().c_str());
  }
  void say(const std::string& text, const Token& token = Token{7}) {
    Blob to = blob;
    to.token = token;
    tell(to, Farewell(1, mk::Role::kHost, mk::Wanted::kJoin, text));
  }
  void wait(size_t count) {
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return heard.size() >= count; });
  }
};

}  // namespace

CASE(offer_hears_farewells) {
  for (uint64_t awaited : {0b110u, 0b0u}) {  // the heap is still awaited, or all have it
    Listener l(0b110);
    if (!awaited) l.offer.settled(0b110);
    std::vector<Fd> silent(100);  // hold nobody up
    for (Fd& one : silent) {
      one = Fd(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
      CHECK(connect(one, l.blob));
    }
    l.say("a stranger", Token{8});
    Farewell wrong(1, mk::Role::kHost, mk::Wanted::kJoin, "another version's");
    wrong.magic ^= 1;
    tell(l.blob, wrong);
    l.say("first");
    l.say(std::string(2000, 'x'));
    l.wait(2);
    CHECK(l.heard.size() == 2 && l.heard[0] == "first" && l.heard[1] == std::string(sizeof Farewell::why - 1, 'x'));
    const Stop never;
    if (awaited) CHECK(collect(1, {&l.blob}, test::kAmple, never)[0]);
  }
}

CASE(offer_is_told_after_it_is_gone) {
  Blob gone;
  {
    Listener l(0b10);
    gone = l.blob;
  }
  tell(gone, Farewell(1, mk::Role::kHost, mk::Wanted::kJoin, "nobody listens"));
}

CASE(stop_keeps_the_first_reason) {
  Stop stop;
  CHECK(!stop.raised() && stop.why().empty());
  stop.check();
  std::thread other([&] { stop.raise("first"); });
  CHECK(stop.raised(int(test::kAmple)));
  other.join();
  stop.raise("second");
  CHECK(stop.raised() && stop.why() == "first");
  try {
    stop.check();
    CHECK(!"it is stopped");
  } catch (const Fail& f) {
    CHECK(f.status == MK_EABORTED && f.text == std::string("first"));
  }
}
