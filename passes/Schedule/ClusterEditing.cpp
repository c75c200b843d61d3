#include "passes/Schedule/ClusterEditing.h"
#include "kedge/Dialect/Kedge/ValueNotes.h"
#include "kedge/Dialect/Sched/ResultPlaces.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace kedge;
using sched::ClusterOp;
using schedule::ClusterInputs;

namespace {

AffineMap mapAt(ArrayAttr maps, size_t i) { return cast<AffineMapAttr>(maps[i]).getValue(); }

/// Indices of a tensor of shape `to` from those of the same bytes of shape `from`. Fails where several dims
/// become several others at once.
FailureOr<SmallVector<AffineExpr>> reshapeIndices(ArrayRef<AffineExpr> indices, ArrayRef<int64_t> from,
                                                  ArrayRef<int64_t> to, MLIRContext *context) {
  AffineExpr zero = getAffineConstantExpr(0, context);
  SmallVector<AffineExpr> result(to.size(), zero);
  size_t i = 0, k = 0;
  while (true) {
    while (i < from.size() && from[i] == 1)
      ++i;
    while (k < to.size() && to[k] == 1)
      ++k;
    if (i == from.size() && k == to.size())
      return result;
    if (i == from.size() || k == to.size())
      return failure();
    SmallVector<size_t> sources{i}, targets{k};
    int64_t left = from[i++], right = to[k++];
    while (left != right) {
      if (left == 0 || right == 0 || (left < right ? i == from.size() : k == to.size()))
        return failure();
      if (left < right) {
        if (from[i] != 1)
          sources.push_back(i);
        left *= from[i++];
      } else {
        if (to[k] != 1)
          targets.push_back(k);
        right *= to[k++];
      }
    }
    if (sources.size() > 1 && targets.size() > 1)
      return failure();
    AffineExpr position = zero;
    for (size_t at : sources)
      position = position * from[at] + indices[at];
    int64_t stride = 1;
    for (size_t at : llvm::reverse(targets)) {
      AffineExpr e = stride == 1 ? position : position.floorDiv(stride);
      result[at] = at == targets.front() ? e : e % to[at];
      stride *= to[at];
    }
  }
}

/// The producer's point that makes the element which `read` reads, as expressions of the reader's domain.
FailureOr<SmallVector<AffineExpr>> pointOf(ClusterOp producer, AffineMap read, Value input) {
  MLIRContext *context = producer.getContext();
  auto made = cast<RankedTensorType>(producer.getResult(0).getType());
  auto asRead = cast<RankedTensorType>(input.getType());
  auto element = reshapeIndices(read.getResults(), asRead.getShape(), made.getShape(), context);
  if (made == asRead)
    element = llvm::to_vector(read.getResults());
  if (failed(element))
    return failure();
  AffineMap write = mapAt(producer.getOutputMaps(), 0);
  SmallVector<AffineExpr> point(producer.getDomain().size());
  for (auto [written, at] : llvm::zip(write.getResults(), *element)) {
    if (auto dim = dyn_cast<AffineDimExpr>(written)) {
      if (point[dim.getPosition()])
        return failure();
      point[dim.getPosition()] = at;
    } else if (written != getAffineConstantExpr(0, context)) {
      return failure();
    }
  }
  for (auto [dim, e] : llvm::enumerate(point)) {
    if (!e && producer.getDomain()[dim] != 1)
      return failure();
    if (!e)
      e = getAffineConstantExpr(0, context);
  }
  return point;
}

bool isPlain(AffineExpr e) { return isa<AffineDimExpr, AffineConstantExpr>(e); }

/// Copies all but the yield; indices of the producer's domain become those of its point.
SmallVector<Value> copyBody(OpBuilder &builder, ClusterOp from, IRMapping &values,
                            ArrayRef<AffineExpr> point) {
  for (Operation &op : from.getBody().front().without_terminator()) {
    auto index = dyn_cast<sched::IndexOp>(op);
    if (!index || point.empty()) {
      builder.clone(op, values);
      continue;
    }
    AffineExpr e = point[index.getDim()];
    if (auto dim = dyn_cast<AffineDimExpr>(e))
      values.map(index.getResult(),
                 sched::IndexOp::create(builder, op.getLoc(), dim.getPosition()).getResult());
    else
      values.map(index.getResult(),
                 arith::ConstantOp::create(builder, op.getLoc(),
                                           builder.getI64IntegerAttr(cast<AffineConstantExpr>(e).getValue()))
                     .getResult());
  }
  SmallVector<Value> yielded;
  for (Value v : from.getBody().front().getTerminator()->getOperands())
    yielded.push_back(values.lookup(v));
  return yielded;
}

/// Takes the body of a cluster that goes, all but the yield, whose operands it returns.
SmallVector<Value> moveBody(OpBuilder &builder, ClusterOp from, const IRMapping &values) {
  Block &body = from.getBody().front();
  for (BlockArgument argument : body.getArguments())
    argument.replaceAllUsesWith(values.lookup(argument));
  Operation *yield = body.getTerminator();
  SmallVector<Value> yielded(yield->getOperands());
  builder.getInsertionBlock()->getOperations().splice(builder.getInsertionPoint(), body.getOperations(),
                                                      body.begin(), yield->getIterator());
  yield->erase();
  return yielded;
}

/// Whether `reader` alone reads `producer`, as `input`.
bool isReadBy(ClusterOp reader, ClusterOp producer, Value input) {
  auto areReader = [&](Value value) {
    return llvm::all_of(value.getUsers(), [&](Operation *user) { return user == reader; });
  };
  const Value result = producer.getResult(0);
  return areReader(input) &&
         (input == result || (result.hasOneUse() && *result.user_begin() == input.getDefiningOp()));
}

/// The place of a result of `reader` after `producer` was fused into it; the body of `reader` may yield a
/// result of `producer` unchanged.
PlaceAttr placeBehind(ClusterOp producer, ClusterOp reader, unsigned result,
                      function_ref<int(Value)> producedAs) {
  auto argument = dyn_cast<BlockArgument>(reader.getBody().front().getTerminator()->getOperand(result));
  if (!argument)
    return sched::computedAt(reader, result);
  int passed = producedAs(reader.getInputs()[argument.getArgNumber()]);
  return passed < 0 ? PlaceAttr() : sched::computedAt(producer, passed);
}

/// A cluster with an empty block; its inputs are set when they are known.
ClusterOp startCluster(OpBuilder &builder, ClusterOp like, TypeRange types, ArrayRef<int64_t> reduced,
                       ArrayAttr outputMaps) {
  auto cluster = ClusterOp::create(builder, like.getLoc(), types, ValueRange(), like.getDomain(), reduced,
                                   builder.getArrayAttr({}), outputMaps, IntegerAttr(), StringAttr());
  setPlace(cluster, placeOf(like));
  builder.setInsertionPointToStart(&cluster.getBody().emplaceBlock());
  return cluster;
}

void finish(OpBuilder &builder, ClusterOp cluster, const ClusterInputs &inputs, ValueRange yielded) {
  sched::YieldOp::create(builder, cluster.getLoc(), yielded);
  cluster->setOperands(inputs.tensors);
  cluster.setInputMapsAttr(builder.getArrayAttr(inputs.maps));
}

} // namespace

