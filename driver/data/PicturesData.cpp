// Pictures in folders, one for each class, as arrays of planes and labels.
#include "driver/data/Data.h"
#include "driver/data/DataFile.h"
#include "driver/data/Picture.h"
#include "driver/data/Split.h"
#include "lib/Support/Error.h"
#include <algorithm>
#include <cmath>
#include <filesystem>

namespace kedge::driver {
namespace {

namespace fs = std::filesystem;

struct Labelled {
  std::string path;
  int64_t label;
};

/// The names of the folders in a folder, in order.
std::vector<std::string> foldersIn(const std::string &folder) {
  std::error_code failed;
  std::vector<std::string> names;
  for (const fs::directory_entry &entry : fs::directory_iterator(folder, failed))
    if (entry.is_directory())
      names.push_back(entry.path().filename().string());
  if (failed)
    fail("{}: cannot be read: {}", folder, failed.message());
  if (names.empty())
    fail("{}: has no folders; expected one for each class", folder);
  std::sort(names.begin(), names.end());
  return names;
}

std::vector<std::string> filesBelow(const std::string &folder) {
  std::vector<std::string> paths;
  for (const fs::directory_entry &entry : fs::recursive_directory_iterator(folder))
    if (entry.is_regular_file() && !entry.path().filename().string().starts_with('.'))
      paths.push_back(entry.path().string());
  std::sort(paths.begin(), paths.end());
  return paths;
}

/// How pictures become planes.
struct PicturesForm {
  std::vector<std::string> classes;
  int64_t height = 0, width = 0; ///< 0: as they are
  bool oneChannel = false;
  std::vector<double> mean{0}, std{1};

