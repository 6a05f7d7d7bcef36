// RUN: tileopt %s -p verify-ownership --verify-diagnostics

// All threads of a block store to its place.
simt.kernel @blocks(%out: !tile.view<?xf32, owned> {tile.name = "out"}) attributes {simt.block = array<i64: 64, 1, 1>} {
  %b = simt.block_id {axis = 0}
  %z = arith.constant 0.0 : f32
  // expected-error@+1 {{[ownership/overlapping-stores]: thread 0 of block 0 and thread 1 of block 0 both write out[0]}}
  simt.element_store %z, %out[%b] : f32, !tile.view<?xf32, owned>
  simt.return
}
