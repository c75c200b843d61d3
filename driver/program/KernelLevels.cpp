#include "driver/program/KernelLevels.h"
#include "kedge/abi/ProgramKeys.h"
#include "lib/Support/Error.h"
#include "runtime/exec/Executor.h"
#include <algorithm>
#include <fmt/ranges.h>

using namespace mlir;

namespace kedge::driver {
namespace key = abi::key;

static constexpr int kOptLevel = 2;

/// With SVE, kernels for vectors of 256 bits, which code for any length does not fill, are chosen at start,
/// too. Who compiles for Windows has another machine: without a level there are both.
static std::vector<std::string> levelsOf(const std::string &name, const lower::KernelTarget &host) {
  if (name == "aarch64-linux+sve")
    return {name, name + "256"};
  if (name == "x86_64-windows")
    return {name + "+v3", name + "+v4"};
  return {name == "native" ? host.cpu : name};
}

KernelLevels::KernelLevels(const std::vector<std::string> &names)
    : chosen(!names.empty() && names != std::vector<std::string>{"native"}) {
  const lower::KernelTarget host = lower::KernelTarget::host();
  if (!chosen) {
    targets = {host};
    return;
  }
  for (const std::string &name : names)
    for (const std::string &level : levelsOf(name, host)) {
      const lower::KernelTarget target = lower::KernelTarget::level(level);
      if (std::none_of(targets.begin(), targets.end(),
                       [&](const auto &other) { return other.name == target.name; }))
        targets.push_back(target);
    }
  std::sort(targets.begin(), targets.end(), [](const auto &a, const auto &b) { return a.name < b.name; });
  if (targets.front().triple != targets.back().triple)
    fail("--cpu {}: a program is for machines of one kind; compile one program for {} and another for {}",
         fmt::join(names, ","), targets.front().name, targets.back().name);
}

nlohmann::json KernelLevels::target() const {
  std::vector<std::string> cpus, features;
  for (const lower::KernelTarget &target : targets) {
    cpus.push_back(chosen ? target.name : target.cpu);
    features.insert(features.end(), target.required.begin(), target.required.end());
  }
  return {{key::kind, "cpu"},
          {key::triple, lowest().triple},
          {key::cpu, fmt::format("{}", fmt::join(cpus, ","))},
          {key::features, features},
          {key::threads, rt::physicalCores()}};
}

std::string KernelLevels::linkedMachine(CLibrary libc) const {
  const std::string other = otherMachine();
  if (libc != CLibrary::Musl)
    return other;
  return (other.empty() ? "x86_64-linux" : other) + "-musl";
}

std::vector<std::string> KernelLevels::suffixes() const {
  std::vector<std::string> suffixes;
  for (const lower::KernelTarget &target : targets)
    suffixes.push_back(chosen ? "." + target.name : "");
  return suffixes;
}

FailureOr<ObjectFiles> KernelLevels::compile(ModuleOp kernels, std::vector<std::string> &names,
                                             FileCache *cache) const {
  if (!chosen)
    return lower::compileKernels(kernels, lowest(), kOptLevel, cache);
  ObjectFiles all;
  std::vector<std::string> suffixed;
  for (const lower::KernelTarget &target : targets) {
    OwningOpRef<ModuleOp> copy = kernels.clone();
    const std::string suffix = "." + target.name;
    lower::renameKernels(*copy, "", suffix);
    FailureOr<ObjectFiles> objects = lower::compileKernels(*copy, target, kOptLevel, cache);
    if (failed(objects))
      return failure();
    std::move(objects->begin(), objects->end(), std::back_inserter(all));
    for (const std::string &name : names)
      suffixed.push_back(name + suffix);
  }
  names = std::move(suffixed);
  return all;
}

} // namespace kedge::driver
