#include "kedge/Dialect/ONNX/CoreOps.h"
#include "kedge/Dialect/ONNX/GradientUtils.h"
#include "kedge/Dialect/ONNX/Math/MathOps.h"
#include "kedge/Dialect/ONNX/Movement/MovementOps.h"
#include "kedge/Dialect/ONNX/ShapeUtils.h"
#include "kedge/Dialect/Train/Bindings.h"
#include "kedge/Dialect/Train/FunctionKind.h"
#include "kedge/Dialect/Train/Quantized/QuantizedOps.h"
#include "kedge/Support/Assert.h"
#include "kedge/Support/StorageBytes.h"
#include "passes/Adapters/AdapterSites.h"
#include "passes/Adapters/Passes.h"
#include "runtime/format/QuantizedFormats.h"
#include "runtime/io/NamePattern.h"

namespace kedge::adapters {
#define GEN_PASS_DEF_QUANTIZEWEIGHTS
#include "passes/Adapters/Passes.h.inc"

namespace {
using namespace mlir;
using EncodedPart = tune::Part;
using tune::Format;

int64_t blocksOf(int64_t count, int64_t block) { return (count + block - 1) / block; }

struct QuantizeWeights : impl::QuantizeWeightsBase<QuantizeWeights> {
  using Base::Base;
  func::FuncOp model;
  int64_t saved = 0;

  void run() override {
    model = train::functionOf(getOperation(), train::FunctionKind::Model);
    if (!model) {
      getOperation().emitError("has no function @model whose weights could be quantised");
      return signalPassFailure();
    }
    saved = 0;
    int64_t count = 0;
    const auto unused = applyRules<QuantizeRule>(
        model, weights, [&](AdaptedWeight &weight) { return ruleFor(weight); },
        [&](AdaptedWeight &weight, const QuantizeRule &rule) {
          if (failed(check(weight, rule)))
            return failure();
          quantise(weight, rule.format);
          ++count;
          return success();
        });
    if (failed(unused))
      return signalPassFailure();
    if (*unused) {
      getOperation().emitError() << "--quantize '" << (*unused)->text()
                                 << "': no frozen weight has such a name";
      return signalPassFailure();
    }
    addStatistic("weights", count);
    addStatistic("bytes saved", saved);
  }

  const QuantizeRule *ruleFor(AdaptedWeight &weight) const {
    if (tune::adapterOf(weight.state) || tune::encodingOf(weight.state) || weight.isBias())
      return nullptr;
    for (const QuantizeRule &rule : weights)
      if (rule.names.isIn(weight.name().str()))
        return &rule;
    return nullptr;
  }

  /// Whether an adapter begins as a part of the weight.
  bool isSplit(train::StateOp weight) {
    return llvm::any_of(getOperation().getOps<train::StateOp>(), [&](train::StateOp state) {
      auto adapter = tune::adapterOf(state);
      return adapter && adapter.getFrom() && adapter.getBase().getAttr() == weight.getSymNameAttr();
    });
  }

  LogicalResult check(AdaptedWeight &weight, const QuantizeRule &rule) {
    auto type = cast<RankedTensorType>(weight.value.getType());
    auto refuse = [&] {
      return getOperation().emitError() << "--quantize '" << rule.text() << "': '" << weight.name() << "' ";
    };
    if (weight.state.getRole() != train::Role::Frozen)
      return refuse()
             << "trains, and quantised weights cannot; freeze it (--freeze, or --lora), or leave it out";
    if (type.getRank() < 2)
      return refuse() << "(" << type << ") is no matrix";
    if (!type.getElementType().isF32())
      return refuse() << "(" << type << ") is not stored in f32: other types are not available yet";
    if (isSplit(weight.state))
      return refuse() << "keeps what --lora-init pissa or olora leaves of it, which is not available yet in "
                         "few bits; give "
                         "another --lora-init, or leave it out";
    if (rule.format == Format::Int8 && weight.sites.empty())
      return refuse() << "is no weight of a MatMul, Gemm or Conv: int8 has a scale for each output of one";
    return success();
  }

  Value addState(AdaptedWeight &weight, Format format, EncodedPart part, StringRef suffix,
                 RankedTensorType type) {
    OpBuilder builder(&getContext());
    builder.setInsertionPointAfter(weight.state);
    std::string name = (weight.name() + suffix).str();
    auto state = train::StateOp::create(builder, weight.state.getLoc(),
                                        (weight.state.getSymName() + suffix).str(), train::Role::Frozen, type,
                                        weight.state.getInitAttr(), builder.getStringAttr(name),
                                        FlatSymbolRefAttr::get(weight.state.getSymNameAttr()), /*decay=*/true,
                                        APFloat(1.0), dist::ShardingAttr());
    state->setAttr(tune::encodingName, encoding(format, part));
    if (auto resized = tune::resizedOf(weight.state))
      state->setAttr(tune::resizedName, resized);
    saved -= bytesOf(type);
    unsigned index = model.getNumArguments();
    auto binding = train::BindingAttr::get(&getContext(), train::BindingKind::State, state.getSymName());
    auto inserted = model.insertArgument(index, type, train::boundTo(binding), weight.state.getLoc());
    KEDGE_ASSERT(succeeded(inserted));
    return model.getArgument(index);
  }

