#include "lib/Export/Template/AnnotatedModel.h"
#include "lib/Export/Template/ExportTemplateProto.h"
#include "lib/Model/ModelParse.h"
#include <algorithm>

namespace kedge::exporter {
namespace {

constexpr int64_t kIrVersion = 11;

std::string encodeFactor(const model::ShardFactor &factor) {
  std::string out;
  if (factor.size)
    putVarint(out, 1, static_cast<uint64_t>(*factor.size));
  putVarint(out, 3, static_cast<uint64_t>(factor.shards));
  return out;
}

std::string encodeSpec(const model::ShardingSpec &spec) {
  std::string out;
  putBytes(out, 1, spec.tensor);
  for (int64_t device : spec.devices)
    putVarint(out, 2, static_cast<uint64_t>(device));
  for (const model::ShardedAxis &axis : spec.axes) {
    std::string dim;
    putVarint(dim, 1, static_cast<uint64_t>(axis.axis));
    for (const model::ShardFactor &factor : axis.factors)
      putBytes(dim, 2, encodeFactor(factor));
    putBytes(out, 4, dim);
  }
  return out;
}

std::string encodeDevices(const model::NodeDevices &devices) {
  std::string out;
  putBytes(out, 1, devices.configuration);
  for (const model::ShardingSpec &spec : devices.specs)
    putBytes(out, 2, encodeSpec(spec));
  if (devices.stage)
    putVarint(out, 3, static_cast<uint64_t>(*devices.stage));
  return out;
}

std::string encodeConfiguration(const model::DeviceConfiguration &configuration) {
  std::string out;
  putBytes(out, 1, configuration.name);
  putVarint(out, 2, static_cast<uint64_t>(configuration.devices));
  for (const std::string &name : configuration.deviceNames)
    putBytes(out, 3, name);
  return out;
}

class Rewriter {
public:
  Rewriter(const model::Model &model, const model::DeviceConfiguration &configuration,
           const NodeAnnotations &annotations)
      : file(*model.file), context{model.file, options}, configuration(configuration),
        annotations(annotations) {}

  std::string model() {
    std::string out;
    bool hasVersion = false;
    model::WireReader reader(file, {0, file.size()}, "the model");
    while (reader.next())
      if (reader.field() == 1) {
        putVarint(out, 1, static_cast<uint64_t>(std::max(kIrVersion, reader.varint())));
        hasVersion = true;
      } else if (reader.field() == 7) {
        putBytes(out, 7, graph(reader.bytes()));
      } else if (reader.field() != 26 ||
                 model::parseDeviceConfiguration(context, reader.bytes()).name != configuration.name) {
        keep(reader, out);
      }
    if (!hasVersion)
      putVarint(out, 1, static_cast<uint64_t>(kIrVersion));
    putBytes(out, 26, encodeConfiguration(configuration));
    return out;
  }

private:
  const model::MappedFile &file;
  const model::LoadOptions options;
  model::ParseContext context;
  const model::DeviceConfiguration &configuration;
  const NodeAnnotations &annotations;

  void keep(const model::WireReader &reader, std::string &out) const {
    out.append(reinterpret_cast<const char *>(file.data()) + reader.place(),
               reader.placeEnd() - reader.place());
  }

  std::string graph(model::Span span) {
    std::string out;
    model::WireReader reader(file, span, "a graph");
    while (reader.next())
      if (reader.field() == 1)
        putBytes(out, 1, node(reader.bytes()));
      else
        keep(reader, out);
    return out;
  }

  std::string node(model::Span span) {
    std::string out;
    model::WireReader reader(file, span, "a node");
    while (reader.next())
      if (reader.field() != 10 ||
          model::parseNodeDevices(context, reader.bytes()).configuration != configuration.name)
        keep(reader, out);
    if (auto own = annotations.find(span.offset); own != annotations.end())
      putBytes(out, 10, encodeDevices(own->second));
    return out;
  }
};
} // namespace

std::string annotatedModel(const model::Model &model, const model::DeviceConfiguration &configuration,
                           const NodeAnnotations &annotations) {
  return Rewriter(model, configuration, annotations).model();
}

} // namespace kedge::exporter
