#include "kedge/Dialect/Kedge/Target.h"
#include "kedge/Dialect/Kedge/KedgeDialect.h"

kedge::TargetKind kedge::targetOf(mlir::ModuleOp module) {
  mlir::StringAttr target = module ? TargetNote(module.getContext()).getAttr(module) : mlir::StringAttr();
  return target ? valueOf<TargetKind>(target.getValue()) : TargetKind::Cpu;
}
