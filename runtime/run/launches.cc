#include "launches.h"

#include <algorithm>
#include <chrono>
#include <random>
#include <thread>

#include "problem.h"
#include "session.h"

namespace mk::run {
namespace {

// The device buffers of one launch; C is followed by its guard. A residual is added in place by every other launch.
struct Buffers {
  Session& session;
  const Problem& problem;
  int launch;
  bool in_place;
  void *a, *b, *bias, *residual, *c;
  int64_t m, k;
  std::vector<int64_t> rows;
  Buffers(Session& s, const Problem& p, int launch)
      : session(s), problem(p), launch(launch), in_place(p.epilogue.residual && launch % 2 == 1), a(s.put(p.a(launch))), b(s.put(p.b(launch))),
        bias(s.put(p.bias(launch))), residual(s.put(p.residual(launch))), c(s.put(before())), m(p.m), k(p.depths(launch)[p.rank]), rows(p.rows(launch)) {}
  Buffers(const Buffers&) = delete;
  ~Buffers() {
    for (void* ptr : {a, b, bias, residual, c}) session.free(ptr);
  }
  // What C holds before the launch.
  std::vector<uint16_t> before() const {
    std::vector<uint16_t> words = problem.poisoned_c();
    if (in_place) std::ranges::copy(problem.residual(launch), words.begin());
    return words;
  }
  void start() const {
    session.launch({a, b, bias, in_place ? c : residual, c, m, k, problem.max_rows > 0 ? rows.data() : nullptr, nullptr});
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
    l->start();
  }
  session.sync();
}

double check_all(Session& session, const Launches& launches, const Problem& p) {
  double worst = 0;
  for (size_t i = 0; i < launches.size(); ++i)
    worst = std::max(worst, p.check(session.get(launches[i]->c, p.c_words()), int(i)));
  return worst;
}

// The same inputs again give the same bits.
void repeat_all(Session& session, const Launches& launches, const Problem& p, const Options& options) {
  std::vector<std::vector<uint16_t>> first;
  for (const auto& l : launches) {
    first.push_back(session.get(l->c, p.c_words()));
    session.fill(l->c, l->before());
  }
  launch_all(session, launches, p, options);
  for (size_t i = 0; i < launches.size(); ++i)
    if (session.get(launches[i]->c, p.c_words()) != first[i])
      throw std::runtime_error("rank " + std::to_string(p.rank) + ": launch " + std::to_string(i + 1) + ", M = " + std::to_string(p.m) +
                               ": launched again with the same operands, other bits");
}

// Median over launches that each follow the last at once, on the prepared inputs in turn.
double time_all(Session& session, const Launches& launches, int count) {
  std::vector<std::pair<void*, void*>> marks;
  for (int i = 0; i < count; ++i) {
    const Buffers& l = *launches[size_t(i) % launches.size()];
    void* from = session.mark();
    l.start();
    marks.emplace_back(from, session.mark());
  }
  session.sync();
  std::vector<double> ms;
  for (auto [from, to] : marks) ms.push_back(session.elapsed(from, to));
  std::nth_element(ms.begin(), ms.begin() + count / 2, ms.end());
  return ms[size_t(count / 2)];
}

Row run_one(const Kernel& kernel, Meeting& meeting, Session& session, const Options& options, const Problem& p) {
  Launches launches;
  for (int i = 0; i < options.launches; ++i) launches.push_back(std::make_unique<Buffers>(session, p, i));
  all_meet(meeting);  // nobody allocates beside a running kernel
  launch_all(session, launches, p, options);
  Row row{check_all(session, launches, p), 0};
  if (kernel.reduces && kernel.ordered) {
    all_meet(meeting);
    repeat_all(session, launches, p, options);
  }
  if (options.time > 0) {
    all_meet(meeting);
    row.ms = time_all(session, launches, options.time);
    check_all(session, launches, p);
  }
  all_meet(meeting);  // nobody frees beside a running kernel
  return row;
}

}  // namespace

void run_rank(const Kernel& kernel, Meeting& meeting, const Options& options, int rank) try {
  Session session(kernel, meeting, options, rank);
  try {
    for (size_t i = 0; i < options.m.size(); ++i) {
      Problem p{options.m[i], kernel.n, kernel.k, kernel.max_rows, kernel.world, rank, options.seed + i,
                std::string_view(kernel.b) == "kn", kernel.reduces, kernel.all_rows, kernel.any_k, type_of(kernel.type), type_of(kernel.out),
                type_of(kernel.partial), {kernel.bias, kernel.gated, kernel.residual, kernel.activation}};
      meeting.outcome[rank].rows[i] = run_one(kernel, meeting, session, options, p);
    }
  } catch (const std::runtime_error& e) {
    meeting.fail(rank, e.what());
    session.abort(e.what());  // so that no peer waits for its deadline
  }
} catch (const Elsewhere&) {
}

}  // namespace mk::run
