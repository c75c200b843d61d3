#include "lib/Export/Program/ProgramStates.h"
#include "kedge/Dialect/Exec/ExecDialect.h"
#include "kedge/Dialect/Sched/SchedDialect.h"
#include "kedge/Dialect/Train/StateOps.h"
#include "kedge/Dialect/Tune/TuneAttrs.h"
#include "kedge/Support/StorageBytes.h"
#include "kedge/abi/ProgramKeys.h"
#include "kedge/abi/StateRoles.h"
#include "lib/Interpret/ConstantEvaluator.h"
#include "lib/Support/AttrJson.h"
#include "lib/Support/Error.h"
#include "runtime/format/GraphHash.h"
#include "runtime/format/WeightHash.h"
#include "llvm/Support/MemoryBuffer.h"
#include <filesystem>
#include <fstream>

using namespace mlir;
using namespace kedge;
using namespace kedge::exporter;
using nlohmann::json;
namespace key = kedge::abi::key;

namespace {
static_assert(std::size(abi::kRoleWords) == train::getMaxEnumValForRole() + 1,
              "roles of include/kedge/abi/StateRoles.h");

/// The dialect's roles are numbered as the program's.
abi::StateRole roleOf(train::StateOp state) { return static_cast<abi::StateRole>(state.getRole()); }

uint64_t fileSize(const std::string &path) {
  std::error_code error;
  uint64_t size = std::filesystem::file_size(path, error);
  return error ? 0 : size;
}

/// How a program names external data: relative to the model's folder, so that both can move together.
std::string besideModel(const std::string &file, const std::string &model) {
  namespace fs = std::filesystem;
  std::error_code ignored;
  const fs::path wanted = fs::absolute(file).lexically_normal();
  for (const fs::path &place : {fs::path(model), fs::weakly_canonical(model, ignored)}) {
    const fs::path relative = wanted.lexically_relative(place.lexically_normal().parent_path());
    if (!relative.empty() && *relative.begin() != "..")
      return relative.string();
  }
  return wanted.string();
}

class Table {
public:
  Table(const ProgramFacts &facts, std::vector<unsigned char> &data) : facts(facts), data(data) {
    files.push_back(facts.modelPath);
    for (const std::string &file : facts.externalFiles)
      files.push_back(file);
  }

  json stateJson(train::StateOp state) {
    json entry = tensorDescription(state.getType());
    entry[key::name] = state.getSymName().str();
    entry[key::role] = abi::roleWord(roleOf(state));
    if (auto name = state.getOnnxName())
      entry[key::onnxName] = name->str();
    if (auto of = state.getOf())
      entry[key::of] = of->str();
    entry[key::offset] = exec::OffsetNote(state.getContext()).getAttr(state).getInt();
    if (auto sharding = state.getSharding())
      entry[key::shard] = shardJson(*sharding, sharding->isFlat());
    if (sched::isOnHost(state))
      entry[key::space] = "host";
    if (auto adapter = tune::adapterOf(state))
      entry[key::adapter] = adapterJson(adapter);
    if (auto encoding = tune::encodingOf(state))
      entry[key::encoding] = encodingJson(state, encoding);
    entry[key::init] = initJson(state);
    if (auto resized = tune::resizedOf(state))
      entry[key::init][key::resized] = {{key::axis, resized.getAxis()}, {key::before, resized.getBefore()}};
    if (state.getRole() == train::Role::Parameter) {
      entry[key::decay] = state.getDecay();
      entry[key::lrScale] = state.getLrScale().convertToDouble();
    }
    return entry;
  }

  json modelJson() {
    json list = json::array();
    for (size_t i = 0; i < files.size(); ++i)
      list.push_back({{key::path, i == 0 ? files[0] : besideModel(files[i], files[0])},
                      {key::bytes, fileSize(files[i])}});
    json places = json::array();
    for (const rt::WeightBytes &place : weights)
      places.push_back({{key::offset, place.offset}, {key::length, place.length}});
    return {{key::files, list},
            {key::graphHash, graphHash()},
            {key::weights, places},
            {key::embedded, facts.embedWeights}};
  }

private:
  static json adapterJson(tune::AdapterAttr adapter) {
    json value = {{key::factor, tune::stringifyFactor(adapter.getFactor()).str()},
                  {key::base, adapter.getBase().getValue().str()},
                  {key::scale, adapter.getScale().getValueAsDouble()},
                  {key::transposed, adapter.getTransposed().getValue()},
                  {key::path, adapter.getPath().str()}};
    if (adapter.getFrom())
      value[key::from] = tune::stringifyDecomposition(*adapter.getFrom()).str();
    if (adapter.getBias())
      value[key::bias] = adapter.getBias().getValue().str();
    if (!adapter.getRows().empty())
      value[key::rows] = adapter.getRows().vec();
    return value;
  }

