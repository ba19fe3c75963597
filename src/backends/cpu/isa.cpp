#include "backends/cpu/isa.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

namespace vitrine::backends::cpu {
namespace {

struct IsaRow {
  Isa isa;
  std::string_view name;
  bool (*is_supported)();
  const KernelTable& (*kernels)();
};

bool has_avx2() {
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("f16c");
}

bool has_avx512() {
  return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq") &&
         __builtin_cpu_supports("avx512vnni");
}

// Whether this processor adds pairs in the order of their path: the makers' manuals leave room for others.
bool adds_pairs_in_order() {
  constexpr std::size_t kInputs = 2 * kTileK;
  std::uint32_t state = 1;
  const auto next = [&state] {  // of few digits and many magnitudes: exact in bf16, while every sum is rounded
    state = state * 1664525U + 1013904223U;
    const auto digits = static_cast<float>(static_cast<int>(state >> 24U) - 128);
    return std::ldexp(digits, static_cast<int>(state >> 16U & 15U) - 8);
  };
  std::vector<float> weights(kInputs * kTileRows);
  std::vector<float> rows(kTileRows * kInputs);
  std::ranges::generate(weights, next);
  std::ranges::generate(rows, next);

  const TileUnit& unit = avx512_pair_unit();
  std::vector<std::uint16_t> slab(kInputs * kTileRows);
  std::vector<std::uint16_t> packed_rows(kTileRows * kInputs);
  unit.pack_slab(weights.data(), kInputs, slab.data());
  std::vector<float> got(kTileRows * kTileRows);
  std::vector<float> wanted(got.size());
  std::array<float*, kTileRows> got_rows;
  std::array<float*, kTileRows> wanted_rows;
  for (std::size_t row = 0; row < kTileRows; ++row) {
    unit.pack_row(rows.data() + row * kInputs, kInputs, packed_rows.data() + row * kTileK, kTileRows);
    got_rows[row] = got.data() + row * kTileRows;
    wanted_rows[row] = wanted.data() + row * kTileRows;
  }
  unit.multiply({.slabs = slab.data(),
                 .slab_stride = 0,
                 .num_slabs = 1,
                 .k_tiles = num_k_tiles(kInputs),
                 .rows = packed_rows.data(),
                 .row_stride = kTileRows,
                 .num_rows = kTileRows,
                 .sums = nullptr,
                 .out = got_rows.data(),
                 .lanes = kTileRows});
  generic_kernels().pairs_tile(weights.data(), rows.data(), kTileRows, kInputs, wanted_rows.data(), kTileRows);
  return got == wanted;
}

bool has_avx512_bf16() {
  static const bool has = has_avx512() && __builtin_cpu_supports("avx512bf16") && adds_pairs_in_order();
  return has;
}

// Tiles need the kernel's permission, once, before threads start (Linux: Documentation/arch/x86/xstate.rst).
bool has_amx() {
  constexpr long kArchReqXcompPerm = 0x1023;
  constexpr long kTileData = 18;
  return has_avx512() && __builtin_cpu_supports("avx512bf16") && __builtin_cpu_supports("amx-tile") &&
         __builtin_cpu_supports("amx-bf16") && ::syscall(SYS_arch_prctl, kArchReqXcompPerm, kTileData) == 0;
}

KernelTable avx512_kernels_with(const TileUnit* KernelTable::*place, const TileUnit& unit, const char* isa) {
  KernelTable table = avx512_kernels();
  table.isa = isa;
  table.*place = &unit;
  return table;
}

const KernelTable& avx512_bf16_kernels() {
  static const KernelTable table = avx512_kernels_with(&KernelTable::pair_unit, avx512_pair_unit(), "avx512bf16");
  return table;
}

const KernelTable& amx_kernels() {
  static const KernelTable table = avx512_kernels_with(&KernelTable::tile_unit, amx_tile_unit(), "amx");
  return table;
}

constexpr std::array kIsas = std::to_array<IsaRow>({
    {Isa::kGeneric, "generic", [] { return true; }, generic_kernels},
    {Isa::kAvx2, "avx2", has_avx2, avx2_kernels},
    {Isa::kAvx512, "avx512", has_avx512, avx512_kernels},
    {Isa::kAvx512Bf16, "avx512bf16", has_avx512_bf16, avx512_bf16_kernels},
    {Isa::kAmx, "amx", has_amx, amx_kernels},
});

const IsaRow& row_of(Isa isa) {
  return kIsas[static_cast<std::size_t>(isa)];
}

}  // namespace

std::string_view isa_name(Isa isa) {
  return row_of(isa).name;
}

std::vector<Isa> supported_isas() {
  std::vector<Isa> isas;
  for (const IsaRow& row : kIsas) {
    if (row.is_supported()) isas.push_back(row.isa);
  }
  return isas;
}

base::Result<Isa> choose_isa(std::string_view wanted) {
  if (wanted.empty()) return supported_isas().back();
  const auto* row = std::ranges::find(kIsas, wanted, &IsaRow::name);
  const std::string name(wanted);
  if (row == kIsas.end())
    return base::usage_error("VITRINE_ISA=" + name + ": not one of generic, avx2, avx512, avx512bf16, amx");
  if (!row->is_supported()) {
    return base::Error{base::ErrorKind::kUnavailable, "VITRINE_ISA=" + name +
                                                          ": this machine lacks it; the highest it has is " +
                                                          std::string(isa_name(supported_isas().back()))};
  }
  return row->isa;
}

base::Result<Isa> choose_isa_from_environment() {
  const char* wanted = std::getenv("VITRINE_ISA");
  return choose_isa(wanted != nullptr ? wanted : "");
}

const KernelTable& kernel_table(Isa isa) {
  return row_of(isa).kernels();
}

}  // namespace vitrine::backends::cpu
