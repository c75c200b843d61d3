// Arrays in .npy files: read whole, and their header written.
#pragma once
#include "runtime/format/Tensor.h"
#include "runtime/io/FileMap.h"
#include <string>
#include <vector>

namespace kedge::rt {

/// A .npy file: f2 f4 f8 u1 i4 i8 or bool, C order, little endian.
struct Npy {
  FileMap file;
  DType type = DType::F32;
  std::vector<int64_t> shape;
  const char *data = nullptr;

  explicit Npy(const std::string &path);
};

/// Writes the header of a .npy file (C order) for these elements; returned as bytes.
std::string npyHeader(DType type, const std::vector<int64_t> &shape);

} // namespace kedge::rt
