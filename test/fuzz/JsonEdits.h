// A JSON text with other values: bytes changed at random seldom leave JSON.
#pragma once
#include <cstdint>
#include <iterator>
#include <nlohmann/json.hpp>
#include <vector>

namespace kedge::test {

using Json = nlohmann::ordered_json;

inline void collectValues(Json &json, std::vector<Json *> &values) {
  values.push_back(&json);
  if (json.is_structured())
    for (Json &value : json)
      collectValues(value, values);
}

/// `edits`: pairs of a value's number and what it becomes.
inline std::string editedJson(const std::string &text, const uint8_t *edits, size_t size) {
  static const char *const others[] = {"null",
                                       "true",
                                       "false",
                                       "0",
                                       "1",
                                       "-1",
                                       "2",
                                       "0.5",
                                       "-0.0",
                                       "1e308",
                                       "-1e308",
                                       "1e-320",
                                       "2147483648",
                                       "9223372036854775807",
                                       "18446744073709551615",
                                       "1e19",
                                       "\"\"",
                                       "\"auto\"",
                                       "\"x\"",
                                       "\"(\"",
                                       "\"(a*)*b\"",
                                       "\"0\"",
                                       "\"cpu\"",
                                       "\"linear\"",
                                       "[]",
                                       "{}",
                                       "[[]]",
                                       "[0,1]",
                                       "[1e308,-1]",
                                       "{\"x\":1}",
                                       "{\"(\":1}",
                                       "{\"up\":\"x\"}",
                                       "{\"up\":1e308}"};
  Json json = Json::parse(text);
  for (size_t at = 0; at + 1 < size && at < 8; at += 2) {
    std::vector<Json *> values;
    collectValues(json, values);
    if (const size_t which = edits[at] % values.size(); which != 0) // not the whole
      *values[which] = Json::parse(others[edits[at + 1] % std::size(others)]);
  }
  return json.dump();
}

} // namespace kedge::test
