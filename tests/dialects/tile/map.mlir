// RUN: tileopt %s | tileopt | filecheck %s
// RUN: tileopt %s --mlir-print-op-generic | tileopt - | filecheck %s
// RUN: tileopt %s --mlir-print-op-generic | filecheck %s --check-prefix=GENERIC
// RUN: tileopt %s -p cse | filecheck %s --check-prefix=CSE
// RUN: tileopt %s -p dce | filecheck %s --check-prefix=DCE

// Tiles of several types in and out; an argument of the kernel is used as it is.
// CHECK-LABEL: tile.kernel @elements
tile.kernel @elements(%s: f32, %i: i32, %n: i64) {
  %a = tile.splat %s : f32 -> tensor<5x7xf32>
  %b = tile.splat %i : i32 -> tensor<5x7xi32>
  // CHECK: %c, %d = tile.map_simt %a, %b : tensor<5x7xf32>, tensor<5x7xi32> -> tensor<5x7xf32>, tensor<5x7xi1> {
  // CHECK-NEXT: ^bb0(%x: f32, %y: i32):
  // CHECK-NEXT:   %z = arith.addf %x, %s : f32
  // CHECK-NEXT:   %t = arith.cmpi slt, %y, %i : i32
  // CHECK-NEXT:   tile.map_yield %z, %t : f32, i1
  // CHECK-NEXT: }
  // GENERIC: %c, %d = "tile.map_simt"(%a, %b) ({
  // GENERIC: "tile.map_yield"(%z, %t) : (f32, i1) -> ()
  // GENERIC-NEXT: }) : (tensor<5x7xf32>, tensor<5x7xi32>) -> (tensor<5x7xf32>, tensor<5x7xi1>)
  %c, %d = tile.map_simt %a, %b : tensor<5x7xf32>, tensor<5x7xi32> -> tensor<5x7xf32>, tensor<5x7xi1> {
  ^bb0(%x: f32, %y: i32):
    %z = arith.addf %x, %s : f32
    %t = arith.cmpi slt, %y, %i : i32
    tile.map_yield %z, %t : f32, i1
  }
  tile.return
}

// Lanes along an axis, on padding past its end; elements of an array that nobody writes.
// CHECK-LABEL: tile.kernel @lanes
tile.kernel @lanes(%s: f32, %p: !tile.view<?xf32, shared>, %one: i32) {
  %a = tile.splat %s : f32 -> tensor<5x70xf32>
  // CHECK: %b = tile.map_simt %a {axis = 1 : i64, padding = [1.000000e+00 : f32]} : tensor<5x70xf32> -> tensor<5x70xf32> {
  // GENERIC: %b = "tile.map_simt"(%a) <{axis = 1 : i64, padding = [1.000000e+00 : f32]}> ({
  %b = tile.map_simt %a {axis = 1, padding = [1.0 : f32]} : tensor<5x70xf32> -> tensor<5x70xf32> {
  ^bb0(%x: f32):
    %n = simt.dim %p {axis = 0} : !tile.view<?xf32, shared>
    %i = simt.block_id {axis = 0}
    simt.check_index %i below %n {array = "p"}
    %e = simt.element_load %p[%i] : !tile.view<?xf32, shared> -> f32
    %t = simt.thread_id
    %v = simt.shuffle %x, %t {kind = "idx"} : f32 -> f32
    %w = arith.mulf %v, %e : f32
    tile.map_yield %w : f32
  }
  tile.return
}

// Where all lanes lie as the axis demands.
#along = #tile.layout<regs = [], lanes = [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16]], warps = [[1, 0], [0, 0]]>
// CHECK-LABEL: tile.kernel @laid_out
tile.kernel @laid_out(%s: f32) {
  %a = tile.splat %s : f32 -> tensor<6x70xf32, #along>
  // CHECK: tile.map_simt %a {axis = 1 : i64} : tensor<6x70xf32, #tile.layout<
  %b = tile.map_simt %a {axis = 1} : tensor<6x70xf32, #along> -> tensor<6x70xf32, #along> {
  ^bb0(%x: f32):
    %v = simt.warp_reduce %x {kind = "sum"} : f32 -> f32
    tile.map_yield %v : f32
  }
  tile.return
}

