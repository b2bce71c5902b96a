#include "mangrove/place/scenario_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "mangrove/base/config_file.h"
#include "mangrove/base/keys.h"
#include "mangrove/base/suggestion.h"
#include "mangrove/place/service_graph.h"

namespace mangrove::place {
namespace {

constexpr std::string_view kBetween = " - ";
constexpr Bytes kLargestFile = 8'000'000;
constexpr Bytes kLargestSize = 1'000'000'000'000'000;  // of memory and items
constexpr double kMost = 1e18;                         // of operations and rates

std::string trimmed(std::string_view text) {
  const auto first = text.find_first_not_of(' ');
  if (first == std::string_view::npos) return "";
  return std::string(text.substr(first, text.find_last_not_of(' ') - first + 1));
}

std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> words;
  while (!text.empty()) {
    const std::size_t comma = std::min(text.find(','), text.size());
    if (std::string word = trimmed(text.substr(0, comma)); !word.empty()) words.push_back(std::move(word));
    text.remove_prefix(std::min(comma + 1, text.size()));
  }
  return words;
}

/// A key that takes words, separated by commas.
void add_words(Keys& keys, std::string name, std::vector<std::string>& target, std::string help) {
  keys.add({std::move(name), std::move(help), "TEXT", "",
            [&target](const std::string& text) -> Status {
              target = words_of(text);
              return {};
            },
            [] { return std::string(); }});
}

/// "NAME - NAME" of a section's name.
Result<std::pair<std::string, std::string>> ends_of(std::string_view text) {
  const std::size_t dash = text.find(kBetween);
  std::pair<std::string, std::string> ends;
  if (dash != std::string_view::npos)
    ends = {trimmed(text.substr(0, dash)), trimmed(text.substr(dash + kBetween.size()))};
  if (ends.first.empty() || ends.second.empty())
    return make_error(Code::invalid_argument, fmt::format("'{}': expected two names with ' - ' between them", text));
  return ends;
}

struct DeviceKind {
  Device device;
  std::int64_t count = 0;  // 0: one, named after its section

  Keys keys() {
    Keys keys;
    keys.add("count", count, "devices of this kind", 1, kMostDevices);
    keys.add("flops", device.flops, "operations a second of one core", 1, kMost);
    keys.add("cores", device.cores, "that compute at the same time", 0.001, 1e6);
    keys.add_bytes("memory", device.memory, "for tasks, e.g. 700MB", 1, kLargestSize);
    keys.add("utilisation", device.utilisation, "share of its time that tasks may use", 0.001, 1);
    keys.add("idle_watts", device.idle_watts, "while it is used at all", 0, 1e9);
    keys.add("watts", device.watts, "that computing adds", 0, 1e9);
    keys.add("price", device.price, "of an hour, while it is used at all", 0, 1e9);
    keys.add("failure", device.failure, "probability that it is down", 0, 1);
    keys.add("zone", device.zone, "where it is, e.g. farm");
    keys.add("domain", device.domain, "who runs it, e.g. north");
    keys.add("trust", device.trust, "level, the more the better", 0, 1000);
    add_words(keys, "labels", device.labels, "what else it has, e.g. camera, disk");
    keys.add("accelerator", device.accelerator, "its label, e.g. gpu");
    keys.add("accelerator_flops", device.accelerator_flops, "operations a second of the accelerator", 1, kMost);
    keys.add("accelerator_watts", device.accelerator_watts, "that a busy accelerator adds", 0, 1e9);
    return keys;
  }
};

struct LinkKind {
  Link link;
  std::string pairs = "all";

  Keys keys() {
    Keys keys;
    keys.add_rate("rate", link.rate, "for both directions together, e.g. 100mbit");
    keys.add_seconds("delay", link.delay, "one way, e.g. 5ms", 0, 1e6);
    keys.add("price", link.price, "of a GB", 0, 1e9);
    keys.add("utilisation", link.utilisation, "share of the rate that flows may use", 0.001, 1);
    keys.add_rate("worst_rate", link.worst_rate, "that it may fall to, e.g. 20mbit");
    keys.add_seconds("worst_delay", link.worst_delay, "that it may come to, e.g. 30ms", 0, 1e6);
    keys.add("zone", link.zone, "where it is; without it that of its ends, if they are in one");
    keys.add("pairs", pairs, "all: each with each; spread: each of the larger kind with one of the other");
    return keys;
  }
};

struct ServiceKind {
  Service service;
  std::int64_t count = 0;  // 0: one, named after its section

