#include "runtime/train/weights/ProgramValues.h"
#include "runtime/comm/Communicator.h"
#include "runtime/format/Convert.h"
#include "runtime/format/WeightHash.h"
#include "runtime/io/Error.h"
#include "runtime/io/Say.h"
#include "runtime/train/weights/Weights.h"
#include <cstring>

namespace kedge::rt {

ProgramValues::ProgramValues(const Executor &executor, const ProgramImage &image, const std::string &model,
                             int64_t seed, bool tells)
    : executor(executor), image(image), model(model), seed(seed), files(executor.program(), model),
      saidOther(!tells) {}

void ProgramValues::open(const State &state) {
  if (state.init.kind == StateInit::Kind::File)
    files.file(state.init.file);
}

bool ProgramValues::fill(const State &state, char *destination) {
  const StateInit &init = state.init;
  if (init.kind == StateInit::Kind::Zeros) {
    std::memset(destination, 0, state.desc.bytes());
    return true;
  }
  if (init.kind == StateInit::Kind::Fill) {
    for (int64_t i = 0; i < state.desc.elements(); ++i)
      storeDouble(state.desc.type, destination, i, init.value);
    return true;
  }
  if (init.kind == StateInit::Kind::Uniform || init.kind == StateInit::Kind::Normal) {
    const bool normal = init.kind == StateInit::Kind::Normal;
    const InitSpec spec{"", normal ? InitSpec::Kind::Normal : InitSpec::Kind::Uniform, init.value};
    fillFrom(spec, state, seed, executor.threads(), destination);
    return true;
  }
  fillFromTensor(state, *valuesOf(state), destination);
  return true;
}

std::optional<TensorSource> ProgramValues::valuesOf(const State &state) {
  const StateInit &init = state.init;
  const bool data = init.kind == StateInit::Kind::Data;
  const char *bytes = data ? reinterpret_cast<const char *>(image.data) : files.file(init.file).data();
  const uint64_t size = data ? image.dataSize : files.file(init.file).size();
  const std::vector<int64_t> shape = state.firstShape();
  const uint64_t need = TensorDesc{init.type, shape}.bytes();
  if (init.length != need || init.offset > size || need > size - init.offset)
    fail("'{}': its initial value at {}+{} does not fit: {} bytes are needed, its file has {}", state.name,
         init.offset, init.length, need, size);
  TensorSource source{bytes + init.offset, init.type, init.perm};
  if (!data)
    checkBytes(state, bytes + init.offset);
  if (!data) // a model's weights are not resident twice
    source.letGo = [&file = files.file(init.file)](const char *begin, size_t count) {
      file.letGo(static_cast<size_t>(begin - file.data()), count);
    };
  return resizedSource(state, std::move(source), shape);
}

/// Every tensor is looked at by one rank. Other weights in the same graph may be meant, when --model names
/// them.
void ProgramValues::checkBytes(const State &state, const char *bytes) {
  const StateInit &init = state.init;
  const World world = executor.communicator() ? executor.communicator()->world() : World();
  const int64_t index = executor.program().state(state.name) - executor.program().states.data();
  if (init.hash.empty() || saidOther || index % world.size != world.rank ||
      hashWeights(bytes, init.length) == init.hash)
    return;
  const std::string what =
      fmt::format("{}: '{}' has other values than when the program was compiled",
                  files.file(init.file).path(), state.onnxName.empty() ? state.name : state.onnxName);
  if (init.file != 0 && model.empty())
    fail("{}: its bytes at {}+{} have changed; compile again, or give --model to start from this file as "
         "it is",
         what, init.offset, init.length);
  say(fmt::format("kedge: note: {}; the run starts from these", what));
  saidOther = true;
}

} // namespace kedge::rt