  /// Scales of int8 lie along one axis, which their shape tells.
  static json encodingJson(train::StateOp state, tune::EncodingAttr encoding) {
    int64_t axis = 0;
    const ArrayRef<int64_t> whole = cast<RankedTensorType>(encoding.getWhole()).getShape();
    StringRef codes = state.getOf().value_or(state.getSymName());
    for (auto part : state->getParentOfType<ModuleOp>().getOps<train::StateOp>())
      if (auto other = tune::encodingOf(part); !other || part.getOf() != codes)
        continue;
      else if (tune::isOfOnnx(encoding.getFormat()) && other.getPart() == tune::Part::Absmax)
        axis = part.wholeType().getShape()[0] == whole[0] ? 1 : 0;
      else if (encoding.getFormat() == tune::Format::Int8)
        for (auto [dim, size] : llvm::enumerate(part.wholeType().getShape()))
          if (size != 1)
            axis = dim;
    return {{key::format, tune::stringifyFormat(encoding.getFormat()).str()},
            {key::part, tune::stringifyPart(encoding.getPart()).str()},
            {key::isDouble, encoding.getDoubled().getValue()},
            {key::zero, encoding.getZero() ? encoding.getZero().getInt() : 0},
            {key::block, encoding.getBlock() ? encoding.getBlock().getInt() : 0},
            {key::shape, cast<RankedTensorType>(encoding.getWhole()).getShape().vec()},
            {key::axis, axis}};
  }

  json initJson(train::StateOp state) {
    Attribute init = state.getInitAttr();
    if (!init || isa<UnitAttr>(init))
      return {{key::kind, "zeros"}};
    if (auto fill = dyn_cast<FloatAttr>(init))
      return {{key::kind, "fill"}, {key::value, fill.getValueAsDouble()}};
    if (auto random = dyn_cast<tune::RandomAttr>(init))
      return {{key::kind, tune::stringifyDistribution(random.getKind()).str()},
              {key::value, random.getAmount().getValueAsDouble()}};
    if (auto weight = dyn_cast<train::WeightAttr>(init))
      return weightJson(weight, typeInFile(state, weight));
    interpret::HostTensor values = interpret::HostTensor::fromAttribute(cast<ElementsAttr>(init));
    return literal(values.bytes.data(), values.bytes.size(), tensorDescription(values.type)[key::dtype]);
  }

  /// Without its master a parameter, and what is frozen, is of 16 bits, and in the model's file f32 as ever.
  static std::string typeInFile(train::StateOp state, train::WeightAttr weight) {
    auto encoding = tune::encodingOf(state);
    if (encoding && encoding.isInFile())
      return tensorDescription(state.wholeType())[key::dtype];
    auto whole = cast<RankedTensorType>(encoding ? encoding.getWhole() : Type(state.wholeType()));
    if (auto resized = tune::resizedOf(state))
      whole = resized.inFile(whole);
    auto wide = whole.clone(Float32Type::get(state.getContext()));
    if (auto stored = state->getAttrOfType<TypeAttr>(tune::storedName))
      return tensorDescription(whole.clone(stored.getValue()))[key::dtype];
    bool isWider = isa<BFloat16Type, Float16Type>(whole.getElementType()) &&
                   static_cast<int64_t>(weight.getLength()) == bytesOf(wide);
    return tensorDescription(isWider ? wide : whole)[key::dtype];
  }

