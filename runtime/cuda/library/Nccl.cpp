#include "runtime/cuda/library/Nccl.h"

namespace kedge::rt::cuda::nccl {
namespace {

/// Groups that do not block, found and aborted by polling; first of those made for CUDA 12.
constexpr int kOldest = 21800;

std::string versionOf(int code) {
  return fmt::format("{}.{}.{}", code / 10000, code / 100 % 100, code % 100);
}

} // namespace

Library::Library()
    : library(SharedLibrary::open(
          {"libnccl.so.2"},
          "ranks on GPUs need NCCL 2.18 or newer: install NVIDIA's libnccl2, or the Python package "
          "nvidia-nccl-cu12 or nvidia-nccl-cu13; one rank needs none")) {
  library.bind(getVersion, "ncclGetVersion");
  if (getVersion(&found) != Status::Success || found < kOldest || found >= 30000)
    fail("{} is NCCL {}: ranks on GPUs need 2.18 or newer of version 2; install another", library.name(),
         versionOf(found));
  library.bind(getErrorString, "ncclGetErrorString");
  library.bind(getLastError, "ncclGetLastError");
  library.bind(getUniqueId, "ncclGetUniqueId");
  library.bind(commInitRankConfig, "ncclCommInitRankConfig");
  library.bind(commSplit, "ncclCommSplit");
  library.bind(commGetAsyncError, "ncclCommGetAsyncError");
  library.bind(commFinalize, "ncclCommFinalize");
  library.bind(commDestroy, "ncclCommDestroy");
  library.bind(commAbort, "ncclCommAbort");
  library.bind(groupStart, "ncclGroupStart");
  library.bind(groupEnd, "ncclGroupEnd");
  library.bind(allReduce, "ncclAllReduce");
  library.bind(reduce, "ncclReduce");
  library.bind(broadcast, "ncclBroadcast");
  library.bind(reduceScatter, "ncclReduceScatter");
  library.bind(allGather, "ncclAllGather");
  library.bind(send, "ncclSend");
  library.bind(receive, "ncclRecv");
  commRegister = reinterpret_cast<decltype(commRegister)>(library.trySymbol("ncclCommRegister"));
  commDeregister = reinterpret_cast<decltype(commDeregister)>(library.trySymbol("ncclCommDeregister"));
}

void Library::check(Status status, const char *what, Handle group) const {
  if (status == Status::Success)
    return;
  const char *last = getLastError(group);
  fail("NCCL {}: {}: {}{}{}; NCCL_DEBUG=WARN in the environment tells more", versionOf(found), what,
       getErrorString(status), last && *last ? ": " : "", last ? last : "");
}

Type typeOf(DType type) {
  switch (type) {
  case DType::F32:
    return Type::Float32;
  case DType::F64:
    return Type::Float64;
  case DType::F16:
    return Type::Float16;
  case DType::BF16:
    return Type::Bfloat16;
  case DType::I32:
    return Type::Int32;
  case DType::I64:
    return Type::Int64;
  case DType::Bool:
  case DType::U8:
    return Type::Uint8;
  default:
    fail("NCCL carries no values of type {}", dtypeName(type));
  }
}

} // namespace kedge::rt::cuda::nccl
