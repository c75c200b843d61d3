#include "runtime/calls/Call.h"
#include "runtime/comm/CollectiveKernel.h"
#include <algorithm>
#include <cstring>
#include <map>

namespace kedge::rt {
using namespace calls;

namespace {

using calls::failCall;

/// Operand i and result i belong together; where they are cut, one is whole and the other a part of it.
void checkPairs(const LibraryCall &call, int64_t ranks, bool cutInput, bool cutOutput) {
  if (call.inputs.size() != call.outputs.size() || call.inputs.empty())
    failCall(call, "{} inputs and {} outputs, expected as many of each", call.inputs.size(),
             call.outputs.size());
  for (size_t i = 0; i < call.inputs.size(); ++i) {
    calls::expectSameType(call, call.inputs[i], call.outputs[i]);
    const std::vector<int64_t> part{shardSize((cutInput ? call.outputs : call.inputs)[i].elements(), ranks)};
    if (cutInput)
      calls::expectShape(call, call.inputs[i], part, "a part");
    else
      calls::expectShape(call, call.outputs[i], cutOutput ? part : call.inputs[i].shape, "a result");
  }
}

bool isSummed(DType type) {
  return type == DType::F32 || type == DType::F64 || type == DType::F16 || type == DType::BF16;
}

void checkType(const LibraryCall &call, CollectiveKind kind, Reduction reduction) {
  if (kind == CollectiveKind::AllGather || kind == CollectiveKind::Transfer)
    return;
  for (const TensorDesc &tensor : call.inputs) {
    const bool integer = tensor.type == DType::I32 || tensor.type == DType::I64;
    const bool flag = tensor.type == DType::Bool && reduction == Reduction::Max;
    if (!isSummed(tensor.type) && !(kind == CollectiveKind::AllReduce && (integer || flag)))
      failCall(call, "element type {} is not reduced over ranks", dtypeName(tensor.type));
  }
}

constexpr std::string_view kPrefix = "dist.", kLocalShard = "dist.local_shard";
constexpr std::string_view kDispatch = "dist.dispatch", kCombine = "dist.combine";
constexpr std::string_view kBroadcast = "dist.broadcast", kSendRecv = "dist.send_recv", kSend = "dist.send",
                           kReceive = "dist.receive";
const std::map<std::string_view, CollectiveKind> kKinds{
    {"dist.reduce_scatter", CollectiveKind::ReduceScatter},
    {"dist.all_gather", CollectiveKind::AllGather},
    {"dist.all_reduce", CollectiveKind::AllReduce},
    {kDispatch, CollectiveKind::Rows},
    {kCombine, CollectiveKind::Rows},
    {kBroadcast, CollectiveKind::Transfer},
    {kSendRecv, CollectiveKind::Transfer},
    {kSend, CollectiveKind::Transfer},
    {kReceive, CollectiveKind::Transfer}};

/// Whose tensors each rank gets.
std::vector<int64_t> sourcesOf(const LibraryCall &call, int64_t ranks) {
  std::vector<int64_t> senders(static_cast<size_t>(ranks), calls::intAttr(call, "root", 0));
  if (call.name == kSendRecv)
    senders = calls::intsAttr(call, "from", {});
  if (senders.size() != static_cast<size_t>(ranks))
    failCall(call, "attribute 'from' names {} ranks, expected one for each of {}", senders.size(), ranks);
  const int64_t least = call.name == kSendRecv && ranks > 1 ? Collective::kNobody : 0;
  for (const int64_t sender : senders)
    if (sender < least || sender >= ranks)
      failCall(call, "tensors come from rank {} of {}", sender, ranks);
  return senders;
}

/// A value and the token that keeps transfers in their order; the token's bytes are nobody's.
Collective transferOf(const LibraryCall &call) {
  const bool sends = call.name == kSend;
  const auto &ends = sends ? call.inputs : call.outputs;
  if (call.inputs.size() != (sends ? 2u : 1u) || call.outputs.size() != (sends ? 1u : 2u))
    failCall(call, "{} inputs and {} outputs, expected a value and a token", call.inputs.size(),
             call.outputs.size());
  Collective what;
  what.kind = CollectiveKind::Transfer;
  what.name = call.name;
  what.axis = axisOf(call.attrs);
  what.peer = PeerTransfer{calls::intAttr(call, "peer", -1), sends, calls::intAttr(call, "number", 0)};
  if (what.peer->rank < 0 || what.peer->rank >= ranksOf(call))
    failCall(call, "the other is rank {} of {}", what.peer->rank, ranksOf(call));
  what.tensors.push_back({nullptr, nullptr, ends.front().elements(), ends.front().type});
  return what;
}

/// Rows, experts by place, and how many places of each rank have each expert.
Collective rowsOf(const LibraryCall &call) {
  expectCounts(call, 3, 3, 1, 1);
  const TensorDesc &input = call.inputs[0], &experts = call.inputs[1], &counts = call.inputs[2],
                   &output = call.outputs[0];
  const int64_t ranks = ranksOf(call), all = calls::intAttr(call, "count", 0);
  calls::expectSameType(call, input, output);
  calls::expectIndexType(call, experts);
  RoutedRows rows;
  rows.back = call.name == kCombine;
  const TensorDesc &routed = rows.back ? input : output, &own = rows.back ? output : input;
  rows.places = experts.elements();
  if (all < ranks || all % ranks != 0 || counts.type != DType::I64 || own.shape.size() != 2 ||
      own.shape[0] < 1 || rows.places % own.shape[0] != 0 || (rows.back && own.shape[0] != rows.places))
    failCall(call, "{} experts of {} ranks, and rows {} of {} places", all, ranks, shapeText(own.shape),
             rows.places);
  rows.each = rows.places / own.shape[0];
  rows.own = all / ranks;
  rows.width = own.shape[1];
  rows.capacity = routed.shape.empty() ? 0 : routed.shape[0];
  rows.padding = calls::intAttr(call, "padding", 0);
  rows.wideIndex = experts.type == DType::I64;
  calls::expectShape(call, counts, {all * ranks}, "counts");
  calls::expectShape(call, routed, {rows.capacity, rows.width}, "rows of experts");
  if (rows.padding != 0 && input.type != DType::I64 && input.type != DType::I32)
    failCall(call, "padding {} of the type {}", rows.padding, dtypeName(input.type));
  Collective what;
  what.kind = CollectiveKind::Rows;
  what.name = call.name;
  what.axis = axisOf(call.attrs);
  what.rows = rows;
  what.tensors.push_back({nullptr, nullptr, rows.places * rows.width, input.type});
  return what;
}

class JointKernel final : public CollectiveKernel {
public:
  explicit JointKernel(const LibraryCall &call) : call(call), what(collectiveOf(call)) {}

