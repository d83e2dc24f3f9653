// Where a proxy thread runs: on the CPUs near its GPU.
#pragma once
#include <string>

namespace mk::rt::net {

// Lists as Linux writes them, such as 0-15,32-47, of the CPUs near a PCI device (0000:1b:00.0); empty where that is not known.
std::string cpus_near(const std::string& pci);

// Moves the calling thread onto those CPUs of the list that it may use; nothing where there are none.
void pin_thread(const std::string& list);

}  // namespace mk::rt::net
