// RUN: tileopt %s | tileopt | filecheck %s
// RUN: tileopt %s --mlir-print-op-generic | tileopt - | filecheck %s
// RUN: tileopt %s --mlir-print-op-generic | filecheck %s --check-prefix=GENERIC

// A 64x16 product over 16 by one warpgroup.
#a = #tile.layout<regs = [[0, 1], [8, 0], [0, 8]], lanes = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warps = [[16, 0], [32, 0]]>
#acc = #tile.layout<regs = [[0, 1], [8, 0]], lanes = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warps = [[16, 0], [32, 0]]>

// CHECK-LABEL: simt.kernel @product
simt.kernel @product(%z: f32, %h: f16) {
  %x = simt.alloc_shared : !tile.buffer<64x16xf16>
  // A longer row in panels of 64.
  // CHECK: simt.alloc_shared : !tile.buffer<16x128xf16, #tile.shared<order = [0, 1], swizzle = [3, 3, 3], panel = 64>>
  %w = simt.alloc_shared : !tile.buffer<16x128xf16, #tile.shared<order = [0, 1], swizzle = [3, 3, 3], panel = 64>>
  %y = simt.alloc_shared : !tile.buffer<16x16xf16>
  %c = simt.splat %z : f32 -> vector<8xf32>
  %f = simt.splat %h : f16 -> vector<8xf16>
  // CHECK: simt.barrier {proxy}
  // GENERIC: "simt.barrier"() <{proxy}> : () -> ()
  simt.barrier {proxy}
  // CHECK-NEXT: %d = gpu.wgmma %x, %y, %c {atom = "wgmma_m64n16k16_f16_f32", layout_acc = #tile.layout<{{.*}}>} : !tile.buffer<64x16xf16>, !tile.buffer<16x16xf16>, vector<8xf32> -> vector<8xf32>
  // GENERIC: %d = "gpu.wgmma"(%x, %y, %c) <{atom = "wgmma_m64n16k16_f16_f32", layout_acc = #tile.layout<{{.*}}>}>
  %d = gpu.wgmma %x, %y, %c {atom = "wgmma_m64n16k16_f16_f32", layout_acc = #acc} : !tile.buffer<64x16xf16>, !tile.buffer<16x16xf16>, vector<8xf32> -> vector<8xf32>
  // CHECK-NEXT: %e = gpu.wgmma %f, %y, %d {atom = "wgmma_m64n16k16_f16_f32", layout_acc = #tile.layout<{{.*}}>, layout_a = #tile.layout<{{.*}}>} : vector<8xf16>
  %e = gpu.wgmma %f, %y, %d {atom = "wgmma_m64n16k16_f16_f32", layout_acc = #acc, layout_a = #a} : vector<8xf16>, !tile.buffer<16x16xf16>, vector<8xf32> -> vector<8xf32>
  // CHECK-NEXT: %g = gpu.wgmma_wait %e {pending = 0 : i64} : vector<8xf32> -> vector<8xf32>
  // GENERIC: %g = "gpu.wgmma_wait"(%e) <{pending = 0 : i64}> : (vector<8xf32>) -> vector<8xf32>
  %g = gpu.wgmma_wait %e {pending = 0} : vector<8xf32> -> vector<8xf32>
  simt.return
}
