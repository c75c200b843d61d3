// Roles of states have numbers and words in the dialect and in kedge/abi: both are the same.
#include "kedge/Dialect/Train/StateOps.h"
#include "kedge/abi/StateRoles.h"
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
