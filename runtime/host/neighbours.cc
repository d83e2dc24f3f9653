#include "neighbours.h"

#include <map>
#include <mutex>

namespace mk::rt::neighbours {
namespace {

struct Registry {
  std::mutex mutex;
  std::map<Token, std::shared_ptr<Memory>> heaps;
};
Registry& registry() {
  static Registry* r = new Registry;  // never destroyed: a world may be closed while the process ends
  return *r;
}

}  // namespace

void add(const Token& token, std::shared_ptr<Memory> heap) {
  std::lock_guard lock(registry().mutex);
  registry().heaps[token] = std::move(heap);
}

void remove(const Token& token) noexcept {
  std::lock_guard lock(registry().mutex);
  registry().heaps.erase(token);
}

std::shared_ptr<Memory> find(const Token& token) {
  std::lock_guard lock(registry().mutex);
  auto at = registry().heaps.find(token);
  return at == registry().heaps.end() ? nullptr : at->second;
}

}  // namespace mk::rt::neighbours
