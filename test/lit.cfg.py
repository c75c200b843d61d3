# lit tests of the project. Substitutions: %shared (golden models), %python (any Python 3),
# %test-python (one with onnx and onnxruntime), %inputs (files of the repository's tests), %build
# (the build tree), %simulated (a command's programs are those of --target cuda, on a simulated GPU).
# A test says REQUIRES: where it needs a feature. Features that a package brings are in test/run.py, with the package; others:
# `shared`, `faults`: cases as those of test/meaning; `aarch64` (programs for it are linked and emulated), `aarch64-units` (and
# unit tests of its kernels); `windows` (programs for it are linked and run by wine); `musl`, `aarch64-musl`; `android` (programs with musl are emulated); `macos` (programs for it are linked); `cortex-m` (a bare processor is emulated); `wasm`; `fail-malloc`; `cuda`; `no-nvidia-driver`, `no-cudnn`, `no-nccl`;
# `cudnn` (the real library, which plans without a GPU); `nccl`; `crash-pass` (%crash-pass, for kedge-opt --load-pass-plugin); `plugins` (%plugins: those of examples/out-of-tree);
# `network-namespaces` (root may make networks); `kedge-reduce`; `fuzz` (the fuzz targets were built); `wheel` (all that scripts/wheel.sh packs was built); `unit-compiled`;
# `address-sanitizer`; `avx512` (this machine); `release`.
# --param tier=quick leaves out the tests that test/tiers.txt names; --param since=COMMIT takes those back whose rooms differ;
# --param keep=1 keeps what passing tests wrote.
import ctypes
import glob
import os
import shutil
import subprocess
import sys

import lit.formats

sys.path.append(os.path.dirname(__file__))
import tier_format
import tiers

config.name = "kedge"
config.test_format = tier_format.Tier(tiers.left_out(lit_config.params.get("tier", "all"), lit_config.params.get("since")),
                                      "keep" in lit_config.params)
config.suffixes = [".mlir", ".test"]
config.excludes = ["Inputs", "unit", "simulated"]
config.test_source_root = os.path.dirname(__file__)
config.test_exec_root = os.path.join(config.kedge_binary_dir, "test")

config.environment["PATH"] = os.pathsep.join(
    [os.path.join(config.test_source_root, "support/bin"), os.path.join(config.kedge_binary_dir, "bin"), config.llvm_tools_dir,
     os.environ["PATH"]])
for variable in ("LSAN_OPTIONS", "ASAN_OPTIONS", "UBSAN_OPTIONS"):
    if variable in os.environ:
        config.environment[variable] = os.environ[variable]


# Session folders of mpirun's jobs (test/support/bin/mpirun).
config.environment["KEDGE_MPI_FILES"] = os.path.join(config.test_exec_root, "mpi")
os.makedirs(config.environment["KEDGE_MPI_FILES"], exist_ok=True)

# Tests share compiled kernels; those of another build of the compiler have other keys.
config.environment["KEDGE_KERNEL_CACHE"] = os.path.join(config.test_exec_root, "kernel-cache")



def has_packages(python, *packages):
    """Whether that interpreter finds the packages (without importing them)."""
    if not python:
        return False
    code = "import importlib.util, sys; sys.exit(not all(map(importlib.util.find_spec, sys.argv[1:])))"
    try:
        return subprocess.run([python, "-c", code, *packages], capture_output=True).returncode == 0
    except OSError:
        return False


if os.path.isdir(os.path.join(config.kedge_shared_dir, "models")):
    config.available_features.add("shared")
if os.path.isdir(os.path.join(config.kedge_shared_dir, "faults")):
    config.available_features.add("faults")
test_python = config.test_python or os.environ.get("KEDGE_TEST_PYTHON", "")
if has_packages(test_python, "onnx", "onnxruntime"):
    config.available_features.add("python-onnx")
