#include "mangrove/graph/onnx_file.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <google/protobuf/wire_format_lite.h>

#include <climits>
#include <functional>
#include <span>

#include "mangrove/base/process_memory.h"
#include "mangrove/graph/external_data.h"
#include "mangrove/graph/onnx_tensor.h"

namespace mangrove {
namespace {

using google::protobuf::internal::WireFormatLite;
using google::protobuf::io::CodedInputStream;
using google::protobuf::io::CodedOutputStream;

Error broken(Bytes size) {
  return make_error(Code::data_loss,
                    "not an ONNX model, or truncated (" + std::to_string(size) + " bytes; 2 GiB at most)");
}

class Reader {
 public:
  Reader(google::protobuf::io::ZeroCopyInputStream& bytes, Bytes size, const std::optional<fs::path>& folder)
      : input_(&bytes), size_(size) {
    if (folder) external_.emplace(*folder);
    input_.PushLimit(static_cast<int>(size));
  }

  Result<OnnxFile> read() && {
    std::string model, graph;
    MG_RETURN_IF_ERROR(read_fields(onnx::ModelProto::kGraphFieldNumber, model, [&] {
      has_graph_ = true;
      return read_fields(onnx::GraphProto::kInitializerFieldNumber, graph, [&] { return read_initializer(); });
    }));
    if (!file_.model.ParseFromString(model)) return broken(size_);
    if (has_graph_ && !file_.model.mutable_graph()->ParseFromString(graph)) return broken(size_);
    return std::move(file_);
  }

 private:
  /// The fields of one message, up to its end: the messages of this number go to `read_message`, the others are
  /// appended to `rest` as they stand.
  Status read_fields(int number, std::string& rest, const std::function<Status()>& read_message) {
    google::protobuf::io::StringOutputStream appended(&rest);
    CodedOutputStream output(&appended);
    const std::uint32_t message = WireFormatLite::MakeTag(number, WireFormatLite::WIRETYPE_LENGTH_DELIMITED);
    while (const std::uint32_t tag = input_.ReadTag()) {
      if (tag != message) {
        if (!WireFormatLite::SkipField(&input_, tag, &output)) return broken(size_);
        continue;
      }
      int length = 0;
      if (!input_.ReadVarintSizeAsInt(&length) || length > input_.BytesUntilLimit()) return broken(size_);
      const CodedInputStream::Limit outer = input_.PushLimit(length);
      MG_RETURN_IF_ERROR(read_message());
      input_.PopLimit(outer);
    }
    return input_.ConsumedEntireMessage() && input_.BytesUntilLimit() == 0 ? Status() : broken(size_);
  }

  Status read_initializer() {
    make_room(static_cast<std::size_t>(input_.BytesUntilLimit()));
    proto_.Clear();
    const bool is_whole = proto_.MergeFromCodedStream(&input_) && input_.ConsumedEntireMessage();
    if (!is_whole || input_.BytesUntilLimit() != 0) return broken(size_);
    const std::string where = "initializer '" + proto_.name() + "'";
    if (external_ && is_external(proto_)) MG_RETURN_IF_ERROR(external_->fetch(proto_).context(where));
    MG_TRY(Tensor tensor, decode_tensor(proto_).context(where));
    if (!file_.initializers.emplace(proto_.name(), std::move(tensor)).second) {
      return make_error(Code::invalid_argument, where + " is defined twice");
    }
    return {};
  }

  /// For the bytes of an initializer; clearing proto_ keeps it.
  void make_room(std::size_t bytes) {
    std::string& data = *proto_.mutable_raw_data();
    if (data.capacity() >= bytes) return;
    data.reserve(bytes);
    take_pages(std::as_writable_bytes(std::span(data.data(), bytes)));
  }

  CodedInputStream input_;
  Bytes size_;
  std::optional<ExternalData> external_;
  OnnxFile file_;
  bool has_graph_ = false;
  onnx::TensorProto proto_;  // one for all, so that its memory is taken once
};

}  // namespace

Result<OnnxFile> read_onnx_file(google::protobuf::io::ZeroCopyInputStream& bytes, Bytes size,
                                const std::optional<fs::path>& folder) {
  if (size <= 0 || size > INT_MAX) return broken(size);
  return Reader(bytes, size, folder).read();
}

}  // namespace mangrove
