// A list whose items are found by their names, too: graphs have a hundred thousand weights.
#pragma once
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace kedge::model {

/// A vector of what has a `name`. find() uses an index, which it makes when it is called first after an item
/// could have changed: not for several threads at once. Names do not change through a pointer that find() or
/// an iterator gave before another call of find().
template <typename Item> class NamedList {
public:
  using Items = std::vector<Item>;
  using value_type = Item;
  using iterator = typename Items::iterator;
  using const_iterator = typename Items::const_iterator;

  NamedList() = default;
  NamedList(Items from) : items(std::move(from)) {}
  NamedList(const NamedList &other) : items(other.items) {}
  NamedList(NamedList &&other) noexcept : items(std::move(other.items)) {}
  NamedList &operator=(const NamedList &other) { return *this = Items(other.items); }
  NamedList &operator=(NamedList &&other) noexcept { return *this = std::move(other.items); }
  NamedList &operator=(Items from) {
    changed() = std::move(from);
    return *this;
  }

  bool empty() const { return items.empty(); }
  size_t size() const { return items.size(); }
  const_iterator begin() const { return items.begin(); }
  const_iterator end() const { return items.end(); }
  iterator begin() { return changed().begin(); }
  iterator end() { return changed().end(); }
  const Item &operator[](size_t at) const { return items[at]; }
  const Item &back() const { return items.back(); }

  void push_back(Item item) {
    if (indexed)
      places.emplace(item.name, items.size());
    items.push_back(std::move(item));
  }
  template <typename Iterator> void insert(iterator at, Iterator first, Iterator last) {
    changed().insert(at, first, last);
  }
  void clear() { changed().clear(); }
  template <typename Predicate> void eraseIf(Predicate &&isGone) { std::erase_if(changed(), isGone); }

  /// The first item of this name; null: there is none.
  const Item *find(std::string_view name) const {
    if (!indexed)
      makeIndex();
    const auto found = places.find(std::string(name));
    return found == places.end() ? nullptr : &items[found->second];
  }
  Item *find(std::string_view name) { return const_cast<Item *>(std::as_const(*this).find(name)); }

private:
  Items &changed() {
    indexed = false;
    return items;
  }
  void makeIndex() const {
    places.clear();
    places.reserve(items.size());
    for (size_t at = 0; at < items.size(); ++at)
      places.emplace(items[at].name, at);
    indexed = true;
  }

  Items items;
  mutable std::unordered_map<std::string, size_t> places; ///< up to date while `indexed`
  mutable bool indexed = false;
};

} // namespace kedge::model
