/// FNV-1a with 64 bits, as the pass computes site keys and procedure hashes (runtime/abi/site.h).
#pragma once

#include <cstdint>
#include <string_view>

namespace adprof::profile {

inline constexpr std::uint64_t kFnvStart = 0xcbf29ce484222325u;

constexpr std::uint64_t fnv1a_byte(std::uint64_t hash, unsigned char byte) { return (hash ^ byte) * 0x100000001b3u; }

constexpr std::uint64_t fnv1a(std::string_view text, std::uint64_t hash = kFnvStart) {
  for (char c : text)
    hash = fnv1a_byte(hash, static_cast<unsigned char>(c));
  return hash;
}

} // namespace adprof::profile
