// Heads whose codes lie apart in high and low bits: the same products, and the same largest result of each row although
// most tiles are read to their high bits alone.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include <gtest/gtest.h>

#include "backends/cpu/cpu_backend.h"
#include "backends/cpu/cpu_memory.h"
#include "backends/cpu/screening.h"
#include "backends/kernel_fixture.h"
#include "quant/q8_0.h"
#include "support/random_seed.h"

namespace vitrine::backends::cpu {
namespace {

constexpr float kEndless = std::numeric_limits<float>::infinity();

// A weight of Q8_0 whose blocks can be changed one by one.
struct BlockHead {
  BlockHead(std::size_t out_features, std::size_t in_features)
      : width(in_features), blocks(out_features * in_features / 32) {}

  std::size_t num_rows() const { return blocks.size() * 32 / width; }
  quant::BlockQ8_0* row(std::size_t row_idx) { return blocks.data() + row_idx * width / 32; }
  void copy_row(std::size_t from, std::size_t to) { std::copy_n(row(from), width / 32, row(to)); }
  void set_scales(std::size_t row_idx, base::Float16 scale) {
    for (std::size_t i = 0; i < width / 32; ++i)
      row(row_idx)[i].d = scale;
  }
  tensor::TensorView view() const {
    return {tensor::DType::kQ8_0, {num_rows(), width}, reinterpret_cast<const std::byte*>(blocks.data())};
  }
  // Activations that the row's product is large for.
  std::vector<float> along(std::size_t row_idx) {
    std::vector<float> x(width);
    quant::find_quant_format(tensor::DType::kQ8_0)->decode(view().row(row_idx), x.data(), width);
    return x;
  }

  std::size_t width;
  std::vector<quant::BlockQ8_0> blocks;
};

BlockHead random_head(std::mt19937& random, std::size_t out_features, std::size_t in_features) {
  BlockHead head(out_features, in_features);
  std::normal_distribution<float> normal(0.0F, 40.0F);
  for (quant::BlockQ8_0& block : head.blocks) {
    block.d = base::to_float16(0.001F * static_cast<float>(1 + random() % 4));
    for (std::int8_t& code : block.qs)
      code = static_cast<std::int8_t>(std::clamp(std::lround(normal(random)), -128L, 127L));
  }
  return head;
}

// One head in both layouts.
struct TwoLayouts {
  TwoLayouts(const BlockHead& head, Isa isa, std::size_t num_threads, PathTable paths = {})
      : whole_backend({.isa = isa, .num_threads = num_threads, .paths = paths, .screening = HeadScreening::kNever}),
        split_backend({.isa = isa, .num_threads = num_threads, .paths = paths, .screening = HeadScreening::kAlways}),
        whole(whole_backend.load_matrix(head.view(), ops::MatrixUse::kHead)),
        split(split_backend.load_matrix(head.view(), ops::MatrixUse::kHead)) {}

  std::vector<float> rows(bool is_split, std::vector<float> x) {
    const ops::Matrix& matrix = is_split ? *split : *whole;
    const std::size_t num_rows = x.size() / matrix.in_features();
    std::vector<float> out(num_rows * matrix.out_features());
    const std::vector<ops::Role> roles(num_rows, ops::Role::kGenerated);
    const ops::MatmulOutput output{&matrix, {out.data(), num_rows, matrix.out_features()}};
    backend(is_split).matmul({x.data(), num_rows, matrix.in_features()}, roles, {&output, 1});
    return out;
  }
  std::vector<std::optional<base::RowPeak>> peaks(bool is_split, std::vector<float> x) {
    const ops::Matrix& matrix = is_split ? *split : *whole;
    std::vector<std::optional<base::RowPeak>> peaks(x.size() / matrix.in_features());
    const std::vector<ops::Role> roles(peaks.size(), ops::Role::kGenerated);
    EXPECT_TRUE(backend(is_split).matmul_peaks({x.data(), peaks.size(), matrix.in_features()}, roles, matrix, peaks));
    return peaks;
  }
  void expect_same_peaks(const std::vector<float>& x) {
    const auto wanted = peaks(false, x);
    const auto found = peaks(true, x);
    for (std::size_t row = 0; row < wanted.size(); ++row) {
      ASSERT_EQ(found[row].has_value(), wanted[row].has_value()) << "row " << row;
      if (!wanted[row]) continue;
      EXPECT_EQ(std::bit_cast<std::uint32_t>(found[row]->value), std::bit_cast<std::uint32_t>(wanted[row]->value));
      EXPECT_EQ(found[row]->position, wanted[row]->position) << "row " << row;
    }
  }
  CpuBackend& backend(bool is_split) { return is_split ? split_backend : whole_backend; }
  std::size_t num_screened() const { return split_backend.num_screened_products(); }

