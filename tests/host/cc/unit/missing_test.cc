// Ranks that never answer are named, all of them and no other.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <thread>

#include "rank.h"
#include "ranks.h"

using namespace test;
using mk::rt::Blob;

namespace {

// A process that opens a rank, writes its blob into a pipe and then stops, dies or lives until it is ended.
struct Child {
  enum Then { kStop, kDie, kServe };
  pid_t pid;
  Blob blob{};
  Child(int rank, int world, Then then) {
    int pipe[2];
    CHECK(::pipe(pipe) == 0);
    pid = ::fork();
    if (pid == 0) {
      Rank r;
      if (r.open(rank, world) != MK_OK) ::_exit(1);
      Blob b = r.blob();
      if (::write(pipe[1], &b, sizeof b) != sizeof b) ::_exit(1);
      if (then == kStop) ::raise(SIGSTOP);
      if (then == kDie) ::_exit(0);
      for (;;) ::pause();
    }
    CHECK(::read(pipe[0], &blob, sizeof blob) == sizeof blob);
    ::close(pipe[0]);
    ::close(pipe[1]);
    int status;
    if (then == kStop) CHECK(::waitpid(pid, &status, WUNTRACED) == pid && WIFSTOPPED(status));
    if (then == kDie) CHECK(::waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 0);
    if (then == kDie) pid = -1;
  }
  ~Child() {
    if (pid < 0) return;
    ::kill(pid, SIGKILL);
    ::waitpid(pid, nullptr, 0);
  }
};

}  // namespace

CASE(missing_ranks_are_named) {
  Child stopped(1, 5, Child::kStop), alive(2, 5, Child::kServe), dead(3, 5, Child::kDie),
      stopped_too(4, 5, Child::kStop);
  Rank r;
  CHECK(r.open(0, 5, {need("first"), need("second")}, 300) == MK_OK);
  CHECK(r.connect({r.blob(), stopped.blob, alive.blob, dead.blob, stopped_too.blob}) == MK_EABORTED);
  CHECK_SAYS(r.err, "rank 0 did not get every peer's heap within 300 ms: rank 1 (pid ");
  CHECK_SAYS(r.err, ") never answered; rank 3 (pid ");
  CHECK_SAYS(r.err, ") is closed or dead, or in another network namespace; rank 4 (pid ");
  CHECK(std::string(r.err).find("rank 2") == std::string::npos);
}

CASE(abort_ends_a_connect) {
  Child stopped(1, 2, Child::kStop);
  Rank r;
  CHECK(r.open(0, 2, {need("first")}, 1000000) == MK_OK);
  Blob other = stopped.blob;
  other.kernel_count = 1;
  other.heap_bytes = kHeapBytes;
  std::thread abort([&] { mk_abort(r.world, "no longer wanted"); });
  CHECK(r.connect({r.blob(), other}) == MK_EABORTED);
  abort.join();
  CHECK_SAYS(r.err, "rank 0: the host called mk_abort: no longer wanted");
  CHECK(r.check() == MK_EABORTED);
  CHECK_SAYS(r.err, "the host called mk_abort: no longer wanted");
}
