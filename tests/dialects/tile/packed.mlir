// RUN: tileopt %s | tileopt | filecheck %s
// RUN: tileopt %s --mlir-print-op-generic | tileopt - | filecheck %s
// RUN: tileopt %s --mlir-print-op-generic | filecheck %s --check-prefix=GENERIC

// CHECK-LABEL: tile.kernel @packed
tile.kernel @packed(%s: i8) {
  %a = tile.splat %s : i8 -> tensor<4x8xi8>
  // CHECK: %i = tile.unpack %a {format = "i4", axis = 1 : i64} : tensor<4x8xi8> -> tensor<4x16xbf16>
  // GENERIC: %i = "tile.unpack"(%a) <{format = "i4", axis = 1 : i64}> : (tensor<4x8xi8>) -> tensor<4x16xbf16>
  %i = tile.unpack %a {format = "i4", axis = 1} : tensor<4x8xi8> -> tensor<4x16xbf16>
  // CHECK-NEXT: %u = tile.unpack %a {format = "u4", axis = 0 : i64} : tensor<4x8xi8> -> tensor<8x8xi8>
  %u = tile.unpack %a {format = "u4", axis = 0} : tensor<4x8xi8> -> tensor<8x8xi8>
  // CHECK-NEXT: %f = tile.unpack %a {format = "f4e2m1fn", axis = 1 : i64} : tensor<4x8xi8> -> tensor<4x16xf8E4M3FN>
  %f = tile.unpack %a {format = "f4e2m1fn", axis = 1} : tensor<4x8xi8> -> tensor<4x16xf8E4M3FN>
  // CHECK-NEXT: %p = tile.pack %f {format = "f4e2m1fn", axis = 1 : i64} : tensor<4x16xf8E4M3FN> -> tensor<4x8xi8>
  // GENERIC: %p = "tile.pack"(%f) <{format = "f4e2m1fn", axis = 1 : i64}> : (tensor<4x16xf8E4M3FN>) -> tensor<4x8xi8>
  %p = tile.pack %f {format = "f4e2m1fn", axis = 1} : tensor<4x16xf8E4M3FN> -> tensor<4x8xi8>
  // CHECK-NEXT: %q = tile.pack %u {format = "i4", axis = 0 : i64} : tensor<8x8xi8> -> tensor<4x8xi8>
  %q = tile.pack %u {format = "i4", axis = 0} : tensor<8x8xi8> -> tensor<4x8xi8>
  // CHECK-NEXT: %r = tile.repeat %i {axis = 0 : i64, count = 32 : i64} : tensor<4x16xbf16> -> tensor<128x16xbf16>
  // GENERIC: %r = "tile.repeat"(%i) <{axis = 0 : i64, count = 32 : i64}> : (tensor<4x16xbf16>) -> tensor<128x16xbf16>
  %r = tile.repeat %i {axis = 0, count = 32} : tensor<4x16xbf16> -> tensor<128x16xbf16>
  tile.return
}

// With layouts: threads hold both values of a byte, and the element that theirs repeat.
// CHECK-LABEL: tile.kernel @laid_out
tile.kernel @laid_out(%s: i8) {
  %a = tile.splat %s : i8 -> tensor<64xi8, #tile.layout<regs = [[1]], lanes = [[2], [4], [8], [16], [32]], warps = []>>
  // CHECK: tile.unpack
  %i = tile.unpack %a {format = "i4", axis = 0} : tensor<64xi8, #tile.layout<regs = [[1]], lanes = [[2], [4], [8], [16], [32]], warps = []>> -> tensor<128xi8, #tile.layout<regs = [[2], [1]], lanes = [[4], [8], [16], [32], [64]], warps = []>>
  // CHECK: tile.pack
  %p = tile.pack %i {format = "u4", axis = 0} : tensor<128xi8, #tile.layout<regs = [[2], [1]], lanes = [[4], [8], [16], [32], [64]], warps = []>> -> tensor<64xi8, #tile.layout<regs = [[1]], lanes = [[2], [4], [8], [16], [32]], warps = []>>
  // CHECK: tile.repeat
  %r = tile.repeat %p {axis = 0, count = 4} : tensor<64xi8, #tile.layout<regs = [[1]], lanes = [[2], [4], [8], [16], [32]], warps = []>> -> tensor<256xi8, #tile.layout<regs = [[1], [4], [2]], lanes = [[8], [16], [32], [64], [128]], warps = []>>
  tile.return
}
