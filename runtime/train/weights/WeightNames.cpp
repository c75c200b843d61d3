#include "runtime/train/weights/WeightNames.h"
#include "runtime/format/Convert.h"
#include "runtime/format/NearMisses.h"
#include "runtime/format/QuantisedTensor.h"
#include "runtime/io/Error.h"
#include <algorithm>
#include <set>

namespace kedge::rt {
namespace {

/// Whether `end` is all of `name`, or its last components.
bool endsInComponents(const std::string &name, const std::string &end) {
  return name.ends_with(end) && (name.size() == end.size() || name[name.size() - end.size() - 1] == '.');
}

std::string listOf(const std::vector<std::string> &names, size_t most) {
  std::string text;
  for (size_t i = 0; i < std::min(most, names.size()); ++i)
    text += (i == 0 ? "'" : ", '") + names[i] + "'";
  return names.size() > most ? text + fmt::format(" and {} more", names.size() - most) : text;
}

/// Ends of the names of what transformers ties: a file holds one of the two.
constexpr const char *kEmbeddings[] = {"wte.weight",       "embed_tokens.weight", "word_embeddings.weight",
                                       "embed_in.weight",  "shared.weight",       "tok_embeddings.weight",
                                       "embeddings.weight"};
constexpr const char *kHeads[] = {"lm_head.weight",         "embed_out.weight", "predictions.decoder.weight",
                                  "lm_head.decoder.weight", "proj_out.weight",  "output.weight"};

template <size_t N> bool isOneOf(const std::string &name, const char *const (&ends)[N]) {
  return std::any_of(std::begin(ends), std::end(ends),
                     [&](const char *end) { return endsInComponents(name, end); });
}

class Matcher {
public:
  Matcher(const std::string &source, const TensorFile &file, const std::vector<const State *> &wanted)
      : source(source), file(file) {
    for (const State *state : wanted)
      if (const TensorView *view = file.find(state->onnxName))
        take(*state, state->onnxName, view);
      else
        missing.push_back(state);
  }

  void byPrefix() {
    while (!missing.empty()) {
      std::map<Prefix, size_t> votes;
      for (const State *state : missing)
        for (const auto &[name, view] : file.tensors())
          if (fits(*state, name, view))
            if (auto prefix = between(state->onnxName, name))
              ++votes[*prefix];
      if (votes.empty())
        return;
      applyPrefix(favourite(votes));
    }
  }

  void byTies() {
    std::erase_if(missing, [&](const State *state) {
      const TensorView *view = nullptr;
      const std::string name = tiedTo(*state, view);
      if (!view)
        return false;
      result.notes.push_back(fmt::format(
          "'{}' is not in the file: it takes '{}', to which such models tie it", state->onnxName, name));
      take(*state, name, view);
      return true;
    });
  }

  /// A parameter with two names in PyTorch: when one parameter and one float tensor of a shape are left, they
  /// are a pair.
  void byShape() {
    std::vector<const State *> parameters;
    for (const State *state : missing)
      if (state->role != StateRole::Buffer)
        parameters.push_back(state);
    for (const State *state : parameters) {
      const auto alike = [&](const State *other) { return other->fileShape() == state->fileShape(); };
      const std::vector<std::string> left = unusedOfShape(state->fileShape());
      if (left.size() != 1 || std::count_if(parameters.begin(), parameters.end(), alike) != 1)
        continue;
      result.notes.push_back(
          fmt::format("'{}' is not in the file: it takes '{}', the one tensor of its shape that is left",
                      state->onnxName, left[0]));
      take(*state, left[0], file.find(left[0]));
      std::erase(missing, state);
    }
  }

  MatchedWeights finish(bool partial) {
    std::vector<std::string> buffers, parameters;
    for (const State *state : missing)
      (state->role == StateRole::Buffer ? buffers : parameters).push_back(state->onnxName);
    if (!parameters.empty() && !partial)
      refuse(parameters);
    if (!parameters.empty())
      result.notes.push_back(
          fmt::format("{} of the program's parameters keep their initial values (--weights-partial): {}",
                      parameters.size(), listOf(parameters, parameters.size())));
    if (!buffers.empty())
      result.notes.push_back(fmt::format("{} buffers that the file lacks come from the model: {}",
                                         buffers.size(), listOf(buffers, 3)));
    noteUnused();
    return std::move(result);
  }

private:
  /// As far as shapes tell; codes have their own.
  bool fits(const State &state, const std::string &name, const TensorView &view) const {
    return state.takes(view.desc.shape) || QuantisedTensor::hasKey(file, name);
  }

