// Pictures in .png and .jpeg files, by libpng and libjpeg.
#include "driver/data/Picture.h"
#include "lib/Support/Error.h"
#include "runtime/io/FileMap.h"
#include <cstdio>
#ifdef KEDGE_PNG
#include <png.h>
#endif
#ifdef KEDGE_JPEG
#include <csetjmp>
#include <jerror.h>
#include <jpeglib.h>
#endif

namespace kedge::driver {

#ifdef KEDGE_PNG
Picture readPng(const std::string &path) {
  const rt::FileMap file(path, "picture");
  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  if (!png_image_begin_read_from_memory(&image, file.data(), file.size()))
    fail("{}: is no picture that libpng reads: {}", path, static_cast<const char *>(image.message));
  const bool colours = (image.format & PNG_FORMAT_FLAG_COLOR) != 0;
  image.format = colours ? PNG_FORMAT_RGB : PNG_FORMAT_GRAY;
  Picture picture{image.height, image.width, colours ? 3 : 1, 255, {}};
  picture.pixels.resize(PNG_IMAGE_SIZE(image));
  const png_color black{};
  if (!png_image_finish_read(&image, &black, picture.pixels.data(), 0, nullptr)) {
    const std::string reason = image.message;
    png_image_free(&image);
    fail("{}: is damaged: {}", path, reason);
  }
  return picture;
}
#else
Picture readPng(const std::string &path) {
  fail("{}: this build of kedge reads no .png: libpng was not there (libpng-dev in Debian); convert the "
       "picture to .ppm",
       path);
}
#endif

#ifdef KEDGE_JPEG
namespace {

struct JpegError {
  jpeg_error_mgr manager;
  jmp_buf back;
  char text[JMSG_LENGTH_MAX];
};

void leaveJpeg(j_common_ptr decoder) {
  auto *error = reinterpret_cast<JpegError *>(decoder->err);
  decoder->err->format_message(decoder, error->text);
  longjmp(error->back, 1);
}

/// libjpeg takes a file that ends early, and makes the rest of its pixels up.
void noteJpeg(j_common_ptr decoder, int level) {
  if (level < 0 && decoder->err->msg_code == JWRN_JPEG_EOF)
    leaveJpeg(decoder);
}

/// False with the reason in `error` if the file is none. Nothing here has a destructor: longjmp passes it.
bool decodeJpeg(const rt::FileMap &file, Picture &picture, JpegError &error) {
  jpeg_decompress_struct decoder{};
  decoder.err = jpeg_std_error(&error.manager);
  error.manager.error_exit = leaveJpeg;
  error.manager.emit_message = noteJpeg;
  if (setjmp(error.back) != 0) {
    jpeg_destroy_decompress(&decoder);
    return false;
  }
  jpeg_create_decompress(&decoder);
  jpeg_mem_src(&decoder, reinterpret_cast<const unsigned char *>(file.data()), file.size());
  jpeg_read_header(&decoder, TRUE);
  decoder.out_color_space = decoder.jpeg_color_space == JCS_GRAYSCALE ? JCS_GRAYSCALE : JCS_RGB;
  jpeg_start_decompress(&decoder);
  picture.height = decoder.output_height;
  picture.width = decoder.output_width;
  picture.channels = decoder.output_components;
  picture.pixels.resize(static_cast<size_t>(picture.height * picture.width * picture.channels));
  while (decoder.output_scanline < decoder.output_height) {
    JSAMPROW row = picture.pixels.data() +
                   static_cast<size_t>(decoder.output_scanline * picture.width * picture.channels);
    jpeg_read_scanlines(&decoder, &row, 1);
  }
  jpeg_finish_decompress(&decoder);
  jpeg_destroy_decompress(&decoder);
  return true;
}

} // namespace

Picture readJpeg(const std::string &path) {
  const rt::FileMap file(path, "picture");
  Picture picture;
  JpegError error{};
  if (!decodeJpeg(file, picture, error))
    fail("{}: {}: {}", path,
         error.manager.msg_code == JWRN_JPEG_EOF ? "is damaged" : "is no picture that libjpeg reads",
         static_cast<const char *>(error.text));
  return picture;
}
#else
Picture readJpeg(const std::string &path) {
  fail("{}: this build of kedge reads no .jpeg: libjpeg was not there (libjpeg-dev in Debian); convert the "
       "picture to .ppm",
       path);
}
#endif

} // namespace kedge::driver
