// RUN: tileopt %s -p verify-ownership --verify-diagnostics --split-input-file

// All blocks store to one place.
tile.kernel @constant(%out: !tile.view<?xf32, owned> {tile.name = "out"}) {
  %b = tile.bid {axis = 0}
  %c = arith.constant 64 : i64
  %z = tile.splat %b : i64 -> tensor<64xi64>
  %f = arith.sitofp %z : tensor<64xi64> to tensor<64xf32>
  // expected-error@+1 {{[ownership/overlapping-stores]: blocks 0 and 1 both write out[64..127]}}
  tile.store %f, %out[%c] : tensor<64xf32>, !tile.view<?xf32, owned>
  tile.return
}

// -----

// Tiles longer than the step between them.
tile.kernel @short_step(%out: !tile.view<?xf32, owned> {tile.name = "out"}) {
  %b = tile.bid {axis = 0}
  %c = arith.constant 32 : i64
  %o = arith.muli %b, %c : i64
  %z = arith.constant dense<0.0> : tensor<64xf32>
  // expected-error@+1 {{[ownership/overlapping-stores]: blocks 0 and 1 both write out[32..63]}}
  tile.store %z, %out[%o] : tensor<64xf32>, !tile.view<?xf32, owned>
  tile.return
}

// -----

// Split over k without atomics: an axis of the grid that the offsets ignore.
tile.kernel @split_k(%a: !tile.view<?x?xf32, shared>, %out: !tile.view<?x?xf32, owned> {tile.name = "out"}) {
  %b0 = tile.bid {axis = 0}
  %b1 = tile.bid {axis = 1}
  %c0 = arith.constant 0 : i64
  %c = arith.constant 32 : i64
  %i = arith.muli %b0, %c : i64
  %k = arith.muli %b1, %c : i64
  %t = tile.load %a[%i, %k] : !tile.view<?x?xf32, shared> -> tensor<32x32xf32>
  // expected-error@+1 {{[ownership/overlapping-stores]: blocks (0, 0) and (0, 1) both write out[0..31, 0..31]}}
  tile.store %t, %out[%i, %c0] : tensor<32x32xf32>, !tile.view<?x?xf32, owned>
  tile.return
}

// -----

// The sum of two block ids.
tile.kernel @diagonal(%out: !tile.view<?xf32, owned> {tile.name = "out"}) {
  %b0 = tile.bid {axis = 0}
  %b1 = tile.bid {axis = 1}
  %s = arith.addi %b0, %b1 : i64
  %c = arith.constant 32 : i64
  %i = arith.muli %s, %c : i64
  %z = arith.constant dense<0.0> : tensor<32xf32>
  // expected-error@+1 {{[ownership/overlapping-stores]: blocks (0, 1) and (1, 0) both write out[32..63]}}
  tile.store %z, %out[%i] : tensor<32xf32>, !tile.view<?xf32, owned>
  tile.return
}

// -----

// Only the quotient, not the remainder.
tile.kernel @quotient(%out: !tile.view<?xf32, owned> {tile.name = "out"}) {
  %b = tile.bid {axis = 0}
  %c2 = arith.constant 2 : i64
  %c = arith.constant 32 : i64
  %q = arith.floordivsi %b, %c2 : i64
  %i = arith.muli %q, %c : i64
  %z = arith.constant dense<0.0> : tensor<32xf32>
  // expected-error@+1 {{[ownership/overlapping-stores]: blocks 0 and 1 both write out[0..31]}}
  tile.store %z, %out[%i] : tensor<32xf32>, !tile.view<?xf32, owned>
  tile.return
}

// -----

// Quotient and remainder by different divisors.
tile.kernel @mixed_divisors(%out: !tile.view<?x?xf32, owned> {tile.name = "out"}) {
  %b = tile.bid {axis = 0}
  %c3 = arith.constant 3 : i64
  %c4 = arith.constant 4 : i64
  %q = arith.divsi %b, %c4 : i64
  %r = arith.remsi %b, %c3 : i64
  %z = arith.constant dense<0.0> : tensor<1x1xf32>
  // expected-error@+1 {{[ownership/overlapping-stores]: blocks 0 and 3 both write out[0, 0]}}
  tile.store %z, %out[%q, %r] : tensor<1x1xf32>, !tile.view<?x?xf32, owned>
  tile.return
}

// -----

// A run-time divisor that may be 0, or 1 with the remainder as the only coordinate.
tile.kernel @run_time_divisor(%out: !tile.view<?xf32, owned> {tile.name = "out"}, %n: i64 {tile.name = "n"}) {
  %b = tile.bid {axis = 0}
  %r = arith.remui %b, %n : i64
  %z = arith.constant dense<0.0> : tensor<1xf32>
  // expected-error@+1 {{[ownership/overlapping-stores]}}
  tile.store %z, %out[%r] : tensor<1xf32>, !tile.view<?xf32, owned>
  tile.return
}

// -----

