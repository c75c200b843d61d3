#include "driver/Worlds.h"
#include "driver/Compilation.h"
#include "driver/Remedies.h"
#include "kedge/Link/Link.h"
#include "kedge/Support/Error.h"
#include <algorithm>
#include <fmt/ranges.h>

namespace kedge::driver {
namespace {

void checkNumbers(const CompileOptions &options) {
  const std::vector<int64_t> &numbers = options.model.ranks;
  for (size_t i = 0; i < numbers.size(); ++i)
    if (std::find(numbers.begin(), numbers.begin() + i, numbers[i]) != numbers.begin() + i)
      fail("--ranks {}: {} is named twice; name each number once", fmt::join(numbers, ","), numbers[i]);
  if (!options.saveIr.empty() || !options.report.empty() || options.emit != "exe")
    fail("--ranks {}: {} takes one plan; give one number of ranks", fmt::join(numbers, ","),
         !options.saveIr.empty() ? "--save-ir" : !options.report.empty() ? "--report" : "--emit " + options.emit);
}

/// Several programs as one: their texts and data follow each other, and a table tells where.
class Bundle {
public:
  void add(int64_t ranks, ProgramParts parts) {
    nlohmann::json entry = {{"ranks", ranks}};
    entry["text"] = append(llvm::ArrayRef<uint8_t>(reinterpret_cast<const uint8_t *>(parts.json.data()), parts.json.size()));
    entry["data"] = append(parts.data);
    worlds.push_back(std::move(entry));
    std::move(parts.kernels.begin(), parts.kernels.end(), std::back_inserter(whole.kernels));
    whole.names.insert(whole.names.end(), parts.names.begin(), parts.names.end());
  }

  ProgramParts finish() {
    whole.json = nlohmann::json({{"worlds", worlds}}).dump();
    return std::move(whole);
  }

private:
  nlohmann::json append(llvm::ArrayRef<uint8_t> bytes) {
    whole.data.resize((whole.data.size() + 63) / 64 * 64);
    const size_t offset = whole.data.size();
    whole.data.insert(whole.data.end(), bytes.begin(), bytes.end());
    return {{"offset", offset}, {"length", bytes.size()}};
  }

  ProgramParts whole;
  nlohmann::json worlds = nlohmann::json::array();
};

} // namespace

int compileWorlds(const CompileOptions &options) {
  checkNumbers(options);
  Bundle bundle;
  for (const int64_t number : options.model.ranks) {
    CompileOptions one = options;
    one.worlds = options.model.ranks;
    one.model.ranks = {number};
    one.isTrial = number != options.model.ranks.front(); // notes are the same
    Compilation compilation(one);
    compilation.import();
    compilation.step();
    compilation.schedule();
    compilation.lower();
    if (!compilation.fits())
      return fprintf(stderr, "kedge: on %d ranks: %s", static_cast<int>(number), compilation.whyNothingFits(remediesText(one)).c_str()), 2;
    bundle.add(number, compilation.programParts());
  }
  linkParts(bundle.finish(), options, options.output);
  return 0;
}

} // namespace kedge::driver
