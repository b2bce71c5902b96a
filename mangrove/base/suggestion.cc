#include "mangrove/base/suggestion.h"

#include <algorithm>
#include <numeric>
#include <vector>

namespace mangrove {
namespace {

/// source: Wagner & Fischer, The string-to-string correction problem, JACM 1974; one row of the table at a time.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t above = row[j];
      row[j] = std::min({above + 1, row[j - 1] + 1, diagonal + (a[i - 1] == b[j - 1] ? 0u : 1u)});
      diagonal = above;
    }
  }
  return row[b.size()];
}

/// "" where no candidate is near enough.
std::string suggested_word(std::string_view word, std::span<const std::string> candidates) {
  std::string best;
  std::size_t best_distance = std::max<std::size_t>(2, word.size() / 3) + 1;
  for (const std::string& candidate : candidates) {
    const std::size_t distance = edit_distance(word, candidate);
    if (distance < best_distance) {
      best_distance = distance;
      best = candidate;
    }
  }
  return best;
}

}  // namespace

std::string join_words(std::span<const std::string> words) {
  std::string text;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (i > 0) text += i + 1 == words.size() ? " and " : ", ";
    text += words[i];
  }
  return text;
}

std::string did_you_mean(std::string_view word, std::span<const std::string> candidates) {
  const std::string meant = suggested_word(word, candidates);
  return meant.empty() ? "" : "; did you mean '" + meant + "'?";
}

std::string suggestion(std::string_view word, std::span<const std::string> candidates) {
  const std::string guess = did_you_mean(word, candidates);
  return guess.empty() ? "; known: " + join_words(candidates) : guess;
}

}  // namespace mangrove
