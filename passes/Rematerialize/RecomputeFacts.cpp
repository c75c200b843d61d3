#include "passes/Rematerialize/RecomputeFacts.h"
#include "kedge/Dialect/Sched/SchedDialect.h"

using namespace mlir;

namespace kedge::remat {

RecomputeReference recomputeReference(ModuleOp module, ArrayRef<RecomputeChoice> choices, int64_t held) {
  RecomputeReference reference;
  if (sched::RecomputeAttr facts = sched::RecomputeNote(module.getContext()).getAttr(module)) {
    reference.peak = facts.getUnconstrainedPeakBytes().getInt();
    reference.transient = facts.getUnconstrainedTransientBytes().getInt();
    reference.seconds = facts.getSeconds().getValueAsDouble();
    return reference;
  }
  for (const RecomputeChoice &choice : choices) {
    reference.transient = std::max(reference.transient, choice.unconstrained);
    reference.seconds += choice.trains() ? choice.seconds : 0;
  }
  reference.peak = held + reference.transient;
  return reference;
}

static ArrayAttr frontierFacts(std::vector<RecomputeChoice> &choices, const RecomputeFacts &facts,
                               PlanChooser &chooser, Builder &b) {
  std::vector<FunctionFrontier> functions;
  for (RecomputeChoice &choice : choices)
    functions.push_back(chooser.frontierOf(choice));
  SmallVector<Attribute> points;
  for (const FrontierPoint &point : remat::frontierOf(functions, facts.frontier))
    points.push_back(b.getDictionaryAttr(
        {b.getNamedAttr("peak_bytes", b.getI64IntegerAttr(facts.held + point.bytes)),
         b.getNamedAttr("overhead", b.getF64FloatAttr(point.added / facts.reference.seconds)),
         b.getNamedAttr("lower_bound", b.getF64FloatAttr(point.bound / facts.reference.seconds))}));
  return b.getArrayAttr(points);
}

void noteRecompute(ModuleOp module, std::vector<RecomputeChoice> &choices, const RecomputeFacts &facts,
                   PlanChooser &chooser) {
  const auto &[policy, held, limit, reference, frontier] = facts;
  int64_t bytes = 0, smallest = 0, floor = 0, ops = 0;
  double flops = 0, seconds = 0, added = 0, bound = 0;
  SmallVector<Attribute> blocks;
  Builder builder(module.getContext());
  for (const RecomputeChoice &choice : choices) {
    bytes = std::max(bytes, choice.bytes);
    smallest = std::max(smallest, choice.smallest);
    floor = std::max(floor, choice.peakLowerBound);
    if (!choice.trains())
      continue;
    ops += choice.repeats();
    flops += choice.addedFlops();
    seconds += choice.seconds;
    added += choice.added;
    bound += choice.lowerBound;
    for (const std::string &name : choice.blocks.names)
      if (auto attr = builder.getStringAttr(name); !llvm::is_contained(blocks, attr))
        blocks.push_back(attr);
  }
  // Copies of states that live in host memory are part of every plan.
  const double moved = seconds - reference.seconds;
  const auto number = [&](int64_t value) { return builder.getI64IntegerAttr(value); };
  const auto share = [&, &reference = reference](double value) {
    return builder.getF64FloatAttr(reference.seconds > 0 ? (moved + value) / reference.seconds : 0);
  };
  sched::RecomputeNote(module.getContext())
      .setAttr(module,
               sched::RecomputeAttr::get(
                   module.getContext(), builder.getStringAttr(policy),
                   builder.getBoolAttr(!limit || held + bytes <= *limit),
                   limit ? number(*limit) : IntegerAttr(), number(reference.peak),
                   number(reference.transient), number(held + smallest), number(held + floor),
                   builder.getF64FloatAttr(reference.seconds), number(ops), builder.getF64FloatAttr(flops),
                   share(added), share(bound), builder.getArrayAttr(blocks),
                   frontier > 0 ? frontierFacts(choices, facts, chooser, builder) : ArrayAttr()));
}

} // namespace kedge::remat