  json weightJson(train::WeightAttr weight, const std::string &dtype) {
    if (facts.embedWeights)
      return embedded(weight, dtype);
    size_t file = fileIndex(weight.getFile().str());
    if (file == 0)
      weights.push_back(
          {static_cast<uint64_t>(weight.getOffset()), static_cast<uint64_t>(weight.getLength()), ""});
    json entry = {{key::kind, "file"},
                  {key::file, file},
                  {key::offset, weight.getOffset()},
                  {key::length, weight.getLength()},
                  {key::dtype, dtype}};
    if (std::string hash = hashOf(weight); !hash.empty())
      entry[key::hash] = hash;
    return entry;
  }

  /// Empty where the file is not there: compiling needs its name alone.
  static std::string hashOf(train::WeightAttr weight) {
    checkRegular(weight);
    auto bytes = llvm::MemoryBuffer::getFileSlice(weight.getFile(), weight.getLength(), weight.getOffset());
    if (!bytes || (*bytes)->getBufferSize() < static_cast<uint64_t>(weight.getLength()))
      return "";
    return rt::hashWeights((*bytes)->getBufferStart(), weight.getLength());
  }

  /// Reading a pipe would not end. Saved IR may name anything.
  static void checkRegular(train::WeightAttr weight) {
    std::error_code error;
    const std::filesystem::path path(weight.getFile().str());
    if (std::filesystem::exists(path, error) && !std::filesystem::is_regular_file(path, error))
      fail("{}: is no regular file, expected one with the weights of the model", path.string());
  }

  json embedded(train::WeightAttr weight, const std::string &dtype) {
    checkRegular(weight);
    std::string path = weight.getFile().str();
    std::ifstream file(path, std::ios::binary);
    std::vector<char> bytes(weight.getLength());
    file.seekg(weight.getOffset());
    if (!file.read(bytes.data(), bytes.size()))
      fail("{}: cannot read {} bytes at {} to embed them (--embed-weights needs all weight files)", path,
           bytes.size(), weight.getOffset());
    return literal(bytes.data(), bytes.size(), dtype);
  }

  json literal(const char *bytes, size_t size, const std::string &dtype) {
    data.resize((data.size() + 63) / 64 * 64);
    size_t offset = data.size();
    data.insert(data.end(), bytes, bytes + size);
    return {{key::kind, "data"}, {key::offset, offset}, {key::length, size}, {key::dtype, dtype}};
  }

  /// The first name that is the same file; names differ by how a path is written.
  size_t fileIndex(const std::string &path) {
    for (size_t i = 0; i < files.size(); ++i) {
      std::error_code error;
      if (files[i] == path || std::filesystem::equivalent(files[i], path, error))
        return i;
    }
    files.push_back(path);
    return files.size() - 1;
  }

  std::string graphHash() {
    auto buffer = llvm::MemoryBuffer::getFile(files[0], /*IsText=*/false, /*RequiresNullTerminator=*/false);
    if (!buffer)
      fail("{}: cannot be read: {}", files[0], buffer.getError().message());
    return rt::hashGraph(reinterpret_cast<const uint8_t *>((*buffer)->getBufferStart()),
                         (*buffer)->getBufferSize(), weights);
  }

  const ProgramFacts &facts;
  std::vector<unsigned char> &data;
  std::vector<std::string> files;
  std::vector<rt::WeightBytes> weights; // those of the model file that states start from
};
} // namespace

json kedge::exporter::shardJson(dist::ShardingAttr sharding, bool isFlat) {
  json shard{{key::shape, sharding.getShape().vec()}};
  if (!sharding.getStages().empty())
    shard[key::stages] = sharding.getStages().vec();
  if (sharding.getCuts().empty() && sharding.getStages().empty())
    return shard;
  shard[key::flat] = isFlat;
  for (dist::CutAttr cut : sharding.getCuts()) {
    json entry{{key::dim, cut.getDim()}, {key::axis, cut.getAxis().str()}};
    if (!cut.getSections().empty())
      entry[key::sections] = cut.getSections().vec();
    if (cut.getUnit() != 1)
      entry[key::unit] = cut.getUnit();
    shard[key::cuts].push_back(entry);
  }
  return shard;
}

StateTable kedge::exporter::stateTable(ModuleOp module, const ProgramFacts &facts,
                                       std::vector<unsigned char> &data) {
  Table table(facts, data);
  StateTable result{json::array(), {}};
  for (auto state : module.getOps<train::StateOp>())
    result.states.push_back(table.stateJson(state));
  result.model = table.modelJson();
  return result;
}
