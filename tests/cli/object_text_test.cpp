// Object files are hostile input: a file cut or changed anywhere gives a text or an error, never a crash.
#include "cli/object_text.h"

#include <fstream>
#include <gtest/gtest.h>
#include <sstream>

namespace adprof::cli {
namespace {

std::string own_program() {
  std::ifstream file("/proc/self/exe", std::ios::binary);
  std::ostringstream bytes;
  bytes << file.rdbuf();
  return bytes.str();
}

/// The smallest object with the section: header, text, names, three section headers.
std::string small_object(const std::string &text) {
  const std::string names("\0adprof_sites\0.shstrtab\0", 24);
  std::string file(64, '\0');
  const auto put = [](std::string &bytes, size_t at, std::uint64_t value, size_t size) {
    for (size_t i = 0; i < size; ++i)
      bytes[at + i] = static_cast<char>(value >> (8 * i));
  };
  file.replace(0, 6, std::string("\x7f" "ELF\x02\x01", 6));
  put(file, 0x10, 1, 2);
  put(file, 0x28, 64 + text.size() + names.size(), 8);
  put(file, 0x3a, 64, 2);
  put(file, 0x3c, 3, 2);
  put(file, 0x3e, 2, 2);
  file += text + names;
  const auto section = [&](std::uint64_t name, std::uint64_t type, std::uint64_t offset, std::uint64_t size) {
    std::string header(64, '\0');
    put(header, 0, name, 4);
    put(header, 4, type, 4);
    put(header, 0x18, offset, 8);
    put(header, 0x20, size, 8);
    file += header;
  };
  section(0, 0, 0, 0);
  section(1, 1, 64, text.size());
  section(14, 3, 64 + text.size(), names.size());
  return file;
}

TEST(object_text, finds_the_texts_of_all_objects_in_a_program) {
  const std::string first = "adprof\t1\ta.c\nproc\t0\n", second = "adprof\t1\tb.c\n";
  const auto objects = read_object_texts("x", small_object(first + second + std::string(3, '\0') + first));
  ASSERT_TRUE(objects) << objects.error().what;
  ASSERT_EQ(objects->size(), 1u);
  EXPECT_EQ(objects->front().modules, (std::vector<std::string>{first, second, first}));
  EXPECT_FALSE(objects->front().is_linked);
}

TEST(object_text, reads_the_symbols_of_this_program) {
  const auto objects = read_object_texts("self", own_program());
  ASSERT_TRUE(objects) << objects.error().what;
  EXPECT_TRUE(objects->front().is_linked);
  EXPECT_TRUE(objects->front().modules.empty());
  const auto &functions = objects->front().functions;
  EXPECT_NE(std::find(functions.begin(), functions.end(), "main"), functions.end());
}

TEST(object_text, truncated_or_changed_anywhere_is_an_error_or_a_text) {
  const std::string whole = small_object("adprof\t1\ta.c\n");
  for (size_t size = 0; size < whole.size(); ++size)
    EXPECT_FALSE(read_object_texts("x", whole.substr(0, size))) << size;
  for (size_t at = 0; at < whole.size(); ++at)
    for (int value : {0, 1, 0x7f, 0xff}) {
      std::string changed = whole;
      changed[at] = static_cast<char>(value);
      const auto objects = read_object_texts("x", changed);
      EXPECT_TRUE(objects || !objects.error().what.empty());
    }
}

TEST(object_text, archive_members_are_named_and_a_damaged_archive_is_an_error) {
  const std::string member = small_object("adprof\t1\ta.c\n");
  std::string size = std::to_string(member.size());
  size.resize(10, ' ');
  const std::string archive = "!<arch>\n" + std::string("a.o/            ") + std::string(32, ' ') + size + "`\n" + member;
  const auto objects = read_object_texts("lib.a", archive);
  ASSERT_TRUE(objects) << objects.error().what;
  ASSERT_EQ(objects->size(), 1u);
  EXPECT_EQ(objects->front().name, "lib.a(a.o)");
  EXPECT_FALSE(read_object_texts("lib.a", archive.substr(0, archive.size() - 1)));
}

TEST(object_text, other_files_are_named_for_what_they_are) {
  EXPECT_NE(read_object_texts("x", "BC\xc0\xde....").error().what.find("bitcode"), std::string::npos);
  EXPECT_NE(read_object_texts("x", "!<thin>\n").error().what.find("thin archive"), std::string::npos);
  EXPECT_NE(read_object_texts("x", "int main").error().what.find("neither"), std::string::npos);
}

} // namespace
} // namespace adprof::cli
