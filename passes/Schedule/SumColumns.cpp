#include "kedge/Dialect/Kedge/ValueNotes.h"
#include "kedge/Dialect/Sched/ResultPlaces.h"
#include "mlir/IR/IRMapping.h"
#include "passes/Schedule/ClusterEditing.h"
#include "passes/Schedule/Passes.h"
#include "llvm/ADT/SetVector.h"

namespace kedge::schedule {
#define GEN_PASS_DEF_SUMCOLUMNS
#include "passes/Schedule/Passes.h.inc"

namespace {
using namespace mlir;
using sched::ClusterOp;

/// Rows of a block, at least: partial sums are then small beside the rows. Teams of a block of threads walk
/// rows side by side.
constexpr int64_t kLeastRows = 16, kTeams = 8;
/// Sums that a thread keeps in registers beside its row, and elements of a row times all that it keeps of
/// each.
constexpr int64_t kMostSums = 6, kMostHeld = 16384;

AffineMap mapAt(ArrayAttr maps, size_t at) { return cast<AffineMapAttr>(maps[at]).getValue(); }
Block &bodyOf(ClusterOp cluster) { return cluster.getBody().front(); }

/// The dims that are not reduced.
SmallVector<int64_t> rowDims(ClusterOp cluster) {
  SmallVector<int64_t> dims;
  for (int64_t dim = 0; dim < int64_t(cluster.getDomain().size()); ++dim)
    if (!llvm::is_contained(cluster.getReduced(), dim))
      dims.push_back(dim);
  return dims;
}

bool namesAny(AffineMap map, ArrayRef<int64_t> dims) {
  return llvm::any_of(dims, [&](int64_t dim) { return map.isFunctionOfDim(dim); });
}

/// The body of a cluster that reduces along columns, in two: what a row's points need, and what comes behind
/// the reductions.
struct Halves {
  SmallVector<sched::ReduceOp> reductions;
  SmallVector<Operation *> points, behind; ///< constants are in both

  /// Nothing where a scalar reads both halves, or a result is no function of the reductions alone.
  static std::optional<Halves> of(ClusterOp cluster) {
    Halves halves;
    llvm::DenseSet<Value> points(bodyOf(cluster).args_begin(), bodyOf(cluster).args_end()), behind;
    for (Operation &op : bodyOf(cluster).without_terminator()) {
      Value result = op.getResult(0);
      const bool readsPoints = isa<sched::IndexOp>(op) ||
                               llvm::any_of(op.getOperands(), [&](Value v) { return points.contains(v); });
      const bool readsReductions =
          llvm::any_of(op.getOperands(), [&](Value v) { return behind.contains(v); });
      if (auto reduction = dyn_cast<sched::ReduceOp>(op)) {
        if (reduction.getKind() != sched::ReductionKind::Add || !isa<FloatType>(reduction.getType()) ||
            readsReductions)
          return std::nullopt;
        halves.reductions.push_back(reduction);
        behind.insert(result);
        continue;
      }
      if (readsPoints && readsReductions)
        return std::nullopt;
      if (!readsReductions)
        halves.points.push_back(&op);
      if (!readsPoints)
        halves.behind.push_back(&op);
      if (readsPoints)
        points.insert(result);
      if (readsReductions)
        behind.insert(result);
    }
    if (halves.reductions.empty() || llvm::any_of(bodyOf(cluster).getTerminator()->getOperands(),
                                                  [&](Value v) { return !behind.contains(v); }))
      return std::nullopt;
    return halves;
  }
};

/// A cluster of rows, and those that reduce the same points along columns.
struct Group {
  ClusterOp rows;
  SmallVector<ClusterOp> columns;

  bool contains(Operation *op) const { return op == rows || llvm::is_contained(columns, op); }
  SmallVector<Operation *> members() const {
    SmallVector<Operation *> all{rows};
    all.append(columns.begin(), columns.end());
    return all;
  }

