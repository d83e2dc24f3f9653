// Runners on several machines: node 0's listens, the others call it, and all get the blobs of all.
#pragma once
#include <cstddef>
#include <string>

namespace mk::run {

// blobs: room for those of all nodes in order, `bytes` each, with those of `node` filled in; all are on return. Throws
// std::runtime_error where a node does not come within a minute.
void gather_blobs(const std::string& meet, int node, int nodes, char* blobs, size_t bytes);

}  // namespace mk::run
