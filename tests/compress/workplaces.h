#pragma once

#include "mangrove/compress/recipe.h"

/// Work on small networks with real training.
namespace mangrove::compress {

/// The first `samples` training glyphs, one thread, a teacher that is `graph` whatever its name.
Workplace glyph_workplace(const Graph& graph, std::int64_t samples);

/// A perceptron for glyphs after a short training.
Graph trained_perceptron();

double glyph_accuracy(const Graph& graph);

/// What a recipe makes of a network. The test ends where it fails.
Network cooked(const std::string& recipe, Network network, const Workplace& workplace);

}  // namespace mangrove::compress
