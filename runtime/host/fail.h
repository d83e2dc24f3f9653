// Errors inside libmkrt are thrown as Fail; at the C boundary they become a status and one sentence.
#pragma once
#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <new>
#include <string>

#include "mk/abi.h"

namespace mk::rt {

struct Fail {
  mk_status status;
  std::string text;
};

// printf into a string.
[[gnu::format(printf, 1, 2)]] inline std::string say(const char* format, ...) {
  va_list args, again;
  va_start(args, format);
  va_copy(again, args);
  std::string text(size_t(std::vsnprintf(nullptr, 0, format, args)), '\0');
  std::vsnprintf(text.data(), text.size() + 1, format, again);
  va_end(again);
  va_end(args);
  return text;
}

[[noreturn]] inline void fail(mk_status status, std::string text) { throw Fail{status, std::move(text)}; }
[[noreturn]] inline void fail_errno(const char* what) {
  int number = errno;
  fail(number == ENOMEM ? MK_ENOMEM : MK_ESYSTEM, say("%s: %s", what, std::strerror(number)));
}

inline void tell(char* err, size_t err_len, const std::string& text) {
  if (err && err_len) std::snprintf(err, err_len, "%s", text.c_str());
}

// Runs body and turns what it throws into a status; an error leaves its sentence in err.
template <class Body> int guarded(char* err, size_t err_len, Body&& body) noexcept {
  try {
    body();
    return MK_OK;
  } catch (const Fail& f) {
    tell(err, err_len, f.text);
    return f.status;
  } catch (const std::bad_alloc&) {
    tell(err, err_len, "out of host memory");
    return MK_ENOMEM;
  } catch (const std::exception& e) {
    tell(err, err_len, e.what());
    return MK_ESYSTEM;
  }
}

}  // namespace mk::rt
