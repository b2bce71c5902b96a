#pragma once

#include <fstream>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "mangrove/base/file.h"

namespace mangrove::cli {

/// Where a run leaves its files: model.onnx, model.onnx.sig, best.onnx, report.html, summary.json, metrics.jsonl,
/// checkpoint.safetensors, job.yaml and logs/; of a simulated run also world.yaml and events.jsonl. The phase of a run
/// that trains only the head of a network leaves its own beside them, with a prefix.
class RunFolder {
 public:
  /// `path` empty: runs/<command>-<UTC time>. Makes the folder. errors: permission_denied, already_exists (a file).
  static Result<RunFolder> create(const std::string& path, const std::string& command);

  const fs::path& path() const { return path_; }
  static constexpr const char* kHeadPrefix = "head-";
  fs::path checkpoint_path(const std::string& prefix = {}) const { return path_ / (prefix + "checkpoint.safetensors"); }
  /// There once that phase is over.
  fs::path head_result_path() const { return path_ / (std::string(kHeadPrefix) + "result.json"); }
  fs::path job_path() const { return path_ / "job.yaml"; }
  /// Of a simulated run: what it was in, and what happened there.
  static constexpr const char* kWorldFile = "world.yaml";
  static constexpr const char* kEventsFile = "events.jsonl";
  fs::path logs() const { return path_ / "logs"; }

  /// A folder that was deleted meanwhile is made again. What cannot be written is remembered, until it can.
  Status write(const std::string& name, std::string_view content);
  /// The trained network of a phase that has ended, which needs its checkpoint no more, nor that of the phase before:
  /// on a full disk they make room for it where that is enough. signature: of the coordinator; "": there is none, and
  /// that of an earlier network goes.
  Status write_model(const std::string& prefix, std::string_view content, const std::string& signature = {});
  /// The network that a phase has left, also one that the disk did not take. errors: those of read_file.
  Result<std::string> model(const std::string& prefix) const;
  /// The run starts anew: settings are written, and checkpoint and summary of an earlier run in this folder are
  /// removed, since they are not of these settings.
  Status begin(const std::string& job_yaml);
  /// Settings of a run that cannot be resumed, so that people see what it was. They stay as they are in a folder with a
  /// checkpoint, which needs its own.
  Status keep_settings(const std::string& job_yaml);

  /// What is missing of the run, by the name of the file, and why.
  const std::map<std::string, std::string>& unsaved() const { return unsaved_; }
  /// Remembers of a file whether it was written.
  Status noted(const std::string& name, Status written);
  /// The error, with what is missing, and how to go on from the checkpoint if there is one.
  Error with_resume_hint(Error error) const;

  /// Appends one line to metrics.jsonl; starts the file anew on the first call unless append_metrics() was called.
  Status add_metrics(const std::string& json_line);
  void append_metrics() { append_ = true; }

 private:
  explicit RunFolder(fs::path path) : path_(std::move(path)) {}
  bool has_room_without(const std::vector<fs::path>& files, std::size_t needed) const;
  bool make_again() const;

  fs::path path_;
  std::string job_yaml_;  // of begin()
  std::ofstream metrics_;
  bool append_ = false;
  std::map<std::string, std::string> unsaved_;
  std::map<std::string, std::string> unwritten_models_;  // by their file's name
};

}  // namespace mangrove::cli
