// The runner's result as one line of JSON.
#pragma once
#include <string>
#include <vector>

#include "options.h"
#include "ranks.h"

namespace mk::run {

// {"ok":true,"rows":[{"m":512,"launches":5,"rel_err":0.0021,"ms_median":1.5,"tflops":90}],"error":""}
// rel_err: worst rank and launch. ms_median: slowest rank; tflops: of one rank in that time; both null where not timed.
std::string json(const Kernel& kernel, const Options& options, const Meeting& meeting);
std::string json_error(const std::string& error);

}  // namespace mk::run
