#include "session.h"

#include <dlfcn.h>

#include <cstdio>
#include <cstring>
#include <string>

#include "nodes.h"

namespace mk::run {
namespace {

// libmkrt has no use for the number of devices, so the driver is asked here.
int device_count() {
  void* cuda = ::dlopen("libcuda.so.1", RTLD_NOW);
  auto init = reinterpret_cast<int (*)(unsigned)>(cuda ? ::dlsym(cuda, "cuInit") : nullptr);
  auto get = reinterpret_cast<int (*)(int*)>(cuda ? ::dlsym(cuda, "cuDeviceGetCount") : nullptr);
  int count = 0;
  if (!init || !get || init(0) || get(&count) || count == 0) throw std::runtime_error("no CUDA device is visible");
  return count;
}

int device_of(const Options& o, int rank) {
  if (!o.cuda) return 0;
  return o.devices.empty() ? rank % device_count() : o.devices[size_t(rank)];
}

}  // namespace

Session::Session(const Kernel& kernel, Meeting& meeting, const Options& o, int rank) : kernel_(kernel) {
  mk_kernel_need need{};
  std::snprintf(need.name, sizeof need.name, "%s", kernel.name);
  need.abi = kernel.abi();
  need.heap_bytes = kernel.heap_bytes;
  need.nodes = kernel.nodes;
  need.backend = kernel.backend;
  need.lanes = kernel.lanes;
  need.inbox_words = kernel.inbox_words;
  mk_options options{};
  options.size = sizeof options;
  options.rank = rank;
  options.world = kernel.world;
  options.device_kind = o.cuda ? MK_DEVICE_CUDA : MK_DEVICE_HOST;
  options.device = device_of(o, rank);
  options.timeout_ms = o.timeout_ms;
  options.kernels = &need;
  options.kernel_count = 1;
  try {
    must(mk_open(&options, &world_, err_, sizeof err_));
    const void* blob;
    size_t len;
    must(mk_blob(world_, &blob, &len));
    std::memcpy(meeting.blobs + size_t(rank) * len, blob, len);
    if (!meeting.meet()) throw Elsewhere();
    if (o.node >= 0) {
      if (rank == meeting.first) gather_blobs(o.meet, o.node, kernel.nodes, meeting.blobs, len * size_t(meeting.world));
      if (!meeting.meet()) throw Elsewhere();
    }
    must(mk_connect(world_, meeting.blobs, len, err_, sizeof err_));
    mk_view view;
    must(mk_view_of(world_, 0, &view, err_, sizeof err_));
    must(kernel.open(&view, &handle_, err_, sizeof err_));
    must(mk_stream_new(world_, &stream_, err_, sizeof err_));
  } catch (...) {
    close();
    throw;
  }
}

Session::~Session() { close(); }

void Session::close() {
  if (stream_) mk_stream_sync(world_, stream_, nullptr, 0);
  if (handle_) kernel_.close(handle_);
  if (stream_) mk_stream_free(world_, stream_);
  mk_close(world_);
}

void Session::must(int status) {
  if (status != MK_OK) throw std::runtime_error(err_[0] ? err_ : "status " + std::to_string(status));
}

void Session::launch(Launch launch) {
  launch.stream = stream_;
  const int status = kernel_.launch(handle_, launch, err_, sizeof err_);
  if (status == MK_EABORTED) must(mk_check(world_, err_, sizeof err_));  // says why
  must(status);
}

void Session::sync() {
  must(mk_stream_sync(world_, stream_, err_, sizeof err_));
  must(mk_check(world_, err_, sizeof err_));
}

void* Session::mark() {
  void* mark;
  must(mk_mark(world_, stream_, &mark, err_, sizeof err_));
  return mark;
}

double Session::elapsed(void* from, void* to) {
  double ms;
  must(mk_elapsed(world_, from, to, &ms, err_, sizeof err_));
  return ms;
}

void* Session::put(const std::vector<uint16_t>& values) {
  void* ptr;
  must(mk_alloc(world_, values.size() * sizeof values[0], &ptr, err_, sizeof err_));
  fill(ptr, values);
  return ptr;
}

void Session::fill(void* to, const std::vector<uint16_t>& values) {
  must(mk_copy(world_, to, values.data(), values.size() * sizeof values[0], err_, sizeof err_));
}

std::vector<uint16_t> Session::get(const void* from, size_t count) {
  std::vector<uint16_t> values(count);
  must(mk_copy(world_, values.data(), from, count * sizeof values[0], err_, sizeof err_));
  return values;
}

void Session::free(void* ptr) { mk_free(world_, ptr, nullptr, 0); }

}  // namespace mk::run