  tune::EncodingAttr encoding(Format format, EncodedPart part) {
    return tune::EncodingAttr::get(&getContext(), format, part, wholeType,
                                   BoolAttr::get(&getContext(), doubled(format)), IntegerAttr(),
                                   IntegerAttr());
  }

  bool doubled(Format format) const { return doubleQuantize && format != Format::Int8; }

  RankedTensorType wholeType; ///< of the weight at hand

  void quantise(AdaptedWeight &weight, Format format) {
    wholeType = cast<RankedTensorType>(weight.value.getType());
    Operation *first = *weight.value.user_begin();
    for (Operation *user : weight.value.getUsers())
      if (user->isBeforeInBlock(first))
        first = user;
    PlacedBuilder builder(first);
    Location loc = weight.state.getLoc();
    SmallVector<OpOperand *> uses;
    for (OpOperand &use : weight.value.getUses())
      uses.push_back(&use);
    Value values =
        format == Format::Int8 ? eightBits(builder, loc, weight) : fourBits(builder, loc, weight, format);
    for (OpOperand *use : uses)
      use->set(values);
    saved += bytesOf(wholeType);
  }

  /// The weight's state and its argument hold codes of this type from here on.
  Value becomeCodes(AdaptedWeight &weight, Format format, RankedTensorType codes) {
    weight.state.setTypeAttr(TypeAttr::get(codes));
    weight.state->setAttr(tune::encodingName, encoding(format, EncodedPart::Codes));
    saved -= bytesOf(codes);
    weight.value.setType(codes);
    model.setFunctionType(FunctionType::get(&getContext(), model.getBody().front().getArgumentTypes(),
                                            model.getFunctionType().getResults()));
    return weight.value;
  }

  Value fourBits(OpBuilder &builder, Location loc, AdaptedWeight &weight, Format format) {
    Type f32 = builder.getF32Type(), byte = builder.getIntegerType(8, /*isSigned=*/false);
    const int64_t elements = wholeType.getNumElements(), blocks = blocksOf(elements, rt::kQuantizedBlock);
    Value absmax;
    if (doubled(format)) {
      // States stand behind the weight's in the order that they are made last to first.
      Value offset =
          addState(weight, format, EncodedPart::Offset, ".absmax_offset", RankedTensorType::get({1}, f32));
      Value nested = addState(weight, format, EncodedPart::NestedAbsmax, ".nested_absmax",
                              RankedTensorType::get({blocksOf(blocks, rt::kNestedBlock)}, f32));
      Value codes = addState(weight, format, EncodedPart::AbsmaxCodes, ".absmax",
                             RankedTensorType::get({blocks}, byte));
      ArrayRef<float> map(rt::dynamicMap(true).data(), 256);
      Value table = onnx::ConstantOp::create(builder, loc,
                                             DenseElementsAttr::get(RankedTensorType::get({256}, f32), map));
      Value numbers = onnx::CastOp::create(builder, loc, codes, TypeAttr::get(builder.getI32Type()));
      Value found = onnx::GatherOp::create(builder, loc, table, numbers, 0, IntegerAttr());
      Value scaled = train::ScaleBlocksOp::create(builder, loc, found, nested, rt::kNestedBlock);
      absmax = onnx::AddOp::create(builder, loc, scaled, offset);
    } else {
      absmax = addState(weight, format, EncodedPart::Absmax, ".absmax", RankedTensorType::get({blocks}, f32));
    }
    Value codes = becomeCodes(weight, format, RankedTensorType::get({(elements + 1) / 2}, byte));
    return train::DequantizeOp::create(
        builder, loc, codes, absmax, tune::FormatAttr::get(&getContext(), format),
        builder.getI64IntegerAttr(rt::kQuantizedBlock), TypeAttr::get(wholeType));
  }

  Value eightBits(OpBuilder &builder, Location loc, AdaptedWeight &weight) {
    // Several matrices, as those of experts, have scales of their own.
    const bool isOneMatrix = weight.isConvolution() || wholeType.getRank() == 2;
    const int64_t matrices = isOneMatrix ? 0 : wholeType.getRank() - 2,
                  axis = matrices + (weight.sites.front().outFirst ? 0 : 1);
    SmallVector<int64_t> shape(wholeType.getRank(), 1);
    llvm::copy(wholeType.getShape().take_front(matrices), shape.begin());
    shape[axis] = wholeType.getDimSize(axis);
    Value scales = addState(weight, Format::Int8, EncodedPart::Absmax, ".absmax",
                            RankedTensorType::get(shape, builder.getF32Type()));
    Value codes = becomeCodes(weight, Format::Int8, wholeType.clone(builder.getIntegerType(8)));
    Value wide = onnx::CastOp::create(builder, loc, codes, TypeAttr::get(builder.getF32Type()));
    return onnx::MulOp::create(builder, loc, wide, scales);
  }
};
} // namespace
} // namespace kedge::adapters
