#include "cpus.h"

#include <sched.h>

#include <cstdio>
#include <fstream>
#include <sstream>

namespace mk::rt::net {

std::string cpus_near(const std::string& pci) {
  std::ifstream file("/sys/bus/pci/devices/" + pci + "/local_cpulist");
  std::string list;
  std::getline(file, list);
  return pci.empty() ? "" : list;
}

void pin_thread(const std::string& list) {
  cpu_set_t may, near;
  if (::sched_getaffinity(0, sizeof may, &may)) return;
  CPU_ZERO(&near);
  std::istringstream parts(list);
  for (std::string part; std::getline(parts, part, ',');) {
    int first, last;
    const int numbers = std::sscanf(part.c_str(), "%d-%d", &first, &last);
    if (numbers < 1) return;
    for (int cpu = first; cpu <= (numbers == 2 ? last : first) && cpu < CPU_SETSIZE; ++cpu)
      if (cpu >= 0 && CPU_ISSET(cpu, &may)) CPU_SET(cpu, &near);
  }
  if (CPU_COUNT(&near) > 0) ::sched_setaffinity(0, sizeof near, &near);
}

}  // namespace mk::rt::net
