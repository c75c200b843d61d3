// Words of this room's options.
#pragma once
#include "kedge/Support/WordParser.h"

namespace kedge::mesh {

/// Where what is sent along `tensor` runs under products.
enum class Overlap { Auto, On, Off };

} // namespace kedge::mesh

template <> struct kedge::Words<kedge::mesh::Overlap> {
  using enum mesh::Overlap;
  static constexpr Word<mesh::Overlap> list[] = {{Auto, "auto", "where that is predicted to be faster"},
                                                 {On, "on", "wherever it can be"},
                                                 {Off, "off", "nowhere"}};
};
