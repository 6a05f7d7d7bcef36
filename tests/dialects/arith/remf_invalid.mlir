// RUN: tileopt %s --split-input-file --verify-diagnostics

// expected-error@+2 {{Unexpected attribute i32}}
func.func @integers(%x: i32) {
  %a = arith.remf %x, %x : i32
  func.return
}
