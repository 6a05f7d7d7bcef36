// RUN: tileopt %s --split-input-file --verify-diagnostics

// What the verifiers of maps, and of tiles in kernels of threads, refuse.

// expected-error@+1 {{a map takes and gives at least one tile}}
"tile.map_simt"() ({
  "tile.map_yield"() : () -> ()
}) : () -> ()

// -----

%a, %b = "test.op"() : () -> (tensor<8x4xf32>, tensor<4x8xf32>)
// expected-error@+1 {{the tiles of a map have one shape, not tensor<8x4xf32> and tensor<4x8xf32>}}
%c = tile.map_simt %a, %b : tensor<8x4xf32>, tensor<4x8xf32> -> tensor<8x4xf32> {
^bb0(%x: f32, %y: f32):
  tile.map_yield %x : f32
}

// -----

%a = "test.op"() : () -> tensor<8x4xf32>
// expected-error@+1 {{the region's arguments are not the elements of the tiles}}
%c = tile.map_simt %a : tensor<8x4xf32> -> tensor<8x4xf64> {
^bb0(%x: f64):
  tile.map_yield %x : f64
}

// -----

%a = "test.op"() : () -> tensor<8x4xf32>
// expected-error@+1 {{the region does not yield the elements of the results}}
%c = tile.map_simt %a : tensor<8x4xf32> -> tensor<8x4xf64> {
^bb0(%x: f32):
  tile.map_yield %x : f32
}

// -----

%a = "test.op"() : () -> tensor<8x4xf32>
// expected-error@+1 {{axis 2 is not an axis of tensor<8x4xf32>}}
%c = tile.map_simt %a {axis = 2} : tensor<8x4xf32> -> tensor<8x4xf32> {
^bb0(%x: f32):
  tile.map_yield %x : f32
}

// -----

%a = "test.op"() : () -> tensor<8x4xf32>
// expected-error@+1 {{padding needs an axis, and has a number for each tile}}
%c = tile.map_simt %a {padding = [0.0 : f32]} : tensor<8x4xf32> -> tensor<8x4xf32> {
^bb0(%x: f32):
  tile.map_yield %x : f32
}

// -----

%a = "test.op"() : () -> tensor<8x4xf32>
// expected-error@+1 {{padding needs an axis, and has a number for each tile}}
%c = tile.map_simt %a {axis = 0, padding = []} : tensor<8x4xf32> -> tensor<8x4xf32> {
^bb0(%x: f32):
  tile.map_yield %x : f32
}

// -----

%a = "test.op"() : () -> tensor<8x4xf32>
// expected-error@+1 {{the padding "zero" is not a number}}
%c = tile.map_simt %a {axis = 0, padding = ["zero"]} : tensor<8x4xf32> -> tensor<8x4xf32> {
^bb0(%x: f32):
  tile.map_yield %x : f32
}

// -----

%a = "test.op"() : () -> tensor<8x4xf32>
// expected-error@+1 {{padding is an array of numbers Underlying verification failure: 1.000000e+00 : f32 should be of base attribute array}}
%c = tile.map_simt %a {axis = 0, padding = 1.0 : f32} : tensor<8x4xf32> -> tensor<8x4xf32> {
^bb0(%x: f32):
  tile.map_yield %x : f32
}

// -----

%a = "test.op"() : () -> tensor<8x4xf32>
// expected-error@+1 {{the padding is of f64, the elements are f32}}
%c = tile.map_simt %a {axis = 0, padding = [1.0 : f64]} : tensor<8x4xf32> -> tensor<8x4xf32> {
^bb0(%x: f32):
  tile.map_yield %x : f32
}

// -----

%a = "test.op"() : () -> tensor<8x4xf32>
// expected-error@+1 {{'simt.warp_reduce' in a map needs the axis along which the lanes lie}}
%c = tile.map_simt %a : tensor<8x4xf32> -> tensor<8x4xf32> {
^bb0(%x: f32):
  %y = simt.warp_reduce %x {kind = "sum"} : f32 -> f32
  tile.map_yield %y : f32
}

// -----

%a, %p, %i = "test.op"() : () -> (tensor<8x4xf32>, !tile.view<?xf32, owned>, i64)
// expected-error@+1 {{a map reads arrays that nobody writes, not !tile.view<?xf32, owned>}}
%c = tile.map_simt %a : tensor<8x4xf32> -> tensor<8x4xf32> {
^bb0(%x: f32):
  %y = simt.element_load %p[%i] : !tile.view<?xf32, owned> -> f32
  tile.map_yield %y : f32
}

// -----

%a = "test.op"() : () -> tensor<8x4xf32>
// expected-error@+1 {{'simt.barrier' cannot stand in a map}}
%c = tile.map_simt %a {axis = 0} : tensor<8x4xf32> -> tensor<8x4xf32> {
^bb0(%x: f32):
  simt.barrier
  tile.map_yield %x : f32
}

// -----

%a, %p, %i = "test.op"() : () -> (tensor<8x4xf32>, !tile.view<?xf32, owned>, i64)
// expected-error@+1 {{'simt.element_store' cannot stand in a map}}
%c = tile.map_simt %a : tensor<8x4xf32> -> tensor<8x4xf32> {
^bb0(%x: f32):
  simt.element_store %x, %p[%i] : f32, !tile.view<?xf32, owned>
  tile.map_yield %x : f32
}

// -----

%a = "test.op"() : () -> tensor<8x4xf32>
// expected-error@+1 {{'arith.addf' in a map works on a tile: its elements are the region's arguments}}
%c = tile.map_simt %a : tensor<8x4xf32> -> tensor<8x4xf32> {
^bb0(%x: f32):
  %y = arith.addf %a, %a : tensor<8x4xf32>
  tile.map_yield %x : f32
}

// -----

#rows = #tile.layout<regs = [], lanes = [[0, 1], [0, 2], [1, 0], [2, 0], [4, 0]], warps = []>
%a = "test.op"() : () -> tensor<8x4xf32, #rows>
// expected-error@+1 {{some tiles of a map have a layout, and some have none}}
%c = tile.map_simt %a : tensor<8x4xf32, #rows> -> tensor<8x4xf32> {
^bb0(%x: f32):
  tile.map_yield %x : f32
}

// -----

#rows = #tile.layout<regs = [], lanes = [[0, 1], [0, 2], [1, 0], [2, 0], [4, 0]], warps = []>
%a = "test.op"() : () -> tensor<8x4xf32, #rows>
// expected-error@+1 {{the lanes do not lie along axis 1}}
%c = tile.map_simt %a {axis = 1} : tensor<8x4xf32, #rows> -> tensor<8x4xf32, #rows> {
^bb0(%x: f32):
  tile.map_yield %x : f32
}

// -----

%m = "test.op"() : () -> !tile.buffer<8x4xf32>
// expected-error@+1 {{!tile.buffer<8x4xf32> and tensor<4x8xf32> are not the same tile}}
%c = tile.load_buffer %m : !tile.buffer<8x4xf32> -> tensor<4x8xf32>

// -----

%a, %m = "test.op"() : () -> (tensor<8x4xf16>, !tile.buffer<8x4xf32>)
// expected-error@+1 {{tensor<8x4xf16> and !tile.buffer<8x4xf32> are not the same tile}}
tile.store_buffer %a, %m : tensor<8x4xf16>, !tile.buffer<8x4xf32>
