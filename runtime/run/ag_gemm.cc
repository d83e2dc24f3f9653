#include "ag_gemm.h"

#include <algorithm>
#include <chrono>
#include <random>
#include <thread>

#include "problem.h"
#include "session.h"

namespace mk::run {
namespace {

// The device buffers of one launch; C is followed by its guard.
struct Buffers {
  Session& session;
  void *a, *b, *bias, *c;
  std::vector<int64_t> rows;
  Buffers(Session& s, const Problem& p, int launch)
      : session(s), a(s.put(p.a(launch))), b(s.put(p.b(launch))), bias(s.put(p.bias(launch))), c(s.put(p.poisoned_c())),
        rows(p.rows(launch)) {}
  Buffers(const Buffers&) = delete;
  ~Buffers() {
    for (void* ptr : {a, b, bias, c}) session.free(ptr);
  }
};

using Launches = std::vector<std::unique_ptr<Buffers>>;

void all_meet(Meeting& meeting) {
  if (!meeting.meet()) throw Elsewhere();
}

// Shakes the order in which ranks come to a launch.
void dawdle(std::minstd_rand& random) {
  switch (random() % 3) {
    case 0:
      return;
    case 1:
      return std::this_thread::yield();
    default:
      std::this_thread::sleep_for(std::chrono::microseconds(random() % 3000));
  }
}

// Back to back: nothing synchronises ranks or launches.
void launch_all(Session& session, const Launches& launches, const Problem& p, const Options& options) {
  std::minstd_rand random(uint32_t(options.seed * 8 + uint64_t(p.rank) + 1));
  for (const auto& l : launches) {
    if (options.delay) dawdle(random);
    session.launch(l->a, l->b, l->bias, l->c, p.m, l->rows);
  }
  session.sync();
}

double check_all(Session& session, const Launches& launches, const Problem& p) {
  double worst = 0;
  for (size_t i = 0; i < launches.size(); ++i)
    worst = std::max(worst, p.check(session.get(launches[i]->c, p.c_words()), int(i)));
  return worst;
}

// Median over launches that each follow the last at once, on the prepared inputs in turn.
double time_all(Session& session, const Launches& launches, const Problem& p, int count) {
  std::vector<std::pair<void*, void*>> marks;
  for (int i = 0; i < count; ++i) {
    const Buffers& l = *launches[size_t(i) % launches.size()];
    void* from = session.mark();
    session.launch(l.a, l.b, l.bias, l.c, p.m, l.rows);
    marks.emplace_back(from, session.mark());
  }
  session.sync();
  std::vector<double> ms;
  for (auto [from, to] : marks) ms.push_back(session.elapsed(from, to));
  std::nth_element(ms.begin(), ms.begin() + count / 2, ms.end());
  return ms[size_t(count / 2)];
}

Row run_one(Meeting& meeting, Session& session, const Options& options, const Problem& p) {
  Launches launches;
  for (int i = 0; i < options.launches; ++i) launches.push_back(std::make_unique<Buffers>(session, p, i));
  all_meet(meeting);  // nobody allocates beside a running kernel
  launch_all(session, launches, p, options);
  Row row{check_all(session, launches, p), 0};
  if (options.time > 0) {
    all_meet(meeting);
    row.ms = time_all(session, launches, p, options.time);
    check_all(session, launches, p);
  }
  all_meet(meeting);  // nobody frees beside a running kernel
  return row;
}

}  // namespace

void ag_gemm(Meeting& meeting, const Options& options, int rank) try {
  Session session(meeting, options, rank);
  try {
    for (size_t i = 0; i < options.m.size(); ++i) {
      Problem p{options.m[i], kernel::kN, kernel::kK, kernel::kMaxRows, kernel::kWorld, rank, options.seed + i,
                std::string_view(kernel::kB) == "kn", type_of(kernel::kType), type_of(kernel::kOut), {kernel::kBias, kernel::kGated, kernel::kActivation}};
      meeting.outcome[rank].rows[i] = run_one(meeting, session, options, p);
    }
  } catch (const std::runtime_error& e) {
    meeting.fail(rank, e.what());
    session.abort(e.what());  // so that no peer waits for its deadline
  }
} catch (const Elsewhere&) {
}

}  // namespace mk::run
