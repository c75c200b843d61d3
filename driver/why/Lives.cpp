#include "driver/why/Lives.h"
#include "kedge/Dialect/Exec/ExecOps.h"
#include "kedge/Dialect/Sched/SchedDialect.h"
#include "lib/Analysis/LibraryCall.h"
#include "lib/Support/Error.h"

using namespace mlir;

namespace kedge::driver {
namespace {

using Lives = std::map<std::string, std::vector<ValueLife>>;

/// One function of level 4 beside what kedge-price-values noted of it.
class FunctionLives {
public:
  FunctionLives(exec::FunctionOp function, DictionaryAttr noted, Compilation &compilation)
      : function(function), name(function.getSymName().str()), noted(noted), compilation(compilation),
        launches(launchesIn(compilation.module(), name)) {}

  void addTo(Lives &lives) {
    for (Attribute entry : noted.getAs<ArrayAttr>("values"))
      if (auto value = cast<DictionaryAttr>(entry); auto input = value.getAs<StringAttr>("input"))
        addInput(lives[idOf(value.getAs<IntegerAttr>("number").getInt())], input.getValue());
    const std::vector<std::vector<int64_t>> written = writtenValues();
    for (size_t at = 0; at < launches.size(); ++at) {
      auto writes = cast<exec::LaunchInterface>(launches[at]).getWrites();
      // Launches that were joined update states, which are no values.
      if (writes.size() != written[at].size())
        continue;
      for (size_t k = 0; k < writes.size(); ++k) {
        const int64_t value = written[at][k];
        lives[idOf(value < 0 ? ~value : value)].push_back(lifeOf(writes[k], static_cast<int64_t>(at)));
      }
    }
  }

private:
  std::string idOf(int64_t value) const { return name + "#" + std::to_string(value); }

  /// For each launch the values that it writes, by the rows of level 3 that it was made of.
  std::vector<std::vector<int64_t>> writtenValues() const {
    auto runs = noted.getAs<ArrayAttr>("runs");
    std::vector<int64_t> firstRow, indexOfRow;
    std::vector<std::vector<int64_t>> written;
    for (const analysis::ScheduledLaunch &launch : compilation.launches()) {
      if (launch.function != name)
        continue;
      std::vector<int64_t> &values = written.emplace_back();
      for (int64_t row : launch.rows) {
        const int64_t index = compilation.scheduledLaunches()[static_cast<size_t>(row)].index;
        if (index >= static_cast<int64_t>(runs.size()))
          fail("@{}: launch {} of the schedule is none that the plan lists ({})", name, index, runs.size());
        llvm::append_range(values, cast<DenseI64ArrayAttr>(runs[index]).asArrayRef());
      }
    }
    return written;
  }

  void addInput(std::vector<ValueLife> &lives, StringRef input) {
    for (auto buffer : function.getBody().getOps<exec::BufferOp>())
      if (llvm::any_of(buffer.bound(), [&](train::BindingAttr binding) {
            return binding.is(train::BindingKind::Input) && binding.getName() == input;
          }))
        lives.push_back(lifeOf(buffer.getResult(), -1));
  }

  /// From the launch that writes `place` to the last reader before it is written again.
  ValueLife lifeOf(Value place, int64_t from) {
    auto buffer = place.getDefiningOp<exec::BufferOp>();
    ValueLife life;
    life.from = life.to = from;
    life.offset = buffer.getOffset();
    life.bytes = analysis::arenaBytes(buffer, buffer.getSize());
    life.host = buffer.getHost();
    life.persistent = buffer.isPersistent();
    bool overwritten = false;
    for (int64_t at = from + 1; at < static_cast<int64_t>(launches.size()) && !overwritten; ++at) {
      auto launch = cast<exec::LaunchInterface>(launches[static_cast<size_t>(at)]);
      if (llvm::is_contained(launch.getReads(), place)) {
        life.readers.push_back(at);
        life.to = at;
      }
      overwritten = llvm::is_contained(launch.getWrites(), place);
    }
    if (!overwritten)
      life.to = std::max<int64_t>(life.to,
                                  std::min<int64_t>(buffer.getLast(), static_cast<int64_t>(launches.size())));
    return life;
  }

  exec::FunctionOp function;
  std::string name;
  DictionaryAttr noted;
  Compilation &compilation;
  std::vector<Operation *> launches;
};

} // namespace

std::vector<Operation *> launchesIn(ModuleOp module, const std::string &function) {
  std::vector<Operation *> launches;
  auto op = module.lookupSymbol<exec::FunctionOp>(function);
  for (auto launch : op.getBody().getOps<exec::LaunchInterface>())
    launches.push_back(launch);
  return launches;
}

std::map<std::string, std::vector<ValueLife>> livesOf(Compilation &compilation) {
  Lives lives;
  for (Attribute entry : compilation.prices()) {
    auto noted = cast<DictionaryAttr>(entry);
    auto function = compilation.module().lookupSymbol<exec::FunctionOp>(noted.getAs<StringAttr>("function"));
    FunctionLives(function, noted, compilation).addTo(lives);
  }
  return lives;
}

} // namespace kedge::driver