  /// What stands before the names of the program's tensors alone, or of the file's alone.
  struct Prefix {
    bool inProgram = false;
    std::string text; // with the dot
    auto operator<=>(const Prefix &) const = default;
  };

  static std::optional<Prefix> between(const std::string &ours, const std::string &theirs) {
    if (endsInComponents(ours, theirs))
      return Prefix{true, ours.substr(0, ours.size() - theirs.size())};
    if (endsInComponents(theirs, ours))
      return Prefix{false, theirs.substr(0, theirs.size() - ours.size())};
    return std::nullopt;
  }

  /// The one that most tensors agree on.
  Prefix favourite(const std::map<Prefix, size_t> &votes) const {
    const auto best = std::max_element(votes.begin(), votes.end(),
                                       [](const auto &a, const auto &b) { return a.second < b.second; });
    for (const auto &[prefix, count] : votes)
      if (count == best->second && !(prefix == best->first) && prefix.inProgram == best->first.inProgram)
        fail("{}: {} tensors fit the program's names after '{}', and as many after '{}': which of them is "
             "meant cannot be told; "
             "give a file that holds one of them",
             source, count, best->first.text, prefix.text);
    return best->first;
  }

  void applyPrefix(const Prefix &prefix) {
    size_t count = 0;
    std::erase_if(missing, [&](const State *state) {
      const std::string &ours = state->onnxName;
      if (prefix.inProgram && !ours.starts_with(prefix.text))
        return false;
      const std::string theirs = prefix.inProgram ? ours.substr(prefix.text.size()) : prefix.text + ours;
      const TensorView *view = file.find(theirs);
      if (!view || !fits(*state, theirs, *view))
        return false;
      take(*state, theirs, view);
      ++count;
      return true;
    });
    result.notes.push_back(
        prefix.inProgram
            ? fmt::format("{} names of the program are the file's without '{}' in front", count, prefix.text)
            : fmt::format("{} names of the program are the file's with '{}' in front", count, prefix.text));
  }

  std::string tiedTo(const State &state, const TensorView *&found) const {
    const bool isHead = isOneOf(state.onnxName, kHeads), isEmbedding = isOneOf(state.onnxName, kEmbeddings);
    std::string chosen;
    for (const auto &[name, view] : file.tensors())
      if (((isHead && isOneOf(name, kEmbeddings)) || (isEmbedding && isOneOf(name, kHeads))) &&
          state.takes(view.desc.shape)) {
        if (found)
          fail("{}: has no tensor '{}', and both '{}' and '{}' could be tied to it; give a file that has it",
               source, state.onnxName, chosen, name);
        found = &view;
        chosen = name;
      }
    return chosen;
  }

  [[noreturn]] void refuse(const std::vector<std::string> &names) const {
    std::vector<std::string> known;
    for (const auto &[name, view] : file.tensors())
      known.push_back(name);
    fail("{}: has no tensor {}{}; give a file of this model's weights, or --weights-partial to keep the "
         "model's own values of "
         "what is missing",
         source, listOf(names, 5), nearMisses(names.front(), known));
  }

  std::vector<std::string> unusedOfShape(const std::vector<int64_t> &shape) const {
    std::vector<std::string> names;
    for (const auto &[name, view] : file.tensors())
      if (!used.count(name) && view.desc.shape == shape && isFloat(view.desc.type) &&
          !QuantisedTensor::hasKey(file, name))
        names.push_back(name);
    return names;
  }

  void noteUnused() {
    std::vector<std::string> unused;
    for (const auto &[name, view] : file.tensors())
      if (!used.count(name) && !QuantisedTensor::hasKey(file, name))
        unused.push_back(name);
    if (!unused.empty())
      result.notes.push_back(fmt::format("{} of the file's tensors are none of the program's: {}",
                                         unused.size(), listOf(unused, 3)));
  }

  void take(const State &state, const std::string &name, const TensorView *view) {
    result.tensors[state.onnxName] = view;
    result.names[state.onnxName] = name;
    used.insert(name);
  }

  const std::string &source;
  const TensorFile &file;
  std::vector<const State *> missing;
  std::set<std::string> used;
  MatchedWeights result;
};

} // namespace

MatchedWeights matchWeights(const std::string &source, const TensorFile &file,
                            const std::vector<const State *> &wanted, bool partial) {
  Matcher matcher(source, file, wanted);
  matcher.byPrefix();
  matcher.byTies();
  if (!partial)
    matcher.byShape();
  return matcher.finish(partial);
}

} // namespace kedge::rt
