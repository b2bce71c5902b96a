#pragma once

#include <cstdint>
#include <memory>

#include "mangrove/base/mutex.h"
#include "mangrove/serve/model.h"

namespace mangrove::serve {

/// Who uses a version of a model now: it is not closed while somebody has found it and may still ask it.
/// threads: any thread may call any method.
class ModelLeases : public std::enable_shared_from_this<ModelLeases> {
 public:
  /// A reference that counts until its last copy is gone; the model lives as long.
  std::shared_ptr<Model> lease(std::shared_ptr<Model> model);
  /// Waits until nobody has one, but no longer than this. Whether nobody has.
  bool wait_for_none(Seconds at_most);

 private:
  void end();

  Mutex mutex_;
  Condition ended_;
  std::int64_t count_ MG_GUARDED_BY(mutex_) = 0;
};

}  // namespace mangrove::serve
