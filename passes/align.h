// Global alignment of two sequences: which call of a forward sweep is which call of a backward sweep, or of the primal.
// Pure numbers; what makes two calls alike is the caller's business.
#ifndef ADPROF_PASSES_ALIGN_H
#define ADPROF_PASSES_ALIGN_H

#include <functional>
#include <vector>

namespace adprof {

/// Score of pairing element `left` with element `right`; below 0 they are never paired.
using PairScore = std::function<int(unsigned left, unsigned right)>;

/// For each left element the right element it is paired with, or -1. Keeps the order of both sides and has the largest sum
/// of scores (Needleman and Wunsch, gaps cost nothing); among equals, earliest elements are paired first. O(left * right).
std::vector<int> align(unsigned left_count, unsigned right_count, const PairScore &score);

} // namespace adprof
#endif