torch_python = os.environ.get("KEDGE_TORCH_PYTHON", test_python)  # for the recipes of the guide alone
if has_packages(torch_python, "torch", "onnxscript"):
    config.available_features.add("python-torch")
tokenizers_python = os.environ.get("KEDGE_TOKENIZERS_PYTHON", test_python)
if has_packages(tokenizers_python, "tokenizers", "numpy"):
    config.available_features.add("python-tokenizers")
    config.substitutions.append(("%tokenizers-python", tokenizers_python))
if has_packages(torch_python, "torch", "onnxscript", "torchvision", "timm", "transformers"):
    config.available_features.add("python-torch-models")
if has_packages(torch_python, "torch", "onnxscript", "transformers", "peft"):
    config.available_features.add("python-peft")
# Frameworks whose exporters' files train: an environment each, of scripts/frameworks.sh or named by a variable.
frameworks = os.path.join(os.environ.get("XDG_CACHE_HOME", os.path.expanduser("~/.cache")), "kedge/frameworks")
for framework, packages in (("keras", ("keras", "tf2onnx")), ("flax", ("flax", "jax2onnx")), ("paddle", ("paddle", "paddle2onnx")),
                            ("sklearn", ("sklearn", "skl2onnx"))):
    interpreter = os.environ.get(f"KEDGE_{framework.upper()}_PYTHON", os.path.join(frameworks, framework, "bin/python"))
    if os.path.exists(interpreter) and has_packages(interpreter, *packages):
        config.available_features.add(f"python-{framework}")
        config.substitutions.append((f"%{framework}-python", interpreter))
shipped = os.environ.get("KEDGE_SHIPPED_FILES", os.path.join(frameworks, "shipped"))
if os.path.isdir(shipped):
    config.available_features.add("shipped-files")
    config.substitutions.append(("%shipped", shipped))
if shutil.which("mpirun"):
    config.available_features.add("mpirun")


def can_unshare():
    """Whether a process may have a network of its own here, as root."""
    if not all(map(shutil.which, ("unshare", "nsenter", "ip", "ss"))):
        return False
    made = ["unshare", "--net", "ip", "link", "add", "kedge-a", "type", "veth", "peer", "name", "kedge-b"]
    return subprocess.run(made, capture_output=True).returncode == 0


if can_unshare():
    config.available_features.add("network-namespaces")
cuda_folders = [os.environ.get("CUDA_HOME"), os.environ.get("CUDA_PATH"), "/usr/local/cuda"]
if shutil.which("ptxas") or any(folder and os.path.exists(f"{folder}/bin/ptxas") for folder in cuda_folders):
    config.available_features.add("ptxas")
for variable in ("CUDA_HOME", "CUDA_PATH"):
    if variable in os.environ:
        config.environment[variable] = os.environ[variable]
# The runtime of --target cuda is there, and the stand-ins for NVIDIA's libraries that its tests build.
if os.path.exists(os.path.join(config.kedge_binary_dir, "runtime", "libkedge_runtime_main_cuda.a")):
    config.available_features.add("cuda")
# Programs for 64-bit Arm can be linked and run.
wasm_libc = "/usr/lib/wasm32-wasi/libc.a"
if os.path.exists(wasm_libc) and all(map(shutil.which, ("clang", "wasm-ld", "node"))):
    config.available_features.add("wasm")
    config.substitutions.append(("%wasm-libc", wasm_libc))
if shutil.which("arm-none-eabi-gcc") and shutil.which("qemu-system-arm"):
    config.available_features.add("cortex-m")
if (os.path.exists(os.path.join(config.kedge_binary_dir, "runtime", "aarch64-linux", "libkedge_runtime_main.a"))
        and shutil.which("aarch64-linux-gnu-g++") and shutil.which("qemu-aarch64")):
    config.available_features.add("aarch64")
    if os.path.exists(os.path.join(config.kedge_binary_dir, "runtime", "aarch64-linux", "bin", "kedge-unit-kernels")):
        config.available_features.add("aarch64-units")
