#include "tools/hub/sha256.h"

#include <fstream>
#include <span>
#include <string_view>

#include <gtest/gtest.h>

#include "support/temp_dir.h"
#include "tools/fake_hub.h"

namespace vitrine::hub {
namespace {

std::string sum(std::string_view text) {
  Sha256 hash;
  hash.update(std::as_bytes(std::span(text)));
  return hash.hex();
}

// Examples of FIPS 180-4.
TEST(Sha256, GivesTheSumsOfTheStandard) {
  EXPECT_EQ(sum(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(sum("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(sum("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
}

TEST(Sha256, OfAFileCanBeStopped) {
  const testing::TempDir folder;
  const std::string path = folder.path() / "file";
  std::ofstream(path) << "abc";
  EXPECT_EQ(*sha256_file(path, [](std::uint64_t) { return true; }), sum("abc"));
  const auto stopped = sha256_file(path, [](std::uint64_t) { return false; });
  ASSERT_FALSE(stopped);
  EXPECT_EQ(stopped.error().kind, base::ErrorKind::kInterrupted);
}

TEST(Sha256, OnlySixtyFourLowerCaseDigitsAreASum) {
  EXPECT_TRUE(is_sha256_hex(sum("")));
  EXPECT_FALSE(is_sha256_hex("E3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"));
  EXPECT_FALSE(is_sha256_hex(sum("").substr(1)));
}

}  // namespace
}  // namespace vitrine::hub
