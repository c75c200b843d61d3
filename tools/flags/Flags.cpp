#include "tools/flags/Flags.h"
#include "lib/Support/MemoryBudget.h"
#include "runtime/io/NamePattern.h"

namespace kedge::tool {

int64_t bytesGiven(const std::string &flag, const std::string &text) {
  if (text == "0")
    return 0;
  try {
    return parseBytes(text);
  } catch (const Error &) { // which speaks of budgets
    fail("{} {}: expected bytes below 2^63, such as 67108864 or 64MiB, or 0", flag, text);
  }
}

CLI::Option *Flags::bytes(const char *flag, int64_t &value, const std::string &help) {
  return command
      .add_option_function<std::string>(
          flag, [flag, &value](const std::string &text) { value = bytesGiven(flag, text); }, help)
      ->group(group);
}

std::string wrongPattern(const std::string &text) {
  try {
    [[maybe_unused]] const rt::NamePattern pattern(text);
    return "";
  } catch (const rt::PatternError &error) {
    return fmt::format("'{}': not a regular expression: {}", text, error.what());
  }
}

CLI::Option *Flags::onOff(const char *flag, bool &value, const std::string &help) {
  return rt::checkWord(command
                           .add_option_function<std::string>(
                               flag, [&value](const std::string &text) { value = text == "on"; }, help)
                           ->group(group),
                       {"on", "off"});
}

CLI::Option *Flags::addNumber(const char *flag, ExactDouble &value, const std::string &help) {
  return command.add_option_function<double>(
                    flag, [&value](const double &given) { value = given; }, help)
      ->default_function([&value] { return fmt::format("{}", value.value); })
      ->group(group);
}

CLI::Option *Flags::within(CLI::Option *option, Range range) {
  const bool whole = option->get_type_name().find("INT") != std::string::npos;
  return rt::checkNumber(option, {nullptr, whole, range.low, range.high, range.ends, range.also});
}

} // namespace kedge::tool