// Two maps of the same are one, unless a store may stand between what they read; one that nobody uses goes.
// CSE-LABEL: tile.kernel @twice
// CSE: tile.map_simt
// CSE-NOT: tile.map_simt
// CSE: tile.store %b
// CSE-NEXT: tile.store %b
// DCE-LABEL: tile.kernel @twice
// DCE: tile.map_simt
// DCE: tile.map_simt
// DCE-NOT: tile.map_simt
// DCE: tile.return
tile.kernel @twice(%s: f32, %o: !tile.view<?xf32, owned>, %i: i64) {
  %a = tile.splat %s : f32 -> tensor<64xf32>
  %b = tile.map_simt %a {axis = 0} : tensor<64xf32> -> tensor<64xf32> {
  ^bb0(%x: f32):
    %v = simt.warp_reduce %x {kind = "sum"} : f32 -> f32
    tile.map_yield %v : f32
  }
  %c = tile.map_simt %a {axis = 0} : tensor<64xf32> -> tensor<64xf32> {
  ^bb0(%x: f32):
    %v = simt.warp_reduce %x {kind = "sum"} : f32 -> f32
    tile.map_yield %v : f32
  }
  %d = tile.map_simt %a : tensor<64xf32> -> tensor<64xf32> {
  ^bb0(%x: f32):
    tile.map_yield %x : f32
  }
  tile.store %b, %o[%i] : tensor<64xf32>, !tile.view<?xf32, owned>
  tile.store %c, %o[%i] : tensor<64xf32>, !tile.view<?xf32, owned>
  tile.return
}

// What a kernel of threads takes from shared memory as a tile may change: it is read anew after a write.
// CHECK-LABEL: simt.kernel @in_threads
// CSE-LABEL: simt.kernel @in_threads
// CSE: %c = tile.load_buffer %m
// CSE-NEXT: tile.store_buffer %c, %m
// CSE-NEXT: %d = tile.load_buffer %m
// CSE-NEXT: simt.element_store
// CSE-NEXT: %e = tile.load_buffer %m
simt.kernel @in_threads(%s: f16, %i: i64) attributes {simt.threads = 64 : i64, simt.manual_barriers} {
  %m = simt.alloc_shared : !tile.buffer<8x16xf16>
  // CHECK: %b = tile.load_buffer %m : !tile.buffer<8x16xf16> -> tensor<8x16xf16>
  // GENERIC: %b = "tile.load_buffer"(%m) : (!tile.buffer<8x16xf16>) -> tensor<8x16xf16>
  %b = tile.load_buffer %m : !tile.buffer<8x16xf16> -> tensor<8x16xf16>
  %c = tile.load_buffer %m : !tile.buffer<8x16xf16> -> tensor<8x16xf16>
  // CHECK: tile.store_buffer %c, %m : tensor<8x16xf16>, !tile.buffer<8x16xf16>
  // GENERIC: "tile.store_buffer"(%c, %m) : (tensor<8x16xf16>, !tile.buffer<8x16xf16>) -> ()
  tile.store_buffer %c, %m : tensor<8x16xf16>, !tile.buffer<8x16xf16>
  %d = tile.load_buffer %m : !tile.buffer<8x16xf16> -> tensor<8x16xf16>
  simt.element_store %s, %m[%i, %i] : f16, !tile.buffer<8x16xf16>
  %e = tile.load_buffer %m : !tile.buffer<8x16xf16> -> tensor<8x16xf16>
  tile.store_buffer %d, %m : tensor<8x16xf16>, !tile.buffer<8x16xf16>
  tile.store_buffer %e, %m : tensor<8x16xf16>, !tile.buffer<8x16xf16>
  simt.return
}
