// Rows copied by a warp, on the CPU.
#pragma once

namespace mk {

// `rows` rows of `columns` elements; from one to the next are so many elements.
template <class T>
void copy_rows(T* to, int64_t to_stride, const T* from, int64_t from_stride, int rows, int columns) {
  for (int i = 0; i < rows; ++i) copy_bytes(to + i * to_stride, from + i * from_stride, size_t(columns) * sizeof(T));
}

}  // namespace mk
