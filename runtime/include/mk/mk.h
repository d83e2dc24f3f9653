// Tile operations for one target: the GPU when compiled by nvcc, the CPU otherwise. Both folders define the same names
// with the same meaning; role programs use nothing else.
//   tiles      Tile, Panels, Tensor, make_view  pipeline  Barrier, Ring
//   move       load, store, store_wait_*        multiply  Acc, mma, mma_commit, mma_wait
//   epilogue   add_bias, activate, gate, to_tile, fence_async_*
//   signal     load_acquire, signal, now_ns, claim
//   group      elected, warpgroup_sync          grid      Grid, Ctas, Lane, Lanes, Warpgroups, launch
#pragma once
#include "mk/abi.h"
#include "mk/error.h"
#include "mk/protocol.h"
#include "mk/version.h"
#if defined(__CUDACC__)
#include "mk/sm90/tile.h"
#include "mk/sm90/barrier.h"
#include "mk/sm90/move.h"
#include "mk/sm90/multiply.h"
#include "mk/sm90/epilogue.h"
#include "mk/sm90/signal.h"
#include "mk/grid.h"
#include "mk/sm90/launch.h"
#else
#include "mk/host/tile.h"
#include "mk/host/barrier.h"
#include "mk/host/move.h"
#include "mk/host/multiply.h"
#include "mk/host/epilogue.h"
#include "mk/host/signal.h"
#include "mk/grid.h"
#include "mk/host/launch.h"
#endif
#include "mk/ring.h"
#include "mk/schedule.h"
#include "mk/wait.h"
#include "mk/host_api.h"

