// Elements of NCCL's types in the stand-in, and two of them made one.
#pragma once
#include "runtime/format/Float16.h"
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <nccl.h>

namespace kedge::stub {

inline size_t sizeOf(ncclDataType_t type) {
  switch (type) {
  case ncclUint8:
    return 1;
  case ncclFloat16:
  case ncclBfloat16:
    return 2;
  case ncclInt32:
  case ncclFloat32:
    return 4;
  case ncclInt64:
  case ncclFloat64:
    return 8;
  default:
    std::fprintf(stderr, "stub NCCL: a type that no test needs\n");
    std::abort();
  }
}

template <typename T, typename Wide> void reduce(ncclRedOp_t op, const char *from, char *into, size_t bytes) {
  for (size_t i = 0; i < bytes; i += sizeof(T)) {
    T a, b;
    std::memcpy(&a, into + i, sizeof(T));
    std::memcpy(&b, from + i, sizeof(T));
    const Wide x = static_cast<Wide>(a), y = static_cast<Wide>(b);
    a = static_cast<T>(op == ncclMax ? std::max(x, y) : static_cast<Wide>(x + y));
    std::memcpy(into + i, &a, sizeof(T));
  }
}

inline void reduceAs(ncclDataType_t type, ncclRedOp_t op, const char *from, char *into, size_t bytes) {
  switch (type) {
  case ncclUint8:
    return reduce<uint8_t, uint8_t>(op, from, into, bytes);
  case ncclFloat16:
    return reduce<kedge::rt::Float16, float>(op, from, into, bytes);
  case ncclBfloat16:
    return reduce<kedge::rt::BFloat16, float>(op, from, into, bytes);
  case ncclInt32:
    return reduce<int32_t, int32_t>(op, from, into, bytes);
  case ncclInt64:
    return reduce<int64_t, int64_t>(op, from, into, bytes);
  case ncclFloat64:
    return reduce<double, double>(op, from, into, bytes);
  default:
    return reduce<float, float>(op, from, into, bytes);
  }
}

} // namespace kedge::stub
