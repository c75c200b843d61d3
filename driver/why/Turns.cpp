#include "driver/why/Turns.h"
#include "kedge/Dialect/Exec/ExecOps.h"
#include "kedge/Dialect/Kedge/Place.h"

using namespace mlir;

namespace kedge::driver {

nlohmann::json turnJson(Operation *op, int64_t at) {
  auto launch = cast<exec::LaunchInterface>(op);
  nlohmann::json turn = {{"launch", at}, {"kernel", launch.getKernel().str()}};
  if (PlaceAttr place = placeOf(op)) {
    turn["phase"] = stringifyTrainingPhase(place.getPhase()).str();
    turn["module"] = place.getModule().str();
    turn["node"] = place.getNode().str();
  }
  if (auto kernel = dyn_cast<exec::LaunchOp>(op); kernel && kernel.getRecomputed())
    turn["recomputed"] = kernel.getRecomputed()->str();
  if (auto copy = dyn_cast<exec::CopyOp>(op); copy && copy.getOffloaded())
    turn["copied"] = copy.getOffloaded()->str();
  return turn;
}

std::string typeText(Type type) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  auto tensor = cast<RankedTensorType>(type);
  for (int64_t size : tensor.getShape())
    stream << size << 'x';
  stream << tensor.getElementType();
  return text;
}

} // namespace kedge::driver
