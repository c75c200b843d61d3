// The functions of libnccl.so.2 that the runtime calls, and explanations of its errors. CUDA
// toolkits do not contain its header, so the declarations here follow NCCL's documentation.
#pragma once
#include "runtime/cuda/driver/SharedLibrary.h"
#include "runtime/format/Tensor.h"
#include "runtime/io/Error.h"
#include <climits>
#include <cuda.h>

namespace kedge::rt::cuda::nccl {

enum class Status : int { Success = 0, InProgress = 7 };
enum class Type : int {
  Int32 = 2,
  Int64 = 4,
  Uint8 = 1,
  Float16 = 6,
  Float32 = 7,
  Float64 = 8,
  Bfloat16 = 9
};
enum class Operation : int { Sum = 0, Max = 2 };

/// Made by one rank and given to all others.
struct Id {
  char bytes[128] = {};
};

/// As in version 2.14; later versions accept it by its size and version fields.
struct Config {
  size_t size = sizeof(Config);
  unsigned magic = 0xcafebeef, version = 21400;
  int blocking = 0;
  int undefined = INT_MIN; ///< later versions call it cgaClusterSize
};

struct Group; ///< ncclComm
using Handle = Group *;

class Library {
public:
  /// Throws rt::RuntimeError if the library is missing or too old.
  Library();

  const std::string &name() const { return library.name(); }
  int version() const { return found; } ///< 22809 for 2.28.9
  /// Throws rt::RuntimeError with NCCL's message unless `status` is success, in which case it allocates
  /// nothing.
  void check(Status status, const char *what, Handle group) const;

  Status (*getVersion)(int *) = nullptr;
  const char *(*getErrorString)(Status) = nullptr;
  const char *(*getLastError)(Handle) = nullptr;
  Status (*getUniqueId)(Id *) = nullptr;
  Status (*commInitRankConfig)(Handle *, int ranks, Id, int rank, Config *) = nullptr;
  /// Ranks of one color form a group, numbered by their keys; all ranks of the first group call it.
  Status (*commSplit)(Handle, int color, int key, Handle *, Config *) = nullptr;
  Status (*commGetAsyncError)(Handle, Status *) = nullptr;
  Status (*commFinalize)(Handle) = nullptr;
  Status (*commDestroy)(Handle) = nullptr;
  Status (*commAbort)(Handle) = nullptr;
  Status (*groupStart)() = nullptr;
  Status (*groupEnd)() = nullptr;
  Status (*allReduce)(const void *, void *, size_t, Type, Operation, Handle, CUstream) = nullptr;
  Status (*reduce)(const void *, void *, size_t, Type, Operation, int root, Handle, CUstream) = nullptr;
  Status (*broadcast)(const void *, void *, size_t, Type, int root, Handle, CUstream) = nullptr;
  Status (*reduceScatter)(const void *, void *, size_t received, Type, Operation, Handle, CUstream) = nullptr;
  Status (*allGather)(const void *, void *, size_t sent, Type, Handle, CUstream) = nullptr;
  Status (*send)(const void *, size_t, Type, int to, Handle, CUstream) = nullptr;
  Status (*receive)(void *, size_t, Type, int from, Handle, CUstream) = nullptr;
  /// Null before version 2.19.
  Status (*commRegister)(Handle, void *, size_t, void **) = nullptr;
  Status (*commDeregister)(Handle, void *) = nullptr;

private:
  SharedLibrary library;
  int found = 0;
};

/// Throws rt::RuntimeError for types that NCCL cannot send.
Type typeOf(DType type);

} // namespace kedge::rt::cuda::nccl
