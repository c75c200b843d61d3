// A deterministic driver for fuzz targets where libFuzzer is not at hand:
//   TARGET [--seconds S | --runs N] [--seed K] [--first N] [--save FILE] [CORPUS-FILE...]
// Input n depends on the seed, n and the corpus only. On a finding (sanitizer report, foreign exception, more
// than 10 seconds for one input) the input goes to FILE, its number is printed, and the exit code is not 0.
// `TARGET --replay FILE` runs one file as it is.
#include "test/fuzz/WireTree.h"
#include "test/support/OnnxBytes.h"
#include <chrono>
#include <cstdio>
#include <exception>
#include <fstream>
#include <iterator>
#include <random>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
/// What the target knows to be of its kind; its bytes are changed.
std::vector<std::vector<uint8_t>> fuzzSeeds();
extern "C" void __sanitizer_set_death_callback(void (*callback)()) __attribute__((weak));

namespace {

using kedge::test::Msg;
using kedge::test::WireField;
using Input = std::vector<uint8_t>;
using Clock = std::chrono::steady_clock;

struct FuzzOptions {
  double seconds = 0;
  uint64_t runs = 10000, seed = 1, first = 0;
  std::string save = "finding.onnx", replay;
  std::vector<std::string> corpus;
};

Input currentInput;
uint64_t currentRun = 0;
std::string savePath;

void saveFinding() {
  std::ofstream(savePath, std::ios::binary)
      .write(reinterpret_cast<const char *>(currentInput.data()),
             static_cast<std::streamsize>(currentInput.size()));
  std::fprintf(stderr, "finding: input %llu (%zu bytes) saved as %s\n",
               static_cast<unsigned long long>(currentRun), currentInput.size(), savePath.c_str());
}

class Mutator {
public:
  Mutator(uint64_t seed, uint64_t run) : random(seed * 0x9e3779b97f4a7c15ull + run) {}

  Input make(const std::vector<Input> &corpus) {
    Input input = corpus[below(corpus.size())];
    bool inBytes = below(3) == 0;
    std::vector<WireField> fields;
    if (!inBytes && kedge::test::parseWire({input.begin(), input.end()}, fields)) {
      for (size_t k = 1 + below(4); k > 0; --k)
        mutateTree(fields);
      std::string bytes = kedge::test::writeWire(fields);
      return {bytes.begin(), bytes.end()};
    }
    for (size_t k = 1 + below(6); k > 0; --k)
      mutate(input, corpus);
    return input;
  }

private:
  size_t below(size_t limit) { return limit == 0 ? 0 : random() % limit; }

  void mutateTree(std::vector<WireField> &fields) {
    std::vector<std::pair<std::vector<WireField> *, size_t>> all;
    kedge::test::collectFields(fields, all);
    if (all.empty())
      return;
    auto [list, index] = all[below(all.size())];
    auto [otherList, otherIndex] = all[below(all.size())];
    WireField &field = (*list)[index];
    WireField other = (*otherList)[otherIndex];
    switch (below(6)) {
    case 0:
      list->erase(list->begin() + static_cast<std::ptrdiff_t>(index));
      break;
    case 1:
      list->insert(list->begin() + static_cast<std::ptrdiff_t>(below(list->size() + 1)), WireField(field));
      break;
    case 2: // a field in another message
      list->insert(list->begin() + static_cast<std::ptrdiff_t>(index), std::move(other));
      break;
    case 3: // its content under this field's number
      other.tag = (field.tag & ~uint64_t(7)) | (other.tag & 7);
      field = std::move(other);
      break;
    case 4:
      std::swap((*list)[index], (*list)[below(list->size())]);
      break;
    case 5:
      if ((field.tag & 7) == 0)
        field.varint = below(3) ? below(30) : interesting();
      else if (!field.isMessage && !field.bytes.empty())
        field.bytes[below(field.bytes.size())] = static_cast<char>(random());
      break;
    }
  }

  uint64_t interesting() {
    static const uint64_t values[] = {0,
                                      1,
                                      127,
                                      128,
                                      0x7fffffff,
                                      0x80000000,
                                      0xffffffff,
                                      ~uint64_t(0),
                                      uint64_t(1) << 63,
                                      uint64_t(1) << 40};
    return values[below(std::size(values))];
  }

