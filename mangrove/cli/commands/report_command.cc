#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "mangrove/cli/command.h"
#include "mangrove/cli/reports/comparison_page.h"
#include "mangrove/cli/reports/run_record.h"
#include "mangrove/cli/reports/run_report.h"

namespace mangrove::cli {
namespace {

using Paths = std::vector<std::string>;

/// The last part of each path, where these differ; else the paths as they were given.
Paths short_names(const Paths& folders) {
  Paths names;
  for (const std::string& folder : folders)
    names.push_back(fs::absolute(folder).lexically_normal().filename().string());
  const bool is_clear = std::set<std::string>(names.begin(), names.end()).size() == names.size();
  return is_clear && std::ranges::find(names, "") == names.end() ? names : folders;
}

Result<std::string> report_of_several(const Paths& folders) {
  if (folders.size() > kMostCompared)
    return make_error(Code::invalid_argument, fmt::format("at most {} runs side by side", kMostCompared));
  std::vector<RunRecord> runs;
  for (const std::string& folder : folders) {
    std::error_code unreadable;
    if (fs::is_regular_file(folder, unreadable))
      return make_error(Code::invalid_argument, folder + ": a file: only run folders are shown side by side");
    MG_TRY(RunRecord run, load_run(folder));
    runs.push_back(std::move(run));
  }
  return comparison_page(runs, short_names(folders));
}

/// Where the page goes unless the user says it.
fs::path page_of(const Paths& paths) {
  std::error_code unreadable;
  if (paths.size() > 1) return "comparison.html";
  const fs::path path = paths.front();
  return fs::is_regular_file(path, unreadable) ? fs::path(path).replace_extension(".html") : path / "report.html";
}

Status run_report(const Paths& paths, const std::string& chosen, const OutputOptions& output) {
  std::error_code unreadable;
  Result<std::string> page = paths.size() > 1                                 ? report_of_several(paths)
                             : fs::is_regular_file(paths.front(), unreadable) ? report_of_file(paths.front())
                                                                              : report_of_folder(paths.front());
  if (!page.ok()) return page.error();
  const std::string file = chosen.empty() ? page_of(paths).string() : chosen;
  MG_RETURN_IF_ERROR(write_file_atomically(file, *page));
  return print_result({{"report", file}}, "report: " + file + "\n", output);
}

}  // namespace

void add_report_command(CLI::App& app, CommandContext& context) {
  auto* command = app.add_subcommand("report", "make one page for a browser of runs, a plan or a world");
  auto paths = std::make_shared<Paths>();
  auto file = std::make_shared<std::string>();
  command
      ->add_option("run", *paths,
                   "run folder of train, infer, sim or run, also while the run goes on; several are shown side by "
                   "side; or a file: the JSON of `mangrove plan` or of a job, or a world file")
      ->required();
  command
      ->add_option("-o,--output", *file,
                   "file to write; else report.html in the run folder, comparison.html here for several runs, or "
                   "the file's name with .html")
      ->type_name("");
  add_output_flags(*command, context.output);
  command->footer(
      "The page of a training shows curves of loss and accuracy, that of inference its\n"
      "speed and latency over time, who answered what, and the network over the nodes.\n"
      "A virtual world is shown with its devices, links, messages and faults. Each page\n"
      "has the CPU, memory and network of every node over time. It is one HTML\n"
      "file that needs no other.\n"
      "Examples:\n"
      "  mangrove report runs/mine\n"
      "  mangrove report runs/mine -o /tmp/mine.html\n"
      "  mangrove report runs/one runs/other -o both.html       # side by side\n"
      "  mangrove plan --model lenet --profile pc.yaml --devices boards.yaml \\\n"
      "                --json > plan.json && mangrove report plan.json\n"
      "  mangrove report examples/worlds/boards.yaml -o boards.html");
  command->callback([&context, paths, file] {
    context.action = [&context, paths, file] { return run_report(*paths, *file, context.output); };
  });
}

}  // namespace mangrove::cli