  Keys keys() {
    Keys keys;
    keys.add("count", count, "services of this kind", 1, kMostTasks);
    keys.add("rate", service.rate, "executions a second of each source", 1e-9, 1e9);
    keys.add("peak", service.peak, "executions a second that the rate may come to", 1e-9, 1e9);
    keys.add_seconds("deadline", service.deadline, "for the worst latency, e.g. 200ms", 1e-9, 1e9);
    keys.add("failures", service.failures, "of devices that it survives", 0, 8);
    return keys;
  }
};

/// A task as it is written: names are not looked up yet.
struct WrittenTask {
  Task task;
  std::string device, wait = "all";
  std::vector<std::string> times;

  Keys keys() {
    Keys keys;
    keys.add("operations", task.operations, "of an execution", 0, kMost);
    add_words(keys, "times", times, "of an execution by kind of device, e.g. pi 40ms, server 3ms");
    keys.add_bytes("memory", task.memory, "that it takes, e.g. 200MB", 0, kLargestSize);
    keys.add("needs", task.needs, "label or accelerator of its device, e.g. gpu");
    add_words(keys, "zones", task.zones, "that its device may be in, e.g. farm, town");
    keys.add("trust", task.trust, "the least of its device", 0, 1000);
    keys.add("device", device, "where it must be: a device, or a kind: then each service of a kind has its own");
    keys.add("licence", task.licence, "that its devices need");
    keys.add("apart", task.apart, "group of tasks of which no two share a device");
    keys.add("wait", wait, "of several inputs: all or any");
    return keys;
  }
};

Keys flow_keys(Flow& flow) {
  Keys keys;
  keys.add_bytes("bytes", flow.bytes, "of an item, e.g. 100kB", 0, kLargestSize);
  keys.add("share", flow.share, "items for each execution of the task that sends them", 1e-9, 1e6);
  add_words(keys, "zones", flow.zones, "that links on the way may be in, e.g. farm, town");
  return keys;
}

class ScenarioReader {
 public:
  explicit ScenarioReader(const ConfigFile& file) : file_(file) {}

  Result<Scenario> read() {
    MG_RETURN_IF_ERROR(file_.check_common({}));
    MG_RETURN_IF_ERROR(check_all_known());
    // each after what it names
    MG_RETURN_IF_ERROR(each("device ", &ScenarioReader::add_devices));
    MG_RETURN_IF_ERROR(each("link ", &ScenarioReader::add_links));
    MG_RETURN_IF_ERROR(each("licence ", &ScenarioReader::add_licence));
    MG_RETURN_IF_ERROR(each("service ", &ScenarioReader::add_service));
    MG_RETURN_IF_ERROR(each("task ", &ScenarioReader::add_task));
    MG_RETURN_IF_ERROR(each("flow ", &ScenarioReader::add_flow));
    if (made_.devices.empty()) return nothing("devices", "'device pi:'");
    if (kinds_.empty()) return nothing("services", "'service watch:'");
    for (const Kind& kind : kinds_) MG_RETURN_IF_ERROR(add_services(kind).context(file_.where(kind.section->line)));
    return std::move(made_);
  }

 private:
  using Section = ConfigFile::Section;

  /// A service as it is written, with its tasks by name.
  struct Kind {
    const Section* section;
    ServiceKind written;
    std::vector<WrittenTask> tasks;
    std::map<std::string, std::size_t> by_name;
    std::set<std::pair<std::size_t, std::size_t>> pairs;  // with a flow
  };

  static Error refused(const std::string& text) { return make_error(Code::invalid_argument, text); }
  Error nothing(const char* what, const char* example) const {
    return refused(fmt::format("{}: no {}: expected a section such as {}", file_.where(1), what, example));
  }

  Status each(std::string_view head, Status (ScenarioReader::*add)(const Section&, const std::string& name)) {
    for (const Section& section : file_.sections()) {
      if (!section.name.starts_with(head)) continue;
      const std::string name = trimmed(std::string_view(section.name).substr(head.size()));
      if (name.empty())
        return refused(
            fmt::format("{}: '{}' needs a name, as in '{}NAME:'", file_.where(section.line), trimmed(head), head));
      MG_RETURN_IF_ERROR((this->*add)(section, name));
    }
    return {};
  }