Value ClusterInputs::add(Value tensor, AffineMap map, Type scalar, Location loc) {
  Attribute attr = AffineMapAttr::get(map);
  auto [at, isNew] = known.try_emplace({tensor, attr}, tensors.size());
  if (isNew) {
    tensors.push_back(tensor);
    maps.push_back(attr);
    block.addArgument(scalar, loc);
  }
  return block.getArgument(at->second);
}

ClusterOp schedule::substituteProducer(ClusterOp producer, ClusterOp reader, Value input) {
  Block &made = producer.getBody().front();
  bool usesIndex = !made.getOps<sched::IndexOp>().empty();
  llvm::SmallDenseMap<Attribute, SmallVector<AffineExpr>> points;
  for (auto [tensor, map] : llvm::zip(reader.getInputs(), reader.getInputMaps())) {
    if (tensor != input || points.contains(map))
      continue;
    auto point = pointOf(producer, cast<AffineMapAttr>(map).getValue(), input);
    if (failed(point) || (usesIndex && !llvm::all_of(*point, isPlain)))
      return {};
    points[map] = *point;
  }
  const bool producerGoes = !usesIndex && points.size() == 1 && isReadBy(reader, producer, input);
  SmallVector<PlaceAttr> places;
  for (unsigned i = 0; i < reader->getNumResults(); ++i)
    places.push_back(
        placeBehind(producer, reader, i, [&](Value tensor) { return tensor == input ? 0 : -1; }));
  OpBuilder builder(reader);
  ClusterOp fused =
      startCluster(builder, reader, reader.getResultTypes(), reader.getReduced(), reader.getOutputMaps());
  Block &block = fused.getBody().front();
  unsigned rank = reader.getDomain().size();
  ClusterInputs inputs(block);
  IRMapping values;
  llvm::SmallDenseMap<Attribute, Value> copies;
  for (auto [argument, tensor, map] :
       llvm::zip(reader.getBody().front().getArguments(), reader.getInputs(), reader.getInputMaps())) {
    if (tensor != input) {
      values.map(argument, inputs.add(tensor, cast<AffineMapAttr>(map).getValue(), argument.getType(),
                                      argument.getLoc()));
      continue;
    }
    Value &copy = copies[map];
    if (!copy) {
      ArrayRef<AffineExpr> point = points[map];
      IRMapping inner;
      for (auto [i, scalar] : llvm::enumerate(made.getArguments())) {
        AffineMap composed = mapAt(producer.getInputMaps(), i).replaceDimsAndSymbols(point, {}, rank, 0);
        inner.map(scalar, inputs.add(producer.getInputs()[i], simplifyAffineMap(composed), scalar.getType(),
                                     scalar.getLoc()));
      }
      copy = (producerGoes ? moveBody(builder, producer, inner) : copyBody(builder, producer, inner, point))
                 .front();
    }
    values.map(argument, copy);
  }
  finish(builder, fused, inputs, moveBody(builder, reader, values));
  sched::setResultPlaces(fused, places);
  copyValueNotes(reader, fused);
  reader.replaceAllUsesWith(fused.getResults());
  reader.erase();
  if (auto view = input.getDefiningOp<sched::ViewOp>(); view && view->use_empty())
    view.erase();
  if (producer->use_empty())
    producer.erase();
  return fused;
}

