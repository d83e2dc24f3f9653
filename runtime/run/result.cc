#include "result.h"

#include <algorithm>
#include <cstdio>

namespace mk::run {
namespace {

std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (unsigned char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    if (c >= 0x20) {
      out += char(c);
    } else {
      char code[8];
      std::snprintf(code, sizeof code, "\\u%04x", c);
      out += code;
    }
  }
  return out + "\"";
}

std::string number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.6g", value);
  return text;
}

std::string row_of(const Kernel& kernel, const Options& o, const Meeting& meeting, size_t i) {
  Row worst{};
  for (int rank = meeting.first; rank < meeting.first + meeting.world; ++rank) {
    const Row& row = meeting.outcome[rank].rows[i];
    worst.rel_err = std::max(worst.rel_err, row.rel_err);
    worst.ms = std::max(worst.ms, row.ms);
  }
  const double flops = 2.0 * double(o.m[i]) * double(kernel.n) * double(kernel.k);
  const bool timed = o.time > 0 && worst.ms > 0;
  return "{\"m\":" + std::to_string(o.m[i]) + ",\"launches\":" + std::to_string(o.launches) +
         ",\"rel_err\":" + number(worst.rel_err) + ",\"ms_median\":" + (timed ? number(worst.ms) : "null") +
         ",\"tflops\":" + (timed ? number(flops / worst.ms * 1e-9) : "null") + "}";
}

std::string object(bool ok, const std::string& rows, const std::string& error) {
  return std::string("{\"ok\":") + (ok ? "true" : "false") + ",\"rows\":[" + rows + "],\"error\":" + quoted(error) +
         "}";
}

}  // namespace

std::string json_error(const std::string& error) { return object(false, "", error); }

std::string json(const Kernel& kernel, const Options& options, const Meeting& meeting) {
  if (meeting.failed()) {
    std::string text;
    for (const std::string& e : errors(meeting)) text += (text.empty() ? "" : "; ") + e;
    return json_error(text);
  }
  std::string rows;
  for (size_t i = 0; i < options.m.size(); ++i) rows += (i ? "," : "") + row_of(kernel, options, meeting, i);
  return object(true, rows, "");
}

}  // namespace mk::run
