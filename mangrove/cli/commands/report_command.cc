#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>

#include "mangrove/cli/command.h"
#include "mangrove/cli/reports/report_page.h"

namespace mangrove::cli {
namespace {

Status run(const std::string& folder, const std::string& chosen, const OutputOptions& output) {
  MG_TRY(const std::string page, report_of_folder(folder));
  const std::string file = chosen.empty() ? (fs::path(folder) / "report.html").string() : chosen;
  MG_RETURN_IF_ERROR(write_file_atomically(file, page));
  return print_result({{"report", file}}, "report: " + file + "\n", output);
}

}  // namespace

void add_report_command(CLI::App& app, CommandContext& context) {
  auto* command = app.add_subcommand("report", "make one page for a browser of a run folder");
  auto folder = std::make_shared<std::string>();
  auto file = std::make_shared<std::string>();
  command->add_option("run", *folder, "run folder of train, infer or run; the run may still go on")->required();
  command->add_option("-o,--output", *file, "file to write; else report.html in the run folder")->type_name("");
  add_output_flags(*command, context.output);
  command->footer(
      "The page shows curves of loss and accuracy, the CPU, memory and network of every\n"
      "node over time, and where the time of the training steps went. It is one HTML\n"
      "file that needs no other.\n"
      "Examples:\n"
      "  mangrove report runs/mine\n"
      "  mangrove report runs/mine -o /tmp/mine.html");
  command->callback([&context, folder, file] {
    context.action = [&context, folder, file] { return run(*folder, *file, context.output); };
  });
}

}  // namespace mangrove::cli
