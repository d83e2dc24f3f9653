// The heaps of this process's worlds, by token: ranks that are threads of one process use each other's mapping.
#pragma once
#include <memory>

#include "blob.h"
#include "heap.h"

namespace mk::rt::neighbours {

void add(const Token& token, std::shared_ptr<Memory> heap);
void remove(const Token& token) noexcept;
std::shared_ptr<Memory> find(const Token& token);  // null once that world is closed

}  // namespace mk::rt::neighbours
