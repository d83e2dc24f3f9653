"""A world of mkgen ranks inside a PyTorch program: libmkrt's C ABI by ctypes, blobs exchanged by torch.distributed."""
import ctypes as c
import re

MAX_WORLD, MAX_LANES, NAME_LEN = 64, 4, 64


class Need(c.Structure):
    _fields_ = [("name", c.c_char * NAME_LEN), ("abi", c.c_uint64), ("heap_bytes", c.c_uint64), ("nodes", c.c_int32),
                ("backend", c.c_int32), ("lanes", c.c_int32), ("inbox_words", c.c_uint32)]


class Options(c.Structure):
    _fields_ = [("size", c.c_uint32), ("rank", c.c_int32), ("world", c.c_int32), ("device_kind", c.c_int32),
                ("device", c.c_int32), ("timeout_ms", c.c_uint64), ("kernels", c.POINTER(Need)), ("kernel_count", c.c_uint32)]


class View(c.Structure):
    _fields_ = [("size", c.c_uint32), ("rank", c.c_int32), ("world", c.c_int32), ("device_kind", c.c_int32),
                ("device", c.c_int32), ("nodes", c.c_int32), ("lanes", c.c_int32), ("runtime", c.c_uint64), ("timeout_ns", c.c_uint64), ("abi", c.c_uint64),
                ("heap_bytes", c.c_uint64), ("heap", c.c_void_p * MAX_WORLD), ("region", c.c_uint64),
                ("fifo", c.c_void_p * MAX_LANES), ("inbox", c.c_void_p), ("health", c.c_void_p), ("health_device", c.c_void_p)]


_REST = [("c", c.c_void_p), ("lda", c.c_int64), ("ldb", c.c_int64), ("ldc", c.c_int64), ("m", c.c_int64),
         ("rows", c.POINTER(c.c_int64)), ("stream", c.c_void_p)]


class Args(c.Structure):
    _fields_ = [("a", c.c_void_p), ("b", c.c_void_p)] + _REST


class BiasArgs(c.Structure):  # of a kernel with bias = true
    _fields_ = [("a", c.c_void_p), ("b", c.c_void_p), ("bias", c.c_void_p)] + _REST


class Failed(RuntimeError):
    pass


def _call(function, *arguments):
    text = c.create_string_buffer(1024)
    if function(*arguments, text, c.c_size_t(len(text))) != 0:
        raise Failed(text.value.decode())


class Kernel:
    """One generated AllGather+GEMM kernel on this rank. header: out/<name>/<name>.h; folder: of the two libraries."""

    def __init__(self, name, header, folder, rank, world, device, all_gather, timeout_ms=30000):
        macro = lambda what: int(re.search(rf"_{what} (0x[0-9a-f]+|\d+)", open(header).read()).group(1), 0)
        self.rt = c.CDLL(f"{folder}/libmkrt.so")
        lib = c.CDLL(f"{folder}/lib{name}.sm_90a.so")
        need = Need(name.encode(), *map(macro, ("ABI", "HEAP_BYTES", "NODES", "BACKEND", "LANES", "INBOX_WORDS")))
        options = Options(c.sizeof(Options), rank, world, 1, device, timeout_ms, c.pointer(need), 1)
        self.world = c.c_void_p()
        _call(self.rt.mk_open, c.byref(options), c.byref(self.world))
        blob, length = c.c_void_p(), c.c_size_t()
        self.rt.mk_blob(self.world, c.byref(blob), c.byref(length))
        blobs = b"".join(all_gather(c.string_at(blob, length.value)))
        _call(self.rt.mk_connect, self.world, blobs, length)
        view = View()
        _call(self.rt.mk_view_of, self.world, c.c_uint32(0), c.byref(view))
        self.kernel = c.c_void_p()
        _call(getattr(lib, f"{name}_open"), c.byref(view), c.byref(self.kernel))
        self._launch, self._close = getattr(lib, f"{name}_launch"), getattr(lib, f"{name}_close")
        self._launch.argtypes = [c.c_void_p, c.c_void_p, c.c_void_p, c.c_size_t]

    def args(self, a, b, out, m, stream, rows=None, bias=None):
        """Of a launch. Matrices may have gaps between rows; rows: of every rank's a, for a kernel with max_rows."""
        given = None if rows is None else (c.c_int64 * len(rows))(*rows)
        rest = out.data_ptr(), a.stride(0), b.stride(0), out.stride(0), m, given, stream
        if bias is None:
            return Args(a.data_ptr(), b.data_ptr(), *rest)
        return BiasArgs(a.data_ptr(), b.data_ptr(), bias.data_ptr(), *rest)

    def launch(self, a, b, out, m, stream, rows=None, bias=None):
        try:
            _call(self._launch, self.kernel, c.byref(self.args(a, b, out, m, stream, rows, bias)))
        except Failed:
            self.check()  # says why, where an earlier launch was given up
            raise

    def launch_raw(self, args):
        """Without a sentence where it fails: for measuring. A status."""
        return self._launch(self.kernel, args, None, 0)

    def check(self):
        _call(self.rt.mk_check, self.world)

    def close(self):
        self._close(self.kernel)
        self.rt.mk_close(self.world)
