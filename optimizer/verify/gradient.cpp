#include "optimizer/verify/gradient.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <iomanip>
#include <optional>
#include <sstream>

namespace adprof::verify {
namespace {

constexpr std::string_view kNpyMagic = "\x93NUMPY";

template <typename Unsigned> Unsigned load(std::string_view bytes, std::size_t at, bool big_endian = false) {
  Unsigned value = 0;
  for (std::size_t i = 0; i < sizeof(Unsigned); ++i) {
    const std::size_t shift = 8 * (big_endian ? sizeof(Unsigned) - 1 - i : i);
    value |= static_cast<Unsigned>(static_cast<Unsigned>(static_cast<unsigned char>(bytes[at + i])) << shift);
  }
  return value;
}

void append_doubles(std::string_view bytes, std::vector<double> &values) {
  for (std::size_t at = 0; at + 8 <= bytes.size(); at += 8)
    values.push_back(std::bit_cast<double>(load<std::uint64_t>(bytes, at)));
}

std::unexpected<Error> unreadable(const std::string &where, std::string what) {
  return std::unexpected(Error{ErrorKind::kUnreadable, where, std::move(what)});
}

Result<Gradient> read_npy(std::string_view bytes, const std::string &where) {
  if (bytes.size() < 12)
    return unreadable(where, "a .npy file that ends within its header");
  const unsigned major = static_cast<unsigned char>(bytes[6]);
  if (major < 1 || major > 3)
    return unreadable(where, ".npy version " + std::to_string(major) + "; accepted are 1 to 3");
  const std::size_t prefix = major == 1 ? 10 : 12;
  const std::size_t length = major == 1 ? load<std::uint16_t>(bytes, 8) : load<std::uint32_t>(bytes, 8);
  if (length > bytes.size() - prefix)
    return unreadable(where, "a .npy file that ends within its header");
  const std::string_view header = bytes.substr(prefix, length);
  const std::string_view data = bytes.substr(prefix + length);
  const std::size_t key = header.find("'descr'");
  const std::size_t open = key == header.npos ? header.npos : header.find('\'', key + 7);
  const std::size_t close = open == header.npos ? header.npos : header.find('\'', open + 1);
  const std::string type(close == header.npos ? "" : header.substr(open + 1, close - open - 1));
  const bool big_endian = type.starts_with('>');
  Gradient gradient{GradientForm::kNpy, {}};
  if (type == "<f8" || type == ">f8") {
    if (data.size() % 8 != 0)
      return unreadable(where, "a .npy file of doubles with " + std::to_string(data.size()) + " bytes of data");
    for (std::size_t at = 0; at < data.size(); at += 8)
      gradient.values.push_back(std::bit_cast<double>(load<std::uint64_t>(data, at, big_endian)));
  } else if (type == "<f4" || type == ">f4") {
    if (data.size() % 4 != 0)
      return unreadable(where, "a .npy file of floats with " + std::to_string(data.size()) + " bytes of data");
    for (std::size_t at = 0; at < data.size(); at += 4)
      gradient.values.push_back(static_cast<double>(std::bit_cast<float>(load<std::uint32_t>(data, at, big_endian))));
  } else {
    return unreadable(where, "a .npy file of type '" + type + "'; accepted are f8 and f4");
  }
  return gradient;
}

/// The data of sequential unformatted Fortran records (4-byte length before and behind each); empty if it is no such
/// file.
std::optional<std::string> fortran_records(std::string_view bytes) {
  std::string data;
  std::size_t at = 0;
  while (at < bytes.size()) {
    if (bytes.size() - at < 8)
      return std::nullopt;
    const std::uint32_t length = load<std::uint32_t>(bytes, at);
    if (length % 8 != 0 || length > bytes.size() - at - 8 || load<std::uint32_t>(bytes, at + 4 + length) != length)
      return std::nullopt;
    data += bytes.substr(at + 4, length);
    at += 8 + static_cast<std::size_t>(length);
  }
  return data;
}

std::optional<double> number(std::string word) {
  std::ranges::replace(word, 'D', 'e');
  std::ranges::replace(word, 'd', 'e');
  char *end = nullptr;
  const double value = std::strtod(word.c_str(), &end);
  if (end == word.c_str() || *end != '\0')
    return std::nullopt;
  return value;
}

std::vector<double> numbers(std::string_view text) {
  constexpr std::string_view kSeparators = " \t\r\n\f\v,;:=()[]{}\"'";
  std::vector<double> values;
  while (!text.empty()) {
    const std::size_t begin = text.find_first_not_of(kSeparators);
    if (begin == text.npos)
      break;
    const std::size_t end = std::min(text.find_first_of(kSeparators, begin), text.size());
    if (const std::optional<double> value = number(std::string(text.substr(begin, end - begin))))
      values.push_back(*value);
    text.remove_prefix(end);
  }
  return values;
}

} // namespace

std::string_view to_string(GradientForm form) {
  switch (form) {
  case GradientForm::kRaw:
    return "raw doubles";
  case GradientForm::kFortranRecords:
    return "Fortran records";
  case GradientForm::kText:
    return "text";
  case GradientForm::kNpy:
    return ".npy";
  }
  return "";
}

Result<Gradient> read_gradient(std::string_view bytes, const std::string &where) {
  if (bytes.starts_with(kNpyMagic))
    return read_npy(bytes, where);
  Gradient gradient;
  const bool printable =
      std::ranges::all_of(bytes, [](unsigned char c) { return c >= 0x20 || (c >= '\t' && c <= '\r'); });
  if (printable)
    if (std::vector<double> values = numbers(bytes); !values.empty())
      return Gradient{GradientForm::kText, std::move(values)};
  if (bytes.empty())
    return unreadable(where, "an empty file, where a gradient was expected");
  if (const std::optional<std::string> data = fortran_records(bytes)) {
    gradient.form = GradientForm::kFortranRecords;
    append_doubles(*data, gradient.values);
    return gradient;
  }
  if (bytes.size() % 8 != 0)
    return unreadable(
        where,
        std::to_string(bytes.size()) +
            " bytes that are neither text, .npy nor Fortran records, and no multiple of the 8 bytes of a double");
  append_doubles(bytes, gradient.values);
  return gradient;
}

Result<GradientDifference> compare_gradients(const Gradient &a, const Gradient &b) {
  if (a.values.size() != b.values.size())
    return std::unexpected(Error{ErrorKind::kInfeasible, "gradients",
                                 "one has " + std::to_string(a.values.size()) + " values (" +
                                     std::string(to_string(a.form)) + "), the other " +
                                     std::to_string(b.values.size()) + " (" + std::string(to_string(b.form)) + ")"});
  GradientDifference result;
  result.count = a.values.size();
  for (std::size_t i = 0; i < a.values.size(); ++i) {
    const double x = a.values[i], y = b.values[i];
    result.non_finite_a += std::isfinite(x) ? 0 : 1;
    result.non_finite_b += std::isfinite(y) ? 0 : 1;
    if (std::bit_cast<std::uint64_t>(x) == std::bit_cast<std::uint64_t>(y))
      continue;
    if (result.different++ == 0) {
      result.first_different = i;
      result.first_a = x;
      result.first_b = y;
    }
    if (std::isfinite(x) && std::isfinite(y)) {
      const double difference = std::fabs(x - y), size = std::max(std::fabs(x), std::fabs(y));
      result.largest_absolute = std::max(result.largest_absolute, difference);
      if (size > 0)
        result.largest_relative = std::max(result.largest_relative, difference / size);
    } else {
      ++result.non_finite_different;
    }
  }
  return result;
}

bool within(const GradientDifference &difference, double tolerance) {
  return difference.equal() ||
         (tolerance > 0 && difference.non_finite_different == 0 && difference.largest_relative <= tolerance);
}

std::string describe(const GradientDifference &d) {
  std::ostringstream text;
  if (d.equal())
    text << "all " << d.count << " values bitwise equal";
  else
    text << d.different << " of " << d.count << " values differ, the first is number " << d.first_different + 1
         << std::setprecision(17) << " (" << d.first_a << " and " << d.first_b << ")" << std::setprecision(3)
         << "; largest difference " << d.largest_absolute << ", relative " << d.largest_relative;
  if (d.non_finite_a + d.non_finite_b > 0)
    text << "; not finite: " << d.non_finite_a << " and " << d.non_finite_b;
  return text.str();
}

} // namespace adprof::verify
