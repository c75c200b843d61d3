#include "test/support/PtxFunctions.h"
#include "runtime/format/Float16.h"
#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>
#include <unordered_map>

namespace kedge::test {
namespace {

using rt::BFloat16;
using rt::Float16;
using Table = std::unordered_map<std::string, PtxFunction>;

template <class T> T as(uint64_t bits) {
  T value;
  std::memcpy(static_cast<void *>(&value), &bits, sizeof value);
  return value;
}
template <class T> uint64_t bitsOf(T value) {
  static_assert(sizeof value <= sizeof(uint64_t));
  uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof value);
  return bits;
}

/// F of values of T, as a function of registers.
template <class T, auto F> uint64_t of1(uint64_t a, uint64_t, uint64_t) { return bitsOf(T(F(as<T>(a)))); }
template <class T, auto F> uint64_t of2(uint64_t a, uint64_t b, uint64_t) {
  return bitsOf(T(F(as<T>(a), as<T>(b))));
}
template <class T, auto F> uint64_t of3(uint64_t a, uint64_t b, uint64_t c) {
  return bitsOf(T(F(as<T>(a), as<T>(b), as<T>(c))));
}
/// The same of pairs of values in one register.
template <class T> constexpr int kBits = 8 * sizeof(T);
template <class T, auto F> uint64_t ofPairs(uint64_t a, uint64_t b, uint64_t c) {
  const auto half = [](uint64_t bits) { return as<T>(bits >> kBits<T>); };
  return bitsOf(T(F(as<T>(a), as<T>(b), as<T>(c)))) | bitsOf(T(F(half(a), half(b), half(c)))) << kBits<T>;
}
/// F of values of T as values of V.
template <class T, class V, auto F> uint64_t compared(uint64_t a, uint64_t b, uint64_t) {
  return F(V(as<T>(a)), V(as<T>(b)));
}

template <class T> bool isNan(T x) { return x != x; }

constexpr auto plus = [](auto a, auto b) { return a + b; };
constexpr auto minus = [](auto a, auto b) { return a - b; };
constexpr auto times = [](auto a, auto b) { return a * b; };
constexpr auto quotient = [](auto a, auto b) { return a / b; };
/// 0 for a division by zero, whose result PTX leaves open.
constexpr auto wholeQuotient = [](auto a, auto b) { return b == 0 ? 0 : a / b; };
constexpr auto remainderOf = [](auto a, auto b) { return b == 0 ? 0 : a % b; };
constexpr auto larger = [](auto a, auto b) { return isNan(a) || (!isNan(b) && b > a) ? b : a; };
constexpr auto smaller = [](auto a, auto b) { return isNan(a) || (!isNan(b) && b < a) ? b : a; };
constexpr auto largerOrNan = [](auto a, auto b) { return isNan(a) ? a : isNan(b) || b > a ? b : a; };
constexpr auto smallerOrNan = [](auto a, auto b) { return isNan(a) ? a : isNan(b) || b < a ? b : a; };
constexpr auto fused = [](auto a, auto b, auto c) { return std::fma(a, b, c); };
constexpr auto sumOfPair = [](auto a, auto b, auto) { return a + b; };
constexpr auto differenceOfPair = [](auto a, auto b, auto) { return a - b; };
constexpr auto productOfPair = [](auto a, auto b, auto) { return a * b; };

template <class T, class V = T> void addComparisons(Table &table, const std::string &type) {
  const std::string name = "setp.";
  table[name + "eq." + type] = compared<T, V, [](V a, V b) { return a == b; }>;
  table[name + "ne." + type] = compared<T, V, [](V a, V b) { return a != b && !isNan(a) && !isNan(b); }>;
  const auto order = [&](const char *signedName, const char *unsignedName, PtxFunction function) {
    table[name + signedName + "." + type] = function;
    if (std::is_unsigned_v<T>)
      table[name + unsignedName + "." + type] = function;
  };
  order("lt", "lo", compared<T, V, [](V a, V b) { return a < b; }>);
  order("le", "ls", compared<T, V, [](V a, V b) { return a <= b; }>);
  order("gt", "hi", compared<T, V, ([](V a, V b) { return a > b; })>);
  order("ge", "hs", compared<T, V, [](V a, V b) { return a >= b; }>);
}

/// Those that hold for a NaN as well.
template <class T, class V = T> void addUnordered(Table &table, const std::string &type) {
  table["setp.num." + type] = compared<T, V, [](V a, V b) { return !isNan(a) && !isNan(b); }>;
  table["setp.nan." + type] = compared<T, V, [](V a, V b) { return isNan(a) || isNan(b); }>;
  table["setp.equ." + type] = compared<T, V, [](V a, V b) { return isNan(a) || isNan(b) || a == b; }>;
  table["setp.neu." + type] = compared<T, V, [](V a, V b) { return !(a == b); }>;
  table["setp.ltu." + type] = compared<T, V, [](V a, V b) { return !(a >= b); }>;
  table["setp.leu." + type] = compared<T, V, ([](V a, V b) { return !(a > b); })>;
  table["setp.gtu." + type] = compared<T, V, [](V a, V b) { return !(a <= b); }>;
  table["setp.geu." + type] = compared<T, V, [](V a, V b) { return !(a < b); }>;
}

template <class T> uint64_t shiftedRight(uint64_t a, uint64_t b, uint64_t) {
  const uint64_t by = as<uint32_t>(b);
  if (by >= kBits<T>)
    return bitsOf(T(as<T>(a) < T(0) ? -1 : 0));
  return bitsOf(T(as<T>(a) >> by));
}
template <class T> uint64_t shiftedLeft(uint64_t a, uint64_t b, uint64_t) {
  const uint64_t by = as<uint32_t>(b);
  return by >= kBits<T> ? 0 : bitsOf(T(a << by));
}

template <class T, class Wide> void addWhole(Table &table, const std::string &type) {
  // Without overflow that C++ leaves open.
  using U = std::make_unsigned_t<T>;
  table["add." + type] = of2<U, plus>;
  table["sub." + type] = of2<U, minus>;
  table["mul.lo." + type] = [](uint64_t a, uint64_t b, uint64_t) { return bitsOf(U(a * b)); };
  table["mad.lo." + type] = [](uint64_t a, uint64_t b, uint64_t c) { return bitsOf(U(a * b + c)); };
  table["mul.hi." + type] = [](uint64_t a, uint64_t b, uint64_t) {
    return bitsOf(T(Wide(as<T>(a)) * Wide(as<T>(b)) >> kBits<T>));
  };
  if constexpr (sizeof(T) < 8) {
    table["mul.wide." + type] = [](uint64_t a, uint64_t b, uint64_t) {
      return bitsOf(Wide(Wide(as<T>(a)) * Wide(as<T>(b))));
    };
    table["mad.wide." + type] = [](uint64_t a, uint64_t b, uint64_t c) {
      return bitsOf(std::make_unsigned_t<Wide>(Wide(as<T>(a)) * Wide(as<T>(b)) + c));
    };
  }
  table["div." + type] = of2<T, wholeQuotient>;
  table["rem." + type] = of2<T, remainderOf>;
  table["min." + type] = of2<T, smaller>;
  table["max." + type] = of2<T, larger>;
  table["neg." + type] = [](uint64_t a, uint64_t, uint64_t) { return bitsOf(U(0 - a)); };
  table["abs." + type] = [](uint64_t a, uint64_t, uint64_t) {
    return as<T>(a) < T(0) ? bitsOf(U(0 - a)) : a;
  };
  table["shr." + type] = shiftedRight<T>;
  table["bfe." + type] = [](uint64_t a, uint64_t b, uint64_t c) {
    const uint64_t from = b & 255, length = c & 255;
    if (length == 0)
      return uint64_t(0);
    const uint64_t mask = length >= 64 ? ~uint64_t(0) : (uint64_t(1) << length) - 1;
    const uint64_t whole = bitsOf(int64_t(as<T>(a)));
    const uint64_t found = (from >= 64 ? 0 : whole >> from) & mask;
    const bool isNegative = std::is_signed_v<T> && (found >> std::min<uint64_t>(length - 1, 63) & 1);
    return bitsOf(U(isNegative ? found | ~mask : found));
  };
  addComparisons<T>(table, type);
}

template <class T> void addBits(Table &table, const std::string &type) {
  table["and." + type] = of2<T, [](T a, T b) { return a & b; }>;
  table["or." + type] = of2<T, [](T a, T b) { return a | b; }>;
  table["xor." + type] = of2<T, [](T a, T b) { return a ^ b; }>;
  table["not." + type] = of1<T, [](T a) { return ~a; }>;
  table["shl." + type] = shiftedLeft<T>;
  table["shr." + type] = shiftedRight<T>;
  table["mov." + type] = of1<T, [](T a) { return a; }>;
  table["selp." + type] = [](uint64_t a, uint64_t b, uint64_t c) { return bitsOf(as<T>(c & 1 ? a : b)); };
  table["setp.eq." + type] = compared<T, T, [](T a, T b) { return a == b; }>;
  table["setp.ne." + type] = compared<T, T, [](T a, T b) { return a != b; }>;
  table["popc." + type] = [](uint64_t a, uint64_t, uint64_t) { return uint64_t(std::popcount(as<T>(a))); };
  table["clz." + type] = [](uint64_t a, uint64_t, uint64_t) { return uint64_t(std::countl_zero(as<T>(a))); };
}

void addPredicates(Table &table) {
  table["and.pred"] = [](uint64_t a, uint64_t b, uint64_t) { return a & b & 1; };
  table["or.pred"] = [](uint64_t a, uint64_t b, uint64_t) { return (a | b) & 1; };
  table["xor.pred"] = [](uint64_t a, uint64_t b, uint64_t) { return (a ^ b) & 1; };
  table["not.pred"] = [](uint64_t a, uint64_t, uint64_t) { return ~a & 1; };
  table["mov.pred"] = [](uint64_t a, uint64_t, uint64_t) { return a & 1; };
}

template <class T> void addReal(Table &table, const std::string &type) {
  table["add.rn." + type] = of2<T, plus>;
  table["sub.rn." + type] = of2<T, minus>;
  table["mul.rn." + type] = of2<T, times>;
  table["div.rn." + type] = of2<T, quotient>;
  table["fma.rn." + type] = of3<T, fused>;
  table["sqrt.rn." + type] = of1<T, [](T a) { return std::sqrt(a); }>;
  table["rcp.rn." + type] = of1<T, [](T a) { return 1 / a; }>;
  table["min." + type] = of2<T, smaller>;
  table["max." + type] = of2<T, larger>;
  table["min.NaN." + type] = of2<T, smallerOrNan>;
  table["max.NaN." + type] = of2<T, largerOrNan>;
  table["neg." + type] = of1<T, [](T a) { return -a; }>;
  table["abs." + type] = of1<T, [](T a) { return std::abs(a); }>;
  table["copysign." + type] = of2<T, [](T a, T b) { return std::copysign(b, a); }>;
  table["mov." + type] = of1<T, [](T a) { return a; }>;
  table["selp." + type] = [](uint64_t a, uint64_t b, uint64_t c) { return bitsOf(as<T>(c & 1 ? a : b)); };
  addComparisons<T>(table, type);
  addUnordered<T>(table, type);
}

void addApproximations(Table &table) {
  table["ex2.approx.ftz.f32"] = of1<float, [](float x) { return x < -126 ? 0 : std::exp2(x); }>;
  table["rcp.approx.ftz.f32"] = of1<float, [](float x) {
    const float inverse = 1 / x;
    return std::abs(inverse) < 0x1p-126f ? std::copysign(0.0f, x) : inverse;
  }>;
}

/// A device's NaNs of 16 bits are one.
template <class T> uint64_t narrowedTo(uint64_t bits) {
  const float x = as<float>(bits);
  return isNan(x) ? 0x7fff : bitsOf(T(x));
}

/// To nearest even with `digits` binary places behind the point, no exponent below `least`; larger numbers
/// become the largest, whose code is `top`.
template <int digits, int least, int top> uint64_t narrowedToFloat8(uint64_t bits) {
  const float x = as<float>(bits);
  if (isNan(x))
    return 0x7f;
  const uint64_t sign = std::signbit(x) ? 0x80 : 0;
  if (x == 0 || std::isinf(x))
    return sign | (x == 0 ? 0 : top);
  const int unit = std::max(std::ilogb(x), least) - digits;
  // A carry enters the exponent.
  const double whole = std::nearbyint(std::ldexp(std::abs(double(x)), -unit));
  const double code = whole + std::ldexp(double(unit + digits - least), digits);
  return sign | uint64_t(std::min(code, double(top)));
}

template <auto Narrow> uint64_t narrowedPair(uint64_t upper, uint64_t lower, uint64_t) {
  return Narrow(lower) | Narrow(upper) << 8;
}

template <class T> void addHalf(Table &table, const std::string &type) {
  table["add.rn." + type] = of2<T, [](T a, T b) { return float(a) + float(b); }>;
  table["sub.rn." + type] = of2<T, [](T a, T b) { return float(a) - float(b); }>;
  table["mul.rn." + type] = of2<T, [](T a, T b) { return float(a) * float(b); }>;
  addComparisons<T, float>(table, type);
  addUnordered<T, float>(table, type);
  table["add.rn." + type + "x2"] = ofPairs<T, [](T a, T b, T) { return T(float(a) + float(b)); }>;
  table["sub.rn." + type + "x2"] = ofPairs<T, [](T a, T b, T) { return T(float(a) - float(b)); }>;
  table["mul.rn." + type + "x2"] = ofPairs<T, [](T a, T b, T) { return T(float(a) * float(b)); }>;
  table["cvt.f32." + type] = [](uint64_t a, uint64_t, uint64_t) { return bitsOf(float(as<T>(a))); };
  table["cvt.rn." + type + ".f32"] = [](uint64_t a, uint64_t, uint64_t) { return narrowedTo<T>(a); };
  // The first operand is the upper half.
  table["cvt.rn." + type + "x2.f32"] = [](uint64_t a, uint64_t b, uint64_t) {
    return narrowedTo<T>(b) | narrowedTo<T>(a) << 16;
  };
  // Of sm_100: factors, or the first term, of 16 bits, the sum in f32.
  table["add.rn.f32." + type] = [](uint64_t a, uint64_t b, uint64_t) {
    return bitsOf(float(as<T>(a)) + as<float>(b));
  };
  table["sub.rn.f32." + type] = [](uint64_t a, uint64_t b, uint64_t) {
    return bitsOf(float(as<T>(a)) - as<float>(b));
  };
  table["fma.rn.f32." + type] = [](uint64_t a, uint64_t b, uint64_t c) {
    return bitsOf(std::fma(float(as<T>(a)), float(as<T>(b)), as<float>(c)));
  };
}

void addPairs(Table &table) {
  table["add.rn.f32x2"] = ofPairs<float, sumOfPair>;
  table["sub.rn.f32x2"] = ofPairs<float, differenceOfPair>;
  table["mul.rn.f32x2"] = ofPairs<float, productOfPair>;
  table["fma.rn.f32x2"] = ofPairs<float, fused>;
}

/// Values beyond the range are its ends, NaN is 0.
template <class To, class From> To saturated(From x) {
  if (isNan(x))
    return 0;
  const double limit = std::ldexp(1.0, kBits<To> - std::is_signed_v<To>);
  if (double(x) >= limit)
    return std::numeric_limits<To>::max();
  return double(x) <= double(std::numeric_limits<To>::min()) ? std::numeric_limits<To>::min() : To(x);
}

constexpr auto down = [](auto x) { return std::floor(x); };
constexpr auto up = [](auto x) { return std::ceil(x); };
constexpr auto toZero = [](auto x) { return std::trunc(x); };
constexpr auto nearest = [](auto x) { return std::nearbyint(x); };

/// Of values of Real, computed as V.
template <class Real, class V, auto Round>
void addRounding(Table &table, const std::string &mode, const std::string &real) {
  table["cvt." + mode + "." + real + "." + real] = of1<Real, [](Real x) { return Round(V(x)); }>;
  const auto whole = [&]<class To>(To, const char *to) {
    table["cvt." + mode + "." + to + "." + real] = [](uint64_t a, uint64_t, uint64_t) {
      return bitsOf(saturated<To>(Round(V(as<Real>(a)))));
    };
  };
  whole(int16_t(), "s16"), whole(uint16_t(), "u16"), whole(int32_t(), "s32"), whole(uint32_t(), "u32");
  whole(int64_t(), "s64"), whole(uint64_t(), "u64");
}

template <class Real, class V = Real> void addRoundings(Table &table, const std::string &real) {
  addRounding<Real, V, down>(table, "rmi", real);
  addRounding<Real, V, up>(table, "rpi", real);
  addRounding<Real, V, toZero>(table, "rzi", real);
  addRounding<Real, V, nearest>(table, "rni", real);
}

template <class To, class From> uint64_t converted(uint64_t a, uint64_t, uint64_t) {
  return bitsOf(To(as<From>(a)));
}

template <class From> void addConversionsOf(Table &table, const std::string &from) {
  table["cvt.s8." + from] = converted<int8_t, From>;
  table["cvt.u8." + from] = converted<uint8_t, From>;
  table["cvt.s16." + from] = converted<int16_t, From>;
  table["cvt.u16." + from] = converted<uint16_t, From>;
  table["cvt.s32." + from] = converted<int32_t, From>;
  table["cvt.u32." + from] = converted<uint32_t, From>;
  table["cvt.s64." + from] = converted<int64_t, From>;
  table["cvt.u64." + from] = converted<uint64_t, From>;
  table["cvt.rn.f32." + from] = converted<float, From>;
  table["cvt.rn.f64." + from] = converted<double, From>;
}

/// Byte `selector` of two words; with the selector's upper bit its sign.
uint64_t permuted(uint64_t a, uint64_t b, uint64_t selector) {
  const uint64_t bytes = uint64_t(as<uint32_t>(b)) << 32 | as<uint32_t>(a);
  uint64_t result = 0;
  for (int at = 0; at < 4; ++at) {
    const uint64_t which = selector >> (4 * at) & 15, byte = bytes >> (8 * (which & 7)) & 255;
    result |= (which & 8 ? (byte & 128 ? 255 : 0) : byte) << (8 * at);
  }
  return result;
}

Table makeTable() {
  Table table;
  addWhole<int16_t, int32_t>(table, "s16");
  addWhole<uint16_t, uint32_t>(table, "u16");
  addWhole<int32_t, int64_t>(table, "s32");
  addWhole<uint32_t, uint64_t>(table, "u32");
  addWhole<int64_t, __int128>(table, "s64");
  addWhole<uint64_t, unsigned __int128>(table, "u64");
  addBits<uint16_t>(table, "b16");
  addBits<uint32_t>(table, "b32");
  addBits<uint64_t>(table, "b64");
  for (const char *size : {"16", "32", "64"})
    for (const char *kind : {"u", "s"})
      table[std::string("mov.") + kind + size] = table[std::string("mov.b") + size];
  table["cvta.global.u64"] = table["mov.b64"]; // global addresses are generic ones
  addPredicates(table);
  addReal<float>(table, "f32");
  addReal<double>(table, "f64");
  addApproximations(table);
  addHalf<Float16>(table, "f16");
  addHalf<BFloat16>(table, "bf16");
  addPairs(table);
  addRoundings<float>(table, "f32");
  addRoundings<double>(table, "f64");
  addRoundings<Float16, float>(table, "f16");
  addRoundings<BFloat16, float>(table, "bf16");
  addConversionsOf<int8_t>(table, "s8");
  addConversionsOf<uint8_t>(table, "u8");
  addConversionsOf<int16_t>(table, "s16");
  addConversionsOf<uint16_t>(table, "u16");
  addConversionsOf<int32_t>(table, "s32");
  addConversionsOf<uint32_t>(table, "u32");
  addConversionsOf<int64_t>(table, "s64");
  addConversionsOf<uint64_t>(table, "u64");
  table["cvt.f64.f32"] = converted<double, float>;
  table["cvt.rn.f32.f64"] = converted<float, double>;
  table["cvt.rn.satfinite.e4m3x2.f32"] = narrowedPair<narrowedToFloat8<3, -6, 0x7e>>;
  table["cvt.rn.satfinite.e5m2x2.f32"] = narrowedPair<narrowedToFloat8<2, -14, 0x7b>>;
  table["prmt.b32"] = permuted;
  return table;
}

} // namespace

PtxFunction ptxFunction(const std::string &mnemonic) {
  static const Table table = makeTable();
  const auto found = table.find(mnemonic);
  return found == table.end() ? nullptr : found->second;
}

} // namespace kedge::test
