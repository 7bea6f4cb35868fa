#include "cli/object_text.h"

#include <charconv>
#include <cstdint>
#include <cstring>
#include <optional>

#include "runtime/abi/site.h"

namespace adprof::cli {
namespace {

constexpr std::string_view kElfMagic = "\x7f" "ELF", kArchiveMagic = "!<arch>\n", kThinMagic = "!<thin>\n", kBitcodeMagic = "BC\xc0\xde";

/// Little-endian fields of a string of bytes; reading past the end gives nothing.
class Bytes {
public:
  explicit Bytes(std::string_view bytes) : bytes_(bytes) {}
  template <typename T> std::optional<T> at(std::uint64_t offset) const {
    if (offset > bytes_.size() || bytes_.size() - offset < sizeof(T))
      return std::nullopt;
    T value = 0;
    for (size_t i = sizeof(T); i-- > 0;)
      value = static_cast<T>((value << (sizeof(T) > 1 ? 8 : 0)) | static_cast<unsigned char>(bytes_[offset + i]));
    return value;
  }
  std::optional<std::string_view> slice(std::uint64_t offset, std::uint64_t size) const {
    if (offset > bytes_.size() || bytes_.size() - offset < size)
      return std::nullopt;
    return bytes_.substr(offset, size);
  }

private:
  std::string_view bytes_;
};

/// The string at `offset` of a string table.
std::string_view name_at(std::string_view table, std::uint64_t offset) {
  if (offset >= table.size())
    return {};
  const std::string_view rest = table.substr(offset);
  return rest.substr(0, rest.find('\0'));
}

struct Section {
  std::string_view name, data;
  std::uint32_t type = 0, link = 0;
};

constexpr std::uint32_t kSymbolTable = 2, kNoBits = 8;

Result<std::vector<Section>> sections_of(const std::string &name, std::string_view bytes) {
  const auto damaged = [&](const std::string &what) {
    return std::unexpected(Error{ErrorKind::kUnreadable, name, "damaged ELF file: " + what + " lies outside of it"});
  };
  if (bytes.size() < 6 || bytes[4] != 2 || bytes[5] != 1)
    return std::unexpected(Error{ErrorKind::kUnreadable, name, "an ELF file that is not 64-bit little-endian; the pass makes no others"});
  const Bytes file(bytes);
  const auto table = file.at<std::uint64_t>(0x28);
  const auto entry_bytes = file.at<std::uint16_t>(0x3a), short_count = file.at<std::uint16_t>(0x3c), short_names = file.at<std::uint16_t>(0x3e);
  if (!table || !entry_bytes || !short_count || !short_names || (*table && *entry_bytes < 64))
    return damaged("the header");
  if (*table == 0)
    return std::vector<Section>{};
  // More than 65279 sections: the real numbers stand in section 0.
  std::uint64_t count = *short_count, names_index = *short_names;
  if (count == 0)
    count = file.at<std::uint64_t>(*table + 0x20).value_or(0);
  if (names_index == 0xffff)
    names_index = file.at<std::uint32_t>(*table + 0x28).value_or(0);
  if (*table > bytes.size() || count > (bytes.size() - *table) / *entry_bytes)
    return damaged("the table of sections");
  std::vector<Section> sections(count);
  std::vector<std::uint32_t> name_offsets(count);
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::uint64_t at = *table + i * *entry_bytes;
    name_offsets[i] = *file.at<std::uint32_t>(at);
    sections[i].type = *file.at<std::uint32_t>(at + 4);
    sections[i].link = *file.at<std::uint32_t>(at + 0x28);
    if (sections[i].type == kNoBits || sections[i].type == 0)
      continue;
    const auto data = file.slice(*file.at<std::uint64_t>(at + 0x18), *file.at<std::uint64_t>(at + 0x20));
    if (!data)
      return damaged("section " + std::to_string(i));
    sections[i].data = *data;
  }
  if (names_index < count)
    for (std::uint64_t i = 0; i < count; ++i)
      sections[i].name = name_at(sections[names_index].data, name_offsets[i]);
  return sections;
}

/// Texts of several objects follow one another in a program, with padding between them.
void split_modules(std::string_view data, std::vector<std::string> &modules) {
  for (size_t at = 0; at < data.size();) {
    size_t end = data.find('\0', at);
    if (end == std::string_view::npos)
      end = data.size();
    const std::string_view piece = data.substr(at, end - at);
    for (size_t start = 0; start < piece.size();) {
      size_t next = piece.find("\nadprof\t", start);
      next = next == std::string_view::npos ? piece.size() : next + 1;
      modules.emplace_back(piece.substr(start, next - start));
      start = next;
    }
    at = end + 1;
  }
}

Result<ObjectText> read_elf(const std::string &name, std::string_view bytes) {
  const Result<std::vector<Section>> sections = sections_of(name, bytes);
  if (!sections)
    return std::unexpected(sections.error());
  constexpr unsigned kRelocatable = 1;
  ObjectText object{name, {}, Bytes(bytes).at<std::uint16_t>(0x10).value_or(kRelocatable) != kRelocatable, {}};
  for (const Section &section : *sections) {
    if (section.name == ADPROF_TEXT_SECTION)
      split_modules(section.data, object.modules);
    if (section.type != kSymbolTable || section.link >= sections->size())
      continue;
    const std::string_view names = (*sections)[section.link].data;
    constexpr std::uint64_t kSymbolBytes = 24;
    constexpr unsigned kFunction = 2;
    const Bytes symbols(section.data);
    for (std::uint64_t at = 0; at + kSymbolBytes <= section.data.size(); at += kSymbolBytes)
      if ((*symbols.at<std::uint8_t>(at + 4) & 0xf) == kFunction && *symbols.at<std::uint16_t>(at + 6) != 0)
        object.functions.emplace_back(name_at(names, *symbols.at<std::uint32_t>(at)));
  }
  return object;
}

std::string_view trimmed(std::string_view text) { return text.substr(0, text.find_last_not_of(' ') + 1); }

Result<std::vector<ObjectText>> read_archive(const std::string &path, std::string_view bytes) {
  constexpr std::uint64_t kHeaderBytes = 60;
  std::vector<ObjectText> objects;
  std::string_view long_names;
  for (std::uint64_t at = kArchiveMagic.size(); at + kHeaderBytes <= bytes.size();) {
    const std::string_view header = bytes.substr(at, kHeaderBytes);
    const std::string_view digits = trimmed(header.substr(48, 10));
    std::uint64_t size = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), size);
    at += kHeaderBytes;
    if (error != std::errc() || end != digits.data() + digits.size() || header.substr(58, 2) != "`\n" || size > bytes.size() - at)
      return std::unexpected(Error{ErrorKind::kUnreadable, path, "damaged archive: the member at byte " + std::to_string(at - kHeaderBytes) + " has no valid header"});
    const std::string_view member = bytes.substr(at, size);
    std::string_view name = trimmed(header.substr(0, 16));
    if (name == "//") {
      long_names = member;
    } else if (name.starts_with("/") && name.size() > 1 && name[1] >= '0' && name[1] <= '9') {
      std::uint64_t offset = 0;
      std::from_chars(name.data() + 1, name.data() + name.size(), offset);
      if (offset < long_names.size())
        name = long_names.substr(offset, long_names.find('/', offset) - offset);
    } else if (name.size() > 1 && name.ends_with("/")) {
      name.remove_suffix(1);
    }
    if (member.starts_with(kElfMagic)) {
      Result<ObjectText> object = read_elf(path + "(" + std::string(name) + ")", member);
      if (!object)
        return std::unexpected(object.error());
      objects.push_back(std::move(*object));
    }
    at += size + (size & 1);
  }
  return objects;
}

} // namespace

Result<std::vector<ObjectText>> read_object_texts(const std::string &path, std::string_view bytes) {
  if (bytes.starts_with(kArchiveMagic))
    return read_archive(path, bytes);
  if (bytes.starts_with(kElfMagic)) {
    Result<ObjectText> object = read_elf(path, bytes);
    if (!object)
      return std::unexpected(object.error());
    return std::vector<ObjectText>{std::move(*object)};
  }
  const char *what = bytes.starts_with(kThinMagic)      ? "a thin archive; give the objects it names"
                     : bytes.starts_with(kBitcodeMagic) ? "LLVM bitcode (built with -flto); give the linked program"
                                                        : "neither an ELF object or program nor an archive";
  return std::unexpected(Error{ErrorKind::kUnreadable, path, what});
}

} // namespace adprof::cli
