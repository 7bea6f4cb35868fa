#include "cli/sources.h"

#include <filesystem>
#include <set>

#include "optimizer/profile/file.h"

namespace adprof::cli {
namespace {

namespace fs = std::filesystem;

/// The name below the root, then as it is, then with leading folders taken off one after the other.
std::optional<std::string> locate(const std::string &name, const std::string &root) {
  const fs::path path = fs::path(name).lexically_normal();
  std::error_code ignored;
  if (path.is_relative() && fs::is_regular_file(root / path, ignored))
    return (root / path).lexically_normal().string();
  if (path.is_absolute() && fs::is_regular_file(path, ignored))
    return path.string();
  const std::vector<fs::path> parts(path.begin(), path.end());
  for (std::size_t first = 1; first < parts.size(); ++first) {
    fs::path tail;
    for (std::size_t k = first; k < parts.size(); ++k)
      tail /= parts[k];
    if (fs::is_regular_file(root / tail, ignored))
      return (root / tail).lexically_normal().string();
  }
  if (fs::is_regular_file(path, ignored))
    return path.string();
  return std::nullopt;
}

std::string below_root(const std::string &path, const std::string &root) {
  const fs::path full = fs::weakly_canonical(path), relative = full.lexically_relative(fs::weakly_canonical(root));
  return relative.empty() || *relative.begin() == ".." ? full.relative_path().string() : relative.string();
}

Result<feedback::SourceFile> read_source(const std::string &path, const std::string &profile_path,
                                         const SourceOptions &options) {
  Result<std::string> text = profile::read_file(path);
  if (!text)
    return std::unexpected(text.error());
  if (text->find('\0') != std::string::npos)
    return std::unexpected(Error{ErrorKind::kUnreadable, path, "not a text file; name the source with --source"});
  feedback::SourceFile file{below_root(path, options.root), profile_path, std::move(*text), feedback::SourceForm::kC};
  file.form = options.form                   ? *options.form
              : feedback::form_of_name(path) ? *feedback::form_of_name(path)
                                             : feedback::guess_form(file.text);
  return file;
}

} // namespace

Result<Sources> read_sources(const std::vector<feedback::Decision> &decisions, const SourceOptions &options) {
  Sources sources;
  std::set<std::string> read;
  const auto add = [&](const std::string &path, const std::string &profile_path) -> Result<void> {
    if (!read.insert(fs::weakly_canonical(path).string()).second)
      return {};
    Result<feedback::SourceFile> source = read_source(path, profile_path, options);
    if (!source)
      return std::unexpected(source.error());
    sources.opened[source->path] = path;
    sources.files.push_back(std::move(*source));
    return {};
  };
  for (const std::string &file : options.files)
    if (Result<void> added = add(file, file); !added)
      return std::unexpected(added.error());
  if (!options.files.empty())
    return sources;
  for (const feedback::Decision &decision : decisions)
    if (const std::string &name = decision.primal.file;
        decision.switchable && decision.primal.line != 0 && !name.empty())
      if (const std::optional<std::string> path = locate(name, options.root))
        if (Result<void> added = add(*path, name); !added)
          return std::unexpected(added.error());
  return sources;
}

Result<feedback::SourceForm> parse_form(const std::string &text) {
  if (text == "fixed")
    return feedback::SourceForm::kFixed;
  if (text == "free")
    return feedback::SourceForm::kFree;
  if (text == "c")
    return feedback::SourceForm::kC;
  return std::unexpected(Error{ErrorKind::kUsage, "--form", "found '" + text + "'; accepted are fixed, free and c"});
}

} // namespace adprof::cli
