#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "mangrove/base/mutex.h"
#include "mangrove/serve/model.h"

namespace mangrove::serve {

/// Answers of requests, as they come. It may go before they have all come.
/// threads: any thread may call any method.
class Answers {
 public:
  Answers() : kept_(std::make_shared<Kept>()) {}

  /// Keeps the answer under this name.
  AnswerSink sink(const std::string& name) const;
  /// Waits for an answer. Ends the program where none comes in a minute.
  Result<InferenceResponse> wait(const std::string& name) const;
  bool has(const std::string& name) const;
  /// Names of the answers, in the order in which they came.
  std::vector<std::string> order() const;

 private:
  struct Kept {
    Mutex mutex;
    Condition came;
    std::map<std::string, Result<InferenceResponse>> answers MG_GUARDED_BY(mutex);
    std::vector<std::string> order MG_GUARDED_BY(mutex);
  };
  std::shared_ptr<Kept> kept_;
};

/// Holds an instance fast: its thread waits in the sink of a request until the gate is opened.
/// threads: any thread may call any method.
class Gate {
 public:
  Gate() : state_(std::make_shared<State>()) {}
  ~Gate() { open(); }
  Gate(const Gate&) = delete;
  Gate& operator=(const Gate&) = delete;

  AnswerSink sink() const;
  /// Waits until a thread is in the sink. Ends the program where none comes in a minute.
  void wait_until_held() const;
  void open();

 private:
  struct State {
    Mutex mutex;
    Condition changed;
    bool is_held MG_GUARDED_BY(mutex) = false;
    bool is_open MG_GUARDED_BY(mutex) = false;
  };
  std::shared_ptr<State> state_;
};

}  // namespace mangrove::serve
