// A test program of named cases: `tests --list` prints the names, `tests NAME` runs one.
#pragma once
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

namespace test {

// Milliseconds that a wait may take where all is well: however slow the machine is, a test fails for what is wrong.
inline constexpr uint64_t kAmple = 3600'000;

struct Case {
  const char* name;
  void (*run)();
};
inline std::vector<Case>& cases() {
  static std::vector<Case> all;
  return all;
}
struct Add {
  Add(const char* name, void (*run)()) { cases().push_back({name, run}); }
};

[[noreturn]] inline void broken(const char* file, int line, const std::string& what) {
  throw std::runtime_error(std::string(file) + ":" + std::to_string(line) + ": " + what);
}

}  // namespace test

#define CASE(name)                                \
  static void name();                             \
  static const test::Add add_##name(#name, name); \
  static void name()
#define CHECK(condition) \
  if (!(condition)) test::broken(__FILE__, __LINE__, #condition)
#define CHECK_SAYS(text, part)                           \
  if (std::string(text).find(part) == std::string::npos) \
  test::broken(__FILE__, __LINE__, "\"" + std::string(text) + "\" does not say \"" + (part) + "\"")
