// RUN: tileopt %s --split-input-file --verify-diagnostics

// What the verifiers of the stream dialect refuse.

%s = "test.op"() : () -> !stream.stream
// expected-error@+1 {{1 sizes for the 0 run-time extents of !stream.buffer<4xf32, owned>}}
%b = "stream.alloc"(%n, %s) : (i64, !stream.stream) -> !stream.buffer<4xf32, owned>
%n = "test.op"() : () -> i64

// -----

%s = "test.op"() : () -> !stream.stream
// expected-error@+1 {{what is allocated is owned}}
%b = stream.alloc() on %s : !stream.buffer<4xf32, borrowed>

// -----

%s, %b = "test.op"() : () -> (!stream.stream, !stream.buffer<4xf32, borrowed>)
// expected-error@+1 {{a free needs an owned buffer, got !stream.buffer<4xf32, borrowed>}}
stream.free %b on %s : !stream.buffer<4xf32, borrowed>

// -----

%s, %a, %b = "test.op"() : () -> (!stream.stream, !stream.buffer<4xf32, borrowed>, !stream.buffer<5xf32, owned>)
// expected-error@+1 {{!stream.buffer<4xf32, borrowed> and !stream.buffer<5xf32, owned> differ in shape or element type}}
stream.copy %a to %b on %s : !stream.buffer<4xf32, borrowed>, !stream.buffer<5xf32, owned>

// -----

%s, %a, %b = "test.op"() : () -> (!stream.stream, !stream.buffer<4xf32, owned>, !stream.buffer<4xf32, borrowed>)
// expected-error@+1 {{the target of a copy needs an owned buffer}}
stream.copy %a to %b on %s : !stream.buffer<4xf32, owned>, !stream.buffer<4xf32, borrowed>

// -----

%s, %n = "test.op"() : () -> (!stream.stream, i64)
// expected-error@+1 {{a grid has 3 extents, got 2}}
stream.launch @k grid(%n, %n) on %s () : ()

// -----

%s, %n = "test.op"() : () -> (!stream.stream, i64)
// expected-error@+1 {{0 modes for 1 arguments}}
"stream.launch"(%n, %n, %n, %s, %n) <{kernel = @k, modes = [], operandSegmentSizes = array<i32: 3, 1, 1>}> : (i64, i64, i64, !stream.stream, i64) -> ()

// -----

%s, %n = "test.op"() : () -> (!stream.stream, i64)
// expected-error@+1 {{an argument is borrowed, owned, moved or a value, not 'lend'}}
stream.launch @k grid(%n, %n, %n) on %s (lend %n) : (i64)

// -----

%s, %n = "test.op"() : () -> (!stream.stream, i64)
// expected-error@+1 {{an argument of type i64 cannot be taken by 'own'}}
stream.launch @k grid(%n, %n, %n) on %s (own %n) : (i64)

// -----

%s, %n, %b = "test.op"() : () -> (!stream.stream, i64, !stream.buffer<4xf32, owned>)
// expected-error@+1 {{an argument of type !stream.buffer<4xf32, owned> cannot be taken by 'value'}}
stream.launch @k grid(%n, %n, %n) on %s (%b) : (!stream.buffer<4xf32, owned>)

// -----

%s, %n, %b = "test.op"() : () -> (!stream.stream, i64, !stream.buffer<4xf32, borrowed>)
// expected-error@+1 {{'own' needs an owned buffer}}
stream.launch @k grid(%n, %n, %n) on %s (own %b) : (!stream.buffer<4xf32, borrowed>)

// -----

// expected-error@+1 {{what the program returns differs from its type}}
stream.program @f(%b: !stream.buffer<4xf32, owned>) {
  stream.return %b : !stream.buffer<4xf32, owned>
}

// -----

stream.program @f(%b: !stream.buffer<4xf32, borrowed>) -> !stream.buffer<4xf32, borrowed> {
  // expected-error@+1 {{a return needs an owned buffer}}
  stream.return %b : !stream.buffer<4xf32, borrowed>
}

// -----

stream.program @f(%n: i64) {
  // expected-error@+1 {{a program returns buffers, not i64}}
  stream.return %n : i64
}

// -----

// expected-error@+1 {{the body's arguments differ from the program's type}}
"stream.program"() <{sym_name = "f", function_type = (i64) -> ()}> ({
  stream.return
}) : () -> ()

// -----

// expected-error@+1 {{a program ends with stream.return}}
stream.program @f() {
  "test.termop"() : () -> ()
}

// -----

// expected-error@+1 {{a buffer is owned or borrowed, not 'lent'}}
%b = "test.op"() : () -> !stream.buffer<4xf32, lent>

// -----

// expected-error@+1 {{is not an element type}}
%b = "test.op"() : () -> !stream.buffer<4xi7, owned>

// -----

%a = "test.op"() : () -> !stream.buffer<4xf32, owned>
// expected-error@+1 {{the arguments of a graph's body are a stream and what the graph takes}}
%g = "stream.graph"(%a) ({
^bb0(%q: !stream.stream, %b: !stream.buffer<4xf32, borrowed>):
}) : (!stream.buffer<4xf32, owned>) -> !stream.graph

// -----

%s = "test.op"() : () -> !stream.stream
// expected-error@+1 {{a graph takes buffers and numbers, not !stream.stream}}
%g = stream.graph on %q (%t = %s : !stream.stream) {
}

// -----

%a = "test.op"() : () -> !stream.buffer<4xf32, owned>
// expected-error@+1 {{a graph takes each buffer once: two names would hide that they are one}}
%g = stream.graph on %q (%b = %a : !stream.buffer<4xf32, owned>, %c = %a : !stream.buffer<4xf32, owned>) {
}

// -----

%a = "test.op"() : () -> !stream.buffer<4xf32, owned>
// expected-error@+1 {{a graph has launches, copies and constants, not 'stream.free'}}
%g = stream.graph on %q (%b = %a : !stream.buffer<4xf32, owned>) {
  stream.free %b on %q : !stream.buffer<4xf32, owned>
}

// -----

%a, %n = "test.op"() : () -> (!stream.buffer<4xf32, owned>, i64)
// expected-error@+1 {{a graph that moves a buffer could be replayed once only: use 'own'}}
%g = stream.graph on %q (%b = %a : !stream.buffer<4xf32, owned>, %m = %n : i64) {
  stream.launch @k grid(%m, %m, %m) on %q (move %b) : (!stream.buffer<4xf32, owned>)
}

// -----

%s, %a, %b = "test.op"() : () -> (!stream.stream, !stream.buffer<4xf32, owned>, !stream.buffer<4xf32, owned>)
// expected-error@+1 {{Operation using value defined out of its IsolatedFromAbove parent: Copy(stream.copy %c to %d on %s}}
%g = stream.graph on %q (%c = %a : !stream.buffer<4xf32, owned>, %d = %b : !stream.buffer<4xf32, owned>) {
  stream.copy %c to %d on %s : !stream.buffer<4xf32, owned>, !stream.buffer<4xf32, owned>
}
