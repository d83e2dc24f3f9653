// The C boundary: null checks, and exceptions turned into status and sentence.
#include "fail.h"
#include "mk/version.h"
#include "world.h"

using namespace mk::rt;

#define MK_EXPORT extern "C" __attribute__((visibility("default")))

namespace {

void need(const void* p, const char* what) {
  if (!p) fail(MK_EINVAL, std::string(what) + " is null");
}

// Runs body on the world's device.
template <class Body> int on(mk_world* world, char* err, size_t err_len, Body&& body) noexcept {
  return guarded(err, err_len, [&] {
    need(world, "world");
    body(world->device());
  });
}

}  // namespace

MK_EXPORT uint64_t mk_runtime(void) { return MK_RUNTIME_HASH; }

MK_EXPORT int mk_open(const mk_options* options, mk_world** world, char* err, size_t err_len) {
  return guarded(err, err_len, [&] {
    need(options, "options");
    need(world, "world");
    *world = new mk_world(*options);
  });
}

MK_EXPORT int mk_blob(mk_world* world, const void** blob, size_t* len) {
  if (!world || !blob || !len) return MK_EINVAL;
  *blob = &world->blob();
  *len = sizeof world->blob();
  return MK_OK;
}

MK_EXPORT int mk_connect(mk_world* world, const void* blobs, size_t len, char* err, size_t err_len) {
  return guarded(err, err_len, [&] {
    need(world, "world");
    need(blobs, "blobs");
    world->connect(blobs, len);
  });
}

MK_EXPORT int mk_view_of(mk_world* world, uint32_t kernel, mk_view* view, char* err, size_t err_len) {
  return guarded(err, err_len, [&] {
    need(world, "world");
    need(view, "view");
    *view = world->view(kernel);
  });
}

MK_EXPORT int mk_check(mk_world* world, char* err, size_t err_len) {
  return guarded(err, err_len, [&] {
    need(world, "world");
    world->check();
  });
}

MK_EXPORT int mk_abort(mk_world* world, const char* reason) {
  return guarded(nullptr, 0, [&] {
    need(world, "world");
    world->abort(reason);
  });
}

MK_EXPORT void mk_close(mk_world* world) { delete world; }

MK_EXPORT int mk_alloc(mk_world* world, uint64_t bytes, void** ptr, char* err, size_t err_len) {
  return on(world, err, err_len, [&](Device& d) {
    need(ptr, "ptr");
    *ptr = d.alloc(bytes);
  });
}

MK_EXPORT int mk_free(mk_world* world, void* ptr, char* err, size_t err_len) {
  return on(world, err, err_len, [&](Device& d) {
    if (ptr) d.free(ptr);
  });
}

MK_EXPORT int mk_copy(mk_world* world, void* dst, const void* src, uint64_t bytes, char* err, size_t err_len) {
  return on(world, err, err_len, [&](Device& d) {
    if (bytes == 0) return;
    need(dst, "dst");
    need(src, "src");
    d.copy(dst, src, bytes);
  });
}

MK_EXPORT int mk_stream_new(mk_world* world, void** stream, char* err, size_t err_len) {
  return on(world, err, err_len, [&](Device& d) {
    need(stream, "stream");
    *stream = d.stream_new();
  });
}

MK_EXPORT int mk_stream_sync(mk_world* world, void* stream, char* err, size_t err_len) {
  return on(world, err, err_len, [&](Device& d) { d.stream_sync(stream); });
}

MK_EXPORT void mk_stream_free(mk_world* world, void* stream) {
  if (world && stream) guarded(nullptr, 0, [&] { world->device().stream_free(stream); });
}

MK_EXPORT int mk_mark(mk_world* world, void* stream, void** mark, char* err, size_t err_len) {
  return on(world, err, err_len, [&](Device& d) {
    need(mark, "mark");
    *mark = d.mark(stream);
  });
}

MK_EXPORT int mk_elapsed(mk_world* world, void* from, void* to, double* ms, char* err, size_t err_len) {
  return on(world, err, err_len, [&](Device& d) {
    need(from, "from");
    need(to, "to");
    need(ms, "ms");
    *ms = d.elapsed(from, to);
  });
}
