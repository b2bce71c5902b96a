#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "mangrove/base/random.h"
#include "mangrove/data/dataset.h"

namespace mangrove::data {

// What diseases leave on the leaves of `leaves`. Plain IEEE arithmetic in a fixed order: bit-equal everywhere, if
// compiled without fused multiply-add.

using LeafColour = std::array<float, 3>;  // red, green, blue; 0 to 1

/// Along the leaf from its base (-1) to its tip (1), and across it from its middle, in the same unit.
struct LeafPoint {
  float along, across;
};

float draw_between(Random& random, float low, float high);
/// 0 at whole numbers, 1 half way between them.
float triangle_wave(float x);

/// Smooth random patches over [-1, 1] x [-1, 1], 0 to 1.
class Patches {
 public:
  explicit Patches(Random& random);
  float at(float x, float y) const;

 private:
  static constexpr std::size_t kCells = 5;
  std::array<float, (kCells + 1) * (kCells + 1)> corners_;
};

/// In the order of their names.
enum class LeafDisease : std::uint8_t {
  bacterial_spot,
  curl_virus,
  early_blight,
  healthy,
  late_blight,
  leaf_mold,
  mosaic_virus,
  septoria,
  spider_mites,
  target_spot,
};
std::vector<std::string> leaf_diseases();
/// What causes each.
CoarseLabels leaf_disease_causes();

/// The marks of one leaf.
class LeafMarks {
 public:
  LeafMarks(LeafDisease disease, Random& random);

  /// What the disease does to the leaf's shape: times its width; added to its bend.
  float width() const;
  float curl() const { return curl_; }
  /// The colour at a point that is `healthy` without the disease. edge: 0 in the leaf's middle, 1 at its edge.
  LeafColour on(const LeafPoint& point, float edge, const LeafColour& healthy, Random& random) const;

 private:
  struct Spot {
    LeafPoint centre;
    float radius;
  };
  void scatter(Random& random, int least, int most, float smallest, float largest);
  LeafColour spotted(const LeafPoint& point, const LeafColour& healthy) const;
  LeafColour in_spot(float t, const LeafColour& healthy) const;

  const LeafDisease disease_;
  const Patches patches_;
  std::vector<Spot> spots_;
  float curl_ = 0;
};

}  // namespace mangrove::data
