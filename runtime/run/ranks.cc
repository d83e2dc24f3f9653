#include "ranks.h"

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <thread>

namespace mk::run {
namespace {

void run_rank(const Program& program, Meeting& meeting, int rank) {
  try {
    program(meeting, rank);
  } catch (const std::exception& e) {
    meeting.fail(rank, e.what());
  }
}

void as_threads(Meeting& meeting, const Program& program) {
  std::vector<std::thread> threads;
  for (int rank = meeting.first; rank < meeting.first + meeting.world; ++rank)
    threads.emplace_back([&meeting, &program, rank] { run_rank(program, meeting, rank); });
  for (std::thread& t : threads) t.join();
}

void as_processes(Meeting& meeting, const Program& program) {
  std::fflush(nullptr);
  std::vector<pid_t> children;
  for (int rank = meeting.first; rank < meeting.first + meeting.world; ++rank) {
    pid_t pid = ::fork();
    if (pid < 0) {
      meeting.fail(rank, std::string("fork: ") + std::strerror(errno));
      break;
    }
    if (pid == 0) {
      run_rank(program, meeting, rank);
      std::exit(0);
    }
    children.push_back(pid);
  }
  for (size_t left = children.size(); left > 0; --left) {
    int status = 0;
    pid_t pid = ::wait(&status);
    int rank = meeting.first + int(std::find(children.begin(), children.end(), pid) - children.begin());
    if (WIFSIGNALED(status))
      meeting.fail(rank, "rank " + std::to_string(rank) + " was ended by signal " + std::to_string(WTERMSIG(status)) +
                             " (" + strsignal(WTERMSIG(status)) + ")");
    else if (WEXITSTATUS(status) != 0)
      meeting.fail(rank,
                   "rank " + std::to_string(rank) + " ended with exit code " + std::to_string(WEXITSTATUS(status)));
  }
}

}  // namespace

bool Meeting::meet() {
  uint32_t here = arrived.fetch_add(1), all = (here / uint32_t(world) + 1) * uint32_t(world);
  while (arrived.load() < all && !failed()) std::this_thread::yield();
  return !failed();
}

void Meeting::fail(int rank, const std::string& error) {
  Outcome& o = outcome[rank];
  if (o.failure) return;
  std::snprintf(o.error, sizeof o.error, "%s", error.c_str());
  o.failure = failures.fetch_add(1) + 1;
}

const Meeting& start(int world, bool processes, const Program& program, int first) {
  void* shared = ::mmap(nullptr, sizeof(Meeting), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED) throw std::runtime_error("no shared memory for the ranks' results");
  Meeting& meeting = *new (shared) Meeting{};
  meeting.first = first;
  meeting.world = world;
  processes ? as_processes(meeting, program) : as_threads(meeting, program);
  return meeting;
}

std::vector<std::string> errors(const Meeting& meeting) {
  std::vector<std::string> list;
  for (uint32_t order = 1; order <= meeting.failures.load(); ++order)
    for (int rank = meeting.first; rank < meeting.first + meeting.world; ++rank)
      if (meeting.outcome[rank].failure == order &&
          std::find(list.begin(), list.end(), meeting.outcome[rank].error) == list.end())
        list.push_back(meeting.outcome[rank].error);
  return list;
}

}  // namespace mk::run
