// RUN: tileopt %s -p elide-bounds --deny-checks --verify-diagnostics --split-input-file
// RUN: tileopt %s -p 'elide-bounds{deny-checks=true}' --verify-diagnostics --split-input-file

// The error says what would prove the access.
simt.kernel @longer(%x: !tile.view<?xf32, shared> {tile.name = "x"}, %out: !tile.view<?xf32, owned> {tile.name = "out"}) attributes {simt.block = array<i64: 32, 1, 1>} {
  %i = simt.thread_idx {axis = 0}
  %n = simt.dim %out {axis = 0} : !tile.view<?xf32, owned>
  %in = arith.cmpi slt, %i, %n : i64
  scf.if %in {
    // expected-error@+1 {{[bounds/unproved]: cannot prove this access inside: thread_idx(0) is not known to be below x.shape[0]}}
    %v = simt.element_load %x[%i] : !tile.view<?xf32, shared> -> f32
  }
  simt.return
}

// -----

// A part of an array, too.
simt.kernel @part(%x: !tile.view<?xf32, shared> {tile.name = "x"}, %n: i64 {tile.name = "n"}) attributes {simt.block = array<i64: 32, 1, 1>} {
  %d = simt.dim %x {axis = 0} : !tile.view<?xf32, shared>
  // expected-error@+1 {{n may be negative along axis 0 of x}}
  simt.check_index %n below %d {array = "x"}
  simt.return
}
