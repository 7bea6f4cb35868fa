#include "optimizer/profile/load.h"

#include "optimizer/profile/check.h"
#include "optimizer/profile/file.h"
#include "optimizer/profile/json.h"
#include "optimizer/profile/merge.h"
#include "optimizer/profile/read_raw.h"

namespace adprof::profile {

Result<Profile> load(const std::string &path) {
  Result<std::string> text = read_file(path);
  if (!text) {
    Error error = text.error();
    error.what += "; `adprof run ./adjoint` writes a profile";
    return std::unexpected(error);
  }
  return is_raw(*text) ? read_raw(*text, path) : read_json(*text, path);
}

Result<Profile> load_merged(const std::vector<std::string> &paths) {
  std::vector<Profile> profiles;
  for (const std::string &path : paths) {
    Result<Profile> profile = load(path);
    if (!profile)
      return profile;
    profiles.push_back(std::move(*profile));
  }
  if (profiles.size() == 1)
    return std::move(profiles.front());
  Profile merged = merge(profiles);
  if (Result<void> checked = check(merged, paths.empty() ? "no profile" : paths.front() + " and others"); !checked)
    return std::unexpected(checked.error());
  return merged;
}

} // namespace adprof::profile
