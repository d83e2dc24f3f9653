// What one lane tells its peers through the exchange of blobs; each backend has its own contents.
#pragma once
#include <array>
#include <cstddef>

namespace mk::rt::net {

using Card = std::array<std::byte, 160>;

}  // namespace mk::rt::net