# Programs for Windows can be linked and run.
if (os.path.exists(os.path.join(config.kedge_binary_dir, "runtime", "x86_64-windows", "libkedge_runtime_main.a"))
        and shutil.which("x86_64-w64-mingw32-g++-posix") and shutil.which("wine")):
    config.available_features.add("windows")
    # A prefix of the build's own, without what wine would ask for.
    config.environment.update(WINEPREFIX=os.path.join(config.kedge_binary_dir, "wine"), WINEDEBUG="-all", WINEDLLOVERRIDES="mscoree,mshtml=")
# Programs for macOS can be linked.
if (all(os.path.exists(os.path.join(config.kedge_binary_dir, "runtime", f"{processor}-macos", "link", "libSystem.tbd")) for processor in ("aarch64", "x86_64"))
        and (shutil.which("ld64.lld") or os.path.exists(os.path.join(config.llvm_tools_dir, "ld64.lld")))):
    config.available_features.add("macos")
# The runtime for musl is there; the compiler that built it links.
if os.path.exists(os.path.join(config.kedge_binary_dir, "runtime", "x86_64-linux-musl", "libkedge_runtime_main.a")):
    config.available_features.add("musl")
if os.path.exists(os.path.join(config.kedge_binary_dir, "runtime", "aarch64-linux-musl", "libkedge_runtime_main.a")):
    if "aarch64" in config.available_features:
        config.available_features.add("aarch64-musl")
    if shutil.which("qemu-aarch64"):
        config.available_features.add("android")
if os.path.exists(os.path.join(config.kedge_binary_dir, "test", "fuzz", "libkedge-fail-malloc.so")):
    config.available_features.add("fail-malloc")
try:
    ctypes.CDLL("libcuda.so.1")
except OSError:
    config.available_features.add("no-nvidia-driver")
try:
    ctypes.CDLL("libcudnn.so.9")
except OSError:
    if not any(glob.glob(f"{folder}/lib*/libcudnn.so.9") for folder in [*filter(None, cuda_folders), "/usr/local/cuda-*"]):
        config.available_features.add("no-cudnn")
if "no-cudnn" not in config.available_features and os.path.exists(os.path.join(config.kedge_binary_dir, "bin/kedge-cudnn-plans")):
    config.available_features.add("cudnn")
try:
    ctypes.CDLL("libnccl.so.2")
except OSError:
    if not any(glob.glob(f"{folder}/lib*/libnccl.so.2") for folder in [*filter(None, cuda_folders), "/usr/local/cuda-*"]):
        config.available_features.add("no-nccl")
plugins = os.path.join(config.kedge_binary_dir, "test/plugins")
if os.path.exists(os.path.join(plugins, "snake.so")):
    config.available_features.add("plugins")
    config.substitutions.append(("%plugins", plugins))
if os.path.exists(os.path.join(config.kedge_binary_dir, "test", "kedge-crash-pass.so")):
    config.available_features.add("crash-pass")
    config.substitutions.append(("%crash-pass", os.path.join(config.kedge_binary_dir, "test", "kedge-crash-pass.so")))
if os.path.exists(os.path.join(config.kedge_binary_dir, "bin", "kedge-reduce")):
    config.available_features.add("kedge-reduce")
if os.path.exists(os.path.join(config.kedge_binary_dir, "bin", "kedge-lsp-server")):
    config.available_features.add("language-server")
if shutil.which("rustc"):
    config.available_features.add("rust")
if shutil.which("javac") and os.path.exists("/usr/share/java/jna.jar"): # Debian's libjna-java
    config.available_features.add("jna")
# The stand-in for NCCL is made with its header.
if os.path.exists(os.path.join(config.kedge_binary_dir, "bin/kedge-unit-compiled")):
    config.available_features.add("unit-compiled")
if os.path.exists(os.path.join(config.kedge_binary_dir, "test/unit/cuda/stubs/libnccl.so.2")):
    config.available_features.add("nccl")
