#include "driver/why/Why.h"
#include "driver/Compilation.h"
#include "driver/why/StateAnswer.h"
#include "driver/why/ValueAnswers.h"
#include "lib/Support/Error.h"

using namespace mlir;
using nlohmann::json;

namespace kedge::driver {
namespace {

/// Each price packs an arena or two.
constexpr size_t kMostPriced = 8;

json answerOf(Compilation &compilation, const CompileOptions &options, const WhyQuestion &question,
              const Named &named) {
  ValueAnswers answers(compilation, options, question.force);
  json answer = {{"tensor", question.tensor}, {"meaning", named.meaning}, {"plan", answers.plan()}};
  if (!question.force.empty())
    answer["forced"] = question.force;
  if (named.kind == Named::Kind::State) {
    answer["state"] = stateAnswer(named.state, compilation, options);
    return answer;
  }
  answer["values"] = json::array();
  for (const PlannedValue &value : plannedValues(compilation.prices()))
    if (llvm::is_contained(named.values, value.id()))
      answer["values"].push_back(answers.value(value));
  if (!named.related.empty())
    answer["of_its_gradient"] = named.related;
  return answer;
}

} // namespace

json why(const CompileOptions &options, const WhyQuestion &question) {
  Compilation compilation(options);
  Named named;
  compilation.import();
  compilation.step();
  compilation.schedule([&](ModuleOp module, const model::Model &model) {
    named = resolveName(question.tensor, module, model);
    const bool priced = named.kind == Named::Kind::Value && named.values.size() <= kMostPriced;
    if (!question.force.empty() && (named.kind != Named::Kind::Value || named.values.size() != 1))
      fail("--force {}: '{}' stands for {} values; name one by its number, as in step#31 (kedge why lists "
           "them)",
           question.force, question.tensor, named.kind == Named::Kind::Value ? named.values.size() : 0);
    return pipelines::PricedValues{priced ? named.values : std::vector<std::string>(), question.force};
  });
  compilation.plan();
  return answerOf(compilation, options, question, named);
}

} // namespace kedge::driver