  Status check_all_known() const {
    static const std::vector<std::string> kHeads = {"device", "link", "licence", "service", "task", "flow"};
    for (const Section& section : file_.sections()) {
      const std::string head = section.name.substr(0, section.name.find(' '));
      if (head == section.name || std::ranges::find(kHeads, head) == kHeads.end())
        return refused(
            fmt::format("{}: unknown section '{}': expected 'device NAME', 'link NAME - NAME', 'service NAME', "
                        "'task SERVICE/TASK', 'flow SERVICE/TASK - TASK' or 'licence NAME'{}",
                        file_.where(section.line), section.name, did_you_mean(head, kHeads)));
    }
    return {};
  }

  Status add_devices(const Section& section, const std::string& name) {
    const std::string where = file_.where(section.line);
    DeviceKind kind;
    MG_RETURN_IF_ERROR(file_.apply(section, kind.keys()));
    if (kind.device.accelerator.empty() != (kind.device.accelerator_flops == 0))
      return refused(where + ": keys 'accelerator' and 'accelerator_flops': expected both, or none");
    const auto count = static_cast<std::size_t>(std::max<std::int64_t>(kind.count, 1));
    if (made_.devices.size() + count > kMostDevices)
      return refused(fmt::format("{}: more than {} devices", where, kMostDevices));
    kind.device.kind = name;
    for (std::size_t i = 1; i <= count; ++i) {
      kind.device.name = kind.count == 0 ? name : fmt::format("{}-{}", name, i);
      if (!device_names_.emplace(kind.device.name, made_.devices.size()).second)
        return refused(fmt::format("{}: there are two devices '{}'", where, kind.device.name));
      kind_devices_[name].push_back(made_.devices.size());
      made_.devices.push_back(kind.device);
    }
    return {};
  }

  /// A device, or all of a kind.
  Result<std::vector<std::size_t>> find_devices(const std::string& name) const {
    if (const auto kind = kind_devices_.find(name); kind != kind_devices_.end()) return kind->second;
    if (const auto one = device_names_.find(name); one != device_names_.end()) return std::vector{one->second};
    std::vector<std::string> names;
    for (const auto& [known, devices] : kind_devices_) names.push_back(known);
    return refused(fmt::format("there is no device '{}'{}", name, suggestion(name, names)));
  }

  Status add_links(const Section& section, const std::string& name) {
    const std::string where = file_.where(section.line);
    LinkKind kind;
    MG_RETURN_IF_ERROR(file_.apply(section, kind.keys()));
    if (kind.link.rate < 1) return refused(where + ": key 'rate': a link has at least 8bit");
    if (kind.link.worst_rate != 0 && (kind.link.worst_rate < 1 || kind.link.worst_rate > kind.link.rate))
      return refused(where + ": key 'worst_rate': expected at least 8bit, and no more than 'rate'");
    if (kind.link.worst_delay != 0 && kind.link.worst_delay < kind.link.delay)
      return refused(where + ": key 'worst_delay': expected no less than 'delay'");
    if (kind.pairs != "all" && kind.pairs != "spread")
      return refused(where + ": key 'pairs': '" + kind.pairs + "' is neither 'all' nor 'spread'");
    return connect(name, kind).context(where);
  }

  Status connect(const std::string& name, const LinkKind& kind) {
    MG_TRY(const auto ends, ends_of(name));
    MG_TRY(std::vector<std::size_t> from, find_devices(ends.first));
    MG_TRY(std::vector<std::size_t> to, find_devices(ends.second));
    if (kind.pairs == "spread") {
      if (from.size() < to.size()) std::swap(from, to);
      for (std::size_t i = 0; i < from.size(); ++i)
        MG_RETURN_IF_ERROR(add_link(from[i], to[i * to.size() / from.size()], kind.link));
      return {};
    }
    for (const std::size_t a : from)
      for (const std::size_t b : to)
        if (a < b || (a > b && ends.first != ends.second)) MG_RETURN_IF_ERROR(add_link(a, b, kind.link));
    return {};
  }

