#include "driver/why/Why.h"
#include "driver/Compilation.h"
#include "driver/plan/PipelinePlan.h"
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

namespace {

/// A stage's plan has nothing of what is asked for.
struct OnAnotherStage : Error {
  using Error::Error;
};

bool isHere(const Named &named, ModuleOp module) {
  if (named.kind != Named::Kind::State)
    return !named.values.empty();
  auto state = module.lookupSymbol<train::StateOp>(named.state);
  return !state || !state.getSharding() || state.getSharding()->isHere();
}

/// `looks`: throws OnAnotherStage where the plan has nothing of it.
json answerTo(const CompileOptions &options, const WhyQuestion &question, bool looks) {
  Compilation compilation(options);
  Named named;
  compilation.import();
  compilation.step();
  compilation.schedule([&](ModuleOp module, const model::Model &model) {
    named = resolveName(question.tensor, module, model);
    if (looks && !isHere(named, module))
      throw OnAnotherStage(
          fmt::format("{}: '{}' has no bytes on any stage", options.model.model, question.tensor));
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

json answerOfStage(const CompileOptions &options, const WhyQuestion &question, int64_t stage, bool looks) {
  const rt::Mesh mesh = options.model.meshOfRanks();
  CompileOptions own = options;
  own.pipeline.stage = stage;
  own.setRepeats(looks && stage > 0); // notes are the same
  json answer = answerTo(own, question, looks);
  answer["plan"]["rank"] = stage * (mesh.size() / mesh.sizeOf(rt::Mesh::kPipeline));
  answer["plan"]["stage"] = stage;
  return answer;
}

} // namespace

/// Without --rank a pipeline's stages are asked in turn; names are known to some alone.
json why(const CompileOptions &given, const WhyQuestion &question) {
  if (!given.isPipelined())
    return answerTo(given, question, false);
  const CompileOptions options = withChosenSchedule(given);
  const rt::Mesh mesh = options.model.meshOfRanks();
  const int64_t stages = mesh.sizeOf(rt::Mesh::kPipeline);
  if (options.plan.rank)
    return answerOfStage(options, question, *options.plan.rank / (mesh.size() / stages), false);
  for (int64_t stage = 0; stage < stages - 1; ++stage)
    try {
      return answerOfStage(options, question, stage, true);
    } catch (const OnAnotherStage &) {
      continue;
    } catch (const UnknownName &) {
      continue; // the next one may have it
    }
  return answerOfStage(options, question, stages - 1, false);
}

} // namespace kedge::driver
