// Arrays in .npy files: reads whole arrays, writes headers.
#pragma once
#include "runtime/format/Tensor.h"
#include "runtime/io/FileMap.h"
#include <string>
#include <vector>

namespace kedge::rt {

/// A .npy file of type f2 f4 f8 u1 u2 u4 i1 i2 i4 i8 or bool, in C order, little-endian.
struct Npy {
  FileMap file;
  DType type = DType::F32;
  std::vector<int64_t> shape;
  const char *data = nullptr;

  explicit Npy(const std::string &path);
};

/// The bytes of the header of a .npy file (C order) for these elements.
std::string npyHeader(DType type, const std::vector<int64_t> &shape);

} // namespace kedge::rt
