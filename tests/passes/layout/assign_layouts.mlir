// RUN: tileopt %s -p 'map-tensor-cores,assign-layouts' --split-input-file | filecheck %s

// A row's softmax: loads decide, reductions and broadcasts follow, nothing is converted.
// CHECK-LABEL: tile.kernel @rows
// CHECK:         tile.load {{.*}} -> tensor<1x1024xf32, #tile.layout<regs = {{\[\[0, 1\], \[0, 2\]\]}}, lanes = {{\[\[0, 4\], \[0, 8\], \[0, 16\], \[0, 32\], \[0, 64\]\]}}, warps = {{\[\[0, 128\], \[0, 256\]\]}}>>
// CHECK:         tile.reduce {{.*}} -> tensor<1xf32, #tile.layout<regs = [], lanes = {{\[\[0\], \[0\], \[0\], \[0\], \[0\]\]}}, warps = {{\[\[0\], \[0\]\]}}>>
// CHECK-NOT:     tile.convert_layout
// CHECK:         tile.store
builtin.module attributes {tile.target = "sm_80"} {
  tile.kernel @rows(%x: !tile.view<?x?xf32, shared>, %o: !tile.view<?x?xf32, owned>) {
    %i = tile.bid {axis = 0}
    %c0 = arith.constant 0 : i64
    %t = tile.load %x[%i, %c0] {vector = 4 : i64} : !tile.view<?x?xf32, shared> -> tensor<1x1024xf32>
    %m = tile.reduce %t {kind = "max", axis = 1 : i64} : tensor<1x1024xf32> -> tensor<1xf32>
    %m1 = tile.reshape %m : tensor<1xf32> -> tensor<1x1xf32>
    %mb = tile.broadcast %m1 : tensor<1x1xf32> -> tensor<1x1024xf32>
    %d = arith.subf %t, %mb : tensor<1x1024xf32>
    tile.store %d, %o[%i, %c0] {vector = 4 : i64} : tensor<1x1024xf32>, !tile.view<?x?xf32, owned>
    tile.return
  }
}

// -----

// A product's operands and accumulator are pinned by the atom; the store asks for coalesced rows, so the accumulator
// is converted once, after the product.
// CHECK-LABEL: tile.kernel @product
// CHECK:         tile.stage {{.*}} -> !tile.buffer<64x32xbf16, #tile.shared<order = [0, 1], swizzle = [2, 3, 3]>>
// CHECK:         tile.unstage {{.*}} -> tensor<64x32xbf16, #tile.layout<regs = {{\[\[0, 1\], \[8, 0\], \[0, 8\]\]}}
// CHECK:         tile.mma {{.*}} -> tensor<64x64xf32, #tile.layout<regs = {{\[\[0, 1\], \[8, 0\]\]}}
// CHECK-NEXT:    tile.convert_layout
// CHECK-NEXT:    tile.store
builtin.module attributes {tile.target = "sm_80"} {
  tile.kernel @product(%a: !tile.view<?x?xbf16, shared>, %b: !tile.view<?x?xbf16, shared>, %o: !tile.view<?x?xf32, owned>) {
    %i = tile.bid {axis = 0}
    %c0 = arith.constant 0 : i64
    %ta = tile.load %a[%i, %c0] {vector = 8 : i64} : !tile.view<?x?xbf16, shared> -> tensor<64x32xbf16>
    %tb = tile.load %b[%c0, %c0] {vector = 8 : i64} : !tile.view<?x?xbf16, shared> -> tensor<32x64xbf16>
    %sa = tile.stage %ta : tensor<64x32xbf16> -> !tile.buffer<64x32xbf16>
    %sb = tile.stage %tb : tensor<32x64xbf16> -> !tile.buffer<32x64xbf16>
    %ra = tile.unstage %sa : !tile.buffer<64x32xbf16> -> tensor<64x32xbf16>
    %rb = tile.unstage %sb : !tile.buffer<32x64xbf16> -> tensor<32x64xbf16>
    %f0 = arith.constant 0.0 : f32
    %z = tile.splat %f0 : f32 -> tensor<64x64xf32>
    %n = tile.mma %ra, %rb, %z : tensor<64x32xbf16>, tensor<32x64xbf16>, tensor<64x64xf32> -> tensor<64x64xf32>
    tile.store %n, %o[%i, %c0] {vector = 4 : i64} : tensor<64x64xf32>, !tile.view<?x?xf32, owned>
    tile.return
  }
}

// -----

// A transposed copy: the load keeps its rows, the store its own, one conversion stands between.
// CHECK-LABEL: tile.kernel @transpose
// CHECK:         tile.load
// CHECK:         tile.transpose
// CHECK-NEXT:    tile.convert_layout
// CHECK-NEXT:    tile.store
builtin.module attributes {tile.target = "sm_80"} {
  tile.kernel @transpose(%x: !tile.view<?x?xf32, shared>, %o: !tile.view<?x?xf32, owned>) {
    %i = tile.bid {axis = 0}
    %c0 = arith.constant 0 : i64
    %t = tile.load %x[%i, %c0] {vector = 4 : i64} : !tile.view<?x?xf32, shared> -> tensor<32x64xf32>
    %r = tile.transpose %t {permutation = array<i64: 1, 0>} : tensor<32x64xf32> -> tensor<64x32xf32>
    tile.store %r, %o[%c0, %i] {vector = 4 : i64} : tensor<64x32xf32>, !tile.view<?x?xf32, owned>
    tile.return
  }
}
