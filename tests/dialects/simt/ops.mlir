// RUN: tileopt %s | tileopt | filecheck %s
// RUN: tileopt %s --mlir-print-op-generic | tileopt - | filecheck %s
// RUN: tileopt %s --mlir-print-op-generic | filecheck %s --check-prefix=GENERIC

// A warp's lanes hold pairs of a 4x16 patch; a tile of 8x16 takes two patches: four registers a thread.
#pairs = #tile.layout<regs = [[0, 1]], lanes = [[0, 2], [0, 4], [0, 8], [1, 0], [2, 0]], warps = []>

// CHECK-LABEL: simt.kernel @ids
simt.kernel @ids(%x: !tile.view<?x16xf32, shared>) attributes {simt.threads = 32 : i64} {
  // CHECK-NEXT: %t = simt.thread_id
  // GENERIC: %t = "simt.thread_id"() : () -> i32
  %t = simt.thread_id
  // CHECK-NEXT: %i = simt.block_id {axis = 1 : i64}
  // GENERIC: %i = "simt.block_id"() <{axis = 1 : i64}> : () -> i64
  %i = simt.block_id {axis = 1}
  // CHECK-NEXT: %g = simt.grid_dim {axis = 2 : i64}
  // GENERIC: %g = "simt.grid_dim"() <{axis = 2 : i64}> : () -> i64
  %g = simt.grid_dim {axis = 2}
  // CHECK-NEXT: %d = simt.dim %x {axis = 0 : i64} : !tile.view<?x16xf32, shared>
  // GENERIC: %d = "simt.dim"(%x) <{axis = 0 : i64}> : (!tile.view<?x16xf32, shared>) -> i64
  %d = simt.dim %x {axis = 0} : !tile.view<?x16xf32, shared>
  // CHECK-NEXT: simt.barrier
  // GENERIC: "simt.barrier"() : () -> ()
  simt.barrier
  // CHECK-NEXT: simt.return
  // GENERIC: "simt.return"() : () -> ()
  simt.return
}

