// Tile operations for one target: the GPU when compiled by nvcc, the CPU otherwise. Both folders define the same names
// with the same meaning; role programs use nothing else.
//   tiles      Tile, Panels, Either, Tensor, make_view  pipeline  Barrier, Ring
//   move       load, store, store_add, store_wait_*        multiply  Acc, clear, mma, mma_commit, mma_wait
//   epilogue   add_bias, activate, gate, to_tile, fence_async_*   reduce  sum_in_order, take
//   signal     load_acquire, signal, now_ns, claim
//   gemm       next_stage, multiply, put
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
#include "mk/sm90/reduce.h"
#include "mk/sm90/rows.h"
#include "mk/sm90/signal.h"
#include "mk/grid.h"
#include "mk/sm90/launch.h"
#else
#include "mk/host/tile.h"
#include "mk/host/barrier.h"
#include "mk/host/move.h"
#include "mk/host/multiply.h"
#include "mk/host/epilogue.h"
#include "mk/host/reduce.h"
#include "mk/host/rows.h"
#include "mk/host/signal.h"
#include "mk/grid.h"
#include "mk/host/launch.h"
#endif
#include "mk/ring.h"
#include "mk/gemm.h"
#include "mk/schedule.h"
#include "mk/wait.h"
#include "mk/meet.h"
#include "mk/outbox.h"
#include "mk/host_api.h"