  void mutate(Input &input, const std::vector<Input> &corpus) {
    if (input.empty())
      input.push_back(0);
    size_t at = below(input.size());
    // Structure is denser at the front and between weights: prefer bytes near a readable name.
    for (int tries = 0; tries < 8 && (input[at] < 8 || input[at] > 122); ++tries)
      at = below(input.size());
    switch (below(9)) {
    case 0:
      input[at] ^= static_cast<uint8_t>(1u << below(8));
      break;
    case 1:
      input[at] = static_cast<uint8_t>(random());
      break;
    case 2:
      input.resize(at);
      break;
    case 3:
      input.erase(input.begin() + at, input.begin() + std::min(input.size(), at + 1 + below(64)));
      break;
    case 4:
      insertSlice(input, at, corpus[below(corpus.size())]);
      break;
    case 5:
      insertSlice(input, at, Input(input));
      break;
    case 6:
      insertVarint(input, at);
      break;
    case 7:
      input[at] = static_cast<uint8_t>(input[at] + (below(2) ? 1 : -1));
      break;
    case 8:
      copyName(input, at);
      break;
    }
  }

  void insertSlice(Input &input, size_t at, const Input &from) {
    size_t begin = below(from.size());
    size_t end = std::min(from.size(), begin + 1 + below(200));
    input.insert(input.begin() + at, from.begin() + begin, from.begin() + end);
  }

  void insertVarint(Input &input, size_t at) {
    Msg m;
    m.raw(interesting());
    bool replaces = below(2) != 0;
    if (replaces)
      input.erase(input.begin() + at);
    input.insert(input.begin() + at, m.bytes.begin(), m.bytes.end());
  }

  /// Overwrites a few bytes by others of the same input: names that meet make cycles and doubles.
  void copyName(Input &input, size_t at) {
    size_t from = below(input.size());
    for (size_t k = 1 + below(8); k > 0 && at < input.size() && from < input.size(); --k)
      input[at++] = input[from++];
  }

  std::mt19937_64 random;
};

FuzzOptions parseOptions(int argc, char **argv) {
  FuzzOptions options;
  for (int k = 1; k < argc; ++k) {
    std::string flag = argv[k];
    auto next = [&] { return k + 1 < argc ? std::string(argv[++k]) : std::string("0"); };
    if (flag == "--seconds")
      options.seconds = std::stod(next());
    else if (flag == "--runs")
      options.runs = std::stoull(next());
    else if (flag == "--seed")
      options.seed = std::stoull(next());
    else if (flag == "--first")
      options.first = std::stoull(next());
    else if (flag == "--save")
      options.save = next();
    else if (flag == "--replay")
      options.replay = next();
    else
      options.corpus.push_back(flag);
  }
  return options;
}

Input readFile(const std::string &path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

bool runOne() {
  Clock::time_point start = Clock::now();
  try {
    LLVMFuzzerTestOneInput(currentInput.data(), currentInput.size());
  } catch (const std::exception &e) {
    std::fprintf(stderr, "foreign exception: %s\n", e.what());
    saveFinding();
    return false;
  }
  if (Clock::now() - start < std::chrono::seconds(10))
    return true;
  std::fprintf(stderr, "an input takes more than 10 seconds\n");
  saveFinding();
  return false;
}

} // namespace

int main(int argc, char **argv) {
  FuzzOptions options = parseOptions(argc, argv);
  savePath = options.save;
  if (__sanitizer_set_death_callback)
    __sanitizer_set_death_callback(saveFinding);
  if (!options.replay.empty()) {
    currentInput = readFile(options.replay);
    return runOne() ? 0 : 1;
  }
  std::vector<Input> corpus = fuzzSeeds();
  for (const std::string &path : options.corpus)
    corpus.push_back(readFile(path));
  for (const Input &input : corpus) {
    currentInput = input;
    if (!runOne())
      return 1;
  }
  Clock::time_point start = Clock::now();
  uint64_t run = options.first;
  auto goesOn = [&] {
    if (options.seconds > 0)
      return std::chrono::duration<double>(Clock::now() - start).count() < options.seconds;
    return run < options.first + options.runs;
  };
  for (; goesOn(); ++run) {
    currentRun = run;
    currentInput = Mutator(options.seed, run).make(corpus);
    if (!runOne())
      return 1;
  }
  std::printf("%llu inputs, no finding\n", static_cast<unsigned long long>(run - options.first));
  return 0;
}
