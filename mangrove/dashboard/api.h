#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <stop_token>
#include <string>

#include "mangrove/base/mutex.h"
#include "mangrove/base/result.h"
#include "mangrove/cluster/client.h"
#include "mangrove/dashboard/access.h"
#include "mangrove/dashboard/cluster_feed.h"
#include "mangrove/dashboard/coordinator_client.h"
#include "mangrove/dashboard/job_feed.h"
#include "mangrove/dashboard/routes.h"
#include "mangrove/serve/http/message.h"

namespace mangrove::dashboard {

/// What the command line knows of jobs, and the dashboard offers as a form.
struct JobForms {
  /// The keys of a command ("train") as docs/dashboard.md describes them. errors: not_found.
  std::function<Result<nlohmann::json>(const std::string& command)> keys;
  /// A job from such keys and their values. errors: those of the command, which name the key.
  std::function<Result<cluster::JobSpec>(const std::string& command, const nlohmann::json& values,
                                         const std::stop_token& stop)>
      make;
};

/// The dashboard over HTTP: its page, and the interface that the page and other programs call (docs/dashboard.md). It
/// asks a coordinator for everything. Knows nothing of sockets. threads: any thread may call any method.
class Api final : public serve::HttpHandler {
 public:
  /// client, access: must outlive it. version: of the program.
  Api(cluster::Client& client, Connect connect, const Access& access, JobForms forms, std::string version)
      : client_(client),
        connect_(std::move(connect)),
        access_(access),
        forms_(std::move(forms)),
        version_(std::move(version)),
        cluster_(client),
        jobs_(connect_) {}

  std::optional<serve::HttpResponse> refuse(const serve::HttpHead& head) const override;
  serve::HttpResponse answer(serve::HttpRequest request, const std::stop_token& stop) override;
  serve::HttpResponse error(const serve::HttpHead& head, int status, const std::string& message) const override;

 private:
  struct Call;
  Result<serve::HttpResponse> perform(const Call& call);
  Result<serve::HttpResponse> describe_session(const Call& call) const;
  serve::HttpResponse stream_cluster();
  bool may_handle(const Caller& caller, const std::string& job) const;
  Status check_job(const Call& call) const;
  nlohmann::json job_facts(const Caller& caller, cluster::JobStatus job) const;
  Result<std::shared_ptr<void>> take_room() const;
  Result<serve::HttpResponse> list_jobs(const Call& call) const;
  Result<serve::HttpResponse> show_job(const Call& call) const;
  Result<serve::HttpResponse> list_events(const Call& call) const;
  Result<serve::HttpResponse> stream_job(const Call& call);
  Result<serve::HttpResponse> fetch_model(const Call& call) const;
  Result<serve::HttpResponse> start_job(const Call& call);
  Result<serve::HttpResponse> stop_job(const Call& call) const;
  Result<serve::HttpResponse> list_members() const;
  Result<serve::HttpResponse> invite(const Call& call) const;
  Result<cluster::JobStatus> find_job(const std::string& id) const;

  cluster::Client& client_;
  const Connect connect_;
  const Access& access_;
  const JobForms forms_;
  const std::string version_;
  ClusterFeed cluster_;
  JobFeeds jobs_;
  mutable std::atomic<int> large_ = 0;  // calls that hold a network
  mutable Mutex mutex_;
  std::map<std::string, std::string> begun_ MG_GUARDED_BY(mutex_);  // by job, the caller who began it here
};

}  // namespace mangrove::dashboard
