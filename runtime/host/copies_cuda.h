// Copies on a GPU: a stream of their own.
#pragma once
#include <memory>

#include "context.h"
#include "device.h"

namespace mk::rt::cuda {

std::unique_ptr<Copies> cuda_copies(std::shared_ptr<Primary> primary);

}  // namespace mk::rt::cuda
