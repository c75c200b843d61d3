#include "passes/Adapters/AdapterStates.h"
#include "kedge/Dialect/Train/Bindings.h"
#include "kedge/Support/Assert.h"

using namespace mlir;

namespace kedge::adapters {

void noteStored(train::StateOp state, Type stored) {
  if (stored)
    state->setAttr(tune::storedName, TypeAttr::get(stored));
}

tune::AdapterAttr markOf(AdaptedWeight &weight, tune::Factor factor, StringRef path) {
  Builder builder(weight.state.getContext());
  const bool transposed = !weight.sites.empty() && !weight.sites.front().outFirst;
  return tune::AdapterAttr::get(builder.getContext(), factor,
                                FlatSymbolRefAttr::get(weight.state.getSymNameAttr()),
                                builder.getF64FloatAttr(1), builder.getBoolAttr(transposed), path,
                                std::nullopt, FlatSymbolRefAttr(), {});
}

Value addParameter(func::FuncOp model, tune::AdapterAttr mark, const std::string &name, RankedTensorType type,
                   Attribute init, Type stored) {
  auto module = model->getParentOfType<ModuleOp>();
  auto base = module.lookupSymbol<train::StateOp>(mark.getBase().getAttr());
  OpBuilder builder(model.getContext());
  builder.setInsertionPointAfter(base);
  auto state = train::StateOp::create(builder, base.getLoc(), name, train::Role::Parameter, type, init,
                                      builder.getStringAttr(name), FlatSymbolRefAttr(), /*decay=*/true,
                                      APFloat(1.0), dist::ShardingAttr());
  state->setAttr(tune::adapterName, mark);
  noteStored(state, stored);
  const unsigned index = model.getNumArguments();
  auto binding = train::BindingAttr::get(model.getContext(), train::BindingKind::State, state.getSymName());
  auto inserted = model.insertArgument(index, type, train::boundTo(binding), base.getLoc());
  KEDGE_ASSERT(succeeded(inserted));
  return model.getArgument(index);
}

LogicalResult checkTrainsNot(ModuleOp module, AdaptedWeight &weight, StringRef option) {
  const auto encoding = tune::encodingOf(weight.state);
  if (encoding && encoding.isInFile())
    return module.emitError()
           << option << ": '" << weight.name()
           << "' is in few bits in the file, which is not available yet with this; use --lora";
  if (weight.state.getRole() == train::Role::Parameter)
    return module.emitError()
           << option << ": '" << weight.name()
           << "' trains as it is (--train): it cannot have an adapter, too; leave it out of one of "
              "them";
  for (auto state : module.getOps<train::StateOp>())
    if (auto other = tune::adapterOf(state);
        other && other.getBase().getAttr() == weight.state.getSymNameAttr())
      return module.emitError() << option << ": '" << weight.name() << "' has the adapter '"
                                << state.getSymName()
                                << "': a second one is not available yet; leave it out of one of them";
  return success();
}

} // namespace kedge::adapters