  size_t workspaceBytes() const override { return collectiveWorkspace(what, ranksOf(call)); }

  std::unique_ptr<CollectiveRun> bind(Communicator &communicator, const void *const *inputs,
                                      void *const *outputs, void *workspace, bool background,
                                      const std::string &place) const override {
    groupOf(call, communicator.mesh(), communicator.world().rank); // it exists
    Collective bound = what;
    for (size_t i = 0; i < bound.tensors.size(); ++i) {
      bound.tensors[i].input = inputs[i];
      bound.tensors[i].output = outputs[i];
    }
    if (bound.rows) {
      bound.rows->experts = inputs[1];
      bound.rows->counts = static_cast<const int64_t *>(inputs[2]);
    }
    bound.workspace = workspace;
    bound.background = background;
    if (const int64_t micro = calls::intAttr(call, "micro", -1); micro >= 0)
      bound.name += fmt::format(" of micro-batch {}", micro);
    if (!place.empty())
      bound.name += " at " + place;
    return communicator.prepare(std::move(bound));
  }

private:
  LibraryCall call;
  Collective what;
};

/// A rank's own parts of tensors that it has as a whole.
class LocalShardKernel final : public CollectiveKernel {
public:
  explicit LocalShardKernel(const LibraryCall &call) : call(call) { checkRankCall(call); }

  std::unique_ptr<CollectiveRun> bind(Communicator &communicator, const void *const *inputs,
                                      void *const *outputs, void *, bool,
                                      const std::string &) const override {
    auto run = std::make_unique<Run>();
    const World place = groupOf(call, communicator.mesh(), communicator.world().rank).own;
    for (size_t i = 0; i < call.inputs.size(); ++i) {
      const int64_t elements = call.inputs[i].elements();
      const ElementRange own = localShardOf(elements, place.rank, place.size);
      const size_t size = dtypeSize(call.inputs[i].type);
      run->copies.push_back({static_cast<const char *>(inputs[i]) + static_cast<size_t>(own.first) * size,
                             static_cast<char *>(outputs[i]), static_cast<size_t>(own.count) * size,
                             static_cast<size_t>(shardSize(elements, place.size)) * size});
    }
    return run;
  }

private:
  struct Run final : CollectiveRun {
    struct Copy {
      const char *from;
      char *to;
      size_t bytes, room;
    };
    std::vector<Copy> copies;
    void start() override {
      for (const Copy &copy : copies) {
        std::memcpy(copy.to, copy.from, copy.bytes);
        std::memset(copy.to + copy.bytes, 0, copy.room - copy.bytes);
      }
    }
    TimeSpan wait() override { return {}; }
  };