// CHECK-LABEL: simt.kernel @global
simt.kernel @global(%x: !tile.view<?x16xf32, shared>, %out: !tile.view<?x16xf32, owned>, %sum: !tile.view<?x16xf32, atomic>, %i: i64) {
  // CHECK-NEXT: %a = simt.fragment_load %x[%i, %i] {layout = #tile.layout<regs = {{\[\[}}0, 1]], lanes = {{\[\[}}0, 2], [0, 4], [0, 8], [1, 0], [2, 0]], warps = []>, shape = array<i64: 8, 16>, padding = 1.000000e+00 : f32, bounds = #tile.bounds<masked [0]>, vector = 2 : i64} : !tile.view<?x16xf32, shared> -> vector<4xf32>
  // GENERIC: %a = "simt.fragment_load"(%x, %i, %i) <{layout = #tile.layout<{{.*}}>, shape = array<i64: 8, 16>, padding = 1.000000e+00 : f32, bounds = #tile.bounds<masked [0]>, vector = 2 : i64}> : (!tile.view<?x16xf32, shared>, i64, i64) -> vector<4xf32>
  %a = simt.fragment_load %x[%i, %i] {layout = #pairs, shape = array<i64: 8, 16>, padding = 1.0 : f32, bounds = #tile.bounds<masked [0]>, vector = 2} : !tile.view<?x16xf32, shared> -> vector<4xf32>
  // CHECK-NEXT: %p = simt.phase %x[%i, %i] {bytes = 16 : i64} : !tile.view<?x16xf32, shared>
  // GENERIC: %p = "simt.phase"(%x, %i, %i) <{bytes = 16 : i64}> : (!tile.view<?x16xf32, shared>, i64, i64) -> i64
  %p = simt.phase %x[%i, %i] {bytes = 16} : !tile.view<?x16xf32, shared>
  // CHECK-NEXT: %q = simt.fragment_load %x[%i, %p] {{.*}}vector = 2 : i64, phased, cache = "streaming"}
  // GENERIC: %q = "simt.fragment_load"{{.*}}vector = 2 : i64, phased, cache = "streaming"}>
  %q = simt.fragment_load %x[%i, %p] {layout = #pairs, shape = array<i64: 8, 16>, bounds = #tile.bounds<masked [0, 1]>, vector = 2, phased, cache = "streaming"} : !tile.view<?x16xf32, shared> -> vector<4xf32>
  // CHECK-NEXT: simt.fragment_store %a, %out[%i, %i] {layout = #tile.layout<{{.*}}>, shape = array<i64: 8, 16>} : vector<4xf32>, !tile.view<?x16xf32, owned>
  // GENERIC: "simt.fragment_store"(%a, %out, %i, %i) <{layout = #tile.layout<{{.*}}>, shape = array<i64: 8, 16>}> : (vector<4xf32>, !tile.view<?x16xf32, owned>, i64, i64) -> ()
  simt.fragment_store %a, %out[%i, %i] {layout = #pairs, shape = array<i64: 8, 16>} : vector<4xf32>, !tile.view<?x16xf32, owned>
  // CHECK-NEXT: simt.fragment_atomic %a, %sum[%i, %i] {layout = #tile.layout<{{.*}}>, shape = array<i64: 8, 16>, kind = "add"} : vector<4xf32>, !tile.view<?x16xf32, atomic>
  // GENERIC: "simt.fragment_atomic"(%a, %sum, %i, %i) <{layout = #tile.layout<{{.*}}>, shape = array<i64: 8, 16>, kind = "add"}> : (vector<4xf32>, !tile.view<?x16xf32, atomic>, i64, i64) -> ()
  simt.fragment_atomic %a, %sum[%i, %i] {layout = #pairs, shape = array<i64: 8, 16>, kind = "add"} : vector<4xf32>, !tile.view<?x16xf32, atomic>
  simt.return
}

// CHECK-LABEL: simt.kernel @registers
simt.kernel @registers(%s: f32) {
  // CHECK-NEXT: %a = simt.splat %s : f32 -> vector<4xf32>
  // GENERIC: %a = "simt.splat"(%s) : (f32) -> vector<4xf32>
  %a = simt.splat %s : f32 -> vector<4xf32>
  // CHECK-NEXT: %c = simt.fragment_coord {layout = #tile.layout<{{.*}}>, shape = array<i64: 8, 16>, axis = 1 : i64} : vector<4xi32>
  // GENERIC: %c = "simt.fragment_coord"() <{layout = #tile.layout<{{.*}}>, shape = array<i64: 8, 16>, axis = 1 : i64}> : () -> vector<4xi32>
  %c = simt.fragment_coord {layout = #pairs, shape = array<i64: 8, 16>, axis = 1} : vector<4xi32>
  // CHECK-NEXT: %r = simt.fragment_reduce %a {layout = #tile.layout<{{.*}}>, shape = array<i64: 8, 16>, kind = "max", axis = 1 : i64} : vector<4xf32> -> vector<2xf32>
  // GENERIC: %r = "simt.fragment_reduce"(%a) <{layout = #tile.layout<{{.*}}>, shape = array<i64: 8, 16>, kind = "max", axis = 1 : i64}> : (vector<4xf32>) -> vector<2xf32>
  %r = simt.fragment_reduce %a {layout = #pairs, shape = array<i64: 8, 16>, kind = "max", axis = 1} : vector<4xf32> -> vector<2xf32>
  // CHECK-NEXT: %x = simt.shuffle_xor %r {mask = 16 : i64} : vector<2xf32> -> vector<2xf32>
  // GENERIC: %x = "simt.shuffle_xor"(%r) <{mask = 16 : i64}> : (vector<2xf32>) -> vector<2xf32>
  %x = simt.shuffle_xor %r {mask = 16} : vector<2xf32> -> vector<2xf32>
  // CHECK-NEXT: %y = simt.fragment_select %x {registers = array<i64: 1, 1, 0>} : vector<2xf32> -> vector<3xf32>
  // GENERIC: %y = "simt.fragment_select"(%x) <{registers = array<i64: 1, 1, 0>}> : (vector<2xf32>) -> vector<3xf32>
  %y = simt.fragment_select %x {registers = array<i64: 1, 1, 0>} : vector<2xf32> -> vector<3xf32>
  // CHECK-NEXT: %z = simt.extract %y {register = 2 : i64} : vector<3xf32> -> f32
  // GENERIC: %z = "simt.extract"(%y) <{register = 2 : i64}> : (vector<3xf32>) -> f32
  %z = simt.extract %y {register = 2} : vector<3xf32> -> f32
  // CHECK-NEXT: %shifted = simt.shift_in %z, %z into %y : f32, f32 into vector<3xf32> -> vector<3xf32>
  // GENERIC: %shifted = "simt.shift_in"(%y, %z, %z) : (vector<3xf32>, f32, f32) -> vector<3xf32>
  %shifted = simt.shift_in %z, %z into %y : f32, f32 into vector<3xf32> -> vector<3xf32>
  // CHECK-NEXT: %w = simt.shuffle_xor %z {mask = 1 : i64} : f32 -> f32
  %w = simt.shuffle_xor %z {mask = 1} : f32 -> f32
  simt.return
}

// CHECK-LABEL: simt.kernel @shared_memory
simt.kernel @shared_memory(%s: f32, %i: i64) {
  // CHECK-NEXT: %v = simt.splat
  %v = simt.splat %s : f32 -> vector<4xf32>
  // CHECK-NEXT: %m = simt.alloc_shared : !tile.buffer<8x16xf32>
  // GENERIC: %m = "simt.alloc_shared"() : () -> !tile.buffer<8x16xf32>
  %m = simt.alloc_shared : !tile.buffer<8x16xf32>
  // CHECK-NEXT: %ring = simt.alloc_shared {slots = 3 : i64, offset = 512 : i64} : !tile.buffer<8x16xf32>
  // GENERIC: %ring = "simt.alloc_shared"() <{slots = 3 : i64, offset = 512 : i64}> : () -> !tile.buffer<8x16xf32>
  %ring = simt.alloc_shared {slots = 3, offset = 512} : !tile.buffer<8x16xf32>
  // CHECK-NEXT: %n = simt.slot %ring[%i] : !tile.buffer<8x16xf32> -> !tile.buffer<8x16xf32>
  // GENERIC: %n = "simt.slot"(%ring, %i) : (!tile.buffer<8x16xf32>, i64) -> !tile.buffer<8x16xf32>
  %n = simt.slot %ring[%i] : !tile.buffer<8x16xf32> -> !tile.buffer<8x16xf32>
  // CHECK-NEXT: %t = simt.view_buffer %n : !tile.buffer<8x16xf32> -> !tile.buffer<16x8xf32, #tile.shared<order = [1, 0]>>
  // GENERIC: %t = "simt.view_buffer"(%n) : (!tile.buffer<8x16xf32>) -> !tile.buffer<16x8xf32, #tile.shared<order = [1, 0]>>
  %t = simt.view_buffer %n : !tile.buffer<8x16xf32> -> !tile.buffer<16x8xf32, #tile.shared<order = [1, 0]>>
  // CHECK-NEXT: simt.shared_store %v, %m {layout = #tile.layout<{{.*}}>} : vector<4xf32>, !tile.buffer<8x16xf32>
  // GENERIC: "simt.shared_store"(%v, %m) <{layout = #tile.layout<{{.*}}>}> : (vector<4xf32>, !tile.buffer<8x16xf32>) -> ()
  simt.shared_store %v, %m {layout = #pairs} : vector<4xf32>, !tile.buffer<8x16xf32>
  // CHECK-NEXT: simt.barrier
  simt.barrier
  // CHECK-NEXT: %w = simt.shared_load %m {layout = #tile.layout<{{.*}}>} : !tile.buffer<8x16xf32> -> vector<4xf32>
  // GENERIC: %w = "simt.shared_load"(%m) <{layout = #tile.layout<{{.*}}>}> : (!tile.buffer<8x16xf32>) -> vector<4xf32>
  %w = simt.shared_load %m {layout = #pairs} : !tile.buffer<8x16xf32> -> vector<4xf32>
  // CHECK-NEXT: %c = simt.splat %s : f32 -> vector<2xf32>
  %c = simt.splat %s : f32 -> vector<2xf32>
  // CHECK-NEXT: %d = simt.dot %m, %t, %c {layout = #tile.layout<regs = [], {{.*}}>} : !tile.buffer<8x16xf32>, !tile.buffer<16x8xf32, #tile.shared<order = [1, 0]>>, vector<2xf32> -> vector<2xf32>
  // GENERIC: %d = "simt.dot"(%m, %t, %c) <{layout = #tile.layout<{{.*}}>}> : (!tile.buffer<8x16xf32>, !tile.buffer<16x8xf32, #tile.shared<order = [1, 0]>>, vector<2xf32>) -> vector<2xf32>
  %d = simt.dot %m, %t, %c {layout = #tile.layout<regs = [], lanes = [[0, 1], [0, 2], [0, 4], [1, 0], [2, 0]], warps = []>} : !tile.buffer<8x16xf32>, !tile.buffer<16x8xf32, #tile.shared<order = [1, 0]>>, vector<2xf32> -> vector<2xf32>
  %bytes, %sums = "test.op"() : () -> (!tile.buffer<8x16xi8>, vector<2xi32>)
  // CHECK: simt.dot {{.*}} {layout = #tile.layout<{{.*}}>, unsigned} : !tile.buffer<8x16xi8>
  // GENERIC: "simt.dot"({{.*}}) <{layout = #tile.layout<{{.*}}>, unsigned}> : (!tile.buffer<8x16xi8>
  %turned = simt.view_buffer %bytes : !tile.buffer<8x16xi8> -> !tile.buffer<16x8xi8, #tile.shared<order = [1, 0]>>
  %more = simt.dot %bytes, %turned, %sums {layout = #tile.layout<regs = [], lanes = [[0, 1], [0, 2], [0, 4], [1, 0], [2, 0]], warps = []>, unsigned} : !tile.buffer<8x16xi8>, !tile.buffer<16x8xi8, #tile.shared<order = [1, 0]>>, vector<2xi32> -> vector<2xi32>
  simt.return
}