  /// The op in front of which all may stand as one: behind all that they read, before all that read them.
  /// Null: nowhere.
  Operation *place() const {
    Operation *place = rows;
    for (Operation *member : members())
      if (member->isBeforeInBlock(place))
        place = member;
    for (Operation *member : members())
      for (Value operand : member->getOperands())
        if (Operation *producer = operand.getDefiningOp();
            producer && !contains(producer) && !producer->isBeforeInBlock(place))
          place = producer->getNextNode();
    for (Operation *member : members())
      for (Operation *user : member->getUsers())
        if (!contains(user) && user->isBeforeInBlock(place))
          return nullptr;
    return place;
  }
};

struct SumColumns : impl::SumColumnsBase<SumColumns> {
  using Base::Base;

  void run() override {
    if (getOperation().isExternal())
      return;
    int64_t joined = 0;
    for (ClusterOp rows : llvm::to_vector(getOperation().getBody().front().getOps<ClusterOp>()))
      if (int64_t length = lengthOfBlock(rows))
        if (Group group = groupOf(rows); !group.columns.empty()) {
          joined += group.columns.size();
          join(group, length);
        }
    addStatistic("clusters joined", joined);
  }

  /// Rows of a block, of the innermost dim of rows; 0 where the cluster does not reduce along rows and store
  /// their points, or where no number fits.
  int64_t lengthOfBlock(ClusterOp rows) {
    const int64_t rank = rows.getDomain().size(), reduced = rows.getReduced().size();
    SmallVector<int64_t> outer = rowDims(rows);
    if (!reduced || outer.empty() || rows.getClone() || outer.back() != rank - reduced - 1)
      return 0;
    if (llvm::none_of(rows.getOutputMaps(),
                      [](Attribute map) { return cast<AffineMapAttr>(map).getValue().isPermutation(); }))
      return 0;
    int64_t count = 1;
    for (int64_t dim : outer)
      count *= rows.getDomain()[dim];
    const int64_t size = rows.getDomain()[outer.back()];
    for (int64_t length = size - size % kTeams; length >= kLeastRows; length -= kTeams)
      if (size % length == 0 && count / length >= blocks)
        return length;
    return 0;
  }

  Group groupOf(ClusterOp rows) {
    llvm::SetVector<Operation *> readers;
    for (ValueRange list : {ValueRange(rows.getInputs()), ValueRange(rows.getOutputs())})
      for (Value tensor : list)
        readers.insert(tensor.user_begin(), tensor.user_end());
    Group group{rows, {}};
    int64_t sums = 0;
    for (Operation *reader : readers) {
      auto columns = dyn_cast<ClusterOp>(reader);
      if (!columns || columns == rows || columns->getBlock() != rows->getBlock() ||
          !readsTheSame(rows, columns))
        continue;
      std::optional<Halves> halves = Halves::of(columns);
      if (!halves || sums + int64_t(halves->reductions.size()) > kMostSums ||
          !isHeld(rows, sums + halves->reductions.size()))
        continue;
      group.columns.push_back(columns);
      if (group.place())
        sums += halves->reductions.size();
      else
        group.columns.pop_back();
    }
    llvm::sort(group.columns, [](ClusterOp a, ClusterOp b) { return a->isBeforeInBlock(b); });
    return group;
  }

  /// Whether a block of threads has room for a row and the sums.
  static bool isHeld(ClusterOp rows, int64_t sums) {
    int64_t row = 1, tensors = sums;
    for (int64_t dim : rows.getReduced())
      row *= rows.getDomain()[dim];
    for (Attribute map : rows.getInputMaps())
      tensors += namesAny(cast<AffineMapAttr>(map).getValue(), rows.getReduced());
    return row * tensors <= kMostHeld;
  }