if os.path.exists(os.path.join(config.kedge_binary_dir, "bin/kedge-all")):
    config.available_features.add("wheel")
if os.path.exists(os.path.join(config.kedge_binary_dir, "bin/kedge-fuzz-import")):
    config.available_features.add("fuzz")
if shutil.which("node"):
    config.available_features.add("node")
chromium = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
if chromium:
    config.available_features.add("chromium")
    config.substitutions.append(("%chromium-program", chromium))
    config.substitutions.append(("%chromium", f"{chromium} --headless --no-sandbox --disable-gpu --dump-dom"))

# A compiler that can watch a user's program for what a library does to its memory.
if not config.kedge_sanitizers:
    library = subprocess.run(["cc", "-print-file-name=libasan.so"], capture_output=True, text=True).stdout.strip()
    if os.path.isabs(library):
        config.available_features.add("address-sanitizer")

try:
    with open("/proc/cpuinfo") as processors:
        if "avx512vl" in processors.read():
            config.available_features.add("avx512")
except OSError:
    pass

# Installing and packing is for what users build, and takes what the build of `all` makes; what a process holds and which
# libraries it needs is not told by one with sanitizers.
if not config.kedge_sanitizers:
    config.available_features.add("release")
formatter = os.path.join(config.test_source_root, "../scripts/format.sh")
if subprocess.run([formatter, "--version"], capture_output=True).returncode == 0:
    config.available_features.add("clang-format")
checker = os.path.join(config.test_source_root, "../scripts/check/each_file.py")
if subprocess.run([config.python or "python3", checker, "--tidy"], capture_output=True).returncode == 0:
    config.available_features.add("clang-tidy")
# ONNX's backend node tests, of Debian's libonnx-testdata.
if os.path.isdir("/usr/share/libonnx-testdata/data/node"):
    config.available_features.add("onnx-node-tests")
    config.substitutions.append(("%node-tests", "/usr/share/libonnx-testdata/data/node"))
for tool in ("zsh", "fish"):
    if shutil.which(tool):
        config.available_features.add(tool)
if shutil.which("localedef") and os.path.isdir("/usr/share/i18n/charmaps"): # without Debian's package locales it has no character sets
    config.available_features.add("localedef")
if shutil.which("dpkg-deb") and shutil.which("dpkg-shlibdeps") and shutil.which("cpack"):
    config.available_features.add("dpkg")

# As scripts/check/fuzz.sh has it.
if config.kedge_sanitizers:
    config.environment["ASAN_OPTIONS"] = "detect_leaks=0:allocator_may_return_null=1:allow_user_poisoning=0"
    config.environment["UBSAN_OPTIONS"] = "halt_on_error=1"
# What a build with sanitizers links programs with that use its libraries; nothing in others.
config.substitutions.append(("%sanitizers", config.kedge_sanitizers))
# At most 3 GB of address space for what follows; sanitizers take terabytes of it.
config.substitutions.append(("%three-gigabytes", "true" if config.kedge_sanitizers else "ulimit -v 3000000"))
# Runs what follows on --target cuda, simulated (test/cuda/simulated).
config.substitutions.append(("%simulated", " ".join([
    "env", f"KEDGE_BUILD={config.kedge_binary_dir}",
    f"PATH={config.test_source_root}/cuda/simulated:{config.environment['PATH']}"])))
config.substitutions.append(("%shared", os.path.realpath(config.kedge_shared_dir)))
config.substitutions.append(("%build", config.kedge_binary_dir))
config.substitutions.append(("%inputs", os.path.join(config.test_source_root, "Inputs")))
config.substitutions.append(("%test-python", test_python or "python3"))
config.substitutions.append(("%torch-python", torch_python or "python3"))
# The interpreter that runs lit, not a wrapper that looks for one at each start.
config.substitutions.append(("%python", sys.executable or config.python))