  Status add_link(std::size_t a, std::size_t b, Link link) {
    if (a == b) return refused("a link is between two devices");
    if (made_.links.size() == kMostLinks) return refused(fmt::format("more than {} links", kMostLinks));
    link.from = std::min(a, b);
    link.to = std::max(a, b);
    if (link.zone.empty() && made_.devices[a].zone == made_.devices[b].zone) link.zone = made_.devices[a].zone;
    if (!link_ends_.emplace(link.from, link.to).second)
      return refused(fmt::format("the link between '{}' and '{}' is given twice", made_.devices[link.from].name,
                                 made_.devices[link.to].name));
    made_.links.push_back(link);
    return {};
  }

  Status add_licence(const Section& section, const std::string& name) {
    Licence licence;
    licence.name = name;
    Keys keys;
    keys.add("devices", licence.devices, "that may run tasks with this licence", 1, kMostDevices);
    MG_RETURN_IF_ERROR(file_.apply(section, keys));
    licence_names_.push_back(name);
    made_.licences.push_back(licence);
    return {};
  }

  Status add_service(const Section& section, const std::string& name) {
    Kind& kind = kinds_.emplace_back(Kind{&section, {}, {}, {}, {}});
    kind.written.service.name = name;
    kind_numbers_.emplace(name, kinds_.size() - 1);
    MG_RETURN_IF_ERROR(file_.apply(section, kind.written.keys()));
    if (const Service& service = kind.written.service; service.peak != 0 && service.peak < service.rate)
      return refused(file_.where(section.line) + ": key 'peak': expected no less than 'rate'");
    return {};
  }

  /// The service of "SERVICE/TASK", and what stands behind it.
  Result<std::pair<Kind*, std::string>> split(const std::string& name, const std::string& example) {
    const std::size_t slash = name.find('/');
    if (slash == std::string::npos) return refused(fmt::format("'{}': expected '{}'", name, example));
    const std::string service = trimmed(std::string_view(name).substr(0, slash));
    const auto found = kind_numbers_.find(service);
    if (found != kind_numbers_.end())
      return std::pair{&kinds_[found->second], trimmed(std::string_view(name).substr(slash + 1))};
    std::vector<std::string> names;
    for (const auto& [known, number] : kind_numbers_) names.push_back(known);
    return refused(fmt::format("there is no service '{}'{}", service, suggestion(service, names)));
  }

  Status add_task(const Section& section, const std::string& name) {
    const std::string where = file_.where(section.line);
    auto split_name = split(name, "task SERVICE/TASK").context(where);
    if (!split_name.ok()) return split_name.error();
    const auto [kind, task_name] = *split_name;
    WrittenTask written;
    written.task.name = task_name;
    MG_RETURN_IF_ERROR(file_.apply(section, written.keys()));
    MG_RETURN_IF_ERROR(look_up(written).context(where));
    if (task_name.empty() || !kind->by_name.emplace(task_name, kind->tasks.size()).second)
      return refused(fmt::format("{}: task '{}' has no name, or is given twice", where, name));
    kind->tasks.push_back(std::move(written));
    return {};
  }

  /// Checks what a task names.
  Status look_up(WrittenTask& written) const {
    if (written.wait != "all" && written.wait != "any")
      return refused("key 'wait': '" + written.wait + "' is neither 'all' nor 'any'");
    written.task.wait = written.wait == "all" ? Wait::all : Wait::any;
    if (const std::string& licence = written.task.licence;
        !licence.empty() && std::ranges::find(licence_names_, licence) == licence_names_.end())
      return refused(fmt::format("key 'licence': there is no section 'licence {}'{}", licence,
                                 licence_names_.empty() ? "" : suggestion(licence, licence_names_)));
    if (!written.device.empty()) MG_RETURN_IF_ERROR(find_devices(written.device).context("key 'device'"));
    for (const std::string& word : written.times) {
      const std::size_t space = word.find_last_of(' ');
      if (space == std::string::npos)
        return refused("key 'times': '" + word + "': expected a kind of device and a time");
      const std::string kind = trimmed(std::string_view(word).substr(0, space));
      if (!kind_devices_.contains(kind)) MG_RETURN_IF_ERROR(find_devices(kind).context("key 'times'"));
      auto seconds = parse_seconds(word.substr(space + 1)).context("key 'times'");
      if (!seconds.ok()) return seconds.error();
      if (!(*seconds >= 0 && *seconds <= 1e9)) return refused("key 'times': '" + word + "': expected 0 to 1e9 seconds");
      written.task.times[kind] = *seconds;
    }
    return {};
  }

