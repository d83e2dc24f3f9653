#include <cstdio>
#include <cstring>

#include "check.h"
#include "fail.h"

int main(int argc, char** argv) {
  const char* wanted = argc == 2 ? argv[1] : "";
  for (const test::Case& c : test::cases()) {
    if (!std::strcmp(wanted, "--list")) {
      std::puts(c.name);
    } else if (!std::strcmp(wanted, c.name)) {
      try {
        c.run();
        return 0;
      } catch (const mk::rt::Fail& f) {
        std::fprintf(stderr, "%s\n", f.text.c_str());
        return 1;
      } catch (const std::exception& e) {
        std::fprintf(stderr, "%s\n", e.what());
        return 1;
      }
    }
  }
  return std::strcmp(wanted, "--list") ? 64 : 0;
}