// A loop whose sub-tiles run into the next block's.
tile.kernel @long_loop(%out: !tile.view<?xf32, owned> {tile.name = "out"}) {
  %b = tile.bid {axis = 0}
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %c5 = arith.constant 5 : i64
  %c = arith.constant 256 : i64
  %s = arith.constant 64 : i64
  %o = arith.muli %b, %c : i64
  scf.for %k = %c0 to %c5 step %c1 : i64 {
    %ks = arith.muli %k, %s : i64
    %p = arith.addi %o, %ks : i64
    %z = arith.constant dense<0.0> : tensor<64xf32>
    // expected-error@+1 {{[ownership/overlapping-stores]: blocks 0 and 1 both write out[256..319]}}
    tile.store %z, %out[%p] : tensor<64xf32>, !tile.view<?xf32, owned>
  }
  tile.return
}

// -----

// A persistent loop that steps by 1.
tile.kernel @persistent_step(%out: !tile.view<?xf32, owned> {tile.name = "out"}, %n: i64 {tile.name = "n"}) {
  %b = tile.bid {axis = 0}
  %c1 = arith.constant 1 : i64
  %c = arith.constant 16 : i64
  %n32 = arith.trunci %n : i64 to i32
  %m = arith.extsi %n32 : i32 to i64
  scf.for %t = %b to %m step %c1 : i64 {
    %o = arith.muli %t, %c : i64
    %z = arith.constant dense<0.0> : tensor<16xf32>
    // expected-error@+1 {{[ownership/overlapping-stores]}}
    tile.store %z, %out[%o] : tensor<16xf32>, !tile.view<?xf32, owned>
  }
  tile.return
}

// -----

// Two stores, one by the next block into this one's part.
tile.kernel @neighbour(%out: !tile.view<?xf32, owned> {tile.name = "out"}) {
  %b = tile.bid {axis = 0}
  %c = arith.constant 64 : i64
  %o = arith.muli %b, %c : i64
  %p = arith.addi %o, %c : i64
  %z = arith.constant dense<0.0> : tensor<64xf32>
  // expected-note@+1 {{the other store is here}}
  tile.store %z, %out[%o] : tensor<64xf32>, !tile.view<?xf32, owned>
  // expected-error@+1 {{[ownership/overlapping-stores]: blocks 1 and 0 both write out[64..127]}}
  tile.store %z, %out[%p] : tensor<64xf32>, !tile.view<?xf32, owned>
  tile.return
}

// -----

// Reading what the next block writes.
tile.kernel @halo(%out: !tile.view<?xf32, owned> {tile.name = "out"}) {
  %b = tile.bid {axis = 0}
  %c = arith.constant 64 : i64
  %o = arith.muli %b, %c : i64
  // expected-error@+1 {{[ownership/foreign-read]: block 0 reads out[64..127], which block 1 writes}}
  %t = tile.load %out[%o] : !tile.view<?xf32, owned> -> tensor<128xf32>
  %z = arith.constant dense<0.0> : tensor<64xf32>
  // expected-note@+1 {{the store is here}}
  tile.store %z, %out[%o] : tensor<64xf32>, !tile.view<?xf32, owned>
  tile.return
}

// -----

// An offset that was loaded.
tile.kernel @scatter(%idx: !tile.view<?xi64, shared>, %out: !tile.view<?xf32, owned> {tile.name = "out"}) {
  %b = tile.bid {axis = 0}
  %t = tile.load %idx[%b] : !tile.view<?xi64, shared> -> tensor<1xi64>
  %s = tile.reduce %t {kind = "sum", axis = 0 : i64} : tensor<1xi64> -> tensor<i64>
  %at = "test.op"(%s) : (tensor<i64>) -> i64
  %z = arith.constant dense<0.0> : tensor<1xf32>
  // expected-error@+1 {{[ownership/data-dependent-store]: where this stores to out depends on loaded data}}
  tile.store %z, %out[%at] : tensor<1xf32>, !tile.view<?xf32, owned>
  tile.return
}

// -----

// A guard that lets two blocks through.
tile.kernel @guard(%out: !tile.view<?xf32, owned> {tile.name = "out"}) {
  %b = tile.bid {axis = 0}
  %c0 = arith.constant 0 : i64
  %c2 = arith.constant 2 : i64
  %few = arith.cmpi slt, %b, %c2 : i64
  scf.if %few {
    %z = arith.constant dense<0.0> : tensor<64xf32>
    // expected-error@+1 {{[ownership/overlapping-stores]: blocks 0 and 1 both write out[0..63]}}
    tile.store %z, %out[%c0] : tensor<64xf32>, !tile.view<?xf32, owned>
  }
  tile.return
}

// -----

// 2^33 blocks would be needed, but the product wraps before: 2^32 * 2^32 is 0.
tile.kernel @wraps(%out: !tile.view<?xf32, owned> {tile.name = "out"}) {
  %b = tile.bid {axis = 0}
  %c = arith.constant 4611686018427387904 : i64
  %o = arith.muli %b, %c : i64
  %z = arith.constant dense<0.0> : tensor<64xf32>
  // expected-error@+1 {{[ownership/overlapping-stores]}}
  tile.store %z, %out[%o] : tensor<64xf32>, !tile.view<?xf32, owned>
  tile.return
}