  /// Every tensor of points that `columns` reads is one that `rows` reads or makes, at the same place.
  static bool readsTheSame(ClusterOp rows, ClusterOp columns) {
    SmallVector<int64_t> outer = rowDims(rows);
    if (rows.getDomain() != columns.getDomain() || columns.getClone() ||
        columns.getReduced() != ArrayRef(outer))
      return false;
    if (llvm::any_of(columns.getOutputMaps(),
                     [&](Attribute map) { return namesAny(cast<AffineMapAttr>(map).getValue(), outer); }))
      return false;
    auto isKnown = [&](Value tensor, AffineMap map) {
      if (auto result = dyn_cast<OpResult>(tensor); result && result.getOwner() == rows)
        return mapAt(rows.getOutputMaps(), result.getResultNumber()) == map;
      if (!(namesAny(map, outer) && namesAny(map, rows.getReduced())))
        return true;
      for (auto [input, own] : llvm::zip(rows.getInputs(), rows.getInputMaps()))
        if (input == tensor && cast<AffineMapAttr>(own).getValue() == map)
          return true;
      return false;
    };
    for (auto [tensor, map] : llvm::zip(columns.getInputs(), columns.getInputMaps()))
      if (!isKnown(tensor, cast<AffineMapAttr>(map).getValue()))
        return false;
    return true;
  }

  static void join(Group &group, int64_t length) {
    OpBuilder builder(group.place());
    ClusterOp joined = joinRows(builder, group, length);
    builder.setInsertionPointAfter(joined);
    ResultRange results = joined.getResults();
    ClusterOp whole = reduceBlocks(builder, group.columns, results.drop_front(group.rows->getNumResults()));
    group.rows.replaceAllUsesWith(results.take_front(group.rows->getNumResults()));
    ResultRange sums = whole.getResults();
    for (ClusterOp columns : group.columns) {
      columns.replaceAllUsesWith(sums.take_front(columns->getNumResults()));
      sums = sums.drop_front(columns->getNumResults());
      columns.erase();
    }
    group.rows.erase();
  }

  /// The domain of the blocks' sums.
  static SmallVector<int64_t> domainOfBlocks(ClusterOp cluster, int64_t dim, int64_t length) {
    SmallVector<int64_t> domain(cluster.getDomain());
    domain[dim] /= length;
    return domain;
  }

  static ClusterOp create(OpBuilder &builder, ClusterOp like, TypeRange types, ArrayRef<int64_t> domain,
                          ArrayAttr outputMaps) {
    auto cluster = ClusterOp::create(builder, like.getLoc(), types, ValueRange(), domain, like.getReduced(),
                                     builder.getArrayAttr({}), outputMaps, IntegerAttr(), StringAttr());
    setPlace(cluster, placeOf(like));
    cluster.getBody().emplaceBlock();
    return cluster;
  }

  static ClusterOp joinRows(OpBuilder &builder, Group &group, int64_t length) {
    ClusterOp rows = group.rows;
    const int64_t dim = rowDims(rows).back();
    SmallVector<Type> types(rows.getResultTypes());
    SmallVector<Attribute> maps(rows.getOutputMaps().begin(), rows.getOutputMaps().end());
    SmallVector<PlaceAttr> places;
    SmallVector<DictionaryAttr> notes = valueNotesOf(rows);
    for (OpResult result : rows->getResults())
      places.push_back(sched::placeOfResult(result));
    AffineMap ofBlock = builder.getMultiDimIdentityMap(rows.getDomain().size());
    ofBlock = ofBlock.replace(builder.getAffineDimExpr(dim), builder.getAffineDimExpr(dim).floorDiv(length),
                              ofBlock.getNumDims(), 0);
    for (ClusterOp columns : group.columns) {
      const Halves halves = *Halves::of(columns);
      for (sched::ReduceOp reduction : halves.reductions) {
        types.push_back(RankedTensorType::get(domainOfBlocks(rows, dim, length), reduction.getType()));
        maps.push_back(AffineMapAttr::get(ofBlock));
        places.push_back(placeOf(columns));
      }
    }
    ClusterOp joined = create(builder, rows, types, rows.getDomain(), builder.getArrayAttr(maps));
    OpBuilder body = OpBuilder::atBlockBegin(&bodyOf(joined));
    ClusterInputs inputs(bodyOf(joined));
    IRMapping values;
    SmallVector<Value> yielded;
    addInputs(rows, {}, {}, inputs, values);
    for (Operation &op : bodyOf(rows).without_terminator())
      body.clone(op, values);
    for (Value value : bodyOf(rows).getTerminator()->getOperands())
      yielded.push_back(values.lookup(value));
    for (ClusterOp columns : group.columns) {
      IRMapping own;
      addInputs(columns, rows, yielded, inputs, own);
      Halves halves = *Halves::of(columns);
      for (Operation *op : halves.points)
        body.clone(*op, own);
      for (sched::ReduceOp reduction : halves.reductions)
        yielded.push_back(sched::SumOp::create(body, reduction.getLoc(), reduction.getType(),
                                               own.lookup(reduction.getInput())));
    }
    sched::YieldOp::create(body, rows.getLoc(), yielded);
    joined->setOperands(inputs.tensors);
    joined.setInputMapsAttr(builder.getArrayAttr(inputs.maps));
    sched::setResultPlaces(joined, places);
    notes.resize(types.size()); // sums of blocks are no values of the step
    setValueNotes(joined, notes);
    return joined;
  }

