#include "mangrove/data/leaf_marks.h"

#include <algorithm>
#include <cmath>

namespace mangrove::data {
namespace {

constexpr LeafColour kBrown = {0.36f, 0.24f, 0.12f}, kDark = {0.16f, 0.12f, 0.08f}, kYellow = {0.78f, 0.72f, 0.22f},
                     kPale = {0.72f, 0.68f, 0.56f}, kGrey = {0.32f, 0.32f, 0.26f};
constexpr float kReach = 2;  // radii from a spot's centre that it may change anything

LeafColour mixed(const LeafColour& a, const LeafColour& b, float share_of_b) {
  const float share = std::clamp(share_of_b, 0.0f, 1.0f);
  return {a[0] + share * (b[0] - a[0]), a[1] + share * (b[1] - a[1]), a[2] + share * (b[2] - a[2])};
}

}  // namespace

float draw_between(Random& random, float low, float high) {
  return low + (high - low) * static_cast<float>(random.uniform());
}

float triangle_wave(float x) {
  const float part = x - std::floor(x);
  return part < 0.5f ? 2 * part : 2 - 2 * part;
}

Patches::Patches(Random& random) {
  for (float& corner : corners_) corner = draw_between(random, 0, 1);
}

float Patches::at(float x, float y) const {
  const auto place = [](float at) { return std::clamp((at + 1) / 2, 0.0f, 0.999f) * static_cast<float>(kCells); };
  const auto smooth = [](float part) { return part * part * (3 - 2 * part); };
  const float right = place(x), down = place(y);
  const auto column = static_cast<std::size_t>(right), row = static_cast<std::size_t>(down);
  const float part_x = smooth(right - static_cast<float>(column)), part_y = smooth(down - static_cast<float>(row));
  const auto along_row = [&](std::size_t r) {
    const float left = corners_[r * (kCells + 1) + column], next = corners_[r * (kCells + 1) + column + 1];
    return left + part_x * (next - left);
  };
  return along_row(row) + part_y * (along_row(row + 1) - along_row(row));
}

std::vector<std::string> leaf_diseases() {
  return {"bacterial_spot", "curl_virus",   "early_blight", "healthy",      "late_blight",
          "leaf_mold",      "mosaic_virus", "septoria",     "spider_mites", "target_spot"};
}

CoarseLabels leaf_disease_causes() {
  enum Cause : std::int32_t { bacterium, fungus, mite, none, oomycete, virus };
  return {{"bacterium", "fungus", "mite", "none", "oomycete", "virus"},
          {bacterium, virus, fungus, none, oomycete, fungus, virus, fungus, mite, fungus}};
}

LeafMarks::LeafMarks(LeafDisease disease, Random& random) : disease_(disease), patches_(random) {
  switch (disease) {
    case LeafDisease::bacterial_spot:
      scatter(random, 12, 22, 0.035f, 0.055f);
      return;
    case LeafDisease::early_blight:
      scatter(random, 2, 4, 0.16f, 0.24f);
      return;
    case LeafDisease::leaf_mold:
      scatter(random, 3, 5, 0.14f, 0.22f);
      return;
    case LeafDisease::septoria:
      scatter(random, 12, 20, 0.06f, 0.08f);
      return;
    case LeafDisease::target_spot:
      scatter(random, 4, 7, 0.1f, 0.14f);
      return;
    case LeafDisease::curl_virus:
      curl_ = draw_between(random, 0.25f, 0.4f) * (random.below(2) == 0 ? -1.0f : 1.0f);
      return;
    case LeafDisease::healthy:
    case LeafDisease::late_blight:
    case LeafDisease::mosaic_virus:
    case LeafDisease::spider_mites:
      return;
  }
}

/// So many spots, anywhere on the leaf.
void LeafMarks::scatter(Random& random, int least, int most, float smallest, float largest) {
  const int count = least + static_cast<int>(random.below(static_cast<std::uint64_t>(most - least + 1)));
  for (int i = 0; i < count; ++i) {
    const float along = draw_between(random, -0.75f, 0.75f);
    const float across = draw_between(random, -0.5f, 0.5f) * (1 - along * along);
    spots_.push_back({{along, across}, draw_between(random, smallest, largest)});
  }
}

float LeafMarks::width() const {
  return disease_ == LeafDisease::curl_virus ? 0.7f : 1.0f;
}

LeafColour LeafMarks::on(const LeafPoint& point, float edge, const LeafColour& healthy, Random& random) const {
  const float patch = patches_.at(point.along, point.across);
  switch (disease_) {
    case LeafDisease::curl_virus:  // yellow from the edge inwards
      return mixed(healthy, kYellow, 1.3f * edge - 0.35f);
    case LeafDisease::late_blight: {  // one side of the leaf rots, with a pale border
      const float rot = 1.2f * patch + 0.9f * point.along + 0.4f * edge - 0.75f;
      return rot > 0.1f ? mixed(healthy, kGrey, 0.9f) : mixed(healthy, kPale, rot > 0 ? 0.6f : 0.0f);
    }
    case LeafDisease::mosaic_virus:  // light and dark green fields
      return mixed(healthy, {0.55f, 0.75f, 0.3f}, 4 * (patch - 0.4f));
    case LeafDisease::spider_mites:  // fine pale dots
      return random.below(100) < 22 ? mixed(healthy, kPale, 0.8f) : mixed(healthy, kYellow, 0.12f);
    default:
      return spotted(point, healthy);
  }
}

/// As the spot that is nearest, in radii, has it.
LeafColour LeafMarks::spotted(const LeafPoint& point, const LeafColour& healthy) const {
  float nearest = kReach;
  for (const Spot& spot : spots_) {
    const float x = point.along - spot.centre.along, y = point.across - spot.centre.across;
    nearest = std::min(nearest, std::sqrt(x * x + y * y) / spot.radius);
  }
  return nearest < kReach ? in_spot(nearest, healthy) : healthy;
}

/// t: radii from its centre, below kReach.
LeafColour LeafMarks::in_spot(float t, const LeafColour& healthy) const {
  switch (disease_) {
    case LeafDisease::bacterial_spot:  // dark, in a yellow ring
      return t < 1 ? kDark : mixed(healthy, kYellow, 0.7f * (kReach - t));
    case LeafDisease::early_blight:  // ring in ring
      return t < 1 ? mixed(kDark, kBrown, triangle_wave(t * 3)) : mixed(healthy, kYellow, 1.5f - t);
    case LeafDisease::leaf_mold:  // yellow, without a border
      return mixed(healthy, kYellow, 1.1f - 0.6f * t);
    case LeafDisease::septoria:  // pale, with a dark border
      return t < 0.6f ? kPale : t < 1 ? kDark : healthy;
    case LeafDisease::target_spot:  // brown, with a pale dot in the middle
      return t < 0.35f ? kPale : t < 1 ? kBrown : healthy;
    default:
      return healthy;
  }
}

}  // namespace mangrove::data