  LibraryCall call;
};

/// Of one rank: every result is its operand.
class SingleRankKernel final : public LibraryKernel {
public:
  explicit SingleRankKernel(const LibraryCall &call) : tensors(call.inputs) {}
  void run(const void *const *inputs, void *const *outputs, void *) override {
    for (size_t i = 0; i < tensors.size(); ++i)
      std::memcpy(outputs[i], inputs[i], tensors[i].bytes());
  }

private:
  std::vector<TensorDesc> tensors;
};

std::unique_ptr<LibraryKernel> makeCollective(const LibraryCall &call, int) {
  auto made = std::make_unique<JointKernel>(call);
  if (ranksOf(call) == 1)
    return std::make_unique<SingleRankKernel>(call);
  return made;
}

std::unique_ptr<LibraryKernel> makeLocalShard(const LibraryCall &call, int) {
  auto made = std::make_unique<LocalShardKernel>(call);
  if (ranksOf(call) == 1)
    return std::make_unique<SingleRankKernel>(call);
  return made;
}

} // namespace

void checkRankCall(const LibraryCall &call) {
  if (call.name == kLocalShard)
    checkPairs(call, ranksOf(call), false, true);
  else
    collectiveOf(call);
}

int64_t ranksOf(const LibraryCall &call) {
  const int64_t ranks = calls::intAttr(call, "ranks", 0);
  if (ranks < 1)
    failCall(call, "attribute 'ranks' is {}, expected at least 1", ranks);
  return ranks;
}

std::string axisOf(const nlohmann::json &attrs) {
  return attrs.is_object() ? attrs.value("axis", std::string(Mesh::kData)) : Mesh::kData;
}

bool isPeerTransfer(std::string_view library) { return library == kSend || library == kReceive; }

GroupMembers groupOf(const LibraryCall &call, const Mesh &mesh, int64_t rank) {
  GroupMembers group = mesh.groupOf(axisOf(call.attrs), rank);
  if (group.own.size != ranksOf(call))
    fail("the program is damaged: {} for {} ranks along {}, where a job of {} has {}", call.name,
         ranksOf(call), axisOf(call.attrs), mesh.size(), group.own.size);
  return group;
}

Collective collectiveOf(const LibraryCall &call) {
  const auto found = kKinds.find(call.name);
  if (found == kKinds.end())
    failCall(call, "it is no collective");
  if (isPeerTransfer(call.name))
    return transferOf(call);
  const CollectiveKind kind = found->second;
  if (kind == CollectiveKind::Rows)
    return rowsOf(call);
  const std::string reduction = calls::stringAttr(call, "kind", "sum");
  if (reduction != "sum" && reduction != "max")
    failCall(call, "attribute 'kind' is '{}', expected sum or max", reduction);
  Collective what;
  what.kind = kind;
  what.reduction = reduction == "max" ? Reduction::Max : Reduction::Sum;
  what.name = call.name;
  what.axis = axisOf(call.attrs);
  const std::string order = calls::stringAttr(call, "order", "ranks");
  if (order != "ranks" && order != "tree")
    failCall(call, "attribute 'order' is '{}', expected tree", order);
  what.tree = order == "tree";
  checkPairs(call, ranksOf(call), kind == CollectiveKind::AllGather, kind == CollectiveKind::ReduceScatter);
  checkType(call, kind, what.reduction);
  if (kind == CollectiveKind::Transfer)
    what.senders = sourcesOf(call, ranksOf(call));
  for (size_t i = 0; i < call.inputs.size(); ++i) {
    const TensorDesc &whole = kind == CollectiveKind::AllGather ? call.outputs[i] : call.inputs[i];
    what.tensors.push_back({nullptr, nullptr, whole.elements(), whole.type});
  }
  return what;
}

void CollectiveKernel::run(const void *const *, void *const *, void *) {
  fail("a collective runs among ranks: start the program by mpirun");
}

std::vector<Traffic> trafficOf(const std::string &library, const std::vector<TensorDesc> &inputs,
                               const std::vector<TensorDesc> &outputs) {
  std::vector<Traffic> traffic;
  if (!library.starts_with(kPrefix) || library == kLocalShard)
    return traffic;
  if (isPeerTransfer(library)) {
    const TensorDesc &value = (library == kSend ? inputs : outputs).front();
    return {{library.substr(kPrefix.size()), value.type, false, value.elements()}};
  }
  if (library == kDispatch || library == kCombine) { // whoever they go to
    const int64_t width = (library == kDispatch ? inputs : outputs).front().shape.back();
    return {{library.substr(kPrefix.size()), inputs.front().type, false, inputs[1].elements() * width}};
  }
  const bool reduces = library == "dist.all_reduce";
  for (size_t i = 0; i < inputs.size(); ++i) {
    const int64_t elements = std::max(inputs[i].elements(), outputs[i].elements());
    traffic.push_back({library.substr(kPrefix.size()), inputs[i].type, reduces && inputs[i].shape.empty(),
                       reduces ? 2 * elements : elements});
  }
  return traffic;
}

void registerCollectives() {
  for (const auto &[name, kind] : kKinds)
    registerKernel(std::string(name), makeCollective);
  registerKernel(std::string(kLocalShard), makeLocalShard);
}

} // namespace kedge::rt
