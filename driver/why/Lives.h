// Where the values of a plan are: launches that make and read them, and bytes in between.
#pragma once
#include "driver/Compilation.h"
#include <map>

namespace kedge::driver {

/// A value from the launch that makes it to the last that reads this instance.
struct ValueLife {
  int64_t from = -1, to = -1;    ///< launches of its function; -1: before the first
  int64_t offset = 0, bytes = 0; ///< in the arena, or in host memory
  bool host = false;             ///< the copy in host memory
  bool persistent = false;       ///< its place is a state's or a result's
  std::vector<int64_t> readers;  ///< launches, in order
};

/// Lives of each value by its id ("step#31"), in order; after Compilation::plan() of a plan with noted
/// values.
std::map<std::string, std::vector<ValueLife>> livesOf(Compilation &compilation);

/// Of a level-4 function: the launches in order.
std::vector<mlir::Operation *> launchesIn(mlir::ModuleOp module, const std::string &function);

} // namespace kedge::driver
