// RUN: tileopt %s | tileopt | filecheck %s
// RUN: tileopt %s --mlir-print-op-generic | tileopt - | filecheck %s
// RUN: tileopt %s --mlir-print-op-generic | filecheck %s --check-prefix=GENERIC

// CHECK: stream.program @empty() {
// CHECK-NEXT: stream.return
// GENERIC: "stream.program"() <{sym_name = "empty", function_type = () -> ()}>
// GENERIC: "stream.return"() : () -> ()
stream.program @empty() {
  stream.return
}

// CHECK: stream.program @all(%x: !stream.buffer<?x4xf32, borrowed>, %y: !stream.buffer<?x4xf32, owned>, %n: i64) -> !stream.buffer<?x4xf32, owned> {
stream.program @all(%x: !stream.buffer<?x4xf32, borrowed>, %y: !stream.buffer<?x4xf32, owned>, %n: i64) -> !stream.buffer<?x4xf32, owned> {
  // CHECK-NEXT: %s = stream.create
  // GENERIC: %s = "stream.create"() : () -> !stream.stream
  %s = stream.create
  // CHECK-NEXT: %b = stream.alloc(%n) on %s : !stream.buffer<?x4xf32, owned>
  // GENERIC: %b = "stream.alloc"(%n, %s) : (i64, !stream.stream) -> !stream.buffer<?x4xf32, owned>
  %b = stream.alloc(%n) on %s : !stream.buffer<?x4xf32, owned>
  // CHECK-NEXT: stream.copy %x to %b on %s : !stream.buffer<?x4xf32, borrowed>, !stream.buffer<?x4xf32, owned>
  // GENERIC: "stream.copy"(%x, %b, %s) : (!stream.buffer<?x4xf32, borrowed>, !stream.buffer<?x4xf32, owned>, !stream.stream) -> ()
  stream.copy %x to %b on %s : !stream.buffer<?x4xf32, borrowed>, !stream.buffer<?x4xf32, owned>
  // CHECK-NEXT: stream.launch @k grid(%n, %n, %n) on %s (borrow %x, own %y, move %b, %n) : (!stream.buffer<?x4xf32, borrowed>, !stream.buffer<?x4xf32, owned>, !stream.buffer<?x4xf32, owned>, i64)
  // GENERIC: "stream.launch"(%n, %n, %n, %s, %x, %y, %b, %n) <{kernel = @k, modes = ["borrow", "own", "move", "value"], operandSegmentSizes = array<i32: 3, 1, 4>}>
  stream.launch @k grid(%n, %n, %n) on %s (borrow %x, own %y, move %b, %n) : (!stream.buffer<?x4xf32, borrowed>, !stream.buffer<?x4xf32, owned>, !stream.buffer<?x4xf32, owned>, i64)
  // CHECK-NEXT: stream.launch @k grid(%n, %n, %n) on %s () attributes {hint = 1 : i64} : ()
  stream.launch @k grid(%n, %n, %n) on %s () attributes {hint = 1 : i64} : ()
  // CHECK-NEXT: %e = stream.record %s
  // GENERIC: %e = "stream.record"(%s) : (!stream.stream) -> !stream.event
  %e = stream.record %s
  // CHECK-NEXT: stream.wait %s, %e
  // GENERIC: "stream.wait"(%s, %e) : (!stream.stream, !stream.event) -> ()
  stream.wait %s, %e
  // CHECK-NEXT: stream.sync %s
  // GENERIC: "stream.sync"(%s) : (!stream.stream) -> ()
  stream.sync %s
  // CHECK-NEXT: %c = stream.alloc() on %s : !stream.buffer<8xf16, owned>
  %c = stream.alloc() on %s : !stream.buffer<8xf16, owned>
  // CHECK-NEXT: stream.free %c on %s : !stream.buffer<8xf16, owned>
  // GENERIC: "stream.free"(%c, %s) : (!stream.buffer<8xf16, owned>, !stream.stream) -> ()
  stream.free %c on %s : !stream.buffer<8xf16, owned>
  // CHECK-NEXT: %g = stream.graph on %q (%from = %x : !stream.buffer<?x4xf32, borrowed>, %into = %y : !stream.buffer<?x4xf32, owned>, %m = %n : i64) {
  // GENERIC: %g = "stream.graph"(%x, %y, %n) ({
  // GENERIC-NEXT: ^bb0(%q: !stream.stream, %from: !stream.buffer<?x4xf32, borrowed>, %into: !stream.buffer<?x4xf32, owned>, %m: i64):
  %g = stream.graph on %q (%from = %x : !stream.buffer<?x4xf32, borrowed>, %into = %y : !stream.buffer<?x4xf32, owned>, %m = %n : i64) {
    // CHECK-NEXT: %one = arith.constant 1 : i64
    %one = arith.constant 1 : i64
    // CHECK-NEXT: stream.copy %from to %into on %q : !stream.buffer<?x4xf32, borrowed>, !stream.buffer<?x4xf32, owned>
    stream.copy %from to %into on %q : !stream.buffer<?x4xf32, borrowed>, !stream.buffer<?x4xf32, owned>
    // CHECK-NEXT: stream.launch @k grid(%m, %one, %one) on %q (borrow %from, own %into) : (!stream.buffer<?x4xf32, borrowed>, !stream.buffer<?x4xf32, owned>)
    stream.launch @k grid(%m, %one, %one) on %q (borrow %from, own %into) : (!stream.buffer<?x4xf32, borrowed>, !stream.buffer<?x4xf32, owned>)
  // CHECK-NEXT: }
  // GENERIC: }) : (!stream.buffer<?x4xf32, borrowed>, !stream.buffer<?x4xf32, owned>, i64) -> !stream.graph
  }
  // CHECK-NEXT: %h = stream.graph on %r () attributes {hint = 1 : i64} {
  // CHECK-NEXT: }
  %h = stream.graph on %r () attributes {hint = 1 : i64} {
  }
  // CHECK-NEXT: stream.replay %g on %s
  // GENERIC: "stream.replay"(%g, %s) : (!stream.graph, !stream.stream) -> ()
  stream.replay %g on %s
  // CHECK-NEXT: stream.return %y : !stream.buffer<?x4xf32, owned>
  stream.return %y : !stream.buffer<?x4xf32, owned>
}
