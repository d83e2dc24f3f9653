// One rank's world and kernel, with status codes turned into exceptions.
#pragma once
#include <cstdint>
#include <stdexcept>
#include <vector>

#include "kernel.h"
#include "options.h"
#include "ranks.h"

namespace mk::run {

class Session {
 public:
  // Opens the world, exchanges blobs through the meeting, opens the kernel. Throws Elsewhere where another rank failed.
  Session(const Kernel& kernel, Meeting& meeting, const Options& options, int rank);
  Session(const Session&) = delete;
  ~Session();

  void launch(Launch launch);                      // on the stream of this session
  void sync();                                     // and mk_check
  void* mark();                                    // in stream order
  double elapsed(void* from, void* to);            // milliseconds
  void* put(const std::vector<uint16_t>& values);  // into new device memory, freed by free
  std::vector<uint16_t> get(const void* from, size_t count);
  void fill(void* to, const std::vector<uint16_t>& values);
  void free(void* ptr);
  void abort(const char* reason) { mk_abort(world_, reason); }

 private:
  void must(int status);
  void close();

  const Kernel& kernel_;
  mk_world* world_ = nullptr;
  void* handle_ = nullptr;
  void* stream_ = nullptr;
  char err_[1024] = "";
};

// Another rank failed and has told why; this one has nothing to add.
struct Elsewhere : std::exception {};

}  // namespace mk::run
