// Sentences for the caller's error buffer.
#pragma once
#include <cstdarg>
#include <cstddef>
#include <cstdio>

namespace mk {

struct Error {
  char* text;
  size_t length;

  // Writes the sentence (truncated to the buffer; a null buffer is ignored) and returns the status.
  __attribute__((format(printf, 3, 4))) int fail(int status, const char* format, ...) const {
    if (text != nullptr && length > 0) {
      va_list arguments;
      va_start(arguments, format);
      std::vsnprintf(text, length, format, arguments);
      va_end(arguments);
    }
    return status;
  }
};

}  // namespace mk
