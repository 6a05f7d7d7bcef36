// RUN: tileopt %s | tileopt | filecheck %s
// RUN: tileopt %s --mlir-print-op-generic | tileopt - | filecheck %s
// RUN: tileopt %s --mlir-print-op-generic | filecheck %s --check-prefix=GENERIC

// The accumulator of mma.m16n8k16 tiled over 32x16, and the default layout of the same tile, both for two warps.
#acc = #tile.layout<regs = [[0, 1], [8, 0]], lanes = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warps = [[16, 0]]>
#rows = #tile.layout<regs = [[0, 1], [0, 2]], lanes = [[0, 4], [0, 8], [1, 0], [2, 0], [4, 0]], warps = [[8, 0]]>
#swizzled = #tile.shared<order = [0, 1], swizzle = [2, 3, 3]>

// CHECK-LABEL: tile.kernel @layouts
tile.kernel @layouts(%s: f16) {
  // CHECK-NEXT: %a = tile.splat %s : f16 -> tensor<32x16xf16, #tile.layout<regs = {{\[\[}}0, 1], [8, 0]], lanes = {{\[\[}}0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warps = {{\[\[}}16, 0]]>>
  %a = tile.splat %s : f16 -> tensor<32x16xf16, #acc>
  // CHECK-NEXT: %b = tile.convert_layout %a : tensor<32x16xf16, #tile.layout<regs = {{\[\[}}0, 1], [8, 0]], lanes = {{\[\[}}0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warps = {{\[\[}}16, 0]]>> -> tensor<32x16xf16, #tile.layout<regs = {{\[\[}}0, 1], [0, 2]], lanes = {{\[\[}}0, 4], [0, 8], [1, 0], [2, 0], [4, 0]], warps = {{\[\[}}8, 0]]>>
  // GENERIC: %b = "tile.convert_layout"(%a) : (tensor<32x16xf16, #tile.layout<regs = {{\[\[}}0, 1], [8, 0]], {{.*}}>>) -> tensor<32x16xf16, #tile.layout<regs = {{\[\[}}0, 1], [0, 2]], {{.*}}>>
  %b = tile.convert_layout %a : tensor<32x16xf16, #acc> -> tensor<32x16xf16, #rows>
  // CHECK-NEXT: %m = tile.stage %b : tensor<32x16xf16, {{.*}}> -> !tile.buffer<32x16xf16, #tile.shared<order = [0, 1], swizzle = [2, 3, 3]>>
  %m = tile.stage %b : tensor<32x16xf16, #rows> -> !tile.buffer<32x16xf16, #swizzled>
  // CHECK-NEXT: %t = tile.transpose_buffer %m {permutation = array<i64: 1, 0>} : !tile.buffer<32x16xf16, #tile.shared<order = [0, 1], swizzle = [2, 3, 3]>> -> !tile.buffer<16x32xf16, #tile.shared<order = [1, 0], swizzle = [2, 3, 3]>>
  %t = tile.transpose_buffer %m {permutation = array<i64: 1, 0>} : !tile.buffer<32x16xf16, #swizzled> -> !tile.buffer<16x32xf16, #tile.shared<order = [1, 0], swizzle = [2, 3, 3]>>
  // CHECK-NEXT: %v = tile.reshape_buffer %m : !tile.buffer<32x16xf16, #tile.shared<order = [0, 1], swizzle = [2, 3, 3]>> -> !tile.buffer<32x1x16xf16, #tile.shared<order = [1, 0, 2], swizzle = [2, 3, 3]>>
  %v = tile.reshape_buffer %m : !tile.buffer<32x16xf16, #swizzled> -> !tile.buffer<32x1x16xf16, #tile.shared<order = [1, 0, 2], swizzle = [2, 3, 3]>>
  tile.return
}

// A tile of rank 0 is in each thread; without warp bits the block is one warp.
// CHECK-LABEL: tile.kernel @replicas
tile.kernel @replicas(%s: f32) {
  // CHECK-NEXT: tile.splat %s : f32 -> tensor<f32, #tile.layout<regs = [], lanes = {{\[\[}}], [], [], [], []], warps = []>>
  %a = tile.splat %s : f32 -> tensor<f32, #tile.layout<regs = [], lanes = [[], [], [], [], []], warps = []>>
  tile.return
}