  CpuBackend whole_backend;
  CpuBackend split_backend;
  std::unique_ptr<ops::Matrix> whole;
  std::unique_ptr<ops::Matrix> split;
};

std::vector<float> joined(std::initializer_list<std::vector<float>> rows) {
  std::vector<float> all;
  for (const std::vector<float>& row : rows)
    all.insert(all.end(), row.begin(), row.end());
  return all;
}

TEST(SplitHead, ProductsHaveTheBitsOfWholeCodes) {
  testing::Random random(41);
  std::mt19937 numbers(41);
  for (const auto& [out_features, in_features] : {std::pair{1U, 32U}, {37U, 96U}, {100U, 640U}, {48U, 1280U}}) {
    const BlockHead head = random_head(numbers, out_features, in_features);
    for (const Isa isa : supported_isas()) {
      TwoLayouts layouts(head, isa, 2);
      for (const std::size_t num_rows : {1U, 2U, 7U, 33U, 131U}) {
        const std::vector<float> x = random.normal(num_rows * in_features);
        EXPECT_EQ(layouts.rows(true, x), layouts.rows(false, x)) << isa_name(isa) << " " << num_rows;
      }
    }
  }
}

TEST(SplitHead, EveryCodeIsKept) {
  BlockHead head(21, 256);
  for (std::size_t i = 0; i < head.blocks.size(); ++i) {
    head.blocks[i].d = base::to_float16(0.5F);
    for (std::size_t k = 0; k < 32; ++k)
      head.blocks[i].qs[k] = static_cast<std::int8_t>(static_cast<int>((32 * i + k + i / 8) % 256) - 128);
  }
  for (const Isa isa : supported_isas()) {
    for (const NumericPath path : {NumericPath::kLatency, NumericPath::kThroughput}) {
      TwoLayouts layouts(head, isa, 1, {path, path});
      std::vector<float> x(3 * 256, 0.0F);
      for (std::size_t row = 0; row < 3; ++row)
        x[row * 256 + 77 * row] = 1.0F;
      EXPECT_EQ(layouts.rows(true, x), layouts.rows(false, x)) << isa_name(isa);
    }
    CpuBackend backend({.isa = isa, .paths = {}, .screening = HeadScreening::kAlways});
    const auto matrix = backend.load_matrix(head.view(), ops::MatrixUse::kHead);
    const std::vector<TokenId> ids = {20, 0, 7};
    std::vector<float> from_file(3 * 256);
    std::vector<float> from_matrix(3 * 256);
    backend.embed(head.view(), ids, 1.5F, {from_file.data(), 3, 256});
    backend.embed(*matrix, ids, 1.5F, {from_matrix.data(), 3, 256});
    EXPECT_EQ(from_file, from_matrix) << isa_name(isa);
  }
}

TEST(SplitHead, IsForLargeHeadsOfQ8_0) {
  const auto pays = [](ops::MatrixSize size) { return is_screened(size, HeadScreening::kWhereItPays); };
  EXPECT_TRUE(pays({tensor::DType::kQ8_0, 262'144, 640, ops::MatrixUse::kHead}));
  EXPECT_FALSE(pays({tensor::DType::kQ8_0, 49'152, 576, ops::MatrixUse::kHead}));
  EXPECT_FALSE(pays({tensor::DType::kQ8_0, 262'144, 5'376, ops::MatrixUse::kHead})) << "wide inputs";
  EXPECT_FALSE(pays({tensor::DType::kQ8_0, 128, 2'048, ops::MatrixUse::kHead})) << "a router";
  EXPECT_FALSE(pays({tensor::DType::kQ8_0, 262'144, 640, ops::MatrixUse::kLayer}));
  EXPECT_FALSE(pays({tensor::DType::kQ6_K, 262'144, 768, ops::MatrixUse::kHead}));
}

TEST(SplitHead, ThePlanKnowsItsMemory) {
  const BlockHead head(100'003, 32);
  CpuBackend backend({.isa = supported_isas().back(), .num_threads = 2, .paths = {}});
  const auto matrix = backend.load_matrix(head.view(), ops::MatrixUse::kHead);
  EXPECT_EQ(packed(*matrix).kind(), PackedKind::kSplitQ8_0);
  const ops::MatrixSize size{tensor::DType::kQ8_0, 100'003, 32, ops::MatrixUse::kHead};
  const CpuMemory memory(supported_isas().back(), {}, 2);
  EXPECT_EQ(memory.matrix_bytes(size), matrix->size_bytes());
  EXPECT_EQ(memory.read_bytes(size), matrix->read_bytes());
  EXPECT_LT(matrix->read_bytes(), matrix->size_bytes());
}

// The bounds themselves, of the scalar definition and of every instruction set, which agree to the bit.
TEST(Screening, NoResultIsAboveItsTilesCeilingOrTheSureTileBelowItsFloor) {
  std::mt19937 numbers(testing::random_seed());
  for (const std::size_t width : {32U, 640U, 2048U}) {
    const BlockHead head = random_head(numbers, 200, width);
    std::vector<float> wanted;
    for (const Isa isa : supported_isas()) {
      TwoLayouts layouts(head, isa, 1);
      testing::Random random(43);
      std::vector<float> x = random.normal(3 * width);
      const std::vector<float> results = layouts.rows(false, x);
      std::vector<std::int8_t> codes(3 * width);
      std::vector<GroupFactors> factors(3 * width / 32);
      std::vector<float> lengths;
      for (std::size_t row = 0; row < 3; ++row) {
        const KernelTable& kernels = kernel_table(isa);
        std::int8_t* row_codes = codes.data() + row * width;
        GroupFactors* row_factors = factors.data() + row * width / 32;
        kernels.quantize_row(x.data() + row * width, width, row_codes, row_factors);
        lengths.push_back(*length_of_row(row_codes, row_factors, width));
      }
      const PackedMatrix& matrix = packed(*layouts.split);
      std::vector<float> ceilings(3 * matrix.num_tiles());
      std::vector<SureTile> sure_tiles(3, SureTile{-kEndless, 0});
      kernel_table(isa).screen_tiles({matrix.tile(0),
                                      0,
                                      matrix.num_tiles(),
                                      width,
                                      {codes.data(), factors.data()},
                                      3,
                                      lengths.data(),
                                      ceilings.data(),
                                      matrix.num_tiles(),
                                      sure_tiles.data()});
      if (wanted.empty()) wanted = ceilings;
      EXPECT_EQ(ceilings, wanted) << isa_name(isa);
      for (std::size_t row = 0; row < 3; ++row) {
        const auto of_tile = [&](std::size_t tile) {
          return std::span(results).subspan(row * 200 + 16 * tile, matrix.lanes(tile));
        };
        for (std::size_t tile = 0; tile < matrix.num_tiles(); ++tile)
          EXPECT_GE(ceilings[row * matrix.num_tiles() + tile], std::ranges::max(of_tile(tile)));
        EXPECT_LE(sure_tiles[row].floor, std::ranges::max(of_tile(sure_tiles[row].tile_idx)));
        EXPECT_EQ(ceilings[row * matrix.num_tiles() + 12], kEndless) << "rows that do not exist tell nothing";
      }
    }
  }
}

TEST(Screening, FindsTheLargestResultOfEveryRow) {
  std::mt19937 numbers(44);
  for (const auto& [out_features, in_features] : {std::pair{4'003U, 256U}, {2'000U, 640U}, {8'192U, 64U}}) {
    BlockHead head = random_head(numbers, out_features, in_features);
    for (const Isa isa : supported_isas()) {
      for (const std::size_t num_threads : {1U, 3U}) {
        TwoLayouts layouts(head, isa, num_threads);
        layouts.expect_same_peaks(head.along(out_features - 1));
        layouts.expect_same_peaks(joined({head.along(5), head.along(900)}));
        layouts.expect_same_peaks(joined({head.along(1'990), head.along(1'990)}));
        EXPECT_EQ(layouts.num_screened(), 3U) << isa_name(isa);
        layouts.expect_same_peaks(joined({head.along(0), head.along(1), head.along(2)}));
        EXPECT_EQ(layouts.num_screened(), 3U) << "so many rows are multiplied in full";
      }
    }
  }
}

TEST(Screening, OfEqualsTheFirstCounts) {
  std::mt19937 numbers(45);
  BlockHead head = random_head(numbers, 3'000, 256);
  for (const std::size_t twin : {77U, 78U, 1'501U, 2'999U})
    head.copy_row(50, twin);
  for (const std::size_t num_threads : {1U, 3U}) {
    TwoLayouts layouts(head, supported_isas().back(), num_threads);
    layouts.expect_same_peaks(head.along(2'999));
    EXPECT_EQ(layouts.peaks(true, head.along(2'999)).front()->position, 50U);
    EXPECT_EQ(layouts.num_screened(), 2U);
  }
}

// Rows that have the best row's high bits, in many tiles: which of them is largest the low bits alone decide.
TEST(Screening, TheLowBitsDecideWhatTheHighBitsCannot) {
  std::mt19937 numbers(46);
  BlockHead head = random_head(numbers, 4'000, 256);
  for (std::size_t row_idx = 100; row_idx < 4'000; row_idx += 160) {
    head.copy_row(7, row_idx);
    for (std::size_t i = 0; i < head.width / 32; ++i) {
      for (std::int8_t& code : head.row(row_idx)[i].qs)
        code = static_cast<std::int8_t>((code & ~7) | static_cast<int>(numbers() % 8));
    }
  }
  for (const Isa isa : supported_isas()) {
    TwoLayouts layouts(head, isa, 2);
    for (std::size_t row_idx = 100; row_idx < 4'000; row_idx += 160)
      layouts.expect_same_peaks(head.along(row_idx));
    EXPECT_EQ(layouts.num_screened(), 25U);
  }
}

TEST(Screening, ResultsBelowZeroAreNotMistakenForRowsThatDoNotExist) {
  std::mt19937 numbers(47);
  BlockHead head = random_head(numbers, 1'999, 256);
  for (std::size_t row_idx = 0; row_idx < head.num_rows(); ++row_idx) {
    const bool is_best = row_idx == 1'000;
    for (std::size_t i = 0; i < head.width / 32; ++i) {
      head.row(row_idx)[i].d = base::to_float16(0.01F);
      for (std::int8_t& code : head.row(row_idx)[i].qs)
        code = static_cast<std::int8_t>(is_best ? -10 : -100 + static_cast<int>(numbers() % 8));
    }
  }
  TwoLayouts layouts(head, supported_isas().back(), 2);
  const std::vector<float> ones(256, 1.0F);
  layouts.expect_same_peaks(ones);
  EXPECT_EQ(layouts.peaks(true, ones).front()->position, 1'000U);
  EXPECT_EQ(layouts.num_screened(), 2U);
}

TEST(Screening, ZerosAndTheEndsOfTheRangeOfFloats) {
  std::mt19937 numbers(48);
  BlockHead head = random_head(numbers, 2'000, 256);
  head.set_scales(3, base::to_float16(0.0F));
  head.set_scales(4, std::bit_cast<base::Float16>(std::uint16_t{0x0001}));
  head.set_scales(5, base::to_float16(65'504.0F));
  head.set_scales(6, base::to_float16(-65'504.0F));
  for (const Isa isa : supported_isas()) {
    TwoLayouts layouts(head, isa, 2);
    for (const float factor : {0.0F, -0.0F, 1e-45F, 1e-38F, 1e-30F, 1e-12F, 1e12F, 1e24F, 1e30F, 1e36F, -1e36F}) {
      std::vector<float> x = head.along(100);
      for (float& value : x)
        value *= factor;
      layouts.expect_same_peaks(x);
      x[5] = 0.0F;
      layouts.expect_same_peaks(x);
    }
  }
}

TEST(Screening, WhatIsNoNumberIsSeenWhereverItIs) {
  std::mt19937 numbers(49);
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (const float fault : {nan, -nan, kEndless, -kEndless}) {
    BlockHead head = random_head(numbers, 2'000, 256);
    const std::vector<float> x = head.along(100);
    std::vector<float> broken = x;
    broken[77] = fault;
    for (const Isa isa : supported_isas()) {
      TwoLayouts layouts(head, isa, 2);
      layouts.expect_same_peaks(broken);
      layouts.expect_same_peaks(joined({x, broken}));
      EXPECT_EQ(layouts.num_screened(), 0U);
    }
    for (const std::size_t row_idx : {40U, 100U, 1'999U}) {
      BlockHead faulty = head;
      faulty.row(row_idx)[3].d = base::to_float16(fault);
      TwoLayouts layouts(faulty, supported_isas().back(), 2);
      layouts.expect_same_peaks(x);
      EXPECT_FALSE(std::isnan(fault) && layouts.peaks(true, x).front().has_value());
    }
    for (std::size_t row_idx = 0; row_idx < head.num_rows(); ++row_idx)
      head.set_scales(row_idx, base::to_float16(fault));
    TwoLayouts(head, supported_isas().back(), 2).expect_same_peaks(x);
  }
}

TEST(Screening, RestsForLongerWhileItDoesNotPay) {
  ScreeningPace pace;
  EXPECT_TRUE(pace.is_due());
  EXPECT_TRUE(pace.is_worthwhile(200, 1'000));
  EXPECT_TRUE(pace.is_due());
  std::vector<std::size_t> rests;
  for (int i = 0; i < 8; ++i) {
    EXPECT_FALSE(pace.is_worthwhile(201, 1'000));
    rests.push_back(0);
    while (!pace.is_due())
      ++rests.back();
  }
  EXPECT_EQ(rests, (std::vector<std::size_t>{1, 3, 7, 15, 31, 63, 63, 63}));
  EXPECT_TRUE(pace.is_worthwhile(1, 1'000));
  EXPECT_TRUE(pace.is_due());
}

TEST(Screening, StepsThatItDoesNotPayForAreComputedInFull) {
  std::mt19937 numbers(50);
  BlockHead head = random_head(numbers, 2'000, 256);
  TwoLayouts layouts(head, supported_isas().back(), 2);
  const std::vector<float> flat(256, 0.0F);  // every tile is as good as any other
  layouts.expect_same_peaks(head.along(3));
  layouts.expect_same_peaks(flat);
  layouts.expect_same_peaks(head.along(4));
  EXPECT_EQ(layouts.num_screened(), 1U);
  layouts.expect_same_peaks(head.along(5));
  EXPECT_EQ(layouts.num_screened(), 2U);
}

// Heads drawn at random, with copies, near copies and scales at the ends of their range, for activations that are near
// one row, between several or anywhere.
BlockHead drawn_head(std::mt19937& random) {
  BlockHead head = random_head(random, 1 + random() % 3'000, 32 * (1 + random() % 12));
  for (std::size_t i = random() % 60; i > 0; --i) {
    const std::size_t to = random() % head.num_rows();
    head.copy_row(random() % head.num_rows(), to);
    std::int8_t& code = head.row(to)[random() % (head.width / 32)].qs[random() % 32];
    if (random() % 2 == 0) code = static_cast<std::int8_t>(code ^ static_cast<int>(random() % 8));
  }
  for (std::size_t i = random() % 4; i > 0; --i)
    head.row(random() % head.num_rows())->d = std::bit_cast<base::Float16>(static_cast<std::uint16_t>(random()));
  return head;
}

std::vector<float> drawn_rows(std::mt19937& random, BlockHead& head) {
  std::vector<float> x;
  std::normal_distribution<float> normal(0.0F, 0.02F * static_cast<float>(random() % 3));
  for (std::size_t i = 1 + random() % kMaxScreenedRows; i > 0; --i) {
    std::vector<float> row = head.along(random() % head.num_rows());
    const std::vector<float> other = head.along(random() % head.num_rows());
    const bool is_mixed = random() % 4 == 0;
    for (std::size_t k = 0; k < row.size(); ++k)
      row[k] += (is_mixed ? other[k] : 0.0F) + normal(random);
    x.insert(x.end(), row.begin(), row.end());
  }
  return x;
}

TEST(Screening, FindsWhatTheFullProductFindsWhateverIsDrawn) {
  std::mt19937 random(testing::random_seed());
  const std::vector<Isa> isas = supported_isas();
  std::size_t num_screened = 0;
  for (int round = 0; round < 40; ++round) {
    SCOPED_TRACE(round);
    BlockHead head = drawn_head(random);
    TwoLayouts layouts(head, isas[random() % isas.size()], 1 + random() % 3);
    for (int i = 0; i < 4; ++i)
      layouts.expect_same_peaks(drawn_rows(random, head));
    num_screened += layouts.num_screened();
    if (HasFatalFailure() || HasNonfatalFailure()) return;
  }
  EXPECT_GT(num_screened, 20U) << "else little was tried";
}

}  // namespace
}  // namespace vitrine::backends::cpu
