package plan

// limits of one SM and of the GPU, from the CUDA C++ programming guide, "Technical specifications per compute capability"
// 9.0; SMs are those of H100 SXM and H200 (NVIDIA H100 architecture white paper).
const (
	sms           = 132
	registers     = 64 * 1024 // 32-bit, of an SM, which runs one CTA of ours
	sharedMemory  = 227 * 1024
	warp          = 32
	warpgroup     = 128
	sharedAlign   = 1024 // of a tile with 128-byte swizzle; dynamic shared memory itself is only aligned to 16
	barrierBytes  = 8    // one mbarrier
	heapAlign     = 256
	addressSpace  = 1 << 47 // bytes of user addresses on x86-64, which unified addressing shares with the host
	elementBytes  = 2       // bf16 or fp16: A and B
	storeTileRows = 64      // a consumer warpgroup writes its rows of C through one or two tiles
	storeTileRow  = 128     // bytes: one swizzled row
	ringAlign     = 128     // of a linear tile
)

// ControlBytes is sizeof(mk::Control) in runtime/include/mk/protocol.h; the rendered source asserts it.
const ControlBytes = 1024