  Status add_flow(const Section& section, const std::string& name) {
    const std::string where = file_.where(section.line);
    auto split_name = split(name, "flow SERVICE/TASK - TASK").context(where);
    if (!split_name.ok()) return split_name.error();
    const auto [kind, both] = *split_name;
    auto ends = ends_of(both).context(where);
    if (!ends.ok()) return ends.error();
    Flow flow;
    MG_RETURN_IF_ERROR(file_.apply(section, flow_keys(flow)));
    for (const auto& [end, target] : {std::pair{ends->first, &flow.from}, {ends->second, &flow.to}}) {
      const auto found = kind->by_name.find(end);
      std::vector<std::string> names;
      for (const auto& [known, number] : kind->by_name) names.push_back(known);
      if (found == kind->by_name.end())
        return refused(fmt::format("{}: service '{}' has no task '{}'{}", where, kind->written.service.name, end,
                                   names.empty() ? "" : suggestion(end, names)));
      *target = found->second;
    }
    if (!kind->pairs.emplace(flow.from, flow.to).second)
      return refused(fmt::format("{}: the flow from '{}' to '{}' is given twice", where, ends->first, ends->second));
    kind->written.service.flows.push_back(flow);
    return {};
  }

  /// The services of a kind, each with tasks on devices of its own.
  Status add_services(const Kind& kind) {
    if (kind.tasks.empty()) return refused("service '" + kind.written.service.name + "' has no task");
    const auto count = static_cast<std::size_t>(std::max<std::int64_t>(kind.written.count, 1));
    Service service = kind.written.service;
    for (const WrittenTask& written : kind.tasks) service.tasks.push_back(written.task);
    const auto copies = static_cast<std::size_t>(service.failures + 1);
    tasks_ += count * copies * service.tasks.size();
    flows_ += count * copies * service.flows.size();
    if (tasks_ > kMostTasks) return refused(fmt::format("more than {} tasks, with those of copies", kMostTasks));
    if (flows_ > kMostFlows) return refused(fmt::format("more than {} flows, with those of copies", kMostFlows));
    if (!topological_order(service)) return refused("the flows of service '" + service.name + "' go in a circle");
    if (kind.written.service.failures > 0 &&
        std::ranges::none_of(kind.tasks, [](const WrittenTask& written) { return written.device.empty(); }))
      return refused("key 'failures': all tasks of service '" + service.name +
                     "' have their device, so no copy can be made");
    for (std::size_t i = 0; i < count; ++i) {
      if (kind.written.count > 0) service.name = fmt::format("{}-{}", kind.written.service.name, i + 1);
      for (std::size_t t = 0; t < kind.tasks.size(); ++t) {
        if (kind.tasks[t].device.empty()) continue;
        MG_TRY(const std::vector<std::size_t> devices, find_devices(kind.tasks[t].device));
        service.tasks[t].device = devices[i % devices.size()];
      }
      made_.services.push_back(service);
    }
    return {};
  }

  const ConfigFile& file_;
  Scenario made_;
  std::vector<std::string> licence_names_;
  std::map<std::string, std::size_t> device_names_, kind_numbers_;
  std::map<std::string, std::vector<std::size_t>> kind_devices_;
  std::set<std::pair<std::size_t, std::size_t>> link_ends_;
  std::vector<Kind> kinds_;
  std::size_t tasks_ = 0, flows_ = 0;
};

}  // namespace

Result<Scenario> load_scenario(const fs::path& path) {
  MG_TRY(const std::string text, read_file(path));
  return parse_scenario(text, path);
}

Result<Scenario> parse_scenario(const std::string& text, const fs::path& path) {
  if (std::ssize(text) > kLargestFile)
    return make_error(Code::invalid_argument,
                      fmt::format("{}: a scenario has at most {}", path.string(), format_bytes(kLargestFile)));
  MG_TRY(const ConfigFile file, ConfigFile::parse(text, path, {"scenario", {}, "device pi"}));
  return ScenarioReader(file).read();
}

}  // namespace mangrove::place
