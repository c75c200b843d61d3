#include "driver/Plugins.h"
#include "kedge/InitAllDialects.h"
#include "lib/Support/Error.h"
#include "mlir/Tools/Plugins/DialectPlugin.h"
#include "mlir/Tools/Plugins/PassPlugin.h"
#include "llvm/Support/DynamicLibrary.h"
#include <mutex>
#include <set>

namespace kedge::driver {
namespace {

template <typename Plugin> Plugin loaded(const std::string &path) {
  llvm::Expected<Plugin> plugin = Plugin::load(path);
  if (!plugin)
    fail("--load-pass-plugin {}: {}", path, llvm::toString(plugin.takeError()));
  return *plugin;
}

void registerPassesOf(const std::string &path) {
  static std::set<std::string> known;
  if (known.insert(path).second)
    loaded<mlir::PassPlugin>(path).registerPassRegistryCallbacks();
}

} // namespace

mlir::DialectRegistry dialectsWith(const std::vector<std::string> &plugins) {
  static std::mutex one; // the registry of passes is the process's
  const std::lock_guard lock(one);
  mlir::DialectRegistry registry;
  registerDialects(registry);
  for (const std::string &path : plugins) {
    std::string why;
    auto library = llvm::sys::DynamicLibrary::getPermanentLibrary(path.c_str(), &why);
    if (!library.isValid())
      fail("--load-pass-plugin {}: cannot be loaded: {}", path, why);
    const bool dialects = library.getAddressOfSymbol("mlirGetDialectPluginInfo");
    const bool passes = library.getAddressOfSymbol("mlirGetPassPluginInfo");
    if (!dialects && !passes)
      fail("--load-pass-plugin {}: is no plugin of MLIR: expected the function mlirGetPassPluginInfo or "
           "mlirGetDialectPluginInfo (docs/extending/your-own-pass.md)",
           path);
    if (dialects)
      loaded<mlir::DialectPlugin>(path).registerDialectRegistryCallbacks(registry);
    if (passes)
      registerPassesOf(path);
  }
  return registry;
}

} // namespace kedge::driver
