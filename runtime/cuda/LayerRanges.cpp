#include "runtime/cuda/LayerRanges.h"
#if __has_include(<nvtx3/nvToolsExt.h>)
#include <nvtx3/nvToolsExt.h>

namespace kedge::rt::cuda {
LayerRange::LayerRange(const std::string &name) { nvtxRangePushA(name.c_str()); }
LayerRange::~LayerRange() { nvtxRangePop(); }
} // namespace kedge::rt::cuda
#else
namespace kedge::rt::cuda {
LayerRange::LayerRange(const std::string &) {}
LayerRange::~LayerRange() = default;
} // namespace kedge::rt::cuda
#endif
