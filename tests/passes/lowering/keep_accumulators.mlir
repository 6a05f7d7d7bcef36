// RUN: tileopt %s -p keep-accumulators --split-input-file | filecheck %s

#l = #tile.layout<regs = [[0, 1], [0, 2], [0, 4], [0, 8]], lanes = [[1, 0], [2, 0], [4, 0], [8, 0], [16, 0]], warps = [[32, 0], [64, 0]]>
!a = !tile.buffer<128x16xf16, #tile.shared<order = [0, 1], swizzle = [1, 3, 3]>>
!b = !tile.buffer<16x16xf16, #tile.shared<order = [0, 1], swizzle = [1, 3, 3]>>
!f = vector<16xf32>

// A loop that only adds products carries nothing, and waits behind its last iteration.
// CHECK-LABEL: simt.kernel @sum
// CHECK:         %d = gpu.accumulator {columns = 16 : i64}
// CHECK-NEXT:    gpu.accumulator_store %zero, %d
// CHECK-NEXT:    scf.for %i = %z to %n step %u : i64 {
// CHECK-NEXT:      gpu.accumulate %x, %y, %d
// CHECK-NEXT:    }
// CHECK-NEXT:    gpu.accumulator_wait
// CHECK-NEXT:    [[SUM:%.*]] = gpu.accumulator_load %d
// CHECK-NEXT:    arith.truncf [[SUM]]
simt.kernel @sum(%z: i64, %n: i64, %u: i64, %c: f32) attributes {simt.threads = 128 : i64} {
  %x = simt.alloc_shared : !a
  %y = simt.alloc_shared : !b
  %zero = simt.splat %c : f32 -> !f
  %r = scf.for %i = %z to %n step %u iter_args(%acc = %zero) -> (!f) : i64 {
    %d = gpu.accumulator {columns = 16}
    gpu.accumulator_store %acc, %d {layout = #l, shape = array<i64: 128, 16>} : !f
    gpu.accumulate %x, %y, %d {atom = "tcgen05_m128n16k16_f16_f32"} : !a, !b
    gpu.accumulator_wait
    %e = gpu.accumulator_load %d {layout = #l, shape = array<i64: 128, 16>} : !f
    scf.yield %e : !f
  }
  %h = arith.truncf %r : !f to vector<16xf16>
  simt.return
}

// -----

#l = #tile.layout<regs = [[0, 1], [0, 2], [0, 4], [0, 8]], lanes = [[1, 0], [2, 0], [4, 0], [8, 0], [16, 0]], warps = [[32, 0], [64, 0]]>
!a = !tile.buffer<128x16xf16, #tile.shared<order = [0, 1], swizzle = [1, 3, 3]>>
!b = !tile.buffer<16x16xf16, #tile.shared<order = [0, 1], swizzle = [1, 3, 3]>>
!f = vector<16xf32>

// What is done to the accumulator between products is done to what is read again; threads write what the product reads,
// so each is waited for.
// CHECK-LABEL: simt.kernel @faded
// CHECK:         gpu.accumulator_store %one, %d
// CHECK-NEXT:    scf.for %i = %z to %n step %u : i64 {
// CHECK-NEXT:      simt.shared_store %g, %x
// CHECK-NEXT:      [[OLD:%.*]] = gpu.accumulator_load %d
// CHECK-NEXT:      [[NEW:%.*]] = arith.mulf [[OLD]], %s
// CHECK-NEXT:      gpu.accumulator_store [[NEW]], %d
// CHECK-NEXT:      gpu.accumulate %x, %y, %d
// CHECK-NEXT:      gpu.accumulator_wait
// CHECK-NEXT:    }
// CHECK-NEXT:    [[LAST:%.*]] = gpu.accumulator_load %d
// CHECK-NEXT:    arith.truncf [[LAST]]
simt.kernel @faded(%z: i64, %n: i64, %u: i64, %c: f32, %k: f16) attributes {simt.threads = 128 : i64} {
  %x = simt.alloc_shared : !a
  %y = simt.alloc_shared : !b
  %one = simt.splat %c : f32 -> !f
  %s = simt.splat %c : f32 -> !f
  %g = simt.splat %k : f16 -> vector<16xf16>
  %r = scf.for %i = %z to %n step %u iter_args(%acc = %one) -> (!f) : i64 {
    simt.shared_store %g, %x {layout = #l} : vector<16xf16>, !a
    %t = arith.mulf %acc, %s : !f
    %d = gpu.accumulator {columns = 16}
    gpu.accumulator_store %t, %d {layout = #l, shape = array<i64: 128, 16>} : !f
    gpu.accumulate %x, %y, %d {atom = "tcgen05_m128n16k16_f16_f32"} : !a, !b
    gpu.accumulator_wait
    %e = gpu.accumulator_load %d {layout = #l, shape = array<i64: 128, 16>} : !f
    scf.yield %e : !f
  }
  %h = arith.truncf %r : !f to vector<16xf16>
  simt.return
}

// -----

#l = #tile.layout<regs = [[0, 1], [0, 2], [0, 4], [0, 8]], lanes = [[1, 0], [2, 0], [4, 0], [8, 0], [16, 0]], warps = [[32, 0], [64, 0]]>
!a = !tile.buffer<128x16xf16, #tile.shared<order = [0, 1], swizzle = [1, 3, 3]>>
!b = !tile.buffer<16x16xf16, #tile.shared<order = [0, 1], swizzle = [1, 3, 3]>>
!f = vector<16xf32>

// One product after the other onto one accumulator: one place, one wait.
// CHECK-LABEL: simt.kernel @row
// CHECK:         gpu.accumulate %x, %y, %d {atom = "tcgen05_m128n16k16_f16_f32", fresh}
// CHECK-NEXT:    gpu.accumulate %x, %y, %d {atom = "tcgen05_m128n16k16_f16_f32"}
// CHECK-NEXT:    gpu.accumulator_wait
// CHECK-NEXT:    gpu.accumulator_load %d
// CHECK-NEXT:    arith.truncf
simt.kernel @row() attributes {simt.threads = 128 : i64} {
  %x = simt.alloc_shared : !a
  %y = simt.alloc_shared : !b
  %d = gpu.accumulator {columns = 16}
  gpu.accumulate %x, %y, %d {atom = "tcgen05_m128n16k16_f16_f32", fresh} : !a, !b
  gpu.accumulator_wait
  %e = gpu.accumulator_load %d {layout = #l, shape = array<i64: 128, 16>} : !f
  %d2 = gpu.accumulator {columns = 16}
  gpu.accumulator_store %e, %d2 {layout = #l, shape = array<i64: 128, 16>} : !f
  gpu.accumulate %x, %y, %d2 {atom = "tcgen05_m128n16k16_f16_f32"} : !a, !b
  gpu.accumulator_wait
  %e2 = gpu.accumulator_load %d2 {layout = #l, shape = array<i64: 128, 16>} : !f
  %h = arith.truncf %e2 : !f to vector<16xf16>
  simt.return
}

// -----

#l = #tile.layout<regs = [[0, 1], [0, 2], [0, 4], [0, 8]], lanes = [[1, 0], [2, 0], [4, 0], [8, 0], [16, 0]], warps = [[32, 0], [64, 0]]>
!a = !tile.buffer<128x16xf16, #tile.shared<order = [0, 1], swizzle = [1, 3, 3]>>
!b = !tile.buffer<16x16xf16, #tile.shared<order = [0, 1], swizzle = [1, 3, 3]>>
!f = vector<16xf32>

// The old value is wanted after the product has taken its place: it stays in registers.
// CHECK-LABEL: simt.kernel @difference
// CHECK:         scf.for {{.*}} iter_args(%acc = %zero
// CHECK:           gpu.accumulator_store %acc
// CHECK:           %e = gpu.accumulator_load
// CHECK-NEXT:      arith.subf %e, %acc
// CHECK:           scf.yield %e
simt.kernel @difference(%z: i64, %n: i64, %u: i64, %c: f32) attributes {simt.threads = 128 : i64} {
  %x = simt.alloc_shared : !a
  %y = simt.alloc_shared : !b
  %zero = simt.splat %c : f32 -> !f
  %r, %q = scf.for %i = %z to %n step %u iter_args(%acc = %zero, %old = %zero) -> (!f, !f) : i64 {
    %d = gpu.accumulator {columns = 16}
    gpu.accumulator_store %acc, %d {layout = #l, shape = array<i64: 128, 16>} : !f
    gpu.accumulate %x, %y, %d {atom = "tcgen05_m128n16k16_f16_f32"} : !a, !b
    gpu.accumulator_wait
    %e = gpu.accumulator_load %d {layout = #l, shape = array<i64: 128, 16>} : !f
    %m = arith.subf %e, %acc : !f
    scf.yield %e, %m : !f, !f
  }
  %h = arith.addf %r, %q : !f
  simt.return
}

// -----

#l = #tile.layout<regs = [[0, 1], [0, 2], [0, 4], [0, 8]], lanes = [[1, 0], [2, 0], [4, 0], [8, 0], [16, 0]], warps = [[32, 0], [64, 0]]>
!a = !tile.buffer<128x16xf16, #tile.shared<order = [0, 1], swizzle = [1, 3, 3]>>
!b = !tile.buffer<16x16xf16, #tile.shared<order = [0, 1], swizzle = [1, 3, 3]>>
!f = vector<16xf32>

// A product begins before one into another accumulator is waited for; where it takes what that one gives, it does not.
// CHECK-LABEL: simt.kernel @beside
// CHECK:         gpu.accumulate %x, %y, %d
// CHECK-NEXT:    %p = gpu.accumulator
// CHECK-NEXT:    gpu.accumulate %x, %y, %p
// CHECK-NEXT:    gpu.accumulator_wait
// CHECK-NEXT:    %e = gpu.accumulator_load %d
// CHECK-NEXT:    %q = gpu.accumulator_load %p
// CHECK-NEXT:    %s = arith.addf %e, %q
// CHECK-NEXT:    %t = gpu.accumulator
// CHECK-NEXT:    gpu.accumulate %x, %y, %t
// CHECK-NEXT:    gpu.accumulator_wait
// CHECK-NEXT:    %v = gpu.accumulator_load %t
// CHECK-NEXT:    gpu.accumulator_store %v, %p
// CHECK-NEXT:    gpu.accumulate %x, %y, %p
simt.kernel @beside() attributes {simt.threads = 128 : i64} {
  %x = simt.alloc_shared : !a
  %y = simt.alloc_shared : !b
  %d = gpu.accumulator {columns = 16}
  gpu.accumulate %x, %y, %d {atom = "tcgen05_m128n16k16_f16_f32", fresh} : !a, !b
  gpu.accumulator_wait
  %e = gpu.accumulator_load %d {layout = #l, shape = array<i64: 128, 16>} : !f
  %p = gpu.accumulator {columns = 16}
  gpu.accumulate %x, %y, %p {atom = "tcgen05_m128n16k16_f16_f32", fresh} : !a, !b
  gpu.accumulator_wait
  %q = gpu.accumulator_load %p {layout = #l, shape = array<i64: 128, 16>} : !f
  %s = arith.addf %e, %q : !f
  %t = gpu.accumulator {columns = 16}
  gpu.accumulate %x, %y, %t {atom = "tcgen05_m128n16k16_f16_f32", fresh} : !a, !b
  gpu.accumulator_wait
  %v = gpu.accumulator_load %t {layout = #l, shape = array<i64: 128, 16>} : !f
  gpu.accumulator_store %v, %p {layout = #l, shape = array<i64: 128, 16>} : !f
  gpu.accumulate %x, %y, %p {atom = "tcgen05_m128n16k16_f16_f32"} : !a, !b
  gpu.accumulator_wait
  %w = gpu.accumulator_load %p {layout = #l, shape = array<i64: 128, 16>} : !f
  %u = arith.addf %w, %s : !f
  simt.return
}
