// Entries of the cache of compiled kernels: found again whole or not at all.
#include "lib/Support/FileCache.h"
#include "lib/Support/BuildIdentity.h"
#include "test/support/TempFolder.h"
#include <algorithm>
#include <chrono>
#include <gtest/gtest.h>
#include <thread>

using namespace kedge;
using namespace kedge::test;
namespace fs = std::filesystem;

namespace {

CacheKey keyOf(int number) { return CacheKey().add("test").add(number); }

std::string found(FileCache &cache, const CacheKey &key) {
  const auto bytes = cache.find(key);
  return bytes ? std::string(bytes->begin(), bytes->end()) : "nothing";
}

/// Files of entries, without the folder's own.
std::vector<fs::path> entriesIn(const fs::path &folder) {
  std::vector<fs::path> files;
  for (const auto &at : fs::recursive_directory_iterator(folder))
    if (at.is_regular_file() && at.path().filename() != "written")
      files.push_back(at.path());
  std::sort(files.begin(), files.end());
  return files;
}

void overwrite(const fs::path &file, const std::string &bytes) {
  std::ofstream(file, std::ios::binary) << bytes;
}

std::string contentOf(const fs::path &file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

TEST(FileCache, FindsWhatWasStored) {
  const TempFolder folder;
  {
    FileCache cache(folder.path("a/b"), 0);
    EXPECT_EQ(found(cache, keyOf(1)), "nothing");
    cache.store(keyOf(1), "one");
    cache.store(keyOf(2), "");
    EXPECT_EQ(found(cache, keyOf(1)), "one");
    EXPECT_EQ(cache.counts().hits, 1);
    EXPECT_EQ(cache.counts().misses, 1);
    EXPECT_EQ(cache.counts().readBytes, 3);
    EXPECT_EQ(cache.counts().writtenBytes, 3);
    EXPECT_EQ(cache.trouble(), "");
  }
  FileCache again(folder.path("a/b"), 0);
  EXPECT_EQ(found(again, keyOf(1)), "one");
  EXPECT_EQ(found(again, keyOf(2)), "");
  EXPECT_EQ(found(again, keyOf(3)), "nothing");
}

TEST(FileCache, KeysTellTheirPartsApart) {
  EXPECT_NE(CacheKey().add("ab").add("c").text(), CacheKey().add("a").add("bc").text());
  EXPECT_NE(CacheKey().add("a").text(), CacheKey().add("a").add("").text());
  EXPECT_EQ(keyOf(7).text(), keyOf(7).text());
  EXPECT_EQ(keyOf(7).text().size(), 64u);
}

TEST(FileCache, ADamagedEntryIsAMissAndIsReplaced) {
  const TempFolder folder;
  FileCache cache(folder.path("c"), 0);
  cache.store(keyOf(1), "the bytes of one");
  const fs::path file = entriesIn(folder.path("c")).at(0);
  const std::string whole = contentOf(file);
  for (size_t at = 0; at <= whole.size(); ++at) { // cut anywhere, or one byte wrong
    overwrite(file, whole.substr(0, at));
    EXPECT_EQ(found(cache, keyOf(1)), at == whole.size() ? "the bytes of one" : "nothing") << at;
    if (at == whole.size())
      break;
    std::string wrong = whole;
    wrong[at] ^= 1;
    overwrite(file, wrong);
    EXPECT_EQ(found(cache, keyOf(1)), "nothing") << at;
  }
  overwrite(file, "");
  cache.store(keyOf(1), "the bytes of one");
  EXPECT_EQ(found(cache, keyOf(1)), "the bytes of one");
  EXPECT_EQ(contentOf(file), whole);
}

TEST(FileCache, AnEntryUnderAnotherNameIsNotTaken) {
  const TempFolder folder;
  FileCache cache(folder.path("c"), 0);
  cache.store(keyOf(1), "one");
  const fs::path one = entriesIn(folder.path("c")).at(0);
  cache.store(keyOf(2), "two");
  for (const fs::path &file : entriesIn(folder.path("c")))
    if (file != one)
      fs::copy_file(one, file, fs::copy_options::overwrite_existing);
  EXPECT_EQ(found(cache, keyOf(2)), "nothing");
  EXPECT_EQ(found(cache, keyOf(1)), "one");
}

TEST(FileCache, WhatWasUsedLongAgoGoesFirst) {
  const TempFolder folder;
  const fs::path root = folder.path("c");
  const auto age = [&](std::chrono::hours hours) {
    for (const fs::path &file : entriesIn(root))
      fs::last_write_time(file, fs::file_time_type::clock::now() - hours);
  };
  const std::string bytes(3000, 'x');
  {
    FileCache cache(root, 10 * 4096);
    for (int number = 0; number < 10; ++number)
      cache.store(keyOf(number), bytes);
  }
  age(std::chrono::hours(48));
  overwrite(root / "ab.0.tmp", ""); // not an entry's folder: left alone
  fs::create_directories(root / "ab");
  overwrite(root / "ab/cd.1.tmp", "killed"), overwrite(root / "ab/cd.2.tmp", "writes");
  fs::last_write_time(root / "ab/cd.1.tmp", fs::file_time_type::clock::now() - std::chrono::hours(2));
  {
    FileCache cache(root, 10 * 4096);
    EXPECT_EQ(found(cache, keyOf(3)), bytes);
    cache.store(keyOf(10), bytes);
  } // 11 of 10: down to 8
  EXPECT_FALSE(fs::exists(root / "ab/cd.1.tmp"));
  EXPECT_TRUE(fs::exists(root / "ab/cd.2.tmp"));
  fs::remove(root / "ab/cd.2.tmp"), fs::remove(root / "ab.0.tmp");
  EXPECT_EQ(entriesIn(root).size(), 8u);
  FileCache cache(root, 10 * 4096);
  EXPECT_EQ(found(cache, keyOf(3)), bytes);
  EXPECT_EQ(found(cache, keyOf(10)), bytes);
}

TEST(FileCache, WhatIsLargerThanTheLimitIsNotKept) {
  const TempFolder folder;
  FileCache cache(folder.path("c"), 8192);
  cache.store(keyOf(1), std::string(9000, 'x'));
  EXPECT_EQ(found(cache, keyOf(1)), "nothing");
  EXPECT_EQ(cache.trouble(), "");
}

TEST(FileCache, GoesOnWhereNothingCanBeWritten) {
  const TempFolder folder;
  const std::string file = folder.write("file", "no folder");
  FileCache cache(file, 0);
  cache.store(keyOf(1), "one");
  EXPECT_EQ(found(cache, keyOf(1)), "nothing");
  EXPECT_NE(cache.trouble().find(file + ": cannot be written: "), std::string::npos) << cache.trouble();
  EXPECT_EQ(folder.read("file"), "no folder");
}

TEST(FileCache, ThreadsThatFillOneFolderSeeWholeEntries) {
  const TempFolder folder;
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (int thread = 0; thread < 4; ++thread)
    threads.emplace_back([&, thread] {
      for (int round = 0; round < 50; ++round) {
        FileCache cache(folder.path("c"), 16 * 4096);
        for (int number = 0; number < 20; ++number) {
          const std::string bytes(500 + number, static_cast<char>('a' + number));
          if (const std::string found = ::found(cache, keyOf(number)); found != "nothing" && found != bytes)
            ++wrong;
          if ((round + number + thread) % 3 == 0)
            cache.store(keyOf(number), bytes);
        }
      }
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(wrong, 0);
  for (const fs::path &file : entriesIn(folder.path("c")))
    EXPECT_NE(file.extension(), ".tmp") << file;
}

TEST(FileCache, ABuildHasAnIdentity) {
  EXPECT_EQ(buildIdentity().size(), 64u);
  EXPECT_EQ(buildIdentity(), buildIdentity());
}

} // namespace
