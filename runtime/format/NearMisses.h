// Suggests names similar to a name, or to an expression over names, that matches nothing. For messages.
#pragma once
#include <algorithm>
#include <cctype>
#include <string>
#include <utility>
#include <vector>

namespace kedge::rt {

namespace detail {
/// Keeps letters, digits and characters that names contain; removes anchors, escapes and other parts of
/// expressions.
inline std::string asName(const std::string &wanted) {
  std::string name;
  for (const char c : wanted)
    if (std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.' || c == '/')
      name += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return name;
}

/// Number of letters to change, add, drop or swap with a neighbour until `wanted` occurs in `name`.
inline size_t editsInto(const std::string &wanted, const std::string &name) {
  std::vector<size_t> older, above, row(name.size() + 1, 0);
  for (size_t i = 1; i <= wanted.size(); ++i) {
    older = std::exchange(above, row);
    row[0] = i;
    for (size_t j = 1; j <= name.size(); ++j) {
      row[j] = std::min({above[j - 1] + (wanted[i - 1] != name[j - 1]), above[j] + 1, row[j - 1] + 1});
      if (i > 1 && j > 1 && wanted[i - 1] == name[j - 2] && wanted[i - 2] == name[j - 1])
        row[j] = std::min(row[j], older[j - 2] + 1);
    }
  }
  return *std::min_element(row.begin(), row.end());
}
} // namespace detail

/// "; near misses: 'a', 'b'" or, if no name is similar, the existing names: "; there are 'a', 'b' and 7
/// more".
inline std::string nearMisses(const std::string &wanted, const std::vector<std::string> &names) {
  constexpr size_t shown = 3;
  const std::string meant = detail::asName(wanted);
  std::vector<std::pair<size_t, std::string>> near;
  for (const std::string &name : names)
    if (const size_t edits = detail::editsInto(meant, detail::asName(name));
        !meant.empty() && edits <= meant.size() / 3)
      near.push_back({edits, name});
  std::stable_sort(near.begin(), near.end(), [](const auto &a, const auto &b) { return a.first < b.first; });
  std::string text;
  const auto add = [&](const std::string &name) { text += (text.empty() ? "'" : ", '") + name + "'"; };
  for (size_t i = 0; i < std::min(shown, near.size()); ++i)
    add(near[i].second);
  if (!near.empty())
    return "; near misses: " + text;
  for (size_t i = 0; i < std::min(shown, names.size()); ++i)
    add(names[i]);
  if (names.empty())
    return "; there are none";
  return "; there are " + text +
         (names.size() > shown ? " and " + std::to_string(names.size() - shown) + " more" : "");
}

/// The one name that a mistyped word probably means; empty if no name is similar, or if two are
/// equally similar. Among names that begin with the word, the shortest is the most similar.
inline std::string closestName(const std::string &word, const std::vector<std::string> &names) {
  using Distance = std::pair<size_t, size_t>; // number of typing errors, difference in length
  std::string best;
  Distance least{std::max<size_t>(1, word.size() / 3) + 1, 0};
  bool alone = false;
  for (const std::string &name : names) {
    const size_t edits = detail::editsInto('\1' + word + '\2', '\1' + name + '\2'); // both ends must match
    const Distance distance{edits, std::max(name.size(), word.size()) - std::min(name.size(), word.size())};
    alone = distance == least ? false : distance < least || alone;
    if (distance < least) {
      least = distance;
      best = name;
    }
  }
  return alone ? best : "";
}

} // namespace kedge::rt
