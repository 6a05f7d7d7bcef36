// RUN: tileopt %s | tileopt | filecheck %s
// RUN: tileopt %s --mlir-print-op-generic | tileopt - | filecheck %s
// RUN: tileopt %s --mlir-print-op-generic | filecheck %s --check-prefix=GENERIC

// CHECK-LABEL: simt.kernel @threads
// CHECK-SAME: attributes {simt.block = array<i64: 64, 4, 1>, simt.dynamic_shared = 1024 : i64, simt.manual_barriers, simt.requires = ["len(out) <= x.shape[0]"]} {
simt.kernel @threads(%x: !tile.view<?x16xf32, shared> {tile.name = "x"}, %out: !tile.view<?xf32, owned> {tile.name = "out"}) attributes {simt.block = array<i64: 64, 4, 1>, simt.dynamic_shared = 1024 : i64, simt.manual_barriers, simt.requires = ["len(out) <= x.shape[0]"]} {
  // CHECK-NEXT: %i = simt.thread_idx {axis = 0 : i64}
  // GENERIC: %i = "simt.thread_idx"() <{axis = 0 : i64}> : () -> i64
  %i = simt.thread_idx {axis = 0}
  // CHECK-NEXT: %n = simt.block_dim {axis = 1 : i64}
  // GENERIC: %n = "simt.block_dim"() <{axis = 1 : i64}> : () -> i64
  %n = simt.block_dim {axis = 1}
  // CHECK-NEXT: %a = simt.element_load %x[%i, %n] : !tile.view<?x16xf32, shared> -> f32
  // GENERIC: %a = "simt.element_load"(%x, %i, %n) : (!tile.view<?x16xf32, shared>, i64, i64) -> f32
  %a = simt.element_load %x[%i, %n] : !tile.view<?x16xf32, shared> -> f32
  // CHECK-NEXT: %b = simt.element_load %x[%i, %n] {bounds = #tile.bounds<checked [1] "why">} : !tile.view<?x16xf32, shared> -> f32
  // GENERIC: %b = "simt.element_load"(%x, %i, %n) <{bounds = #tile.bounds<checked [1] "why">}> : (!tile.view<?x16xf32, shared>, i64, i64) -> f32
  %b = simt.element_load %x[%i, %n] {bounds = #tile.bounds<checked [1] "why">} : !tile.view<?x16xf32, shared> -> f32
  // CHECK-NEXT: simt.element_store %a, %out[%i] {bounds = #tile.bounds<proved []>, witness} : f32, !tile.view<?xf32, owned>
  // GENERIC: "simt.element_store"(%a, %out, %i) <{bounds = #tile.bounds<proved []>, witness}> : (f32, !tile.view<?xf32, owned>, i64) -> ()
  simt.element_store %a, %out[%i] {bounds = #tile.bounds<proved []>, witness} : f32, !tile.view<?xf32, owned>
  // CHECK-NEXT: %m = simt.dynamic_shared {offset = 512 : i64} : !tile.buffer<128xf32>
  // GENERIC: %m = "simt.dynamic_shared"() <{offset = 512 : i64}> : () -> !tile.buffer<128xf32>
  %m = simt.dynamic_shared {offset = 512} : !tile.buffer<128xf32>
  // CHECK-NEXT: simt.element_store %b, %m[%i] : f32, !tile.buffer<128xf32>
  // GENERIC: "simt.element_store"(%b, %m, %i) : (f32, !tile.buffer<128xf32>, i64) -> ()
  simt.element_store %b, %m[%i] : f32, !tile.buffer<128xf32>
  // CHECK-NEXT: simt.check_index %i below %n {array = "x"}
  // GENERIC: "simt.check_index"(%i, %n) <{array = "x"}> : (i64, i64) -> ()
  simt.check_index %i below %n {array = "x"}
  // CHECK-NEXT: simt.check_index %i below %n {array = "x", bounds = #tile.bounds<launch []>}
  // GENERIC: "simt.check_index"(%i, %n) <{array = "x", bounds = #tile.bounds<launch []>}> : (i64, i64) -> ()
  simt.check_index %i below %n {array = "x", bounds = #tile.bounds<launch []>}
  // CHECK-NEXT: simt.check_index %i below %n {array = "x", what = "count", of = "a row of 'x'"}
  // GENERIC: "simt.check_index"(%i, %n) <{array = "x", what = "count", of = "a row of 'x'"}> : (i64, i64) -> ()
  simt.check_index %i below %n {array = "x", what = "count", of = "a row of 'x'"}
  // CHECK-NEXT: simt.return
  // GENERIC: "simt.return"() : () -> ()
  simt.return
}

// CHECK-LABEL: simt.kernel @cluster
// CHECK-SAME: attributes {simt.max_threads = 256 : i64, simt.min_blocks = 2 : i64, simt.cluster = array<i64: 2, 1, 1>, simt.grid_rank = 2 : i64, simt.min_arch = "sm_90"} {
simt.kernel @cluster() attributes {simt.max_threads = 256 : i64, simt.min_blocks = 2 : i64, simt.cluster = array<i64: 2, 1, 1>, simt.grid_rank = 2 : i64, simt.min_arch = "sm_90"} {
  // CHECK-NEXT: simt.return
  // GENERIC: "simt.return"() : () -> ()
  simt.return
}

// CHECK-LABEL: simt.kernel @warps
simt.kernel @warps(%v: f32, %lane: i32, %c: i1, %k: i64) {
  // CHECK-NEXT: %a = simt.shuffle %v, %lane {kind = "idx"} : f32 -> f32
  // GENERIC: %a = "simt.shuffle"(%v, %lane) <{kind = "idx"}> : (f32, i32) -> f32
  %a = simt.shuffle %v, %lane {kind = "idx"} : f32 -> f32
  // CHECK-NEXT: %b = simt.shuffle %k, %lane {kind = "down", width = 8 : i64} : i64 -> i64
  // GENERIC: %b = "simt.shuffle"(%k, %lane) <{kind = "down", width = 8 : i64}> : (i64, i32) -> i64
  %b = simt.shuffle %k, %lane {kind = "down", width = 8 : i64} : i64 -> i64
  // CHECK-NEXT: %d = simt.vote %c {kind = "any"} : i1
  // GENERIC: %d = "simt.vote"(%c) <{kind = "any"}> : (i1) -> i1
  %d = simt.vote %c {kind = "any"} : i1
  // CHECK-NEXT: %e = simt.vote %c {kind = "ballot"} : i32
  // GENERIC: %e = "simt.vote"(%c) <{kind = "ballot"}> : (i1) -> i32
  %e = simt.vote %c {kind = "ballot"} : i32
  // CHECK-NEXT: %f = simt.match %k {kind = "any"} : i64 -> i32
  // GENERIC: %f = "simt.match"(%k) <{kind = "any"}> : (i64) -> i32
  %f = simt.match %k {kind = "any"} : i64 -> i32
  // CHECK-NEXT: %g = simt.warp_reduce %v {kind = "sum"} : f32 -> f32
  // GENERIC: %g = "simt.warp_reduce"(%v) <{kind = "sum"}> : (f32) -> f32
  %g = simt.warp_reduce %v {kind = "sum"} : f32 -> f32
  // CHECK-NEXT: %h = simt.warp_reduce %k {kind = "umax", width = 16 : i64} : i64 -> i64
  // GENERIC: %h = "simt.warp_reduce"(%k) <{kind = "umax", width = 16 : i64}> : (i64) -> i64
  %h = simt.warp_reduce %k {kind = "umax", width = 16 : i64} : i64 -> i64
  // CHECK-NEXT: %i = simt.elect
  // GENERIC: %i = "simt.elect"() : () -> i1
  %i = simt.elect
  // CHECK-NEXT: %j = simt.active_mask
  // GENERIC: %j = "simt.active_mask"() : () -> i32
  %j = simt.active_mask
  // CHECK-NEXT: %l = simt.lane_mask {kind = "lt"}
  // GENERIC: %l = "simt.lane_mask"() <{kind = "lt"}> : () -> i32
  %l = simt.lane_mask {kind = "lt"}
  // CHECK-NEXT: simt.sync_warp
  // GENERIC: "simt.sync_warp"() : () -> ()
  simt.sync_warp
  // CHECK-NEXT: simt.return
  // GENERIC: "simt.return"() : () -> ()
  simt.return
}

// CHECK-LABEL: simt.kernel @atomics
simt.kernel @atomics(%x: !tile.view<?x16xf32, atomic>, %i: i64, %v: f32, %n: i32) {
  // CHECK-NEXT: %m = simt.alloc_shared : !tile.buffer<8xi32>
  // GENERIC: %m = "simt.alloc_shared"() : () -> !tile.buffer<8xi32>
  %m = simt.alloc_shared : !tile.buffer<8xi32>
  // CHECK-NEXT: %a = simt.atomic_rmw %v, %x[%i, %i] {kind = "add"} : f32, !tile.view<?x16xf32, atomic> -> f32
  // GENERIC: %a = "simt.atomic_rmw"(%v, %x, %i, %i) <{kind = "add"}> : (f32, !tile.view<?x16xf32, atomic>, i64, i64) -> f32
  %a = simt.atomic_rmw %v, %x[%i, %i] {kind = "add"} : f32, !tile.view<?x16xf32, atomic> -> f32
  // CHECK-NEXT: %b = simt.atomic_rmw %n, %m[%i] {kind = "umin", order = "acq_rel", scope = "block", bounds = #tile.bounds<proved []>} : i32, !tile.buffer<8xi32> -> i32
  // GENERIC: %b = "simt.atomic_rmw"(%n, %m, %i) <{kind = "umin", order = "acq_rel", scope = "block", bounds = #tile.bounds<proved []>}> : (i32, !tile.buffer<8xi32>, i64) -> i32
  %b = simt.atomic_rmw %n, %m[%i] {kind = "umin", order = "acq_rel", scope = "block", bounds = #tile.bounds<proved []>} : i32, !tile.buffer<8xi32> -> i32
  // CHECK-NEXT: %c = simt.atomic_cas %n, %b, %m[%i] {order = "acquire"} : i32, i32, !tile.buffer<8xi32> -> i32
  // GENERIC: %c = "simt.atomic_cas"(%n, %b, %m, %i) <{order = "acquire"}> : (i32, i32, !tile.buffer<8xi32>, i64) -> i32
  %c = simt.atomic_cas %n, %b, %m[%i] {order = "acquire"} : i32, i32, !tile.buffer<8xi32> -> i32
  // CHECK-NEXT: simt.fence
  // GENERIC: "simt.fence"() : () -> ()
  simt.fence
  // CHECK-NEXT: simt.fence {scope = "system"}
  // GENERIC: "simt.fence"() <{scope = "system"}> : () -> ()
  simt.fence {scope = "system"}
  // CHECK-NEXT: simt.return
  // GENERIC: "simt.return"() : () -> ()
  simt.return
}
