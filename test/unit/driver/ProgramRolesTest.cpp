// Roles of states have numbers and words in the dialect and in runtime/abi: both are the same.
#include "lib/Dialect/Train/StateOps.h"
#include "runtime/abi/StateRoles.h"
#include <gtest/gtest.h>

namespace kedge {
namespace {

TEST(ProgramRoles, AreThoseOfTheDialect) {
  ASSERT_EQ(std::size(abi::kRoleWords), train::getMaxEnumValForRole() + 1);
  for (size_t number = 0; number < std::size(abi::kRoleWords); ++number)
    EXPECT_EQ(train::stringifyRole(static_cast<train::Role>(number)),
              llvm::StringRef(abi::kRoleWords[number]));
}

} // namespace
} // namespace kedge