  int64_t channels() const { return oneChannel ? 1 : 3; }
  double meanOf(int64_t channel) const {
    return mean.size() == 1 ? mean[0] : mean[static_cast<size_t>(channel)];
  }
  double stdOf(int64_t channel) const { return std.size() == 1 ? std[0] : std[static_cast<size_t>(channel)]; }
  nlohmann::json json() const {
    return {{"kind", "pictures"}, {"classes", classes}, {"height", height}, {"width", width},
            {"gray", oneChannel}, {"mean", mean},       {"std", std}};
  }
};

void takeSize(const std::string &text, PicturesForm &form) {
  size_t height = 0, width = 0;
  const size_t times = text.find('x');
  try {
    form.height = std::stoll(text, &height);
    form.width = times == std::string::npos ? 0 : std::stoll(text.substr(times + 1), &width);
  } catch (const std::logic_error &) {
    form.height = 0;
  }
  constexpr int64_t kMost = 1 << 16;
  if (height != times || times + 1 + width != text.size() || form.height < 1 || form.width < 1 ||
      form.height > kMost || form.width > kMost)
    fail("--size {}: expected HEIGHTxWIDTH in pixels, as 224x224", text);
}

void takeNumbers(const char *flag, const std::vector<double> &given, bool divides, PicturesForm &form,
                 std::vector<double> &numbers) {
  if (given.empty())
    return;
  if (given.size() != 1 && static_cast<int64_t>(given.size()) != form.channels())
    fail("{}: expected one number, or {}: one for each channel", flag, form.channels());
  if (divides && std::find(given.begin(), given.end(), 0.0) != given.end())
    fail("{}: expected numbers other than 0", flag);
  numbers = given;
}

PicturesForm formOf(const PicturesRequest &request) {
  PicturesForm form;
  if (!request.like.empty()) {
    const nlohmann::json saved = readForm(request.like, "pictures");
    form = {saved.at("classes").get<std::vector<std::string>>(),
            saved.at("height").get<int64_t>(),
            saved.at("width").get<int64_t>(),
            saved.at("gray").get<bool>(),
            saved.at("mean").get<std::vector<double>>(),
            saved.at("std").get<std::vector<double>>()};
    for (const std::vector<double> &numbers : {form.mean, form.std})
      if (numbers.size() != 1 && static_cast<int64_t>(numbers.size()) != form.channels())
        fail("{}-form.json: has {} numbers for {} channels; make it again with kedge data images",
             request.like, numbers.size(), form.channels());
    return form;
  }
  form.classes = foldersIn(request.source);
  form.oneChannel = request.gray;
  if (!request.size.empty())
    takeSize(request.size, form);
  takeNumbers("--mean", request.mean, false, form, form.mean);
  takeNumbers("--std", request.std, true, form, form.std);
  return form;
}

std::vector<Labelled> picturesOf(const std::string &source, const PicturesForm &form) {
  std::vector<Labelled> found;
  for (const std::string &name : foldersIn(source)) {
    const auto known = std::find(form.classes.begin(), form.classes.end(), name);
    if (known == form.classes.end())
      fail("{}/{}: is none of the {} classes of the training set", source, name, form.classes.size());
    for (const std::string &path : filesBelow(source + "/" + name))
      found.push_back({path, known - form.classes.begin()});
  }
  if (found.empty())
    fail("{}: its folders have no pictures", source);
  return found;
}

/// Reads pictures as the form says; all have the size of the first.
class PictureReader {
public:
  explicit PictureReader(const PicturesForm &form) : form(form) {}
  Picture read(const std::string &path) {
    Picture picture = readPicture(path);
    picture = form.oneChannel ? toGray(picture) : toColours(picture);
    if (form.height != 0)
      picture = scaled(picture, form.height, form.width);
    if (first.empty()) {
      first = path;
      height = picture.height;
      width = picture.width;
    }
    if (picture.height != height || picture.width != width)
      fail("{}: {}x{} pixels, expected {}x{} as in {}; --size scales all", path, picture.width,
           picture.height, width, height, first);
    return picture;
  }

private:
  const PicturesForm &form;
  std::string first;
  int64_t height = 0, width = 0;
};

/// Means and deviations of the channels over these pictures.
void learnMoments(const std::vector<Labelled> &pictures, const std::vector<size_t> &rows,
                  PicturesForm &form) {
  const auto channels = static_cast<size_t>(form.channels());
  std::vector<double> sums(channels, 0), squares(channels, 0);
  double count = 0;
  PictureReader reader(form);
  for (const size_t row : rows) {
    const Picture picture = reader.read(pictures[row].path);
    for (size_t at = 0; at < picture.pixels.size(); ++at) {
      const double value = picture.pixels[at] / static_cast<double>(picture.largest);
      sums[at % channels] += value;
      squares[at % channels] += value * value;
    }
    count += static_cast<double>(picture.pixels.size() / channels);
  }
  form.mean.clear();
  form.std.clear();
  for (size_t channel = 0; channel < channels; ++channel) {
    const double mean = sums[channel] / count, variance = squares[channel] / count - mean * mean;
    form.mean.push_back(mean);
    form.std.push_back(variance > 0 ? std::sqrt(variance) : 1);
  }
}

std::vector<float> planes(const Picture &picture, const PicturesForm &form) {
  std::vector<float> values;
  values.reserve(picture.pixels.size());
  for (int64_t channel = 0; channel < picture.channels; ++channel)
    for (int64_t y = 0; y < picture.height; ++y)
      for (int64_t x = 0; x < picture.width; ++x) {
        const float value =
            static_cast<float>(picture.at(y, x, channel)) / static_cast<float>(picture.largest);
        values.push_back((value - static_cast<float>(form.meanOf(channel))) /
                         static_cast<float>(form.stdOf(channel)));
      }
  return values;
}

std::string writePictureRows(const std::vector<Labelled> &pictures, const std::vector<size_t> &rows,
                             const PicturesForm &form, PictureReader &reader, const std::string &output) {
  const Picture first = reader.read(pictures[rows[0]].path);
  const auto count = static_cast<int64_t>(rows.size());
  ArrayFile<float> pixels(output + "-pixels.npy", rt::DType::F32,
                          {count, first.channels, first.height, first.width});
  std::vector<int64_t> labels;
  for (const size_t row : rows) {
    pixels.write(planes(reader.read(pictures[row].path), form));
    labels.push_back(pictures[row].label);
  }
  ArrayFile<int64_t> labelFile(output + "-labels.npy", rt::DType::I64, {count});
  labelFile.write(labels);
  labelFile.commit();
  pixels.commit();
  return fmt::format("{} pictures of {} classes: {}-pixels.npy [{}, {}, {}, {}], {}-labels.npy\n", count,
                     form.classes.size(), output, count, first.channels, first.height, first.width, output);
}

} // namespace

std::string writePictures(const PicturesRequest &request) {
  PicturesForm form = formOf(request);
  const std::vector<Labelled> pictures = picturesOf(request.source, form);
  const RowSplit split = splitRows(pictures.size(), request.test, request.seed);
  if (request.standardize)
    learnMoments(pictures, split.training, form);
  PictureReader reader(form);
  std::string said = writePictureRows(pictures, split.training, form, reader, request.output);
  if (!split.test.empty())
    said += writePictureRows(pictures, split.test, form, reader, request.output + "-test");
  if (!request.like.empty())
    return said;
  writeForm(request.output, form.json());
  writeNames(request.output + "-classes.txt", form.classes);
  return said;
}

} // namespace kedge::driver