  /// What `from` reads: `made`, the results of `rows`, or inputs of the joined cluster.
  static void addInputs(ClusterOp from, ClusterOp rows, ArrayRef<Value> made, ClusterInputs &inputs,
                        IRMapping &values) {
    for (auto [tensor, map, scalar] :
         llvm::zip(from.getInputs(), from.getInputMaps(), bodyOf(from).getArguments())) {
      auto result = dyn_cast<OpResult>(tensor);
      const bool isMade = rows && result && result.getOwner() == rows;
      values.map(scalar, isMade ? made[result.getResultNumber()]
                                : inputs.add(tensor, cast<AffineMapAttr>(map).getValue(), scalar.getType(),
                                             scalar.getLoc()));
    }
  }

  /// All sums of blocks in one launch.
  static ClusterOp reduceBlocks(OpBuilder &builder, ArrayRef<ClusterOp> group, ValueRange partials) {
    ArrayRef<int64_t> domain = cast<RankedTensorType>(partials.front().getType()).getShape();
    SmallVector<Type> types;
    SmallVector<Attribute> outputMaps;
    SmallVector<PlaceAttr> places;
    SmallVector<DictionaryAttr> notes;
    for (ClusterOp columns : group)
      for (OpResult result : columns->getResults()) {
        notes.push_back(valueNoteOf(result));
        types.push_back(result.getType());
        outputMaps.push_back(columns.getOutputMaps()[result.getResultNumber()]);
        places.push_back(sched::placeOfResult(result));
      }
    ClusterOp whole = create(builder, group.front(), types, domain, builder.getArrayAttr(outputMaps));
    OpBuilder body = OpBuilder::atBlockBegin(&bodyOf(whole));
    SmallVector<Value> yielded;
    for (ClusterOp columns : group) {
      Halves halves = *Halves::of(columns);
      IRMapping values;
      for (sched::ReduceOp reduction : halves.reductions) {
        Value partial = bodyOf(whole).addArgument(reduction.getType(), reduction.getLoc());
        values.map(reduction.getResult(),
                   sched::ReduceOp::create(body, reduction.getLoc(), reduction.getType(), reduction.getKind(),
                                           partial)
                       .getResult());
      }
      for (Operation *op : halves.behind)
        body.clone(*op, values);
      for (Value value : bodyOf(columns).getTerminator()->getOperands())
        yielded.push_back(values.lookup(value));
    }
    sched::YieldOp::create(body, whole.getLoc(), yielded);
    whole->setOperands(partials);
    AffineMapAttr same = AffineMapAttr::get(builder.getMultiDimIdentityMap(domain.size()));
    whole.setInputMapsAttr(builder.getArrayAttr(SmallVector<Attribute>(partials.size(), same)));
    sched::setResultPlaces(whole, places);
    setValueNotes(whole, notes);
    return whole;
  }
};
} // namespace
} // namespace kedge::schedule
