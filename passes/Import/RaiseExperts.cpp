#include "kedge/Dialect/ONNX/Movement/MovementOps.h"
#include "kedge/Dialect/ONNX/NeuralNetwork/NeuralNetworkOps.h"
#include "kedge/Dialect/ONNX/Reduction/ReductionOps.h"
#include "kedge/Dialect/Train/GroupedOps.h"
#include "kedge/Support/StorageBytes.h"
#include "passes/Import/DenseExperts.h"
#include "passes/Import/Passes.h"
#include "passes/Import/RaisePass.h"

namespace kedge::raise {
#define GEN_PASS_DEF_RAISEEXPERTS
#include "passes/Import/Passes.h.inc"

namespace {
using namespace mlir;
using namespace kedge::onnx;

/// Matrices of `all` [E, A, B] chosen by indices of shape `places`: [places..., A, B].
struct Chosen {
  Value all, indices;
  SmallVector<int64_t> places;
};

std::optional<Chosen> matchChosen(Value v) {
  if (auto gather = defining<GatherOp>(v);
      gather && rankOf(gather.getData()) == 3 && gather.getAxis() == 0 && !gather.getPaddingIdx())
    return Chosen{gather.getData(), gather.getIndices(), llvm::to_vector(shapeOf(gather.getIndices()))};
  auto gather = defining<GatherNDOp>(v);
  if (!gather || rankOf(gather.getData()) != 3 || gather.getBatchDims() != 0 ||
      rankOf(gather.getIndices()) == 0 || shapeOf(gather.getIndices()).back() != 1)
    return std::nullopt;
  return Chosen{gather.getData(), gather.getIndices(),
                llvm::to_vector(shapeOf(gather.getIndices()).drop_back())};
}

/// Rows [tokens, width], each of which meets `slots` matrices, one behind the other.
struct Tokens {
  Value rows;
  int64_t tokens, slots;
};

/// What a batch of single rows consists of, when its leading dims are those of `places` or end in ones.
std::optional<Tokens> matchTokens(Value v, ArrayRef<int64_t> places) {
  ArrayRef<int64_t> batch = shapeOf(v).drop_back(2);
  if (batch.size() != places.size())
    return std::nullopt;
  size_t shared = 0;
  while (shared < batch.size() && batch[shared] == places[shared])
    ++shared;
  if (llvm::any_of(batch.drop_front(shared), [](int64_t size) { return size != 1; }))
    return std::nullopt;
  const auto sizeOf = [](ArrayRef<int64_t> dims) { return ShapedType::getNumElements(dims); };
  return Tokens{v, sizeOf(places.take_front(shared)), sizeOf(places.drop_front(shared))};
}

/// Before an Expand that repeats each row `slots` times, seen through reshapes.
void undoRepetition(Tokens &tokens, int64_t width) {
  Value v = skip(tokens.rows);
  while (auto reshape = v.getDefiningOp<ReshapeOp>())
    v = skip(reshape.getData());
  auto expand = v.getDefiningOp<ExpandOp>();
  if (tokens.slots != 1 || !expand || rankOf(expand.getResult()) < 2)
    return;
  ArrayRef<int64_t> once = shapeOf(expand.getInput()), repeated = shapeOf(expand.getResult());
  const size_t rank = repeated.size();
  if (once.size() != rank || once[rank - 2] != 1 || once.back() != width || repeated.back() != width ||
      once.drop_back(2) != repeated.drop_back(2))
    return;
  const int64_t slots = repeated[rank - 2];
  tokens = {expand.getInput(), slots == 0 ? 0 : tokens.tokens / slots, slots};
}

struct RaiseExperts : impl::RaiseExpertsBase<RaiseExperts> {
  using Base::Base;

  bool raise(Operation *root) override {
    if (Value chosen = chosenExperts(root, target)) {
      root->getResult(0).replaceAllUsesWith(chosen);
      return true;
    }
    auto product = dyn_cast<MatMulOp>(root);
    return product && raiseProduct(product);
  }

  bool raiseProduct(MatMulOp root) {
    if (target != TargetKind::Cpu) {
      report(root, "grouped products are not available yet on CUDA");
      return false;
    }
    const bool raised = raise(root, root.getA(), root.getTransA(), root.getB(), /*choosesRight=*/false) ||
                        raise(root, root.getB(), root.getTransB(), root.getA(), /*choosesRight=*/true);
    if (!raised)
      report(root, "its rows are in no form that is grouped by matrix");
    return raised;
  }

  /// `chosen` are the matrices, `other` has one row for each of them: on the right of them, one column.
  static bool raise(MatMulOp root, Value chosen, bool isTransposed, Value other, bool choosesRight) {
    std::optional<Chosen> matrices = matchChosen(chosen);
    ArrayRef<int64_t> product = shapeOf(root.getY());
    if (!matrices || product.size() < 2 || product.drop_back(2) != ArrayRef<int64_t>(matrices->places) ||
        rankOf(other) < 2 || product[product.size() - (choosesRight ? 2 : 1)] != 1)
      return false;
    std::optional<Tokens> tokens = matchTokens(other, matrices->places);
    if (!tokens)
      return false;
    const bool transB = choosesRight == isTransposed;
    const int64_t width = shapeOf(matrices->all)[transB ? 2 : 1];
    undoRepetition(*tokens, width);
    PlacedBuilder builder(root);
    const Location loc = root.getLoc();
    Value rows = ReshapeOp::create(builder, loc, tokens->rows, ArrayRef<int64_t>{tokens->tokens, width});
    Value experts =
        ReshapeOp::create(builder, loc, matrices->indices, ArrayRef<int64_t>{tokens->tokens, tokens->slots});
    Value grouped = train::GroupedMatmulOp::create(builder, loc, rows, experts, matrices->all, transB);
    root.getY().replaceAllUsesWith(ReshapeOp::create(builder, loc, grouped, product).getResult());
    gatherBiases(*matrices);
    return true;
  }

  /// A row for each place is picked as one, whatever op the exporter found for it.
  static void gatherBiases(const Chosen &matrices) {
    for (Operation *user : llvm::make_early_inc_range(matrices.indices.getUsers())) {
      auto gather = dyn_cast<GatherNDOp>(user);
      if (!gather || gather.getIndices() != matrices.indices || rankOf(gather.getData()) != 2 ||
          gather.getBatchDims() != 0 || shapeOf(gather.getData())[0] != shapeOf(matrices.all)[0] ||
          shapeOf(matrices.indices).back() != 1)
        continue;
      PlacedBuilder builder(gather);
      Value places = ReshapeOp::create(builder, gather.getLoc(), matrices.indices, matrices.places);
      gather.getOutput().replaceAllUsesWith(GatherOp::create(builder, gather.getLoc(), gather.getData(),
                                                             places, builder.getI64IntegerAttr(0),
                                                             IntegerAttr())
                                                .getResult());
    }
  }

  /// A matrix for each place that stays: it is copied in every step, and its gradient, too.
  static void report(MatMulOp root, StringRef why) {
    for (Value operand : {root.getA(), root.getB()})
      if (std::optional<Chosen> chosen = matchChosen(operand);
          chosen && ShapedType::getNumElements(chosen->places) > shapeOf(chosen->all)[0])
        emitRemark(root.getLoc()) << "copies a matrix of " << chosen->all.getType() << " for each of "
                                  << ShapedType::getNumElements(chosen->places) << " rows, "
                                  << bytesOf(operand.getType()) << " bytes: " << why;
  }
};
} // namespace
} // namespace kedge::raise
