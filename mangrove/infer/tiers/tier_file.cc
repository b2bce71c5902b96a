#include "mangrove/infer/tiers/tier_file.h"

#include <algorithm>
#include <optional>

#include "mangrove/base/config_file.h"
#include "mangrove/base/keys.h"
#include "mangrove/privacy/split.h"

namespace mangrove::infer {
namespace {

constexpr std::int64_t kMostExits = 1'000;

struct LinkSection {
  const char* section;
  Tier from, to;
};
constexpr LinkSection kLinks[] = {{"end - edge", Tier::end, Tier::edge},
                                  {"edge - cloud", Tier::edge, Tier::cloud},
                                  {"end - cloud", Tier::end, Tier::cloud}};

struct Line {
  Seconds delay = 0;
  BytesPerSecond rate = 0;
};

Keys tier_keys(TierSpec& tier) {
  Keys keys;
  keys.add("count", tier.count, "devices of this tier", 1, kMostDevices);
  keys.add("model", tier.model, "a network of the zoo, or an ONNX file");
  keys.add("labels", tier.labels, "what the network's classes are: fine or coarse");
  keys.add("trusted", tier.trusted, "whether these devices may see the samples");
  keys.add("privacy", tier.privacy, "what devices that are not trusted get in place of samples: split@LAYER");
  keys.add("exits", tier.exits, "of end and edge: how far they compute the network of all tiers, an early exit", 1,
           kMostExits);
  keys.add("accuracy", tier.accuracy, "of the network on validation data", 0, 1);
  return keys;
}

Keys link_keys(Line& line) {
  Keys keys;
  keys.add_seconds("delay", line.delay, "one way, e.g. 500ms");
  keys.add_rate("rate", line.rate, "e.g. 10mbit");
  return keys;
}

Error bad(const std::string& where, const std::string& problem) {
  return make_error(Code::invalid_argument, where + ": " + problem);
}

class Reader {
 public:
  explicit Reader(const ConfigFile& file) : file_(file) {}

  Result<std::vector<TierSpec>> read() {
    TierSpec any_tier;
    Line any_line;
    std::vector<std::string> known = tier_keys(any_tier).names();
    for (const std::string& key : link_keys(any_line).names()) known.push_back(key);
    MG_RETURN_IF_ERROR(file_.check_common(known));
    for (std::size_t i = 0; i < kTiers; ++i)
      if (const auto* section = find(kTierNames[i])) MG_RETURN_IF_ERROR(add_tier(static_cast<Tier>(i), *section));
    if (tiers_.empty() || tiers_.front().tier != Tier::end)
      return bad(file_.where(1), "no section 'end': end devices give the first answers");
    for (const LinkSection& link : kLinks)
      if (const auto* section = find(link.section)) MG_RETURN_IF_ERROR(add_link(link, *section));
    set_ways();
    return std::move(tiers_);
  }

 private:
  const ConfigFile::Section* find(std::string_view name) const {
    const auto found = std::ranges::find(file_.sections(), name, &ConfigFile::Section::name);
    return found == file_.sections().end() ? nullptr : &*found;
  }

  Status add_tier(Tier tier, const ConfigFile::Section& section) {
    TierSpec spec{.tier = tier, .model = {}, .privacy = {}};
    MG_RETURN_IF_ERROR(file_.apply(section, tier_keys(spec)));
    const std::string where = file_.where(section.line);
    if (spec.model.empty())
      return bad(where, "tier '" + section.name + "': no key 'model': a network of the zoo, or an ONNX file");
    if (spec.labels != "fine" && spec.labels != "coarse")
      return bad(where,
                 "tier '" + section.name + "': key 'labels': expected fine or coarse, got '" + spec.labels + "'");
    if (spec.exits > 0 && tier == Tier::cloud)
      return bad(where, "tier '" + section.name +
                            "': key 'exits': it is of end devices and edge servers; the cloud computes the rest");
    if (spec.trusted) spec.privacy.clear();
    if (!spec.trusted) MG_RETURN_IF_ERROR(check_privacy(spec).context(where + ": tier '" + section.name + "'"));
    tiers_.push_back(std::move(spec));
    return {};
  }

  static Status check_privacy(const TierSpec& spec) {
    if (spec.privacy.empty())
      return make_error(Code::invalid_argument,
                        "it is not trusted, and has no key 'privacy': split@LAYER gives its devices the output of that "
                        "layer in place of the samples");
    MG_RETURN_IF_ERROR(privacy::parse_privacy(spec.privacy));
    return {};
  }

  Status add_link(const LinkSection& link, const ConfigFile::Section& section) {
    for (const Tier tier : {link.from, link.to})
      if (std::ranges::count(tiers_, tier, &TierSpec::tier) == 0)
        return bad(file_.where(section.line), "link '" + section.name + "': there is no section '" +
                                                  std::string(kTierNames[static_cast<std::size_t>(tier)]) + "'");
    if (link.from == Tier::end && link.to == Tier::cloud && stops_at_edge())
      return bad(file_.where(section.line), "link '" + section.name +
                                                "': with the key 'exits' of tier 'edge' the cloud goes on where edge "
                                                "servers stop: its link is 'edge - cloud'");
    Line line;
    MG_RETURN_IF_ERROR(file_.apply(section, link_keys(line)));
    lines_[static_cast<std::size_t>(&link - kLinks)] = line;
    return {};
  }

  /// Whether the cloud gets what edge servers pass on.
  bool stops_at_edge() const {
    return std::ranges::any_of(tiers_, [](const TierSpec& of) { return of.tier == Tier::edge && of.exits > 0; });
  }

  void set_ways() {
    const auto& [to_edge, edge_to_cloud, to_cloud] = lines_;
    for (TierSpec& tier : tiers_) {
      Line way;
      if (tier.tier == Tier::edge) way = to_edge.value_or(Line());
      if (tier.tier == Tier::cloud) {
        const Line near = stops_at_edge() ? Line() : to_edge.value_or(Line()), far = edge_to_cloud.value_or(Line());
        const bool has_both = near.rate > 0 && far.rate > 0;
        way = to_cloud.value_or(
            Line{near.delay + far.delay, has_both ? std::min(near.rate, far.rate) : std::max(near.rate, far.rate)});
      }
      tier.delay = way.delay;
      tier.rate = way.rate;
    }
  }

  const ConfigFile& file_;
  std::vector<TierSpec> tiers_;
  std::array<std::optional<Line>, std::size(kLinks)> lines_;
};

}  // namespace

Result<std::vector<TierSpec>> load_tiers(const fs::path& path) {
  ConfigFile::Kind kind{"tier file", {kTierNames.begin(), kTierNames.end()}, "end"};
  for (const LinkSection& link : kLinks) kind.sections.emplace_back(link.section);
  MG_TRY(const ConfigFile file, ConfigFile::load(path, kind));
  return Reader(file).read();
}

std::int64_t device_count(const std::vector<TierSpec>& tiers) {
  std::int64_t count = 0;
  for (const TierSpec& tier : tiers) count += tier.count;
  return count;
}

}  // namespace mangrove::infer
