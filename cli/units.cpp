#include "cli/units.h"

#include <charconv>
#include <cmath>
#include <cstdio>
#include <string_view>

namespace adprof::cli {

namespace {

/// Three significant digits, without an exponent.
std::string three_digits(double value) {
  double magnitude = std::fabs(value);
  int decimals = magnitude < 9.995 ? 2 : magnitude < 99.95 ? 1 : 0;
  char text[400];
  std::snprintf(text, sizeof text, "%.*f", decimals, value);
  return text;
}

/// Reads the number at the start of `text` and takes it off.
bool take_number(std::string_view &text, double &value) {
  if (text.starts_with('+'))
    text.remove_prefix(1);
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, std::chars_format::fixed);
  if (error != std::errc() || !std::isfinite(value))
    return false;
  text.remove_prefix(static_cast<size_t>(end - text.data()));
  while (text.starts_with(' '))
    text.remove_prefix(1);
  return true;
}

std::string lower(std::string_view text) {
  std::string out;
  for (char c : text)
    out += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return out;
}

std::unexpected<Error> unusable(const std::string &option, const std::string &text, const char *accepted) {
  return std::unexpected(Error{ErrorKind::kUsage, option, "`" + text + "` is not " + accepted});
}

} // namespace

std::string format_bytes(std::int64_t bytes) {
  static constexpr const char *kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  double value = static_cast<double>(bytes);
  size_t unit = 0;
  while (std::fabs(value) >= 1023.5 && unit + 1 < std::size(kUnits)) {
    value /= 1024;
    ++unit;
  }
  return (unit ? three_digits(value) : std::to_string(bytes)) + " " + kUnits[unit];
}

std::int64_t bytes_of_bits(std::int64_t bits) { return bits / 8 + (bits % 8 > 0); }

std::string format_bits(std::int64_t bits) { return format_bytes(bytes_of_bits(bits)); }

std::string format_time(double ns) {
  if (ns == 0)
    return "0 s";
  double magnitude = std::fabs(ns);
  if (magnitude < 999.5)
    return three_digits(ns) + " ns";
  if (magnitude < 999.5e3)
    return three_digits(ns / 1e3) + " us";
  if (magnitude < 999.5e6)
    return three_digits(ns / 1e6) + " ms";
  if (magnitude < 119.5e9)
    return three_digits(ns / 1e9) + " s";
  auto seconds = std::llround(ns / 1e9);
  auto absolute = std::llabs(seconds);
  auto pair = [&](long long large, char large_unit, long long small, char small_unit) {
    return (seconds < 0 ? "-" : "") + std::to_string(large) + large_unit + (small < 10 ? "0" : "") + std::to_string(small) +
           small_unit;
  };
  return absolute < 3600 ? pair(absolute / 60, 'm', absolute % 60, 's') : pair(absolute / 3600, 'h', absolute % 3600 / 60, 'm');
}

std::string format_count(std::int64_t count) {
  std::string digits = std::to_string(count);
  size_t first = digits.starts_with('-') ? 1 : 0;
  for (size_t at = digits.size(); at > first + 3;)
    digits.insert(at -= 3, ",");
  return digits;
}

std::string format_percent(double fraction) { return three_digits(fraction * 100) + " %"; }

std::string format_change(double fraction) { return (fraction > 0 ? "+" : "") + format_percent(fraction); }

std::string format_ratio(double ratio) { return three_digits(ratio); }

std::int64_t Size::bytes_given(std::int64_t unit_bytes) const {
  if (factor == 0)
    return bytes;
  double product = std::floor(factor * static_cast<double>(unit_bytes));
  return product >= 9.2e18 ? std::int64_t{9'200'000'000'000'000'000} : static_cast<std::int64_t>(product);
}

Result<Size> parse_size(const std::string &text, const std::string &option) {
  static constexpr const char *kAccepted = "a size: write 8G or 8GiB (powers of 1024), 8GB (powers of 1000), 500M, a number of bytes, "
                                           "or a multiple such as 1.2x";
  std::string_view rest = text;
  double value = 0;
  if (!take_number(rest, value) || value < 0)
    return unusable(option, text, kAccepted);
  std::string unit = lower(rest);
  if (unit == "x") {
    if (value == 0)
      return unusable(option, text, kAccepted);
    return Size{0, value};
  }
  if (!unit.empty() && unit != "b") {
    size_t power = std::string_view("kmgtp").find(unit[0]);
    std::string tail = unit.substr(1);
    if (power == std::string_view::npos || !(tail.empty() || tail == "b" || tail == "ib"))
      return unusable(option, text, kAccepted);
    value *= std::pow(tail == "b" ? 1000.0 : 1024.0, static_cast<double>(power + 1));
  }
  if (value >= 9.2e18)
    return unusable(option, text, "a size below 8 EiB");
  return Size{static_cast<std::int64_t>(std::llround(value)), 0};
}

Result<double> parse_factor(const std::string &text, const std::string &option) {
  std::string_view rest = text;
  double value = 0;
  if (!take_number(rest, value) || value <= 0 || !(rest.empty() || lower(rest) == "x"))
    return unusable(option, text, "a factor larger than 0, such as 1.5 or 1.5x");
  return value;
}

Result<double> parse_percent(const std::string &text, const std::string &option) {
  std::string_view rest = text;
  double value = 0;
  if (!take_number(rest, value) || rest != "%")
    return unusable(option, text, "a percentage: write +2% or 10%");
  return value / 100;
}

Result<double> parse_time(const std::string &text, const std::string &option) {
  std::string_view rest = text;
  double value = 0;
  bool number = take_number(rest, value) && value >= 0;
  std::string unit = lower(rest);
  double factor = unit.empty() || unit == "s" ? 1e9
                  : unit == "ns"              ? 1
                  : unit == "us"              ? 1e3
                  : unit == "ms"              ? 1e6
                  : unit == "m" || unit == "min" ? 60e9
                  : unit == "h"               ? 3600e9
                                              : 0;
  if (!number || factor == 0)
    return unusable(option, text, "a time: write 10s, 500ms, 2m or 1h");
  return value * factor;
}

} // namespace adprof::cli
