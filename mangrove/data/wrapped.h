#pragma once

#include <memory>
#include <utility>

#include "mangrove/data/dataset.h"

namespace mangrove::data {

/// The samples of another data set, changed when they are read: all but read() is as there, unless overridden.
class WrappedDataset : public Dataset {
 public:
  explicit WrappedDataset(std::shared_ptr<const Dataset> inner) : inner_(std::move(inner)) {}

  std::uint32_t size() const override { return inner_->size(); }
  Shape sample_shape() const override { return inner_->sample_shape(); }
  const std::vector<std::string>& class_names() const override { return inner_->class_names(); }
  const CoarseLabels* coarse() const override { return inner_->coarse(); }
  std::string title() const override { return inner_->title(); }
  std::vector<std::uint32_t> run_ends() const override { return inner_->run_ends(); }
  std::string file(std::uint32_t index) const override { return inner_->file(index); }
  bool decodes() const override { return inner_->decodes(); }
  std::string name(std::uint32_t index) const override { return inner_->name(index); }
  std::int32_t label(std::uint32_t index) const override { return inner_->label(index); }

 protected:
  const Dataset& inner() const { return *inner_; }

 private:
  const std::shared_ptr<const Dataset> inner_;
};

}  // namespace mangrove::data
