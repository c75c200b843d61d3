// --kernel-cache: compiled kernels are kept for the next compilation.
#pragma once
#include "lib/Support/FileCache.h"
#include <nlohmann/json.hpp>

namespace kedge::lower {

class KernelCache {
public:
  /// A folder or "off"; empty: as KEDGE_KERNEL_CACHE says, else the user's. Throws kedge::Error where
  /// KEDGE_KERNEL_CACHE_SIZE is no size.
  explicit KernelCache(const std::string &given);

  /// Null: nothing is kept.
  FileCache *files() { return cache ? &*cache : nullptr; }
  /// For --report; null: off.
  nlohmann::json facts() const;

private:
  std::optional<FileCache> cache;
  std::string trouble; ///< why there is none
};

} // namespace kedge::lower
