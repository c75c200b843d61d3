#include "passes/Lower/Codegen/KernelCache.h"
#include "lib/Support/Error.h"
#include "lib/Support/MemoryBudget.h"
#include "passes/Base/KedgePass.h"
#include <cstdlib>
#include <filesystem>

namespace kedge::lower {
namespace {

constexpr int64_t kDefaultBytes = int64_t(1) << 30;

std::string variable(const char *name) {
  const char *value = std::getenv(name);
  return value ? value : "";
}

/// Where the XDG Base Directory Specification has it; a path that is not absolute does not count. Empty:
/// nowhere.
std::string userFolder() {
  if (const std::string caches = variable("XDG_CACHE_HOME"); std::filesystem::path(caches).is_absolute())
    return caches + "/kedge/kernels";
  if (const std::string home = variable("HOME"); std::filesystem::path(home).is_absolute())
    return home + "/.cache/kedge/kernels";
  return "";
}

int64_t mostBytes() {
  const std::string given = variable("KEDGE_KERNEL_CACHE_SIZE");
  if (given.empty() || given == "0")
    return given.empty() ? kDefaultBytes : 0;
  MemoryBudget size;
  const auto parse = [&] { size = MemoryBudget::parse(given); };
  const auto ignore = [](const char *) {}; // its text is about another option
  if (succeeded(reportingFailures(parse, ignore)) && size.kind == MemoryBudget::Kind::Bytes)
    return size.bytes;
  fail("KEDGE_KERNEL_CACHE_SIZE={}: expected BYTES, a size as in 500MiB, or 0 for no limit", given);
}

} // namespace

KernelCache::KernelCache(const std::string &given) {
  std::string folder = given.empty() ? variable("KEDGE_KERNEL_CACHE") : given;
  if (folder == "off")
    return;
  if (folder.empty())
    folder = userFolder();
  if (folder.empty())
    trouble = "neither XDG_CACHE_HOME nor HOME names a folder";
  else
    cache.emplace(std::filesystem::absolute(folder).string(), mostBytes());
}

nlohmann::json KernelCache::facts() const {
  if (!cache && trouble.empty())
    return {};
  if (!cache) {
    nlohmann::json facts;
    facts["trouble"] = trouble;
    return facts;
  }
  const FileCache::Counts &counts = cache->counts();
  nlohmann::json facts = {{"folder", cache->folder()},
                          {"hits", counts.hits},
                          {"misses", counts.misses},
                          {"read_bytes", counts.readBytes},
                          {"written_bytes", counts.writtenBytes}};
  if (!cache->trouble().empty())
    facts["trouble"] = cache->trouble();
  return facts;
}

} // namespace kedge::lower