ClusterOp schedule::joinProducer(ClusterOp producer, ClusterOp reader) {
  SmallVector<Type> types(reader.getResultTypes());
  SmallVector<Attribute> outputMaps(reader.getOutputMaps().begin(), reader.getOutputMaps().end());
  SmallVector<unsigned> kept;
  for (OpResult result : producer->getResults())
    if (llvm::any_of(result.getUsers(), [&](Operation *user) { return user != reader; })) {
      kept.push_back(result.getResultNumber());
      types.push_back(result.getType());
      outputMaps.push_back(producer.getOutputMaps()[kept.back()]);
    }
  SmallVector<PlaceAttr> places;
  auto producedAs = [&](Value tensor) {
    return tensor.getDefiningOp() == producer ? static_cast<int>(cast<OpResult>(tensor).getResultNumber())
                                              : -1;
  };
  for (unsigned i = 0; i < reader->getNumResults(); ++i)
    places.push_back(placeBehind(producer, reader, i, producedAs));
  for (unsigned i : kept)
    places.push_back(sched::computedAt(producer, i));
  OpBuilder builder(reader);
  ArrayRef<int64_t> reduced = producer.getReduced().empty() ? reader.getReduced() : producer.getReduced();
  ClusterOp joined = startCluster(builder, reader, types, reduced, builder.getArrayAttr(outputMaps));
  Block &block = joined.getBody().front();
  ClusterInputs inputs(block);
  auto addInputs = [&](ClusterOp from, IRMapping &values, ArrayRef<Value> passed) {
    for (auto [i, scalar] : llvm::enumerate(from.getBody().front().getArguments())) {
      auto result = dyn_cast<OpResult>(from.getInputs()[i]);
      bool inside = !passed.empty() && result && result.getOwner() == producer;
      values.map(scalar, inside ? passed[result.getResultNumber()]
                                : inputs.add(from.getInputs()[i], mapAt(from.getInputMaps(), i),
                                             scalar.getType(), scalar.getLoc()));
    }
  };
  IRMapping first, second;
  addInputs(producer, first, {});
  SmallVector<Value> passed = moveBody(builder, producer, first);
  addInputs(reader, second, passed);
  SmallVector<Value> yielded = moveBody(builder, reader, second);
  for (unsigned i : kept)
    yielded.push_back(passed[i]);
  finish(builder, joined, inputs, yielded);
  sched::setResultPlaces(joined, places);
  SmallVector<DictionaryAttr> notes = valueNotesOf(reader);
  for (unsigned i : kept)
    notes.push_back(valueNoteOf(producer.getResult(i)));
  setValueNotes(joined, notes);
  for (auto [i, result] : llvm::enumerate(reader->getResults()))
    result.replaceAllUsesWith(joined.getResult(i));
  for (auto [i, from] : llvm::enumerate(kept))
    producer.getResult(from).replaceUsesWithIf(joined.getResult(reader->getNumResults() + i),
                                               [&](OpOperand &use) { return use.getOwner() != reader; });
  reader.erase();
  producer.erase();
  return joined;
}
